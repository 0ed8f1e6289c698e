"""Statistics, and some of the samples, of Dask arrays and frames."""

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from skgeom._filters.noise import MOST_SAMPLES, rows_to_score
from skgeom._moments import checked_samples, naming_block, sums_and_more
from skgeom._statistics import ClassStatistics
from skgeom.utils._dask import row_blocks, row_chunks


def statistics_and_sample(X, y, sample_weight):
    """The statistics of all samples, and those samples that noise is scored on.

    These are the same as of samples in memory. Where the lengths of blocks are not
    known, each block gives equally many, with weights that make up for it. All is read
    in one pass.

    Returns
    -------
    statistics : ClassStatistics
    sample : tuple of ndarray of shape (N, n), (N,), (N,)
        Some samples, their labels, and their weights or None; all None if no sample
        that was chosen has a weight.
    """
    import dask

    blocks, some = row_blocks(X, y, sample_weight), dask.delayed(_some_of_block)
    chosen = _rows_of_blocks(row_chunks(X))
    numbered = enumerate(zip(blocks, chosen, strict=True))
    tasks = [some(number, *block, rows) for number, (block, rows) in numbered]
    total, *parts = sums_and_more(blocks, tasks)
    statistics, parts = (
        ClassStatistics._make(*total.arrays()),
        list(filter(None, parts)),
    )
    if not parts:  # all that were chosen have no weight
        return statistics, (None, None, None)
    X, y, weights = zip(*parts, strict=True)
    weights = None if weights[0] is None else np.concatenate(weights)
    return statistics, (np.concatenate(X), np.concatenate(y), weights)


def _rows_of_blocks(chunks):
    """Numbers of rows to take from each block; a count where lengths are not known."""
    ends = np.cumsum(chunks)
    if np.isnan(ends[-1]):
        return [-(-MOST_SAMPLES // len(chunks))] * len(chunks)
    rows = np.sort(rows_to_score(int(ends[-1])))
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    return [part - start for part, start in zip(parts, ends - chunks, strict=True)]


def _some_of_block(number, X, y, sample_weight, rows):
    """Some samples of a block, labels and weights; None if there are none."""
    factor = 1.0
    if isinstance(rows, int):
        n_samples = _num_samples(X)
        n_rows = min(rows, n_samples)
        rows = np.random.default_rng(number).choice(n_samples, n_rows, replace=False)
        factor = n_samples / max(n_rows, 1)
        if sample_weight is None:
            sample_weight = np.ones(n_samples)
    if len(rows) == 0:
        return None
    columns = [X, y] if sample_weight is None else [X, y, sample_weight]
    some = [_safe_indexing(column, rows) for column in columns]
    with naming_block(number):
        X, y, sample_weight = checked_samples(*some, *[None] * (3 - len(some)), False)
    weights = None if sample_weight is None else factor * sample_weight
    return (X, y, weights) if len(y) else None
