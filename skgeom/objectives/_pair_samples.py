"""Pairs of classes: all of them, or samples in which each class occurs.

c classes make c (c - 1) / 2 pairs. A mean over them needs far fewer, if each class is
in the sample as often as its weight says: then only what is peculiar to a pair is left
to chance, and not what is peculiar to a class.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

# Up to so many pairs (those of 100 classes) are taken all at once.
FEW_PAIRS = 5000
# Samples begin with about so many pairs, or so many for each class; they grow by this
# factor, and end with all pairs, if these are no more than so many for each class.
_LEAST, _FIRST, _GROWTH, _LAST = 2500, 8, 4, 100


@dataclass(frozen=True)
class Pairs:
    """Some pairs of classes, for a mean over all of them.

    Attributes
    ----------
    i, j : ndarray of shape (p,)
        Indices of the classes, i < j.
    weights : ndarray of shape (p,)
        Weights of the pairs in the mean.
    complete : bool
        Whether these are all pairs.
    """

    i: np.ndarray
    j: np.ndarray
    weights: np.ndarray
    complete: bool = True

    def __len__(self):
        return len(self.i)


def n_weighted_pairs(weights):
    """Number of pairs of classes that have a weight."""
    n_classes = int(np.count_nonzero(weights))
    return n_classes * (n_classes - 1) // 2


def all_pairs(weights):
    """All pairs of classes that have a weight, given the weights of the classes."""
    classes = np.flatnonzero(weights)
    i, j = np.triu_indices(len(classes), 1)
    i, j = classes[i], classes[j]
    of_pairs = weights[i] * weights[j]
    return Pairs(i, j, of_pairs / of_pairs.sum())


def n_first_pairs(weights):
    """About how many pairs most evaluations of a search are of."""
    n_pairs = n_weighted_pairs(weights)
    if n_pairs <= FEW_PAIRS:
        return n_pairs
    return max(_LEAST, _FIRST * np.count_nonzero(weights))


def growing_samples(weights, random_state):
    """Samples of the pairs, each part of the next one; none if the pairs are few.

    The last one is of all pairs, if these are affordable: their number then is within
    a fixed multiple of the number of classes, as that of all samples is.

    Parameters
    ----------
    weights : ndarray of shape (c,)
        Weights of the classes.
    random_state : int, RandomState instance or None
        What the pairs are drawn with.

    Returns
    -------
    list of Pairs
    """
    n_pairs = n_weighted_pairs(weights)
    if n_pairs <= FEW_PAIRS:
        return []
    draw = _CyclicPairs(weights, random_state)
    largest = _LAST * np.count_nonzero(weights)
    last = all_pairs(weights) if n_pairs <= largest else draw.sample(largest)
    sizes = []
    size = n_first_pairs(weights)
    while size <= len(last) / 2:
        sizes.append(size)
        size *= _GROWTH
    return [*map(draw.sample, sizes), last]


def large_sample(weights, n_pairs, random_state):
    """A sample of about so many pairs, or all pairs if they are no more than that."""
    if n_weighted_pairs(weights) <= n_pairs:
        return all_pairs(weights)
    return _CyclicPairs(weights, random_state).sample(n_pairs)


class _CyclicPairs:
    r"""Pairs of neighbours, at some distances, on a circle of the classes.

    On a circle in random order, the pairs at r of the possible distances hold each
    class 2 r times, and any two classes are as likely to be among them. A class of
    weight :math:`w_i` has :math:`n_i \approx w_i` places of N on the circle, so that
    the pair (i, j) is expected :math:`2 r n_i n_j / (N - 1)` times. Divided by that,
    its weight makes the weighted sum of a sample an unbiased estimate of the mean.
    """

    def __init__(self, weights, random_state):
        rng = check_random_state(random_state)
        self.weights = weights
        self.places = np.rint(weights / weights[weights > 0].mean()).astype(int)
        self.places[(weights > 0) & (self.places == 0)] = 1
        self.circle = rng.permutation(np.repeat(np.arange(len(weights)), self.places))
        self.distances = rng.permutation(np.arange(1, (len(self.circle) + 1) // 2))
        self.total = (weights.sum() ** 2 - (weights**2).sum()) / 2

    def sample(self, n_pairs):
        """The pairs at the first few distances, about ``n_pairs`` of them."""
        n_classes, n_places = len(self.weights), len(self.circle)
        distances = self.distances[: max(n_pairs // n_places, 1)]
        pairs = np.stack(
            [
                np.tile(self.circle, len(distances)),
                np.concatenate([np.roll(self.circle, d) for d in distances]),
            ]
        )
        pairs = np.sort(pairs[:, pairs[0] != pairs[1]], axis=0)
        # Classes with several places may meet several times.
        codes, counts = np.unique(pairs[0] * n_classes + pairs[1], return_counts=True)
        i, j = np.divmod(codes, n_classes)
        expected = 2 * len(distances) * self.places[i] * self.places[j] / (n_places - 1)
        weights = self.weights[i] * self.weights[j] / self.total
        return Pairs(i, j, counts / expected * weights, complete=False)
