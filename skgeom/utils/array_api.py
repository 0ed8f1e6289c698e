"""Functions for arrays of all libraries that support the array API standard.

With scikit-learn's ``array_api_dispatch=True``, arrays of PyTorch, CuPy or JAX on a
device such as a GPU are processed by their library on this device. Arrays in CPU memory
are processed with NumPy, which is equally fast there. For NumPy arrays, no other
library is imported.

``utils/methods.py`` converts the arguments and results of the public methods of
estimators, so most modules see NumPy arrays only. The functions here are for the code
between, and for computations on a device:

=========  =============================================================================
to NumPy   ``to_numpy`` (an array), ``on_cpu`` (any argument)
back       ``like`` (an array), ``numbers_like`` (any value), ``by_numpy`` (the results
           of a function), ``move_attributes`` and ``moved`` (an estimator)
ask        ``namespace``, ``is_dispatched``, ``is_by_numpy``, ``is_in_host_memory``,
           ``is_traced``, ``device_of``, ``has_float64``, ``is_complex``
check      ``check_holds_numbers``, ``check_same_namespace``, ``check_library``
compute    all other functions, which do what those of NumPy do
=========  =============================================================================
"""

from contextlib import contextmanager
from functools import partial

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils import get_tags

from skgeom.utils import _sklearn
from skgeom.utils._sklearn import ARRAY_API

# Types that NumPy accepts: no other library is imported for them.
_OF_NUMPY = (np.ndarray, np.generic, bool, int, float, list, tuple, type(None), type)


# To NumPy


def to_numpy(array):
    """The array as a NumPy array, copied to CPU memory if it is on another device."""
    if isinstance(array, _OF_NUMPY):
        return np.asarray(array)
    from array_api_compat import is_cupy_array, is_torch_array

    if is_torch_array(array):
        if str(array.dtype) == "torch.bfloat16":
            array = array.float()  # NumPy has no bfloat16
        return array.numpy(force=True)
    if is_cupy_array(array):
        return array.get()
    if namespace(array).__name__ == "array_api_strict":  # has devices for tests
        xp = namespace(array)
        array = xp.asarray(array, device=xp.Device("CPU_DEVICE"))
    return np.asarray(array)


def on_cpu(array):
    """Arrays of any library as NumPy arrays; other arguments unchanged."""
    return array if namespace(array) is np else to_numpy(array)


# Back


def like(array, model, dtype=None):
    """An array in the namespace and on the device of ``model``.

    The dtype does not change, unless ``dtype`` is given. If the device does not support
    float64, float64 is converted to float32.
    """
    xp = namespace(model)
    if xp is np:
        return np.asarray(to_numpy(array), dtype=dtype)
    if namespace(array) is not xp:
        array = to_numpy(array)
    if isinstance(array, _OF_NUMPY):
        array = np.asarray(array)
        # torch accepts neither negative strides nor read-only arrays.
        if not array.flags.writeable or min(array.strides, default=0) < 0:
            array = array.copy()
        if array.dtype == np.float64 and not has_float64(model):
            array = array.astype(np.float32)
    if namespace(array) is xp and device_of(array) == device_of(model):
        return array if dtype is None else astype(array, dtype)
    return xp.asarray(array, dtype=dtype, device=device_of(model))


def numbers_like(value, model):
    """A numeric array moved like ``model``; other values unchanged."""
    return like(value, model) if _is_array_of_numbers(value) else value


def _is_array_of_numbers(value):
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "fiubc"
    return namespace(value) is not np


def by_numpy(function, model, /, *args, **kwargs):
    """Call a function with NumPy arguments; its result is moved like ``model``."""
    args = [on_cpu(arg) for arg in args]
    kwargs = {name: on_cpu(arg) for name, arg in kwargs.items()}
    move = partial(_moved, convert=partial(like, model=model))
    return each(move, function(*args, **kwargs))


def each(convert, result):
    """Apply ``convert`` to an array, or to each array of a tuple."""
    if isinstance(result, tuple):
        return tuple(map(convert, result))
    return convert(result)


def move_attributes(estimator, X):
    """Move the fitted arrays of an estimator, except ``classes_``, like X."""
    if namespace(X) is not np:
        vars(estimator).update(moved(vars(estimator), partial(like, model=X)))


def moved(attributes, convert):
    """The attributes of an estimator, with converted fitted arrays.

    Objects with the method that scikit-learn's ``move_estimator_to`` calls are
    converted as well. Parameters, text and ``classes_`` do not change.
    """
    result = dict(attributes)
    for name, value in attributes.items():
        fitted = name.endswith("_") or name.startswith("_")
        if fitted and name != "classes_" and not isinstance(value, np.generic):
            result[name] = _moved(value, convert)
    return result


def _moved(value, convert):
    if isinstance(value, type):
        return value
    if hasattr(value, "__sklearn_array_api_convert__"):
        return value.__sklearn_array_api_convert__(convert)
    return convert(value) if _is_array_of_numbers(value) else value


# Ask


def namespace(*arrays):
    """The array API namespace of arrays; NumPy if all are NumPy arrays or no arrays.

    Raises
    ------
    TypeError
        If the arrays have different namespaces.
    """
    for array in arrays:  # faster than any(...), which matters for small arrays
        if not isinstance(array, _OF_NUMPY) and hasattr(array, "__dlpack__"):
            break
    else:
        return np
    from array_api_compat import array_namespace, is_array_api_obj, is_numpy_namespace

    arrays = [*filter(is_array_api_obj, arrays)]  # without those of pyarrow
    xp = array_namespace(*arrays) if arrays else np
    return np if is_numpy_namespace(xp) else xp


def is_dispatched(X):
    """Whether array API dispatch selects a library other than NumPy for X."""
    return (
        not isinstance(X, _OF_NUMPY)
        and get_config()["array_api_dispatch"]
        and namespace(X) is not np
    )


def is_by_numpy(X):
    """Whether X, an array of another library than NumPy, is processed with NumPy.

    Raises ValueError if X contains no numbers.
    """
    if not is_dispatched(X):
        return False
    check_holds_numbers(X)
    return is_in_host_memory(X)


def is_in_host_memory(array):
    """Whether NumPy can read an array of another library without a copy.

    False if the library records operations on the array to compute derivatives.
    """
    # The CPU has names with capitals in JAX and array_api_strict, or with a number.
    # Traced arrays of JAX have no device.
    is_cpu = "cpu" in str(device_of(array)).lower()
    return is_cpu and not _is_recorded(array)


def _is_recorded(array):
    """Whether PyTorch differentiates a tensor, in reverse or forward mode."""
    from array_api_compat import is_torch_array

    if not is_torch_array(array):
        return False
    if array.requires_grad:
        return True
    from torch.autograd.forward_ad import unpack_dual

    try:
        array.data_ptr()
    except RuntimeError:  # the tensors of torch.func have no memory of their own
        return True
    return unpack_dual(array).tangent is not None


def is_traced(X):
    """Whether JAX traces X, for ``jit``, ``vmap`` or ``grad``.

    Traced arrays have neither values nor a device.
    """
    return is_dispatched(X) and device_of(X) is None


def device_of(array):
    """The device of an array; None for NumPy and sparse arrays."""
    if isinstance(array, _OF_NUMPY) or issparse(array):
        return None
    from array_api_compat import device

    return device(array)


def has_float64(array):
    """Whether the device of an array supports float64."""
    xp = namespace(array)
    if xp is np:
        return True
    dtypes = xp.__array_namespace_info__().dtypes(
        device=device_of(array), kind="real floating"
    )
    return "float64" in dtypes


def float_dtype(array):
    """The dtype float64, or float32 if the device does not support float64."""
    xp = namespace(array)
    return xp.float64 if has_float64(array) else xp.float32


def device_and_dtype(array):
    """The dtype and device of an array, as keyword arguments of creation functions."""
    return {"dtype": array.dtype, "device": device_of(array)}


def precision(array):
    """The machine epsilon of the dtype of an array."""
    return float(namespace(array).finfo(array.dtype).eps)


def is_complex(array):
    """Whether an array is complex."""
    if isinstance(array, _OF_NUMPY):
        return np.iscomplexobj(array)
    return namespace(array).isdtype(array.dtype, "complex floating")


# Check


def check_holds_numbers(array, name="X"):
    """Raise ValueError for sparse tensors, and for tensors without values.

    ``name`` is the name of the argument in the message.
    """
    if isinstance(array, _OF_NUMPY) or not hasattr(array, "__dlpack__"):
        return
    layout = getattr(array, "layout", None)
    if "strided" not in str(layout or "strided"):
        raise ValueError(
            f"{name} is a sparse tensor, of layout {layout}, but must be dense. Use "
            f"{name}.to_dense(), or a SciPy sparse array if the estimator accepts it."
        )
    if str(device_of(array)) == "meta":
        raise ValueError(
            f"{name} is on the device 'meta', where tensors have no values. Load or "
            "compute it on another device first."
        )


def check_same_namespace(X, estimator, *, attribute, method):
    """Raise ValueError unless X has the namespace of a fitted attribute."""
    if is_dispatched(X):
        check_holds_numbers(X)
    if ARRAY_API:
        check = _sklearn.check_same_namespace
        check(X, estimator, attribute=attribute, method=method)
    else:
        check_library(X, estimator)
    if namespace(getattr(estimator, attribute)) is not np and not is_dispatched(X):
        raise ValueError(
            f"{type(estimator).__name__} was fitted to arrays of a library other than "
            f"NumPy. Before {method}, call set_config(array_api_dispatch=True), or "
            "move the estimator to NumPy with "
            'sklearn.utils._array_api.move_estimator_to(estimator, numpy, "cpu").'
        )


def check_library(X, estimator, name=None):
    """Raise ValueError if the estimator does not support the library of X."""
    if is_dispatched(X) and not get_tags(estimator).array_api_support:
        version = "" if ARRAY_API else " with this version of scikit-learn"
        raise ValueError(
            f"{name or type(estimator).__name__} does not support arrays of libraries "
            f"other than NumPy{version}. Convert X to a NumPy array, or call "
            "set_config(array_api_dispatch=False)."
        )


# Compute


def take(array, rows, axis=0):
    """Rows (axis 0) or columns (axis 1), selected by indices, a mask or a slice."""
    xp = namespace(array)
    if xp is np:
        return array[:, rows] if axis else array[rows]
    if isinstance(rows, slice):
        return array[:, rows] if axis else array[rows, ...]
    if isinstance(rows, np.ndarray) and rows.dtype == bool:
        rows = np.flatnonzero(rows)
    return xp.take(array, like(rows, array), axis=axis)


def take_labels(classes, numbers):
    """The labels of encoded classes; text labels are always NumPy arrays."""
    xp = namespace(numbers)
    if xp is np or not _is_array_of_numbers(classes):
        return classes[to_numpy(numbers)]
    return xp.take(like(classes, numbers), numbers, axis=0)


def block(matrix, rows, columns):
    """The submatrix with the given rows and columns."""
    if namespace(matrix) is np:
        return matrix[np.ix_(rows, columns)]
    return take(take(matrix, rows), columns, axis=1)


def put(array, mask, values):
    """The array with ``values`` where ``mask`` is true. ``array`` may be modified."""
    if namespace(array) is np:
        array[mask] = values
        return array
    from array_api_extra import at

    return at(array, mask).set(values)


def astype(array, dtype, copy=False):
    """The array converted to a dtype; not copied by default if it has this dtype."""
    xp = namespace(array)
    if xp is np:
        return array.astype(dtype, copy=copy)  # numpy.astype is newer than numpy 2.0
    return xp.astype(array, dtype, copy=copy)


def in_double(array, copy=False):
    """The array in double precision, or single if the device does not support float64.

    Complex arrays remain complex.
    """
    xp = namespace(array)
    if xp is np:
        dtype = np.complex128 if np.iscomplexobj(array) else np.float64
        return array.astype(dtype, copy=copy)
    dtype = float_dtype(array)
    if is_complex(array):
        dtype = xp.complex128 if dtype == xp.float64 else xp.complex64
    return astype(array, dtype, copy)


def largest_size(array):
    """The largest absolute value of an array or sparse matrix."""
    xp = namespace(array)
    return float(abs(array).max() if xp is np else xp.max(xp.abs(array)))


def average(arrays, weights):
    """The weighted mean along the first axis."""
    if issparse(arrays):
        return (weights @ arrays) / weights.sum()
    xp = namespace(arrays)
    weights = xp.reshape(weights, (-1,) + (1,) * (arrays.ndim - 1))
    return xp.sum(weights * arrays, axis=0) / xp.sum(weights)


def real_part(array):
    """The real parts of complex arrays; real arrays unchanged."""
    return namespace(array).real(array) if is_complex(array) else array


def adjoint(matrices):
    """The conjugate transposes of a stack; views if the matrices are real."""
    if not is_complex(matrices):
        return matrices.mT
    return namespace(matrices).conj(matrices).mT


@contextmanager
def linear_algebra():
    """Context that converts the LinAlgError of any library to the error of NumPy."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise
    except Exception as error:
        if "LinAlgError" not in type(error).__name__:
            raise
        raise np.linalg.LinAlgError(str(error)) from error


def cholesky_factors(matrices):
    """Lower Cholesky factors; NumPy's LinAlgError if a matrix is not definite."""
    xp = namespace(matrices)
    if xp is np:
        return np.linalg.cholesky(matrices)
    with linear_algebra():
        factors = xp.linalg.cholesky(matrices)
    if not xp.isfinite(xp.sum(factors)):  # some libraries raise no error
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return factors
