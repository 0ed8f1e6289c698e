"""Samples and models of prototypes, and their comparison.

The objects have different lifetimes: :class:`EncodedSamples` exist during training, a
:class:`Model` makes predictions, and :class:`Progress` is needed to continue training.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from skgeom._prototypes._metrics import Metric
from skgeom.utils.array_api import (
    average,
    largest_size,
    like,
    linear_algebra,
    namespace,
    take,
    to_numpy,
)
from skgeom.utils.linalg import embedded
from skgeom.utils.threads import map_threads

# Matrix entries of all pairs of samples and prototypes in one block, which one thread
# processes: ten milliseconds of eigendecompositions. Chosen in `bench_lvq.py fits`.
_BLOCK = 250_000
# The same number for vectors. With a quarter of it, fits of ETH-80 take up to 1.5 times
# as long. Chosen in `bench_lvq.py fits`.
_VECTOR_BLOCK = 1_000_000
# Largest number of entries of the matrices or gradients of pairs that are in memory at
# the same time, 256 MiB: those stored for the curvature, and those of a block on a GPU.
# Four times the number for the largest matrices of `bench_lvq.py fits`, with 64
# channels.
KEPT = 2**25
# Largest absolute value of X for which squared distances can be computed: fourth powers
# of such values, and the inverses of these powers, can be summed without overflow.
SIZE_LIMIT = np.finfo(np.float64).max ** 0.25 / 100


@dataclass(frozen=True)
class EncodedSamples:
    """Encoded samples of positive weight, in training.

    Attributes
    ----------
    X : ndarray or None
        The samples before the reduction to ``n_components`` and the encoding.
    Z : ndarray
        The encoded samples.
    y : ndarray of int
        Their class indices.
    weights : ndarray
        Their weights in training: ``sample_weight`` times the weight of the class.
    groups : ndarray of int or None
        Indices of groups of samples that are held out together.
    """

    X: np.ndarray | None
    Z: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    groups: np.ndarray | None = None

    def take(self, rows):
        """Some of the samples, without groups, given by their indices."""
        rows = like(rows, self.y)
        parts = self.X, self.Z, self.y, self.weights
        return EncodedSamples(*(None if p is None else take(p, rows) for p in parts))


@dataclass(frozen=True)
class Model:
    """Prototypes, and what is needed to compare samples with them.

    Attributes
    ----------
    metric : Metric
        The fitted metric, which encodes samples and prototypes.
    filters : ndarray of shape (n_components, n) or None
        The matrix F' of the reduction F' X F.
    counts : tuple of int
        The number of prototypes of each class; in ``partial_fit``, 0 before the first
        sample of the class.
    labels : ndarray of int
        Class index of each prototype.
    class_sums : ndarray of shape (n_classes,)
        Sums of ``sample_weight`` in each class: of the last ``fit`` and all later calls
        of ``partial_fit``, or of all calls of ``partial_fit``. A NumPy array; other
        arrays have the namespace and device of the samples.
    prototypes : ndarray
        Encoded prototypes, class by class. Predictions use these instead of
        ``prototypes_``, because decoding and encoding a nearly singular prototype would
        lose precision.
    variance : float
        The automatic sigma^2: half of the mean squared distance of the samples from the
        nearest initial prototype of their class; in ``fit``, for ``init="kmeans"``.
    scale : float or None
        The scale of the loss in the last training; None before the first one.
    matrix : ndarray or None
        The matrix Omega of :class:`GMLVQ`.
    """

    metric: Metric
    filters: np.ndarray | None
    counts: tuple
    labels: np.ndarray
    class_sums: np.ndarray
    prototypes: np.ndarray
    variance: float | None = None
    scale: float | None = None
    matrix: np.ndarray | None = None

    @property
    def n_copies(self):
        """Number of copies of each matrix in its real embedding: 2 if it is complex."""
        return 2 if self.metric.is_complex else 1

    @property
    def n_classes(self):
        """Number of classes that have prototypes."""
        return int(np.count_nonzero(self.counts))

    def with_classes(self, known):
        """The same prototypes with more classes, where the mask is false."""
        places = np.cumsum(known) - 1
        counts = np.where(known, np.array(self.counts)[places], 0)
        sums = np.where(known, to_numpy(self.class_sums)[places], 0.0)
        return replace(self._with_counts(counts), class_sums=sums)

    def with_prototypes(self, added, new):
        """More prototypes ``new``: the numbers ``added`` of classes that have none."""
        found = self._with_counts(np.array(self.counts) + added)
        return replace(found, prototypes=self.inserted(added, self.prototypes, new))

    def inserted(self, added, prototypes, new):
        """Prototypes in the order of this model, and new ones, class by class."""
        counts = np.array(self.counts)
        order = np.concatenate([np.arange(len(n)).repeat(n) for n in (counts, added)])
        order = like(np.argsort(order, kind="stable"), self.labels)
        return take(namespace(new).concat([prototypes, new]), order)

    def _with_counts(self, counts):
        labels = like(np.arange(len(counts)).repeat(counts), self.labels)
        return replace(self, counts=tuple(counts.tolist()), labels=labels)

    def encode(self, X):
        """The samples X, reduced and encoded."""
        return encoded(self.metric, reduced(X, self.filters))

    def squared_distances(self, Z):
        """Squared distances (n, M) of encoded samples from the prototypes."""
        blocks = sample_blocks(Z.shape[0], self.prototypes)
        parallel = namespace(self.prototypes) is np
        parts = map_threads(lambda b: self._compare(Z[b, ...]), blocks, parallel)
        return namespace(self.prototypes).concat(parts)

    @property
    def extent(self):
        """Root mean square distance between the prototypes; 1 if they are equal."""
        squared = self._compare(self.prototypes)
        n_pairs = max(squared.shape[0] * (squared.shape[0] - 1), 1)
        return float(namespace(squared).sum(squared) / n_pairs) ** 0.5 or 1.0

    def _compare(self, Z):
        prototypes = self.prototypes
        if self.matrix is not None:
            if not issparse(Z):  # a large offset of all samples would lose precision
                center = namespace(prototypes).mean(prototypes, axis=0)
                Z, prototypes = Z - center, prototypes - center
            Z, prototypes = Z @ self.matrix.T, prototypes @ self.matrix.T
        return self.metric.squared_distances(Z, prototypes) / self.n_copies

    def __sklearn_array_api_convert__(self, converter):
        """A copy whose arrays are moved, for scikit-learn's ``move_estimator_to``."""
        names = "filters", "labels", "prototypes", "matrix"
        arrays = {name: getattr(self, name) for name in names}
        moved = {k: converter(v) for k, v in arrays.items() if v is not None}
        metric = self.metric.__sklearn_array_api_convert__(converter)
        return replace(self, metric=metric, **moved)


@dataclass(frozen=True)
class Progress:
    """What ``partial_fit`` needs to continue training.

    Attributes
    ----------
    metric : str
        The parameter ``metric``.
    start : ndarray
        The initial prototypes, encoded.
    n_epochs : float
        Number of epochs of ``partial_fit`` so far, which determines the learning rate.
        Infinite after ``fit``: the learning rate then keeps its final value.
    announced : bool
        Whether ``partial_fit`` received all classes, so that no class can be added.
    """

    metric: str
    start: np.ndarray
    n_epochs: float = inf
    announced: bool = False

    def __sklearn_array_api_convert__(self, converter):
        """A copy whose arrays are moved, for scikit-learn's ``move_estimator_to``."""
        return replace(self, start=converter(self.start))


@dataclass(frozen=True)
class Fit:
    """The result of a training.

    Attributes
    ----------
    model : Model
        The model with the trained prototypes, and the learned scale or the scale of the
        last epoch.
    losses : ndarray
        The cost of each iteration or epoch; for L-BFGS, preceded by the initial cost.
    n_iter : int
        Number of iterations or epochs.
    failure : str or None
        Why L-BFGS did not converge, and the remedy.
    """

    model: Model
    losses: np.ndarray
    n_iter: int
    failure: str | None = None


@contextmanager
def explain_singular():
    """Convert the error of a factorization to a ValueError with cause and remedy."""
    try:
        with linear_algebra():
            yield
    except np.linalg.LinAlgError:
        raise ValueError(
            "The samples, or prototypes during training, are too close to singular for "
            "this metric. Use a shrunk covariance estimate, for example "
            'pyriemann.estimation.Covariances("oas"), or add 0.001 of the mean '
            "diagonal entry of each matrix to its diagonal."
        ) from None


def reduced(X, filters):
    """The reduction F' X F of matrices X; X itself if ``filters`` is None.

    Complex matrices X, but not F, are in their real embeddings.
    """
    if filters is None:
        return X
    if filters.shape[1] != X.shape[-1]:
        filters = embedded(filters)
    return filters @ X @ filters.T


def encoded(metric, X):
    """Encoded samples, whose squared distances can be computed."""
    Z = metric.encode(X)
    if Z.ndim == 2 and (largest := largest_size(Z)) > SIZE_LIMIT:
        raise ValueError(
            f"X has values up to {largest:.3g}, too large for squared "
            "distances. Divide X by a number, or scale its features."
        )
    return Z


def sample_blocks(n_samples, prototypes):
    """Slices of the samples, the blocks that threads process.

    The slices do not depend on the number of threads, so sums over blocks do not depend
    on it either.
    """
    numbers = _BLOCK if prototypes.ndim == 3 else _VECTOR_BLOCK
    numbers = numbers if namespace(prototypes) is np else KEPT
    return list(gen_batches(n_samples, max(numbers // prod(prototypes.shape), 1)))


def with_variance(model, samples):
    """The model with the ``variance`` of its prototypes."""
    squared = model.squared_distances(samples.Z) * model.n_copies
    parts = samples.y, model.labels, samples.weights
    return replace(model, variance=find_variance(squared, *parts))


def find_variance(squared, y, labels, weights):
    """The ``variance`` of :class:`Model`, from the squared distances (n, M)."""
    xp, own = namespace(squared), labels == y[:, None]
    nearest = xp.min(xp.where(own, squared, np.inf), axis=1)
    variance, mean = float(average(nearest, weights)) / 2, float(xp.mean(squared))
    if variance > 1e-10 * mean:
        return variance
    # All samples equal a prototype: use the distances between prototypes.
    return mean / 2 or 1.0


def in_tangent_space(samples, model):
    """Samples and model in the tangent space at the mean of the prototypes."""
    with explain_singular():
        model.metric.check_representable(model.prototypes)
    metric = model.metric.tangent_metric(model.prototypes)
    prototypes = metric.encode(model.prototypes)
    samples = replace(samples, Z=metric.encode(samples.Z))
    return samples, replace(model, metric=metric, prototypes=prototypes)
