"""The label of rejected samples, in one array with the classes."""

from numbers import Integral, Real

import numpy as np


def with_reject_label(classes, label):
    """The classes and, as the last entry, the reject label, as one array."""
    classes = np.asarray(classes)
    kind = classes.dtype.kind
    strings = kind == "U" or (kind == "O" and all(isinstance(c, str) for c in classes))
    numbers = kind in "biuf" or (
        kind == "O" and all(isinstance(c, Real) for c in classes)
    )
    if label is None and strings:
        label = "rejected"
    elif label is None and numbers:
        label = min(-1, int(np.floor(classes.min())) - 1)
    elif label is None:
        raise ValueError(
            "reject_label must be given where the classes are neither all strings nor "
            f"all numbers; they are {classes.tolist()}."
        )
    if any(label == c for c in classes.tolist()):
        raise ValueError(
            f"reject_label={label!r} is one of the classes, {classes.tolist()}. Choose "
            "a label that is not."
        )
    if kind == "O":
        dtype = np.dtype(object)
    elif strings and isinstance(label, str):
        dtype = np.result_type(classes.dtype, np.asarray(label).dtype)
    elif numbers and isinstance(label, Real):
        integral = isinstance(label, Integral)
        of_label = np.min_scalar_type(label) if integral else np.dtype(float)
        dtype = np.result_type(classes.dtype, of_label)
    else:
        dtype = None
    if dtype is None or not _holds(dtype, classes):
        raise ValueError(
            f"reject_label={label!r} and the classes, of dtype {classes.dtype}, do not "
            "fit into one array. Choose a label of the kind of the classes, or fit to "
            "labels of dtype object."
        )
    labels = np.empty(len(classes) + 1, dtype=dtype)
    labels[:-1] = classes
    labels[-1] = label
    return labels


def _holds(dtype, classes):
    """Whether no class changes when cast to a dtype."""
    if dtype == classes.dtype or classes.dtype.kind not in "iu":
        return True
    if dtype.kind == "f":  # integers beyond 2^53 become others
        return bool(np.abs(classes.astype(dtype)).max() < 2 / np.finfo(dtype).eps)
    return dtype.kind in "iu"
