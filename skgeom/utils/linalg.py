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
# the cache of a core. With blocks of 4,096 rows, the projection of 60,000 samples of
# 784 features in float32 takes 1.9 times as long. benchmarks/papers/sqfa_digits.py
# computes Fisher-Rao distances in blocks of this size.
ENTRIES_AT_ONCE = 2**17


class FeatureSpace:
    """The subspace in which filters are optimized: here, the space of all n features.

    A subclass is a k-dimensional subspace with its own coordinates.

    Attributes
    ----------
    X : ndarray of shape (N, n) or None
        The samples. None if filters are learned from statistics.
    samples : ndarray of shape (N, k) or None
        Coordinates of the samples relative to ``origin``.
    origin : ndarray of shape (k,) or None
        Coordinates of the mean of the samples, if they were centered; otherwise None.
    """

    origin = None

    def __init__(self, X=None):
        self.X = self.samples = X

    def lift(self, filters):
        """Convert filters in coordinates, (k, m), to filters of features, (n, m)."""
        return filters

    def restrict(self, filters):
        """Project filters of features, (n, m), to the subspace: coordinates, (k, m)."""
        return filters


class AxesSpace(FeatureSpace):
    """The span of orthonormal axes (rows), for filters learned from statistics."""

    def __init__(self, axes):
        super().__init__()
        self._axes = axes

    def lift(self, filters):
        return self._axes.T @ filters

    def restrict(self, filters):
        return _without_rounding(self._axes @ filters, filters)


def _without_rounding(parts, filters):
    """Coordinates of filters, set to zero for filters orthogonal to the subspace."""
    norms = np.linalg.norm(filters, axis=0)
    rounding = len(filters) * np.finfo(np.float64).eps * norms
    return np.where(np.linalg.norm(parts, axis=0) > rounding, parts, 0)


class SampleSpan(AxesSpace):
    """The span of N samples with more than N features.

    With the decompositions ``X.T = Q R`` and ``R = V S U.T``, the columns of ``Q V``
    are an orthonormal basis, and ``U S`` are the coordinates of the samples. Their
    errors are of the size of the rounding errors of X; an eigendecomposition of
    ``X @ X.T`` would square the condition number.

    Parameters
    ----------
    X : ndarray of shape (N, n)
        The samples, N < n; not modified.
    centered : bool
        Whether the samples are centered. ``origin`` then contains the coordinates of
        their mean.
    n_least : int
        Smallest number k of coordinates. If the samples span fewer dimensions,
        coordinates are added in which all samples are zero.
    """

    def __init__(self, X, *, centered, n_least=1):
        given, X = X, to_numpy(X)
        mean = X.mean(axis=0, dtype=np.float64) if centered else 0.0
        # Rows of zeros add axes that are orthogonal to the samples.
        rows = np.zeros((max(len(X), n_least), X.shape[1]))
        np.subtract(X, mean, out=rows[: len(X)])
        orthonormal, triangle = np.linalg.qr(rows.T)
        axes, sizes, coordinates = np.linalg.svd(triangle, full_matrices=False)
        # The epsilon of float64, because the decomposition is computed in float64.
        precision = max(X.shape) * np.finfo(np.float64).eps * sizes[0]
        rank = np.count_nonzero(sizes > precision)
        sizes[rank:] = 0
        order = max(rank, n_least)
        super().__init__((orthonormal @ axes[:, :order]).T)
        self.X = given
        self.samples = coordinates[:order, : len(X)].T * sizes[:order]
        if centered:
            self.origin = self.restrict(mean[:, None])[:, 0]


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


def space_of(X, *, centered, n_least=1):
    """The span of the samples if they are fewer than the features, or all features.

    All features are used for values so large that the sum of their squares overflows:
    the following computations raise an error for such values.
    """
    n_samples, n_features = X.shape
    xp = namespace(X)
    largest = np.sqrt(np.finfo(np.float64).max / (n_samples * n_features))
    if n_samples < n_features and float(max(xp.max(X), -xp.min(X))) < largest:
        return SampleSpan(X, centered=centered, n_least=n_least)
    return FeatureSpace(X)


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
