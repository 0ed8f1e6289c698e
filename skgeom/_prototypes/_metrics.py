r"""Metrics of prototypes: distances, gradients, means, manifolds and coordinates.

A metric encodes samples and prototypes, and computes squared distances
:math:`d^2(Z_i, W_l)` of n encoded samples from M encoded prototypes. A
:class:`Metric` is one of two kinds:

- A :class:`VectorMetric` encodes samples and prototypes as vectors (n, p), whose
  Euclidean distances are the distances. A subclass defines ``name``, ``encode`` and
  ``decode``, and ``fit`` if the metric depends on the samples. The names of arrays
  that ``fit`` sets start with an underscore.
- A :class:`MatrixMetric` is a distance of SPD matrices with
  :math:`d(A X A^\top, A W A^\top) = d(X, W)` for all invertible A. A subclass defines
  ``pairs``, a subclass of :class:`MatrixPairs`.

Gradients of a weighted sum :math:`\sum_{il} c_{il} \, d^2(Z_i, W_l)` with coefficients
c of shape (n, M) are computed from the class in ``pairs``.

Samples and prototypes may be arrays of any library, so functions come from
``namespace(Z)``. The keys of ``SPD_METRICS``, at the end of this module, are the values
of the parameter ``metric`` of the estimators. The tests run for all of its metrics.
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
from skgeom.geometry._spd import from_upper_triangles, upper_triangles
from skgeom.optim._manifolds import AffineInvariant, Euclidean
from skgeom.optim._minimize import minimize
from skgeom.utils.array_api import (
    average,
    cholesky_factors,
    device_and_dtype,
    device_of,
    like,
    moved,
    namespace,
    put,
    take,
    to_numpy,
)
from skgeom.utils.linalg import LowRankPlusIdentity
from skgeom.utils.validation import rounding_bound

_EPS = float(np.finfo(np.float64).eps)


class Metric(ABC):
    """Distances of samples from prototypes, their gradients, and steps of prototypes.

    ``fit`` and ``encode`` accept SPD matrices or vectors X as the user passes them. All
    other methods accept encoded samples Z and encoded prototypes.
    """

    name = "given"  # in messages, as in "the log-Euclidean metric"
    # Whether all prototypes that an optimization can reach are SPD matrices. If not,
    # "lbfgs" raises an error, and stochastic steps project onto the SPD matrices.
    keeps_definite = True
    # Whether ``fit`` uses y. The metric is then fitted again in each fold.
    uses_labels = False

    def __init__(self, is_complex=False):
        # Whether matrices are the real embeddings of complex matrices.
        self.is_complex = is_complex

    def fit(self, X, y, weights):  # noqa: B027 - most metrics need no fit
        """Estimate the metric from samples X, class indices y and weights."""

    def refitted(self, X, y, weights):
        """The metric of a fold, whose parts that depend on labels know its labels only.

        A metric that keeps all other parts in its own ``refitted`` saves most of the
        time.
        """
        if not self.uses_labels:
            return self
        metric = copy(self)
        metric.fit(X, y, weights)
        return metric

    def encode(self, X):
        """Convert samples or prototypes to the arrays whose distances are computed."""
        return X

    def decode(self, Z):
        """Inverse of :meth:`encode`."""
        return Z

    def __sklearn_array_api_convert__(self, converter):
        """A copy whose arrays are moved, for scikit-learn's ``move_estimator_to``."""
        metric = copy(self)
        vars(metric).update(moved(vars(self), converter))
        return metric

    @abstractmethod
    def manifold(self, shape):
        """The manifold of arrays of encoded prototypes with the given shape."""

    # Optional method: maps prototypes to a :class:`VectorMetric` that approximates this
    # metric near the prototypes, and whose distances are lower bounds. An optimization
    # with the approximation precedes the exact optimization, and the lower bounds save
    # the computation of distances. ``pairs`` must then accept ``at_least``, see
    # :class:`AffineInvariantPairs`.
    tangent_metric = None

    # Class of the pairs of n samples and M prototypes: VectorPairs, or a subclass of
    # MatrixPairs. ``pairs(Z, prototypes)`` has the attribute ``squared_distances``
    # (n, M), and methods for gradients.
    pairs = None

    def squared_distances(self, Z, prototypes):
        """Squared distances (n, M). Override this if no gradient makes it cheaper."""
        return self.pairs(Z, prototypes).squared_distances

    @abstractmethod
    def mean(self, Z, weights):
        """The point with the smallest weighted sum of squared distances."""

    @abstractmethod
    def tangent_vectors(self, Z, base):
        """Samples as vectors (n, p) of the tangent space at ``base``, for k-means."""

    @abstractmethod
    def step(self, prototypes, pairs, coefficients):
        r"""Prototypes after a gradient step with coefficients c of shape (n, M).

        Prototype l moves along :math:`-\tfrac12 \sum_i c_{il} \operatorname{grad}
        d^2(Z_i, W_l)`. If d is a geodesic distance, minus half of the gradient is the
        logarithm map of :math:`Z_i` at :math:`W_l`. Positive coefficients attract the
        prototype, and negative coefficients repel it.
        """

    def first_rate(self, size, squared_distance):
        """The automatic learning rate of ``"sgd"`` before the first epoch.

        For distances without a unit, the rate is ``size / 100``, as in section 6 of
        Tang et al. (2021), where ``size`` is the number of rows of the matrices, times
        the number of prototypes per class for likelihoods. For distances with a unit,
        the rate is proportional to a typical ``squared_distance``, so steps do not
        depend on the unit of the samples.
        """
        return size / 100

    def check_representable(self, prototypes):  # noqa: B027 - vectors always are
        """Raise LinAlgError if prototypes are singular up to rounding."""


class VectorPairs:
    r"""Squared Euclidean distances :math:`\|z_i - w_l\|^2`, with gradients.

    Attributes
    ----------
    squared_distances : ndarray of shape (n, M)
    """

    curvature = 2.0  # second derivative of a squared distance along a unit vector

    def __init__(self, Z, prototypes):
        self._Z, self._prototypes = Z, prototypes
        self.squared_distances = euclidean_squared_distances(Z, prototypes)

    def gradient(self, weights):
        r"""Gradient of :math:`\sum_{il} c_{il} \|z_i - w_l\|^2` for w, (M, p).

        ``weights`` are the coefficients c, (n, M).
        """
        total = namespace(weights).sum(weights, axis=0)[:, None]
        return 2 * (total * self._prototypes - weights.T @ self._Z)

    def sample_gradient(self, weights):
        """Gradient of the same sum for the samples z, (n, p)."""
        total = namespace(weights).sum(weights, axis=1)[:, None]
        return 2 * (total * self._Z - weights @ self._prototypes)

    def coordinates(self, tangents):
        """Coordinates (M, p) of tangent vectors at the prototypes: the vectors."""
        return tangents

    def tangents(self, coordinates):
        """Inverse of :meth:`coordinates`."""
        return coordinates

    def jvp(self, coordinates):
        r"""Derivatives of the squared distances along tangent vectors, (n, M).

        For the tangent vector :math:`t_l` at :math:`w_l`, they are :math:`2 (w_l -
        z_i)^\top t_l`.
        """
        own = namespace(coordinates).sum(coordinates * self._prototypes, axis=1)
        return 2 * (own - self._Z @ coordinates.T)

    def vjp(self, weights):
        """The gradient in coordinates: the transpose of the linear map ``jvp``."""
        return self.gradient(weights)


def euclidean_squared_distances(Z, prototypes):
    """Squared Euclidean distances (n, M), a dense array. Samples may be sparse."""
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
    # For close vectors, the difference has large rounding errors.
    near = squared < _EPS ** (1 / 3) * ends
    if xp.any(near):
        i, j = xp.nonzero(near)
        offsets = take(Z, i) - take(prototypes, j)
        squared = put(squared, near, xp.sum(offsets**2, axis=1))
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
        return Z  # k-means does not depend on the origin

    def step(self, prototypes, pairs, coefficients):
        return prototypes - pairs.gradient(coefficients) / 2

    def first_rate(self, size, squared_distance):
        return squared_distance / 10


class LogEuclideanMetric(VectorMetric):
    """SPD matrices, encoded by the upper triangles of their logarithms."""

    name = "log-Euclidean"

    def encode(self, X):
        return upper_triangles(logm(X))

    def decode(self, Z):
        """Exponentials of the vectors, with eigenvalues limited to a safe range.

        Prototypes of separable classes can be so far from the samples that their
        exponentials overflow, or are singular up to rounding.
        """
        xp = namespace(Z)
        logarithms, vectors = xp.linalg.eigh(from_upper_triangles(Z))
        largest = log(np.finfo(np.float64).max) / 2  # so squares do not overflow
        logarithms = xp.clip(logarithms, -largest, largest)
        lowest = logarithms[..., -1:] + log(2 * rounding_bound(vectors))
        return from_spectrum(vectors, xp.exp(xp.maximum(logarithms, lowest)))

    first_rate = Metric.first_rate  # log-Euclidean distances have no unit


class TangentMetric(LogEuclideanMetric):
    r"""SPD matrices as vectors of the tangent space at a mean [1]_.

    With the affine-invariant mean :math:`M = L L^\top` of the samples in :meth:`fit`, a
    matrix X is encoded as the vector of the entries of
    :math:`\log(L^{-1} X L^{-\top})`.
    The Euclidean distance of the vectors of X and M is their affine-invariant distance.
    For two matrices near M, the Euclidean distance approximates the affine-invariant
    distance. If A X A' replaces all matrices X, the vectors are rotated, and the
    distances do not change.

    References
    ----------
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten, "Classification of
       covariance matrices using a Riemannian-based kernel for BCI applications",
       Neurocomputing 112, 2013.
    """

    name = "tangent-space"

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
    r"""The tangent space with the Mahalanobis distance of the within-class covariance.

    The squared distance of the tangent vectors x and w of p dimensions, n (n + 1) / 2
    for real and n^2 for complex matrices, is

    .. math::

       (x - w)^\top Q \, (x - w), \qquad
       Q = \kappa \left((1 - \rho) S + \rho \mu I\right)^{-1}, \qquad
       \mu = \operatorname{tr}(S) / p,

    where S is the within-class covariance of the tangent vectors, :math:`\rho` the
    intensity of oracle approximating shrinkage [1]_, and :math:`\kappa` the factor for
    which the mean squared distance of the samples from their class mean is the same as
    in :class:`TangentMetric`. With :math:`\rho = 1`, the metric is the
    :class:`TangentMetric`. Because of :math:`\kappa`, automatic variances and learning
    rates have the same order of magnitude in both metrics.

    A tangent vector x is encoded as :math:`Q^{1/2} x`. S has at most n_samples nonzero
    eigenvalues; in all other directions, :math:`Q^{1/2}` is a multiple of the identity.

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
    uses_labels = True

    def fit(self, X, y, weights):
        super().fit(X, y, weights)
        self._fit_covariance(X, y, weights)

    def refitted(self, X, y, weights):
        metric = copy(self)
        metric._fit_covariance(X, y, weights)
        return metric

    def _fit_covariance(self, X, y, weights):
        self.shrinkage, self._directions, self._along = 1.0, None, None
        vectors, xp = super().encode(X), namespace(X)
        total, n_features = float(xp.sum(weights)), vectors.shape[1]
        if self.is_complex:  # the dimension of the Hermitian matrices of order n / 2
            n_features = (X.shape[-1] // 2) ** 2
        squares = to_numpy(xp.sum(vectors**2, axis=1))
        residuals = xp.sqrt(weights)[:, None] * _within(vectors, y, weights)
        _, singular, directions = xp.linalg.svd(residuals, full_matrices=False)
        variances = to_numpy(singular) ** 2 / total
        mean = variances.sum() / n_features
        if mean <= _EPS * squares.mean() / n_features:
            return  # the samples of each class are equal, up to rounding
        # The shrinkage depends on the number of distinct samples: repeated samples and
        # sample weights do not count as additional samples.
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
        """Vectors times Q^(1/2), or times its inverse if ``power`` is -1."""
        if self._directions is None:
            return vectors
        root = LowRankPlusIdentity(self._directions, self._along, self._elsewhere)
        return root.multiply(vectors, power)


def oas_intensity(variances, n_features, n_samples):
    """Intensity of oracle approximating shrinkage, from eigenvalues of a covariance.

    Equation 23 of Chen et al. (2010) without the terms in 2 / n_features, as in
    :func:`sklearn.covariance.oas`.
    """
    squares, square = (variances**2).sum(), variances.sum() ** 2
    excess = squares - square / n_features
    if excess <= 0:  # a multiple of the identity
        return 1.0
    return min((squares + square) / ((n_samples + 1) * excess), 1.0)


def _within(vectors, y, weights):
    """Vectors minus the weighted means of their classes."""
    xp = namespace(vectors)
    labels, codes = np.unique(to_numpy(y), return_inverse=True)
    own = [y == int(label) for label in labels]
    means = xp.stack([average(vectors[rows], weights[rows]) for rows in own])
    return vectors - take(means, like(codes, y))


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
        moved = super().step(prototypes, pairs, coefficients)
        matrices = self.decode(moved)
        raised = raise_eigenvalues(matrices, self.floor)
        return moved if raised is matrices else self.encode(raised)


def raise_eigenvalues(matrices, floor):
    """Matrices (M, k, k) whose eigenvalues below ``floor`` are raised to ``floor``."""
    xp = namespace(matrices)
    eigenvalues, vectors = xp.linalg.eigh(matrices)
    low = eigenvalues[:, 0] < floor
    if xp.any(low):
        raised = xp.clip(eigenvalues[low], floor, None)
        raised = from_spectrum(vectors[low], raised)
        matrices = put(xp.asarray(matrices, copy=True), low, raised)
    return matrices


def definite(matrices):
    """Matrices (M, k, k), made positive definite if rounding has made them indefinite.

    The matrices are scaled to a unit diagonal, so the result does not depend on the
    units of the channels. Their eigenvalues are raised to a bound above which they pass
    the check of SPD matrices.
    """
    xp, size = namespace(matrices), matrices.shape[-1]
    rounding = size * float(xp.finfo(matrices.dtype).eps)
    diagonals = xp.linalg.diagonal(matrices)
    least = rounding**2 * xp.max(diagonals, axis=-1, keepdims=True)
    scales = xp.sqrt(xp.maximum(diagonals, least))
    scales = scales[:, :, None] * scales[:, None, :]
    scaled = matrices / scales
    raised = raise_eigenvalues(scaled, 2 * rounding_bound(scaled))
    if raised is scaled:
        return matrices
    raised = raised * scales
    return (raised + raised.mT) / 2


def congruent(A, X):
    """The matrices ``A @ X @ A.T``, exactly symmetric."""
    products = A @ X @ A.T
    return (products + products.mT) / 2


class MatrixMetric(Metric):
    r"""SPD matrices with an affine-invariant distance.

    The distance satisfies :math:`d(A X A^\top, A W A^\top) = d(X, W)` for all
    invertible A. A matrix X is encoded as :math:`L^{-1} X L^{-\top}` with the Cholesky
    factor L of the arithmetic mean of the samples in :meth:`fit`. This does not change
    distances, and avoids rounding errors in directions in which all samples have small
    variances, for example because of different units or a common average reference.

    The optimization uses the manifold of SPD matrices with the affine-invariant metric
    for all distances, because its steps remain in the set of SPD matrices. The tangent
    vectors of k-means use the affine-invariant metric as well.
    """

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
        """The point with the smallest weighted sum, computed by L-BFGS."""
        xp = namespace(Z)
        weights = (weights / xp.sum(weights))[:, None]
        start = xp.sum(weights[..., None] * Z, axis=0)[None, ...]

        # The optimization over a single matrix uses NumPy.
        def cost(point):
            pairs = self.pairs(Z, like(point, Z))
            value = float(xp.sum(weights * pairs.squared_distances))
            return value, to_numpy(pairs.gradient(weights))

        # tol=0: until rounding prevents a further decrease.
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
    r"""Squared distances :math:`d^2(Z_i, W_l)` of n SPD matrices from M prototypes.

    Let :math:`W_l = F_l F_l^\top`. A tangent vector T at :math:`W_l`, a symmetric
    matrix, has the whitened form :math:`F_l^{-1} T F_l^{-\top}`, in which the
    affine-invariant metric at :math:`W_l` is the Frobenius inner product. The
    *coordinates* of T are the p = k (k + 1) / 2 entries of the upper triangle of the
    whitened form, with off-diagonal entries multiplied by the square root of 2. In
    coordinates, the metric is the Euclidean inner product.

    A subclass sets ``squared_distances`` (n, M), and defines ``rows``.

    Parameters
    ----------
    Z, prototypes : ndarray
        Samples (n, k, k) and prototypes (M, k, k).

    Attributes
    ----------
    curvature : float
        Second derivative of :math:`d^2(X, W)` at W = X along a unit tangent vector: 2
        for the affine-invariant distance.
    """

    curvature = 2.0

    def __init__(self, Z, prototypes):
        self.Z, self.factors = Z, cholesky_factors(prototypes)
        self.inverses = namespace(Z).linalg.inv(self.factors)

    @property
    @abstractmethod
    def rows(self):
        r"""Coordinates (M, n, p) of the gradient of each squared distance.

        For the Euclidean gradient :math:`G_{il}` of :math:`d^2(Z_i, W_l)` with respect
        to :math:`W_l`, they are the entries of :math:`F_l^\top G_{il} F_l`.
        """

    @abstractmethod
    def gradient(self, weights):
        r"""Euclidean gradient of :math:`\sum_{il} c_{il} d^2(Z_i, W_l)` for W.

        ``weights`` are the coefficients c, (n, M).
        """

    def coordinates(self, tangents):
        """Coordinates (M, p) of tangent vectors (M, k, k) at the prototypes."""
        return upper_triangles(self.inverses @ tangents @ self.inverses.mT)

    def tangents(self, coordinates):
        """Inverse of :meth:`coordinates`."""
        return self.factors @ from_upper_triangles(coordinates) @ self.factors.mT

    def exponential(self, exponents, vectors):
        """New prototypes at the ends of geodesics.

        ``exponents`` (M, k) and ``vectors`` (M, k, k) are the eigenvalues and
        eigenvectors of the whitened tangent vectors.
        """
        growth = namespace(exponents).exp(exponents / 2)
        factors = (self.factors @ vectors) * growth[:, None, :]
        return factors @ factors.mT

    def jvp(self, coordinates):
        """Derivatives of the squared distances along tangent vectors, (n, M).

        The rows are the Jacobian J of the squared distances; this is the product of J
        and coordinates (M, p).
        """
        return (self.rows @ coordinates[:, :, None])[:, :, 0].T

    def vjp(self, weights):
        """Coordinates (M, p) of the gradient of the weighted sum: J' times weights."""
        return (weights.T[:, None, :] @ self.rows)[:, 0, :]


class AffineInvariantPairs(MatrixPairs):
    r"""Squared affine-invariant distances, with gradients.

    With the eigenvalues :math:`\lambda_j` of the whitened sample :math:`F_l^{-1} Z_i
    F_l^{-\top}`, the squared distance is :math:`\sum_j \log^2 \lambda_j`, and the
    whitened gradient is -2 times the logarithm of the whitened sample.

    If ``at_least``, lower bounds (n, M) of the squared distances, is given,
    ``squared_distances`` contains the bounds until :meth:`resolve` replaces some of
    them by the distances. Pairs that are not resolved have the gradient zero.

    Attributes
    ----------
    spectra : tuple of ndarray
        Logarithms (M, n, k) of the eigenvalues of the whitened samples, and
        eigenvectors (M, n, k, k).
    """

    def __init__(self, Z, prototypes, at_least=None):
        super().__init__(Z, prototypes)
        xp, (n, k), m = namespace(Z), Z.shape[:2], prototypes.shape[0]
        if at_least is None:
            self.spectra = log_spectra(Z, self.inverses[:, None, ...])
            self.squared_distances = xp.sum(self.spectra[0] ** 2, axis=-1).T
            return
        shapes = (m, n, k), (m, n, k, k)
        self.spectra = [xp.zeros(s, **device_and_dtype(Z)) for s in shapes]
        self._known = xp.zeros((n, m), dtype=xp.bool, device=device_of(Z))
        self.squared_distances = at_least

    def resolve(self, matter):
        """Replace the lower bounds that the loss depends on by squared distances.

        ``matter`` maps ``squared_distances`` (n, M), which may be lower bounds, to the
        mask of the entries that the loss depends on. After a bound is replaced, the
        loss can depend on different bounds, so this is repeated until the mask contains
        no bound.
        """
        xp = namespace(self.Z)
        while xp.any(wanted := matter(self.squared_distances) & ~self._known):
            mask = wanted.T
            prototypes, samples = xp.nonzero(mask)
            found = log_spectra(take(self.Z, samples), take(self.inverses, prototypes))
            squared = xp.sum(found[0] ** 2, axis=-1)
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

    For a prototype :math:`W = F F^\top` and a sample X, let :math:`\Lambda =
    \operatorname{diag}(\lambda_i)` be the eigenvalues and V the eigenvectors of
    :math:`F^{-1} X F^{-\top}`. Then:

    - the squared distance is :math:`\sum_i \log^2 \lambda_i`;
    - the logarithm map of X at W is :math:`F V \log(\Lambda) V^\top F^\top`;
    - the point at the fraction t of the geodesic from W to X is
      :math:`(F V \Lambda^{t/2})(F V \Lambda^{t/2})^\top`.

    So the cost, the gradient and the step require one eigendecomposition per pair.
    """

    name = "affine-invariant"
    pairs = AffineInvariantPairs

    def mean(self, Z, weights):
        return affine_invariant_mean(Z, weights)

    def squared_distances(self, Z, prototypes):
        inverses = inverse_factors(prototypes)[:, None, ...]
        return namespace(Z).sum(log_eigenvalues(Z, inverses) ** 2, axis=-1).T

    def tangent_metric(self, prototypes):
        """The metric of the tangent space at the mean of the prototypes.

        Its distances are lower bounds of the affine-invariant distances.
        """
        tangent_metric = TangentMetric(self.is_complex)
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
    """Squared distances of :class:`LogDetMetric`, with gradients."""

    curvature = 0.25  # an eighth of the curvature of the affine-invariant distance

    def __init__(self, Z, prototypes):
        super().__init__(Z, prototypes)
        inverses = inverse_factors(prototypes[:, None, ...] + Z)
        self._inverses_of_sums = upper_triangles(inverses.mT @ inverses)  # (M, n, p)
        self.squared_distances = _divergences(Z, prototypes, -_log_dets(inverses))

    def gradient(self, weights):
        of_sums = weights.T[:, None, :] @ self._inverses_of_sums
        inverses = self.inverses.mT @ self.inverses
        total = namespace(weights).sum(weights, axis=0)[:, None, None]
        return from_upper_triangles(of_sums[:, 0, :]) - total * inverses / 2

    @cached_property
    def rows(self):
        """Coordinates (M, n, p) of the gradients, F' (X + W)^-1 F - I / 2."""
        factors = self.factors[:, None, ...]
        whitened = factors.mT @ from_upper_triangles(self._inverses_of_sums) @ factors
        identity = namespace(whitened).eye(
            whitened.shape[-1], **device_and_dtype(whitened)
        )
        return upper_triangles(whitened - identity / 2)


class LogDetMetric(MatrixMetric):
    r"""SPD matrices with Stein's S-divergence, the symmetric log-det divergence [1]_.

    The squared distance

    .. math::

       d^2(X, W) = \log\det \tfrac{X + W}{2} - \tfrac12 \log\det X
       - \tfrac12 \log\det W, \qquad
       \frac{\partial d^2}{\partial W} = (X + W)^{-1} - \tfrac12 W^{-1}

    is affine-invariant, and its square root is a metric. For X close to W, it is an
    eighth of the squared affine-invariant distance. Each pair requires the log
    determinant and the inverse of X + W, but no eigendecomposition.

    References
    ----------
    .. [1] S. Sra, "Positive definite matrices and the S-divergence", Proceedings of the
       American Mathematical Society 144(7), 2016.
    """

    name = "log-determinant"
    pairs = LogDetPairs

    def squared_distances(self, Z, prototypes):
        factors = cholesky_factors(prototypes[:, None, ...] + Z)
        return _divergences(Z, prototypes, _log_dets(factors))


def _divergences(Z, prototypes, log_dets_of_sums):
    """Squared distances (n, M) of :class:`LogDetMetric`."""
    xp = namespace(Z)
    of_prototypes, of_samples = map(cholesky_factors, (prototypes, Z))
    ends = _log_dets(of_prototypes)[:, None] + _log_dets(of_samples)
    squared = log_dets_of_sums - ends / 2 - Z.shape[-1] * log(2)
    # For close matrices, the difference has large rounding errors. With the eigenvalues
    # m of the whitened X - W, the divergence is half the sum of
    # log(1 + m^2 / (4 (1 + m))).
    near = squared < _EPS**0.5
    if xp.any(near):
        j, i = xp.nonzero(near)
        inverses = xp.take(inverse_factors(prototypes), j, axis=0)
        differences = xp.take(Z, i, axis=0) - xp.take(prototypes, j, axis=0)
        m = xp.linalg.eigvalsh(inverses @ differences @ inverses.mT)
        near_ones = xp.sum(xp.log1p(m**2 / (4 * (1 + m))), axis=-1) / 2
        squared = put(squared, near, near_ones)
    return squared.T


def _log_dets(factors):
    """Log-determinants of matrices with the given Cholesky factors."""
    xp = namespace(factors)
    return 2 * xp.sum(xp.log(xp.linalg.diagonal(factors)), axis=-1)


SPD_METRICS = {
    "riemann": AffineInvariantMetric,
    "logeuclid": LogEuclideanMetric,
    "tangent": TangentMetric,
    "mahalanobis": MahalanobisMetric,
    "euclid": EuclideanSPDMetric,
    "logdet": LogDetMetric,
}
