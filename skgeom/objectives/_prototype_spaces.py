"""Where prototypes live: squared distances from samples, and how prototypes move.

A space encodes samples and prototypes as it needs them. ``pairs`` compares samples with
prototypes, and its result carries gradients back; ``moving`` holds prototypes that
take stochastic steps.
"""

from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from skgeom.geometry._spd import expm, logm
from skgeom.utils._threads import map_threads

# Operations of a batch, n^3 for each pair, from which on two threads are worth it.
_PARALLEL = 500_000

# A Riemannian mean is found if the mean logarithm there is this small.
_MEAN_TOLERANCE = 1e-10
_MEAN_STEPS = 100

# The widest spectrum of a logarithm whose exponential is regular: that is log(1e15).
_WIDEST = 34.5


class AffineInvariantSpace:
    r"""SPD matrices with the affine-invariant metric.

    With :math:`W = F F^\top` and the eigenvalues :math:`\lambda_i` and eigenvectors V
    of :math:`F^{-1} X F^{-\top}`, the squared distance is :math:`\sum_i \log^2
    \lambda_i`, the logarithm map :math:`F V \log(\Lambda) V^\top F^\top`, and the point
    at the fraction t of the geodesic from W to X
    :math:`(F V \Lambda^{t/2})(F V \Lambda^{t/2})^\top`. One eigendecomposition a pair
    is all that cost, gradient and step need.
    """

    def encode(self, X):
        return X

    def decode(self, prototypes):
        return prototypes

    def heed(self, X):
        """Nothing of the samples matters to the space."""

    def hold(self, prototypes):
        """Raise LinAlgError if numbers cannot hold the prototypes."""
        eigenvalues = np.linalg.eigvalsh(prototypes)
        _check_spread(eigenvalues[:, 0] * np.exp(_WIDEST), eigenvalues[:, -1])

    def mean(self, Z, weights):
        """Riemannian mean of samples, by steps along the mean logarithm."""
        weights = np.ones(len(Z)) if weights is None else weights
        shares = (weights / weights.sum())[:, None]
        state = self.moving(np.average(Z, axis=0, weights=weights)[None])
        size, best, step = np.inf, np.inf, 1.0
        for _ in range(_MEAN_STEPS):
            state.look(Z)
            size = np.linalg.norm(state.mean_logarithm(shares))
            if size <= _MEAN_TOLERANCE or step < 1e-3:
                break
            # Where the curvature makes whole steps overshoot, shorter ones do not.
            step = step if size < best else step / 2
            best = min(size, best)
            state.move(step * shares)
        state.refresh()
        return state.prototypes[0]

    def tangent_vectors(self, Z, base):
        """Logarithms at a base point, (n, p), with Euclidean inner products."""
        logarithms, vectors = _log_spectra(Z, _inverse_factors(base))
        return _flat((vectors * logarithms[..., None, :]) @ vectors.mT)

    def toward(self, base, sample, fraction):
        """The point at a fraction of the geodesic from ``base`` to ``sample``."""
        state = self.moving(base[None])
        state.look(sample[None])
        state.move(np.full((1, 1), fraction))
        return state.prototypes[0]

    def squared_distances(self, Z, prototypes):
        """Squared distances, (n, n_prototypes)."""
        logarithms = np.log(_spectra(Z, _inverse_factors(prototypes), vectors=False))
        return np.einsum("jip,jip->ij", logarithms, logarithms)

    def pairs(self, Z, prototypes):
        return _AffineInvariantPairs(Z, prototypes)

    def moving(self, prototypes):
        return _MovingFactors(prototypes)


class _AffineInvariantPairs:
    """Squared distances of n samples from M prototypes, with gradients."""

    def __init__(self, Z, prototypes):
        self._inverse = _inverse_factors(prototypes)
        self._logarithms, self._vectors = _log_spectra(Z, self._inverse[:, None])
        self.squared_distances = (self._logarithms**2).sum(axis=-1).T

    @cached_property
    def _rows(self):
        """The whitened logarithms of the samples as vectors, (M, n, p)."""
        return _flat(_sandwich(self._vectors, self._logarithms))

    def gradient(self, weights):
        """Euclidean gradient for the prototypes of the weighted sum, (M, n, n)."""
        diagonals = -2 * weights.T[..., None] * self._logarithms
        whitened = _sandwich(self._vectors, diagonals).sum(axis=1)
        return self._inverse.mT @ whitened @ self._inverse

    def sample_gradient(self, weights):
        """Euclidean gradient for the samples of the weighted sum, (n, k, k)."""
        diagonals = 2 * weights.T[..., None] * self._logarithms
        whitened = _sandwich(self._vectors, diagonals * np.exp(-self._logarithms))
        inverse = self._inverse[:, None]
        return (inverse.mT @ whitened @ inverse).sum(axis=0)

    def coordinates(self, tangents):
        """Tangent vectors at the prototypes in an orthonormal basis, (M, p)."""
        return _flat(self._inverse @ tangents @ self._inverse.mT)

    def tangents(self, coordinates):
        """Inverse of :meth:`coordinates`."""
        factors = np.linalg.inv(self._inverse)
        return factors @ _square(coordinates) @ factors.mT

    def slopes(self, coordinates):
        """Derivatives of the squared distances along tangent vectors, (n, M)."""
        return -2 * (self._rows @ coordinates[:, :, None])[:, :, 0].T

    def pull_back(self, weights):
        """Coordinates of the gradient of the weighted sum, the adjoint of slopes."""
        return -2 * (weights.T[:, None] @ self._rows)[:, 0]


class _MovingFactors:
    r"""Prototypes as factors, :math:`W = F F^\top`, with the inverses of F.

    A step of whitened direction :math:`T = U \Theta U^\top` along a geodesic multiplies
    F by :math:`U e^{\Theta/2}`, so that nothing has to be factored again.
    """

    def __init__(self, prototypes):
        self._factors = np.linalg.cholesky(prototypes)
        self._inverses = np.linalg.inv(self._factors)

    @property
    def prototypes(self):
        return self._factors @ self._factors.mT

    def refresh(self):
        """Undo what rounding has added up."""
        self.__init__(self.prototypes)

    def look(self, Z):
        """Squared distances (n, M) of samples, remembered for the next step."""
        self._seen = self._spectra(Z)
        return np.square(self._seen[0]).sum(axis=-1).T

    def _spectra(self, Z):
        inverses = self._inverses[:, None]
        if self._inverses.size * Z.shape[-1] * len(Z) < _PARALLEL:
            return _log_spectra(Z, inverses)
        halves = map_threads(
            lambda half: _log_spectra(half, inverses), np.array_split(Z, 2)
        )
        return [np.concatenate(parts, axis=1) for parts in zip(*halves, strict=True)]

    def mean_logarithm(self, coefficients):
        """Whitened sum over the samples of ``coefficients * Log_W(X)``."""
        logarithms, vectors = self._seen
        n_prototypes, n_samples, size, _ = vectors.shape
        # The eigenvectors of all samples side by side: the sum is in the product.
        shape = n_prototypes, size, n_samples * size
        columns = vectors.swapaxes(1, 2).reshape(shape)
        diagonals = (coefficients.T[..., None] * logarithms).reshape(
            n_prototypes, 1, -1
        )
        return (columns * diagonals) @ columns.mT

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients * Log_W(X)``, (n, M)."""
        logarithms, vectors = self._seen
        if len(coefficients) == 1:
            exponents = coefficients.T * logarithms[:, 0]
            vectors = vectors[:, 0]
        else:
            exponents, vectors = np.linalg.eigh(self.mean_logarithm(coefficients))
        half = np.exp(exponents / 2)
        self._factors = (self._factors @ vectors) * half[:, None, :]
        self._inverses = (vectors.mT @ self._inverses) / half[:, :, None]


class FlatSpace:
    """Vectors with the Euclidean metric."""

    def encode(self, X):
        return X

    def decode(self, prototypes):
        return prototypes

    def heed(self, X):
        """Nothing of the samples matters to the space."""

    def project(self, prototypes):
        """The nearest points that are allowed."""
        return prototypes

    def hold(self, prototypes):
        """Raise LinAlgError if numbers cannot hold the decoded prototypes."""

    def mean(self, Z, weights):
        return np.average(Z, axis=0, weights=weights)

    def tangent_vectors(self, Z, base):
        return Z - base

    def toward(self, base, sample, fraction):
        return base + fraction * (sample - base)

    def squared_distances(self, Z, prototypes):
        return self.pairs(Z, prototypes).squared_distances

    def pairs(self, Z, prototypes):
        return _FlatPairs(Z, prototypes)

    def moving(self, prototypes):
        return _MovingPoints(prototypes, self.project)


class LogEuclideanSpace(FlatSpace):
    """SPD matrices with the log-Euclidean metric: the logarithms as vectors."""

    def hold(self, prototypes):
        eigenvalues = np.linalg.eigvalsh(_square(prototypes))
        _check_spread(eigenvalues[:, 0] + _WIDEST, eigenvalues[:, -1])

    def encode(self, X):
        return _flat(logm(X))

    def decode(self, prototypes):
        return expm(_square(prototypes))


class EuclideanSPDSpace(FlatSpace):
    """SPD matrices as vectors, kept positive definite by clipping eigenvalues."""

    floor = 1e-4

    def heed(self, X):
        """Lower the floor to the smallest eigenvalue of some matrices."""
        self.floor = min(self.floor, np.linalg.eigvalsh(X)[:, 0].min())

    def encode(self, X):
        return _flat(X)

    def decode(self, prototypes):
        return _square(prototypes)

    def moving(self, prototypes):
        self.heed(self.decode(prototypes))  # that is, do not raise them as they are
        return super().moving(prototypes)

    def project(self, prototypes):
        matrices = _square(prototypes)
        eigenvalues, vectors = np.linalg.eigh(matrices)
        low = eigenvalues[:, 0] < self.floor
        if not low.any():
            return prototypes
        clipped = np.maximum(eigenvalues[low], self.floor)
        matrices[low] = _sandwich(vectors[low], clipped)
        return _flat(matrices)


SPD_SPACES = {
    "riemann": AffineInvariantSpace,
    "logeuclid": LogEuclideanSpace,
    "euclid": EuclideanSPDSpace,
}


class _FlatPairs:
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


class _MovingPoints:
    def __init__(self, prototypes, project):
        self.prototypes = prototypes.copy()
        self._project = project

    def refresh(self):
        """Nothing adds up here."""

    def look(self, Z):
        self._differences = Z[:, None] - self.prototypes
        return np.square(self._differences).sum(axis=-1)

    def move(self, coefficients):
        step = np.einsum("ij,ijp->jp", coefficients, self._differences)
        self.prototypes = self._project(self.prototypes + step)


def _check_spread(lowest, highest):
    """Raise LinAlgError unless the smallest eigenvalues reach up to the largest."""
    if (lowest < highest).any():
        raise np.linalg.LinAlgError("a prototype is singular but for rounding")


def _inverse_factors(prototypes):
    return np.linalg.inv(np.linalg.cholesky(prototypes))


def _spectra(Z, inverse, vectors=True):
    """Eigenvalues, kept positive, of whitened samples, and eigenvectors if wanted."""
    if inverse.ndim == 3 and not vectors:
        inverse = inverse[:, None]
    whitened = inverse @ Z @ inverse.mT
    if vectors:
        eigenvalues, eigenvectors = np.linalg.eigh(whitened)
    else:
        eigenvalues = np.linalg.eigvalsh(whitened)
    # Rounding can hide an eigenvalue this small, and even make it negative.
    floor = np.finfo(float).eps * eigenvalues[..., -1:]
    eigenvalues = np.maximum(eigenvalues, floor)
    return (eigenvalues, eigenvectors) if vectors else eigenvalues


def _log_spectra(Z, inverse):
    eigenvalues, vectors = _spectra(Z, inverse)
    return np.log(eigenvalues), vectors


def _sandwich(vectors, diagonals):
    return (vectors * diagonals[..., None, :]) @ vectors.mT


def _flat(matrices):
    """Upper triangles of symmetric matrices, as vectors of the same norm."""
    size = matrices.shape[-1]
    rows, columns = np.triu_indices(size)
    return matrices[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2))


def _square(vectors):
    """Inverse of :func:`_flat`."""
    size = int(np.sqrt(2 * vectors.shape[-1]))
    rows, columns = np.triu_indices(size)
    values = vectors / np.where(rows == columns, 1.0, np.sqrt(2))
    matrices = np.empty((*vectors.shape[:-1], size, size))
    matrices[..., rows, columns] = values
    matrices[..., columns, rows] = values
    return matrices
