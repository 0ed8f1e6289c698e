"""Reject labels."""

from numbers import Integral, Real

import numpy as np


def with_reject_label(classes, label):
    """The classes followed by the reject label, in an array that can represent both.

    With None, the label is "rejected" if the classes are strings. If the classes are
    numbers, the label is -1, or a smaller integer if -1 is not below all classes.
    """
    labels = classes.tolist()
    is_text = all(isinstance(known, str) for known in labels)
    if label is None:
        is_number = classes.dtype.kind not in "mM"  # nanoseconds become integers
        is_number &= all(isinstance(known, Real) for known in labels)
        if not is_text and not is_number:
            raise ValueError(
                f"The classes {labels} are neither all strings nor all numbers. Set "
                "reject_label."
            )
        label = "rejected" if is_text else min(-1, int(np.floor(classes.min())) - 1)
    if any(label == known for known in labels):
        raise ValueError(
            f"reject_label={label!r} is one of the classes, {labels}. Choose "
            "a different label."
        )
    dtype = classes.dtype
    if dtype.kind != "O":
        integral = isinstance(label, str | Integral)
        own = np.min_scalar_type(label) if integral else np.dtype(np.float64)
        # The common type of int64 and uint64 or float64 is float64: it rounds integers.
        dtype = np.result_type(dtype, own)
        if integral and classes.dtype.kind == "u" and dtype.kind == "f":
            dtype = np.dtype(np.int64)
        fits = dtype.kind != "O" and classes.astype(dtype).tolist() == labels
        if not fits or isinstance(label, str) != is_text:
            raise ValueError(
                f"reject_label={label!r} cannot be stored in one array with classes of "
                f"dtype {classes.dtype}. Choose a label of the type and range of the "
                "classes, or pass y of dtype object to fit."
            )
    return np.concatenate([classes.astype(dtype), np.array([label], dtype=dtype)])
