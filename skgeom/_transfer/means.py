"""Means of SPD matrices by metric: of a stack, and running, one matrix at a time."""

import numpy as np

from skgeom.geometry import expm, logm
from skgeom.geometry._affine_invariant import affine_invariant_mean


def _mean_riemann(matrices):
    return affine_invariant_mean(matrices, None)


def _mean_log_euclidean(matrices):
    return expm(logm(matrices).mean(axis=0))


def _mean_euclidean(matrices):
    return matrices.mean(axis=0)


def _step_riemann(mean, matrix, step):
    """The point ``step`` along the geodesic from the mean, F (F^-1 X F^-T)^step F'."""
    factor = np.linalg.cholesky(mean)
    inverse = np.linalg.inv(factor)
    eigenvalues, vectors = np.linalg.eigh(inverse @ matrix @ inverse.T)
    half = factor @ vectors
    moved = (half * eigenvalues**step) @ half.T
    return (moved + moved.T) / 2


def _step_log_euclidean(mean, matrix, step):
    return expm((1 - step) * logm(mean) + step * logm(matrix))


def _step_euclidean(mean, matrix, step):
    return (1 - step) * mean + step * matrix


# Of each metric, the mean of a stack, and how a step moves a mean towards a matrix.
MEANS = {
    "riemann": (_mean_riemann, _step_riemann),
    "logeuclid": (_mean_log_euclidean, _step_log_euclidean),
    "euclid": (_mean_euclidean, _step_euclidean),
}
