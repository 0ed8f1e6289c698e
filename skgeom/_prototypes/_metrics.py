"""Metrics of prototypes: distances, gradients, means, manifolds and coordinates.

A metric is a subclass of one of the two kinds of :class:`Metric`:

- :class:`VectorMetric`, where samples and prototypes become vectors (n, p) with
  Euclidean distances. It needs ``name``, ``encode`` and ``decode``, and ``fit`` and
  ``_arrays`` if it learns from samples;
- :class:`MatrixMetric`, for other distances of SPD matrices that do not change if all
  matrices are transformed by one congruence. It needs ``pairs``, which returns
  :class:`MatrixPairs`.

Samples and prototypes may be arrays of any library, so functions come from
``namespace(Z)``. A metric in ``SPD_METRICS``, at the end of this module, is a value of
the parameter ``metric`` of the estimators, and the tests of the registry find it.
"""

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from math import log

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from skgeom.geometry import logm
from skgeom.geometry._affine_invariant import (
    affine_invariant_mean,
    from_spectrum,
    inverse_factors,
    log_eigenvalues,
    log_spectra,
    mean_logarithm,
    threaded_log_spectra,
)
from skgeom.geometry._small_matrices import inverses_and_log_dets, log_dets
from skgeom.geometry._spd import (
    from_upper_triangles,
    upper_triangles,
    weighted_triangle,
)
from skgeom.optim import AffineInvariant, Euclidean, minimize
from skgeom.utils.array_api import (
    average,
    cholesky_factors,
    device_and_dtype,
    device_of,
    like,
    namespace,
    put,
    sum_of,
    take,
    to_numpy,
)

_EPS = float(np.finfo(np.float64).eps)


class Metric(ABC):
    """Distances of samples from prototypes, with gradients, and steps of prototypes.

    All methods but ``fit`` and ``encode`` accept encoded samples Z and prototypes.
    """

    name = "given"  # in messages, as in "the log-Euclidean metric"
    # Whether each point that an optimization can reach is an SPD matrix. Where it is
    # not, "lbfgs" raises an error, and stochastic steps project onto SPD matrices.
    keeps_definite = True
    # Names of the arrays that ``fit`` sets.
    _arrays = ()

    def fit(self, X, y, weights):  # noqa: B027 - most metrics need not
        """Learn the metric from samples with class indices."""

    def encode(self, X):
        """Samples, or prototypes, in the form in which they are compared."""
        return X

    def decode(self, Z):
        """Inverse of :meth:`encode`."""
        return Z

    def __sklearn_array_api_convert__(self, converter):
        """A copy whose arrays are moved, for scikit-learn's ``move_estimator_to``."""
        moved = copy(self)
        for name in self._arrays:
            if getattr(self, name) is not None:
                setattr(moved, name, converter(getattr(self, name)))
        return moved

    @abstractmethod
    def manifold(self, shape):
        """The manifold of encoded prototypes of a shape."""

    # A method that maps prototypes to a :class:`VectorMetric` close to this metric near
    # them, with lower distances, which accelerates the optimization. The pairs of the
    # metric then accept lower bounds, as those of :class:`AffineInvariantMetric`.
    tangent_metric = None

    # Class of the pairs of n samples and M prototypes: ``pairs(Z, prototypes)`` has
    # ``squared_distances`` (n, M), and gradients. VectorPairs, or a MatrixPairs.
    pairs = None

    def squared_distances(self, Z, prototypes):
        """Squared distances alone, (n, M); to be overridden if that is cheaper."""
        return self.pairs(Z, prototypes).squared_distances

    @abstractmethod
    def mean(self, Z, weights):
        """The point of the least weighted sum of squared distances from samples."""

    @abstractmethod
    def tangent_vectors(self, Z, base):
        """Samples as vectors (n, p) of the tangent space at a point: for k-means."""

    @abstractmethod
    def step(self, prototypes, pairs, coefficients):
        """Prototypes after a step towards samples, by coefficients (n, M).

        A sample attracts a prototype along minus half of the gradient of the squared
        distance, which is the logarithm of the sample where the metric has geodesics.

        Returns
        -------
        prototypes : ndarray
        factors : object
            Factors of the new prototypes, for ``pairs(Z, prototypes, factors)``.
        """

    def first_rate(self, size, squared_distance):
        """Learning rate of ``"sgd"`` at the beginning.

        ``size`` is the number of rows of the matrices (times prototypes per class), and
        the rate is a hundredth of it, as in section 6 of Tang et al. (2021), for
        distances without a unit. For distances with a unit, the rate is proportional to
        a typical ``squared_distance``, so steps do not depend on the unit of the
        samples.
        """
        return size / 100

    def check_representable(self, prototypes):  # noqa: B027 - vectors always are
        """Raise LinAlgError if floating-point numbers cannot hold the prototypes."""


class VectorPairs:
    """Squared Euclidean distances of n samples from M prototypes, with gradients.

    Attributes
    ----------
    squared_distances : ndarray of shape (n, M)
    """

    curvature = 2.0  # second derivative of the squared distance along a unit vector

    def __init__(self, Z, prototypes, factors=None):
        self._Z, self._prototypes = Z, prototypes
        self.squared_distances = euclidean_squared_distances(Z, prototypes)

    def gradient(self, weights):
        """Gradient for the prototypes of the sum weighted by (n, M)."""
        total = sum_of(weights, axis=0)[:, None]
        return 2 * (total * self._prototypes - weights.T @ self._Z)

    def sample_gradient(self, weights):
        """Gradient for the samples."""
        total = sum_of(weights, axis=1)[:, None]
        return 2 * (total * self._Z - weights @ self._prototypes)

    def coordinates(self, tangents):
        """Tangent vectors at the prototypes in an orthonormal basis, (M, p)."""
        return tangents

    def tangents(self, coordinates):
        """Inverse of :meth:`coordinates`."""
        return coordinates

    def jvp(self, coordinates):
        """Derivatives of the squared distances along tangent vectors, (n, M)."""
        own = sum_of(coordinates * self._prototypes, axis=1)
        return 2 * (own - self._Z @ coordinates.T)

    def vjp(self, weights):
        """Coordinates of the gradient of the weighted sum, the adjoint of jvp."""
        return self.gradient(weights)


def euclidean_squared_distances(Z, prototypes):
    """Squared Euclidean distances (n, M); dense, although samples may be sparse."""
    if isinstance(Z, np.ndarray):
        return cdist(Z, prototypes, "sqeuclidean")
    xp = namespace(prototypes)
    if issparse(Z):
        squares = Z.multiply(Z).sum(axis=1)
    else:
        center = xp.mean(prototypes, axis=0)
        Z, prototypes = Z - center, prototypes - center
        squares = xp.sum(Z**2, axis=1)
    ends = squares[:, None] + xp.sum(prototypes**2, axis=1)
    squared = ends - 2 * (Z @ prototypes.T)
    # For close vectors, the difference is mostly rounding.
    near = squared < _EPS ** (1 / 3) * ends
    if xp.any(near):
        i, j = xp.nonzero(near)
        offsets = take(Z, i) - take(prototypes, j)
        squared = put(squared, near, sum_of(offsets**2, axis=1))
    return squared


class VectorMetric(Metric):
    """Vectors with the Euclidean metric."""

    name = "Euclidean"
    pairs = VectorPairs

    def manifold(self, shape):
        return Euclidean(*shape)

    def mean(self, Z, weights):
        return average(Z, weights)

    def tangent_vectors(self, Z, base):
        return Z  # the origin does not matter for k-means, which centers dense arrays

    def squared_distances(self, Z, prototypes):
        return euclidean_squared_distances(Z, prototypes)

    def step(self, prototypes, pairs, coefficients):
        return prototypes - pairs.gradient(coefficients) / 2, None

    def first_rate(self, size, squared_distance):
        return squared_distance / 10


class LogEuclideanMetric(VectorMetric):
    """SPD matrices with the log-Euclidean metric: the logarithms as vectors."""

    name = "log-Euclidean"

    def encode(self, X):
        return upper_triangles(logm(X))

    def decode(self, Z):
        """Matrices whose eigenvalues are limited to what floating-point numbers hold.

        Prototypes of classes that can be separated may be so far from the samples that
        their exponentials overflow, or are singular up to rounding.
        """
        xp = namespace(Z)
        logarithms, vectors = xp.linalg.eigh(from_upper_triangles(Z))
        largest = log(np.finfo(np.float64).max) / 2  # squares do not overflow
        logarithms = xp.clip(logarithms, -largest, largest)
        rounding = log(vectors.shape[-1] * float(xp.finfo(Z.dtype).eps))
        lowest = logarithms[..., -1:] + rounding
        return from_spectrum(vectors, xp.exp(xp.maximum(logarithms, lowest)))

    def first_rate(self, size, squared_distance):
        return size / 100  # these distances have no unit


class TangentMetric(LogEuclideanMetric):
    r"""SPD matrices as vectors of the tangent space at a mean [1]_.

    With the affine-invariant mean :math:`M = L L^\top` of the samples in :meth:`fit`, a
    matrix is encoded as :math:`\log(L^{-1} X L^{-\top})`. Euclidean distances of these
    vectors are the affine-invariant ones from M, and close to them between matrices
    that are near M. A congruence of all matrices rotates the vectors, so that it
    changes no distance.

    References
    ----------
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten, "Classification of
       covariance matrices using a Riemannian-based kernel for BCI applications",
       Neurocomputing 112, 2013.
    """

    name = "tangent-space"
    _arrays = "_factor", "_inverse"

    def fit(self, X, y, weights):
        mean = affine_invariant_mean(X, weights)
        self._factor, self._inverse = cholesky_factors(mean), inverse_factors(mean)

    def encode(self, X):
        spectra = threaded_log_spectra(X, self._inverse[None, ...])
        logarithms, vectors = (part[0, ...] for part in spectra)
        return upper_triangles(from_spectrum(vectors, logarithms))

    def decode(self, Z):
        return definite(congruent(self._factor, super().decode(Z)))


class MahalanobisMetric(TangentMetric):
    r"""The tangent space with the Mahalanobis distance within the classes.

    With the covariance S of the tangent vectors about the means of their classes, and
    the intensity :math:`\rho` of oracle approximating shrinkage [1]_, the squared
    distance of the vectors x and w is

    .. math::

       \kappa \, (x - w)^\top \left((1 - \rho) S + \rho \mu I\right)^{-1} (x - w),
       \qquad \mu = \operatorname{tr}(S) / p,

    with the factor :math:`\kappa` that leaves the mean squared distance of the samples
    from their class mean as it is in :class:`TangentMetric`. So :math:`\rho = 1` gives
    that metric, and variances and rates have the same order of magnitude. Vectors are
    encoded by the symmetric root of that matrix, which is a multiple of the identity
    except in the span of at most n_samples vectors.

    Attributes
    ----------
    shrinkage : float
        The intensity :math:`\rho`.

    References
    ----------
    .. [1] Y. Chen, A. Wiesel, Y. C. Eldar and A. O. Hero, "Shrinkage algorithms for
       MMSE covariance estimation", IEEE Transactions on Signal Processing 58(10), 2010.
    """

    name = "Mahalanobis"
    _arrays = "_factor", "_inverse", "_directions", "_along"
    _directions = _along = None
    shrinkage = 1.0

    def fit(self, X, y, weights):
        super().fit(X, y, weights)
        vectors, xp = super().encode(X), namespace(X)
        total, n_features = float(xp.sum(weights)), vectors.shape[1]
        squares = to_numpy(xp.sum(vectors**2, axis=1))
        residuals = xp.sqrt(weights)[:, None] * _within(vectors, y, weights)
        _, singular, directions = xp.linalg.svd(residuals, full_matrices=False)
        variances = to_numpy(singular) ** 2 / total
        mean = variances.sum() / n_features
        if mean <= _EPS * squares.mean() / n_features:
            return  # up to rounding, each class is a single point
        # Neither copies nor weights are more samples.
        relative = to_numpy(vectors) / np.sqrt(squares.mean())
        n_samples = len(np.unique(np.round(relative, 9), axis=0))
        self.shrinkage = rho = oas_intensity(variances, n_features, n_samples)
        shrunk = (1 - rho) * variances + rho * mean
        kappa = variances.sum() / (variances / shrunk).sum()
        self._directions = directions
        self._elsewhere = float(np.sqrt(kappa / (rho * mean)))
        self._along = like(np.sqrt(kappa / shrunk), X)

    def encode(self, X):
        return self._scaled(super().encode(X), 1)

    def decode(self, Z):
        return super().decode(self._scaled(Z, -1))

    def _scaled(self, vectors, power):
        """Vectors times a power of the root of the metric."""
        if self._directions is None:
            return vectors
        along, elsewhere = self._along**power, self._elsewhere**power
        coordinates = (along - elsewhere) * (vectors @ self._directions.T)
        return elsewhere * vectors + coordinates @ self._directions


def oas_intensity(variances, n_features, n_samples):
    """Oracle approximating shrinkage, by the eigenvalues of a covariance matrix.

    Equation 23 of Chen et al. (2010) without the terms in 2 / n_features, as
    :func:`sklearn.covariance.oas` has it.
    """
    squares, square = (variances**2).sum(), variances.sum() ** 2
    excess = squares - square / n_features
    if excess <= 0:  # a multiple of the identity
        return 1.0
    return min((squares + square) / ((n_samples + 1) * excess), 1.0)


def _within(vectors, y, weights):
    """Vectors minus the weighted means of their classes."""
    xp, residuals = namespace(vectors), vectors
    for label in range(int(xp.max(y)) + 1):
        own = y == label
        if not xp.any(own):
            continue
        mean = average(vectors[own], weights[own])
        residuals = xp.where(own[:, None], vectors - mean, residuals)
    return residuals


class EuclideanSPDMetric(VectorMetric):
    """SPD matrices as vectors, kept positive definite by clipping eigenvalues."""

    keeps_definite = False
    floor = 1e-4  # section 6.1.5 of Tang et al. (2021)

    def fit(self, X, y, weights):
        """Lower the floor to the smallest eigenvalue of the matrices."""
        xp = namespace(X)
        self.floor = min(self.floor, float(xp.min(xp.linalg.eigvalsh(X)[:, 0])))

    def encode(self, X):
        return upper_triangles(X)

    def decode(self, Z):
        return from_upper_triangles(Z)

    def step(self, prototypes, pairs, coefficients):
        moved, _ = super().step(prototypes, pairs, coefficients)
        return self.encode(raise_eigenvalues(self.decode(moved), self.floor)), None


def raise_eigenvalues(matrices, floor):
    """Matrices (M, k, k) with eigenvalues below the floor raised to it, if any are."""
    xp = namespace(matrices)
    eigenvalues, vectors = xp.linalg.eigh(matrices)
    low = eigenvalues[:, 0] < floor
    if xp.any(low):
        raised = xp.clip(eigenvalues[low], floor, None)
        raised = from_spectrum(vectors[low], raised)
        matrices = put(xp.asarray(matrices, copy=True), low, raised)
    return matrices


def definite(matrices):
    """SPD matrices (M, k, k), whose rounded eigenvalues may be negative, made definite.

    Eigenvalues at unit diagonal, which do not depend on the units of the channels, are
    raised to the bound above which a Cholesky decomposition succeeds.
    """
    xp, size = namespace(matrices), matrices.shape[-1]
    rounding = size * float(xp.finfo(matrices.dtype).eps)
    diagonals = xp.linalg.diagonal(matrices)
    least = rounding**2 * xp.max(diagonals, axis=-1, keepdims=True)
    scales = xp.sqrt(xp.maximum(diagonals, least))
    scales = scales[:, :, None] * scales[:, None, :]
    scaled = matrices / scales
    raised = raise_eigenvalues(scaled, size * rounding)
    if raised is scaled:
        return matrices
    raised = raised * scales
    return (raised + raised.mT) / 2


def congruent(A, X):
    """The matrices ``A @ X @ A.T``, exactly symmetric."""
    moved = A @ X @ A.T
    return (moved + moved.mT) / 2


class MatrixMetric(Metric):
    r"""SPD matrices with a distance that a congruence of all matrices does not change.

    Matrices are encoded by the Cholesky factor L of their mean in :meth:`fit`, as
    :math:`L^{-1} X L^{-\top}`. Directions in which all samples are small, because of
    their unit or of a common reference, then count as all others.

    Prototypes move on the manifold of SPD matrices with the affine-invariant metric, on
    which no step leaves the SPD matrices, whatever the distance is. Initializations use
    that metric as well.
    """

    _arrays = "_factor", "_inverse"

    def fit(self, X, y, weights):
        self._factor = cholesky_factors(namespace(X).mean(X, axis=0))
        self._inverse = namespace(X).linalg.inv(self._factor)

    def encode(self, X):
        return congruent(self._inverse, X)

    def decode(self, Z):
        return definite(congruent(self._factor, Z))

    def manifold(self, shape):
        return AffineInvariant(*shape)

    def mean(self, Z, weights):
        """Minimize the weighted sum of squared distances from the arithmetic mean."""
        xp = namespace(Z)
        weights = (weights / xp.sum(weights))[:, None]
        start = xp.sum(weights[..., None] * Z, axis=0)[None, ...]

        # The optimization, over a single matrix, uses NumPy.
        def cost(point):
            pairs = self.pairs(Z, like(point, Z))
            value = float(xp.sum(weights * pairs.squared_distances))
            return value, to_numpy(pairs.gradient(weights))

        # Until rounding prevents a further decrease of the sum.
        start = to_numpy(start)
        found = minimize(cost, self.manifold(start.shape), start, tol=0).point
        return like(found[0], Z)

    def tangent_vectors(self, Z, base):
        logarithms, vectors = log_spectra(Z, inverse_factors(base))
        return upper_triangles(from_spectrum(vectors, logarithms))

    def step(self, prototypes, pairs, coefficients):
        whitened = pairs.factors.mT @ pairs.gradient(-coefficients / 2) @ pairs.factors
        return pairs.exponential(*namespace(whitened).linalg.eigh(whitened))

    def check_representable(self, prototypes):
        xp, size = namespace(prototypes), prototypes.shape[-1]
        eigenvalues = xp.linalg.eigvalsh(prototypes)
        # Rounding makes eigenvalues of some singular matrices negative.
        rounding = size * xp.finfo(prototypes.dtype).eps * eigenvalues[:, -1]
        if not xp.all(eigenvalues[:, 0] > rounding):
            raise np.linalg.LinAlgError("a prototype is singular up to rounding")


class MatrixPairs(ABC):
    """Squared distances of n SPD matrices from M prototypes, with gradients.

    Gradients are in the coordinates in which a prototype is the identity. A subclass
    sets ``squared_distances`` (n, M), and defines ``rows``.

    Parameters
    ----------
    Z, prototypes : ndarray
        Samples (n, k, k) and prototypes (M, k, k).
    factors : tuple of ndarray, default=None
        Factors F of the prototypes F F', and their inverses, where they are known.

    Attributes
    ----------
    curvature : float
        Second derivative of the squared distance along a unit tangent vector, near the
        sample: 2 if the distance is the geodesic distance of the manifold.
    """

    curvature = 2.0

    def __init__(self, Z, prototypes, factors=None):
        if factors is None:
            lower = cholesky_factors(prototypes)
            factors = lower, namespace(Z).linalg.inv(lower)
        self.Z, (self.factors, self.inverses) = Z, factors

    @property
    @abstractmethod
    def rows(self):
        """The gradient of each squared distance, as vectors (M, n, p).

        They are the ``upper_triangles`` of L' G L for the gradient G at L L'.
        """

    def gradient(self, weights):
        """Euclidean gradient for the prototypes of the sum weighted by (n, M)."""
        whitened = from_upper_triangles(self.vjp(weights))
        return self.inverses.mT @ whitened @ self.inverses

    def coordinates(self, tangents):
        """Tangent vectors at the prototypes in an orthonormal basis, (M, p)."""
        return upper_triangles(self.inverses @ tangents @ self.inverses.mT)

    def tangents(self, coordinates):
        """Inverse of :meth:`coordinates`."""
        return self.factors @ from_upper_triangles(coordinates) @ self.factors.mT

    def exponential(self, exponents, vectors):
        """Ends of geodesics, by spectra of whitened tangent vectors, and factors."""
        growth = namespace(exponents).exp(exponents / 2)
        factors = (self.factors @ vectors) * growth[:, None, :]
        inverses = (vectors.mT @ self.inverses) / growth[:, :, None]
        return factors @ factors.mT, (factors, inverses)

    def jvp(self, coordinates):
        """Derivatives of the squared distances along tangent vectors, (n, M)."""
        return (self.rows @ coordinates[:, :, None])[:, :, 0].T

    def vjp(self, weights):
        """Coordinates of the gradient of the weighted sum, the adjoint of jvp."""
        return (weights.T[:, None, :] @ self.rows)[:, 0, :]


class AffineInvariantPairs(MatrixPairs):
    """Squared affine-invariant distances with gradients.

    Given lower bounds ``at_least`` of the squared distances, (n, M), these stand for
    the distances until :meth:`resolve` finds them to matter. Pairs that are not
    resolved have no gradient.

    Attributes
    ----------
    spectra : tuple of ndarray
        Logarithms (M, n, k) of the eigenvalues of whitened samples, and eigenvectors.
    """

    def __init__(self, Z, prototypes, factors=None, at_least=None):
        super().__init__(Z, prototypes, factors)
        if at_least is None:
            self.spectra = log_spectra(Z, self.inverses[:, None, ...])
            self.squared_distances = sum_of(self.spectra[0] ** 2, axis=-1).T
            return
        xp, (n, k), m = namespace(Z), Z.shape[:2], prototypes.shape[0]
        shapes = (m, n, k), (m, n, k, k)
        self.spectra = [xp.zeros(s, **device_and_dtype(Z)) for s in shapes]
        self._known = xp.zeros((n, m), dtype=xp.bool, device=device_of(Z))
        self.squared_distances = at_least

    def resolve(self, matter):
        """Compute the squared distances that are lower bounds so far, and matter.

        ``matter`` maps squared distances (n, M), or lower bounds of them, to whether
        they matter. Replacing a bound by the distance can make other bounds matter.
        """
        xp = namespace(self.Z)
        while xp.any(wanted := matter(self.squared_distances) & ~self._known):
            mask = wanted.T
            prototypes, samples = xp.nonzero(mask)
            found = log_spectra(take(self.Z, samples), take(self.inverses, prototypes))
            squared = sum_of(found[0] ** 2, axis=-1)
            self.squared_distances = put(self.squared_distances.T, mask, squared).T
            pairs = zip(self.spectra, found, strict=True)
            self.spectra = [put(parts, mask, some) for parts, some in pairs]
            self._known = self._known | wanted

    @cached_property
    def rows(self):
        logarithms, vectors = self.spectra
        return -2 * upper_triangles(from_spectrum(vectors, logarithms))

    def gradient(self, weights):
        whitened = -2 * mean_logarithm(*self.spectra, weights.T)
        return self.inverses.mT @ whitened @ self.inverses


class AffineInvariantMetric(MatrixMetric):
    r"""SPD matrices with the affine-invariant metric.

    With :math:`W = F F^\top` and the eigenvalues :math:`\lambda_i` and eigenvectors V
    of :math:`F^{-1} X F^{-\top}`, the squared distance is :math:`\sum_i \log^2
    \lambda_i`, the logarithm map :math:`F V \log(\Lambda) V^\top F^\top`, and the point
    at the fraction t of the geodesic from W to X
    :math:`(F V \Lambda^{t/2})(F V \Lambda^{t/2})^\top`. One eigendecomposition a pair
    is all that cost, gradient and step need.
    """

    name = "affine-invariant"
    pairs = AffineInvariantPairs

    def mean(self, Z, weights):
        return affine_invariant_mean(Z, weights)

    def squared_distances(self, Z, prototypes):
        inverses = inverse_factors(prototypes)[:, None, ...]
        return sum_of(log_eigenvalues(Z, inverses) ** 2, axis=-1).T

    def tangent_metric(self, prototypes):
        """A flat metric close to this one near prototypes, with lower distances."""
        tangent_metric = TangentMetric()
        tangent_metric.fit(prototypes, None, None)
        return tangent_metric

    def step(self, prototypes, pairs, coefficients):
        if coefficients.shape[0] > 1:
            return super().step(prototypes, pairs, coefficients)
        # The logarithm of a single sample has the eigenvectors of the sample.
        logarithms, vectors = pairs.spectra
        exponents = coefficients.T * logarithms[:, 0, :]
        return pairs.exponential(exponents, vectors[:, 0, ...])


class LogDetPairs(MatrixPairs):
    """Squared distances of n samples from M prototypes, with gradients.

    The inverses of the sums X + W are kept as vectors of entries, (p, M, n), each entry
    of all pairs side by side.
    """

    curvature = 0.25  # an eighth of the affine-invariant metric's

    def __init__(self, Z, prototypes, factors=None):
        super().__init__(Z, prototypes, factors)
        inverses, log_dets_of_sums = inverses_and_log_dets(_sums(Z, prototypes))
        self._inverses_of_sums = upper_triangles_of_entries(inverses)
        self.squared_distances = _divergences(Z, prototypes, log_dets_of_sums)

    def gradient(self, weights):
        inverses_of_sums = self._by_prototype @ weights.T[..., None]
        inverses = self.inverses.mT @ self.inverses
        total = namespace(weights).sum(weights, axis=0)[:, None, None]
        return from_upper_triangles(inverses_of_sums[..., 0]) - total * inverses / 2

    @cached_property
    def rows(self):
        """Gradients in whitened coordinates, L' (X + W)^-1 L - I / 2."""
        factors = self.factors[:, None, ...]
        inverses_of_sums = from_upper_triangles(self._by_prototype.mT)
        whitened = factors.mT @ inverses_of_sums @ factors
        identity = namespace(whitened).eye(
            whitened.shape[-1], **device_and_dtype(whitened)
        )
        return upper_triangles(whitened - identity / 2)

    @property
    def _by_prototype(self):
        return namespace(self.inverses).permute_dims(self._inverses_of_sums, (1, 0, 2))


class LogDetMetric(MatrixMetric):
    r"""SPD matrices with Stein's S-divergence, the symmetric log-det divergence [1]_.

    The squared distance

    .. math::

       d^2(X, W) = \log\det \tfrac{X + W}{2} - \tfrac12 \log\det X
       - \tfrac12 \log\det W, \qquad
       \frac{\partial d^2}{\partial W} = (X + W)^{-1} - \tfrac12 W^{-1}

    is affine-invariant, its root is a metric, and near :math:`X = W` it is an eighth of
    the squared affine-invariant distance. It requires a Cholesky factor per pair and no
    eigendecomposition. Prototypes move on the manifold of the affine-invariant metric.

    References
    ----------
    .. [1] S. Sra, "Positive definite matrices and the S-divergence", Proceedings of the
       American Mathematical Society 144(7), 2016.
    """

    name = "log-determinant"
    pairs = LogDetPairs

    def squared_distances(self, Z, prototypes):
        return _divergences(Z, prototypes, log_dets(_sums(Z, prototypes)))


def upper_triangles_of_entries(entries):
    """``upper_triangles`` of matrices (k, k, ...) by their lower ones, (p, ...)."""
    xp, size = namespace(entries), entries.shape[0]
    rows, columns, weights = weighted_triangle(size, entries)
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
    # For close matrices, the difference is mostly rounding. With the eigenvalues m of
    # the whitened X - W, the divergence is half the sum of log(1 + m^2 / 4 (1 + m)).
    near = squared < _EPS**0.5
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


SPD_METRICS = {
    "riemann": AffineInvariantMetric,
    "logeuclid": LogEuclideanMetric,
    "tangent": TangentMetric,
    "mahalanobis": MahalanobisMetric,
    "euclid": EuclideanSPDMetric,
    "logdet": LogDetMetric,
}
