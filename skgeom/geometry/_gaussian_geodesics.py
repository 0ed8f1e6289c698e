"""Exponential map, logarithm and geodesics of the Fisher-Rao metric of Gaussians."""

import numpy as np

from skgeom.geometry._distances import check_gaussians
from skgeom.geometry._fibres import (
    EPS,
    shortest_on_fibres,
    squared_distance_gradients,
)
from skgeom.geometry._fisher_rao import normal_form
from skgeom.geometry._spd import check_same_order, expm
from skgeom.utils.validation import (
    check_finite,
    check_symmetric,
    cholesky,
    float64_arrays,
)

_TOO_LONG = (
    "mean_vectors or covariance_vectors are too long: the geodesic leaves the range of "
    "floating-point numbers before t = 1. Divide mean_vectors and covariance_vectors "
    "by a common factor."
)


@float64_arrays(
    "means",
    "covariances",
    "mean_vectors",
    "covariance_vectors",
    definite=("covariances",),
    on_cpu=True,
)
def exp_map_fisher_rao(means, covariances, mean_vectors, covariance_vectors):
    r"""Compute the exponential map of the Fisher-Rao metric of Gaussians.

    The function returns the Gaussian at t = 1 of the geodesic with a given start and
    velocity. The geodesic that starts at the Gaussian :math:`(\mu, \Sigma)` with the
    velocity :math:`(v, V)` solves

    .. math::

       \ddot\mu = \dot\Sigma \Sigma^{-1} \dot\mu, \qquad
       \ddot\Sigma = \dot\Sigma \Sigma^{-1} \dot\Sigma - \dot\mu \dot\mu^\top .

    If the geodesic starts at the standard Gaussian, it has a closed form [1]_. The
    blocks :math:`\Delta` and :math:`\delta` of

    .. math::

       \exp \left( t \begin{pmatrix}
       -V & v & 0 \\ v^\top & 0 & -v^\top \\ 0 & -v & V \end{pmatrix} \right)
       = \begin{pmatrix} \Delta & \delta & \cdot \\ \delta^\top & \cdot & \cdot \\
       \cdot & \cdot & \cdot \end{pmatrix}

    are :math:`\Sigma(t)^{-1}` and :math:`\Sigma(t)^{-1} \mu(t)`. Otherwise, an affine
    map first transforms the start to the standard Gaussian.

    Parameters
    ----------
    means : array-like of shape (..., m)
        Means :math:`\mu` of the Gaussians.
    covariances : array-like of shape (..., m, m)
        Covariances :math:`\Sigma` of the Gaussians.
    mean_vectors : array-like of shape (..., m)
        Velocities v of the means.
    covariance_vectors : array-like of shape (..., m, m)
        Velocities V of the covariances, symmetric matrices.

    Returns
    -------
    means : ndarray of shape (..., m)
        Means of the Gaussians at t = 1.
    covariances : ndarray of shape (..., m, m)
        Covariances of the Gaussians at t = 1.

    Raises
    ------
    ValueError
        If the shapes do not match, if a value is not finite, if a matrix is not
        symmetric or a covariance not positive definite, or if the vectors are so long
        that the geodesic leaves the range of floating-point numbers before t = 1. The
        message names the argument.

    See Also
    --------
    log_map_fisher_rao : The inverse map.
    geodesic_fisher_rao : The shortest path between two Gaussians.

    References
    ----------
    .. [1] P. S. Eriksen, "Geodesics connected with the Fisher metric on the
       multivariate normal manifold", Proceedings of the GST Workshop, Lancaster, 1987.

    Examples
    --------
    >>> from skgeom.geometry import exp_map_fisher_rao
    >>> mean, covariance = exp_map_fisher_rao([0.0], [[1.0]], [0.0], [[2.0]])
    >>> mean.round(3), covariance.round(3)  # the variance is exp(2)
    (array([0.]), array([[7.389]]))
    """
    check_gaussians(means, "means", covariances, "covariances")
    check_symmetric(covariance_vectors, "covariance_vectors")
    check_finite(mean_vectors, "mean_vectors", axis=-1)
    factors = cholesky(covariances, "covariances")
    v = np.linalg.solve(factors, mean_vectors[..., None])
    V = np.linalg.solve(factors, np.linalg.solve(factors, covariance_vectors).mT)
    m = V.shape[-1]
    generator = np.zeros((*V.shape[:-2], 2 * m + 1, 2 * m + 1))
    generator[..., :m, :m], generator[..., m + 1 :, m + 1 :] = -V, V
    generator[..., :m, m : m + 1], generator[..., m + 1 :, m : m + 1] = v, -v
    generator[..., m, :m], generator[..., m, m + 1 :] = v[..., 0], -v[..., 0]
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = expm(generator)
        try:
            covariances = np.linalg.inv(blocks[..., :m, :m])
        except np.linalg.LinAlgError:
            raise ValueError(_TOO_LONG) from None
        offsets = covariances @ blocks[..., :m, m : m + 1]
        covariances = factors @ (covariances + covariances.mT) @ factors.mT / 2
        means = means + (factors @ offsets)[..., 0]
    if not (np.isfinite(means).all() and np.isfinite(covariances).all()):
        raise ValueError(_TOO_LONG)
    return means, covariances


@float64_arrays(
    "means_a",
    "covariances_a",
    "means_b",
    "covariances_b",
    definite=("covariances_a", "covariances_b"),
    on_cpu=True,
)
def log_map_fisher_rao(means_a, covariances_a, means_b, covariances_b):
    r"""Compute the logarithm map of the Fisher-Rao metric of Gaussians.

    The function returns the velocity (v, V) at the Gaussian a of the geodesic from a to
    b, which reaches b at t = 1. If the distance between a and b exceeds 11.7, the
    computed geodesic may not be the shortest.

    The velocity is minus half of the Riemannian gradient of the squared distance at a,
    :math:`(v, V) = -\tfrac12 (\Sigma g, 2 \Sigma G \Sigma)`, where :math:`\Sigma` is
    the covariance of a, and g and G are the derivatives of the squared distance with
    respect to the mean and the covariance of a.

    Parameters
    ----------
    means_a : array-like of shape (..., m)
        Means of the first Gaussians a.
    covariances_a : array-like of shape (..., m, m)
        Covariances of the first Gaussians.
    means_b : array-like of shape (..., m)
        Means of the second Gaussians b, broadcast against the first.
    covariances_b : array-like of shape (..., m, m)
        Covariances of the second Gaussians.

    Returns
    -------
    mean_vectors : ndarray of shape (..., m)
        Velocities v of the means.
    covariance_vectors : ndarray of shape (..., m, m)
        Velocities V of the covariances.

    Raises
    ------
    ValueError
        If the shapes do not match, if a value is not finite, if a covariance is not
        symmetric or not positive definite, or if two Gaussians are too far apart for
        floating-point numbers. The message names the argument.

    See Also
    --------
    distance_fisher_rao : The length of the velocity, with error bounds.
    exp_map_fisher_rao : The inverse map.

    Examples
    --------
    >>> from skgeom.geometry import log_map_fisher_rao
    >>> v, V = log_map_fisher_rao([0.0], [[1.0]], [0.0], [[7.389056]])
    >>> v.round(3), V.round(3)
    (array([0.]), array([[2.]]))
    """
    check_gaussians(means_a, "means_a", covariances_a, "covariances_a")
    check_gaussians(means_b, "means_b", covariances_b, "covariances_b")
    check_same_order(means_a, "means_a", means_b, "means_b")
    # The normal form transforms b to the standard Gaussian, and the covariance of a to
    # a diagonal matrix.
    offsets, scales, transform = normal_form(
        means_b, covariances_b, means_a, covariances_a
    )
    m = scales.shape[-1]
    flat = offsets.reshape(-1, m), scales.reshape(-1, m)
    _, fibres = shortest_on_fibres(*flat, EPS)
    of_mean, of_covariance = squared_distance_gradients(*flat, fibres)
    variances = scales**2
    v = -variances * of_mean.reshape(scales.shape) / 2
    V = -variances[..., :, None] * variances[..., None, :]
    V = V * of_covariance.reshape(V.shape)
    return (transform @ v[..., None])[..., 0], transform @ V @ transform.mT


def geodesic_fisher_rao(means_a, covariances_a, means_b, covariances_b, t):
    """Compute points of the shortest Fisher-Rao geodesics between Gaussians.

    If the distance between two Gaussians exceeds 11.7, the computed geodesic may not be
    the shortest.

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
    t : float
        Position on the geodesic, a scalar: 0 for the first Gaussian of each pair, 1 for
        the second, and 0.5 for their Fisher-Rao mean.

    Returns
    -------
    means : ndarray of shape (..., m)
        Means of the Gaussians at t.
    covariances : ndarray of shape (..., m, m)
        Covariances of the Gaussians at t.

    Raises
    ------
    ValueError
        If t is an array, and in the cases that :func:`log_map_fisher_rao` and
        :func:`exp_map_fisher_rao` list.

    See Also
    --------
    log_map_fisher_rao : The velocity of the geodesics at the first Gaussians.

    Examples
    --------
    The Gaussian halfway between two univariate Gaussians has a larger variance:

    >>> from skgeom.geometry import geodesic_fisher_rao
    >>> mean, covariance = geodesic_fisher_rao([0.0], [[1.0]], [2.0], [[1.0]], 0.5)
    >>> mean.round(6), covariance.round(6)
    (array([1.]), array([[1.5]]))
    """
    if np.ndim(t) > 0:
        raise ValueError(
            f"t must be a scalar, got an array of shape {np.shape(t)}. Call "
            "geodesic_fisher_rao once for each t."
        )
    v, V = log_map_fisher_rao(means_a, covariances_a, means_b, covariances_b)
    return exp_map_fisher_rao(means_a, covariances_a, t * v, t * V)
