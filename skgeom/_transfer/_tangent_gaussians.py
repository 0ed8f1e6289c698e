"""Gaussian classes of the tangent vectors of re-centered matrices."""

from typing import NamedTuple

import numpy as np

from skgeom.geometry import logm
from skgeom.geometry._spd import (
    upper_triangles,
)
from skgeom.utils.array_api import in_double
from skgeom.utils.errors import naming
from skgeom.utils.linalg import LowRankPlusIdentity


def logarithms_of(Z):
    """Matrix logarithms, in double precision."""
    with naming("X"):
        return logm(in_double(Z))


def relevance_matrix(logarithms, y, weights, exponent):
    """``(sum_c L_c^2)^exponent``, scaled to a largest eigenvalue of 1.

    L_c is the mean logarithm of class c. The result is the identity if all L_c are 0.
    """
    parts = [y == label for label in np.unique(y)]
    means = [np.average(logarithms[own], 0, weights=weights[own]) for own in parts]
    means = np.stack(means)
    eigenvalues, axes = np.linalg.eigh((means @ means).sum(axis=0))
    largest = eigenvalues[-1] if eigenvalues[-1] > 0 else 1.0
    # Class means are multiplied by the inverse twice, which amplifies rounding errors.
    least = np.cbrt(np.finfo(np.float64).eps)
    weights = np.maximum(eigenvalues / largest, least) ** exponent
    return (axes * (weights / weights[-1])) @ axes.conj().T


def weighted_vectors(logarithms, relevance):
    """The vectors of the logarithms, multiplied by the relevance matrix."""
    return upper_triangles(relevance @ logarithms @ relevance)


def class_means(V, y, weights):
    """Means of the classes, (n_classes, p)."""
    members = (np.arange(y.max() + 1)[:, None] == y) * weights
    return members @ V / members.sum(axis=1, keepdims=True)


class Within(NamedTuple):
    """The covariance within the classes, before shrinkage.

    Its rank is at most the number of samples, which can be much smaller than the number
    p of its columns.
    """

    axes: np.ndarray  # (r, p), orthonormal rows that span the residuals
    variances: np.ndarray  # (r,), in descending order; zero orthogonal to the axes

    @classmethod
    def of(cls, residuals, weights):
        n_samples, n_columns = residuals.shape
        residuals, total = residuals * np.sqrt(weights)[:, None], weights.sum()
        if n_samples > n_columns:
            covariance = residuals.T @ residuals / total
            variances, axes = np.linalg.eigh(covariance)
            return cls(axes[:, ::-1].T, variances[::-1].clip(0))
        _, sizes, axes = np.linalg.svd(residuals, full_matrices=False)
        return cls(axes, sizes**2 / total)

    def shrunk(self, shrinkage):
        """The covariance with the given shrinkage."""
        rest = shrinkage * self.variances.sum() / self.axes.shape[1]
        along = (1 - shrinkage) * self.variances + rest
        return LowRankPlusIdentity(self.axes, along, rest)

    def is_singular(self, shrinkage):
        _, along, rest = self.shrunk(shrinkage)
        order, n_columns = self.axes.shape
        least = along[-1] if order == n_columns else rest
        return least <= n_columns * np.finfo(np.float64).eps * along[0]


def log_joint(V, means, priors):
    """Logarithms of prior times density of each class, up to a common term."""
    return V @ means.T - (means**2).sum(axis=1) / 2 + np.log(priors)
