"""Means of SPD matrices."""

import numpy as np

from skgeom.geometry._log_spectra import mean_logarithm, threaded_log_spectra
from skgeom.utils._validation import check_symmetric, cholesky, float64_arrays

# The mean is found if the mean logarithm there is this small.
_TOLERANCE = 1e-10
_MAX_STEPS = 100


@float64_arrays("matrices")
def mean_affine_invariant(matrices, weights=None):
    r"""Riemannian mean of SPD matrices, for the affine-invariant metric.

    The matrix M that minimises :math:`\sum_i w_i \, d_{AI}^2(X_i, M)`, which is where
    the mean of the logarithms vanishes [1]_:

    .. math:: \sum_i w_i \log(M^{-1/2} X_i M^{-1/2}) = 0

    Parameters
    ----------
    matrices : array-like of shape (n_matrices, n, n)
        Symmetric positive definite matrices.
    weights : array-like of shape (n_matrices,), default=None
        Weights, not negative; only their ratios count. None is one for each.

    Returns
    -------
    ndarray of shape (n, n)
        The mean. The norm of the mean logarithm there is at most 1e-10, unless rounding
        or 100 steps end the search first.

    Raises
    ------
    ValueError
        If a matrix is not finite, not symmetric or not positive definite; the message
        names the matrix.

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
    check_symmetric(matrices, "matrices")
    cholesky(matrices, "matrices")
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
    return affine_invariant_mean(matrices, weights)


def affine_invariant_mean(matrices, weights):
    """:func:`mean_affine_invariant` of matrices that are known to be SPD."""
    weights = np.ones(len(matrices)) if weights is None else weights
    proportions = (weights / weights.sum())[None]
    # The current mean is F F'. A step of whitened direction U diag(t) U' along a
    # geodesic multiplies F by U exp(t / 2), so nothing is factored again.
    factor = np.linalg.cholesky(np.average(matrices, axis=0, weights=weights)[None])
    inverse = np.linalg.inv(factor)
    best, step = np.inf, 1.0
    for _ in range(_MAX_STEPS):
        spectra = threaded_log_spectra(matrices, inverse)
        size = np.linalg.norm(mean_logarithm(*spectra, proportions))
        if size <= _TOLERANCE or step < 1e-3:
            break
        # Where the curvature makes whole steps overshoot, shorter ones do not.
        step = step if size < best else step / 2
        best = min(size, best)
        exponents, rotation = np.linalg.eigh(
            mean_logarithm(*spectra, step * proportions)
        )
        half = np.exp(exponents / 2)
        factor = (factor @ rotation) * half[:, None, :]
        inverse = (rotation.mT @ inverse) / half[:, :, None]
    return (factor @ factor.mT)[0]
