"""Projected class statistics, and the mean distance between all pairs of classes.

For many classes, a sample of the pairs estimates the mean. Each class appears in the
sample in proportion to its weight, so only the part of a distance that is specific to
the pair contributes to the sampling error.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from skgeom.objectives._covariances import covariances_of
from skgeom.utils.array_api import to_numpy
from skgeom.utils.threads import map_threads

# Largest number of pairs that are evaluated without sampling; 100 classes have about as
# many (benchmarks/bench_many_classes.py).
FEW_PAIRS = 5000
# Number of pairs of the first sample: the larger of _LEAST and _FIRST per class. Each
# sample is larger by the factor _GROWTH. The last sample contains all pairs, or _LAST
# pairs per class if there are more (benchmarks/bench_many_classes.py).
_LEAST, _FIRST, _GROWTH, _LAST = 2500, 8, 4, 100

# Pairs are evaluated in blocks, each by one thread: with many classes, factorizations
# of small matrices, which use one core, take most of the time. The blocks, and
# therefore the result, do not depend on the number of threads. Each block stores
# gradients of all classes, so the number of blocks is limited
# (benchmarks/bench_many_classes.py).
_PAIRS_PER_BLOCK, _MOST_BLOCKS = 512, 64

# Largest number of pairs whose mean is computed exactly; 1,024 classes have about as
# many. For more pairs, a sample of about this size estimates the mean
# (benchmarks/bench_many_classes.py).
_PAIRS_OF_MEAN = 2**19


class Objective:
    """Base class of objectives of filters.

    Filters are the columns of an array F of shape (n, m), for any m. An objective is a
    mean over terms, such as samples or pairs of classes. A subclass defines
    ``__call__`` and ``project``, and the optional members that its optimization uses.

    ``objective(filters)``
        returns the value and its gradient, of shape (n, m). It raises
        ``numpy.linalg.LinAlgError`` if the value is not finite.
    ``objective.project(basis)``
        returns the same objective for filters ``basis @ G``, as a function of G.
    ``objective.growing_subsets(random_state)``
        returns subsets of the terms for the first iterations. Each subset is part of
        the next subset. The default is no subsets.
    ``objective.subset(terms)``
        returns an objective that estimates the same mean from some terms. Required for
        subsets and batches.
    ``objective.mean(filters)``
        returns the value of all terms. Required if the last subset is not complete.
    ``objective.n_samples``
        is the number of terms. Required for batches.
    ``objective.classes``
        are the :class:`ClassMoments` before the projection. Required for the automatic
        selection of shrinkage and regularization.

    Attributes
    ----------
    terms : str, default="samples"
        Name of the terms in messages.
    complete : bool, default=True
        Whether the objective contains all terms, not a subset.
    parallel : bool, default=False
        Whether the objective uses several threads. BLAS should then use one thread.
    rotation_invariant : bool, default=False
        Whether the objective is equal for filters F and F R with an orthogonal R.
    affine_invariant : bool, default=False
        Whether the objective without regularization is invariant under invertible
        linear maps of the features.
    """

    terms = "samples"
    complete = True
    parallel = rotation_invariant = affine_invariant = False

    def growing_subsets(self, random_state):
        """No subsets of the terms."""
        return []


class ClassMoments:
    r"""Means and covariances of the projected classes, as a function of filters.

    For filters F of shape (n, m), the projected data of class i have the mean
    :math:`F^\top \gamma_i` and the covariance :math:`F^\top \Phi_i F + \sigma^2 I`.

    If the covariances are an array of another library than NumPy, the products with
    them, which take most of the time, are computed on their device. All other arguments
    and results are NumPy arrays.

    Parameters
    ----------
    means : array of shape (c, n)
        Class means :math:`\gamma_i`.
    covariances : array of shape (c, n, n), or StructuredCovariances
        Class covariances :math:`\Phi_i`; not copied if C-contiguous.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    """

    def __init__(self, means, covariances, regularization):
        self.means, self.regularization = to_numpy(means), regularization
        if isinstance(covariances, np.ndarray):
            covariances = np.ascontiguousarray(covariances)
        self.covariances = covariances
        self._of_classes = covariances_of(covariances)

    def project(self, basis):
        """The moments for filters ``basis @ G``, as a function of G."""
        covariances = self._of_classes.project(basis).values
        return ClassMoments(self.means @ basis, covariances, self.regularization)

    def __call__(self, filters):
        """Projected means (c, m) and covariances (c, m, m), and their VJP.

        The VJP maps gradients with respect to the means and the covariances (symmetric
        matrices) to the gradient with respect to the filters, (n, m).
        """
        covariances, weighted_sum = self._of_classes.forms(filters)
        covariances = (covariances + covariances.mT) / 2
        covariances += self.regularization * np.eye(filters.shape[1])

        def pull_back(of_means, of_covariances):
            return 2 * weighted_sum(of_covariances) + self.means.T @ of_means

        return self.means @ filters, covariances, pull_back


class MeanPairwiseDistance(Objective):
    r"""Mean distance between the class-conditional Gaussians of projected data.

    For filters F of shape (n, m), the projected classes have the means
    :math:`\mu_i = F^\top \gamma_i` and the covariances
    :math:`\Sigma_i = F^\top \Phi_i F + \sigma^2 I`. The value is the mean of
    :math:`d(i, j)` over all pairs :math:`i < j` (section 4 and, up to a constant
    factor, equation 1 of Herrera-Esposito and Burge, 2025).

    Parameters
    ----------
    means : ndarray of shape (c, n)
        Class means :math:`\gamma_i`, c > 1.
    covariances : ndarray of shape (c, n, n)
        Class covariances :math:`\Phi_i`. Not copied if C-contiguous.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    distance : class or object
        A result of :func:`skgeom.objectives.find_distance`.
    squared : bool, default=False
        Whether to average the squares of the distances.
    weights : ndarray of shape (c,), default=None
        Weights :math:`w_i` of the classes. A pair has the weight :math:`w_i w_j` in the
        mean. None sets equal weights.
    pair_weights : ndarray of shape (c, c), default=None
        Symmetric factors :math:`v_{ij}`. A pair then has the weight
        :math:`w_i w_j v_{ij}`. None sets equal factors.
    """

    terms = "pairs"

    def __init__(
        self,
        means,
        covariances,
        regularization,
        distance,
        squared=False,
        weights=None,
        pair_weights=None,
    ):
        self.distance = distance
        self.rotation_invariant = distance.rotation_invariant
        self.affine_invariant = distance.affine_invariant
        self.squared = squared
        self.weights = np.ones(means.shape[0]) if weights is None else weights
        self.pair_weights = pair_weights
        self.n_pairs = n_weighted_pairs(self.weights, pair_weights)
        self.classes = ClassMoments(means, covariances, regularization)

    @cached_property
    def _pairs(self):
        return all_pairs(self.weights, self.pair_weights)

    @property
    def complete(self):
        """Whether the objective is the mean over all pairs, not over a subset."""
        return self._pairs.complete

    @property
    def n_features(self):
        """Number of rows of the filters."""
        return self.classes.means.shape[1]

    @property
    def parallel(self):
        """Whether several threads evaluate the pairs; one thread if pairs are few."""
        return self.distance.parallel and self.n_pairs > _PAIRS_PER_BLOCK

    def project(self, basis):
        """The same objective for filters ``basis @ G``, as a function of G.

        ``basis`` has shape (n, k). If its columns are orthonormal, the filters G and
        ``basis @ G`` have the same norms.
        """
        projected = copy(self)
        projected.classes = self.classes.project(basis)
        return projected

    def growing_subsets(self, random_state):
        """Subsets of pairs for the first iterations, see :func:`growing_subsets`."""
        return growing_subsets(self.weights, random_state, self.pair_weights)

    def subset(self, pairs):
        """An objective that estimates the same mean from some pairs."""
        part = copy(self)
        part._pairs, part.n_pairs = pairs, len(pairs)
        return part

    def __call__(self, filters):
        """Value and gradient, (n, m), at ``filters``, (n, m).

        Raises
        ------
        numpy.linalg.LinAlgError
            If a projected covariance is not positive definite.
        """
        means, covariances, pull_back = self.classes(filters)
        distances = self.distance(means, covariances)

        def evaluate(block):
            i, j, weights = block
            values, gradient = distances.pairs(i, j)
            values, slopes = self._values_to_average(values)
            return values @ weights, gradient(slopes * weights)

        sums = map_threads(evaluate, _blocks(self._pairs), self.distance.parallel)
        values, gradients = zip(*sums, strict=True)
        return sum(values), pull_back(*distances.pull_back(sum(gradients)))

    def mean(self, filters):
        """Value at ``filters`` for all pairs, even if a subset of pairs is optimized.

        The value of more than 524,288 pairs is estimated from a sample of about this
        size. The sample is always the same, so the values of two optimizations are
        comparable.
        """
        pairs = CyclicPairs(self.weights, 0, self.pair_weights).sample(_PAIRS_OF_MEAN)
        value, _ = self.subset(pairs)(filters)
        return float(value)

    def matrix(self):
        """Distances between all pairs of classes without filters, (c, c)."""
        pairs = all_pairs(np.ones(len(self.weights)))
        means, covariances, _ = self.classes(np.eye(self.n_features))
        distances = self.distance(means, covariances)

        def evaluate(block):
            i, j, _ = block
            values, _ = distances.pairs(i, j)
            return values

        parts = map_threads(evaluate, _blocks(pairs), self.distance.parallel)
        values = np.concatenate(parts)
        matrix = np.zeros((len(self.weights), len(self.weights)))
        roots = np.sqrt(values) if self.distance.returns_square else values
        matrix[pairs.i, pairs.j] = roots
        return matrix + matrix.T

    def _values_to_average(self, values):
        """The values to average and their derivative, from the result of ``pairs``."""
        if self.squared == self.distance.returns_square:
            return values, np.ones_like(values)
        if self.squared:
            return values**2, 2 * values
        # The square root has no derivative at zero, the distance of two equal classes.
        # Zero is a subgradient there, so the other pairs determine the ascent
        # direction.
        roots = np.sqrt(values)
        slopes = np.zeros_like(roots)
        np.divide(0.5, roots, out=slopes, where=roots > 0)
        return roots, slopes


def _blocks(pairs):
    """Indices i and j and weights of the pairs, in blocks of about equal size."""
    arrays = (pairs.i, pairs.j, pairs.weights)
    n_blocks = min(-(-len(pairs.i) // _PAIRS_PER_BLOCK), _MOST_BLOCKS)
    return list(zip(*(np.array_split(a, n_blocks) for a in arrays), strict=True))


@dataclass(frozen=True)
class Pairs:
    """Pairs of classes, and their weights in a mean over all pairs.

    Attributes
    ----------
    i, j : ndarray of shape (p,)
        Indices of the classes, i < j.
    weights : ndarray of shape (p,)
        Weights of the pairs in the mean.
    complete : bool
        Whether the pairs are all pairs, not a sample.
    """

    i: np.ndarray
    j: np.ndarray
    weights: np.ndarray
    complete: bool = True

    def __len__(self):
        return len(self.i)


def n_weighted_pairs(weights, pair_weights=None):
    """Number of pairs of classes with positive weights."""
    n_classes = int(np.count_nonzero(weights))
    if pair_weights is None:
        return n_classes * (n_classes - 1) // 2
    return len(all_pairs(weights, pair_weights))


def all_pairs(weights, pair_weights=None):
    """All pairs of classes with positive weights.

    Parameters
    ----------
    weights : ndarray of shape (c,)
        Weights of the classes.
    pair_weights : ndarray of shape (c, c), default=None
        Symmetric factors of the weights of the pairs.
    """
    classes = np.flatnonzero(weights)
    i, j = np.triu_indices(len(classes), 1)
    i, j = classes[i], classes[j]
    of_pairs = weights[i] * weights[j]
    if pair_weights is not None:
        of_pairs = of_pairs * pair_weights[i, j]
        weighted = of_pairs > 0
        i, j, of_pairs = i[weighted], j[weighted], of_pairs[weighted]
    return Pairs(i, j, of_pairs / of_pairs.sum())


def growing_subsets(weights, random_state, pair_weights=None):
    """Growing subsets of the pairs; no subsets for at most ``FEW_PAIRS`` pairs.

    Each subset is part of the next subset. The last subset contains all pairs or, if
    there are more than ``_LAST`` pairs per class, about ``_LAST`` pairs per class.

    Parameters
    ----------
    weights : ndarray of shape (c,)
        Weights of the classes.
    random_state : int, RandomState instance or None
        Random state of the samples.
    pair_weights : ndarray of shape (c, c), default=None
        Symmetric factors of the weights of the pairs.

    Returns
    -------
    list of Pairs
    """
    n_pairs = n_weighted_pairs(weights, pair_weights)
    if n_pairs <= FEW_PAIRS:
        return []
    draw = CyclicPairs(weights, random_state, pair_weights)
    largest = _LAST * np.count_nonzero(weights)
    sizes, last = [], draw.sample(largest)
    size = max(_LEAST, _FIRST * np.count_nonzero(weights))
    while size <= len(last) / 2:
        sizes.append(size)
        size *= _GROWTH
    return [*map(draw.sample, sizes), last]


class CyclicPairs:
    r"""Samples of pairs in which each class appears in proportion to its weight.

    The classes are arranged on a circle in random order. A sample consists of the pairs
    of places at r randomly selected distances along the circle. It contains each place
    2 r times, and any two places with the same probability. A class of weight
    :math:`w_i`, relative to the mean weight, has :math:`n_i \approx w_i` of the N
    places, so the expected number of occurrences of the pair (i, j) is :math:`2 r n_i
    n_j / (N - 1)`. The weights of the pairs are divided by this number, so the weighted
    sum of a sample is an unbiased estimate of the mean.
    """

    def __init__(self, weights, random_state, pair_weights=None):
        rng = check_random_state(random_state)
        self.weights, self.pair_weights = weights, pair_weights
        self.places = np.rint(weights / weights[weights > 0].mean()).astype(int)
        self.places[(weights > 0) & (self.places == 0)] = 1
        self.circle = rng.permutation(np.repeat(np.arange(len(weights)), self.places))
        self.distances = rng.permutation(np.arange(1, (len(self.circle) + 1) // 2))
        if pair_weights is None:
            self.total = (weights.sum() ** 2 - (weights**2).sum()) / 2
        else:
            squares = weights**2 @ np.diag(pair_weights)
            self.total = (weights @ pair_weights @ weights - squares) / 2

    def sample(self, n_pairs):
        """About ``n_pairs`` pairs, or all pairs if there are at most as many.

        The sample contains all smaller samples.
        """
        if n_weighted_pairs(self.weights, self.pair_weights) <= n_pairs:
            return all_pairs(self.weights, self.pair_weights)
        n_classes, n_places = len(self.weights), len(self.circle)
        distances = self.distances[: max(n_pairs // n_places, 1)]
        pairs = np.stack(
            [
                np.tile(self.circle, len(distances)),
                np.concatenate([np.roll(self.circle, d) for d in distances]),
            ]
        )
        pairs = np.sort(pairs[:, pairs[0] != pairs[1]], axis=0)
        # A pair of classes with several places may occur several times.
        codes, counts = np.unique(pairs[0] * n_classes + pairs[1], return_counts=True)
        i, j = np.divmod(codes, n_classes)
        expected = 2 * len(distances) * self.places[i] * self.places[j] / (n_places - 1)
        weights = self.weights[i] * self.weights[j] / self.total
        if self.pair_weights is not None:
            weights = weights * self.pair_weights[i, j]
        return Pairs(i, j, counts / expected * weights, complete=False)
