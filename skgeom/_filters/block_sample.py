"""Statistics, and some of the samples, of Dask arrays and frames."""

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from skgeom._filters import noise
from skgeom._moments import checked_samples, merge_sums, some_sums, sums_of_block
from skgeom._statistics import ClassStatistics
from skgeom.utils._dask import map_row_blocks, merged, row_chunks


def statistics_and_sample(X, y, sample_weight):
    """The statistics of all samples, and those samples that noise is scored on.

    These are the same as of samples in memory. Where the lengths of blocks are not
    known, or samples have weights, they are others, at random. Blocks are read once for
    both.

    Returns
    -------
    statistics : ClassStatistics
    sample : tuple of ndarray of shape (N, n), (N,), (N,)
        Some samples of positive weight, their labels, and their weights or None.
    """
    parts = map_row_blocks(
        _sums_and_some, X, y, sample_weight, _rows_of_blocks(X, sample_weight)
    )
    total, some = merged(parts, _merge).compute()
    statistics = ClassStatistics._make(*some_sums(total).arrays())
    _, *sample = some
    return statistics, tuple(sample)


def _rows_of_blocks(X, sample_weight):
    """Numbers of rows to take from each block; None if they are left to the blocks."""
    chunks = row_chunks(X)
    ends = np.cumsum(chunks)
    if sample_weight is not None or np.isnan(ends[-1]):
        return [None] * len(chunks)
    rows = np.sort(noise.rows_to_score(int(ends[-1])))
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    return [part - start for part, start in zip(parts, ends - chunks, strict=True)]


def _sums_and_some(number, X, y, sample_weight, rows):
    """The sums of a block, and some of its samples."""
    sums = sums_of_block(number, X, y, sample_weight)  # which checks all of it
    return sums, _some_of_block(number, X, y, sample_weight, rows[number])


def _merge(parts):
    sums, samples = zip(*parts, strict=True)
    return merge_sums(sums), _first(samples)


def _some_of_block(number, X, y, sample_weight, rows):
    """Random keys, samples, labels and weights of some rows of a block.

    ``rows`` of None are all that have a weight, and of these the first by their keys.
    """
    if rows is None:
        rows = np.arange(_num_samples(X))
        if sample_weight is not None:
            rows = rows[np.asarray(sample_weight) > 0]
    keys = np.random.default_rng(number).random(len(rows))
    order = np.argsort(keys)[: noise.MOST_SAMPLES]
    if len(order) == 0:
        return None
    columns = [
        None if column is None else _safe_indexing(column, rows[order])
        for column in (X, y, sample_weight)
    ]
    return keys[order], *checked_samples(*columns, some=False)


def _first(parts):
    """As many samples of parts as are scored, those of the smallest keys."""
    parts = [part for part in parts if part is not None]
    if not parts:
        return None
    keys, *columns = zip(*parts, strict=True)
    keys = np.concatenate(keys)
    order = np.argsort(keys)[: noise.MOST_SAMPLES]
    columns = [None if c[0] is None else np.concatenate(c)[order] for c in columns]
    return keys[order], *columns
