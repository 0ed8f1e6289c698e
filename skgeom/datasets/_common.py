"""Helpers of the generators: labels, statistics of populations, random bases."""

import numpy as np

from skgeom._statistics import ClassStatistics

# Count of each class of a population, which has no counts: only their ratios matter.
_COUNT = 100


def population(means, covariances):
    """Exact statistics of equally frequent classes 0, 1, ..."""
    n_classes = len(means)
    return ClassStatistics(range(n_classes), [_COUNT] * n_classes, means, covariances)


def balanced_labels(n_classes, n_per_class, shuffle, rng):
    """Labels 0, 1, ..., each ``n_per_class`` times, sorted or in random order."""
    y = np.repeat(np.arange(n_classes), n_per_class)
    if shuffle:
        rng.shuffle(y)
    return y


def random_orthogonal(shape, rng):
    """Matrices of some shape (..., m, n), m <= n, with random orthonormal rows."""
    *lead, m, n = shape
    return gram_schmidt(rng.standard_normal((*lead, n, m))).mT


def gram_schmidt(matrices):
    """The columns of matrices, (..., n, m), made orthonormal from first to last."""
    q, r = np.linalg.qr(matrices)
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return q * signs[..., None, :]
