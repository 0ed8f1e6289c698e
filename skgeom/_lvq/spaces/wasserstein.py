"""Prototypes among SPD matrices with the Bures-Wasserstein metric."""

import numpy as np

from skgeom._lvq.spaces.base import CurvedSpace, Pairs, Steps, raise_eigenvalues
from skgeom.geometry._affine_invariant import from_spectrum
from skgeom.utils.array_api import (
    average,
    cholesky_factors,
    device_and_dtype,
    namespace,
    put,
    to_numpy,
)

# The least factor of a direction in a step: a geodesic ends where it is zero, and goes
# on as its mirror image.
_LEAST_SCALE = 0.1

# Products of two smaller matrices underflow, and of two with the inverse overflow.
_SMALLEST = 1e-140

# Eigenvalues of prototypes are kept above this fraction of the largest of a sample.
_SINGULAR = 1e-12

# A mean is found if the mean map differs from the identity by no more than this.
_MEAN_TOLERANCE = 1e-10
_MEAN_STEPS = 100

# Squared distances below this fraction of the traces have lost half of their digits.
_NEAR = 1e-7


class WassersteinSpace(CurvedSpace):
    r"""SPD matrices with the Bures-Wasserstein metric.

    The distance is that of optimal transport between centred Gaussians [1]_,

    .. math::

       d^2(X, W) = \operatorname{tr} X + \operatorname{tr} W
       - 2 \operatorname{tr} (W^{1/2} X W^{1/2})^{1/2}, \qquad
       \frac{\partial d^2}{\partial W} = I - T

    with the optimal map T from W to X. With :math:`W = L L^\top` and :math:`L^\top X L
    = U S^2 U^\top` it is :math:`T = L^{-\top} U S U^\top L^{-1}`, and the geodesic
    is :math:`A W A` with :math:`A = (1 - t) I + t T`.

    Singular matrices are at a finite distance, and the squared distance has a kink
    there, at which searches by L-BFGS get stuck. Stochastic steps, along geodesics,
    keep eigenvalues above a thousandth of the smallest one of the samples.

    References
    ----------
    .. [1] R. Bhatia, T. Jain and Y. Lim, "On the Bures-Wasserstein distance between
       positive definite matrices", Expositiones Mathematicae 37(2), 2019.
    """

    name = "Wasserstein"
    has_geodesics = True
    keeps_definite = False
    floor = np.inf

    def encode(self, X):
        xp = namespace(X)
        size = xp.max(xp.abs(X), axis=(1, 2))
        if not xp.all((size > _SMALLEST) & (size < 1 / _SMALLEST)):
            size = to_numpy(size)
            raise ValueError(
                f"X has matrices with values up to {size.max():.3g}, and up to "
                f"{size.min():.3g}: too large, or too small, for products of two. "
                "Divide X by a number."
            )
        return X

    def observe(self, X):
        """Lower the floor to a thousandth of the smallest eigenvalue of matrices."""
        xp = namespace(X)
        eigenvalues = xp.linalg.eigvalsh(X)
        # The products that optimal maps are made of have twice the condition.
        lowest = xp.maximum(1e-3 * eigenvalues[:, 0], _SINGULAR * eigenvalues[:, -1])
        self.floor = min(self.floor, float(xp.min(lowest)))

    def project(self, prototypes):
        return raise_eigenvalues(prototypes, self.floor)

    def unit(self, spread):
        return spread  # distances have the unit of the square root of X

    def mean(self, Z, weights):
        """The fixed point W = T W T of the mean optimal map T from W to the samples."""
        xp, mean = namespace(Z), average(Z, weights)
        identity = xp.eye(mean.shape[0], **device_and_dtype(mean))
        for _ in range(_MEAN_STEPS):
            maps = WassersteinPairs(Z, mean[None, ...]).maps[0, ...]
            to_mean = average(maps, weights)
            mean = to_mean @ mean @ to_mean
            mean = (mean + mean.T) / 2
            if xp.max(xp.abs(to_mean - identity)) <= _MEAN_TOLERANCE:
                break
        return mean

    def tangent_vectors(self, Z, base):
        # The inner product of the logarithms at W is tr (T_1 - I) W (T_2 - I).
        xp, factor = namespace(base), cholesky_factors(base)
        maps = WassersteinPairs(Z, base[None, ...]).maps[0, ...]
        identity = xp.eye(base.shape[0], **device_and_dtype(base))
        return xp.reshape((maps - identity) @ factor, (Z.shape[0], -1))

    def geodesic(self, base, sample, fraction):
        identity = namespace(base).eye(base.shape[0], **device_and_dtype(base))
        to_sample = WassersteinPairs(sample[None, ...], base[None, ...]).maps[0, 0, ...]
        mixed = (1 - fraction) * identity + fraction * to_sample
        return mixed @ base @ mixed

    def squared_distances(self, Z, prototypes):
        factors = cholesky_factors(prototypes)[:, None, ...]
        squares = namespace(Z).linalg.eigvalsh(factors.mT @ Z @ factors)
        return _squared_distances(Z, prototypes, factors, _roots(squares))

    def pairs(self, Z, prototypes):
        return WassersteinPairs(Z, prototypes)

    def stochastic(self, prototypes):
        self.observe(prototypes)  # a step of zero must not raise them
        return WassersteinSteps(self, prototypes)

    def first_rate(self, size, squared_distance):
        return squared_distance / 10


class WassersteinPairs(Pairs):
    """Squared distances of n samples from M prototypes, with gradients."""

    def __init__(self, Z, prototypes):
        xp, factors = namespace(Z), cholesky_factors(prototypes)
        self._inverse, self._factors = xp.linalg.inv(factors), factors[:, None, ...]
        squares, self._vectors = xp.linalg.eigh(self._factors.mT @ Z @ self._factors)
        self._sizes = _roots(squares)
        self.squared_distances = _squared_distances(
            Z, prototypes, self._factors, self._sizes
        )

    @property
    def maps(self):
        """Optimal maps from the prototypes to the samples, (M, n, k, k)."""
        inverses = self._inverse[:, None, ...]
        return inverses.mT @ from_spectrum(self._vectors, self._sizes) @ inverses

    def gradient(self, weights):
        # Of the weighted sum of maps, only the middle part differs between samples.
        middles = from_spectrum(self._vectors, weights.T[..., None] * self._sizes)
        xp = namespace(middles)
        maps = self._inverse.mT @ xp.sum(middles, axis=1) @ self._inverse
        identity = xp.eye(maps.shape[-1], **device_and_dtype(maps))
        return xp.sum(weights, axis=0)[:, None, None] * identity - maps


class WassersteinSteps(Steps):
    """Prototypes that take stochastic steps along Bures-Wasserstein geodesics."""

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients * Log_W(X)``, (n, M)."""
        # The gradient of a squared distance is I - T.
        xp = namespace(coefficients)
        eigenvalues, vectors = xp.linalg.eigh(-self._pairs.gradient(coefficients))
        scaling = from_spectrum(vectors, xp.clip(1 + eigenvalues, _LEAST_SCALE, None))
        moved = scaling @ self.prototypes @ scaling
        self.prototypes = self._space.project((moved + moved.mT) / 2)


def _roots(squares):
    # Rounding can make an eigenvalue of a product of two SPD matrices negative.
    xp = namespace(squares)
    return xp.sqrt(xp.clip(squares, 0, None))


def _squared_distances(Z, prototypes, factors, sizes):
    """Squared distances (n, M), given the roots of the eigenvalues of L' X L."""
    xp = namespace(Z)
    traces = xp.linalg.trace(prototypes)[:, None] + xp.linalg.trace(Z)
    squared = traces - 2 * xp.sum(sizes, axis=-1)
    # Of near matrices, the difference of traces is mostly rounding. The squared norm of
    # the logarithm, (T - I) L = L^-T (U S U' - L' L), is not.
    near = squared < _NEAR * traces
    if xp.any(near):
        j, i = xp.nonzero(near)
        L = xp.take(factors[:, 0, ...], j, axis=0)
        squares, vectors = xp.linalg.eigh(L.mT @ xp.take(Z, i, axis=0) @ L)
        offsets = from_spectrum(vectors, _roots(squares)) - L.mT @ L
        norms = xp.sum(xp.linalg.solve(L.mT, offsets) ** 2, axis=(1, 2))
        squared = put(squared, near, norms)
    return squared.T
