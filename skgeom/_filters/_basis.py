"""Coordinates of subspaces: spans of samples, principal axes, and class directions.

Vectors, such as filters, are the columns of an array of shape (n, m).
"""

from dataclasses import dataclass

import numpy as np

from skgeom.objectives._covariances import StructuredMatrix
from skgeom.utils.array_api import namespace, to_numpy
from skgeom.utils.linalg import whitening_basis

# Least number of principal axes of a coarse subspace, and number for each filter. With
# fewer than twice as many features, filters are optimized in the space of all features.
# The axes along which the variance exceeds _ABOVE_NOISE times sigma^2 are added, up to
# _MORE_TIMES as many axes, and up to the fraction _LARGEST_SHARE of all axes. Without
# them, the filters of the statistics of MNIST with sigma^2 = 0.01 converge to a maximum
# that is 1.3 % smaller, and with sigma^2 = 0.003, 3.7 % (page "Constants").
FEW_FEATURES = 100
_AXES_PER_FILTER = 10
_ABOVE_NOISE, _MORE_TIMES, _LARGEST_SHARE = 3.0, 4, 0.4

# Ridges of the class directions in a coarse subspace, relative to the sampling error of
# the covariances. Without the second one, the accuracy of 400 features with class means
# that differ along directions of small variance is at chance instead of 62 %
# (tests/filters/test_auto.py).
_RIDGES = (1.0, 0.01)


@dataclass(frozen=True)
class Basis:
    """Coordinates g of the vectors ``columns @ g`` of a subspace.

    Attributes
    ----------
    columns, dual : ndarray of shape (n, k) or None
        ``dual.T @ columns`` is the identity. None for the space of all features.
    complete : bool
        Whether the data do not vary outside the subspace.
    """

    columns: np.ndarray | None = None
    dual: np.ndarray | None = None
    complete: bool = True

    def lift(self, coordinates):
        """The vectors with the given coordinates."""
        return coordinates if self.columns is None else self.columns @ coordinates

    def restrict(self, vectors):
        """Coordinates; zero, without rounding errors, outside of the subspace."""
        if self.columns is None:
            return vectors
        parts, norms = self.dual.T @ vectors, np.linalg.norm(vectors, axis=0)
        largest = np.linalg.norm(self.dual, axis=0).max(initial=0)
        rounding = len(vectors) * np.finfo(np.float64).eps * largest * norms
        return np.where(np.linalg.norm(parts, axis=0) > rounding, parts, 0)


def orthonormal(columns, complete=True):
    """The basis with these orthonormal columns."""
    return Basis(columns, columns, complete)


def span_of_samples(X, *, centered, n_least=1):
    """The span of the samples if they are fewer than the features, or all features.

    With the decompositions ``X.T = Q R`` and ``R = V S U.T``, the columns of ``Q V``
    are an orthonormal basis, and ``U S`` are the coordinates of the samples. Their
    errors are of the size of the rounding errors of X; an eigendecomposition of
    ``X @ X.T`` would square the condition number. All features are used for values so
    large that the sum of their squares overflows: the following computations raise an
    error for such values.

    Parameters
    ----------
    X : ndarray of shape (N, n)
        The samples; not modified.
    centered : bool
        Whether the samples are centered before the decomposition.
    n_least : int
        Smallest number k of coordinates. If the samples span fewer dimensions,
        coordinates are added in which all samples are zero.

    Returns
    -------
    basis : Basis
    samples : ndarray of shape (N, k)
        Coordinates of the samples relative to ``origin``.
    origin : ndarray of shape (k,) or None
        Coordinates of the mean of the samples, if they were centered.
    """
    n_samples, n_features = X.shape
    xp = namespace(X)
    largest = np.sqrt(np.finfo(np.float64).max / (n_samples * n_features))
    if n_samples >= n_features or not float(max(xp.max(X), -xp.min(X))) < largest:
        return Basis(), X, None
    X = to_numpy(X)
    mean = X.mean(axis=0, dtype=np.float64) if centered else 0.0
    # Rows of zeros add axes that are orthogonal to the samples.
    rows = np.zeros((max(n_samples, n_least), n_features))
    np.subtract(X, mean, out=rows[:n_samples])
    orthonormal_columns, triangle = np.linalg.qr(rows.T)
    axes, sizes, coordinates = np.linalg.svd(triangle, full_matrices=False)
    # The epsilon of float64, because the decomposition is computed in float64.
    precision = max(X.shape) * np.finfo(np.float64).eps * sizes[0]
    rank = np.count_nonzero(sizes > precision)
    sizes[rank:] = 0
    order = max(rank, n_least)
    basis = orthonormal(orthonormal_columns @ axes[:, :order])
    samples = coordinates[:order, :n_samples].T * sizes[:order]
    return basis, samples, basis.restrict(mean[:, None])[:, 0] if centered else None


def principal_axes(total, n_components, *, noise=np.inf, allow_coarse=True):
    """The basis of leading principal axes.

    The number of axes is ``_AXES_PER_FILTER`` for each component, and at least
    ``FEW_FEATURES``. It is larger if the variance along more axes clearly exceeds
    ``noise``, because filters can then use these axes as well. If the data vary along
    at most twice the least number of axes, or if ``allow_coarse`` is False, the basis
    contains all axes along which the data vary, so that it is complete.
    """
    n_features = len(total)
    least = max(FEW_FEATURES, _AXES_PER_FILTER * n_components)
    most = max(least, min(_MORE_TIMES * least, int(_LARGEST_SHARE * n_features)))
    structured = isinstance(total, StructuredMatrix)
    if allow_coarse and (structured or n_features > 2 * least):
        n_axes = max(2 * least, most if noise < np.inf else 0) + 10
        variances, axes = _leading_axes(total.__matmul__, n_features, n_axes)
    else:
        variances, axes = np.linalg.eigh(total)
        variances, axes = variances[::-1], axes[:, ::-1]
    precision = n_features * np.finfo(float).eps * variances[0]
    varies = np.count_nonzero(variances > precision)
    complete = not allow_coarse or varies <= 2 * least
    size = max(varies, n_components)
    if not complete:
        above_noise = np.count_nonzero(variances > _ABOVE_NOISE * noise)
        size = min(max(above_noise, least), most)
    return orthonormal(np.ascontiguousarray(axes[:, :size]), complete)


def whitening(total):
    """The basis in which the total covariance is the identity on its range.

    If the objective depends on the span of the filters only, optimization in these
    coordinates does not depend on the units of the features.
    """
    columns = np.asfortranarray(whitening_basis(total)[:, ::-1])
    return Basis(columns, total @ columns)


def with_class_directions(basis, classes, counts, n_components):
    """An orthonormal basis, completed by directions in which classes differ.

    The smaller ridge finds directions of small variance, the larger ridge does not
    overfit.
    """
    n_features, n_classes = len(basis.columns), len(counts)
    classes = classes.on_host()
    variance = sum(matrix.trace() for matrix in classes.covariances) / n_classes
    noise = variance / (2 * counts.mean()) * min(n_features / counts.sum(), 1) ** 2
    # The eigenvalues of the covariances of fewer samples than features are random.
    kinds = (False, True) if counts.mean() > n_features else (False,)
    found = [
        discriminant_directions(classes, ridge * noise, n_components, quadratic)
        for ridge in _RIDGES
        for quadratic in kinds
    ]
    return orthonormal(np.linalg.qr(np.hstack([basis.columns, *found]))[0], False)


def discriminant_directions(classes, sigma2, n_components, quadratic=True):
    r"""Directions in which classes differ, in columns of norm one.

    W is the mean class covariance. In coordinates in which :math:`W + \sigma^2 I` is
    the identity, the mean and the covariance of class k differ from their averages over
    the classes by :math:`m_k` and :math:`D_k`.

    If ``quadratic``, the directions are the leading eigenvectors of the sum of
    :math:`m_k m_k^\top + \tfrac12 D_k^2`, the second-order expansion of squared class
    distances. Otherwise, they are the linear discriminants, the leading eigenvectors of
    the sum of :math:`m_k m_k^\top`, which may be fewer than ``n_components``.
    """
    means, covariances = classes.means, classes.on_host().covariances
    within, n_features = covariances.mean(axis=0), means.shape[1]
    noise = max(sigma2, n_features * np.finfo(float).eps * within.trace()) or 1.0
    regularized = within + noise * np.eye(n_features)
    whitener = np.linalg.inv(np.linalg.cholesky(regularized)).T
    inverse = whitener @ whitener.T
    offsets = (means - means.mean(axis=0)) @ whitener

    def scatter(vectors):
        lifted = whitener @ vectors
        differences = inverse @ (covariances @ lifted - within @ lifted)
        squares = (covariances @ differences).sum(axis=0)
        squares -= within @ differences.sum(axis=0)
        return offsets.T @ (offsets @ vectors) + whitener.T @ squares / 2

    if quadratic:
        _, axes = _leading_axes(scatter, n_features, n_components + 10, n_iter=1)
    else:
        axes, sizes, _ = np.linalg.svd(offsets.T, full_matrices=False)
        axes = axes[:, sizes > 1e-10 * sizes[0]]
    found = whitener @ axes[:, :n_components]
    return found / np.linalg.norm(found, axis=0)


def linear_discriminants(within, total, noise, n_components):
    """Maximum ratios of between-class to within-class variance, in descending order.

    The number of discriminants is smaller than the number of classes.
    """
    regularized = within + noise * np.eye(len(within))
    # With NumPy only, see _leading_axes.
    whitener = np.linalg.inv(np.linalg.cholesky(regularized))
    ratios, axes = np.linalg.eigh(whitener @ (total - within) @ whitener.T)
    ratios, directions = ratios[-n_components:], whitener.T @ axes[:, -n_components:]
    return directions[:, ratios > 1e-10 * ratios[-1]][:, ::-1]


def _leading_axes(product, n_features, size, n_iter=2):
    """Approximate leading principal axes and their variances, by subspace iteration.

    The variances are in descending order. The last ten axes are less accurate.
    """
    # With NumPy only: the BLAS of SciPy has separate threads, which keep spinning after
    # each call and compete with the threads of NumPy.
    subspace = np.random.default_rng(0).standard_normal(
        (n_features, min(size, n_features))
    )
    for _ in range(n_iter):
        subspace, _ = np.linalg.qr(product(subspace))
    variances, rotation = np.linalg.eigh(subspace.T @ product(subspace))
    return variances[::-1], (subspace @ rotation)[:, ::-1]
