"""Prototypes among SPD matrices with the log-determinant divergence."""

from functools import cached_property
from math import log

import numpy as np

from skgeom._lvq.spaces.base import WhitenedPairs, WhitenedSpace
from skgeom.geometry._affine_invariant import inverse_factors
from skgeom.geometry._small_matrices import inverses_and_log_dets, log_dets
from skgeom.geometry._spd import (
    from_upper_triangles,
    upper_triangles,
    weighted_triangle,
)
from skgeom.utils.array_api import cholesky_factors, device_and_dtype, namespace, put

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
        total = namespace(weights).sum(weights, axis=0)[:, None, None]
        return from_upper_triangles(inverses_of_sums[..., 0]) - total * inverses / 2

    def sample_gradient(self, weights):
        xp = namespace(weights)
        inverses_of_sums = xp.sum(self._inverses_of_sums * weights.T, axis=1).T
        total = xp.sum(weights, axis=1)[:, None, None]
        inverses = xp.linalg.inv(self._Z)
        return from_upper_triangles(inverses_of_sums) - total * inverses / 2

    @cached_property
    def _rows(self):
        """Gradients in whitened coordinates, L' (X + W)^-1 L - I / 2."""
        # On vectors, the congruence with L is one matrix (p, p) for each prototype.
        xp, like_these = namespace(self._inverse), device_and_dtype(self._inverse)
        factors = xp.linalg.inv(self._inverse)[:, None, ...]
        n_entries = self._inverses_of_sums.shape[0]
        basis = from_upper_triangles(xp.eye(n_entries, **like_these))
        congruences = upper_triangles(factors.mT @ basis @ factors)
        rows = self._by_prototype.mT @ congruences
        rows -= upper_triangles(xp.eye(factors.shape[-1], **like_these)) / 2
        return rows

    @property
    def _by_prototype(self):
        return namespace(self._inverse).permute_dims(self._inverses_of_sums, (1, 0, 2))


def upper_triangles_of_entries(entries):
    """``upper_triangles`` of matrices (k, k, ...) by their lower ones, (p, ...)."""
    xp, size = namespace(entries), entries.shape[0]
    rows, columns, weights = weighted_triangle(size, entries)
    if xp is np:
        vectors = entries[columns, rows]
    else:
        flat = xp.reshape(entries, (size * size, *entries.shape[2:]))
        vectors = xp.take(flat, columns * size + rows, axis=0)
    vectors *= xp.reshape(weights, (-1,) + (1,) * (entries.ndim - 2))
    return vectors


def _sums(Z, prototypes):
    """The sums X + W by entries, (k, k, M, n)."""
    xp = namespace(Z)
    of_prototypes, of_samples = (xp.moveaxis(part, 0, -1) for part in (prototypes, Z))
    return of_prototypes[..., None] + of_samples[:, :, None, :]


def _divergences(Z, prototypes, log_dets_of_sums):
    """Squared distances (n, M)."""
    xp = namespace(Z)
    ends = _log_dets(prototypes)[:, None] + _log_dets(Z)
    squared = log_dets_of_sums - ends / 2 - Z.shape[-1] * log(2)
    # Of near matrices, the difference is mostly rounding. With the eigenvalues m of the
    # whitened X - W, the divergence is half the sum of log(1 + m^2 / 4 (1 + m)).
    near = squared < _NEAR
    if xp.any(near):
        j, i = xp.nonzero(near)
        inverses = xp.take(inverse_factors(prototypes), j, axis=0)
        differences = xp.take(Z, i, axis=0) - xp.take(prototypes, j, axis=0)
        m = xp.linalg.eigvalsh(inverses @ differences @ inverses.mT)
        near_ones = xp.sum(xp.log1p(m**2 / (4 * (1 + m))), axis=-1) / 2
        squared = put(squared, near, near_ones)
    return squared.T


def _log_dets(matrices):
    xp = namespace(matrices)
    factors = cholesky_factors(matrices)
    return 2 * xp.sum(xp.log(xp.linalg.diagonal(factors)), axis=-1)
