"""Inverses and log-determinants of many small SPD matrices at the same time.

LAPACK spends most of the time for a 5 x 5 matrix on overhead. Here, each operation of
Cholesky's method is one NumPy operation on the same entry of all matrices, which takes
a fraction of that time for many matrices. For arrays of other libraries, their own
functions are used.
"""

import numpy as np

from skgeom.utils.array_api import cholesky_factors, namespace

# Compared with this module, LAPACK takes 3 times as long for 4,950 matrices of size
# 9 x 9, twice as long for size 17 x 17, and a fifth longer for 1,225 matrices of size
# 32 x 32, but a third of the time for 45 matrices of size 9 x 9
# (benchmarks/bench_constants.py).
_LARGEST, _MANY = 24, 128


def inverses_and_log_dets(matrices):
    """Inverses and log-determinants of SPD matrices with the row and column axes first.

    Parameters
    ----------
    matrices : ndarray of shape (k, k, ...)
        SPD matrices. Only the lower triangles are read. The array may be overwritten.

    Returns
    -------
    inverses : ndarray of shape (k, k, ...)
        The inverses. Only the lower triangles are valid.
    log_dets : ndarray of shape (...)

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not positive definite.
    """
    factors = _factorize(matrices)
    log_dets = _log_dets(factors)
    if not _many(matrices):
        inverse_factors = namespace(factors).linalg.inv(_stacked_first(factors))
        return _stacked_last(inverse_factors.mT @ inverse_factors), log_dets
    _invert_lower(factors)
    inverses = np.empty_like(factors)
    for j in range(len(factors)):
        for i in range(j, len(factors)):  # L^-T L^-1, whose sums begin at max(i, j)
            np.einsum("a...,a...", factors[i:, i], factors[i:, j], out=inverses[i, j])
    return inverses, log_dets


def log_dets(matrices):
    """The log-determinants of :func:`inverses_and_log_dets`, without the inverses."""
    return _log_dets(_factorize(matrices))


def _log_dets(factors):
    """The log-determinants of matrices with the given Cholesky factors."""
    log = namespace(factors).log
    return 2 * sum(log(factors[j, j, ...]) for j in range(factors.shape[0]))


def _many(matrices):
    """Whether the matrices are so small and so many that LAPACK is slower.

    False for other libraries than NumPy, which have faster functions for many matrices,
    or cannot write in place.
    """
    if namespace(matrices) is not np:
        return False
    return len(matrices) <= _LARGEST and matrices[0, 0].size >= _MANY


def _stacked_first(matrices):
    """Matrices of shape (k, k, ...) as (..., k, k)."""
    return namespace(matrices).moveaxis(matrices, (0, 1), (-2, -1))


def _stacked_last(matrices):
    """Matrices of shape (..., k, k) as (k, k, ...)."""
    return namespace(matrices).moveaxis(matrices, (-2, -1), (0, 1))


def _factorize(matrices):
    """Lower Cholesky factors, computed in place if ``_many(matrices)``."""
    if not _many(matrices):
        return _stacked_last(cholesky_factors(_stacked_first(matrices)))
    for j in range(len(matrices)):
        if not (matrices[j, j] > 0).all():
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        matrices[j:, j] /= np.sqrt(matrices[j, j])
        for i in range(j + 1, len(matrices)):
            matrices[i:, i] -= matrices[i:, j] * matrices[i, j]
    return matrices


def _invert_lower(factors):
    """Inverses of lower triangular matrices, in place, column by column."""
    for j in range(len(factors)):
        np.divide(1, factors[j, j], out=factors[j, j])
        for i in range(j + 1, len(factors)):
            # Columns j to i of row i still contain the factor; columns before j already
            # contain the inverse.
            done = np.einsum("a...,a...", factors[i, j:i], factors[j:i, j])
            factors[i, j] = -done / factors[i, i]
