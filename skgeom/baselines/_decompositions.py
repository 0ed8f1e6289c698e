"""Matrix decompositions used by several linear projections."""

import numpy as np


def class_sums(X, codes, n_classes):
    """Sums of the rows of each class, (n_classes, n_features)."""
    return np.array([X[codes == code].sum(axis=0) for code in range(n_classes)])


def principal_directions(rows, n_directions, smallest):
    """Leading right singular vectors (rows) and their singular values.

    Singular values up to ``smallest`` are omitted.
    """
    n_rows, n_features = rows.shape
    if n_rows > n_features:  # the scatter matrix is smaller than the matrix of rows
        scale = np.abs(rows).max() or 1.0  # squares could overflow or underflow
        squares, axes = np.linalg.eigh((rows / scale).T @ (rows / scale))
        sizes, axes = scale * np.sqrt(np.maximum(squares, 0))[::-1], axes.T[::-1]
        # The square root of an eigenvalue has half of the accurate digits.
        smallest = max(smallest, np.sqrt(n_features * np.finfo(float).eps) * sizes[0])
    else:
        _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    kept = (sizes > smallest)[:n_directions]
    return axes[:n_directions][kept], sizes[:n_directions][kept]
