"""Metrics of prototypes: distances, gradients, means, manifolds and coordinates.

A metric is a subclass of one of the two halves of :class:`Metric`:

- :class:`VectorMetric`, where samples and prototypes become vectors (n, p) with
  Euclidean distances. It needs ``encode``, which raises ValueError for what is no SPD
  matrix, and ``decode``;
- :class:`MatrixMetric`, for any other distance of SPD matrices, or
  :class:`WhitenedMetric` if no congruence changes it. It needs ``pairs``, an object
  with ``squared_distances`` and ``gradient``. ``sample_gradient`` (with
  ``learns_subspace``) lets PLRSQ learn a subspace; the JVP and VJP of
  :class:`WhitenedPairs` (with ``has_jvp``) reduce the iterations of ``"lbfgs"``. With a
  ``tangent_metric``, the optimization starts from vectors, and skips distant pairs.

A metric that is learnt from the samples also has ``learn``, and says so by
``learns_metric``; :class:`MahalanobisMetric` is an example.
Samples and prototypes may be arrays of any library, so what they need is taken from
``namespace(Z)``. All say by attributes what is true of them, and ``first_rate`` whether
their distances have a unit. With its name in ``SPD_METRICS``, in ``__init__.py``, the
metric is a value of the parameter ``metric`` of the estimators, and the tests of the
registry find it.
"""

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from itertools import pairwise
from math import exp, log

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

# Prototypes whose eigenvalues variance wider are singular up to rounding: log(1e15).
LARGEST_LOG_CONDITION = 34.5

# Samples that are worse conditioned than this are so by their units, or by a common
# reference, and no limit to prototypes that are seen without them.
_WORST_CONDITION = 1e6

# The largest change of the logarithm of an eigenvalue by a step along a gradient.
_LONGEST = 2.0


class Metric(ABC):
    """Where prototypes live: distances from samples, their gradients, and steps.

    All but ``encode``, ``observe`` and ``learn`` works with encoded samples Z and
    encoded prototypes, whatever encoding the metric chooses.
    """

    name = "given"  # in messages, as in "the log-Euclidean metric"
    # Whether ``geodesic`` and ``tangent_vectors`` are those of the distance.
    has_geodesics = False
    # Whether a congruence of all matrices changes no distance.
    affine_invariant = False
    # Whether every point that a search can reach is an SPD matrix. Where it is not,
    # "lbfgs" is refused, and stochastic steps project onto the allowed ones.
    keeps_definite = True
    # Whether pairs have ``sample_gradient``, and samples are matrices, so that a
    # subspace can be learnt together with the prototypes.
    learns_subspace = False
    # Whether pairs have ``coordinates``, ``tangents``, ``jvp``, ``vjp``,
    # ``curvature`` and ``model_tol``: "lbfgs" builds a model of the curvature of them.
    has_jvp = False
    # Names of the arrays that ``observe`` and ``learn`` set.
    _arrays = ()
    # Whether distances depend on what ``learn`` finds. Prototypes that go on learning
    # then stay in the same metric.
    learns_metric = False

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

    def observe(self, X):  # noqa: B027 - most metrics need not
        """Take note of samples before they are encoded."""

    def learn(self, X, y, weights):  # noqa: B027 - most metrics need not
        """Learn a metric from the samples of the first call, with class indices."""

    @abstractmethod
    def manifold(self, shape):
        """The manifold of encoded prototypes of a shape."""

    @abstractmethod
    def pairs(self, Z, prototypes):
        """Compare n samples with M prototypes.

        Returns
        -------
        Pairs
            Squared distances, and their gradients on demand.
        """

    def tangent_metric(self, prototypes):
        """A flat metric, close to this one near prototypes, or None.

        Its squared distances are not larger than those of this metric. If it is not
        None, :meth:`pairs` takes such lower bounds (n, M) as well, as ``at_least``.
        """
        return None

    def squared_distances(self, Z, prototypes):
        """Squared distances alone, (n, M); to be overridden if that is cheaper."""
        return self.pairs(Z, prototypes).squared_distances

    @abstractmethod
    def mean(self, Z, weights):
        """The point of the least weighted sum of squared distances from samples.

        ``weights`` are positive, or None for one each.
        """

    @abstractmethod
    def tangent_vectors(self, Z, base):
        """Samples as vectors, (n, p), seen from a base point: for k-means."""

    @abstractmethod
    def geodesic(self, base, sample, fraction):
        """The point at a fraction of the way from ``base`` to ``sample``."""

    def stochastic(self, prototypes):
        """Prototypes that take stochastic steps, an object like :class:`Steps`."""
        return Steps(self, prototypes)

    def first_rate(self, size, squared_distance):
        """Learning rate of ``"sgd"`` at the beginning.

        ``size`` is the number of rows of the matrices (times prototypes a class), of
        which section 6 of Tang et al. (2021) takes a hundredth. That is right where
        distances have no unit. Where they have, the rate must follow a typical
        ``squared_distance``, lest steps depend on the unit of the samples.
        """
        return size / 100

    def unit(self, variance):
        """The squared distance that counts as 1 when variances anneal.

        The paper lowers them by .4, and not below .01, which is meant for distances
        like the affine-invariant one. ``variance`` is a typical squared distance.
        """
        return 1.0

    def project(self, prototypes):
        """The nearest points that are allowed, after a stochastic step."""
        return prototypes

    def check_representable(self, prototypes):  # noqa: B027 - vectors always are
        """Raise LinAlgError if floating-point numbers cannot hold the prototypes."""


class Pairs(ABC):
    """Squared distances of n samples from M prototypes, with gradients.

    Attributes
    ----------
    squared_distances : ndarray of shape (n, M)
    """

    def resolve(self, matter):  # noqa: B027 - most pairs know all distances
        """Compute the squared distances that are lower bounds so far, and matter.

        ``matter`` maps squared distances (n, M), or lower bounds of them, to whether
        they matter. Afterwards, it is true of none that is still a bound.
        """

    @abstractmethod
    def gradient(self, weights):
        """Euclidean gradient for the prototypes of the sum weighted by (n, M)."""

    def sample_gradient(self, weights):
        """Euclidean gradient for the samples; where the metric learns subspaces."""
        raise TypeError(f"{type(self).__name__} has no gradient for the samples.")


class WhitenedPairs(Pairs):
    """Pairs of SPD matrices in the coordinates in which a prototype is the identity.

    A subclass sets ``_inverse``, the inverse Cholesky factors of the prototypes, and
    has ``_rows``: the gradient of each squared distance there, ``upper_triangles`` of
    L' G L for a prototype L L', (M, n, p).

    Attributes
    ----------
    curvature : float
        Second derivative of the squared distance along a unit tangent vector, near the
        sample: 2 where the distance is that of the manifold.
    model_tol : float
        How exactly, relatively, the equations of the model of the curvature are solved.
    """

    curvature = 2.0
    model_tol = 0.1

    def coordinates(self, tangents):
        """Tangent vectors at the prototypes in an orthonormal basis, (M, p)."""
        return upper_triangles(self._inverse @ tangents @ self._inverse.mT)

    def tangents(self, coordinates):
        """Inverse of :meth:`coordinates`."""
        factors = namespace(self._inverse).linalg.inv(self._inverse)
        return factors @ from_upper_triangles(coordinates) @ factors.mT

    def jvp(self, coordinates):
        """Derivatives of the squared distances along tangent vectors, (n, M)."""
        return (self._rows @ coordinates[:, :, None])[:, :, 0].T

    def vjp(self, weights):
        """Coordinates of the gradient of the weighted sum, the adjoint of jvp."""
        return (weights.T[:, None, :] @ self._rows)[:, 0, :]


class MatrixMetric(Metric):
    """SPD matrices with a distance of their own; a subclass gives ``pairs``.

    Unless a subclass knows better, prototypes move on the manifold of SPD matrices with
    the affine-invariant metric, on which no step leaves the SPD matrices, whatever the
    distance is. Starts use that metric as well.
    """

    def manifold(self, shape):
        return AffineInvariant(*shape)

    def mean(self, Z, weights):
        """Minimise the weighted sum of squared distances from the arithmetic mean."""
        xp = namespace(Z)
        weights = xp.ones_like(Z[:, 0, 0]) if weights is None else weights
        weights = (weights / xp.sum(weights))[:, None]
        start = xp.sum(weights[..., None] * Z, axis=0)[None, ...]

        # The search, of a single matrix, is numpy's.
        def cost(point):
            pairs = self.pairs(Z, like(point, Z))
            value = float(xp.sum(weights * pairs.squared_distances))
            return value, to_numpy(pairs.gradient(weights))

        # Until the sum is as low as rounding lets it be.
        start = to_numpy(start)
        found = minimize(cost, self.manifold(start.shape), start, tol=0).point
        return like(found[0], Z)

    def tangent_vectors(self, Z, base):
        logarithms, vectors = log_spectra(Z, inverse_factors(base))
        return upper_triangles(from_spectrum(vectors, logarithms))

    def geodesic(self, base, sample, fraction):
        xp, factor = namespace(base), cholesky_factors(base)
        logarithms, vectors = log_spectra(sample, xp.linalg.inv(factor))
        half = (factor @ vectors) * xp.exp(fraction * logarithms / 2)
        return half @ half.T

    def check_representable(self, prototypes):
        check_condition(prototypes, LARGEST_LOG_CONDITION)


class WhitenedMetric(MatrixMetric):
    r"""SPD matrices with a distance that a congruence of all matrices does not change.

    So matrices are compared as their mean sees them, encoded by its Cholesky factor L
    as :math:`L^{-1} X L^{-\top}`: directions in which all samples are small, be it by
    their unit or because a common reference was subtracted, then count as all others.
    Before :meth:`observe`, matrices are taken as they are.
    """

    affine_invariant = True
    _arrays = "_factor", "_inverse"
    _factor = _inverse = None
    _condition = 1.0

    def observe(self, X):
        """Whiten by the mean of these matrices from now on."""
        xp = namespace(X)
        self._factor = cholesky_factors(xp.mean(X, axis=0))
        self._inverse = xp.linalg.inv(self._factor)
        sizes = xp.linalg.svdvals(self._factor)
        smallest = float(sizes[-1] / sizes[0]) ** 2
        self._condition = 1 / max(smallest, np.finfo(np.float64).tiny)

    def encode(self, X):
        return X if self._factor is None else congruent(self._inverse, X)

    def decode(self, Z):
        return Z if self._factor is None else congruent(self._factor, Z)

    def check_representable(self, prototypes):
        # Decoded ones should not be singular either, unless samples are near to it.
        limit = LARGEST_LOG_CONDITION - log(min(self._condition, _WORST_CONDITION))
        check_condition(prototypes, limit)


def congruent(A, X):
    """The matrices ``A @ X @ A.T``, exactly symmetric."""
    moved = A @ X @ A.T
    return (moved + moved.mT) / 2


class Steps:
    """Prototypes that take stochastic steps along the gradients of squared distances.

    A sample attracts a prototype along minus half of that gradient, which is the
    logarithm of the sample where the distance is affine-invariant. Steps follow
    geodesics of that metric, and change no eigenvalue by more than a factor of e^2:
    the gradients of a divergence may grow without bound.

    Parameters
    ----------
    metric : MatrixMetric
        Where the prototypes live.
    prototypes : ndarray of shape (M, k, k)
        Where they are; not modified.
    """

    def __init__(self, metric, prototypes):
        self.prototypes = prototypes
        self._metric = metric

    def evaluate(self, Z):
        """Squared distances (n, M) of samples, remembered for the next step."""
        self._pairs = self._metric.pairs(Z, self.prototypes)
        return self._pairs.squared_distances

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients``, (n, M), times pulls."""
        xp, factors = namespace(self.prototypes), cholesky_factors(self.prototypes)
        whitened = factors.mT @ self._pairs.gradient(coefficients) @ factors
        exponents, vectors = xp.linalg.eigh(-whitened / 2)
        exponents = xp.clip(exponents, -_LONGEST, _LONGEST)
        half = (factors @ vectors) * xp.exp(exponents / 2)[:, None, :]
        self.prototypes = self._metric.project(half @ half.mT)

    def refresh(self):
        """Undo what rounding has added up; here nothing does."""


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


def check_condition(matrices, largest_log):
    """Raise LinAlgError if the condition of a matrix exceeds a limit."""
    xp = namespace(matrices)
    eigenvalues = xp.linalg.eigvalsh(matrices)
    if xp.any(eigenvalues[:, 0] * exp(largest_log) < eigenvalues[:, -1]):
        raise np.linalg.LinAlgError("a prototype is singular up to rounding")


# Squared distances below this fraction of the squared norms have lost too many digits.
_NEAR = 1e-5

# The largest absolute logarithm of an eigenvalue of decoded prototypes.
_LARGEST_LOG = 300.0

# The most numbers of sparse samples that are made dense at a time.
_DENSE = 2_000_000


class VectorMetric(Metric):
    """Vectors with the Euclidean metric."""

    name = "Euclidean"
    has_geodesics = True
    has_jvp = True

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
        return VectorPairs(Z, prototypes)

    def stochastic(self, prototypes):
        return VectorSteps(self, prototypes)

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
        logarithms = xp.clip(logarithms, -_LARGEST_LOG, _LARGEST_LOG)
        lowest = logarithms[..., -1:] - LARGEST_LOG_CONDITION
        return from_spectrum(vectors, xp.exp(xp.maximum(logarithms, lowest)))

    def first_rate(self, size, squared_distance):
        return size / 100  # these distances have no unit


class EuclideanSPDMetric(VectorMetric):
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


class VectorPairs(Pairs):
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

    def jvp(self, coordinates):
        own = sum_of(coordinates * self._prototypes, axis=1)
        return 2 * (own - self._Z @ coordinates.T)

    def vjp(self, weights):
        return self.gradient(weights)


class VectorSteps:
    """Prototypes that take stochastic steps along straight lines."""

    def __init__(self, metric, prototypes):
        self.prototypes = prototypes
        self._metric = metric

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
        self.prototypes = self._metric.project(self.prototypes + step)

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


# A scatter within classes that is this small beside that of all samples is rounding.
_ROUNDING = 1e-20


class TangentMetric(LogEuclideanMetric):
    r"""SPD matrices as vectors of the tangent space at a mean [1]_.

    With the affine-invariant mean :math:`M = L L^\top` of the samples that
    :meth:`learn` sees, a matrix is encoded as :math:`\log(L^{-1} X L^{-\top})`.
    Euclidean distances of these are the affine-invariant ones from M, and close to them
    between matrices that are near M. A congruence of all matrices, those of
    :meth:`learn` included, rotates the vectors, so that it changes no distance. Before
    :meth:`learn`, M is the identity.

    References
    ----------
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten, "Classification of
       covariance matrices using a Riemannian-based kernel for BCI applications",
       Neurocomputing 112, 2013.
    """

    name = "tangent-space"
    affine_invariant = True
    learns_metric = True
    _arrays = "_factor", "_inverse"
    _factor = _inverse = None

    def learn(self, X, y, weights):
        mean = affine_invariant_mean(X, weights)
        self._factor, self._inverse = cholesky_factors(mean), inverse_factors(mean)

    def encode(self, X):
        if self._inverse is None:
            return super().encode(X)
        spectra = threaded_log_spectra(X, self._inverse[None, ...])
        logarithms, vectors = (part[0, ...] for part in spectra)
        return upper_triangles(from_spectrum(vectors, logarithms))

    def decode(self, Z):
        whitened = super().decode(Z)
        if self._factor is None:
            return whitened
        return definite(congruent(self._factor, whitened))


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
    but for the span of at most n_samples vectors.

    References
    ----------
    .. [1] Y. Chen, A. Wiesel, Y. C. Eldar and A. O. Hero, "Shrinkage algorithms for
       MMSE covariance estimation", IEEE Transactions on Signal Processing 58(10), 2010.
    """

    name = "Mahalanobis"
    _arrays = "_factor", "_inverse", "_directions", "_along"
    _directions = _along = None

    def learn(self, X, y, weights):
        super().learn(X, y, weights)
        vectors, xp = super().encode(X), namespace(X)
        total, n_features = float(xp.sum(weights)), vectors.shape[1]
        squares = to_numpy(xp.sum(vectors**2, axis=1))
        residuals = xp.sqrt(weights)[:, None] * _within(vectors, y, weights)
        _, singular, directions = xp.linalg.svd(residuals, full_matrices=False)
        variances = to_numpy(singular) ** 2 / total
        mean = variances.sum() / n_features
        if mean <= _ROUNDING * squares.mean() / n_features:
            return  # each class is a single point: there is nothing to learn from
        # Neither copies nor weights are more samples.
        relative = to_numpy(vectors) / np.sqrt(squares.mean())
        n_samples = len(np.unique(np.round(relative, 9), axis=0))
        rho = oas_intensity(variances, n_features, n_samples)
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


class AffineInvariantMetric(WhitenedMetric):
    r"""SPD matrices with the affine-invariant metric.

    With :math:`W = F F^\top` and the eigenvalues :math:`\lambda_i` and eigenvectors V
    of :math:`F^{-1} X F^{-\top}`, the squared distance is :math:`\sum_i \log^2
    \lambda_i`, the logarithm map :math:`F V \log(\Lambda) V^\top F^\top`, and the point
    at the fraction t of the geodesic from W to X
    :math:`(F V \Lambda^{t/2})(F V \Lambda^{t/2})^\top`. One eigendecomposition a pair
    is all that cost, gradient and step need.
    """

    name = "affine-invariant"
    has_geodesics = True
    learns_subspace = True
    has_jvp = True

    def mean(self, Z, weights):
        return affine_invariant_mean(Z, weights)

    def squared_distances(self, Z, prototypes):
        inverses = inverse_factors(prototypes)[:, None, ...]
        logarithms, xp = log_eigenvalues(Z, inverses), namespace(Z)
        if xp is np:
            return np.einsum("jip,jip->ij", logarithms, logarithms)
        return xp.sum(logarithms**2, axis=-1).T

    def pairs(self, Z, prototypes, at_least=None):
        return AffineInvariantPairs(Z, prototypes, at_least)

    def tangent_metric(self, prototypes):
        tangent_metric = TangentMetric()
        tangent_metric.learn(prototypes, None, None)
        return tangent_metric

    def stochastic(self, prototypes):
        return FactorSteps(prototypes)


class AffineInvariantPairs(WhitenedPairs):
    """Squared distances of n samples from M prototypes, with gradients.

    Given lower bounds ``at_least`` of the squared distances, (n, M), these stand for
    the distances of all pairs that :meth:`resolve` does not find to matter. Such pairs
    have no gradient.
    """

    def __init__(self, Z, prototypes, at_least=None):
        self._Z, self._inverse = Z, inverse_factors(prototypes)
        self._parts = []
        xp, lead = namespace(Z), (Z.shape[0], prototypes.shape[0])
        self._known = xp.zeros(lead, dtype=xp.bool, device=device_of(Z))
        self.squared_distances = at_least
        if at_least is None:
            self.squared_distances = xp.zeros(lead, **device_and_dtype(Z))
            self._compute(~self._known)

    def resolve(self, matter):
        # A bound that is replaced by the distance may let other pairs matter.
        while True:
            wanted = matter(self.squared_distances) & ~self._known
            if not namespace(wanted).any(wanted):
                return
            self._compute(wanted)

    def _compute(self, wanted):
        part = _Part(self._Z, self._inverse, wanted)
        squared = put(self.squared_distances.T, part.wanted, part.squared_distances)
        self.squared_distances = squared.T
        self._known = self._known | wanted
        self._parts.append(part)

    def gradient(self, weights):
        whitened = from_upper_triangles(self.vjp(weights))
        return self._inverse.mT @ whitened @ self._inverse

    def sample_gradient(self, weights):
        return sum(part.sample_gradient(weights) for part in self._parts)

    # Of numpy's arrays, only the rows of the pairs that are known are multiplied, one
    # prototype after the other; of others all at once, with zeros for the unknown.

    def jvp(self, coordinates):
        if namespace(coordinates) is not np:
            return super().jvp(coordinates)
        jvp = np.zeros(self._known.shape)
        for part in self._parts:
            jvp[part.samples, part.prototypes] = part.jvp(coordinates)
        return jvp

    def vjp(self, weights):
        if namespace(weights) is not np:
            return super().vjp(weights)
        return sum(part.vjp(weights) for part in self._parts)

    @cached_property
    def _rows(self):
        shape = *self._known.T.shape, self._parts[0].rows.shape[-1]
        rows = namespace(self._Z).zeros(shape, **device_and_dtype(self._Z))
        for part in self._parts:
            rows = put(rows, part.wanted, part.rows)
        return rows


class _Part:
    """Some of the pairs, prototype by prototype, with their eigendecompositions."""

    def __init__(self, Z, inverses, wanted):
        xp, self.wanted = namespace(Z), wanted.T
        self.prototypes, self.samples = xp.nonzero(self.wanted)
        self._shape, self._inverses = Z.shape, inverses
        self._logarithms, self._vectors = log_spectra(
            take(Z, self.samples), take(inverses, self.prototypes)
        )
        self.squared_distances = sum_of(self._logarithms**2, axis=-1)

    @cached_property
    def _ends(self):
        return np.searchsorted(self.prototypes, np.arange(len(self._inverses) + 1))

    @cached_property
    def rows(self):
        """Gradients in whitened coordinates, -2 log, as vectors (n_pairs, p)."""
        return -2 * upper_triangles(from_spectrum(self._vectors, self._logarithms))

    def jvp(self, coordinates):
        """Derivatives of the squared distances along tangent vectors, (n_pairs,)."""
        jvp = np.empty(len(self.rows))
        for direction, (own, rows) in zip(coordinates, self._by_prototype, strict=True):
            np.matmul(rows, direction, out=jvp[own])
        return jvp

    def vjp(self, weights):
        """Gradients of the weighted sum in whitened coordinates, (M, p)."""
        weights = weights[self.samples, self.prototypes]
        return np.stack([weights[own] @ rows for own, rows in self._by_prototype])

    def sample_gradient(self, weights):
        """Gradient of the weighted sum for the samples."""
        xp = namespace(weights)
        weights = weights.T[self.wanted][:, None]
        diagonals = 2 * weights * self._logarithms * xp.exp(-self._logarithms)
        inverses = take(self._inverses, self.prototypes)
        gradients = inverses.mT @ from_spectrum(self._vectors, diagonals) @ inverses
        (n_samples, *shape), n_prototypes = self._shape, self._inverses.shape[0]
        shape = n_prototypes, n_samples, *shape
        total = xp.zeros(shape, **device_and_dtype(gradients))
        return xp.sum(put(total, self.wanted, gradients), axis=0)

    @property
    def _by_prototype(self):
        """Slices of the pairs, and their rows, for each prototype."""
        for begin, end in pairwise(self._ends):
            yield slice(begin, end), self.rows[begin:end]


class FactorSteps:
    r"""Prototypes as factors, :math:`W = F F^\top`, with the inverses of F.

    A step of whitened direction :math:`T = U \Theta U^\top` along a geodesic multiplies
    F by :math:`U e^{\Theta/2}`, so that nothing has to be factored again.
    """

    def __init__(self, prototypes):
        self._xp = namespace(prototypes)
        self._factors = cholesky_factors(prototypes)
        self._inverses = self._xp.linalg.inv(self._factors)

    @property
    def prototypes(self):
        return self._factors @ self._factors.mT

    def evaluate(self, Z):
        """Squared distances (n, M) of samples, remembered for the next step."""
        self._spectra = threaded_log_spectra(Z, self._inverses)
        return sum_of(self._spectra[0] ** 2, axis=-1).T

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients * Log_W(X)``, (n, M)."""
        logarithms, vectors = self._spectra
        if coefficients.shape[0] == 1:  # the sum has the eigenvectors of its one term
            exponents = coefficients.T * logarithms[:, 0, :]
            vectors = vectors[:, 0, ...]
        else:
            whitened = mean_logarithm(logarithms, vectors, coefficients.T)
            exponents, vectors = self._xp.linalg.eigh(whitened)
        half = self._xp.exp(exponents / 2)
        self._factors = (self._factors @ vectors) * half[:, None, :]
        self._inverses = (vectors.mT @ self._inverses) / half[:, :, None]

    def refresh(self):
        """Factor the prototypes again: rounding adds up in factor and inverse."""
        self.__init__(self.prototypes)


# Smaller divergences have lost half of their digits in differences of logarithms.
_NEAR_DIVERGENCE = 1e-7


class LogDetMetric(WhitenedMetric):
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
    has_jvp = True

    def squared_distances(self, Z, prototypes):
        return _divergences(Z, prototypes, log_dets(_sums(Z, prototypes)))

    def pairs(self, Z, prototypes):
        return LogDetPairs(Z, prototypes)

    def unit(self, variance):
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
        factors = namespace(self._inverse).linalg.inv(self._inverse)[:, None, ...]
        inverses_of_sums = from_upper_triangles(self._by_prototype.mT)
        whitened = factors.mT @ inverses_of_sums @ factors
        identity = namespace(whitened).eye(
            whitened.shape[-1], **device_and_dtype(whitened)
        )
        return upper_triangles(whitened - identity / 2)

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
    near = squared < _NEAR_DIVERGENCE
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


def find_metric(metric):
    """A new metric of a name."""
    if metric not in SPD_METRICS:
        raise ValueError(
            f"metric must be one of {sorted(SPD_METRICS)}, got {metric!r}."
        )
    return SPD_METRICS[metric]()
