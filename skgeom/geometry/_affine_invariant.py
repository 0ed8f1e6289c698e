"""Affine-invariant geometry: logarithms of whitened matrices, and the mean."""

from math import prod

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgeom.utils.array_api import (
    adjoint,
    astype,
    cholesky_factors,
    namespace,
    real_part,
    to_numpy,
)
from skgeom.utils.threads import map_threads
from skgeom.utils.validation import (
    check_symmetric,
    cholesky,
    float64_arrays,
    real_array,
)
from skgeom.utils.warn import warn_user

# Number of operations of a batch, n^3 for each pair of matrices, above which two
# threads are faster than one (page "Constants").
_PARALLEL = 500_000

# The iteration stops when the norm of the mean logarithm is at most this tolerance.
# With 1e-6 the mean takes a fifth less time. Means of 200 matrices require fewer than
# 20 steps, unless rounding prevents convergence. The iteration then stops after ten
# steps without progress: 200 such steps take 2.7 times the time, and the mean is about
# as accurate (page "Constants").
_TOLERANCE = 1e-10
_MAX_STEPS, _MOST_LOST = 200, 10


def inverse_factors(matrices):
    """Inverses of the lower Cholesky factors of a stack."""
    return namespace(matrices).linalg.inv(cholesky_factors(matrices))


def log_eigenvalues(matrices, inverses):
    """Logarithms of the eigenvalues, (..., n), of the matrices L^-1 X L^-'.

    ``inverses`` are the inverse Cholesky factors L^-1.
    """
    xp = namespace(matrices)
    eigenvalues = xp.linalg.eigvalsh(inverses @ matrices @ adjoint(inverses))
    return xp.log(_kept_positive(eigenvalues))


def log_spectra(matrices, inverses):
    """Like ``log_eigenvalues``, and the eigenvectors (..., n, n)."""
    xp = namespace(matrices)
    eigenvalues, vectors = xp.linalg.eigh(inverses @ matrices @ adjoint(inverses))
    return xp.log(_kept_positive(eigenvalues)), vectors


def threaded_log_spectra(matrices, inverses):
    """``log_spectra`` of all pairs of n samples and M inverse factors, by two threads.

    The results have the shapes (M, n, k) and (M, n, k, k).
    """
    inverses, half = inverses[:, None, ...], -(-matrices.shape[0] // 2)
    operations = prod(inverses.shape) * matrices.shape[-1] * matrices.shape[0]
    if operations < _PARALLEL or namespace(matrices) is not np:
        return log_spectra(matrices, inverses)
    halves = map_threads(
        lambda part: log_spectra(part, inverses),
        [matrices[:half, ...], matrices[half:, ...]],
    )
    return [np.concat(parts, axis=1) for parts in zip(*halves, strict=True)]


def mean_logarithm(logarithms, vectors, weights):
    """Weighted sums of the logarithms of n matrices, (M, k, k), for weights (M, n).

    ``logarithms`` (M, n, k) and ``vectors`` (M, n, k, k) are the results of
    ``log_spectra``. With the eigenvectors side by side in one (k, n k) matrix, each sum
    is one matrix product.
    """
    xp, (n_bases, n_samples, size, _) = namespace(vectors), vectors.shape
    columns = xp.permute_dims(vectors, (0, 2, 1, 3))
    columns = xp.reshape(columns, (n_bases, size, n_samples * size))
    diagonals = xp.reshape(weights[..., None] * logarithms, (n_bases, 1, -1))
    return (columns * diagonals) @ adjoint(columns)


def from_spectrum(vectors, diagonals):
    """The matrices ``V @ diag(d) @ V.conj().T``."""
    return (vectors * diagonals[..., None, :]) @ adjoint(vectors)


@float64_arrays("matrices", definite=("matrices",), complex_allowed=True)
def mean_affine_invariant(matrices, sample_weight=None):
    r"""Compute the mean of SPD matrices for the affine-invariant metric.

    The mean is the matrix M that minimizes :math:`\sum_i w_i \, d_{AI}^2(X_i, M)`,
    where :math:`d_{AI}` is the affine-invariant distance. M is the solution of [1]_

    .. math:: \sum_i w_i \log(M^{-1/2} X_i M^{-1/2}) = 0 .

    Parameters
    ----------
    matrices : array-like of shape (n_matrices, n, n)
        Symmetric, or complex Hermitian, positive definite matrices.
    sample_weight : array-like of shape (n_matrices,), default=None
        Nonnegative weights :math:`w_i`. A common factor has no effect. None weights all
        matrices equally.

    Returns
    -------
    ndarray of shape (n, n)
        The mean M. The norm of the left-hand side of the equation, for weights that sum
        to 1, is at most 1e-10, unless rounding or the limit of 200 steps stops the
        iteration earlier.

    Raises
    ------
    ValueError
        If a matrix is not finite, not symmetric or not positive definite (the message
        names the matrix), if the shapes do not match, if a weight is negative or not
        finite, or if all weights are zero.

    Warns
    -----
    ConvergenceWarning
        If the mean is inaccurate, because matrices are nearly singular or differ by too
        many powers of ten. The iteration then does not converge, or rounding errors
        exceed the smallest eigenvalues.

    References
    ----------
    .. [1] M. Moakher, "A differential geometric approach to the geometric mean of
       symmetric positive-definite matrices", SIAM Journal on Matrix Analysis and
       Applications 26(3), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import mean_affine_invariant
    >>> mean_affine_invariant([np.eye(2), np.diag([4.0, 16.0])]).round(6)
    array([[2., 0.],
           [0., 4.]])
    """
    if matrices.ndim != 3 or matrices.shape[0] == 0:
        raise ValueError(
            "matrices must be a stack of shape (n_matrices, n, n) with at least one "
            f"matrix, got shape {tuple(matrices.shape)}."
        )
    check_symmetric(matrices, "matrices")
    cholesky(matrices, "matrices")
    if sample_weight is not None:
        sample_weight = real_array(sample_weight, "sample_weight", real_part(matrices))
        sample_weight = astype(sample_weight, real_part(matrices).dtype)
        if sample_weight.shape != (matrices.shape[0],):
            raise ValueError(
                "sample_weight must contain one number for each of the "
                f"{matrices.shape[0]} matrices, got shape {tuple(sample_weight.shape)}."
            )
        values = to_numpy(sample_weight)
        if not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
            raise ValueError(
                "sample_weight must be finite and nonnegative, and at least one weight "
                f"must be positive, got {values}."
            )
        sample_weight = sample_weight / float(values.max())  # sums may overflow
    return affine_invariant_mean(matrices, sample_weight)


def affine_invariant_mean(matrices, weights):
    """:func:`mean_affine_invariant` without validation.

    The iteration starts at the arithmetic mean. Let the current mean be M = F F', and
    let U diag(t) U' be the mean of the logarithms of the whitened matrices
    F^-1 X F^-'. A step of length a replaces F by F U exp(a diag(t) / 2), so no matrix
    is factorized again.

    The step length is the inverse of the curvature along the last step (Barzilai and
    Borwein). It is 2 / (1 + b) after a step that did not decrease the norm of the mean
    logarithm, and min(4 / (1 + b), 1) in the first step. The upper bound b of the
    curvature is the mean of h coth(h), where h is half of the range of the logarithms
    of the eigenvalues of a whitened matrix [1]_.

    References
    ----------
    .. [1] D. A. Bini and B. Iannazzo, "Computing the Karcher mean of symmetric positive
       definite matrices", Linear Algebra and its Applications 438(4), 2013.
    """
    xp = namespace(matrices)
    if weights is None:
        weights = xp.ones_like(real_part(matrices[:, 0, 0]))
    proportions = (weights / xp.sum(weights))[None, :]
    mean = xp.sum(weights[:, None, None] * matrices, axis=0) / xp.sum(weights)
    factor = cholesky_factors(mean[None, ...])
    inverse, smallest = xp.linalg.inv(factor), np.inf
    step = direction = None  # of the last step
    n_lost = 0  # successive steps that did not decrease the norm of the gradient
    for _ in range(_MAX_STEPS):
        logarithms, vectors = threaded_log_spectra(matrices, inverse)
        gradient = mean_logarithm(logarithms, vectors, proportions)
        size = float(xp.linalg.vector_norm(gradient))
        ranges = logarithms[..., -1] - logarithms[..., 0]
        lost = size >= smallest
        n_lost = n_lost + 1 if lost else 0
        if not lost:
            smallest, mean, widest = size, factor, float(xp.max(ranges))
        if size <= _TOLERANCE or n_lost == _MOST_LOST:
            break
        if step is None or lost:
            halves = xp.clip(ranges / 2, 1e-8, None)
            bound = float(xp.sum(proportions * halves / xp.tanh(halves)))
            step = min(4 / (1 + bound), 1.0) if step is None else 2 / (1 + bound)
        else:
            square = float(xp.sum(direction**2))
            diagonal = xp.linalg.diagonal(gradient)
            left = complex(xp.sum(diagonal * direction)).real
            step = step * square / max(square - left, step * square)
        direction, rotation = xp.linalg.eigh(gradient)
        half = xp.exp(step * direction / 2)
        factor = (factor @ rotation) * half[:, None, :]
        inverse = (adjoint(rotation) @ inverse) / half[:, :, None]
    _warn_of_rounding(smallest, widest, float(xp.finfo(weights.dtype).eps))
    return (mean @ adjoint(mean))[0, ...]


def _warn_of_rounding(residual, widest, precision):
    """Warn if the iteration did not converge, or rounding errors exceed eigenvalues.

    ``residual`` is the norm of the mean logarithm, which must be at most the cube root
    of the relative ``precision``. ``widest`` is the largest range of the logarithms of
    the eigenvalues of a whitened matrix.
    """
    # ``_kept_positive`` limits the ratio of eigenvalues to 1 / precision.
    if widest > -np.log(2 * precision):
        reason = "compared with the mean, a matrix has a condition number of at least "
        reason += f"{np.exp(widest):.0e}, which rounding hides"
    elif residual > np.cbrt(precision):
        reason = f"the mean logarithm there is {residual:.1e} instead of 0"
    else:
        return
    warn_user(
        f"The affine-invariant mean is inaccurate: {reason}. The matrices are nearly "
        "singular, or differ by too many powers of ten. Add 0.001 of its mean diagonal "
        "entry to the diagonal of each matrix, or estimate covariances with shrinkage.",
        ConvergenceWarning,
    )


def _kept_positive(eigenvalues):
    """Eigenvalues, raised to at least the rounding error of the largest eigenvalue.

    Rounding can make smaller eigenvalues negative.
    """
    xp = namespace(eigenvalues)
    floor = xp.finfo(eigenvalues.dtype).eps * eigenvalues[..., -1:]
    return xp.maximum(eigenvalues, floor)
