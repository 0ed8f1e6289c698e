"""What a metric of prototypes has to say, and how a metric is added.

A metric is a subclass of one of the two halves of :class:`Space`:

- :class:`~skgeom._lvq.spaces.flat.FlatSpace`, where samples and prototypes become
  vectors (n, p) with Euclidean distances. It needs ``encode``, which raises ValueError
  for what is no SPD matrix, ``decode``, and, where that can overflow or make matrices
  singular, ``check_representable``;
- :class:`CurvedSpace`, for any other distance of SPD matrices, or
  :class:`WhitenedSpace` if no congruence changes it. It needs ``pairs``, an object with
  ``squared_distances`` and ``gradient``. ``sample_gradient`` (with
  ``learns_subspace``) lets PLRSQ learn a subspace; what :class:`WhitenedPairs` has
  (with ``has_slopes``) lets ``"lbfgs"`` take far fewer iterations. With a ``chart``,
  it starts from a search among vectors, and leaves out pairs that are far apart.

A metric that is learnt from the samples also has ``learn``, and says so by
``learns_metric``; :class:`~skgeom._lvq.spaces.tangent.MahalanobisSpace` is an example.
Samples and prototypes may be arrays of any library, so what they need is taken from
``namespace(Z)``. All say by attributes what is true of them, and ``first_rate`` whether
their distances have a unit. With its name in ``SPD_SPACES``, in ``__init__.py``, the
metric is a value of the parameter ``metric`` of the estimators, and the tests of the
registry find it.
"""

from abc import ABC, abstractmethod
from copy import copy
from math import exp, log

import numpy as np

from skgeom.geometry._affine_invariant import (
    from_spectrum,
    inverse_factors,
    log_spectra,
)
from skgeom.geometry._spd import from_upper_triangles, upper_triangles
from skgeom.optim import AffineInvariant, minimize
from skgeom.utils.array_api import cholesky_factors, like, namespace, put, to_numpy

# Prototypes whose eigenvalues spread wider are singular up to rounding: log(1e15).
WIDEST_LOG_RATIO = 34.5

# Samples that are worse conditioned than this are so by their units, or by a common
# reference, and no limit to prototypes that are seen without them.
_WORST_CONDITION = 1e6

# The largest change of the logarithm of an eigenvalue by a step along a gradient.
_LONGEST = 2.0


class Space(ABC):
    """Where prototypes live: distances from samples, their gradients, and steps.

    All but ``encode``, ``observe`` and ``learn`` works with encoded samples Z and
    encoded prototypes, whatever encoding the space chooses.
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
    # Whether pairs have ``coordinates``, ``tangents``, ``slopes``, ``pull_back``,
    # ``curvature`` and ``model_tol``: "lbfgs" builds a model of the curvature of them.
    has_slopes = False
    # Names of the arrays that ``observe`` and ``learn`` set.
    _arrays = ()
    # Whether distances depend on what ``learn`` finds. Prototypes that go on learning
    # then stay in the same space.
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

    def observe(self, X):  # noqa: B027 - most spaces need not
        """Take note of samples before they are encoded."""

    def learn(self, X, y, weights):  # noqa: B027 - most spaces need not
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

    def chart(self, prototypes):
        """A flat space, close to this one near prototypes, or None.

        Its squared distances are not larger than those of this space. If it is not
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

    def unit(self, spread):
        """The squared distance that counts as 1 when variances anneal.

        The paper lowers them by .4, and not below .01, which is meant for distances
        like the affine-invariant one. ``spread`` is a typical squared distance.
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
        """Euclidean gradient for the samples; where the space learns subspaces."""
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

    def slopes(self, coordinates):
        """Derivatives of the squared distances along tangent vectors, (n, M)."""
        return (self._rows @ coordinates[:, :, None])[:, :, 0].T

    def pull_back(self, weights):
        """Coordinates of the gradient of the weighted sum, the adjoint of slopes."""
        return (weights.T[:, None, :] @ self._rows)[:, 0, :]


class CurvedSpace(Space):
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
        eigenvalues = namespace(prototypes).linalg.eigvalsh(prototypes)
        check_spread(eigenvalues[:, 0] * exp(WIDEST_LOG_RATIO), eigenvalues[:, -1])


class WhitenedSpace(CurvedSpace):
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
        limit = WIDEST_LOG_RATIO - log(min(self._condition, _WORST_CONDITION))
        eigenvalues = namespace(prototypes).linalg.eigvalsh(prototypes)
        check_spread(eigenvalues[:, 0] * exp(limit), eigenvalues[:, -1])


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
    space : CurvedSpace
        Where the prototypes live.
    prototypes : ndarray of shape (M, k, k)
        Where they are; not modified.
    """

    def __init__(self, space, prototypes):
        self.prototypes = prototypes
        self._space = space

    def evaluate(self, Z):
        """Squared distances (n, M) of samples, remembered for the next step."""
        self._pairs = self._space.pairs(Z, self.prototypes)
        return self._pairs.squared_distances

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients``, (n, M), times pulls."""
        xp, factors = namespace(self.prototypes), cholesky_factors(self.prototypes)
        whitened = factors.mT @ self._pairs.gradient(coefficients) @ factors
        exponents, vectors = xp.linalg.eigh(-whitened / 2)
        exponents = xp.clip(exponents, -_LONGEST, _LONGEST)
        half = (factors @ vectors) * xp.exp(exponents / 2)[:, None, :]
        self.prototypes = self._space.project(half @ half.mT)

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


def check_spread(lowest, highest):
    """Raise LinAlgError unless the smallest eigenvalues reach up to the largest."""
    if namespace(lowest).any(lowest < highest):
        raise np.linalg.LinAlgError("a prototype is singular up to rounding")
