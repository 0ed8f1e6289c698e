"""One rule for the signs of vectors, where a solution leaves them free."""

import numpy as np

# Entries that differ by less than this fraction are equal up to rounding.
_TIE = 1e-6


def fix_signs(rows):
    """Rows, (m, n), with the signs that make the largest entry of each positive."""
    return rows * signs(rows)[:, None]


def signs(rows):
    """Signs, (m,), that make the entry of largest magnitude of each row positive.

    Of several entries that are as large, the last one decides: rounding must not, and
    of two classes the second is then on the positive side, as scikit-learn has it.
    """
    size = np.abs(rows)
    largest = size >= (1 - _TIE) * size.max(axis=1, keepdims=True)
    last = size.shape[1] - 1 - largest[:, ::-1].argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), last] < 0, -1.0, 1.0)
