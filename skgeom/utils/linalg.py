"""Linear algebra: signs, the span of samples, the order of folds, and embeddings."""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf
from sklearn.utils import gen_batches

from skgeom.utils.array_api import (
    in_double,
    is_complex,
    like,
    namespace,
    to_numpy,
)

# Entries that differ by less than this fraction are considered equal. The fraction is
# larger than the precision of float32 (1e-7), and smaller than differences in data.
_TIE = 1e-6


def fix_signs(rows):
    """Rows, (m, n), multiplied by :func:`signs`."""
    return rows * signs(rows)[:, None]


def signs(rows):
    """Signs, (m,), that make the entry of each row with the largest magnitude positive.

    If several entries are equally large up to rounding, the last entry determines the
    sign. With two classes, the second class is then on the positive side, as in
    scikit-learn.
    """
    size = np.abs(rows)
    largest = size >= (1 - _TIE) * size.max(axis=1, keepdims=True)
    last = size.shape[1] - 1 - largest[:, ::-1].argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), last] < 0, -1.0, 1.0)


def whitening_basis(matrix):
    """Basis B (columns) of the range of a semidefinite matrix, B' matrix B = I.

    The rank is determined from the correlation matrix, so it does not depend on the
    units of the features.
    """
    deviations = np.sqrt(np.diag(matrix))
    deviations = np.where(deviations > 0, deviations, 1)
    variances, axes = np.linalg.eigh(matrix / np.outer(deviations, deviations))
    kept = variances > len(matrix) * np.finfo(float).eps * variances[-1]
    return axes[:, kept] / np.sqrt(variances[kept]) / deviations[:, None]


class LowRankPlusIdentity(NamedTuple):
    """A symmetric (p, p) matrix of low rank plus a multiple of the identity.

    Its eigenvalues are ``along`` in the r directions ``axes``, and ``elsewhere`` in all
    directions orthogonal to them.
    """

    axes: np.ndarray  # (r, p), orthonormal rows
    along: np.ndarray  # (r,)
    elsewhere: float

    def multiply(self, V, power):
        """V, (n, p), times a power of the matrix; -0.5 whitens vectors."""
        along, elsewhere = self.along**power, 0.0
        if self.axes.shape[0] < self.axes.shape[1]:
            elsewhere = self.elsewhere**power
        return elsewhere * V + ((V @ self.axes.T) * (along - elsewhere)) @ self.axes


def pivoted_cholesky(matrix, tol):
    """Factor a semidefinite matrix, up to a tolerance.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The matrix; not modified.
    tol : float
        Stopping tolerance: the largest diagonal entry of the residual matrix, relative
        to the largest diagonal entry of the matrix.

    Returns
    -------
    factor : ndarray of shape (n, rank)
        A lower trapezoidal matrix.
    pivots : ndarray of shape (n,)
        ``factor @ factor.T`` approximates ``matrix[pivots][:, pivots]``.
    """
    matrix = np.array(matrix, dtype=np.float64, order="F")
    factor, pivots, rank, _ = dpstrf(
        matrix, lower=1, tol=tol * matrix.diagonal().max(), overwrite_a=1
    )
    return np.tril(factor[:, :rank]), pivots - 1


def semidefinite_root(matrix, tol):
    """Matrix M of shape (n, rank) such that M M^T equals the matrix up to ``tol``."""
    factor, pivots = pivoted_cholesky(matrix, tol)
    root = np.empty_like(factor)
    root[pivots] = factor
    return root


# Relative distances that agree to this number of digits are considered equal. The
# threshold is between rounding errors in float64 (1e-16) and the differences of
# distinct samples in the tests of folds (1e-8).
_DIGITS = 9


def fold_order(y, distances, scale):
    """Positions of samples, sorted by their distances from the center of their class.

    The fold of a sample is its position modulo the number of folds. Folds then have
    similar distributions, do not depend on the order of the samples, and equal samples
    are in the same fold.

    Parameters
    ----------
    y : ndarray of int, shape (N,)
        The class of each sample.
    distances : ndarray of shape (N, k)
        Distances of the samples from the center of their class (first column), and from
        further points, which determine the order of samples with equal distances.
    scale : float
        Typical size of the distances, for rounding.

    Returns
    -------
    ndarray of int, shape (N,)
        Number of distinct samples of the same class with smaller distances.
    """
    distances = np.round(distances / scale, _DIGITS)
    found = np.empty(len(y), dtype=int)
    for label in np.unique(y):
        own = y == label
        _, order = np.unique(distances[own], axis=0, return_inverse=True)
        found[own] = order.ravel()  # a column in NumPy 2.0
    return found


# Number of array entries in a block of computations: 1 MiB in float64, which fits into
# the cache of a core. Larger blocks are not faster (page "Constants").
ENTRIES_AT_ONCE = 2**17


def project(samples, filters):
    """The products ``samples @ filters`` in float64, for samples of any dtype.

    The products are computed on the device of the samples and returned as NumPy arrays.
    """
    if namespace(samples) is not np:
        products = in_double(samples) @ like(filters, samples)
        return np.asarray(to_numpy(products), dtype=np.float64)
    features = np.empty((samples.shape[0], filters.shape[1]))
    # Blocks limit the memory of copies in float64.
    n_rows = max(1, ENTRIES_AT_ONCE // samples.shape[1])
    for rows in gen_batches(len(features), n_rows):
        features[rows] = samples[rows].astype(np.float64, copy=False) @ filters
    return features


def embedded(matrices):
    """The real embedding of complex matrices (..., m, n), of shape (..., 2 m, 2 n)."""
    xp = namespace(matrices)
    if is_complex(matrices):
        real, imaginary = xp.real(matrices), xp.imag(matrices)
    else:
        real, imaginary = matrices, xp.zeros_like(matrices)
    left = xp.concat([real, imaginary], axis=-2)
    right = xp.concat([-imaginary, real], axis=-2)
    return xp.concat([left, right], axis=-1)


def from_embedded(matrices):
    """Complex matrices from real embeddings. Both copies of the parts are averaged."""
    m, n = matrices.shape[-2] // 2, matrices.shape[-1] // 2
    real = matrices[..., :m, :n] + matrices[..., m:, n:]
    imaginary = matrices[..., m:, :n] - matrices[..., :m, n:]
    return (real + 1j * imaginary) / 2
