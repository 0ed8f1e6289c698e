"""Labelled samples: validation, and counts, means and scatters of the classes."""

from functools import reduce

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from skgeom.utils.array_api import (
    float_dtypes,
    in_double,
    like,
    namespace,
    on_host,
    take,
)
from skgeom.utils.validation import check_sample_weight, memory, require_memory

# Rows copied to float64 at a time: large enough for BLAS, small compared with X.
ROWS_PER_BLOCK = 2048

# Sums of squares in this range have all digits, and can be added over classes.
_RANGE = np.finfo(np.float64)
_SMALLEST, _LARGEST = _RANGE.tiny, _RANGE.eps * _RANGE.max


def combined(first, second):
    """The moments of two sets of samples together.

    Sets of n_a and n_b samples have the joint scatter

        S = S_a + S_b + n_a n_b / (n_a + n_b) d d',    d = mean_b - mean_a,

    (Chan, Golub and LeVeque, 1983). A negative n_b with a negative S_b removes samples.

    Parameters
    ----------
    first, second : tuple
        Count; mean, and its remainder, which is smaller than the rounding of the mean;
        and scatter about the mean. The scatter of ``first`` may be changed.
    """
    n_a, mean_a, remainder_a, scatter = first
    n_b, mean_b, remainder_b, more = second
    count = n_a + n_b
    share = float(n_b / count)  # not of NumPy, for arrays of other libraries
    offset = (mean_b - mean_a) + (remainder_b - remainder_a)
    scatter += more
    scatter += (offset * (float(n_a) * share))[:, None] * offset[None, :]
    # The sum of two numbers, and its rounding error (Knuth).
    change = remainder_a + offset * share
    mean = mean_a + change
    added = mean - mean_a
    remainder = (mean_a - (mean - added)) + (change - added)
    return count, mean, remainder, scatter


def moments_of_class(X, rows, label, sample_weight=None):
    """The moments of the rows of X of a class, as for ``combined``, block by block.

    Each block is centered by its own mean, so that a large offset costs no digits.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = (rows[batch] for batch in gen_batches(len(rows), ROWS_PER_BLOCK))
        parts = (_moments_of_block(X, block, sample_weight) for block in blocks)
        moments = reduce(combined, parts)
        # One number bounds all entries: these sums of squares must not overflow, nor
        # those over classes that are made of them later.
        if not sum_of_squares(*moments[1::2]) < _LARGEST:
            raise ValueError(
                f"The squares of the numbers of class {label}, which are up to "
                f"{_largest(take(X, rows)):.3g}, are too large for floating-point "
                "numbers. Divide X by a common factor, or use StandardScaler."
            )
    return moments


def _moments_of_block(X, rows, sample_weight):
    block = _dense_rows(X, rows)
    if sample_weight is None:
        count, weights = len(rows), None
    else:
        weights = sample_weight[rows]
        count = float(weights.sum())
    mean = _mean(block, weights)
    block -= mean
    remainder = _mean(block, weights)
    if weights is not None:
        block *= like(np.sqrt(weights), block)[:, None]
    return count, mean, remainder, block.T @ block


def _mean(block, weights):
    xp = namespace(block)
    if weights is None:
        return xp.mean(block, axis=0)
    weights = weights / weights.sum()
    if xp is np:
        # BLAS would make it depend on the number of threads.
        return np.einsum("i,ij", weights, block)
    return like(weights, block) @ block


def _dense_rows(X, rows):
    """A copy of some rows, dense and in double precision."""
    if namespace(X) is np and not issparse(X) and X.flags.c_contiguous:
        # In a third less time than X[rows].
        return X.take(rows, axis=0).astype(np.float64, copy=False)
    part = take(X, rows)
    return in_double(part.toarray() if issparse(part) else part)


def sum_of_squares(mean, scatter):
    """The squares of samples, in part about the mean."""
    xp = namespace(mean)
    return float(xp.linalg.trace(scatter) + xp.sum(xp.square(mean)))


def check_underflow(squares, X):
    """Raise ValueError if the sum of all squares of X is lost."""
    if squares < _SMALLEST and _largest(X) > 0:
        raise ValueError(
            f"The squares of the numbers of X, which are up to {_largest(X):.3g}, "
            "are too small for floating-point numbers. Multiply X by a common factor, "
            "or use StandardScaler."
        )


def _largest(X):
    xp = namespace(X)
    if xp is np:
        return abs(X).max()  # sparse matrices have this, too
    return float(xp.max(xp.abs(X)))


def check_memory(n_classes, n_features):
    """Raise MemoryError if the covariances of the classes are more than fits."""

    def size(n_features):
        return 8 * n_classes * n_features**2

    n_axes = 1
    while n_axes < n_features and 8 * size(2 * n_axes) <= memory():
        n_axes *= 2
    require_memory(
        2 * size(n_features),  # they are made of sums that take as much
        f"The covariances of {n_classes} classes of {n_features} features",
        f"ClassStatistics.from_blocks and from_data with n_axes={n_axes} take "
        f"{size(n_axes) / 1e9:.2g} GB for those in the leading axes of the data; "
        "fit_statistics takes these.",
    )


# Samples, labels and weights


def checked_samples(X, y, sample_weight, some=True):
    """Valid samples, labels and weights; ``some`` of the weights must be positive."""
    y = known_labels(y)
    X, y = check_X_y(X, on_host(y), dtype=float_dtypes(X))
    # Of a block, few labels may be alike, which scikit-learn's check warns of.
    if some or not _are_classes(y):
        check_classification_targets(y)
    if sample_weight is not None:
        X, y, sample_weight = weighted_samples(X, y, sample_weight, some=some)
    return X, y, sample_weight


def weighted_samples(X, y, sample_weight, *, some=True):
    """The samples of positive weight, at least one if ``some``, and their weights."""
    if not some and not np.any(on_host(sample_weight)):
        return take(X, slice(0)), y[:0], None
    # Labels and weights stay on the host, wherever X is.
    sample_weight = check_sample_weight(
        on_host(sample_weight), y, dtype=np.float64, ensure_non_negative=True
    )
    positive = sample_weight > 0
    if not positive.any():  # older versions of scikit-learn let this pass
        raise ValueError("sample_weight must have at least one non-zero number.")
    return take(X, positive), y[positive], sample_weight[positive]


def known_labels(y):
    """The labels, as an array if they are of pyarrow.

    Raises
    ------
    ValueError
        If labels of a series, of a list, or objects are missing.
    """
    if type(y).__module__.partition(".")[0] == "pyarrow":
        y = y.to_pandas()
    if hasattr(y, "isna"):
        missing = np.asarray(y.isna())
    elif isinstance(y, list | tuple) or getattr(y, "dtype", None) == "O":
        labels = np.empty(len(y), dtype=object)
        labels[:] = list(y)
        missing = np.array([_is_missing(label) for label in labels], dtype=bool)
    else:
        return y
    if missing.any():
        raise ValueError(
            f"{missing.sum()} of the labels in y are missing, the first one that of "
            f"sample {np.argmax(missing)}. Remove these samples."
        )
    return y


def _is_missing(label):
    """Whether a label is None, NaN or the missing value of pandas."""
    if isinstance(label, float):
        return bool(np.isnan(label))
    return label is None or type(label).__name__ == "NAType"


def _are_classes(y):
    """Whether labels are text or whole numbers, which are classes in any number."""
    if y.dtype.kind == "f":
        return bool(np.all(y == np.round(y)))
    if y.dtype.kind == "O":
        return all(isinstance(label, str) for label in y)
    return y.dtype.kind in "biuU"


def kind_of(labels):
    """Kind of labels: "text", "numbers" or a dtype. One kind can be sorted together."""
    if all(isinstance(label, str) for label in labels.tolist()):
        return "text"
    return "numbers" if labels.dtype.kind in "biuf" else labels.dtype


def union_of_classes(first, second):
    """The distinct labels of two arrays, sorted.

    Raises
    ------
    ValueError
        If no dtype of NumPy holds all of them exactly, such as integers and floats
        above 2^53.
    """
    if first.dtype == second.dtype and np.array_equal(first, second):
        return first
    union, labels = np.union1d(first, second), {*first.tolist(), *second.tolist()}
    if union.dtype.kind == "f" and not {first.dtype.kind, second.dtype.kind} - {*"iu"}:
        # The common dtype of int64 and uint64 is float64.
        dtype = np.int64 if max(labels) < 2**63 else np.uint64
        if dtype is np.int64 or min(labels) >= 0:
            union = np.array(sorted(labels), dtype=dtype)
    if labels != set(union.tolist()):
        raise ValueError(
            f"No dtype holds the labels of dtypes {first.dtype} and {second.dtype} "
            "exactly. Convert all labels to one dtype, or to text."
        )
    return union


def rows_of_classes(y):
    """The sorted labels, and the rows of each."""
    order = np.argsort(_of_few_bits(y), kind="stable")
    labels = y[order]
    starts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    return labels[np.append(0, starts)], np.split(order, starts)


def _of_few_bits(y):
    """Labels in the same order, in 16 bits if that is enough: these sort faster."""
    if y.dtype.kind in "iu":
        least, largest = int(y.min()), int(y.max())
        if largest - least < 2**16:
            return y.astype(np.uint16) - np.uint16(least % 2**16)  # modulo 2^16
    return y
