"""The label of rejected samples, in one array with the classes."""

from numbers import Integral, Real

import numpy as np


def with_reject_label(classes, label):
    """Array of the classes followed by the reject label.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The class labels.
    label : str, number or None
        The reject label. None is "rejected" if the classes are strings, and if they are
        numbers -1 or, if that is not below all of them, the next smaller integer.

    Returns
    -------
    ndarray of shape (n_classes + 1,)
        Of a dtype that holds all labels unchanged.

    Raises
    ------
    ValueError
        If the label is a class, if no such dtype exists, or if it is None and the
        classes are neither strings nor numbers.
    """
    classes = np.asarray(classes)
    if label is None:
        label = _default_label(classes)
    if any(label == c for c in classes.tolist()):
        raise ValueError(
            f"reject_label={label!r} is one of the classes, {classes.tolist()}. Choose "
            "a label that is not."
        )
    dtype = _common_dtype(classes, label)
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


def _default_label(classes):
    if classes.dtype.kind == "U" or _are_objects(classes, str):
        return "rejected"
    if classes.dtype.kind in "biuf" or _are_objects(classes, Real):
        return min(-1, int(np.floor(classes.min())) - 1)
    raise ValueError(
        "reject_label must be given where the classes are neither all strings nor "
        f"all numbers; they are {classes.tolist()}."
    )


def _are_objects(classes, kind):
    return classes.dtype.kind == "O" and all(isinstance(c, kind) for c in classes)


def _common_dtype(classes, label):
    """The smallest dtype for the classes and the label, None if their kinds differ."""
    kind = classes.dtype.kind
    if kind == "O":
        return classes.dtype
    if kind == "U" and isinstance(label, str):
        return np.result_type(classes.dtype, np.asarray(label).dtype)
    if kind in "biuf" and isinstance(label, Real):
        integral = isinstance(label, Integral)
        of_label = np.min_scalar_type(label) if integral else np.dtype(float)
        return np.result_type(classes.dtype, of_label)
    return None


def _holds(dtype, classes):
    """Whether no class changes when cast to a dtype.

    numpy's common dtype of int64 and float64, and of int64 and uint64, is float64,
    which represents integers exactly only up to 2^53. A label beyond 64 bits gives the
    dtype object.
    """
    if dtype == classes.dtype or classes.dtype.kind not in "iu":
        return True
    if dtype.kind == "f":
        return bool(np.abs(classes.astype(dtype)).max() < 2 / np.finfo(dtype).eps)
    return dtype.kind in "iu"
