"""Validation of samples, SPD matrices, labels, priors and weights; and warnings."""

import functools
import inspect
import os
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, _num_samples
from sklearn.utils.validation import check_array as _check_array

from skgeom.utils.array_api import (
    adjoint,
    astype,
    by_numpy,
    check_holds_numbers,
    check_library,
    cholesky_factors,
    each,
    float_dtype,
    float_dtypes,
    is_complex,
    is_in_host_memory,
    like,
    namespace,
    on_cpu,
    take,
    to_numpy,
)
from skgeom.utils.estimator import naming, validate_data
from skgeom.utils.linalg import embedded, from_embedded

# What to do about matrices that are not positive definite.
_SHRINK = (
    "Add 0.001 of the mean diagonal entry times the identity, or use a shrunk "
    'covariance estimate, for example pyriemann.estimation.Covariances("oas").'
)


def check_array(array, *, input_name, **options):
    """Array that scikit-learn's check accepts, or an error that names the argument."""
    with naming(input_name):
        return _check_array(array, input_name=input_name, **options)


def checked_labels(y, X, whole=True):
    """Labels of the samples X, in CPU memory, or an error that names y.

    A block of samples, with ``whole=False``, may hold few equal labels, which
    scikit-learn's check warns of.
    """
    y = checked_targets(on_cpu(known_labels(y)), X)
    if whole or not _are_classes(y):
        with naming("y"):
            check_classification_targets(y)
    return y


def checked_targets(y, X, **options):
    """Values of the samples X, finite and one for each, or an error that names y."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    with naming("y"):
        y = _check_y(y, **options)
    with naming("X"):
        n_samples = _num_samples(X)
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} samples, but y has {len(y)} labels.")
    return y


def float64_arrays(*names, cast=None, complex_allowed=False, on_cpu=False):
    """Compute in float64 and return float32 only if all named arrays are float32.

    The decorated function receives its arguments ``names`` as float64 arrays. Its
    result, an array, is cast back: factorizations in float32 would lose half of the
    digits. ``cast(result, arguments)``, if given, casts it; ``arguments`` maps names to
    the arguments of the call.

    If an argument is an array of a different library on a device, all become such
    arrays, in float32 if the device has no float64. NumPy computes with arrays in CPU
    memory, and with all arrays if ``on_cpu``; the result is moved back. If complex
    numbers are allowed and an argument has them, all become complex, of the same
    precision.
    """

    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            given = [bound.arguments[name] for name in names]
            xp = namespace(*given)
            model = None
            if (
                xp is not np
            ):  # lists and numbers become arrays on the device of the first one
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
            for name, array in arrays.items():
                bound.arguments[name] = astype(array, double)
            result = function(*bound.args, **bound.kwargs)
            single = (xp.float32, xp.complex64)
            if not all(array.dtype in single for array in arrays.values()):
                return result
            if cast is not None:
                return cast(result, bound.arguments)
            return each(_in_single, result)

        return wrapper

    return decorate


def _in_single(array):
    xp = namespace(array)
    return astype(array, xp.complex64 if is_complex(array) else xp.float32)


def real_array(array, name, model=None, complex_allowed=False):
    """An array that is not complex, and holds no text or objects; or an error.

    It is numpy's, or if ``model`` is given, of the library and on the device of that.
    """
    array = np.asarray(array) if model is None else like(array, model)
    xp = namespace(array)
    if xp is np:
        real = array.dtype.kind in "fiub"
    else:
        real = xp.isdtype(array.dtype, ("bool", "integral", "real floating"))
    if not real and not (complex_allowed and is_complex(array)):
        kinds = "real or complex" if complex_allowed else "real"
        raise TypeError(f"{name} must hold {kinds} numbers, got dtype {array.dtype}.")
    return array


def check_symmetric(matrices, name):
    """Raise unless ``matrices`` is a finite stack of symmetric matrices.

    Complex ones must be Hermitian, equal to their conjugate transposes.

    Parameters
    ----------
    matrices : ndarray of shape (..., n, n)
        The stack to check.
    name : str
        Name of the argument in the messages.

    Raises
    ------
    ValueError
        If the last two axes differ, or if an entry is not finite, or if a matrix
        differs from its transpose by more than 1e-6 of its largest entry.
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
            f"{transpose} by up to {gap[asymmetric].flat[0]:.3g}; "
            f"use {remedy} if that is rounding."
        )


def check_finite(arrays, name, axis):
    """Raise ValueError unless the arrays along some axes of a stack are finite."""
    xp = namespace(arrays)
    finite = xp.all(xp.isfinite(arrays), axis=axis)
    if not xp.all(finite):
        raise ValueError(
            f"{name}{_where(~to_numpy(finite))} contains NaN or infinity; "
            "remove or impute such values first."
        )


def check_positive(eigenvalues, name):
    """Raise ValueError unless all eigenvalues of a stack, (..., n), are positive."""
    xp = namespace(eigenvalues)
    smallest = xp.min(eigenvalues, axis=-1)
    bad = ~(smallest > 0)
    if xp.any(bad):
        bad, smallest = to_numpy(bad), to_numpy(smallest)
        raise ValueError(
            f"{name}{_where(bad)} is not positive definite: its smallest eigenvalue "
            f"is {smallest[bad].flat[0]:.3g}. {_SHRINK}"
        )


def check_semidefinite(
    matrices,
    name,
    kind="covariance",
    remedy="Set such eigenvalues to zero first",
    rounding=0,
):
    """Raise ValueError unless (c, n, n) matrices are semidefinite to rounding.

    Negative eigenvalues down to 1e-8 of the trace, or ``rounding``, are let pass.
    """
    size = matrices.shape[-1]
    for index, matrix in enumerate(matrices):
        allowed = max(1e-8 * abs(np.trace(matrix)), rounding)
        try:  # much cheaper than eigenvalues
            np.linalg.cholesky(matrix + allowed * np.eye(size))
        except np.linalg.LinAlgError:
            smallest = np.linalg.eigvalsh(matrix)[0]
            if smallest < -allowed:
                where = f"[{index}]" if len(matrices) > 1 else ""
                raise ValueError(
                    f"{name}{where} is no {kind}: it has the negative eigenvalue "
                    f"{smallest:.3g}. {remedy}."
                ) from None


def cholesky(matrices, name):
    """Lower Cholesky factors of a stack (..., n, n), or an error that names the matrix.

    Raises
    ------
    ValueError
        If a matrix is not positive definite; names it, its smallest eigenvalue and
        the remedy.
    """
    try:
        return cholesky_factors(matrices)
    except np.linalg.LinAlgError:
        eigenvalues = np.linalg.eigvalsh(to_numpy(matrices))
        check_positive(eigenvalues, name)
        # All eigenvalues came out positive, by less than rounding: name the worst.
        ratio = eigenvalues[..., 0] / eigenvalues[..., -1]
        worst = ratio == ratio.min()
        raise ValueError(
            f"{name}{_where(worst)} is not positive definite to working precision: its "
            f"eigenvalues span a ratio of {ratio.min():.3g}. {_SHRINK}"
        ) from None


def require_memory(n_bytes, contents, remedy):
    """Raise MemoryError, before an allocation, if it needs more than there is."""
    if n_bytes > memory():
        raise MemoryError(
            f"{contents} need {n_bytes / 1e9:.3g} GB, but there are "
            f"{memory() / 1e9:.3g} GB of free memory. {remedy}"
        )


def memory():
    """Bytes of memory available to this process, or an upper bound; may be infinite."""
    # Reading them takes as long as merging statistics: once in a second is enough.
    return _memory(int(time.monotonic()))


@functools.lru_cache(maxsize=1)
def _memory(second):
    sizes = [np.inf]
    with suppress(AttributeError, OSError, ValueError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # "max" is no number
        sizes.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    with suppress(OSError, IndexError):  # Linux counts what caches would give back
        text = Path("/proc/meminfo").read_text()
        sizes.append(1024 * int(text.split("MemAvailable:")[1].split()[0]))
    return min(sizes)


def checked_samples(X, y, sample_weight, some=True):
    """Valid samples, labels and weights; ``some`` of the weights must be positive."""
    X = check_array(X, input_name="X", dtype=float_dtypes(X))
    y = checked_labels(y, X, whole=some)
    if sample_weight is not None:
        X, y, sample_weight = weighted_samples(X, y, sample_weight, some=some)
    return X, y, sample_weight


def weighted_samples(X, y, sample_weight, *, some=True):
    """The samples of positive weight, at least one if ``some``, and their weights."""
    if not some and not np.any(on_cpu(sample_weight)):
        return take(X, slice(0)), y[:0], None
    # Labels and weights remain in CPU memory, on whichever device X is.
    sample_weight = check_sample_weight(
        on_cpu(sample_weight), y, dtype=np.float64, ensure_non_negative=True
    )
    positive = sample_weight > 0
    if not positive.any():  # older versions of scikit-learn let this pass
        raise ValueError("sample_weight must have at least one non-zero number.")
    return take(X, positive), y[positive], sample_weight[positive]


def known_labels(y):
    """The labels, as an array if they are of pandas or pyarrow.

    Nullable dtypes of pandas become NumPy dtypes: scikit-learn would convert integers
    and booleans to floating-point numbers.

    Raises
    ------
    ValueError
        If labels of a series, of a list, or objects are missing.
    """
    if type(y).__module__.partition(".")[0] == "pyarrow":
        y = y.to_pandas()
    if hasattr(y, "isna"):
        missing, y = np.asarray(y.isna()), np.asarray(y)
    elif isinstance(y, list | tuple) or getattr(y, "dtype", None) == "O":
        missing = np.array([_is_missing(label) for label in y], dtype=bool)
    else:
        return y
    if missing.any():
        raise ValueError(
            f"{missing.sum()} of the labels in y are missing, the first one in row "
            f"{np.argmax(missing)}. Remove these samples."
        )
    if getattr(y, "dtype", "O") == "O" and {*map(type, y)} in ({int}, {bool}):
        return np.array([*y])  # scikit-learn rejects arrays of such objects
    return y


def _is_missing(label):
    """Whether a label is None, NaN or the missing value of pandas."""
    return label is None or is_scalar_nan(label) or is_pandas_na(label)


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
    return "numbers" if labels.dtype.kind in "iuf" else labels.dtype


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


def check_two_classes(classes, name, argument="y"):
    """Raise ValueError if ``name``, an estimator, is given fewer than two classes."""
    if len(classes) < 2:
        found = f"1 class, {classes[0]!s}" if len(classes) else "0 classes"
        raise ValueError(
            f"{name} requires samples of at least 2 classes, but {argument} contains "
            f"{found}. Add samples of a different class. Samples with sample_weight=0 "
            "do not count."
        )


def check_priors(priors, weights):
    """Class probabilities by the parameter ``priors``.

    Parameters
    ----------
    priors : None, "empirical", "uniform" or array-like of shape (n_classes,)
        None and ``"empirical"`` are the proportions of the classes in training.
    weights : ndarray of shape (n_classes,)
        Number of training samples of each class, or the sum of their weights.

    Returns
    -------
    ndarray of shape (n_classes,)
        Positive numbers of sum one, in the order of ``classes_``.

    Raises
    ------
    ValueError
        If an array has a wrong shape, a number that is not positive, or a sum that
        differs from one by more than 1e-5.
    """
    n_classes = len(weights)
    if priors is None or isinstance(priors, str):
        if priors == "uniform":
            return np.full(n_classes, 1 / n_classes)
        return weights / weights.sum()
    check_not_dict(priors, "priors")
    given = check_array(
        on_cpu(priors),
        dtype=np.float64,
        ensure_2d=False,
        ensure_all_finite=False,  # no number is not a positive one
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


def class_factors(class_weight, classes, *, zero=False):
    """Factors of the class weights, from the parameter ``class_weight``.

    Parameters
    ----------
    class_weight : None or dict
        Factors by class label, 1 for labels that it lacks.
    classes : ndarray of shape (n_classes,)
        The labels.
    zero : bool, default=False
        Whether a factor may be zero.

    Returns
    -------
    ndarray of shape (n_classes,)
        The factors, in the order of ``classes``.

    Raises
    ------
    ValueError
        If a factor is negative, infinite or, unless allowed, zero, or if the dict has
        no label of ``classes``.
    """
    # Of the classes, not of samples: each is there once.
    with naming("class_weight"):
        factors = compute_class_weight(class_weight, classes=classes, y=classes)
    wrong = ~(np.isfinite(factors) & (factors >= 0 if zero else factors > 0))
    if wrong.any():
        allowed = "finite and not negative" if zero else "positive and finite"
        raise ValueError(
            f"class_weight must be {allowed}, got {factors[wrong][0]:g} for the class "
            f"{classes[wrong].tolist()[0]!r}. To exclude a class, remove its samples."
        )
    return factors


def check_spd_samples(
    estimator, X, *, reset, ensure_min_samples=1, name=None, hermitian=False
):
    """X as SPD matrices, made exactly symmetric; sets or compares ``n_features_in_``.

    Parameters
    ----------
    estimator : estimator
        The one that X was given to; messages have its name.
    X : array-like of shape (n_samples, n, n)
        The samples, of any kind.
    reset : bool
        Whether this is ``fit``, which learns the size of the matrices.
    ensure_min_samples : int, default=1
        How many samples there must be.
    name : str, default=None
        What messages call the estimator, if not by its class.
    hermitian : bool, default=False
        Whether X may be complex. Then this sets ``is_complex_``, too, and real matrices
        become complex for an estimator that was fitted on complex ones.

    Returns
    -------
    ndarray of shape (n_samples, n, n)
        In double or single precision, as X.

    Raises
    ------
    ValueError
        If X has another shape, or if a matrix is not finite, not symmetric or not
        positive definite; the message names the matrix and its smallest eigenvalue.
    """
    name = name or type(estimator).__name__
    is_hermitian = check_stack(X, name, hermitian)
    check_library(X, estimator, name)
    if namespace(X) is np:  # three arrays, four times as large in the real embedding
        require_memory(
            24 * (1 + 3 * is_hermitian) * np.prod(shape_of(X), dtype=float),
            f"The matrices X, of shape {shape_of(X)}, and their factors",
            "Use fewer samples, or smaller matrices, for example of fewer channels.",
        )
    if hermitian and reset:
        estimator.is_complex_ = is_hermitian
    elif is_hermitian and not estimator.is_complex_:
        raise ValueError(
            f"X is complex, but {name} was fitted on real matrices. Fit it on complex "
            "matrices, or pass X.real."
        )
    if is_hermitian:  # scikit-learn does not validate complex numbers
        X = embedded(np.asarray(X))
    X = validate_data(
        estimator,
        X,
        dtype=float_dtypes(X),
        ensure_2d=False,
        allow_nd=True,
        ensure_all_finite=False,  # check_symmetric names the matrix
        ensure_min_samples=ensure_min_samples,
        reset=reset,
    )
    check_symmetric(X, "X")
    X = X / 2 + X.mT / 2  # the sum of large numbers may overflow
    cholesky(astype(X, float_dtype(X)), "X")
    if hermitian and estimator.is_complex_:
        X = from_embedded(X) if is_hermitian else X + 0j
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
    """The shape of an array or of nested lists, or an error that names X."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple):
        return shape
    with naming("X"):
        return np.asarray(X).shape


def check_stack(X, name, hermitian=False):
    """Raise unless X, of any kind, is a stack of square matrices; ``name`` takes it.

    Returns whether the matrices are complex, which is an error unless ``hermitian``.
    """
    shape = shape_of(X)
    if len(shape) != 3:
        raise ValueError(
            f"{name} takes SPD matrices, X of shape (n_samples, n, n), but got an "
            f"array of {len(shape)} dimensions. Reshape your data, for one matrix to "
            "X[None], or compute covariance matrices first. For vectors, use RSLVQ or "
            "GMLVQ."
        )
    if shape[1] != shape[2]:
        raise ValueError(
            f"{name} takes square matrices, X of shape (n_samples, n, n), but X has "
            f"shape {shape}. If these are signals, put "
            'pyriemann.estimation.Covariances("oas") in front.'
        )
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    is_complex = getattr(dtype, "kind", None) == "c"
    if is_complex and not hermitian:
        raise ValueError(
            f"Complex data not supported by {name}. Convert them to real matrices with "
            "skgeom.geometry.real_embedding(X)."
        )
    return is_complex


def check_not_dict(values, name):
    """Raise ValueError if values are given by class label."""
    if isinstance(values, Mapping):
        raise ValueError(
            f"{name} must be a list of one value per class, in the order of classes_, "
            f"not a dict; use [{name}[label] for label in np.unique(y)]."
        )


def _where(mask):
    """Index of the first True in mask as text, nothing for a single matrix."""
    if mask.ndim == 0:
        return ""
    index = np.argwhere(mask)[0]
    return "[" + ", ".join(str(i) for i in index) + "]"


def check_sample_weight(sample_weight, X, **options):
    """Valid weights of samples, one for each if None, that can be squared.

    Raises
    ------
    ValueError
        If they are malformed, or too large or too small.
    """
    with naming("sample_weight"):
        weights = _check_sample_weight(sample_weight, X, **options)
    largest = float(abs(weights).max()) if len(weights) else 1.0
    # The squares of larger weights times squared data may overflow, and the squares of
    # their inverses underflow.
    limit = np.sqrt(np.sqrt(np.finfo(np.float64).max))
    if not largest <= limit or 0 < largest < 1 / limit:  # or NaN
        raise ValueError(
            f"sample_weight has numbers up to {largest:.3g}, whose squares exceed the "
            "range of floating-point numbers. Divide all weights by their mean."
        )
    return weights


_OURS = ("skgeom", "sklearn")


def warn_user(message, category):
    """Warn with the location of the first frame outside skgeom and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


# A file of scikit-geometry, and of no version of this package.
_ITS_FILE = "draw.py"


def warn_of_scikit_geometry(folder):
    """Warn if scikit-geometry is installed into this package's folder as well."""
    if Path(folder, _ITS_FILE).exists():
        warn_user(
            "The package scikit-geometry is installed in the same folder, "
            f"{folder}: it is imported as skgeom, too, and the one that was installed "
            "last has replaced files of the other. Uninstall both, and install them in "
            "environments of their own.",
            RuntimeWarning,
        )
