"""Training samples as distinct sorted rows, in memory or in Dask blocks.

The results must not depend on the order of the rows of X, and must be equal for
repeated samples and for samples with weights. Equal samples of a class therefore become
one sample with the sum of their weights. All samples are sorted by class, and then by
the sum of the cubes of their features. The sum depends neither on the other samples nor
on the order of the features, and varies even if all rows have the same mean and
variance.
"""

from copy import copy
from dataclasses import dataclass, replace
from operator import getitem

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import safe_sparse_dot

from skgeom._held_out import row_keys
from skgeom.utils._dask import map_row_blocks, merged, naming_block, row_blocks
from skgeom.utils.array_api import block, on_cpu, take, to_numpy
from skgeom.utils.memory import ROWS_PER_BLOCK
from skgeom.utils.validation import check_array, check_sample_weight, checked_labels

_EPS = np.finfo(np.float64).eps


@dataclass
class RowSummary:
    """Summaries of each row, and of all rows."""

    keys: np.ndarray  # equal for equal rows
    positions: np.ndarray  # determine the order of the rows
    center: np.ndarray  # the weighted mean of the rows
    scatter: float  # the weighted sum of squared distances of the rows from center
    weight: float  # the sum of the weights of the rows

    @classmethod
    def of(cls, X, weights):
        """Summary of dense or sparse samples in memory, with weights."""
        X = on_cpu(X)
        weight, n_samples = weights.sum(), X.shape[0]
        positions, squares = np.empty((2, n_samples))
        with np.errstate(over="ignore", invalid="ignore"):
            batches = list(gen_batches(n_samples, ROWS_PER_BLOCK))
            center = np.zeros(X.shape[1])
            for batch in batches:
                center += X[batch].T @ weights[batch]
            center /= weight or 1
            for batch in batches:
                rows = X[batch].astype(np.float64)
                if issparse(rows):
                    positions[batch] = rows.power(3).sum(axis=1).ravel()
                    squares[batch] = rows.multiply(rows).sum(axis=1).ravel()
                    squares[batch] += center @ center - 2 * (rows @ center)
                else:
                    positions[batch] = (rows * rows * rows).sum(axis=1)
                    squares[batch] = np.square(rows - center).sum(axis=1)
            scatter = float(weights @ squares)
        return cls(row_keys(X), positions, center, scatter, float(weight))

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
            for name in ("keys", "positions")
        )
        return cls(*columns, center, float(scatter), weight)

    @property
    def equal(self):
        """The group of equal rows of each row, as an index; sorted by position."""
        _, first, equal = np.unique(self.keys, return_index=True, return_inverse=True)
        order = np.argsort(self.positions[first], kind="stable")
        return np.argsort(order)[equal]


def gamma_scale(summary):
    """One over the sum of the variances of the features."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = summary.scatter / summary.weight
        # The computed variance of equal rows is a rounding error.
        rounding = np.square(10 * _EPS) * (summary.center @ summary.center)
    if not np.isfinite(variance):
        raise ValueError(
            "The values of X are too large: their squares overflow. Divide X by a "
            "common factor, or use StandardScaler."
        )
    return float(1 / variance) if variance > rounding else 1.0


def some_rows(X, rows, precomputed):
    """The samples in some rows of X; of a kernel matrix, also these columns."""
    return block(X, rows, rows) if precomputed else take(X, rows)


@dataclass
class TrainingData:
    """Distinct training samples, with classes, groups and weights."""

    X: object  # array, sparse matrix or BlockedRows; kernel matrix if precomputed
    codes: np.ndarray  # encoded labels
    groups: np.ndarray
    sample_weight: np.ndarray  # sum over equal samples, relative to the largest weight
    weights: np.ndarray  # training weights, which sum to one
    class_weights: np.ndarray  # sums of the training weights: the priors of the classes
    rows: np.ndarray = None  # indices of the samples in the X of fit
    selection: np.ndarray = None  # indices of the samples for parameter selection
    n_held_out: int = 0  # number of samples for the calibration, which are last
    total_weight: float = 1.0  # the sum of the sample weights that were passed

    def part(self, rows, precomputed=False):
        """A subset of the samples, with the same class weights."""
        X = some_rows(self.X, rows, precomputed)
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

    def variances_within(self):
        """Variances of the features within the classes."""
        X = self.X if issparse(self.X) else to_numpy(self.X)
        if not issparse(X):
            X = X - self.weights @ X
        averages = np.zeros((len(self.class_weights), len(self.codes)))
        averages[self.codes, np.arange(len(self.codes))] = self.weights
        averages /= self.class_weights[:, None]
        means = safe_sparse_dot(averages, X, dense_output=True)
        squares = X.multiply(X) if issparse(X) else X * X
        variances = self.weights @ squares - self.class_weights @ np.square(means)
        return np.maximum(variances, 0)


class BlockedRows:
    """The rows of a Dask array or data frame; ``X[rows]`` reads rows into memory.

    Parameters
    ----------
    X : Dask array or Dask data frame
        The samples.
    y, sample_weight : Dask array, Dask series, array-like
        One value per sample; ``sample_weight`` may be None.
    dtype : dtype
        The precision of the samples.

    Attributes
    ----------
    y, sample_weight : ndarray of shape (n_samples,)
        The labels and weights, in memory.
    summary : RowSummary
        Summary of all rows.
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
        """Select rows in a given order, without reading them."""
        selected = copy(self)
        selected._rows, selected.shape = self._rows[rows], (len(rows), self.shape[1])
        return selected

    def cache(self, rows):
        """Read some rows into a cache in memory, which ``X[rows]`` then uses."""
        rows = np.unique(rows)
        self._cached = rows, self._read(rows)

    def __getitem__(self, rows):
        """Rows with the given indices, in memory."""
        cached, values = self._cached
        if np.isin(rows, cached).all():
            return values[np.searchsorted(cached, rows)]
        return self._read(rows)

    def _read(self, rows):
        import dask

        apply, tasks, places = dask.delayed(_apply), [], []
        rows = self._rows[rows]
        for X, span in self._blocks:
            inside = np.flatnonzero((rows >= span.start) & (rows < span.stop))
            if len(inside):
                tasks.append(apply(getitem, self.dtype, X, rows[inside] - span.start))
                places.append(inside)
        values = np.empty((len(rows), self.shape[1]), self.dtype)
        for place, part in zip(places, dask.compute(*tasks), strict=True):
            values[place] = part
        return values

    def total(self, function, *columns):
        """Sum the results of a function over the blocks, with one task per block.

        Parameters
        ----------
        function : callable
            ``function(X, *columns)`` returns a tuple of arrays for the rows of a block.
        *columns : ndarray of shape (n_samples,)
            The other arguments. For rows that are not selected, zeros are passed.

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
    """Labels, weights and summary of a block; errors contain the block number."""
    if len(X) == len(y) == 0:
        return (np.empty(0),)
    with naming_block(number):
        X = check_array(X, input_name="X", dtype=dtype)
        y = checked_labels(y, X, whole=False)
        # scikit-learn raises an error if all weights are zero, which a block may have.
        if sample_weight is not None and np.any(sample_weight):
            sample_weight = check_sample_weight(sample_weight, X)
    weights = np.ones(len(y)) if sample_weight is None else to_numpy(sample_weight)
    return y, weights, RowSummary.of(X, weights)


def _placed(column, rows, n_rows):
    placed = np.zeros(n_rows, column.dtype)
    placed[rows] = column
    return placed


def _apply(function, dtype, X, *columns):
    return function(np.asarray(X, dtype=dtype), *columns)


def _add(parts):
    return [sum(terms) for terms in zip(*parts, strict=True)]
