"""Training samples in the blocks of a Dask array or frame, for landmarks.

The samples stay in their blocks. Labels and weights come to memory, and so do the rows
that are asked for by their numbers: those that landmarks are found from, and those that
are left out. Numbers of rows are those in memory, so that blocks give the same model.
"""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_X_y, gen_batches
from sklearn.utils.validation import _check_sample_weight

from skgeom.utils._dask import map_row_blocks, merged, naming_block, row_blocks
from skgeom.utils.array_api import in_double, namespace, to_numpy

# Rows of a block of another library than numpy.
_BLOCK = 4096


def row_moments(X):
    """Mean and variance of the entries of each row."""
    if issparse(X):
        return _sparse_row_moments(X)
    if namespace(X) is np:
        return X.mean(axis=1, dtype=np.float64), X.var(axis=1, dtype=np.float64)
    xp, parts = namespace(X), []
    for batch in gen_batches(X.shape[0], _BLOCK):  # which is copied
        rows = in_double(X[batch, ...])
        parts.append(xp.stack([xp.mean(rows, axis=1), xp.var(rows, axis=1)]))
    return tuple(to_numpy(xp.concat(parts, axis=1)))


def _sparse_row_moments(X):
    n_samples, n_features = X.shape
    counts = np.diff(X.indptr)
    rows = np.repeat(np.arange(n_samples), counts)
    means = np.bincount(rows, X.data, minlength=n_samples) / n_features
    squares = np.bincount(rows, (X.data - means[rows]) ** 2, minlength=n_samples)
    return means, (squares + (n_features - counts) * means**2) / n_features


class BlockedRows:
    """The rows of X, of which ``X[rows]`` are in memory.

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
        The labels and weights, in memory; None if there are no weights.
    row_moments : tuple of ndarrays of shape (n_samples,)
        Mean and variance of the entries of each row.
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
        parts = [part for part in parts if len(part[0])]
        self.y, *moments = (
            np.concatenate(column) for column in list(zip(*parts, strict=True))[:3]
        )
        self.row_moments = tuple(moments)
        self.sample_weight = None
        if sample_weight is not None:
            self.sample_weight = np.concatenate([part[3] for part in parts])
        self._kept = np.empty(0, dtype=int), np.empty((0, n_features), self.dtype)

    def __len__(self):
        return self.shape[0]

    def keep(self, rows):
        """Read some rows, to have them when they are asked for."""
        rows = np.unique(rows)
        self._kept = rows, self._read(rows)

    def __getitem__(self, rows):
        """Rows in memory, by their numbers."""
        kept, values = self._kept
        if np.isin(rows, kept).all():
            return values[np.searchsorted(kept, rows)]
        return self._read(rows)

    def _read(self, rows):
        import dask

        take, tasks, places = dask.delayed(_take), [], []
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
        """The sums of what a function gives for blocks, one task a block.

        Parameters
        ----------
        function : callable
            ``function(X, *columns)`` of the rows of a block gives a tuple of arrays.
        *columns : ndarray of shape (n_samples,)
            Its other arguments.

        Returns
        -------
        list of ndarray
        """
        import dask

        apply, function = dask.delayed(_apply), dask.delayed(function)
        parts = [
            apply(function, self.dtype, X, *(column[span] for column in columns))
            for X, span in self._blocks
        ]
        return merged(parts, _add).compute()


def _read(number, X, y, sample_weight, dtype):
    """Labels, row moments and weights of a block; errors have its number."""
    if len(X) == len(y) == 0:
        return (np.empty(0),)
    with naming_block(number):
        X, y = check_X_y(X, y, dtype=dtype)
        # scikit-learn refuses weights that are all zero, as those of a block may be.
        if sample_weight is not None and np.any(sample_weight):
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
    return y, *row_moments(X), sample_weight


def _take(X, rows, dtype):
    return np.asarray(X, dtype=dtype)[rows]


def _apply(function, dtype, X, *columns):
    return function(np.asarray(X, dtype=dtype), *columns)


def _add(parts):
    return [sum(terms) for terms in zip(*parts, strict=True)]
