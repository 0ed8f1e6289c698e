"""Many small SPD matrices at once, entry by entry.

A call of LAPACK for a matrix of 5 x 5 spends most of its time on other things than
arithmetic. Here each operation of Cholesky's method is one of numpy on the same entry
of all matrices, which takes a fraction of that time if the matrices are many. Matrices
of other libraries are left to these.
"""

import numpy as np

from skgeom.utils.array_api import cholesky_factors, namespace

# LAPACK takes 3 times as long for 4,950 matrices of 9 x 9, twice as long for 17 x 17, a
# fifth more for 1,225 of 32 x 32, and a third of the time for 45 of 9 x 9
# (benchmarks/bench_constants.py).
_LARGEST, _MANY = 24, 128


def inverses_and_log_dets(matrices):
    """Inverses and log-determinants of SPD matrices that are stacked last.

    Parameters
    ----------
    matrices : ndarray of shape (k, k, ...)
        SPD matrices; only the lower triangles are read. Overwritten.

    Returns
    -------
    inverses : ndarray of shape (k, k, ...)
        Their lower triangles; the upper ones have no meaning.
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
        for i in range(j, len(factors)):  # L^-T L^-1: terms begin at the larger index
            np.einsum("a...,a...", factors[i:, i], factors[i:, j], out=inverses[i, j])
    return inverses, log_dets


def log_dets(matrices):
    """The log-determinants alone; arguments and errors are the same."""
    return _log_dets(_factorize(matrices))


def _log_dets(factors):
    log = namespace(factors).log
    return 2 * sum(log(factors[j, j, ...]) for j in range(factors.shape[0]))


def _many(matrices):
    """Whether the matrices are so small and many that LAPACK is slower.

    Other libraries than numpy have better ways for many, or do not write in place.
    """
    if namespace(matrices) is not np:
        return False
    return len(matrices) <= _LARGEST and matrices[0, 0].size >= _MANY


def _stacked_first(matrices):
    """Matrices (k, k, ...) as (..., k, k), and the other way round."""
    return namespace(matrices).moveaxis(matrices, (0, 1), (-2, -1))


def _stacked_last(matrices):
    return namespace(matrices).moveaxis(matrices, (-2, -1), (0, 1))


def _factorize(matrices):
    """Lower Cholesky factors, in place if the matrices are many."""
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
            # Row i of the factor still contains its own values, except for columns
            # before j.
            done = np.einsum("a...,a...", factors[i, j:i], factors[j:i, j])
            factors[i, j] = -done / factors[i, i]
