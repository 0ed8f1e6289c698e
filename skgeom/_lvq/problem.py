"""What prototypes are learnt from, what is found, and what is left to go on from."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.utils import gen_batches

from skgeom._lvq.spaces import Space
from skgeom.utils.array_api import average, namespace, size_of
from skgeom.utils.threads import map_threads

# Numbers in the matrices of a block of pairs: 16 MB, a few times over.
_BLOCK = 2_000_000

# Of blocks that are worth a thread, the numbers in their prototypes, once a sample: ten
# milliseconds of eigendecompositions, or a few of products of vectors.
_WORTHWHILE_MATRICES, _WORTHWHILE_VECTORS = 150_000, 600_000

# The most blocks, unless memory asks for more.
_BLOCKS = 8

# The same for an accelerator, which takes all of a block at once: half a gigabyte.
_DEVICE_BLOCK = 60_000_000

SINGULAR = (
    "The samples, or prototypes on their way, are too close to singular for this "
    "metric. Add a small multiple of the identity to X, or use a shrunk covariance "
    'estimate, such as pyriemann.estimation.Covariances("oas").'
)


@dataclass(frozen=True)
class Problem:
    """Samples as a space encodes them, and prototypes to start from.

    Arrays are of the library of the samples, except for ``class_sums``, of numpy.

    Attributes
    ----------
    space : Space
        Where samples and prototypes live.
    X : ndarray
        The samples as they were given, before any reduction.
    Z, prototypes : ndarray
        Encoded samples, and encoded prototypes, class by class.
    y, labels : ndarray of int
        Class index of each sample, and of each prototype.
    counts : tuple of int
        The number of prototypes of each class.
    weights : ndarray
        Weights of the samples in training, positive: ``sample_weight`` times the
        weight of the class.
    class_sums : ndarray of shape (n_classes,)
        Sums of ``sample_weight`` of each class, since the last ``fit``, that one
        included, or over all calls of ``partial_fit`` so far.
    spread : float
        Half of the mean squared distance of the samples from the nearest prototype of
        their class, at the first start: a variance, the unit of scales and rates.
    start : ndarray
        The prototypes at the first start, not encoded.
    squared_distances : ndarray of shape (n_samples, n_prototypes) or None
        Those of the samples from the prototypes at the start; None if these are
        vectors, or go on from where they are.
    """

    space: Space
    X: np.ndarray
    Z: np.ndarray
    prototypes: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    counts: tuple
    weights: np.ndarray
    class_sums: np.ndarray
    spread: float
    start: np.ndarray
    squared_distances: np.ndarray | None = None

    def in_chart(self):
        """The same problem in the chart of its space, if that has one."""
        chart = self.space.chart(self.prototypes)
        if chart is None:
            return None
        Z, prototypes = chart.encode(self.Z), chart.encode(self.prototypes)
        return replace(self, space=chart, Z=Z, prototypes=prototypes)

    def start_cost(self, loss, scale):
        """The cost of the prototypes at the start."""
        return float(self.weights @ loss(self.squared_distances, self.y, scale)[0])

    @property
    def share_of_epoch(self):
        """What a call of ``partial_fit`` counts for in the schedule, in epochs.

        That is one, or less if the samples are fewer than the rows of the prototypes.
        """
        enough = self.size * self.labels.shape[0]
        return min(self.Z.shape[0] / enough, 1.0)

    @cached_property
    def size(self):
        """Number of rows of the matrices that are compared, or of features."""
        return self.space.decode(self.prototypes[:1, ...]).shape[-1]


def sample_blocks(n_samples, prototypes):
    """Slices of the samples, to be compared with all prototypes by threads.

    They do not depend on the number of threads, so neither do sums over them.
    """
    size = size_of(prototypes)
    if namespace(prototypes) is not np:
        return list(gen_batches(n_samples, max(_DEVICE_BLOCK // size, 1)))
    enough = _WORTHWHILE_MATRICES if prototypes.ndim == 3 else _WORTHWHILE_VECTORS
    rows = max(-(-n_samples // _BLOCKS), enough // size)
    return list(gen_batches(n_samples, max(min(rows, _BLOCK // size), 1)))


def compare(squared_distances, Z, prototypes):
    """Squared distances (n, M), by threads and a function of samples and prototypes."""
    blocks = sample_blocks(Z.shape[0], prototypes)
    parts = map_threads(
        lambda block: squared_distances(Z[block, ...], prototypes),
        blocks,
        parallel=namespace(Z) is np,
    )
    return namespace(Z).concat(parts)


def find_spread(squared, y, labels, weights):
    """The ``spread`` of a :class:`Problem`, by the squared distances (n, M)."""
    xp, own = namespace(squared), labels == y[:, None]
    nearest = xp.min(xp.where(own, squared, np.inf), axis=1)
    spread, mean = float(average(nearest, weights)) / 2, float(xp.mean(squared))
    if spread > 1e-10 * mean:
        return spread
    # Samples that all lie on prototypes: what is left is the distance of those.
    return mean / 2 or 1.0


@dataclass(frozen=True)
class Outcome:
    """What a solver found: the variables, and the loss on the way.

    Attributes
    ----------
    prototypes : ndarray
        The prototypes, encoded.
    scale : float
        The scale of the loss, as it was learnt or used last.
    losses : ndarray
        The loss, iteration by iteration.
    n_iter : int
        Number of iterations.
    matrix : ndarray or None
        The matrix of the reduction, if one was learnt.
    """

    prototypes: np.ndarray
    scale: float
    losses: np.ndarray
    n_iter: int
    matrix: np.ndarray | None = None


@dataclass(frozen=True)
class Progress:
    """What training leaves behind, besides the fitted attributes, to go on from.

    Attributes
    ----------
    metric : str
        The metric of the prototypes.
    counts : tuple of int
        The number of prototypes of each class.
    space, prototypes
        Those of the outcome. Predictions compare with these: to decode prototypes that
        are nearly singular, and to encode them again, would cost digits.
    spread, start, class_sums
        Those of the problem.
    n_epochs : float
        How far ``partial_fit`` has come since the start, in epochs; infinite after
        ``fit``, which leaves the learning rate at its end.
    slope : float or None
        The slope of the sigmoid that was used last, if there is one.
    """

    metric: str
    counts: tuple
    space: Space
    prototypes: np.ndarray
    spread: float
    start: np.ndarray
    class_sums: np.ndarray
    n_epochs: float
    slope: float | None

    def __sklearn_array_api_convert__(self, converter):
        """A copy whose arrays are moved, for scikit-learn's ``move_estimator_to``."""
        return replace(
            self,
            space=self.space.__sklearn_array_api_convert__(converter),
            prototypes=converter(self.prototypes),
            start=converter(self.start),
        )
