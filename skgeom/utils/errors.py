"""Errors that name their argument."""

import re
from contextlib import contextmanager

from skgeom.utils._sklearn import InvalidParameterError


@contextmanager
def naming(name):
    """Context that adds a name, such as that of an argument, to errors that lack it."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        names_parameter = isinstance(error, InvalidParameterError)
        if names_parameter or re.search(rf"\b{name}\b", str(error)):
            raise
        # Some subclasses cannot be created from a message.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error
