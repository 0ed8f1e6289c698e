"""Validation of samples, labels, parameters and matrices."""

import functools
import inspect
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import assert_all_finite, compute_class_weight, validation
from sklearn.utils.multiclass import check_classification_targets

from skgeom.utils import _sklearn
from skgeom.utils._dask import (
    check_not_dask,
    computed,
    empty_block,
    in_memory,
    is_dask,
)
from skgeom.utils._sklearn import is_pandas_na, is_scalar_nan, num_samples
from skgeom.utils.array_api import (
    adjoint,
    astype,
    by_numpy,
    check_holds_numbers,
    check_library,
    cholesky_factors,
    each,
    float_dtype,
    has_float64,
    in_double,
    is_complex,
    is_dispatched,
    is_in_host_memory,
    largest_size,
    like,
    namespace,
    on_cpu,
    precision,
    real_part,
    take,
    to_numpy,
)
from skgeom.utils.errors import naming
from skgeom.utils.memory import require_memory

# Samples


class Samples(NamedTuple):
    """Validated samples of positive weight.

    Attributes
    ----------
    X : array of shape (n_samples, ...)
        The samples, in the array library of the user.
    y : ndarray of shape (n_samples,)
        Their labels.
    weights : ndarray of shape (n_samples,) or None
        Their weights; None without weights.
    groups : ndarray of int of shape (n_samples,) or None
        The indices of their groups; None without groups.
    rows : ndarray of int of shape (n_samples,) or None
        Their positions among the samples of the user; None without weights.
    """

    X: Any
    y: Any
    weights: Any = None
    groups: Any = None
    rows: Any = None


def validated_samples(
    estimator,
    X,
    y,
    sample_weight=None,
    groups=None,
    *,
    reset=True,
    batch=False,
    numeric=False,
    double=False,
    dask=False,
    check=None,
    **options,
):
    """Validate the samples of a fit: X, y, and the weights and groups if given.

    Like scikit-learn's ``validate_data``, the function sets or compares the number and
    the names of the features, and changes nothing else of the estimator.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted.
    X, y, sample_weight, groups
        The arguments of its method.
    reset : bool, default=True
        Whether to set the features of the estimator, instead of comparing them with X.
    batch : bool, default=False
        Whether X is a batch of ``partial_fit``, whose weights are not scaled.
    numeric : bool, default=False
        Whether y contains numbers, which are converted to float64, and not labels.
    double : bool, default=False
        Whether X is converted to double precision, and sums of its values must be
        finite.
    dask : bool, default=False
        Whether X may be a Dask array or data frame. Then only its features are
        validated, and X and y are returned unchanged.
    check : callable, default=None
        Function that validates X, with the parameters of :func:`validate_data`, which
        is the default.
    **options
        Options of ``check``.

    Returns
    -------
    Samples
    """
    if is_dask(X):
        if not dask:
            check_not_dask(estimator, X, "Fit it to a sample of the rows")
        if groups is not None:
            check_not_dask(estimator, X, "Use groups=None")
        validate_data(estimator, empty_block(X), ensure_min_samples=0, reset=reset)
        return Samples(X, y, sample_weight if batch else scaled_weights(sample_weight))
    if double:
        options["dtype"] = _float_dtypes(X)[0]
    X = (check or validate_data)(estimator, X, reset=reset, **options)
    if double and not np.isfinite(2 * X.shape[0] * (largest := largest_size(X))):
        raise_too_large(largest)
    if numeric:
        y = checked_targets(y, X, y_numeric=True)
        y = real_array(y, "y").astype(np.float64)
    else:
        y = checked_labels(y, X, whole=not batch)
        if batch and not reset and len(getattr(estimator, "classes_", ())):
            check_kind(y, on_cpu(estimator.classes_))
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, y)
        weights = weights if batch else scaled_weights(weights)
    return _of_positive_weight(X, y, weights, groups)


def samples_of_block(X, y, sample_weight=None, *, whole=True):
    """Validated :class:`Samples` of a function that has no estimator.

    Use ``whole=False`` for a block of samples, which may contain few labels, and
    weights that are all zero.
    """
    X = check_samples(X)
    y, weights = checked_labels(y, X, whole), sample_weight
    if not whole and weights is not None and not np.any(on_cpu(weights)):
        return Samples(take(X, slice(0)), y[:0])
    if weights is not None:
        weights = check_sample_weight(weights, y)
    return _of_positive_weight(X, y, weights)


def _of_positive_weight(X, y, weights, groups=None):
    """The samples of positive weight; a weight of zero removes a sample."""
    if weights is None:
        return Samples(X, y, groups=checked_groups(groups, y))
    rows = np.flatnonzero(weights > 0)
    groups = checked_groups(groups, y, rows)
    return Samples(take(X, rows), y[rows], weights[rows], groups, rows)


def validate_data(estimator, X, /, *, any_library=False, **options):
    """scikit-learn's ``validate_data``, with errors that name X.

    X is converted to floating-point numbers, unless there is an option ``dtype``. The
    estimator must support its array library, unless ``any_library``.

    Accepted sparse samples become a ``csr_array`` in canonical form: the column indices
    of a row are sorted and distinct. Functions of SciPy that require this form would
    otherwise modify X, and fail for read-only X, and sums of squares of the stored
    entries would be wrong.
    """
    check_not_masked(X, "X")
    if not any_library and is_dispatched(X):
        check_library(X, estimator)
    with naming("X"):
        if issparse(X) and options.get("accept_sparse"):
            X = csr_array(X)  # shares the memory of a CSR array
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
        if "dtype" not in options:
            options["dtype"] = _float_dtypes(X)
        X = validation.validate_data(estimator, X, **options)
    return csr_array(X) if issparse(X) else X  # of a sparse data frame


def _float_dtypes(X):
    """The dtypes that validation accepts, for the ``dtype`` of scikit-learn's checks.

    They are float64, if the device of X supports it, and float32. Validation converts
    all other dtypes to the first of them.

    Raises
    ------
    ValueError
        If X is an array of a library other than NumPy and is complex, sparse or without
        values. scikit-learn checks NumPy arrays only, and would discard the imaginary
        parts of arrays of other libraries.
    """
    if not is_dispatched(X):
        return [np.float64, np.float32]
    check_holds_numbers(X)
    if is_complex(X):
        raise ValueError("Complex data not supported: X must hold real numbers.")
    xp = namespace(X)
    return [xp.float64, xp.float32] if has_float64(X) else [xp.float32]


def check_samples(X, *, double=False):
    """Validated samples of a function, in the array library of the user.

    With ``double``, they are converted to double precision.
    """
    dtypes = _float_dtypes(X)
    check_not_masked(X, "X")
    with naming("X"):
        dtype = dtypes[0] if double else dtypes
        return validation.check_array(X, input_name="X", dtype=dtype)


def check_array(array, *, input_name, **options):
    """scikit-learn's ``check_array``, with errors that name the argument.

    The result is a NumPy array. Use it for parameters and other small arrays, which may
    be on any device.
    """
    check_not_masked(array, input_name)
    with naming(input_name):
        array = on_cpu(array)
        return validation.check_array(array, input_name=input_name, **options)


def check_not_masked(array, name):
    """Raise ValueError for masked values, which scikit-learn would use."""
    if np.ma.is_masked(array):
        raise ValueError(
            f"{name} contains masked values. Remove or impute such values first."
        )


_ALL_ZERO = (
    "sample_weight must have at least one non-zero number, but all weights are zero. "
    "Pass a positive weight for each sample that is used."
)


def check_sample_weight(sample_weight, X):
    """Validated sample weights; None is a weight of 1 for each sample.

    Weights are NumPy arrays in float64, even if X is on another device.

    Raises
    ------
    ValueError
        If the weights are malformed, too large or too small.
    """
    check_not_masked(sample_weight, "sample_weight")
    with naming("sample_weight"):
        weights = _sklearn.check_sample_weight(
            on_cpu(sample_weight), X, dtype=np.float64, ensure_non_negative=True
        )
    largest = float(abs(weights).max()) if len(weights) else 1.0
    if not largest:  # scikit-learn < 1.9 accepts zero weights
        raise ValueError(_ALL_ZERO)
    # For larger weights, the squares of weights times data may overflow. For smaller
    # weights, they may underflow.
    limit = np.sqrt(np.sqrt(np.finfo(np.float64).max))
    if not largest <= limit or 0 < largest < 1 / limit:  # or NaN
        raise ValueError(
            f"sample_weight has values up to {largest:.3g}, whose squares exceed the "
            "range of floating-point numbers. Divide all weights by their mean."
        )
    return weights


def scaled_weights(sample_weight):
    """The weights of all samples of a fit, which count samples.

    Weights whose sum is smaller than the number of samples of positive weight, such as
    weights that sum to one, are scaled to that number. The weights of a part of the
    samples are not scaled, because the parts would be scaled differently.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), Dask array, Dask series or None
        The weights. Those of Dask data need not be valid.
    """
    if sample_weight is None:
        return None
    weights = sample_weight
    with naming("sample_weight"):
        if not is_dask(weights):
            weights = np.asarray(on_cpu(weights), dtype=np.float64)
        total, number = computed(weights.sum(), (weights > 0).sum())
        if total == number == 0:
            raise ValueError(_ALL_ZERO)
        return weights * (number / total) if 0 < total < number else sample_weight


def raise_too_large(largest, samples="X"):
    """Raise ValueError for values whose squares overflow."""
    raise ValueError(
        f"The values of {samples} are too large (largest {largest:.3g}): their squares "
        "overflow. Divide X by a common factor, or use StandardScaler."
    )


def named_like_fit(X, estimator):
    """Samples as a data frame with the ``feature_names_in_`` of an estimator.

    X is returned unchanged without these names, or without pandas.
    """
    if not hasattr(estimator, "feature_names_in_"):
        return X
    try:
        import pandas as pd
    except ImportError:
        return X
    return pd.DataFrame(X, columns=estimator.feature_names_in_)


# Labels


def checked_labels(y, X, whole=True):
    """Validated class labels of the samples X, in CPU memory.

    Use ``whole=False`` for a block of samples, which may contain few equal labels:
    scikit-learn's check would raise a warning.
    """
    y = checked_targets(known_labels(y), X)
    if whole or not _are_classes(y):
        with naming("y"):
            check_classification_targets(y)
    return y


def check_kind(y, known, of="classes_"):
    """Raise ValueError if the known labels are numbers and y has text, or vice versa.

    NumPy would compare such labels as different. The first known label is a class.
    """
    known = known.tolist()
    kind = _kind_of_label(known[0])
    for label in dict.fromkeys(y.tolist()):
        if label not in known and _kind_of_label(label) != kind:
            raise ValueError(
                f"y contains {label!r}, which is {_kind_of_label(label)}, but the "
                f"class {known[0]!r} is {kind}. Use labels of the type of {of}."
            )


def _kind_of_label(label):
    if isinstance(label, bytes):
        return "bytes"
    return "text" if isinstance(label, str) else "a number"


def encoded_labels(y, name):
    """The sorted classes, at least two, and class indices of valid labels.

    ``name`` is the estimator.
    """
    classes, codes = np.unique(y, return_inverse=True)
    check_two_classes(classes, name)
    return classes, codes


def checked_targets(y, X, **options):
    """Validated target values of the samples X: finite, one per sample."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    check_not_masked(y, "y")
    with naming("y"):
        y = _sklearn.check_y(y, **options)
    with naming("X"):
        n_samples = num_samples(X)
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} samples, but y has {len(y)} labels.")
    return y


def known_labels(y, name="y"):
    """The labels; arrays of other libraries and data of pandas become NumPy arrays.

    Nullable dtypes of pandas are converted to NumPy dtypes, because scikit-learn would
    convert such integers and booleans to floating-point numbers.

    Raises
    ------
    ValueError
        If labels in a series, a list or an object array are missing.
    """
    library = type(y).__module__.partition(".")[0]
    if library == "pyarrow":
        y = y.to_pandas()
    elif library == "polars" and hasattr(y, "to_series") and y.width == 1:
        y = y.to_series()
    if hasattr(y, "isna"):
        missing, y = np.asarray(y.isna()), np.asarray(y)
    elif library == "polars" and hasattr(y, "is_null"):
        missing, y = y.is_null().to_numpy(), y.to_numpy()
    elif isinstance(y, np.ma.MaskedArray):
        missing, y = np.ma.getmaskarray(y), np.asarray(y)
    elif isinstance(y, list | tuple) or getattr(y, "dtype", None) == "O":
        missing = np.array([_is_missing(label) for label in y], dtype=bool)
    elif getattr(getattr(y, "dtype", None), "kind", None) in ("M", "m"):
        missing = np.isnat(y)
    elif isinstance(y, np.ndarray):
        return y
    else:
        check_holds_numbers(y, name)
        return on_cpu(y)
    if missing.any():
        n_missing = int(missing.sum())
        raise ValueError(
            f"{name} contains {n_missing} missing label{'s' * (n_missing != 1)}, the "
            f"first one in row {np.argmax(missing)}. Remove these samples."
        )
    if getattr(y, "dtype", "O") == "O" and {*map(type, y)} in ({int}, {bool}):
        return np.array([*y])  # scikit-learn rejects arrays of such objects
    return y


def _is_missing(label):
    """Whether a label is None, NaN, NaT or the missing value of pandas."""
    if isinstance(label, date | np.datetime64 | np.timedelta64):
        return label != label  # NaT
    return label is None or is_scalar_nan(label) or is_pandas_na(label)


def _are_classes(y):
    """Whether labels are text or integers, which are class labels in any number."""
    if y.dtype.kind == "f":
        return bool(np.all(y == np.round(y)))
    if y.dtype.kind == "O":
        return all(isinstance(label, str) for label in y)
    return y.dtype.kind in "biuU"


def weighted_classes(y, sample_weight):
    """The sorted classes of the samples of positive weight.

    A class of weight zero is omitted, as if its samples were removed. Bootstrap
    samples, for example, rarely contain all samples of a class.
    """
    return np.unique(y[sample_weight > 0])


def check_two_classes(classes, name, argument="y"):
    """Raise ValueError for fewer than two classes. ``name`` is the estimator."""
    if len(classes) < 2:
        found = f"1 class, {classes[0]!s}" if len(classes) else "0 classes"
        raise ValueError(
            f"{name} requires samples of at least 2 classes, but {argument} contains "
            f"{found}. Add samples of a different class. Samples with sample_weight=0 "
            "do not count."
        )


def classes_of_stream(classes, labels, known=None, announced=False):
    """All classes after a batch of ``partial_fit``, and whether there are no others.

    Parameters
    ----------
    classes : array-like of shape (n_classes,) or None
        The argument of ``partial_fit``.
    labels : ndarray
        The distinct labels of the batch.
    known : ndarray, default=None
        The classes of earlier calls; None in the first call.
    announced : bool, default=False
        Whether an earlier call announced the known classes as all classes.

    Returns
    -------
    classes : ndarray
        The distinct labels, sorted.
    announced : bool

    Raises
    ------
    ValueError
        If a label is not one of the announced classes, if other classes were announced
        before, or if labels are of different types.
    """
    found = labels if known is None else union_of_classes(known, labels)
    if classes is None and not announced:
        return found, False
    if classes is not None:
        classes = np.asarray(known_labels(classes, "classes"))
        with naming("classes"):
            assert_all_finite(classes, input_name="classes")
        if classes.ndim != 1 or len(np.unique(classes)) < 2:
            raise ValueError(
                "classes must be a list of at least 2 different labels, got "
                f"{classes.tolist()}. Pass all classes of all calls, or None."
            )
        classes = np.unique(classes)
        check_kind(found, classes, "classes")
    if announced:
        if classes is not None and not np.array_equal(classes, known):
            raise ValueError(
                f"partial_fit received classes={classes.tolist()}, but the first call "
                f"had classes={known.tolist()}. Pass the same classes, or None."
            )
        classes = known
    missing = [label for label in found.tolist() if label not in {*classes.tolist()}]
    if missing:
        raise ValueError(
            f"y has the label {missing[0]!r}, which is not in classes="
            f"{classes.tolist()}. Pass all classes in the first call of partial_fit, "
            "or None."
        )
    return classes, True


def kind_of(labels):
    """Kind of labels: "text", "numbers" or a dtype. One kind can be sorted."""
    if all(isinstance(label, str) for label in labels.tolist()):
        return "text"
    return "numbers" if labels.dtype.kind in "iuf" else labels.dtype


def union_of_classes(first, second):
    """The distinct labels of two arrays, sorted.

    Raises
    ------
    ValueError
        If no NumPy dtype represents all labels exactly, for example integers above 2^53
        and floating-point numbers.
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


def sample_labels(labels, name, n_samples):
    """Validated labels of the samples, such as groups: one per sample, none missing."""
    labels = known_labels(in_memory(labels), name)
    labels = np.asarray(labels)
    if labels.shape not in ((n_samples,), (n_samples, 1)):
        raise ValueError(
            f"{name} must contain one label per sample, {n_samples} in total, got "
            f"shape {labels.shape}."
        )
    with naming(name):
        assert_all_finite(labels, input_name=name)
    return labels.reshape(n_samples)


def checked_groups(groups, y, rows=slice(None)):
    """The indices of the groups of the samples in some rows; None without groups."""
    if groups is None:
        return None
    groups = sample_labels(groups, "groups", len(y))
    with naming("groups"):
        return np.unique(groups[rows], return_inverse=True)[1]


# Parameters with one value per class or feature


def check_priors(priors, weights):
    """Class probabilities from the parameter ``priors``.

    Parameters
    ----------
    priors : None, "uniform" or array-like of shape (n_classes,)
        None is the proportions of the classes in training.
    weights : ndarray of shape (n_classes,)
        Number of training samples of each class, or the sum of their weights.

    Returns
    -------
    ndarray of shape (n_classes,)
        Positive numbers that sum to 1, in the order of ``classes_``.

    Raises
    ------
    ValueError
        If an array has a wrong shape, contains a number that is not positive, or has a
        sum that differs from 1 by more than 1e-5.
    """
    n_classes = len(weights)
    if priors is None:
        return weights / weights.sum()
    if isinstance(priors, str):  # "uniform"
        return np.full(n_classes, 1 / n_classes)
    check_not_dict(priors, "priors")
    given = check_array(
        priors,
        dtype=np.float64,
        ensure_2d=False,
        ensure_all_finite=False,  # NaN and infinity fail the checks below
        allow_nd=True,
        input_name="priors",
    )
    fits = given.shape == (n_classes,) and (given > 0).all()
    if not (fits and np.isclose(given.sum(), 1)):
        raise ValueError(
            f"priors must hold {n_classes} positive probabilities that sum to 1, one "
            f"for each class in the order of classes_, got {priors!r}."
        )
    return given / given.sum()


def class_factors(class_weight, classes, counts=None, *, zero=False):
    """Factors of the class weights, from the parameter ``class_weight``.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        Factors by class label. Missing labels have the factor 1.
    classes : ndarray of shape (n_classes,)
        The labels.
    counts : ndarray of shape (n_classes,), default=None
        Sums of the weights of the samples, for "balanced". Classes without samples have
        the factor 1. None if the classes have equal sums.
    zero : bool, default=False
        Whether a factor may be zero.

    Returns
    -------
    ndarray of shape (n_classes,)
        The factors, in the order of ``classes``.

    Raises
    ------
    ValueError
        If a factor is negative, infinite or (unless ``zero=True``) zero, or if the dict
        contains no label of ``classes``.
    """
    if class_weight == "balanced" and counts is not None:
        seen = counts > 0
        even = counts.sum() / np.count_nonzero(seen)
        return np.divide(even, counts, out=np.ones(len(seen)), where=seen)
    # y=classes: each class occurs once.
    with naming("class_weight"):
        factors = compute_class_weight(class_weight, classes=classes, y=classes)
    wrong = ~(np.isfinite(factors) & (factors >= 0 if zero else factors > 0))
    if wrong.any():
        allowed = "finite and nonnegative" if zero else "positive and finite"
        raise ValueError(
            f"class_weight must be {allowed}, got {factors[wrong][0]:g} for the class "
            f"{classes[wrong].tolist()[0]!r}. To exclude a class, remove its samples."
        )
    return factors


def check_not_dict(values, name):
    """Raise ValueError if ``values`` is a dict or a labelled series."""
    if isinstance(values, Mapping) or has_labels(values):
        raise ValueError(
            f"{name} must be a list of one value per class, in the order of classes_, "
            f"not a {'dict' if isinstance(values, Mapping) else 'labelled series'}. "
            f"Use [{name}[label] for label in classes], with the sorted class labels."
        )


def has_labels(values):
    """Whether the labels of a data frame or series are not the positions 0, 1, ..."""
    for axis in (0, -1):
        found = labels_of(values, axis)
        if len(found) and [*found] != [*range(len(found))]:
            return True
    return False


def labels_of(values, axis):
    """The labels of a data frame or series along an axis; empty without labels.

    The default labels of pandas and Polars, which number the entries, are no labels.
    """
    if hasattr(values, "iloc"):
        labels = values.axes[axis]
        is_default = labels.name is None and getattr(labels, "start", None) == 0
        return [] if is_default and labels.step == 1 else [*labels]
    if axis and hasattr(values, "column_names"):  # a table of pyarrow
        return values.column_names
    if axis and type(values).__module__.startswith("polars."):
        names = getattr(values, "columns", [])  # a series has no labels
        return [] if names == [f"column_{k}" for k in range(len(names))] else names
    return []


def check_order_of_features(values, name, estimator):
    """Raise ValueError if labels of columns contradict the order of the features."""
    expected = getattr(estimator, "feature_names_in_", None)
    check_labels(values, -1, expected, name, "X")


def check_same_features(arrays):
    """Raise ValueError if labels along the last axes of arrays contradict each other.

    ``arrays`` contains the arguments by name.
    """
    expected, of = [], None
    for name, values in arrays.items():
        check_labels(values, -1, expected, name, of)
        if not expected:
            expected, of = labels_of(values, -1), name


def check_labels(values, axis, expected, name, of):
    """Raise ValueError if labels along an axis contradict the expected order.

    If a label does not occur in ``expected``, the labels have a different meaning, such
    as the numbers of rows. ``of`` is what has the expected order, such as "classes".
    """
    found = labels_of(values, axis)
    if not len(found) or expected is None:
        return
    pairs = zip(found, expected, strict=False)
    wrong = [(k, *pair) for k, pair in enumerate(pairs) if pair[0] != pair[1]]
    if wrong and {*found} <= {*expected}:
        number, label, other = wrong[0]
        other = other.item() if hasattr(other, "item") else other
        raise ValueError(
            f"{name} has the label {label!r} at position {number}, where {of} has "
            f"{other!r}. Sort {name} in the order of {of}, or pass an array."
        )


# Matrices

# Remedy for matrices that are not positive definite, in messages.
_SHRINK = (
    "Use a shrunk covariance estimate, for example "
    'pyriemann.estimation.Covariances("oas"), or add 0.001 of the mean diagonal entry '
    "to the diagonal. After an average reference, remove one channel from all "
    "matrices, or project them, as the user guide describes."
)
_INDEFINITE = (
    "The eigenvalue is not a rounding error, so the matrix is not a covariance matrix. "
    "Check how it was computed."
)


def check_spd_samples(
    estimator, X, *, reset, ensure_min_samples=1, name=None, hermitian=False
):
    """Validated SPD matrices, made exactly symmetric.

    Sets ``n_features_in_`` of the estimator if ``reset=True``, and compares it with X
    otherwise.

    Parameters
    ----------
    estimator : estimator
        The estimator whose argument is X.
    X : array-like of shape (n_samples, n, n)
        The samples, before validation.
    reset : bool
        Whether the caller is ``fit``, which sets the size of the matrices.
    ensure_min_samples : int, default=1
        Smallest accepted number of samples.
    name : str, default=None
        Name of the estimator in messages; None for the name of its class.
    hermitian : bool, default=False
        Whether X may be complex. If ``reset=False``, real matrices are then converted
        to complex matrices for an estimator whose attribute ``is_complex_`` is true.

    Returns
    -------
    ndarray of shape (n_samples, n, n)
        The matrices, in single precision if X is in single precision, and in double
        precision otherwise.

    Raises
    ------
    ValueError
        If X has a wrong shape, or if a matrix is not finite, not symmetric or not
        positive definite. The message names the argument or the matrix, and the
        smallest eigenvalue of a matrix that is not positive definite.
    """
    name = name or type(estimator).__name__
    check_not_dask(estimator, X, "Pass some of the matrices", name)
    is_hermitian = check_stack(X, name, hermitian)
    check_library(X, estimator, name)
    if namespace(X) is np:  # six arrays
        require_memory(
            48 * (1 + is_hermitian) * np.prod(shape_of(X), dtype=float),
            f"The matrices X, of shape {shape_of(X)}, and their factors",
            "Use fewer samples, or smaller matrices, for example of fewer channels.",
        )
    fitted_to_complex = hermitian and not reset and estimator.is_complex_
    if is_hermitian and not reset and not fitted_to_complex:
        raise ValueError(
            f"X is complex, but {name} was fitted on real matrices. Fit it on complex "
            "matrices, or pass X.real."
        )
    given = np.asarray(X) if is_hermitian else X
    X = validate_data(
        estimator,
        given.real if is_hermitian else X,  # scikit-learn rejects complex numbers
        estimator=name,
        ensure_2d=False,
        allow_nd=True,
        ensure_all_finite=False,  # check_symmetric names the matrix
        ensure_min_samples=ensure_min_samples,
        reset=reset,
    )
    epsilon = precision(X)
    if is_hermitian:
        X = X + 1j * given.imag.astype(X.dtype)
    check_symmetric(X, "X")
    X = X / 2 + adjoint(X) / 2  # (X + adjoint(X)) / 2 could overflow
    cholesky(in_double(X), "X", epsilon)
    if fitted_to_complex and not is_hermitian:
        X = X + 0j
    # scikit-learn counts the features of two-dimensional arrays only.
    if reset:
        estimator.n_features_in_ = X.shape[1]
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting "
            f"{estimator.n_features_in_} features as input: matrices of that size."
        )
    return X


def shape_of(X):
    """The shape of an array or of nested lists."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple):
        return shape
    with naming("X"):
        return np.asarray(X).shape


def check_stack(X, name, hermitian=False):
    """Raise ValueError unless X is a stack of square matrices.

    Returns whether the matrices are complex. Complex matrices raise an error unless
    ``hermitian=True``. ``name`` is the estimator.
    """
    shape = shape_of(X)
    if len(shape) != 3:
        raise ValueError(
            f"{name} requires SPD matrices, X of shape (n_samples, n, n), but got an "
            f"array of {len(shape)} dimensions. Reshape your data, one matrix to "
            "X[None] and flattened matrices to X.reshape(-1, n, n), or first compute "
            "covariance matrices. For several frequency bands, fit one estimator each."
        )
    if shape[1] != shape[2]:
        raise ValueError(
            f"{name} requires square matrices, X of shape (n_samples, n, n), but X has "
            f"shape {shape}. For signals, first apply "
            'pyriemann.estimation.Covariances("oas").'
        )
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    is_complex = getattr(dtype, "kind", None) == "c"
    if is_complex and not hermitian:
        raise ValueError(
            f"Complex data not supported by {name}. Convert X to real matrices with "
            "skgeom.geometry.real_embedding(X)."
        )
    return is_complex


def float64_arrays(*names, definite=(), cast=None, complex_allowed=False, on_cpu=False):
    """Decorate a function: compute in float64, whatever the dtypes of the arguments.

    The decorated function receives its arguments ``names`` as float64 arrays, because
    factorizations in float32 would lose half of the accurate digits. The result is
    converted to float32 if all these arguments are float32 arrays. Singular float32
    matrices may be positive definite in float64, so the arguments in ``definite`` are
    checked with the rounding errors of float32. The arguments must not be data frames
    with different orders of the features, the last axis. If ``cast(result, arguments)``
    is given, it performs this conversion; ``arguments`` are the arguments of the call
    by name.

    If an argument is an array of another library than NumPy on a device such as a GPU,
    all arguments are moved to this device, in float32 if the device does not support
    float64. Arrays in CPU memory, and with ``on_cpu=True`` all arrays, are processed
    with NumPy, and the result is moved back. If ``complex_allowed=True`` and an
    argument is complex, all arguments are converted to complex arrays of the same
    precision.
    """

    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            given = [bound.arguments[name] for name in names]
            check_same_features(dict(zip(names, given, strict=True)))
            xp = namespace(*given)
            model = None
            if xp is not np:
                # Lists and numbers become arrays on the device of the first array.
                theirs = [array for array in given if namespace(array) is xp]
                model = theirs[0]
                for name, array in zip(names, given, strict=True):
                    check_holds_numbers(array, name)
                if on_cpu or all(map(is_in_host_memory, theirs)):
                    return by_numpy(wrapper, model, *args, **kwargs)
            arrays = {
                name: real_array(array, name, model, complex_allowed)
                for name, array in zip(names, given, strict=True)
            }
            double = float_dtype(model)
            if any(is_complex(array) for array in arrays.values()):
                double = xp.complex128 if double == xp.float64 else xp.complex64
            single = (xp.float32, xp.complex64)
            for name, array in arrays.items():
                converted = bound.arguments[name] = astype(array, double)
                if name in definite and array.dtype in single:
                    check_symmetric(converted, name)
                    cholesky(converted, name, precision(real_part(array)))
            result = function(*bound.args, **bound.kwargs)
            if not all(array.dtype in single for array in arrays.values()):
                return result
            if cast is not None:
                return cast(result, bound.arguments)
            return each(_in_single, result)

        return wrapper

    return decorate


def _in_single(array):
    """The array in single precision, real or complex."""
    xp = namespace(array)
    return astype(array, xp.complex64 if is_complex(array) else xp.float32)


def real_array(array, name, model=None, complex_allowed=False):
    """The argument as an array of real numbers; TypeError for other dtypes.

    The result is a NumPy array or, if ``model`` is given, an array with the namespace
    and device of ``model``.
    """
    array, kinds = like(array, model), ("bool", "integral", "real floating")
    real = namespace(array).isdtype(array.dtype, kinds)
    if not real and not (complex_allowed and is_complex(array)):
        kinds = "real or complex" if complex_allowed else "real"
        raise TypeError(f"{name} must hold {kinds} numbers, got dtype {array.dtype}.")
    return array


def check_symmetric(matrices, name):
    """Raise ValueError unless ``matrices`` is a finite stack of symmetric matrices.

    Complex matrices must be Hermitian, equal to their conjugate transposes.

    Parameters
    ----------
    matrices : ndarray of shape (..., n, n)
        The stack to check.
    name : str
        Name of the argument in the messages.

    Raises
    ------
    ValueError
        If the sizes of the last two axes differ, if an entry is not finite, or if a
        matrix differs from its transpose by more than 1e-6 of its largest entry.
    """
    shape = tuple(matrices.shape)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(
            f"{name} must be a stack of square matrices of shape (..., n, n), "
            f"got shape {shape}."
        )
    if shape[-1] == 0:
        raise ValueError(f"{name} must not be empty, got shape {shape}.")
    check_finite(matrices, name, axis=(-2, -1))
    xp = namespace(matrices)
    size = xp.max(xp.abs(matrices), axis=(-2, -1))
    gap = xp.max(xp.abs(matrices - adjoint(matrices)), axis=(-2, -1))
    asymmetric = gap > 1e-6 * size
    if xp.any(asymmetric):
        asymmetric, gap = to_numpy(asymmetric), to_numpy(gap)
        kind, transpose, remedy = "symmetric", "transpose", "(A + A.T) / 2"
        if is_complex(matrices):
            kind, transpose = "Hermitian", "conjugate transpose"
            remedy = "(A + A.conj().T) / 2"
        raise ValueError(
            f"{name}{_where(asymmetric)} is not {kind}: it differs from its "
            f"{transpose} by up to {gap[asymmetric].flat[0]:.3g}. "
            f"Use {remedy} if the difference is a rounding error."
        )


def check_finite(arrays, name, axis):
    """Raise ValueError unless the arrays along the given axes of a stack are finite."""
    xp = namespace(arrays)
    finite = xp.all(xp.isfinite(arrays), axis=axis)
    if not xp.all(finite):
        raise ValueError(
            f"{name}{_where(~to_numpy(finite))} contains NaN or infinity. "
            "Remove or impute such values first."
        )


def check_positive(eigenvalues, name, remedy=_SHRINK):
    """Raise ValueError unless all eigenvalues of a stack, (..., n), are positive.

    ``remedy`` is the remedy for eigenvalues that are zero up to rounding.
    """
    xp = namespace(eigenvalues)
    smallest = xp.min(eigenvalues, axis=-1)
    bad = ~(smallest > 0)
    if xp.any(bad):
        bad, smallest = to_numpy(bad), to_numpy(smallest)
        lowest, largest = smallest[bad].flat[0], to_numpy(eigenvalues)[bad].max()
        is_covariance = lowest >= -1e-6 * largest
        raise ValueError(
            f"{name}{_where(bad)} is not positive definite: its smallest eigenvalue "
            f"is {lowest:.3g}. {remedy if is_covariance else _INDEFINITE}"
        )


def check_accurate(eigenvalues, name):
    """Raise ValueError unless computed eigenvalues of SPD matrices are positive.

    Unlike Cholesky factors, eigenvalues are inaccurate if the units of channels differ.
    """
    xp = namespace(eigenvalues)
    bad = ~(xp.min(eigenvalues, axis=-1) > 0)
    if xp.any(bad):
        raise ValueError(
            f"The amplitudes of the channels of {name}{_where(to_numpy(bad))} differ "
            "too much for accurate eigenvalues. Divide each channel by its standard "
            "deviation."
        )


def check_semidefinite(
    matrices,
    name,
    kind="covariance",
    remedy="Set such eigenvalues to zero first",
    rounding=0,
):
    """Raise ValueError unless (c, n, n) matrices are positive semidefinite.

    Negative eigenvalues with absolute values up to 1e-8 of the trace, or up to
    ``rounding``, are accepted.
    """
    size = matrices.shape[-1]
    for index, matrix in enumerate(matrices):
        allowed = max(1e-8 * abs(np.trace(matrix)), rounding)
        try:  # much faster than computing eigenvalues
            np.linalg.cholesky(matrix + allowed * np.eye(size))
        except np.linalg.LinAlgError:
            smallest = np.linalg.eigvalsh(matrix)[0]
            if smallest < -allowed:
                where = f"[{index}]" if len(matrices) > 1 else ""
                raise ValueError(
                    f"{name}{where} is not a {kind}: it has the negative eigenvalue "
                    f"{smallest:.3g}. {remedy}."
                ) from None


def cholesky(matrices, name, epsilon=None):
    """Lower Cholesky factors of a stack (..., n, n) of positive definite matrices.

    Rounding errors make about half of all singular matrices positive definite. A matrix
    must therefore exceed :func:`rounding_bound` in :func:`_unexplained`, whatever the
    order and the units of its channels.

    Parameters
    ----------
    matrices : ndarray of shape (..., n, n)
        Symmetric or Hermitian matrices.
    name : str
        Name of the argument in the messages.
    epsilon : float, default=None
        Relative rounding error of the entries. None for the machine epsilon of their
        dtype.

    Raises
    ------
    ValueError
        If a matrix is not positive definite, or only due to rounding. The message names
        the first such matrix, its eigenvalues and the remedy.
    """
    xp = namespace(matrices)
    epsilon = epsilon or precision(real_part(matrices))
    bound = rounding_bound(matrices, epsilon)
    with suppress(np.linalg.LinAlgError):
        factors = cholesky_factors(matrices)
        if xp.all(_unexplained(matrices, factors) > bound):
            return factors
    for index in np.ndindex(tuple(matrices.shape[:-2])):
        if index:  # raises an error for the first matrix that is not accepted
            cholesky(matrices[(*index, ...)], f"{name}{list(index)}", epsilon)
    matrices = to_numpy(matrices)
    variances = np.diagonal(matrices, axis1=-2, axis2=-1).real
    remedy = _SHRINK
    if epsilon > np.finfo(np.float64).eps:
        remedy += " It may suffice to compute the matrices in float64, not in float32."
    if variances.min() <= 0:
        remedy = (
            f"Channel {variances.argmin()} has no variance, for example because it is "
            "disconnected. Remove the matrix, or the channel from all matrices."
        )
    eigenvalues = np.linalg.eigvalsh(matrices)
    # Without rounding, the smallest eigenvalue is at most the smallest variance. The
    # correlations require positive variances.
    eigenvalues[..., 0] = np.minimum(eigenvalues[..., 0], variances.min(axis=-1))
    check_positive(eigenvalues, name, remedy)
    deviations = np.sqrt(variances)
    correlations = matrices / deviations[..., None, :] / deviations[..., :, None]
    smallest = np.linalg.eigvalsh(correlations)[..., 0].min()
    raise ValueError(
        f"{name} is not positive definite to working precision: the smallest "
        f"eigenvalue of its correlation matrix is {smallest:.3g}. {remedy}"
    )


def rounding_bound(matrices, epsilon=None):
    """The result of :func:`_unexplained` up to which n x n matrices count as singular.

    In simulations, the results for singular covariances, with n from 2 to 128 and
    amplitudes that differ by factors up to 10^4, are up to (n + 12) epsilon.
    """
    return 2 * (matrices.shape[-1] + 8) * (epsilon or precision(real_part(matrices)))


def _unexplained(matrices, factors):
    """Smallest share of the variance of a channel that other channels do not explain.

    This is the smallest pivot of the Cholesky factorization of the correlation matrix C
    over all orders of the channels, and the inverse of the largest diagonal entry of
    the inverse of C. It is at least the smallest eigenvalue of C, and at most n times
    this eigenvalue. The pivots of a single order can be 10^5 times as large.
    """
    xp = namespace(matrices)
    deviations = xp.sqrt(real_part(xp.linalg.diagonal(matrices)))
    inverses = xp.linalg.inv(factors / deviations[..., :, None])
    return 1 / xp.max(xp.sum(xp.abs(inverses) ** 2, axis=-2), axis=-1)


def _where(mask):
    """Index of the first True in ``mask`` as text; empty for a single matrix."""
    if mask.ndim == 0:
        return ""
    return str(np.argwhere(mask)[0].tolist())
