"""Distances between SPD matrices and between Gaussian distributions."""

import numpy as np

from skgeom.geometry._spd import check_pair, check_same_order
from skgeom.utils.array_api import namespace
from skgeom.utils.validation import (
    check_finite,
    check_symmetric,
    cholesky,
    float64_arrays,
)


@float64_arrays("a", "b", definite=("a", "b"), complex_allowed=True)
def distance_affine_invariant(a, b, *, squared=False):
    r"""Compute the affine-invariant Riemannian distance between SPD matrices.

    The distance is (equation 4 of [1]_)

    .. math:: d_{AI}(A, B) = \sqrt{\textstyle\sum_k \log^2 \lambda_k(A, B)},

    where :math:`\lambda_k` are the generalized eigenvalues of the pair (A, B). The
    distance is invariant under :math:`A, B \to G A G^\top, G B G^\top` for invertible G
    and under the inversion of both matrices. The Fisher-Rao distance between Gaussians
    of equal mean with the covariances A and B is :math:`d_{AI}(A, B) / \sqrt 2`.

    Parameters
    ----------
    a : array-like of shape (..., n, n)
        Symmetric, or complex Hermitian, positive definite matrices.
    b : array-like of shape (..., n, n)
        Positive definite matrices, broadcast against ``a``.
    squared : bool, default=False
        Whether to return the square of the distance.

    Returns
    -------
    ndarray of shape (...)
        The distances; a scalar for two single matrices.

    Raises
    ------
    ValueError
        If a matrix is not finite, not symmetric or not positive definite, or if the
        sizes of the matrices differ. The message names the argument.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import distance_affine_invariant
    >>> float(distance_affine_invariant(np.eye(2), np.diag([1.0, np.e])))
    1.0
    """
    check_pair(a, "a", b, "b")
    # The singular values of L_b^-1 L_a are the square roots of the generalized
    # eigenvalues. For ill-conditioned matrices, they have twice as many accurate digits
    # as the eigenvalues of a product.
    xp = namespace(a)
    quotient = xp.linalg.solve(cholesky(b, "b"), cholesky(a, "a"))
    distance = 4 * _sum_of_squared_logs(quotient)
    return distance if squared else xp.sqrt(distance)


@float64_arrays("means", "covariances")
def calvo_oller_embedding(means, covariances):
    r"""Embed m-dimensional Gaussians into the SPD matrices of order m + 1.

    The embedding maps the Gaussian with the mean :math:`\mu` and the covariance
    :math:`\Sigma` to

    .. math::

       \Omega = \begin{bmatrix}
       \Sigma + \mu \mu^\top & \mu \\ \mu^\top & 1
       \end{bmatrix} .

    The embedding is due to [2]_ and is equation 5 of [1]_. An affine map :math:`z \to
    G z + t` of the variable changes :math:`\Omega` to :math:`H \Omega H^\top`, where H
    depends only on G and t.

    Parameters
    ----------
    means : array-like of shape (..., m)
        Means of the Gaussians.
    covariances : array-like of shape (..., m, m)
        Covariances of the Gaussians.

    Returns
    -------
    ndarray of shape (..., m + 1, m + 1)
        The matrices :math:`\Omega`.

    Raises
    ------
    ValueError
        If the shapes do not match, if a value is not finite, or if a covariance is not
        symmetric. The message names the argument.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025.
    .. [2] M. Calvo and J. M. Oller, "A distance between multivariate normal
       distributions based in an embedding into the Siegel group", Journal of
       Multivariate Analysis 35(2), 1990.

    Examples
    --------
    >>> from skgeom.geometry import calvo_oller_embedding
    >>> calvo_oller_embedding([2.0], [[1.0]])
    array([[5., 2.],
           [2., 1.]])
    """
    check_gaussians(means, "means", covariances, "covariances")
    second_moments = covariances + means[..., :, None] * means[..., None, :]
    return _border(second_moments, means, means)


@float64_arrays(
    "means_a",
    "covariances_a",
    "means_b",
    "covariances_b",
    definite=("covariances_a", "covariances_b"),
)
def distance_calvo_oller(
    means_a, covariances_a, means_b, covariances_b, *, squared=False
):
    r"""Compute the Calvo-Oller lower bound of the Fisher-Rao distance.

    The Calvo-Oller distance between two Gaussians a and b is [1]_

    .. math:: d(a, b) = d_{AI}(\Omega_a, \Omega_b) / \sqrt 2 \le d_{FR}(a, b),

    where :math:`d_{AI}` is the affine-invariant distance,
    :math:`\Omega` the embedding of :func:`calvo_oller_embedding`, and :math:`d_{FR}`
    the Fisher-Rao distance. The lower bound is itself a distance. It is invariant under
    affine maps of the variable, and equals the Fisher-Rao distance if the means are
    equal.

    Parameters
    ----------
    means_a : array-like of shape (..., m)
        Means of the first Gaussians.
    covariances_a : array-like of shape (..., m, m)
        Covariances of the first Gaussians.
    means_b : array-like of shape (..., m)
        Means of the second Gaussians, broadcast against the first.
    covariances_b : array-like of shape (..., m, m)
        Covariances of the second Gaussians.
    squared : bool, default=False
        Whether to return the square of the distance.

    Returns
    -------
    ndarray of shape (...)
        The distances; a scalar for two single Gaussians.

    Raises
    ------
    ValueError
        If the shapes do not match, if a value is not finite, or if a covariance is not
        symmetric or not positive definite. The message names the argument.

    References
    ----------
    .. [1] M. Calvo and J. M. Oller, "A distance between multivariate normal
       distributions based in an embedding into the Siegel group", Journal of
       Multivariate Analysis 35(2), 1990.

    Examples
    --------
    Two Gaussians have equal means and the variances 1 and e^2. Their Fisher-Rao
    distance is sqrt(2) times the difference of the logarithms of their standard
    deviations:

    >>> import numpy as np
    >>> from skgeom.geometry import distance_calvo_oller
    >>> d = distance_calvo_oller([0.0], [[1.0]], [0.0], [[np.e**2]])
    >>> float(d / np.sqrt(2))
    1.0
    """
    check_gaussians(means_a, "means_a", covariances_a, "covariances_a")
    check_gaussians(means_b, "means_b", covariances_b, "covariances_b")
    check_same_order(means_a, "means_a", means_b, "means_b")
    # An affine map transforms the first Gaussian to the standard Gaussian, whose
    # embedding is the identity. Means that are large compared with the standard
    # deviations then cause no loss of precision. The embedding of the second Gaussian
    # has the factor [[L_a^-1 L_b, offset], [0, 1]].
    factor = cholesky(covariances_a, "covariances_a")
    xp = namespace(factor)
    offset = xp.linalg.solve(factor, (means_b - means_a)[..., None])[..., 0]
    quotient = xp.linalg.solve(factor, cholesky(covariances_b, "covariances_b"))
    distance = 2 * _sum_of_squared_logs(
        _border(quotient, offset, xp.zeros_like(offset))
    )
    return distance if squared else xp.sqrt(distance)


def _sum_of_squared_logs(matrices):
    """Sum of the squared logarithms of the singular values of each matrix."""
    xp = namespace(matrices)
    return xp.sum(xp.log(xp.linalg.svdvals(matrices)) ** 2, axis=-1)


def _border(matrices, column, row):
    """The matrices [[matrices, column], [row, 1]]."""
    xp, size = namespace(matrices), column.shape[-1]
    lead = np.broadcast_shapes(matrices.shape[:-2], column.shape[:-1])
    matrices = xp.broadcast_to(matrices, (*lead, size, size))
    column, row = (xp.broadcast_to(part, (*lead, size)) for part in (column, row))
    top = xp.concat([matrices, column[..., None]], axis=-1)
    corner = xp.ones_like(row[..., :1])
    bottom = xp.concat([row, corner], axis=-1)
    return xp.concat([top, bottom[..., None, :]], axis=-2)


def check_gaussians(means, name_means, covariances, name_covariances):
    """Raise ValueError unless means and covariances are finite and their shapes match.

    The covariances must also be symmetric.
    """
    check_symmetric(covariances, name_covariances)
    if means.ndim == 0 or means.shape[-1] != covariances.shape[-1]:
        raise ValueError(
            f"{name_means} must have shape (..., m) for {name_covariances} of shape "
            f"(..., m, m), got shapes {tuple(means.shape)} and "
            f"{tuple(covariances.shape)}."
        )
    check_finite(means, name_means, axis=-1)
