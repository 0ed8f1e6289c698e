"""Kernel functions with parameters, and validation of kernels."""

from dataclasses import dataclass, field, replace
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.utils import gen_batches

from skgeom.utils._sklearn import Interval, StrOptions
from skgeom.utils.array_api import (
    astype,
    float_dtype,
    like,
    namespace,
    on_cpu,
    take,
    to_numpy,
)
from skgeom.utils.validation import check_semidefinite, check_symmetric
from skgeom.utils.warn import warn_user

# Kernels that are positive semidefinite for all parameters.
_DEFINITE = {"chi2", "cosine", "laplacian", "linear", "rbf"}
# Kernels that are functions of inner products, and accept sparse samples.
_OF_PRODUCTS = {"cosine", "linear", "poly", "polynomial", "rbf", "sigmoid"}
# Kernels that are functions of differences of features. They are computed with NumPy,
# because scikit-learn stores all differences at once for other array libraries.
_OF_DIFFERENCES = {"laplacian", "chi2", "additive_chi2"}

# A row of a kernel matrix has nearly zero values if these are below this fraction of
# the diagonal entry, for kernels of distances and for other kernels (page "Constants").
_SMALL_BY_DISTANCE, _SMALL = 0.05, 1e-3
_CHECKED_ROWS = 200

positive_integer = Interval(Integral, 1, None, closed="left")
# Constraints of the parameters that both estimators with kernels have.
kernel_constraints = {
    "n_components": [None, positive_integer],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "n_landmarks": [StrOptions({"auto"}), positive_integer],
    "random_state": ["random_state"],
}


def accepts_sparse(kernel):
    """Whether a kernel accepts sparse samples."""
    return isinstance(kernel, str) and kernel in _OF_PRODUCTS


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its parameters.

    Parameters
    ----------
    function : str or callable
        A name of :func:`sklearn.metrics.pairwise.pairwise_kernels`, a function of two
        matrices, or ``"precomputed"``.
    parameters : dict
        Parameters of a named function.
    center : array of shape (n_features,) or None
        Subtracted from the samples, to reduce rounding errors for samples far from
        zero. None if this subtraction would change the components.
    """

    function: object
    parameters: dict = field(default_factory=dict)
    center: object = None

    def __call__(self, X, Y=None):
        """Kernel matrix of the samples X and Y, or of X and X if Y is None.

        For a precomputed kernel, the columns of X with the indices Y, or all columns.
        """
        if self.precomputed:
            return X if Y is None else take(X, Y, axis=1)
        if callable(self.function):
            Y = X if Y is None else Y
            return self.function(astype(X, Y.dtype), Y)
        if self.center is not None:
            X = X.toarray() if issparse(X) else X
            center = like(self.center, X, X.dtype)
            X, Y = X - center, None if Y is None else Y - center
        settings = {"metric": self.function, "filter_params": True, **self.parameters}
        if self.function in _OF_DIFFERENCES:
            pairs = on_cpu(X), None if Y is None else on_cpu(Y)
            return like(pairwise_kernels(*pairs, **settings), X)
        return pairwise_kernels(X, Y, **settings)

    def precision(self, X):
        """The machine epsilon of the kernel matrices of samples X.

        They are in double precision if the device supports it.
        """
        dtype = X.dtype if self.precomputed else float_dtype(X)
        return float(namespace(X).finfo(dtype).eps)

    def project(self, X, points, coefficients, offset):
        """The functions ``k(X, points) @ coefficients - offset``, in batches of X."""
        row_bytes = coefficients.shape[0] * np.dtype(np.float64).itemsize
        rows = max(int(get_config()["working_memory"] * 2**20 / row_bytes), 1)
        xp, parts = namespace(X), []
        for batch in gen_batches(X.shape[0], rows):
            samples = X[batch] if xp is np else X[batch, ...]
            kernel = astype(self(samples, points), coefficients.dtype)
            parts.append(astype(kernel @ coefficients - offset, X.dtype))
        return xp.concat(parts)

    @property
    def precomputed(self):
        """Whether samples are rows of a kernel matrix."""
        return self.function == "precomputed"

    @property
    def definite(self):
        """Whether the kernel is known to be positive semidefinite."""
        if self.function in ("poly", "polynomial"):
            degree = float(self.parameters["degree"])
            return self.parameters["coef0"] >= 0 and degree.is_integer()
        return isinstance(self.function, str) and self.function in _DEFINITE

    @property
    def uses_gamma(self):
        """Whether the kernel has a name and the parameter gamma."""
        named = isinstance(self.function, str)
        return named and "gamma" in KERNEL_PARAMS.get(self.function, ())

    def with_gamma(self, gamma):
        """The same kernel with a different gamma; None is the default of the kernel."""
        if gamma is None or not self.uses_gamma:
            return self
        return replace(self, parameters={**self.parameters, "gamma": gamma})

    def __sklearn_array_api_convert__(self, convert):
        center = None if self.center is None else convert(self.center)
        return replace(self, center=center)


def make_kernel(estimator, X, center):
    """The kernel with the parameters of an estimator, except gamma.

    Parameters
    ----------
    estimator : object
        An estimator with the parameters ``kernel``, ``degree`` and ``coef0``.
    X : array-like of shape (n_samples, n_features)
        The training samples, or some of them.
    center : ndarray of shape (n_features,)
        The mean of the training samples.

    Raises
    ------
    ValueError
        If a callable kernel is not a symmetric function of two matrices, or if X is not
        a valid precomputed kernel.
    """
    function = estimator.kernel
    if callable(function):
        kernel = Kernel(function)
        _check_callable(kernel, X)
        return kernel
    if function == "precomputed":
        _check_precomputed(X)
    # The kernel "rbf" depends only on differences of samples. For the kernel "linear",
    # a translation of X is a translation in the feature space, in which samples are
    # centered.
    parameters = {"degree": estimator.degree, "coef0": estimator.coef0}
    center = None if issparse(X) or function not in ("rbf", "linear") else center
    return Kernel(function, parameters, center)


def _check_callable(kernel, X):
    last = X.shape[0] - 1
    rows = np.unique([0, last // 2, last])
    samples, expected = take(X, rows), (len(rows), len(rows))
    remedy = (
        "kernel must be a function of two matrices of samples, of shapes (n_samples_X, "
        "n_features) and (n_samples_Y, n_features), that returns their kernel matrix, "
        "of shape (n_samples_X, n_samples_Y). For a function of two samples, use "
        "sklearn.metrics.pairwise_kernels."
    )
    try:
        values = to_numpy(kernel(samples, samples))
    except Exception as error:
        raise ValueError(f"The kernel raises an error: {error}\n{remedy}") from error
    if values.shape != expected:
        raise ValueError(
            f"The kernel returns an array of shape {values.shape} for two matrices of "
            f"{len(rows)} samples. {remedy}"
        )
    if np.isfinite(values).all():
        check_symmetric(values, f"The kernel matrix of the samples {rows.tolist()}")


def _check_precomputed(X):
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "X must be the square kernel matrix of the training samples for "
            f"kernel='precomputed', got shape {X.shape}."
        )
    X = to_numpy(X)
    check_symmetric(X, "X, the precomputed kernel,")
    if X.any() and not X.diagonal().any():
        raise ValueError(
            "X, the precomputed kernel, has a zero diagonal, like a matrix of "
            "distances. Convert distances to a kernel, for example with "
            "np.exp(-gamma * X**2)."
        )


def check_definite(
    matrix,
    name,
    rounding,
    remedy="Use a different kernel, or penalty='identity' with solver='eigen' or "
    "'cholesky'",
):
    """Raise ValueError if a kernel matrix has a negative eigenvalue."""
    check_semidefinite(
        to_numpy(matrix).astype(np.float64, copy=False)[None],
        name,
        kind="kernel matrix of a positive semidefinite kernel",
        remedy=remedy,
        rounding=rounding,
    )


def warn_if_nearly_diagonal(matrix, kernel):
    """Warn if most samples have nearly zero kernel values with all other samples.

    The check uses up to ``_CHECKED_ROWS`` rows of the matrix.
    """
    by_distance = kernel.function in ("rbf", "laplacian", "chi2")
    limit = _SMALL_BY_DISTANCE if by_distance else _SMALL
    last = matrix.shape[0] - 1
    rows = np.unique(np.linspace(0, last, _CHECKED_ROWS).astype(int))
    others = np.abs(to_numpy(take(matrix, rows)))
    own = others[np.arange(len(rows)), rows]
    others[np.arange(len(rows)), rows] = 0
    if (others.max(axis=1) < limit * own).mean() > 0.5:
        warn_user(
            "The kernel matrix is nearly diagonal: in most rows, all other entries "
            f"are below {limit:g} times the diagonal entry. Use a smaller gamma, such "
            "as gamma='scale', or scale X, for example with StandardScaler.",
            UserWarning,
        )
