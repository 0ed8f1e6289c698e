"""Many small SPD matrices at once, entry by entry.

A call of LAPACK for a matrix of 5 x 5 spends most of its time on other things than
arithmetic. Here each operation of Cholesky's method is one of numpy on the same entry
of all matrices, which takes a fraction of that time if the matrices are many.
"""

import numpy as np

# Beyond this size, and below this number, LAPACK is as fast.
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
        inverse_factors = np.linalg.inv(np.moveaxis(factors, (0, 1), (-2, -1)))
        inverses = inverse_factors.mT @ inverse_factors
        return np.moveaxis(inverses, (-2, -1), (0, 1)), log_dets
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
    return 2 * sum(np.log(factors[j, j]) for j in range(len(factors)))


def _many(matrices):
    """Whether the matrices are so small and many that LAPACK is slower."""
    return len(matrices) <= _LARGEST and matrices[0, 0].size >= _MANY


def _factorize(matrices):
    """Lower Cholesky factors, in place if the matrices are many."""
    if not _many(matrices):
        factors = np.linalg.cholesky(np.moveaxis(matrices, (0, 1), (-2, -1)))
        return np.moveaxis(factors, (-2, -1), (0, 1))
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
            # Row i of the factor is still its own, columns before j apart.
            done = np.einsum("a...,a...", factors[i, j:i], factors[j:i, j])
            factors[i, j] = -done / factors[i, i]
