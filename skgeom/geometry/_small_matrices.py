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
    size = len(matrices)
    if size > _LARGEST or matrices[0, 0].size < _MANY:
        stacked = np.moveaxis(matrices, (0, 1), (-2, -1))
        factors = np.linalg.cholesky(stacked)
        inverse_factors = np.linalg.inv(factors)
        inverses = inverse_factors.mT @ inverse_factors
        log_dets = 2 * np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)
        return np.moveaxis(inverses, (-2, -1), (0, 1)), log_dets
    factors = _factorize(matrices)
    log_dets = 2 * sum(np.log(factors[j, j]) for j in range(size))
    _invert_lower(factors)
    inverses = np.empty_like(factors)
    for j in range(size):
        for i in range(j, size):  # L^-T L^-1, whose terms begin at the larger index
            np.einsum("a...,a...", factors[i:, i], factors[i:, j], out=inverses[i, j])
    return inverses, log_dets


def _factorize(matrices):
    """Lower Cholesky factors, in place."""
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
