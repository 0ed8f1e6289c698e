"""Counts, means and scatters of the classes of samples that come in blocks."""

from functools import reduce
from itertools import zip_longest

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_X_y

from skgeom.utils._dask import map_row_blocks, merged, naming_block
from skgeom.utils._frames import get_feature_names
from skgeom.utils.array_api import (
    device_of,
    float_dtypes,
    has_float64,
    in_double,
    is_by_numpy,
    is_dask,
    like,
    namespace,
    on_host,
    take,
    to_numpy,
)
from skgeom.utils.threads import stop_if_asked
from skgeom.utils.validation import check_sample_weight, memory, require_memory

# Rows copied to float64 at a time: large enough for BLAS, small compared with X.
ROWS_PER_BLOCK = 2048
# On a device, where fewer steps are better, and no memory is used again.
_ROWS_ON_DEVICE = 4096
# A product of so many columns is not worth halving.
_FEW_COLUMNS = 256

# Sums of squares up to this can still be added over classes and pairs.
_SMALLEST, _LARGEST = 1e-305, 1e290


class ClassSums:
    """Counts, means and scatters of classes that come in parts, added in place.

    Unlike statistics, these may be of weights that add up to less than one sample.
    """

    def __init__(self, first):
        self.n_features = first.n_features
        self.feature_names_in_ = first.feature_names_in_
        self.classes = first.classes
        self._moments = {}
        self.add(first, check=False)

    @classmethod
    def of_samples(cls, X, y, sample_weight, feature_names=None):
        """The sums of valid samples."""
        if is_by_numpy(X) or not has_float64(X):
            total = cls.of_samples(to_numpy(X), y, sample_weight, feature_names)
            for of_class in total.moments():
                of_class.mean = like(of_class.mean, X)
                of_class.scatter = like(of_class.scatter, X)
            return total
        total = cls.__new__(cls)
        total.n_features, total.feature_names_in_ = X.shape[1], feature_names
        total.classes, rows = rows_of_classes(y)
        check_memory(len(rows), total.n_features)
        total._moments = {
            label: sample_moments(X, of_class, label, sample_weight)
            for label, of_class in zip(total.classes.tolist(), rows, strict=True)
        }
        moments = total.moments()
        check_underflow(sum(of_class.squares() for of_class in moments), X)
        return total

    def add(self, part, check=True):
        if check:
            check_alike(self, part)
        self.classes = union_of_classes(self.classes, part.classes)
        if self.feature_names_in_ is None:
            self.feature_names_in_ = part.feature_names_in_
        check_memory(len(self.classes), self.n_features)
        for label, *sums in part._sums():
            stop_if_asked()
            if label not in self._moments:
                # All lie where the first ones do.
                first = next(iter(self._moments.values()), None)
                self._moments[label] = Moments(sums[1] if first is None else first.mean)
            self._moments[label].add(*sums)

    def _sums(self):
        """Label, count, mean and scatter of one class after another."""
        for label, moments in self._moments.items():
            yield label, moments.count, moments.mean, moments.scatter

    def moments(self):
        """Those of one class after another."""
        return [self._moments[label] for label in self.classes.tolist()]

    def arrays(self):
        """Classes, counts, means and covariances."""
        labels, moments = self.classes.tolist(), self.moments()
        counts = np.array([of_class.count for of_class in moments])
        xp = namespace(moments[0].mean)
        means = xp.stack([of_class.mean for of_class in moments])
        of_classes = map(Moments.covariance, moments, labels)
        if xp is not np:
            return self.classes, counts, means, xp.stack(list(of_classes))
        covariances = np.empty((len(labels), *moments[0].scatter.shape))
        for k, covariance in enumerate(of_classes):
            covariances[k] = covariance
        return self.classes, counts, means, covariances


class Moments:
    """Count, mean, and scatter about the mean, of samples that come in parts.

    Parts with n_a and n_b samples have the joint scatter

        S = S_a + S_b + n_a n_b / (n_a + n_b) d d',    d = mean_b - mean_a,

    (Chan, Golub and LeVeque, 1983). Scatters about means are added, and never sums of
    x x', which lose the digits of a covariance that is small compared with the means.
    The first part meets n_a = 0, which makes the last term zero.

    Parameters
    ----------
    mean : array of shape (n,)
        The moments are of its library, on its device.
    """

    def __init__(self, mean):
        xp, (n_features,) = namespace(mean), mean.shape
        self.count = 0
        self.mean = xp.zeros_like(mean)
        self.scatter = xp.zeros(
            (n_features, n_features), dtype=mean.dtype, device=device_of(mean)
        )

    def add(self, count, mean, scatter):
        total = self.count + count
        offset = like(mean, self.mean) - self.mean
        self.scatter += like(scatter, self.mean)
        if self.count:
            weighted = offset * (self.count * (count / total))
            self.scatter += weighted[:, None] * offset[None, :]
        self.mean += offset * (count / total)
        self.count = total

    def squares(self):
        """The sum of the squares, in part about the mean."""
        xp = namespace(self.mean)
        squares = xp.linalg.trace(self.scatter) + xp.sum(xp.square(self.mean))
        return float(squares)

    def covariance(self, label):
        """The unbiased estimate; zero of one sample."""
        # Without a degree of freedom, a scatter would be lost in the estimate.
        lost = self.count <= 1 and bool(namespace(self.mean).any(self.scatter))
        if self.count < 1 or lost:
            raise ValueError(
                f"The sample_weight of class {label} adds up to {self.count:.3g}, but "
                "a weight counts samples: those of each class must add up to at least "
                "1, and to more if its samples differ. Multiply sample_weight by a "
                "constant, such as n_samples / its sum."
            )
        return self.scatter / (self.count - 1 if self.count > 1 else 1)


def sums_of_samples(X, y, sample_weight, prepare=None):
    """The sums of samples in memory, or in a Dask array or frame.

    ``prepare`` maps the samples and labels of a block to those that are summed.
    """
    if not is_dask(X):
        return sums_of_block(None, X, y, sample_weight, prepare, some=True)
    parts = map_row_blocks(sums_of_block, X, y, sample_weight, prepare)
    return some_sums(merged(parts, merge_sums).compute())


def some_sums(total):
    """The sums of all blocks of X; ValueError if there are no samples."""
    if total is None:
        raise ValueError("There are no samples: all blocks of X are empty.")
    return total


def sums_of_blocks(blocks, prepare=None):
    """The sums of the blocks of ``ClassStatistics.from_blocks``, one in memory."""
    total, number = None, 0
    for block in blocks() if callable(blocks) else blocks:
        if not isinstance(block, tuple | list) or len(block) not in (2, 3):
            length = f" of length {len(block)}" if hasattr(block, "__len__") else ""
            raise ValueError(
                "blocks must yield pairs (X, y) or triples (X, y, sample_weight), but "
                f"block {number} is of type {type(block).__name__}{length}."
            )
        part = sums_of_block(number, *block, *[None] * (3 - len(block)), prepare)
        del block  # nothing may hold it while the next one is read; enumerate would
        with naming_block(number):
            total = _added(total, part)
        number += 1
    if total is None:
        raise ValueError("There are no samples: all blocks are empty, or none came.")
    return total


def sums_of_block(number, X, y, sample_weight, prepare=None, some=False):
    """The sums of a block, None if it is empty; errors have its number.

    If ``some``, there must be samples of positive weight.
    """
    with naming_block(number):
        if not some and _num_samples(X) == _num_samples(y) == 0:
            return None
        names = get_feature_names(X)
        X, y, sample_weight = checked_samples(X, y, sample_weight, some)
        if X.shape[0] == 0:
            return None
        if prepare is not None:
            X, y = prepare(X, y)
        return ClassSums.of_samples(X, y, sample_weight, names)


def merge_sums(parts):
    """The sum of parts, or None. A task may run twice, so parts are not changed."""
    total = None
    for part in parts:
        if total is None and part is not None:
            total = ClassSums(part)
        else:
            total = _added(total, part)
    return total


def _added(total, part):
    """``part`` added to ``total`` in place; both may be None."""
    if total is None or part is None:
        return part if total is None else total
    total.add(part)
    return total


def check_memory(n_classes, n_features):
    """Raise MemoryError if the covariances of the classes are more than fits."""

    def size(n_features):
        return 8 * n_classes * n_features**2

    n_axes = 1
    while 8 * size(2 * n_axes) <= memory():
        n_axes *= 2
    require_memory(
        2 * size(n_features),  # they are made of sums that take as much
        f"The covariances of {n_classes} classes of {n_features} features",
        f"ClassStatistics.from_blocks and from_data with n_axes={n_axes} take "
        f"{size(n_axes) / 1e9:.2g} GB for those in the leading axes of the data; "
        "fit_statistics takes these.",
    )


def check_alike(first, second):
    """Raise ValueError if features or kinds of labels do not allow addition."""
    if first.n_features != second.n_features:
        raise ValueError(
            "Statistics can be added only if they have the same number of features, "
            f"got {first.n_features} and {second.n_features}."
        )
    names = [part.feature_names_in_ for part in (first, second)]
    if all(n is not None for n in names) and not np.array_equal(*names):
        fault = "names of their features are"
        remedy = "Use the same columns in both, or rename them."
        if sorted(names[0]) == sorted(names[1]):
            fault = "order of their features is"
            remedy = "Reorder the columns: X[names], with the names of the first."
        pairs = enumerate(zip_longest(*names))
        number, pair = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
        raise ValueError(
            f"Statistics can be added only if the {fault} equal, "
            f"but feature {number} is {pair[0]!r} in the first and {pair[1]!r} in the "
            f"second. {remedy}"
        )
    if kind_of(first.classes) != kind_of(second.classes):
        raise ValueError(
            "Statistics can be added only if their class labels are of one "
            f"kind, got {first.classes} and {second.classes}."
        )


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


def kind_of(labels):
    """Kind of labels: "text", "numbers" or a dtype. One kind can be sorted together."""
    if all(isinstance(label, str) for label in labels.tolist()):
        return "text"
    return "numbers" if labels.dtype.kind in "biuf" else labels.dtype


def union_of_classes(*parts):
    """The distinct labels of several arrays, sorted.

    Raises
    ------
    ValueError
        If no dtype of NumPy holds all of them exactly, such as integers and floats
        above 2^53.
    """
    union = reduce(np.union1d, parts)
    labels = set().union(*(part.tolist() for part in parts))
    if union.dtype.kind == "f" and all(part.dtype.kind in "iu" for part in parts):
        # The common dtype of int64 and uint64 is float64.
        dtype = np.int64 if max(labels) < 2**63 else np.uint64
        if dtype is np.int64 or min(labels) >= 0:
            union = np.array(sorted(labels), dtype=dtype)
    if labels != set(union.tolist()):
        dtypes = " and ".join(str(part.dtype) for part in parts)
        raise ValueError(
            f"No dtype holds the labels of dtypes {dtypes} exactly. Convert all labels "
            "to one dtype, or to text."
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


def sample_moments(X, rows, label, sample_weight=None):
    """Moments of the rows of X of a class, block by block.

    Each block is centered by its own mean, so a large common offset costs no digits.
    """
    xp = namespace(X)
    moments = Moments(_dense_rows(X, rows[:1])[0, ...])
    with np.errstate(over="ignore", invalid="ignore"):
        size = ROWS_PER_BLOCK if xp is np else _ROWS_ON_DEVICE
        for start in range(0, len(rows), size):
            stop_if_asked()
            of_block = rows[start : start + size]
            block = _dense_rows(X, of_block)
            if sample_weight is None:
                count, mean = len(of_block), xp.mean(block, axis=0)
                block -= mean
            else:
                weights = sample_weight[of_block]
                count = float(weights.sum())
                mean = _weighted_sum(weights / count, block)
                block -= mean
                block *= like(np.sqrt(weights), block)[:, None]
            moments.add(count, mean, _gram(block))
        # One number bounds all entries: these sums of squares must not overflow, nor
        # those over classes that are made of them later.
        squares = moments.squares()
    if not squares < _LARGEST:
        raise ValueError(
            f"The squares of the numbers of class {label}, which are up to "
            f"{_largest(take(X, rows)):.3g}, are too large for floating-point "
            "numbers. Divide X by a common factor, or use StandardScaler."
        )
    return moments


def _dense_rows(X, rows):
    """A copy of some rows, dense and in double precision."""
    if namespace(X) is np and not issparse(X) and X.flags.c_contiguous:
        # In a third less time than X[rows].
        return X.take(rows, axis=0).astype(np.float64, copy=False)
    part = take(X, rows)
    return in_double(part.toarray() if issparse(part) else part)


def _gram(block):
    """``block.T @ block``, most of the time; numpy makes it by a symmetric update.

    Other libraries would compute both of its triangles. In halves, and halves of these,
    they compute a few numbers twice only.
    """
    xp, n_features = namespace(block), block.shape[1]
    if xp is np or n_features <= _FEW_COLUMNS:
        return block.T @ block
    left, right = block[:, : n_features // 2], block[:, n_features // 2 :]
    across = left.T @ right
    above = xp.concat([_gram(left), across], axis=1)
    below = xp.concat([across.T, _gram(right)], axis=1)
    return xp.concat([above, below])


def _weighted_sum(weights, block):
    if namespace(block) is np:
        # BLAS would make it depend on the number of threads.
        return np.einsum("i,ij", weights, block)
    return like(weights, block) @ block
