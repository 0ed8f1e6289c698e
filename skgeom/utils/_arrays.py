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
    if all(isinstance(array, _OF_NUMPY) for array in arrays):
        return np
    from array_api_compat import array_namespace, is_array_api_obj, is_numpy_namespace

    of_libraries = [array for array in arrays if is_array_api_obj(array)]
    if not of_libraries:
        return np
    xp = array_namespace(*of_libraries)
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
        return np.asarray(to_numpy(array), dtype=dtype)
    if namespace(array) is not xp:
        array = to_numpy(array)
    if isinstance(array, _OF_NUMPY):
        array = np.asarray(array, order="C")  # torch takes no negative strides
        if array.dtype == np.float64 and not has_float64(model):
            array = array.astype(np.float32)
    if isinstance(dtype, str):
        dtype = getattr(xp, dtype)
    return xp.asarray(array, dtype=dtype, device=device_of(model))


def on_host(array):
    """An array of another library as one of numpy; anything else as it is."""
    return array if namespace(array) is np else to_numpy(array)


def float_dtypes(X):
    """The dtypes that validation lets pass for X: double, where X can be, and single.

    Anything else becomes the first of them.
    """
    if not is_dispatched(X):
        return [np.float64, np.float32]
    xp = namespace(X)
    return [xp.float64, xp.float32] if has_float64(X) else [xp.float32]


def double(array):
    """The array in double precision, or in single if the device has no double."""
    xp = namespace(array)
    return xp.astype(array, float_dtype(array), copy=False)


def float_dtype(array):
    """That of double precision, or of single if the device has no double."""
    xp = namespace(array)
    return xp.float64 if has_float64(array) else xp.float32


def take_rows(array, rows):
    """Rows of an array, by their numbers, a mask, or a slice, of numpy."""
    if isinstance(array, _OF_NUMPY):
        return array[rows]
    if isinstance(rows, slice):
        return array[rows, ...]
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    return namespace(array).take(array, like(rows, array), axis=0)


def has_float64(array):
    """Whether the device of an array computes in double precision."""
    xp = namespace(array)
    if xp is np:
        return True
    dtypes = xp.__array_namespace_info__().dtypes(
        device=device_of(array), kind="real floating"
    )
    return "float64" in dtypes
