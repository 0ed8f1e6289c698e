"""A fit that is refused leaves no trace."""

from functools import wraps


def all_or_nothing(method):
    """A method that leaves the object as it was, if it raises."""

    @wraps(method)
    def wrapper(self, *args, **kwargs):
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return wrapper
