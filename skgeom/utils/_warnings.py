"""Warnings that point to the line of the user."""

import sys
import warnings

_OURS = ("skgeom", "sklearn")


def warn_user(message, category):
    """Warn with the location of the first frame outside skgeom and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
