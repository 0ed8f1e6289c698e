"""The affine-invariant geometry: logarithms seen from other matrices, and the mean."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgeom.utils.array_api import (
    adjoint,
    astype,
    average,
    cholesky_factors,
    namespace,
    real_part,
    size_of,
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

# Operations of a batch, n^3 for each pair, from which on two threads are worth it.
_PARALLEL = 500_000

# The mean is found if the mean logarithm there is this small.
_TOLERANCE = 1e-10
_MAX_STEPS = 200
# Single steps may lose. After so many in a row the search goes on from its best guess.
_MOST_WORSE = 3
# It is inaccurate if that is larger than so many roots of the machine's precision, or
# if an eigenvalue is as small as rounding can make it, to this logarithm.
_INACCURATE = 100
_NEAR_HIDDEN = 0.5


def inverse_factors(matrices):
    """Inverses of the lower Cholesky factors of a stack."""
    return namespace(matrices).linalg.inv(cholesky_factors(matrices))


def log_eigenvalues(matrices, inverses):
    """Logarithms of the generalised eigenvalues, (..., n), by inverse factors."""
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
    operations = size_of(inverses) * matrices.shape[-1] * matrices.shape[0]
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

    The matrix M that minimises :math:`\sum_i w_i \, d_{AI}^2(X_i, M)`, which is where
    the mean of the logarithms vanishes [1]_:

    .. math:: \sum_i w_i \log(M^{-1/2} X_i M^{-1/2}) = 0

    Parameters
    ----------
    matrices : array-like of shape (n_matrices, n, n)
        Symmetric, or complex Hermitian, positive definite matrices.
    weights : array-like of shape (n_matrices,), default=None
        Weights, not negative; only their ratios count. None is one for each.

    Returns
    -------
    ndarray of shape (n, n)
        The mean. The norm of the mean logarithm there is at most 1e-10, unless rounding
        or 200 steps end the search first.

    Raises
    ------
    ValueError
        If a matrix is not finite, not symmetric or not positive definite; the message
        names the matrix. If the shapes do not fit, or a weight is negative or not
        finite, or all are zero.

    Warns
    -----
    ConvergenceWarning
        If the mean is inaccurate, because the search ended before it, or rounding hid
        eigenvalues: matrices are nearly singular, or differ by too many powers of ten.

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
        host = to_numpy(weights)
        if not (np.isfinite(host).all() and (host >= 0).all() and host.any()):
            raise ValueError(
                "weights must be finite and not negative, and one of them positive, "
                f"got {host}."
            )
        weights = weights / float(host.max())  # sums may overflow
    return affine_invariant_mean(matrices, weights)


def affine_invariant_mean(matrices, weights):
    """:func:`mean_affine_invariant` of matrices that are known to be SPD."""
    xp = namespace(matrices)
    if weights is None:
        weights = xp.ones_like(real_part(matrices[:, 0, 0]))
    proportions = (weights / xp.sum(weights))[None, :]
    factor = cholesky_factors(average(matrices, weights)[None, ...])
    at = best = _Guess(matrices, proportions, factor, xp.linalg.inv(factor))
    step, n_worse, is_last = min(2 * at.careful_step(), 1.0), 0, False
    for _ in range(_MAX_STEPS):
        if best.size <= _TOLERANCE:
            break
        at = at.after(step)
        if at.size < best.size:
            best, n_worse, is_last = at, 0, False
            step = at.secant_step()
            continue
        if is_last:
            break  # not even a careful step from the best guess gains anything
        n_worse += 1
        if n_worse == _MOST_WORSE:
            at, n_worse, is_last = best, 0, True
        step = at.careful_step()
    _warn_of_rounding(best.size, best.widest(), float(xp.finfo(weights.dtype).eps))
    return (best.factor @ adjoint(best.factor))[0, ...]


class _Guess:
    """A guess F F' of the mean, and the mean logarithm there, in coordinates of F.

    A step of whitened direction U diag(t) U' along a geodesic multiplies F by
    U exp(t / 2), so nothing is factored again.
    """

    def __init__(self, matrices, proportions, factor, inverse, step=None, came=None):
        xp = namespace(matrices)
        self.matrices, self.proportions = matrices, proportions
        self.factor, self.inverse = factor, inverse
        self.step, self.came = step, came  # along diag(came), from the guess before
        self.logarithms, vectors = threaded_log_spectra(matrices, inverse)
        self.gradient = mean_logarithm(self.logarithms, vectors, proportions)
        self.size = float(xp.linalg.vector_norm(self.gradient))

    def after(self, step):
        """The guess after a step along the mean logarithm."""
        xp = namespace(self.factor)
        direction, rotation = xp.linalg.eigh(self.gradient)
        half = xp.exp(step * direction / 2)
        factor = (self.factor @ rotation) * half[:, None, :]
        inverse = (adjoint(rotation) @ self.inverse) / half[:, :, None]
        data = self.matrices, self.proportions
        return _Guess(*data, factor, inverse, step, direction)

    def secant_step(self):
        """The step of Barzilai and Borwein, the inverse curvature along the last one.

        The curvature is at least one, and far more for distant matrices.
        """
        xp = namespace(self.gradient)
        square = float(xp.sum(self.came**2))
        diagonal = xp.linalg.diagonal(self.gradient)  # real, in a complex array perhaps
        left = complex(xp.sum(diagonal * self.came)).real
        return self.step * square / max(square - left, self.step * square)

    def careful_step(self):
        """The step of Bini and Iannazzo, by bounds of the curvature.

        The curvature is at least one and at most b, the mean of ``h coth(h)``, for
        halves h of the spreads of the logarithms; no step below 2 / b leads astray
        [1]_.

        References
        ----------
        .. [1] D. A. Bini and B. Iannazzo, "Computing the Karcher mean of symmetric
           positive definite matrices", Linear Algebra and its Applications 438(4),
           2013.
        """
        xp = namespace(self.logarithms)
        halves = xp.clip(self._spreads() / 2, 1e-8, None)
        mean = float(xp.sum(self.proportions * halves / xp.tanh(halves)))
        return 2 / (1 + mean)

    def widest(self):
        """The largest logarithm of a condition number, beside the guess."""
        return float(namespace(self.logarithms).max(self._spreads()))

    def _spreads(self):
        return self.logarithms[..., -1] - self.logarithms[..., 0]


def _warn_of_rounding(residual, widest, precision):
    """Warn if the mean logarithm is not near zero, or is one of hidden eigenvalues."""
    # As large a ratio of eigenvalues is what ``_kept_positive`` leaves.
    if widest > -np.log(precision) - _NEAR_HIDDEN:
        reason = "beside the mean, a matrix has a condition number of at least "
        reason += f"{np.exp(widest):.0e}, which rounding hides"
    elif residual > _INACCURATE * precision**0.5:
        reason = f"the mean logarithm there is {residual:.1e} instead of 0"
    else:
        return
    warn_user(
        f"The affine-invariant mean is inaccurate: {reason}. The matrices are nearly "
        "singular, or differ by too many powers of ten. Add a small multiple of the "
        "identity to each, or use a shrinkage estimator of covariances.",
        ConvergenceWarning,
    )


def _kept_positive(eigenvalues):
    # Rounding can hide an eigenvalue this small, and even make it negative.
    xp = namespace(eigenvalues)
    floor = xp.finfo(eigenvalues.dtype).eps * eigenvalues[..., -1:]
    return xp.maximum(eigenvalues, floor)
