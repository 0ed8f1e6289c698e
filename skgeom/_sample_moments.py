"""Moments of the classes of samples in memory."""

from functools import partial, reduce
from operator import add

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import gen_batches

from skgeom._moments import Moments, exact_sum
from skgeom.objectives._covariances import SampleCovariances, check_memory
from skgeom.utils.array_api import (
    has_float64,
    in_double,
    is_by_numpy,
    largest_size,
    like,
    namespace,
    take,
    to_numpy,
)
from skgeom.utils.memory import ROWS_PER_BLOCK
from skgeom.utils.validation import (
    check_array,
    check_semidefinite,
    check_symmetric,
    raise_too_large,
)

# Supported estimators of pyriemann.geometry.covariance. The M-estimators "hub", "stu"
# and "tyl" are excluded: they estimate a covariance up to a factor, but distances
# between Gaussians depend on the scale of the covariances.
_ESTIMATOR_NAMES = ("cov", "lwf", "mcd", "oas", "sch", "scm")

# Sums of squares in this range are computed without loss of precision, and sums over
# classes do not overflow.
_RANGE = np.finfo(np.float64)
_SMALLEST, _LARGEST = _RANGE.tiny, _RANGE.eps * _RANGE.max


def moments_of_samples(X, y, sample_weight=None, covariance_estimator=None):
    """The sorted labels, and the moments of their samples, which are validated."""
    if namespace(X) is not np and (is_by_numpy(X) or not has_float64(X)):
        classes, moments = moments_of_samples(
            to_numpy(X), y, sample_weight, covariance_estimator
        )
        return classes, moments.to(partial(like, model=X))
    if sample_weight is not None and covariance_estimator is not None:
        raise ValueError(
            f"sample_weight needs sample covariances, but {covariance_estimator=!r}. "
            "Use covariance_estimator=None."
        )
    classes, rows = _rows_of_classes(y)
    if covariance_estimator is not None:
        return classes, _estimated_moments(X, classes, rows, covariance_estimator)
    few = namespace(X) is np and len(y) <= min(X.shape[1], ROWS_PER_BLOCK)
    if not few:
        check_memory(len(classes), X.shape[1])
    read = _row_reader(X)
    parts = (
        _moments_of_class(X, read, own, label, sample_weight, few)
        for own, label in zip(rows, classes, strict=True)
    )
    moments = Moments.joined(parts, len(classes))
    check_underflow(_sum_of_squares(moments), X)
    return classes, moments


def _rows_of_classes(y):
    """The sorted labels, and the rows of each label."""
    order = np.argsort(y, kind="stable")
    labels = y[order]
    starts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    return labels[np.append(0, starts)], np.split(order, starts)


def _moments_of_class(X, read, rows, label, sample_weight, few):
    """The moments of the rows of X of a class, which ``read`` returns block by block.

    Each block is centered with its own mean, so that a large offset of the data does
    not reduce the precision.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = (rows[batch] for batch in gen_batches(len(rows), ROWS_PER_BLOCK))
        parts = (_moments_of_block(read, block, sample_weight, few) for block in blocks)
        moments = reduce(add, parts)
        # This bound ensures that neither the sums of squares nor their later sums over
        # classes overflow.
        if not _sum_of_squares(moments) < _LARGEST:
            raise_too_large(largest_size(take(X, rows)), f"class {label}")
    return moments


def _moments_of_block(read, rows, sample_weight, few):
    """The moments of one class; the samples themselves are stored if they are few."""
    block = read(rows)
    if sample_weight is None:
        counts, weights = np.array([len(rows)]), None
    else:
        weights = sample_weight[rows]
        counts = weights.sum(keepdims=True)
    mean = _mean(block, weights)
    block -= mean
    # The computed mean of many equal numbers differs by rounding: center once more.
    error = _mean(block, weights)
    block -= error
    mean, remainder = exact_sum(mean, error)
    if weights is not None:
        block *= like(np.sqrt(weights), block)[:, None]
    if few:
        size = np.array([len(rows)])
        scatters = SampleCovariances(block.copy(), size, np.ones(1))
    else:
        scatters = (block.T @ block)[None, ...]
    return Moments.of_scatters(counts, mean[None, :], remainder[None, :], scatters)


def _mean(block, weights):
    xp = namespace(block)
    if weights is None:
        return xp.mean(block, axis=0)
    weights = weights / weights.sum()
    if xp is np:
        # With BLAS, the result would depend on the number of threads.
        return np.einsum("i,ij", weights, block)
    return like(weights, block) @ block


def _row_reader(X):
    """A function that returns some rows, dense and in double precision.

    The next call overwrites the rows: on Dask workers, which return memory that is not
    used to the system at once, new arrays take longer than all computations.
    """
    if namespace(X) is not np or issparse(X) or not X.flags.forc:
        return partial(_dense_rows, X)
    by_columns = not X.flags.c_contiguous
    source = X.T if by_columns else X
    size = min(len(X), ROWS_PER_BLOCK) * X.shape[1]
    taken = np.empty(size, X.dtype)
    block = taken if X.dtype == np.float64 else np.empty(size)

    def read(rows):
        shape = (X.shape[1], len(rows)) if by_columns else (len(rows), X.shape[1])
        of_type, in_float64 = (
            a[: np.prod(shape)].reshape(shape) for a in (taken, block)
        )
        # The default mode, "raise", computes in a further array.
        np.take(source, rows, axis=int(by_columns), out=of_type, mode="clip")
        if block is not taken:
            in_float64[...] = of_type
        return in_float64.T if by_columns else in_float64

    return read


def _dense_rows(X, rows):
    part = take(X, rows)
    return in_double(part.toarray() if issparse(part) else part)


def _sum_of_squares(moments):
    """The sum of squares of the samples about their means, plus squared means."""
    xp = namespace(moments.means)
    squares = float(xp.sum(xp.square(moments.means)))
    return float(moments.degrees @ to_numpy(moments.covariances.traces())) + squares


def check_underflow(squares, X):
    """Raise ValueError if the squares of all values of X underflow."""
    if squares < _SMALLEST and largest_size(X) > 0:
        raise ValueError(
            f"The values of X are too small (largest {largest_size(X):.3g}): their "
            "squares underflow. Multiply X by a common factor, or use StandardScaler."
        )


def _estimated_moments(X, classes, rows, estimator):
    """The moments of the classes with estimated covariances."""
    check_memory(len(classes), X.shape[1])
    parts = [in_double(to_numpy(take(X, own))) for own in rows]
    means = np.stack([part.mean(axis=0) for part in parts])
    covariances = np.stack(
        [
            _estimated_covariance(estimator, part, label)
            for part, label in zip(parts, classes, strict=True)
        ]
    )
    check_underflow(np.einsum("cii->", covariances) + np.square(means).sum(), X)
    counts = np.array([len(own) for own in rows])
    return Moments.of(counts, means, covariances).to(partial(like, model=X))


def _estimated_covariance(estimator, samples, label):
    """Covariance of the samples of one class by a named estimator or an object."""
    if isinstance(estimator, str) and estimator not in _ESTIMATOR_NAMES:
        raise ValueError(
            f"covariance_estimator must be None, one of {_ESTIMATOR_NAMES}, or an "
            f"object with fit and covariance_, got {estimator!r}."
        )
    fit = _fit_by_name if isinstance(estimator, str) else _fit_object
    failure = (
        f"covariance_estimator={estimator!r} fails for class {label} with "
        f"{len(samples)} sample{'s' * (len(samples) != 1)}"
    )
    try:
        covariance = check_array(
            fit(estimator, samples), dtype=np.float64, input_name="covariance_estimator"
        )
        if covariance.shape != 2 * samples.shape[1:]:
            raise ValueError(f"the covariance has shape {covariance.shape}.")
        check_symmetric(covariance, "the covariance")
        check_semidefinite(covariance[None], "the covariance")
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"{failure}: {error}") from error
    return (covariance + covariance.T) / 2


def _fit_by_name(name, samples):
    # Imported here, because pyriemann imports matplotlib, which is slow.
    from pyriemann.geometry.covariance import covariances

    # Without a seed, "mcd" draws its starts from the global random state.
    options = {"random_state": 0} if name == "mcd" else {}
    return covariances(samples.T, estimator=name, **options)


def _fit_object(estimator, samples):
    fitted = clone(estimator, safe=False)  # deep copy of objects without get_params
    fitted.fit(samples)
    if not hasattr(fitted, "covariance_"):
        raise ValueError("it has no attribute covariance_ after fit.")
    return fitted.covariance_
