"""Pairs of classes: all, or a sample.

For many classes, a sample of the pairs estimates the mean over all pairs. Each class
appears in the sample in proportion to its weight, so only the part of a distance that
is specific to the pair contributes to the sampling error.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array
from sklearn.utils import check_random_state

# Largest number of pairs that are evaluated without sampling; 100 classes have about as
# many (page "Constants").
FEW_PAIRS = 5000
# For c classes, the sizes of the samples grow by the factor _GROWTH from max(_LEAST,
# _FIRST c) to _LAST c pairs, or all pairs if these are fewer (page "Constants").
_LEAST, _FIRST, _GROWTH, _LAST = 2500, 8, 4, 100

# Pairs are evaluated in blocks, each by one thread: with many classes, factorizations
# of small matrices, which use one core, take most of the time. The blocks, and
# therefore the result, do not depend on the number of threads. Each block stores
# gradients of all classes, so the number of blocks is limited (page "Constants").
PAIRS_PER_BLOCK, _MOST_BLOCKS = 512, 64


@dataclass(frozen=True)
class Pairs:
    """Pairs of classes, and their weights in a mean over all pairs.

    Attributes
    ----------
    i, j : ndarray of shape (p,)
        Indices of the classes, i < j.
    weights : ndarray of shape (p,)
        Weights of the pairs in the mean.
    n_classes : int
        Number of classes c.
    complete : bool
        Whether the pairs are all pairs, not a sample.
    """

    i: np.ndarray
    j: np.ndarray
    weights: np.ndarray
    n_classes: int
    complete: bool = True

    def __len__(self):
        return len(self.i)

    @cached_property
    def blocks(self):
        """The pairs in blocks of about equal size."""
        n_blocks = min(-(-len(self) // PAIRS_PER_BLOCK), _MOST_BLOCKS)
        if n_blocks == 1:
            return [self]
        arrays = (np.array_split(a, n_blocks) for a in (self.i, self.j, self.weights))
        return [Pairs(*part, self.n_classes) for part in zip(*arrays, strict=True)]

    @cached_property
    def _indicator(self):
        """The sparse matrix that sums over the pairs of each class."""
        labels = np.concatenate([self.i, self.j])
        one_a_column = np.ones(len(labels)), labels, np.arange(len(labels) + 1)
        return csc_array(one_a_column, shape=(self.n_classes, len(labels)))

    def sums_of_classes(self, arrays):
        """Sum arrays of the pairs (2 p, ...) over the pairs of each class, (c, ...).

        The first p arrays belong to the classes i, the others to the classes j.
        """
        sums = self._indicator @ arrays.reshape(len(arrays), -1)
        return sums.reshape(self.n_classes, *arrays.shape[1:])


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
    return Pairs(i, j, of_pairs / of_pairs.sum(), len(weights))


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
        return Pairs(i, j, counts / expected * weights, n_classes, complete=False)
