"""Prototypes among vectors: Euclidean metrics, also of SPD matrices as vectors."""

import numpy as np
from scipy.sparse import issparse
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
from skgeom.optim import Euclidean
from skgeom.utils.array_api import average, namespace, put, sum_of

# Squared distances below this fraction of the squared norms have lost too many digits.
_NEAR = 1e-5

# The most numbers of sparse samples that are made dense at a time.
_DENSE = 2_000_000


class FlatSpace(Space):
    """Vectors with the Euclidean metric."""

    name = "Euclidean"
    has_geodesics = True
    has_slopes = True

    def manifold(self, shape):
        return Euclidean(*shape)

    def mean(self, Z, weights):
        return average(Z, weights)

    def tangent_vectors(self, Z, base):
        # Sparse ones remain so: for k-means, any origin will do.
        return Z if issparse(Z) else Z - base

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
        matrices = from_upper_triangles(prototypes)
        eigenvalues = namespace(matrices).linalg.eigvalsh(matrices)
        check_spread(eigenvalues[:, 0] + WIDEST_LOG_RATIO, eigenvalues[:, -1])


class EuclideanSPDSpace(FlatSpace):
    """SPD matrices as vectors, kept positive definite by clipping eigenvalues."""

    keeps_definite = False
    floor = 1e-4  # section 6.1.5 of Tang et al. (2021)

    def observe(self, X):
        """Lower the floor to the smallest eigenvalue of some matrices."""
        xp = namespace(X)
        self.floor = min(self.floor, float(xp.min(xp.linalg.eigvalsh(X)[:, 0])))

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
        self.squared_distances = _squared_distances(Z, prototypes)

    def gradient(self, weights):
        total = sum_of(weights, axis=0)[:, None]
        return 2 * (total * self._prototypes - weights.T @ self._Z)

    def sample_gradient(self, weights):
        total = sum_of(weights, axis=1)[:, None]
        return 2 * (total * self._Z - weights @ self._prototypes)

    def coordinates(self, tangents):
        return tangents

    def tangents(self, coordinates):
        return coordinates

    def slopes(self, coordinates):
        own = sum_of(coordinates * self._prototypes, axis=1)
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
        Z = Z.toarray() if issparse(Z) else Z  # a batch, as the differences are
        self._differences = Z[:, None, :] - self.prototypes
        return sum_of(self._differences * self._differences, axis=-1)

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients * (z - w)``, (n, M)."""
        xp = namespace(coefficients)
        if xp is np:
            step = np.einsum("ij,ijp->jp", coefficients, self._differences)
        else:
            step = xp.sum(coefficients[..., None] * self._differences, axis=0)
        self.prototypes = self._space.project(self.prototypes + step)

    def refresh(self):
        """Nothing adds up here."""


def _squared_distances(Z, prototypes):
    """Squared Euclidean distances (n, M)."""
    if issparse(Z):
        return _sparse_squared_distances(Z, prototypes)
    xp = namespace(Z)
    if xp is np:
        return cdist(Z, prototypes, "sqeuclidean")
    center = xp.mean(prototypes, axis=0)
    Z, prototypes = Z - center, prototypes - center
    ends = xp.sum(Z**2, axis=1)[:, None] + xp.sum(prototypes**2, axis=1)
    squared = ends - 2 * Z @ prototypes.T
    # Of near vectors, the difference is mostly rounding.
    near = squared < _NEAR * ends
    if xp.any(near):
        i, j = xp.nonzero(near)
        offsets = xp.take(Z, i, axis=0) - xp.take(prototypes, j, axis=0)
        squared = put(squared, near, xp.sum(offsets**2, axis=1))
    return squared


def _sparse_squared_distances(Z, prototypes):
    """The same of sparse samples, which stay so but for those near a prototype."""
    ends = Z.multiply(Z).sum(axis=1)[:, None] + np.square(prototypes).sum(axis=1)
    squared = ends - 2 * (Z @ prototypes.T)
    near = np.flatnonzero((squared < _NEAR * ends).any(axis=1))
    step = max(_DENSE // Z.shape[1], 1)
    for start in range(0, len(near), step):
        rows = near[start : start + step]
        squared[rows] = cdist(Z[rows].toarray(), prototypes, "sqeuclidean")
    return squared
