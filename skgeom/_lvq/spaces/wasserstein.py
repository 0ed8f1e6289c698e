"""Prototypes among SPD matrices with the Bures-Wasserstein metric."""

import numpy as np

from skgeom._lvq.spaces.base import CurvedSpace, Pairs, Steps, raise_eigenvalues
from skgeom.geometry._affine_invariant import from_spectrum

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
        size = np.abs(X).max(axis=(1, 2))
        if not ((size > _SMALLEST) & (size < 1 / _SMALLEST)).all():
            raise ValueError(
                f"X has matrices with values up to {size.max():.3g}, and up to "
                f"{size.min():.3g}: too large, or too small, for products of two. "
                "Divide X by a number."
            )
        return X

    def observe(self, X):
        """Lower the floor to a thousandth of the smallest eigenvalue of matrices."""
        eigenvalues = np.linalg.eigvalsh(X)
        # The products that optimal maps are made of have twice the condition.
        lowest = np.maximum(1e-3 * eigenvalues[:, 0], _SINGULAR * eigenvalues[:, -1])
        self.floor = min(self.floor, lowest.min())

    def project(self, prototypes):
        return raise_eigenvalues(prototypes, self.floor)

    def unit(self, spread):
        return spread  # distances have the unit of the square root of X

    def mean(self, Z, weights):
        """The fixed point W = T W T of the mean optimal map T from W to the samples."""
        mean = np.average(Z, axis=0, weights=weights)
        identity = np.eye(len(mean))
        for _ in range(_MEAN_STEPS):
            maps = WassersteinPairs(Z, mean[None]).maps[0]
            to_mean = np.average(maps, axis=0, weights=weights)
            mean = to_mean @ mean @ to_mean
            mean = (mean + mean.T) / 2
            if np.abs(to_mean - identity).max() <= _MEAN_TOLERANCE:
                break
        return mean

    def tangent_vectors(self, Z, base):
        # The inner product of the logarithms at W is tr (T_1 - I) W (T_2 - I).
        factor = np.linalg.cholesky(base)
        maps = WassersteinPairs(Z, base[None]).maps[0]
        return ((maps - np.eye(len(base))) @ factor).reshape(len(Z), -1)

    def geodesic(self, base, sample, fraction):
        to_sample = WassersteinPairs(sample[None], base[None]).maps[0, 0]
        mixed = (1 - fraction) * np.eye(len(base)) + fraction * to_sample
        return mixed @ base @ mixed

    def squared_distances(self, Z, prototypes):
        factors = np.linalg.cholesky(prototypes)[:, None]
        squares = np.linalg.eigvalsh(factors.mT @ Z @ factors)
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
        self._factors = np.linalg.cholesky(prototypes)[:, None]
        self._inverse = np.linalg.inv(self._factors[:, 0])
        squares, self._vectors = np.linalg.eigh(self._factors.mT @ Z @ self._factors)
        self._sizes = _roots(squares)
        self.squared_distances = _squared_distances(
            Z, prototypes, self._factors, self._sizes
        )

    @property
    def maps(self):
        """Optimal maps from the prototypes to the samples, (M, n, k, k)."""
        inverses = self._inverse[:, None]
        return inverses.mT @ from_spectrum(self._vectors, self._sizes) @ inverses

    def gradient(self, weights):
        # Of the weighted sum of maps, only the middle part differs between samples.
        middles = from_spectrum(self._vectors, weights.T[..., None] * self._sizes)
        maps = self._inverse.mT @ middles.sum(axis=1) @ self._inverse
        return weights.sum(axis=0)[:, None, None] * np.eye(maps.shape[-1]) - maps


class WassersteinSteps(Steps):
    """Prototypes that take stochastic steps along Bures-Wasserstein geodesics."""

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients * Log_W(X)``, (n, M)."""
        # The gradient of a squared distance is I - T.
        eigenvalues, vectors = np.linalg.eigh(-self._pairs.gradient(coefficients))
        scaling = from_spectrum(vectors, np.maximum(1 + eigenvalues, _LEAST_SCALE))
        moved = scaling @ self.prototypes @ scaling
        self.prototypes = self._space.project((moved + moved.mT) / 2)


def _roots(squares):
    # Rounding can make an eigenvalue of a product of two SPD matrices negative.
    return np.sqrt(np.maximum(squares, 0))


def _squared_distances(Z, prototypes, factors, sizes):
    """Squared distances (n, M), given the roots of the eigenvalues of L' X L."""
    traces = np.trace(prototypes, axis1=1, axis2=2)[:, None]
    traces = traces + np.trace(Z, axis1=1, axis2=2)
    squared = traces - 2 * sizes.sum(axis=-1)
    # Of near matrices, the difference of traces is mostly rounding. The squared norm of
    # the logarithm, (T - I) L = L^-T (U S U' - L' L), is not.
    near = squared < _NEAR * traces
    if near.any():
        j, i = np.nonzero(near)
        L = factors[j, 0]
        squares, vectors = np.linalg.eigh(L.mT @ Z[i] @ L)
        offsets = from_spectrum(vectors, _roots(squares)) - L.mT @ L
        squared[near] = np.square(np.linalg.solve(L.mT, offsets)).sum(axis=(1, 2))
    return squared.T
