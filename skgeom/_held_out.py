"""Folds of held-out samples, and training statistics."""

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import gen_batches

from skgeom._statistics import (
    ClassStatistics,
    statistics_of_block,
    statistics_of_samples,
    with_counts,
    without,
)
from skgeom.utils._dask import map_row_blocks, merged
from skgeom.utils._sklearn import num_samples
from skgeom.utils.array_api import take, to_numpy
from skgeom.utils.memory import ROWS_PER_BLOCK, require_memory
from skgeom.utils.validation import samples_of_block

# Number of held-out samples, over all folds. With 5,000 samples of MNIST, the accuracy
# of a Gaussian classifier is 0.6 percentage points lower. With all 60,000 samples, it
# is the same and takes 2.5 times the time (page "Constants").
MOST_SAMPLES = 10_000
_N_FOLDS = 5
# Number of held-out samples after which no further fold is held out, and largest number
# of partitions into folds (page "Constants").
_ENOUGH, _MOST_PARTITIONS = 500, 5
# Largest number of features with which all folds of large data are held out. The
# accuracy on nine features of MNIST is 93.2 to 93.3 % for different parts of the
# samples, and takes 0.5 s. With one fold, it is 92.6 to 93.3 %.
_FEW_FEATURES = 100
# Number of features by which samples are sorted at a time. For MNIST, this is as fast
# as with all 784 features, and needs 38 instead of 67 MiB (page "Constants"). For all
# features, lexsort needs 3 KB per feature, which is more than a few samples need.
_KEYS = 64
# Binary digits that determine which rows of large data are selected. Rounding errors of
# relative size 1e-12 change 7e-5 of the rounded values. With 12 digits, values of a
# small range far from zero would be equal.
_SIGNIFICANT_BITS = 26
# A smaller fraction of the weight of a class is a rounding error. With a bound of zero,
# 38 % of the classes without samples would keep some weight (page "Constants").
_ROUNDING = 1e-9


class HeldOut:
    """Samples that are held out in folds, at most ``MOST_SAMPLES`` of positive weight.

    Equal samples are treated as one sample with the sum of their weights.

    Parameters
    ----------
    X, y, sample_weight : array of shape (n_samples, n_features), ndarray, ndarray
        Validated samples, their labels, and their positive weights or None.
    groups : ndarray of int or None
        Indices of the groups of samples of positive weight.

    Attributes
    ----------
    X, y, weights, groups
        The distinct samples that are held out, in NumPy, and their labels, weights and
        groups.
    """

    def __init__(self, X, y, sample_weight=None, groups=None):
        rows, weights = sample_rows(X, y, sample_weight, groups)
        self._has_groups = groups is not None
        X, y = to_numpy(take(X, rows)).astype(np.float64, copy=False), y[rows]
        distinct, self.weights, self.groups = distinct_rows(X, y, weights, groups)
        self.X, self.y = X[distinct], y[distinct]

    def folds(self):
        """The rows of each fold, until ``_ENOUGH`` samples are held out.

        Folds of large data end early, once the rarest class also has its share of the
        held-out samples, but not with groups: one fold can contain few groups; and not
        with few features, whose folds take little time: the selected values then depend
        less on which samples are held out. Few samples are divided into folds several
        times: with one partition of 30 samples, the selection depends on chance.
        """
        labels = np.unique(self.y, return_inverse=True)[1]
        held_out = np.zeros(labels.max() + 1)
        is_fast = len(self.y) >= MOST_SAMPLES and self.X.shape[1] <= _FEW_FEATURES
        for seed in range(_MOST_PARTITIONS):
            folds = folds_of_distinct(self.y, self.groups, seed=seed)
            classes = np.unique(labels[folds >= 0])
            for fold in range(folds.max() + 1):
                rows = np.flatnonzero(folds == fold)
                if len(rows):
                    yield rows
                held_out += np.bincount(labels[rows], minlength=len(held_out))
                enough = held_out[classes].min() * len(classes) >= _ENOUGH
                if enough and not (self._has_groups or is_fast):
                    return
            if held_out.sum() >= _ENOUGH:
                return


def sample_rows(X, y, sample_weight=None, groups=None):
    """Rows for a selection of parameters, at most ``MOST_SAMPLES``, with weights.

    If X has more rows, equal rows of a class become one row with the sum of their
    weights. The values of a row determine whether it is selected, so the result does
    not depend on the order of the rows or on the division into blocks. With ``groups``,
    all rows are returned in their order, because a selection could contain few groups.

    Returns
    -------
    rows : ndarray of int
    weights : ndarray
    """
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    if groups is not None:
        require_memory(
            8 * X.shape[0] * X.shape[1],
            "All samples in double precision, which are held out in groups,",
            "Pass fewer samples, or groups=None.",
        )
    if X.shape[0] <= MOST_SAMPLES or groups is not None:
        return np.arange(X.shape[0]), weights
    return _select_rows(selection_keys(X), y, weights)


def _select_rows(keys, y, weights):
    """Rows with the smallest distinct pairs of key and label, and their weights."""
    labels = np.unique(y, return_inverse=True)[1]
    order = np.lexsort((labels, keys))
    keys, labels = keys[order], labels[order]
    is_new = (keys[1:] != keys[:-1]) | (labels[1:] != labels[:-1])
    first = np.flatnonzero(np.append(True, is_new))
    weights = np.add.reduceat(weights[order], first)
    return order[first[:MOST_SAMPLES]], weights[:MOST_SAMPLES]


def row_keys(X):
    """Pseudo-random keys of rows; equal rows have equal keys."""
    return _hashed(X, 52)


def selection_keys(X):
    """Keys of rows whose order hardly depends on rounding errors.

    The high half of a key is the high half of the key of the values that are rounded to
    ``_SIGNIFICANT_BITS``. The low half distinguishes rows that differ by less.
    """
    half = np.uint64(32)
    return (_hashed(X, _SIGNIFICANT_BITS) >> half << half) | (row_keys(X) >> half)


def _hashed(X, n_digits):
    """Hash values of rows whose numbers are rounded to ``n_digits`` binary digits."""
    factors = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64)
    factors = 2 * factors + 1
    keys = np.empty(X.shape[0], dtype=np.uint64)
    for batch in gen_batches(X.shape[0], ROWS_PER_BLOCK):
        block = X[batch, ...]
        if issparse(block):
            # Stored zeros do not matter: all bits of zero are zero.
            parts = _bits(block.data, n_digits), block.indices, block.indptr
            block = csr_array(parts, shape=block.shape)
        else:
            block = _bits(to_numpy(block), n_digits)
        keys[batch] = block @ factors
    keys ^= keys >> np.uint64(29)
    return keys * factors[0]


def groups_of_equal(X):
    """The group of equal rows of each row, as an index.

    The groups are sorted by the positions of the rows, and then by the features, so the
    order of features matters only if rows have equal positions.
    """
    X = X.toarray() if issparse(X) else to_numpy(X)
    order, groups = np.arange(len(X)), np.empty(len(X), dtype=int)
    for stop in range(X.shape[1], 0, -_KEYS):
        columns = X[order, max(stop - _KEYS, 0) : stop].T
        order = order[np.lexsort(columns[::-1])]
    order = order[np.argsort(_positions(X)[order], kind="stable")]
    X = X[order]
    groups[order] = np.cumsum(np.append(False, (X[1:] != X[:-1]).any(axis=1)))
    return groups


def _bits(values, n_digits):
    """The bits of numbers, rounded to a number of binary digits, as integers."""
    # Adding zero removes the sign of negative zeros.
    bits = np.add(values, 0.0, dtype=np.float64).view(np.uint64)
    last = np.uint64(52 - n_digits)
    bits = ((bits + (np.uint64(1) << last >> np.uint64(1))) >> last) << last
    return bits ^ (bits >> np.uint64(32))  # the low half of small integers is zero


def held_out_folds(X, y):
    """The fold in which each sample is held out.

    The distinct samples of a class are sorted by their features. Each run of five
    successive samples is distributed over the five folds, in a fixed pseudo-random
    order. Equal samples are in the same fold, even if their labels differ. The folds
    therefore do not depend on the order of the samples, on the units of features, or,
    except for ties, on the order of features, and are the same for repeated samples and
    for samples with weights.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Validated samples of positive weight.
    y : ndarray of shape (n_samples,)
        Labels of the samples.

    Returns
    -------
    ndarray of int, shape (n_samples,)
        Indices of folds, from 0 to 4. If all samples of a class are in one fold, they
        and equal samples are never held out, because no sample of the class would
        remain; the index is then -1.
    """
    equal = groups_of_equal(X)
    rows, _, _ = merge_equal(equal, y, groups=equal)
    folds = np.empty(equal.max() + 1, dtype=int)
    folds[equal[rows]] = folds_of_distinct(y[rows], equal[rows])
    return folds[equal]


def distinct_rows(X, y, sample_weight=None, groups=None):
    """Rows of distinct samples, their weights and their groups.

    See :func:`merge_equal`. Raises ValueError if no group can be held out.
    """
    if groups is not None:
        check_groups(groups, y)
    return merge_equal(groups_of_equal(X), y, sample_weight, groups)


def merge_equal(equal, y, sample_weight=None, groups=None):
    """Merge equal samples of positive weight of a class, and of a group if given.

    Parameters
    ----------
    equal : ndarray of int of shape (n_samples,)
        Indices of groups of equal samples, which also determine the order of the
        samples of a class.
    y, sample_weight : ndarray of shape (n_samples,)
        Labels, and weights or None.
    groups : ndarray of int of shape (n_samples,), default=None
        Indices of groups. None for the groups of :func:`with_observations`.

    Returns
    -------
    rows : ndarray of shape (n_distinct,)
        The first of each set of equal samples, sorted by label.
    weights, groups : ndarray of shape (n_distinct,)
        The sum of the weights of each set, and the groups.
    """
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    labels = np.unique(y, return_inverse=True)[1]
    keys = np.stack([labels, equal, equal if groups is None else groups])
    order = np.lexsort(keys[::-1])
    order = order[weights[order] > 0]
    is_new = np.append(True, (np.diff(keys[:, order]) != 0).any(axis=0))
    rows = order[is_new]
    weights = np.add.reduceat(weights[order], np.flatnonzero(is_new))
    if groups is None:
        return with_observations(rows, weights, equal[rows])
    return rows, weights, groups[rows]


def with_observations(rows, weights, groups):
    """Divide equal samples of several classes into rows that are held out separately.

    Equal samples of one class are copies of one sample, and form a group. Equal samples
    of several classes are repeated observations of discrete features, and new samples
    will equal them as well. Up to ``_N_FOLDS`` observations of a class are different
    rows and groups, among which their weight is divided.

    Parameters
    ----------
    rows, weights, groups : ndarray of shape (n_distinct,)
        Rows of the distinct samples of each class, the number (or the sum of the
        weights) of equal samples, and the indices of the groups of equal samples.

    Returns
    -------
    rows, weights, groups : ndarray of shape (n_rows,)
    """
    is_observed = np.bincount(groups)[groups] > 1
    parts = np.clip(np.rint(weights), 1, np.where(is_observed, _N_FOLDS, 1)).astype(int)
    own = groups.max() + 1 + np.arange(parts.sum())
    groups = np.where(is_observed.repeat(parts), own, groups.repeat(parts))
    return rows.repeat(parts), (weights / parts).repeat(parts), groups


def check_groups(groups, y):
    """Raise ValueError if each group contains all samples of a class."""
    labels = np.unique(y, return_inverse=True)[1]
    pairs = np.unique(np.column_stack([labels, groups]), axis=0)
    whole = pairs[np.bincount(pairs[:, 0])[pairs[:, 0]] == 1, 1]
    if len(np.unique(whole)) == len(np.unique(groups)):
        raise ValueError(
            "No group can be held out, because each group contains all samples of a "
            "class. Use groups that share classes, set the parameters that are 'auto' "
            "to other values, or use groups=None."
        )


def folds_of_distinct(y, groups, n_folds=_N_FOLDS, seed=0):
    """The folds of distinct samples, sorted by label, given labels and groups.

    The samples of a group, such as equal samples of different classes, are held out
    together, or not at all. If only one of two equal samples with different labels were
    held out, the model would have its twin in the wrong class and would misclassify it.
    """
    _, starts, counts = np.unique(y, return_index=True, return_counts=True)
    runs = np.tile(np.arange(n_folds), (-(-len(y) // n_folds), 1))
    dealt = np.random.default_rng(seed).permuted(runs, axis=1).ravel()
    # Each group counts in the class that has the fewest groups. Otherwise, all groups
    # of a rare class could be in the same fold.
    _, first, groups = np.unique(groups, return_index=True, return_inverse=True)
    labels = np.repeat(np.arange(len(counts)), counts)
    pairs = np.unique(np.column_stack([groups, labels]), axis=0)
    n_groups = np.bincount(pairs[:, 1])[pairs[:, 1]]
    pairs = pairs[np.lexsort([n_groups, pairs[:, 0]])]
    own = pairs[np.unique(pairs[:, 0], return_index=True)[1], 1]
    order = np.lexsort([first, own])
    ranks = np.empty(len(own), dtype=int)
    ranks[order] = np.arange(len(own)) - np.searchsorted(own[order], own[order])
    folds = dealt[ranks[groups]]
    first, last = (f.reduceat(folds, starts) for f in (np.minimum, np.maximum))
    is_kept = np.repeat(first == last, counts)
    return np.where((np.bincount(groups, is_kept) > 0)[groups], -1, folds)


def _positions(X):
    """A number for each row that does not depend on the order or units of features.

    Each feature is scaled to values from 0 to 1. The number is the sum of the cubes of
    these values, rounded so that rounding errors do not decide the order of rows.
    """
    positions = np.zeros(len(X))
    for feature in X.T:
        # Without overflow. Single precision would lead to a different order.
        feature = feature.astype(np.float64) / 2
        low, high = feature.min(), feature.max()
        if high > low:
            positions += ((feature - low) / (high - low)) ** 3
    return np.round(positions, 9)


def distinct_shares(y, sample_weight):
    """The proportion of distinct samples of each class, as a dict by label.

    ``y`` and ``sample_weight`` are those of :func:`in_distinct_samples`.
    """
    classes, labels = np.unique(y, return_inverse=True)
    shares = np.bincount(labels) / np.bincount(labels, sample_weight)
    return dict(zip(classes.tolist(), shares.tolist(), strict=True))


def shares_of(classes, shares):
    """The shares of classes; for a missing class, the median share of the others."""
    others = np.median(list(shares.values())) if shares else 1.0
    return np.array([shares.get(label, others) for label in classes.tolist()])


def in_distinct_samples(statistics, y, sample_weight):
    """Statistics that count distinct samples, and weights with mean one in each class.

    The statistics do not depend on a common factor of the weights. If only some samples
    of a class are given, their proportion of distinct samples is used for the class.

    Parameters
    ----------
    statistics : ClassStatistics
        Statistics of all samples, with sample covariances.
    y, sample_weight : ndarray of shape (n,)
        Labels of distinct samples, and sums of the weights of equal samples.
    """
    shares = shares_of(statistics.classes, distinct_shares(y, sample_weight))
    weights = shares[np.searchsorted(statistics.classes, y)] * sample_weight
    # Rounding makes integer numbers of distinct samples exact.
    distinct = np.maximum(np.round(shares * statistics.counts, 6), 1.0)
    return with_counts(statistics, distinct), weights


def remaining_weights(total, labels, sample_weight):
    """The weight of each class without held-out samples; zero instead of rounding."""
    remaining = total.counts - np.bincount(labels, sample_weight, len(total.counts))
    return np.where(remaining > _ROUNDING * total.counts, remaining, 0)


def training_statistics(total, X, y, sample_weight):
    """Class statistics of the distinct samples that remain when some are held out.

    The sums of the held-out samples are subtracted from the sums of all samples, so
    the remaining samples need not be read again.

    Parameters
    ----------
    total : ClassStatistics
        Statistics of all samples from :func:`in_distinct_samples`.
    X, y, sample_weight : array of shape (n, n_features), ndarray of shape (n,)
        The validated distinct held-out samples, their labels, and their weights from
        :func:`in_distinct_samples`.

    Returns
    -------
    ClassStatistics
        Statistics of the classes of ``total`` that have remaining samples, in the same
        order, with the numbers of distinct samples. The covariance of a class with a
        single remaining sample is zero.
    """
    labels = np.searchsorted(total.classes, y)
    kept = remaining_weights(total, labels, sample_weight) > 0
    n_distinct = total.counts - np.bincount(labels, minlength=len(kept))
    held_out = statistics_of_samples(X, y, sample_weight)
    return without(total, held_out, kept, n_distinct[kept])


def statistics_and_sample(X, y, sample_weight):
    """The statistics of all samples, and the samples for a selection of parameters.

    The blocks are read once for both. For data in memory, ``sample_rows`` returns the
    same samples.

    Returns
    -------
    statistics : ClassStatistics
    sample : tuple of ndarray of shape (N, n), (N,), (N,)
        Some samples of positive weight, their labels, and their weights.
    """
    parts = map_row_blocks(_statistics_and_some, X, y, sample_weight)
    total, some = merged(parts, _merge).compute()
    if some is None:
        raise ValueError("There are no samples: all blocks of X are empty.")
    return total, some[1:]


def _statistics_and_some(number, X, y, sample_weight):
    """The statistics of a block, and some of its samples."""
    found = statistics_of_block(number, X, y, sample_weight)  # validates the block
    return found, _some_of_block(X, y, sample_weight)


def _merge(parts):
    """The statistics and the selected samples of several parts."""
    statistics, samples = zip(*parts, strict=True)
    some = [part for part in samples if part is not None]
    some = _smallest(*map(np.concatenate, zip(*some, strict=True))) if some else None
    return ClassStatistics.merge(statistics), some


def _some_of_block(X, y, sample_weight):
    """Keys, samples, labels and weights of the selected rows of positive weight."""
    if num_samples(X) == 0:
        return None
    X, y, weights = samples_of_block(X, y, sample_weight, whole=False)[:3]
    weights = np.ones(len(y)) if weights is None else weights
    return _smallest(selection_keys(X), X, y, weights) if len(y) else None


def _smallest(keys, X, y, weights):
    rows, weights = _select_rows(keys, y, weights)
    return keys[rows], X[rows], y[rows], weights
