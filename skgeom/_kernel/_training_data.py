"""Training samples as rows: copies, an order of their own, and blocks of Dask.

The order of the rows of X must not matter, nor whether a sample is repeated or has a
weight. So the samples of a class that are equal become one, with the sum of their
weights, and all samples are sorted: by class, and then by the mean and the variance of
their features, which do not depend on the other samples.
"""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis

from skgeom._held_out import row_keys
from skgeom._statistics import ROWS_PER_BLOCK
from skgeom.utils._dask import map_row_blocks, merged, naming_block, row_blocks
from skgeom.utils.array_api import block, take, to_numpy
from skgeom.utils.validation import check_array, check_sample_weight, checked_labels

_EPS = np.finfo(np.float64).eps


@dataclass
class RowSummary:
    """Summaries of each row, and of all rows together."""

    keys: np.ndarray  # equal for equal rows
    means: np.ndarray  # of each row
    variances: np.ndarray  # of each row
    center: np.ndarray  # the weighted mean of the rows
    scatter: float  # the weighted sum of their squared distances from it
    weight: float  # the sum of their weights

    @classmethod
    def of(cls, X, weights):
        """Summary of samples in memory, dense or sparse, and their weights."""
        weight, n_features = weights.sum(), X.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            batches = list(gen_batches(X.shape[0], ROWS_PER_BLOCK))
            total = sum(X[batch].T @ weights[batch] for batch in batches)
            center = total / (weight or 1)
            means, variances = _moments_of_rows(X)
            # The squared distance of a row from the center, by its own moments.
            squares = n_features * (variances + means**2)
            if issparse(X):
                squares = squares - 2 * (X @ center) + center @ center
            else:
                for batch in batches:
                    squares[batch] = np.square(X[batch] - center).sum(axis=1)
            scatter = float(weights @ squares)
        return cls(row_keys(X), means, variances, center, scatter, float(weight))

    @classmethod
    def merged(cls, parts):
        """Summary of the rows of several blocks."""
        weight = sum(part.weight for part in parts)
        center = sum(part.weight * part.center for part in parts) / (weight or 1)
        scatter = sum(
            part.scatter + part.weight * np.square(part.center - center).sum()
            for part in parts
        )
        columns = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("keys", "means", "variances")
        )
        return cls(*columns, center, float(scatter), weight)


def gamma_scale(summary):
    """One over the sum of the variances of the features."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = summary.scatter / summary.weight
        # Equal rows have a variance of rounding.
        rounding = np.square(10 * _EPS) * (summary.center @ summary.center)
    if not np.isfinite(variance):
        raise ValueError(
            "The squares of the numbers of X are too large for floating-point "
            "numbers. Divide X by a common factor, or use StandardScaler."
        )
    return float(1 / variance) if variance > rounding else 1.0


def _moments_of_rows(X):
    if issparse(X):
        return mean_variance_axis(X.astype(np.float64), axis=1)
    return X.mean(axis=1, dtype=np.float64), X.var(axis=1, dtype=np.float64)


def distinct_rows(summary, codes, weights, groups=None):
    """Distinct samples of positive weight, in an order that does not depend on theirs.

    Parameters
    ----------
    summary : RowSummary
        Of all samples.
    codes, weights : ndarray of shape (n_samples,)
        Class numbers and weights.
    groups : ndarray of shape (n_samples,) or None
        Groups of samples. None makes equal samples one group.

    Returns
    -------
    rows : ndarray of shape (n_distinct,)
        The number of the first sample of each set of copies of one class and group.
    weights, groups : ndarray of shape (n_distinct,)
        The sum of the weights of the copies, and the numbers of the groups.
    """
    _, copies = np.unique(summary.keys, return_inverse=True)
    if groups is None:
        groups = copies
    else:
        _, groups = np.unique(groups, return_inverse=True)
    keys = codes, summary.means, summary.variances, copies, groups
    used = np.flatnonzero(weights)
    order = used[np.lexsort([key[used] for key in keys[::-1]])]
    exact = np.stack([codes, copies, groups])[:, order]
    starts = np.flatnonzero(np.r_[True, (np.diff(exact) != 0).any(axis=0)])
    rows = order[starts]
    return rows, np.add.reduceat(weights[order], starts), groups[rows]


@dataclass
class TrainingData:
    """Distinct training samples, with classes, groups and weights."""

    X: object  # array, sparse matrix or BlockedRows; rows and columns if precomputed
    codes: np.ndarray
    groups: np.ndarray
    sample_weight: np.ndarray  # of all copies, relative to the largest given
    weights: np.ndarray  # in training, of sum one
    class_weights: np.ndarray  # their sums over the classes
    rows: np.ndarray = None  # indices of the samples in fit
    selection: np.ndarray = None  # samples of the selection of parameters
    n_held_out: int = 0  # number of samples of the calibration, which are last
    total_weight: float = 1.0  # the sum of the weights given

    def part(self, rows, precomputed=False):
        """Some of the samples, with the same weights of the classes."""
        X = block(self.X, rows, rows) if precomputed else take(self.X, rows)
        codes, weights = self.codes[rows], self.weights[rows]
        weights = weights * (self.class_weights / np.bincount(codes, weights))[codes]
        return replace(
            self,
            X=X,
            codes=codes,
            groups=np.unique(self.groups[rows], return_inverse=True)[1],
            sample_weight=self.sample_weight[rows],
            weights=weights,
        )


class BlockedRows:
    """The rows of a Dask array or frame, of which ``X[rows]`` are in memory.

    Parameters
    ----------
    X : Dask array or Dask data frame
        The samples.
    y, sample_weight : Dask array, Dask series, array-like
        One value a sample; ``sample_weight`` may be None.
    dtype : dtype
        The precision of the samples.

    Attributes
    ----------
    y, sample_weight : ndarray of shape (n_samples,)
        The labels and weights, in memory.
    summary : RowSummary
        Of all rows.
    """

    def __init__(self, X, y, sample_weight, dtype):
        import dask

        self.dtype, n_features = np.dtype(dtype), X.shape[1]
        blocks = row_blocks(X, y, sample_weight)
        parts = dask.compute(*map_row_blocks(_read, X, y, sample_weight, dtype))
        lengths = [len(part[0]) for part in parts]
        if not sum(lengths):
            raise ValueError("There are no samples: all blocks of X are empty.")
        self.shape = sum(lengths), n_features
        stops = np.cumsum(lengths).tolist()
        self._blocks = [
            (X, slice(stop - length, stop))
            for (X, *_), length, stop in zip(blocks, lengths, stops, strict=True)
            if length
        ]
        labels, weights, summaries = zip(
            *(part for part in parts if len(part[0])), strict=True
        )
        self.y, self.summary = np.concatenate(labels), RowSummary.merged(summaries)
        self.sample_weight = np.concatenate(weights)
        self._rows = np.arange(sum(lengths))
        self._cached = np.empty(0, dtype=int), np.empty((0, n_features), self.dtype)

    def select(self, rows):
        """Some of the rows, in a given order; nothing is read."""
        selected = copy(self)
        selected._rows, selected.shape = self._rows[rows], (len(rows), self.shape[1])
        return selected

    def cache(self, rows):
        """Read some rows into memory, in which ``X[rows]`` then finds them."""
        rows = np.unique(rows)
        self._cached = rows, self._read(rows)

    def __getitem__(self, rows):
        """Rows in memory, by their numbers."""
        cached, values = self._cached
        if np.isin(rows, cached).all():
            return values[np.searchsorted(cached, rows)]
        return self._read(rows)

    def _read(self, rows):
        import dask

        take, tasks, places = dask.delayed(_take), [], []
        rows = self._rows[rows]
        for X, span in self._blocks:
            inside = np.flatnonzero((rows >= span.start) & (rows < span.stop))
            if len(inside):
                tasks.append(take(X, rows[inside] - span.start, self.dtype))
                places.append(inside)
        values = np.empty((len(rows), self.shape[1]), self.dtype)
        for place, part in zip(places, dask.compute(*tasks), strict=True):
            values[place] = part
        return values

    def total(self, function, *columns):
        """The sums of the results of a function of blocks, one task a block.

        Parameters
        ----------
        function : callable
            ``function(X, *columns)`` of the rows of a block returns a tuple of arrays.
        *columns : ndarray of shape (n_samples,)
            Its other arguments; zero for rows that are not selected.

        Returns
        -------
        list of ndarray
        """
        import dask

        n_all = self._blocks[-1][1].stop
        columns = [_placed(column, self._rows, n_all) for column in columns]
        apply, function = dask.delayed(_apply), dask.delayed(function)
        parts = [
            apply(function, self.dtype, X, *(column[span] for column in columns))
            for X, span in self._blocks
        ]
        return merged(parts, _add).compute()


def _read(number, X, y, sample_weight, dtype):
    """Labels, weights and summary of a block; errors have its number."""
    if len(X) == len(y) == 0:
        return (np.empty(0),)
    with naming_block(number):
        X = check_array(X, input_name="X", dtype=dtype)
        y = checked_labels(y, X, whole=False)
        # scikit-learn raises an error if all weights are zero, as in a block they may.
        if sample_weight is not None and np.any(sample_weight):
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
    weights = np.ones(len(y)) if sample_weight is None else to_numpy(sample_weight)
    return y, weights, RowSummary.of(X, weights)


def _placed(column, rows, n_rows):
    placed = np.zeros(n_rows, column.dtype)
    placed[rows] = column
    return placed


def _take(X, rows, dtype):
    return np.asarray(X, dtype=dtype)[rows]


def _apply(function, dtype, X, *columns):
    return function(np.asarray(X, dtype=dtype), *columns)


def _add(parts):
    return [sum(terms) for terms in zip(*parts, strict=True)]
