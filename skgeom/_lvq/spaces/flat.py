"""Prototypes among vectors: Euclidean metrics, also of SPD matrices as vectors."""

import numpy as np
from scipy.spatial.distance import cdist

from skgeom._lvq.spaces.base import (
    WIDEST_LOG_RATIO,
    Pairs,
    Space,
    check_spread,
    raise_eigenvalues,
)
from skgeom.geometry import expm, logm
from skgeom.geometry._spd import from_upper_triangles, upper_triangles
from skgeom.optim import MANIFOLDS


class FlatSpace(Space):
    """Vectors with the Euclidean metric."""

    name = "Euclidean"
    has_geodesics = True
    has_slopes = True

    def manifold(self, shape):
        return MANIFOLDS["euclidean"](shape)

    def mean(self, Z, weights):
        return np.average(Z, axis=0, weights=weights)

    def tangent_vectors(self, Z, base):
        return Z - base

    def geodesic(self, base, sample, fraction):
        return base + fraction * (sample - base)

    def pairs(self, Z, prototypes):
        return FlatPairs(Z, prototypes)

    def stochastic(self, prototypes):
        return FlatSteps(self, prototypes)

    def first_rate(self, size, squared_distance):
        return squared_distance / 10


class LogEuclideanSpace(FlatSpace):
    """SPD matrices with the log-Euclidean metric: the logarithms as vectors."""

    name = "log-Euclidean"

    def encode(self, X):
        return upper_triangles(logm(X))

    def decode(self, Z):
        return expm(from_upper_triangles(Z))

    def first_rate(self, size, squared_distance):
        return size / 100  # these distances have no unit

    def check_representable(self, prototypes):
        eigenvalues = np.linalg.eigvalsh(from_upper_triangles(prototypes))
        check_spread(eigenvalues[:, 0] + WIDEST_LOG_RATIO, eigenvalues[:, -1])


class EuclideanSPDSpace(FlatSpace):
    """SPD matrices as vectors, kept positive definite by clipping eigenvalues."""

    keeps_definite = False
    floor = 1e-4  # section 6.1.5 of Tang et al. (2021)

    def observe(self, X):
        """Lower the floor to the smallest eigenvalue of some matrices."""
        self.floor = min(self.floor, np.linalg.eigvalsh(X)[:, 0].min())

    def encode(self, X):
        return upper_triangles(X)

    def decode(self, Z):
        return from_upper_triangles(Z)

    def stochastic(self, prototypes):
        self.observe(self.decode(prototypes))  # a step of zero must not raise them
        return super().stochastic(prototypes)

    def project(self, prototypes):
        matrices = self.decode(prototypes)
        raised = raise_eigenvalues(matrices, self.floor)
        return prototypes if raised is matrices else self.encode(raised)


class FlatPairs(Pairs):
    """Squared Euclidean distances, with gradients."""

    curvature = 2.0
    model_tol = 0.1

    def __init__(self, Z, prototypes):
        self._Z, self._prototypes = Z, prototypes
        self.squared_distances = cdist(Z, prototypes, "sqeuclidean")

    def gradient(self, weights):
        total = weights.sum(axis=0)[:, None]
        return 2 * (total * self._prototypes - weights.T @ self._Z)

    def sample_gradient(self, weights):
        total = weights.sum(axis=1)[:, None]
        return 2 * (total * self._Z - weights @ self._prototypes)

    def coordinates(self, tangents):
        return tangents

    def tangents(self, coordinates):
        return coordinates

    def slopes(self, coordinates):
        own = (coordinates * self._prototypes).sum(axis=1)
        return 2 * (own - self._Z @ coordinates.T)

    def pull_back(self, weights):
        return self.gradient(weights)


class FlatSteps:
    """Prototypes that take stochastic steps along straight lines."""

    def __init__(self, space, prototypes):
        self.prototypes = prototypes
        self._space = space

    def evaluate(self, Z):
        """Squared distances (n, M) of samples, remembered for the next step."""
        self._differences = Z[:, None] - self.prototypes
        return np.square(self._differences).sum(axis=-1)

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients * (z - w)``, (n, M)."""
        step = np.einsum("ij,ijp->jp", coefficients, self._differences)
        self.prototypes = self._space.project(self.prototypes + step)

    def refresh(self):
        """Nothing adds up here."""
