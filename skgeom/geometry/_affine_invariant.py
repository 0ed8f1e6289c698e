"""The affine-invariant geometry: logarithms seen from other matrices, and the mean."""

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
    warn_user,
)

# Operations of a batch, n^3 for each pair, from which on two threads are worth it;
# benchmarks/bench_lvq.py times such batches.
_PARALLEL = 500_000

# The mean is found if the mean logarithm there is this small. With 1e-6 the
# mean takes a fifth less time. Means of 200 matrices need fewer than 20 steps unless
# rounding hides the last digits: ten steps without progress end these, after a tenth of
# the time of 200 steps and equally near (benchmarks/bench_constants.py).
_TOLERANCE = 1e-10
_MAX_STEPS, _MOST_LOST = 200, 10


def inverse_factors(matrices):
    """Inverses of the lower Cholesky factors of a stack."""
    return namespace(matrices).linalg.inv(cholesky_factors(matrices))


def log_eigenvalues(matrices, inverses):
    """Logarithms of the generalized eigenvalues, (..., n), by inverse factors."""
    xp = namespace(matrices)
    eigenvalues = xp.linalg.eigvalsh(inverses @ matrices @ adjoint(inverses))
    return xp.log(_kept_positive(eigenvalues))


def log_spectra(matrices, inverses):
    """The same with the eigenvectors, (..., n, n), of the whitened matrices."""
    xp = namespace(matrices)
    eigenvalues, vectors = xp.linalg.eigh(inverses @ matrices @ adjoint(inverses))
    return xp.log(_kept_positive(eigenvalues)), vectors


def threaded_log_spectra(matrices, inverses):
    """``log_spectra`` of samples (n, k, k) for whitenings (M, k, k), (M, n, ...)."""
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
    """Sum over n samples of weights (M, n) times their logarithms, (M, k, k).

    With the eigenvectors of all samples side by side, the sum is one matrix product.
    """
    xp, (n_bases, n_samples, size, _) = namespace(vectors), vectors.shape
    columns = xp.permute_dims(vectors, (0, 2, 1, 3))
    columns = xp.reshape(columns, (n_bases, size, n_samples * size))
    diagonals = xp.reshape(weights[..., None] * logarithms, (n_bases, 1, -1))
    return (columns * diagonals) @ adjoint(columns)


def from_spectrum(vectors, diagonals):
    """The matrices ``V @ diag(d) @ V.T``."""
    return (vectors * diagonals[..., None, :]) @ adjoint(vectors)


@float64_arrays("matrices", complex_allowed=True)
def mean_affine_invariant(matrices, weights=None):
    r"""Riemannian mean of SPD matrices, for the affine-invariant metric.

    The mean is the matrix M that minimizes :math:`\sum_i w_i \, d_{AI}^2(X_i, M)`. The
    mean of the logarithms at M is zero [1]_:

    .. math:: \sum_i w_i \log(M^{-1/2} X_i M^{-1/2}) = 0

    Parameters
    ----------
    matrices : array-like of shape (n_matrices, n, n)
        Symmetric, or complex Hermitian, positive definite matrices.
    weights : array-like of shape (n_matrices,), default=None
        Nonnegative weights; only their ratios matter. None weights all matrices
        equally.

    Returns
    -------
    ndarray of shape (n, n)
        The mean M. The norm of the mean logarithm at M is at most 1e-10, unless
        rounding or the limit of 200 steps ends the iteration earlier.

    Raises
    ------
    ValueError
        If a matrix is not finite, not symmetric or not positive definite (the message
        names the matrix), if the shapes do not match, if a weight is negative or not
        finite, or if all weights are zero.

    Warns
    -----
    ConvergenceWarning
        If the mean is inaccurate, because the iteration did not converge or rounding
        errors exceed eigenvalues: matrices are nearly singular, or differ by too many
        powers of ten.

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
            "matrices must be a stack of shape (n_matrices, n, n), of at least one "
            f"matrix, got shape {tuple(matrices.shape)}."
        )
    check_symmetric(matrices, "matrices")
    cholesky(matrices, "matrices")
    if weights is not None:
        weights = real_array(weights, "weights", real_part(matrices))
        weights = astype(weights, real_part(matrices).dtype)
        if weights.shape != (matrices.shape[0],):
            raise ValueError(
                f"weights must hold one number for each of the {matrices.shape[0]} "
                f"matrices, got shape {tuple(weights.shape)}."
            )
        values = to_numpy(weights)
        if not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
            raise ValueError(
                "weights must be finite and not negative, and one of them positive, "
                f"got {values}."
            )
        weights = weights / float(values.max())  # sums may overflow
    return affine_invariant_mean(matrices, weights)


def affine_invariant_mean(matrices, weights):
    """:func:`mean_affine_invariant` of matrices that are known to be SPD.

    A step along the mean logarithm has the inverse curvature along the last step
    (Barzilai and Borwein), or after a step that lost, the length that bounds of the
    curvature allow: it is at most the mean of ``h coth(h)``, for halves h of the ranges
    of the logarithms [1]_. In coordinates of the factor F of the mean F F', a step of
    direction U diag(t) U' multiplies F by U exp(t / 2), so nothing is factored again.

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
    step = direction = None  # of the step before
    n_lost = 0  # steps in a row without a smaller gradient
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
    """Warn if the mean logarithm is not near zero, or is one of hidden eigenvalues.

    It is near zero if it has a third of the digits. An eigenvalue is hidden if it is
    within a factor of two of the smallest that rounding leaves.
    """
    # As large a ratio of eigenvalues is what ``_kept_positive`` leaves.
    if widest > -np.log(2 * precision):
        reason = "compared with the mean, a matrix has a condition number of at least "
        reason += f"{np.exp(widest):.0e}, which rounding hides"
    elif residual > np.cbrt(precision):
        reason = f"the mean logarithm there is {residual:.1e} instead of 0"
    else:
        return
    warn_user(
        f"The affine-invariant mean is inaccurate: {reason}. The matrices are nearly "
        "singular, or differ by too many powers of ten. Add 0.001 of the mean diagonal "
        "entry times the identity to each, or estimate covariances with shrinkage.",
        ConvergenceWarning,
    )


def _kept_positive(eigenvalues):
    # Rounding can hide an eigenvalue this small, and even make it negative.
    xp = namespace(eigenvalues)
    floor = xp.finfo(eigenvalues.dtype).eps * eigenvalues[..., -1:]
    return xp.maximum(eigenvalues, floor)
