"""Dask arrays and data frames in blocks of rows. Dask is imported in functions."""

import copy
from contextlib import nullcontext
from functools import partial, wraps

import numpy as np
from sklearn.utils.validation import column_or_1d

from skgeom.utils._sklearn import output_config
from skgeom.utils.errors import naming


def is_dask(data):
    """Whether data are a Dask array, data frame or series."""
    # Before version 2025.1, the data frames of Dask were in a separate package.
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr")


def in_memory(values):
    """Dask data computed; other values unchanged."""
    return values.compute() if is_dask(values) else values


def computed(*values):
    """Several values, which may be Dask scalars and are then computed together."""
    if not any(map(is_dask, values)):
        return values
    import dask

    return dask.compute(*values)


def check_not_dask(estimator, X, remedy, name=None):
    """Raise TypeError for Dask data, instead of reading all data into memory."""
    if is_dask(X):
        name = name or type(estimator).__name__
        raise TypeError(
            f"{name} needs all of X in memory, but X is a Dask {type(X).__name__}. "
            f"{remedy}, or pass X.compute() if it fits."
        )


def empty_block(X):
    """An array or data frame in memory like X, with zero rows, for validation."""
    if _is_array(X):
        return np.empty((0, *X.shape[1:]), X.dtype)
    from dask.dataframe.utils import make_meta

    return make_meta(X)


def row_blocks(X, y, sample_weight=None):
    """Align samples, labels and weights, and split them into blocks of rows.

    Parameters
    ----------
    X : Dask array or Dask data frame
        The samples.
    y, sample_weight : Dask array, Dask series, or array-like
        One value per sample. ``sample_weight`` may be None.

    Returns
    -------
    list of tuple
        Delayed (X, y, sample_weight) for each block. Nothing is computed.

    Raises
    ------
    ValueError
        If the blocks of ``y`` or ``sample_weight`` do not match the blocks of X.
    """
    import dask

    columns = _aligned_columns(X, y, sample_weight)
    if any(map(_is_array, columns)):
        n_blocks = len(row_chunks(columns[0]))
        # Arrays are optimized together, so that they share the tasks that create their
        # blocks. Data frames are optimized separately: together with an array, Dask
        # would lose the selection of a column.
        arrays = iter(dask.optimize(*filter(_is_array, columns)))
        blocks = []
        for column in columns:
            if column is None:
                blocks.append([None] * n_blocks)
            elif _is_array(column):
                blocks.append(_delayed(next(arrays), optimize=False))
            else:
                blocks.append(_delayed(column))
        return list(zip(*blocks, strict=True))
    # Dask may merge the blocks of each column of a file differently, unless it computes
    # all columns together.
    options = {"align_dataframes": False, "enforce_metadata": False}
    frames = columns[0].map_partitions(
        _of_frames, *columns[1:], **options, meta=empty_block(columns[0])
    )
    return [
        tuple(None if c is None else block[k] for k, c in enumerate(columns))
        for block in _delayed(frames)
    ]


def map_row_blocks(function, X, y, sample_weight=None, *shared):
    """Delayed ``function(number, X, y, sample_weight, *shared)`` of blocks of rows.

    Errors are those of :func:`row_blocks`.

    Parameters
    ----------
    function : callable
        Called with the index of a block and its samples, labels and weights.
    X, y, sample_weight
        The data, as for :func:`row_blocks`.
    *shared : object
        Further arguments, which are the same for all blocks. Each is one node of the
        task graph.

    Returns
    -------
    list of Delayed
    """
    import dask

    shared = [dask.delayed(value, traverse=False) for value in shared]
    blocks = enumerate(row_blocks(X, y, sample_weight))
    of_block = dask.delayed(function)
    return [of_block(number, *block, *shared) for number, block in blocks]


def _of_frames(*columns):
    """A block of each column; ValueError if their lengths differ."""
    lengths = [len(column) for column in columns if column is not None]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"A block has {lengths[0]} samples in X, but {lengths[1:]} in y and "
            "weights. Use columns of one data frame, or call persist() on each, "
            "because Dask may merge blocks of separate files differently."
        )
    return columns


def _aligned_columns(X, y, sample_weight):
    """Samples, labels and weights in the same blocks of complete rows."""
    X = _whole_rows(X)
    if any(map(_is_array, (X, y, sample_weight))):
        # Dask may merge the blocks of each column of a file differently.
        X, y, sample_weight = map(_with_final_blocks, (X, y, sample_weight))
    named = ("y", y), ("sample_weight", sample_weight)
    return [X] + [v if v is None else _aligned(v, name, X) for name, v in named]


def _with_final_blocks(data):
    """A Dask data frame in its final blocks; other data unchanged."""
    return data.optimize() if is_dask(data) and hasattr(data, "optimize") else data


def _is_array(data):
    """Whether data are a Dask array, not a data frame, None or in memory."""
    return hasattr(data, "chunks")


def _whole_rows(X):
    """X with complete rows in each chunk."""
    if not _is_array(X) or all(n == 1 for n in X.numblocks[1:]):
        return X
    return X.rechunk(dict.fromkeys(range(1, X.ndim), -1))


def _delayed(data, optimize=True):
    """List of the delayed blocks of Dask data."""
    blocks = data.to_delayed(optimize_graph=optimize)
    return blocks.ravel().tolist() if isinstance(blocks, np.ndarray) else blocks


def row_chunks(data):
    """Numbers of rows of the blocks; NaN for unknown numbers."""
    if _is_array(data):
        return data.chunks[0]
    return (np.nan,) * data.npartitions


def _aligned(values, name, X):
    """``values`` in the blocks of X."""
    shape = np.shape(values)
    if len(shape) != 1 and (is_dask(values) or shape[1:] != (1,)):
        is_number = not (shape or is_dask(values))
        given = f"is {values!r}" if is_number else f"has the shape {shape}"
        raise ValueError(
            f"{name} must have one value per sample, but {given}. Use an array of "
            "shape (n_samples,)."
        )
    chunks = row_chunks(X)
    known = not np.isnan(chunks).any()
    if not is_dask(values):
        if not known:
            raise ValueError(
                f"{name} is in memory, but the lengths of the blocks of X are not "
                f"known. Pass {name} as a Dask array or series with the blocks of X, "
                "or convert X to an array and call X.compute_chunk_sizes() first."
            )
        from dask.array import from_array

        values = column_or_1d(values)
        _check_length(len(values), name, chunks)
        return from_array(values, chunks=(chunks,))
    own = row_chunks(values)
    if known and not np.isnan(own).any():
        _check_length(sum(own), name, chunks)
        return values.rechunk((chunks,))
    if len(own) != len(chunks):
        raise ValueError(
            f"X has {len(chunks)} blocks, but {name} has {len(own)}, and the lengths "
            "are not known. Call compute_chunk_sizes() on both arrays, or "
            "repartition the data frame that contains both."
        )
    return values


def _check_length(n_values, name, chunks):
    if n_values != sum(chunks):
        raise ValueError(
            f"X has {sum(chunks)} samples, but {name} has {n_values} values."
        )


def naming_block(number):
    """Context that adds the index of a block to errors, unless it is None."""
    return nullcontext() if number is None else naming(f"Block {number}")


def score_by_blocks(score):
    """Decorate ``score``: compute the accuracy of Dask data block by block."""

    @wraps(score)
    def wrapper(self, X, y, sample_weight=None, **params):
        if not is_dask(X):
            return score(self, X, y, sample_weight, **params)
        import dask

        parts = dask.compute(*map_row_blocks(_score, X, y, sample_weight, self))
        total = sum(weight for weight, _ in parts)
        if total == 0:
            raise ValueError("There are no samples: all blocks of X are empty.")
        return float(sum(right for _, right in parts) / total)

    return wrapper


def _score(number, X, y, sample_weight, model):
    """The weight of the samples of a block, and of the correctly classified ones."""
    weight = len(y) if sample_weight is None else np.sum(sample_weight)
    if len(y) == 0 or weight == 0:
        return 0.0, 0.0
    with naming_block(number):
        return weight, weight * model.score(X, y, sample_weight)


def by_blocks(method, estimator, X):
    """The lazy result of a method of samples X, Dask data, block by block.

    The result is a Dask array of known dtype and shape. ``transform`` of a Dask data
    frame returns a Dask data frame with the names of ``get_feature_names_out``. Later
    changes of the estimator do not affect the result.
    """
    container = "default"
    if method.__name__ == "transform":
        container = output_config("transform", estimator)["dense"]
    if container != "default":
        raise TypeError(
            f"set_output(transform={container!r}) would gather all of X in memory, "
            f"but X is a Dask {type(X).__name__}. Use set_output(transform="
            "'default'), which returns a Dask data frame for a Dask data frame."
        )
    of_block = partial(_map_block, method, copy.copy(estimator))
    X = _whole_rows(X)
    result = of_block(empty_block(X))
    if not _is_array(X):
        return X.map_partitions(of_block, meta=result)
    new_axes = tuple((n,) for n in result.shape[1:])
    return X.map_blocks(
        of_block,
        dtype=result.dtype,
        chunks=(X.chunks[0], *new_axes),
        drop_axis=tuple(range(result.ndim, X.ndim)) or None,
        meta=result,
    )


def merged(parts, merge):
    """Merge delayed parts in pairs. ``merge`` accepts a list of parts."""
    import dask

    merge = dask.delayed(merge)
    while len(parts) > 1:
        starts = range(0, len(parts), 2)
        parts = [merge(parts[start : start + 2]) for start in starts]
    return parts[0]


def _map_block(method, estimator, block):
    """The result of a method for a block in memory, which may have no samples."""
    if len(block):
        result = method(estimator, block)
    else:
        result = method(estimator, _one_sample(block))[:0]
    if method.__name__ == "transform" and hasattr(block, "columns"):
        names = estimator.get_feature_names_out()
        return type(block)(result, index=block.index, columns=names)
    return result


def _one_sample(block):
    """One valid sample, a vector or an SPD matrix, with the type of the block."""
    if hasattr(block, "columns"):
        single = (block.dtypes == np.float32).all()
        one = np.ones((1, block.shape[1]), np.float32 if single else np.float64)
        return type(block)(one, columns=block.columns)
    one = np.eye(block.shape[1])[None] if block.ndim == 3 else np.ones(block.shape[1:])
    return np.broadcast_to(one, (1, *block.shape[1:])).astype(block.dtype)
