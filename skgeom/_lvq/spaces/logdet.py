"""Prototypes among SPD matrices with the log-determinant divergence."""

from functools import cached_property

import numpy as np

from skgeom._lvq.spaces.base import WhitenedPairs, WhitenedSpace
from skgeom.geometry._affine_invariant import inverse_factors
from skgeom.geometry._small_matrices import inverses_and_log_dets, log_dets
from skgeom.geometry._spd import (
    from_upper_triangles,
    upper_triangles,
    weighted_triangle,
)

# Smaller divergences have lost half of their digits in differences of logarithms.
_NEAR = 1e-7


class LogDetSpace(WhitenedSpace):
    r"""SPD matrices with Stein's S-divergence, the symmetric log-det divergence [1]_.

    The squared distance

    .. math::

       d^2(X, W) = \log\det \tfrac{X + W}{2} - \tfrac12 \log\det X
       - \tfrac12 \log\det W, \qquad
       \frac{\partial d^2}{\partial W} = (X + W)^{-1} - \tfrac12 W^{-1}

    is affine-invariant, its root is a metric, and near :math:`X = W` it is an eighth of
    the squared affine-invariant distance. It takes a Cholesky factor a pair and no
    eigendecomposition. It has no geodesics of its own: prototypes move on the manifold
    of the affine-invariant metric.

    References
    ----------
    .. [1] S. Sra, "Positive definite matrices and the S-divergence", Proceedings of the
       American Mathematical Society 144(7), 2016.
    """

    name = "log-determinant"
    learns_subspace = True
    has_slopes = True

    def squared_distances(self, Z, prototypes):
        return _divergences(Z, prototypes, log_dets(_sums(Z, prototypes)))

    def pairs(self, Z, prototypes):
        return LogDetPairs(Z, prototypes)

    def unit(self, spread):
        return 0.125


class LogDetPairs(WhitenedPairs):
    """Squared distances of n samples from M prototypes, with gradients.

    The inverses of the sums X + W are kept as vectors of entries, (p, M, n), each entry
    of all pairs side by side.
    """

    curvature = 0.25  # an eighth of that of the affine-invariant metric

    def __init__(self, Z, prototypes):
        self._Z = Z
        self._inverse = inverse_factors(prototypes)
        inverses, log_dets_of_sums = inverses_and_log_dets(_sums(Z, prototypes))
        self._inverses_of_sums = upper_triangles_of_entries(inverses)
        self.squared_distances = _divergences(Z, prototypes, log_dets_of_sums)

    def gradient(self, weights):
        inverses_of_sums = self._by_prototype @ weights.T[..., None]
        inverses = self._inverse.mT @ self._inverse
        total = weights.sum(axis=0)[:, None, None]
        return from_upper_triangles(inverses_of_sums[..., 0]) - total * inverses / 2

    def sample_gradient(self, weights):
        inverses_of_sums = (self._inverses_of_sums * weights.T).sum(axis=1).T
        total = weights.sum(axis=1)[:, None, None]
        inverses = np.linalg.inv(self._Z)
        return from_upper_triangles(inverses_of_sums) - total * inverses / 2

    @cached_property
    def _rows(self):
        """Gradients in whitened coordinates, L' (X + W)^-1 L - I / 2."""
        # On vectors, the congruence with L is one matrix (p, p) for each prototype.
        factors = np.linalg.inv(self._inverse)[:, None]
        basis = from_upper_triangles(np.eye(len(self._inverses_of_sums)))
        congruences = upper_triangles(factors.mT @ basis @ factors)
        rows = self._by_prototype.mT @ congruences
        rows -= upper_triangles(np.eye(factors.shape[-1])) / 2
        return rows

    @property
    def _by_prototype(self):
        return self._inverses_of_sums.swapaxes(0, 1)


def upper_triangles_of_entries(entries):
    """``upper_triangles`` of matrices (k, k, ...) by their lower ones, (p, ...)."""
    rows, columns, weights = weighted_triangle(len(entries))
    vectors = entries[columns, rows]
    vectors *= weights.reshape(-1, *[1] * (entries.ndim - 2))
    return vectors


def _sums(Z, prototypes):
    """The sums X + W by entries, (k, k, M, n)."""
    of_prototypes, of_samples = (np.moveaxis(part, 0, -1) for part in (prototypes, Z))
    return of_prototypes[..., None] + of_samples[:, :, None]


def _divergences(Z, prototypes, log_dets_of_sums):
    """Squared distances (n, M)."""
    ends = _log_dets(prototypes)[:, None] + _log_dets(Z)
    squared = log_dets_of_sums - ends / 2 - Z.shape[-1] * np.log(2)
    # Of near matrices, the difference is mostly rounding. With the eigenvalues m of the
    # whitened X - W, the divergence is half the sum of log(1 + m^2 / 4 (1 + m)).
    near = squared < _NEAR
    if near.any():
        j, i = np.nonzero(near)
        inverses = inverse_factors(prototypes)[j]
        differences = inverses @ (Z[i] - prototypes[j]) @ inverses.mT
        m = np.linalg.eigvalsh(differences)
        squared[near] = np.log1p(m**2 / (4 * (1 + m))).sum(axis=-1) / 2
    return squared.T


def _log_dets(matrices):
    factors = np.linalg.cholesky(matrices)
    return 2 * np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)
