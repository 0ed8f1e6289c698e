"""Arrays of other libraries than numpy, by the array API standard.

With scikit-learn's ``array_api_dispatch=True``, estimators compute with arrays of
torch, CuPy or JAX by that library, on the device where they lie. For arrays of numpy,
nothing is imported here and numpy itself is used.
"""

import numpy as np
from sklearn import get_config

# What numpy takes as it is, so that no other library is looked for.
_OF_NUMPY = (np.ndarray, np.generic, bool, int, float, list, tuple, type(None))


def namespace(*arrays):
    """The functions of the library that some arrays are of, by their standard names.

    This is numpy for arrays of numpy, and for all that is no array of any library.

    Raises
    ------
    TypeError
        If the arrays are of more than one library.
    """
    others = [
        array
        for array in arrays
        if not isinstance(array, _OF_NUMPY) and hasattr(array, "__dlpack__")
    ]
    if not others:
        return np
    from array_api_compat import array_namespace, is_array_api_obj, is_numpy_namespace

    xp = array_namespace(*filter(is_array_api_obj, arrays))
    return np if is_numpy_namespace(xp) else xp


def is_dispatched(X):
    """Whether an estimator computes with X by another library than numpy."""
    return (
        not isinstance(X, _OF_NUMPY)
        and get_config()["array_api_dispatch"]
        and namespace(X) is not np
    )


def device_of(array):
    """Where an array lies, as its library takes it; None for numpy's."""
    if isinstance(array, _OF_NUMPY):
        return None
    from array_api_compat import device

    return device(array)


def to_numpy(array):
    """The array as one of numpy, copied to the host where it lies elsewhere."""
    if isinstance(array, _OF_NUMPY):
        return np.asarray(array)
    from array_api_compat import is_cupy_array, is_torch_array

    if is_torch_array(array):
        return array.detach().cpu().numpy()
    if is_cupy_array(array):
        return array.get()
    if namespace(array).__name__ == "array_api_strict":  # has devices for tests
        xp = namespace(array)
        array = xp.asarray(array, device=xp.Device("CPU_DEVICE"))
    return np.asarray(array)


def like(array, model, dtype=None):
    """An array of numpy, or of the library of ``model``, as one beside ``model``.

    Its dtype is kept, unless ``dtype`` names another one, or if the device has no
    double precision: then it is single.
    """
    xp = namespace(model)
    if xp is np:
        return np.asarray(array, dtype=dtype)
    if isinstance(array, _OF_NUMPY):
        array = np.asarray(array, order="C")  # torch takes no negative strides
        if array.dtype == np.float64 and not has_float64(model):
            array = array.astype(np.float32)
    if isinstance(dtype, str):
        dtype = getattr(xp, dtype)
    return xp.asarray(array, dtype=dtype, device=device_of(model))


def has_float64(array):
    """Whether the device of an array computes in double precision."""
    xp = namespace(array)
    if xp is np:
        return True
    dtypes = xp.__array_namespace_info__().dtypes(
        device=device_of(array), kind="real floating"
    )
    return "float64" in dtypes


def take(array, numbers, axis=0):
    """The rows, or columns, of a matrix that have some numbers."""
    xp = namespace(array)
    if xp is not np:
        return xp.take(array, like(numbers, array), axis=axis)
    return array[:, numbers] if axis else array[numbers]


def block(matrix, rows, columns):
    """The rows and columns of a matrix that have some numbers."""
    if namespace(matrix) is np:
        return matrix[np.ix_(rows, columns)]
    return take(take(matrix, rows), columns, axis=1)


def float_dtypes(X):
    """The two dtypes that samples may have, the first of which others become."""
    if not is_dispatched(X):
        return [np.float64, np.float32]
    xp = namespace(X)
    return [xp.float64, xp.float32] if has_float64(X) else [xp.float32]


def dtype_name(array):
    """The name of the dtype of floating-point numbers, which all libraries share."""
    return "float32" if precision(array) > 1e-10 else "float64"


def precision(array):
    """The relative precision of the numbers of an array."""
    return float(namespace(array).finfo(array.dtype).eps)


def as_dtype(array, dtype, copy=False):
    """The array with another dtype of its library."""
    xp = namespace(array)
    if xp is np:
        return array.astype(dtype, copy=copy)
    return xp.astype(array, dtype, copy=copy)


def in_double(array, copy=False):
    """The array in double precision, where its device has that."""
    xp = namespace(array)
    return as_dtype(array, xp.float64 if has_float64(array) else xp.float32, copy)


def on_host(array):
    """An array of another library as one of numpy; all else as it is."""
    return to_numpy(array) if is_dispatched(array) else array


def move_attributes(estimator, X):
    """Move the fitted arrays of an estimator to where X is; text stays numpy's."""
    if namespace(X) is np:
        return
    for name, value in vars(estimator).items():
        fitted = name.endswith("_") or name.startswith("_")
        if fitted and isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            setattr(estimator, name, like(value, X))
