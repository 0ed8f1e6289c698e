"""A fit that is refused leaves no trace."""

from functools import wraps

# What scikit-learn needs to end its callbacks after the fit, and then removes.
_OF_CALLBACKS = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")


def all_or_nothing(method):
    """A method that leaves the object as it was, if it raises."""

    @wraps(method)
    def wrapper(self, *args, **kwargs):
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            kept = {k: v for k, v in vars(self).items() if k in _OF_CALLBACKS}
            vars(self).clear()
            vars(self).update(before | kept)
            raise

    return wrapper
