"""Checks of kernel functions, their arguments and their values."""

from itertools import combinations, combinations_with_replacement

import numpy as np
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.utils import gen_batches

from skgeom.utils.array_api import namespace, take, to_numpy
from skgeom.utils.threads import map_threads, one_blas_thread
from skgeom.utils.validation import check_symmetric, warn_user

# Parameters of named kernels that are parameters of the estimator.
_ESTIMATOR_PARAMETERS = ("gamma", "degree", "coef0")
# Samples whose pairs are evaluated to check the symmetry of a callable kernel.
_N_CHECKED_SAMPLES = 6
# Rows of the kernel matrix of which the off-diagonal entries are compared.
_N_CHECKED_ROWS = 200
# Samples resemble only themselves if all other entries of their rows are below this
# fraction of the diagonal one: for kernels of distances, and for others.
_DISTANCE_LIMITS = {"rbf": 0.05, "laplacian": 0.05, "chi2": 0.05}
_DEFAULT_LIMIT = 1e-3
# Kernels of the differences of all entries, and how many of these there are at once.
_ENTRYWISE = {"laplacian", "chi2", "additive_chi2"}
_ENTRIES = 2**26
# Up to this number of samples, their kernel matrix takes one thread milliseconds.
_FEW = 2000
# Rows and columns of a kernel matrix that one thread computes at once: they stay in
# the cache.
_TILE = 512


def uses_gamma(kernel):
    """Whether a kernel is a named one with the parameter gamma."""
    return isinstance(kernel, str) and "gamma" in KERNEL_PARAMS.get(kernel, ())


def check_arguments(kernel, arguments):
    """Raise ValueError if a kernel has arguments, unless it is a callable."""
    if callable(kernel) or not arguments:
        return
    name = next(iter(arguments))
    own = name in _ESTIMATOR_PARAMETERS
    remedy = f"give the parameter {name} itself" if own else "leave it out"
    raise ValueError(
        f"kernel_params has the argument {name!r}, but only a callable takes arguments "
        f"from there, not kernel={kernel!r}; {remedy}."
    )


def check_callable(kernel, X, arguments):
    """Raise ValueError unless a kernel function is symmetric on some pairs."""
    last = X.shape[0] - 1
    indices = np.unique(np.linspace(0, last, _N_CHECKED_SAMPLES).astype(int)).tolist()
    rows = take(X, np.array(indices))
    samples = {index: rows[k, ...] for k, index in enumerate(indices)}
    pairs = list(combinations(indices, 2))
    values = np.array(
        [
            [_evaluate(kernel, samples[i], samples[j], arguments) for i, j in order]
            for order in (pairs, [pair[::-1] for pair in pairs])
        ]
    )
    asymmetric = np.abs(values[0] - values[1]) > 1e-6 * np.abs(values).max(initial=0)
    if asymmetric.any():
        k = asymmetric.argmax()
        i, j = pairs[k]
        raise ValueError(
            f"The kernel is not symmetric: for the samples {i} and {j} it is "
            f"{values[0, k]:.6g}, and {values[1, k]:.6g} for {j} and {i}. Use, for "
            "example, the mean of both."
        )


def _evaluate(kernel, first, second, arguments):
    expected = (
        "the kernel must return a number for two samples (1-D arrays); for a function "
        "of two matrices compute it and use kernel='precomputed'."
    )
    try:
        value = kernel(first, second, **arguments)
    except Exception as error:
        raise ValueError(
            f"The kernel fails for two samples: {error}\nNote that {expected}"
        ) from error
    if np.ndim(value):
        raise ValueError(
            f"The kernel returns an array of shape {np.shape(value)}, but {expected}"
        )
    return float(value)


def check_precomputed(X):
    """Raise ValueError unless X can be the kernel matrix of the training samples."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "X must be the square kernel matrix of the training samples for "
            f"kernel='precomputed', got shape {X.shape}."
        )
    if namespace(X) is not np:
        _check_precomputed_there(X)
        return
    check_symmetric(X, "X, the precomputed kernel,")
    if X.any() and not X.diagonal().any():
        raise ValueError(
            "X, the precomputed kernel, has a diagonal of zeros, as distances have. A "
            "kernel is largest for equal samples: use, for example, "
            "np.exp(-gamma * X**2)."
        )


def _check_precomputed_there(X):
    """Check a kernel matrix where it is, and copy it only to tell what is wrong."""
    xp = namespace(X)
    size, gap = float(xp.max(xp.abs(X))), float(xp.max(xp.abs(X - X.T)))
    diagonal = xp.linalg.diagonal(X)
    if not (gap <= 1e-6 * size and (size == 0 or xp.any(diagonal != 0))):
        check_precomputed(to_numpy(X))


def kernel_matrix(X, Y, kernel, parameters):
    """Kernel matrix of samples X and Y, or X with itself if that is None.

    Parameters
    ----------
    X, Y : array
        The samples, of one library.
    kernel : str or callable
        A name that scikit-learn knows, or a function of two samples.
    parameters : dict
        Its parameters; those that a named kernel does not have are left out.
    """
    settings = {"metric": kernel, "filter_params": True, **parameters}
    if namespace(X) is np or callable(kernel) or kernel not in _ENTRYWISE:
        return pairwise_kernels(X, Y, **settings)
    # scikit-learn forms all differences of these at once.
    Y = X if Y is None else Y
    rows = max(_ENTRIES // (Y.shape[0] * Y.shape[1]), 1)
    batches = gen_batches(X.shape[0], rows)
    parts = [pairwise_kernels(X[batch, ...], Y, **settings) for batch in batches]
    return namespace(X).concat(parts)


def symmetric_kernel_matrix(kernel, X):
    """Kernel matrix of samples with themselves, of which threads compute one half.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Y)`` is the kernel matrix of two sets of samples, and ``kernel(X)``
        that of one with itself.
    X : ndarray of shape (n_samples, n_features)
        The samples, in double precision.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
    """
    if X.shape[0] <= _FEW or namespace(X) is not np:
        return kernel(X)
    matrix = np.empty((len(X), len(X)))

    def fill(tile):
        rows, columns = tile
        if rows == columns:
            matrix[rows, rows] = kernel(X[rows])
        else:
            values = kernel(X[rows], X[columns])
            matrix[rows, columns], matrix[columns, rows] = values, values.T

    batches = list(gen_batches(len(X), _TILE))
    with one_blas_thread():
        map_threads(fill, list(combinations_with_replacement(batches, 2)))
    return matrix


def warn_if_alone(matrix, kernel):
    """Warn if most samples of a kernel matrix resemble only themselves.

    ``kernel`` is the name of the kernel or a callable.
    """
    limit = _DEFAULT_LIMIT
    if isinstance(kernel, str):
        limit = _DISTANCE_LIMITS.get(kernel, limit)
    last = matrix.shape[0] - 1
    rows = np.unique(np.linspace(0, last, _N_CHECKED_ROWS).astype(int))
    others = np.abs(to_numpy(take(matrix, rows)))
    own = others[np.arange(len(rows)), rows]
    others[np.arange(len(rows)), rows] = 0
    if (others.max(axis=1) < limit * own).mean() > 0.5:
        warn_user(
            "To the kernel most samples resemble only themselves: in their rows of the "
            f"kernel matrix, all other entries are below {limit:g} of the diagonal "
            "one. Use a smaller gamma, such as gamma='scale', or scale X, for example "
            "with StandardScaler.",
            UserWarning,
        )
