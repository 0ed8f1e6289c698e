"""Fisher-Rao distances between Gaussian distributions."""

from math import sqrt
from numbers import Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgeom.geometry._distances import (
    check_gaussians,
    distance_calvo_oller,
)
from skgeom.geometry._fibres import EPS, INJECTIVITY_RADIUS, shortest_on_fibres
from skgeom.geometry._spd import check_same_order
from skgeom.utils.array_api import namespace, to_numpy
from skgeom.utils.linalg import ENTRIES_AT_ONCE
from skgeom.utils.validation import check_finite, cholesky, float64_arrays
from skgeom.utils.warn import warn_user


def _cast_outward(result, arguments):
    """Distances in float32: lower bounds rounded down, and upper bounds rounded up."""
    cast = result.astype(np.float32)
    if arguments.get("return_bounds", False):
        lower, upper = cast[1, ...], cast[2, ...]  # arrays also for a single distance
        down, up = np.float32([-np.inf, np.inf])
        np.nextafter(lower, down, out=lower, where=lower > result[1])
        np.nextafter(upper, up, out=upper, where=upper < result[2])
    return cast


@float64_arrays(
    "means_a",
    "covariances_a",
    "means_b",
    "covariances_b",
    definite=("covariances_a", "covariances_b"),
    cast=_cast_outward,
    on_cpu=True,
)
def distance_fisher_rao(
    means_a,
    covariances_a,
    means_b,
    covariances_b,
    *,
    tol=1e-8,
    return_bounds=False,
):
    r"""Compute the Fisher-Rao distance between Gaussians.

    The Fisher-Rao distance is the length of the shortest path between two Gaussians on
    the manifold of Gaussians with mean :math:`\mu` and covariance :math:`\Sigma`, with
    the Fisher information metric

    .. math::

       ds^2 = d\mu^\top \Sigma^{-1} d\mu
       + \tfrac 1 2 \operatorname{tr} \left( (\Sigma^{-1} d\Sigma)^2 \right).

    The distance is invariant under affine maps of the variable. It has no closed form
    and is computed by Newton's method: the manifold of Gaussians is a quotient of a
    symmetric space [1]_, so each Gaussian corresponds to a set of points of that space,
    its fibre. The method minimizes the distance between points of the two fibres. The
    function computes with NumPy, copies the result to the device of the arguments, and
    does not support automatic differentiation.

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
    tol : float, default=1e-8
        Largest accepted error of a distance: absolute for distances up to 1, relative
        for larger distances.
    return_bounds : bool, default=False
        Whether to return lower and upper bounds of the distances as well.

    Returns
    -------
    ndarray of shape (...) or (3, ...)
        The distances; a scalar for two single Gaussians. With ``return_bounds=True``,
        the distances, the lower bounds and the upper bounds.

    Raises
    ------
    ValueError
        If the shapes do not match, if a value is not finite, if a covariance is not
        symmetric or not positive definite, if two Gaussians are too far apart for
        floating-point numbers, or if ``tol`` is not a positive number. The message
        names the argument.

    Warns
    -----
    ConvergenceWarning
        If the error of a distance may exceed ``tol``. The error due to rounding is
        about 1e-12 at a distance of 10, 1e-9 at 20 and 1e-6 at 30, and at least about
        1e-15 times the condition number of the correlation matrices. Beyond a distance
        of 11.7, the result is the length of a path that may not be the shortest, and
        its error is estimated by the difference from the lower bound.

    See Also
    --------
    distance_calvo_oller : Lower bound, which equals the distance if the means are
        equal.
    distance_fisher_rao_diagonal : Distance on the manifold of Gaussians with
        independent variables.
    distance_fisher_rao_equal_covariance : Closed form for equal covariances.

    Notes
    -----
    The upper bound is the length of the computed path. The lower bound is the largest
    of three lower bounds:

    - the Calvo-Oller distance [2]_;
    - the Fisher-Rao distance between the two Gaussians projected onto the vector
      :math:`(\Sigma_a + \Sigma_b)^{-1} (\mu_b - \mu_a)`. For distant means, it is
      larger than the Calvo-Oller distance;
    - up to a distance of 11.7, the length of the computed geodesic minus a bound of the
      distance from its end to the second Gaussian. The difference between the upper
      bound and this bound is about 1e-7 in most cases, and 1e-5 close to a distance of
      11.7.

    Both bounds include an allowance for rounding. The first two lower bounds are
    theorems. The third lower bound assumes that every geodesic of length up to 11.7 is
    a shortest path. This is not proved, but two numerical results support it: the
    largest sectional curvature found is 2/7, which implies the assumption up to a
    length of 5.87, and the first conjugate points found are at 11.7496 in two to six
    dimensions.

    Several geodesics can connect two Gaussians at a distance above 11.7. The function
    then returns the length of the shortest geodesic found from four initializations. A
    shorter geodesic may exist, and only the first two lower bounds hold.

    References
    ----------
    .. [1] S. Kobayashi, "Geodesics of multivariate normal distributions and a Toda
       lattice type Lax pair", Physica Scripta 98(11), 2023.
    .. [2] M. Calvo and J. M. Oller, "A distance between multivariate normal
       distributions based in an embedding into the Siegel group", Journal of
       Multivariate Analysis 35(2), 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import distance_fisher_rao
    >>> d, lower, upper = distance_fisher_rao(
    ...     [0, 0], np.eye(2), [2, 1], np.diag([4, 1]), return_bounds=True
    ... )
    >>> round(float(d), 6)
    1.880599
    >>> bool(upper - lower < 1e-7)
    True
    """
    if not (isinstance(tol, Real) and 0 < tol < np.inf):
        raise ValueError(f"tol must be a positive number, got {tol!r}.")
    # This bound checks the arguments as well.
    bound = distance_calvo_oller(means_a, covariances_a, means_b, covariances_b)
    offsets, scales, _ = normal_form(means_a, covariances_a, means_b, covariances_b)
    # The factor allows for the rounding of the formulas of the two bounds.
    bound = np.maximum(bound, _marginal_bound(offsets, scales)) * (1 - 1e-14)
    m = scales.shape[-1]
    offsets, scales = offsets.reshape(-1, m), scales.reshape(-1, m)
    size = max(1, ENTRIES_AT_ONCE // m**2)
    results = [
        shortest_on_fibres(offsets[i : i + size], scales[i : i + size], tol)[0]
        for i in range(0, max(1, len(scales)), size)
    ]
    results = np.concatenate(results, axis=-1).reshape(4, *bound.shape)
    distances, lower, upper, errors = results
    # The bounds hold for the Gaussians in normal form. The normal form contains the
    # rounding errors of the Cholesky factors, so both bounds are widened.
    rounding = _rounding_of_factors(covariances_a) + _rounding_of_factors(covariances_b)
    lower = np.clip(np.maximum(lower, bound) - rounding, 0, distances)
    upper, errors = upper + rounding, errors + rounding
    # Beyond the injectivity radius, only the bounds limit the error.
    errors = np.minimum(errors, distances - lower + rounding)
    unproven = (distances > INJECTIVITY_RADIUS) & (m > 1)
    _warn_of_errors(distances, errors, unproven, tol)
    return np.stack([distances, lower, upper]) if return_bounds else distances[()]


@float64_arrays("means_a", "variances_a", "means_b", "variances_b")
def distance_fisher_rao_diagonal(means_a, variances_a, means_b, variances_b):
    r"""Compute the Fisher-Rao distance between Gaussians with independent variables.

    The distance is the length of the shortest path of Gaussians with diagonal
    covariances. The Gaussians of each variable form a hyperbolic plane, and the squared
    distances in the planes add up [1]_:

    .. math::

       d^2 = 8 \sum_k \operatorname{arsinh}^2 \sqrt{
       \frac{(\mu_{ak} - \mu_{bk})^2 / 2 + (\sigma_{ak} - \sigma_{bk})^2}
       {4 \sigma_{ak} \sigma_{bk}}},

    where :math:`\mu_{ak}` and :math:`\sigma_{ak}` are the mean and the standard
    deviation of variable k of the first Gaussian, and :math:`\mu_{bk}` and
    :math:`\sigma_{bk}` of the second Gaussian.

    In one dimension, the result equals :func:`distance_fisher_rao`. In more dimensions,
    it is an upper bound of :func:`distance_fisher_rao`, because paths of Gaussians with
    dependent variables can be shorter. Both distances are equal if the means differ in
    at most one variable.

    Parameters
    ----------
    means_a : array-like of shape (..., m)
        Means of the first Gaussians.
    variances_a : array-like of shape (..., m)
        Variances of the first Gaussians.
    means_b : array-like of shape (..., m)
        Means of the second Gaussians, broadcast against the first.
    variances_b : array-like of shape (..., m)
        Variances of the second Gaussians.

    Returns
    -------
    ndarray of shape (...)
        The distances; a scalar for two single Gaussians.

    Raises
    ------
    ValueError
        If the shapes do not match, if a mean or a variance is not finite, or if a
        variance is not positive. The message names the argument.

    References
    ----------
    .. [1] S. I. R. Costa, S. A. Santos and J. E. Strapasson, "Fisher information
       distance: a geometrical reading", Discrete Applied Mathematics 197, 2015.

    Examples
    --------
    >>> from skgeom.geometry import distance_fisher_rao_diagonal
    >>> d = distance_fisher_rao_diagonal([0.0, 0.0], [1.0, 1.0], [2.0, 1.0], [4.0, 1.0])
    >>> round(float(d), 6)
    1.909604
    """
    _check_vectors(means_a, "means_a", variances_a, "variances_a")
    _check_vectors(means_b, "means_b", variances_b, "variances_b")
    check_same_order(means_a, "means_a", means_b, "means_b")
    xp = namespace(variances_a)
    sigmas_a, sigmas_b = xp.sqrt(variances_a), xp.sqrt(variances_b)
    distances = _distance_in_planes(means_b - means_a, sigmas_a, sigmas_b)
    return xp.sqrt(xp.sum(distances**2, axis=-1))


@float64_arrays("means_a", "means_b", "covariances", definite=("covariances",))
def distance_fisher_rao_equal_covariance(means_a, means_b, covariances):
    r"""Compute the Fisher-Rao distance between Gaussians with equal covariances.

    The distance has the closed form

    .. math:: d = \sqrt 2 \operatorname{arcosh} (1 + M^2 / 4),

    where M is the Mahalanobis distance between the means. Along the shortest path, the
    covariance is not constant.

    Parameters
    ----------
    means_a : array-like of shape (..., m)
        Means of the first Gaussians.
    means_b : array-like of shape (..., m)
        Means of the second Gaussians, broadcast against the first.
    covariances : array-like of shape (..., m, m)
        The covariance of each pair, or one covariance for all pairs.

    Returns
    -------
    ndarray of shape (...)
        The distances; a scalar for two single Gaussians.

    Raises
    ------
    ValueError
        If the shapes do not match, if a value is not finite, or if a covariance is not
        symmetric or not positive definite. The message names the argument.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import distance_fisher_rao_equal_covariance
    >>> d = distance_fisher_rao_equal_covariance([0.0, 0.0], [2.0, 0.0], np.eye(2))
    >>> round(float(d / np.sqrt(2)), 6)
    1.316958
    """
    check_gaussians(means_a, "means_a", covariances, "covariances")
    check_gaussians(means_b, "means_b", covariances, "covariances")
    factor = cholesky(covariances, "covariances")
    xp, root = namespace(factor), sqrt(8)
    offsets = xp.linalg.solve(factor, (means_b - means_a)[..., None])[..., 0]
    # arcosh(1 + M^2 / 4) = 2 arsinh(M / sqrt(8)), which is accurate for small M too.
    return xp.asinh(xp.linalg.vector_norm(offsets, axis=-1) / root) * root


def normal_form(means_a, covariances_a, means_b, covariances_b):
    """Mean and standard deviations of the second Gaussian after an affine map.

    The map transforms the first Gaussian to the standard Gaussian, and the covariance
    of the second Gaussian to a diagonal matrix. The linear part of the inverse map is
    returned as well.
    """
    factor = cholesky(covariances_a, "covariances_a")
    quotient = np.linalg.solve(factor, cholesky(covariances_b, "covariances_b"))
    offsets = np.linalg.solve(factor, (means_b - means_a)[..., None])
    rotations, scales, _ = np.linalg.svd(quotient)
    offsets, scales = np.broadcast_arrays((rotations.mT @ offsets)[..., 0], scales)
    # The matrices on the fibres have entries of this size, whose squares must not
    # overflow.
    extent = np.abs(offsets) * np.maximum(1, 1 / scales)
    extent = (1 + extent) ** 2 * np.maximum(scales, 1 / scales)
    if not (extent < 1e100).all():
        raise ValueError(
            "means_b or covariances_b are too far from means_a and covariances_a for "
            "floating-point numbers: in units of a standard deviation of the first "
            f"Gaussian, a mean of the second is up to {np.abs(offsets).max():.2g}, and "
            f"its standard deviations are {scales.min():.2g} to {scales.max():.2g}. "
            "Remove the variables that hardly vary in a class."
        )
    return offsets, scales, factor @ rotations


def _rounding_of_factors(covariances):
    """Rounding error of distances due to the Cholesky factors of covariances.

    The computed factor is the exact factor of a slightly different covariance. The
    relative difference of the covariances is about the rounding error times the
    condition number of the correlation matrix (J. Demmel, "On floating point errors in
    Cholesky", LAPACK working note 14, 1989).
    """
    deviations = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
    # Two divisions: the product of two standard deviations could overflow.
    correlations = covariances / deviations[..., None, :] / deviations[..., :, None]
    eigenvalues = np.linalg.eigvalsh(correlations)
    smallest = np.maximum(eigenvalues[..., 0], EPS)
    return covariances.shape[-1] * EPS * eigenvalues[..., -1] / smallest


def _distance_in_planes(offsets, sigmas_a, sigmas_b):
    """Fisher-Rao distances of univariate Gaussians, scaled hyperbolic distances."""
    xp, root = namespace(offsets), sqrt(8)
    # Two divisions: the product of two standard deviations could overflow.
    offsets = offsets / xp.sqrt(sigmas_a) / xp.sqrt(sigmas_b)
    ratios = xp.sqrt(sigmas_b / sigmas_a)
    return xp.asinh(xp.hypot(offsets / root, (ratios - 1 / ratios) / 2)) * root


def _marginal_bound(offsets, scales):
    """Lower bound: the distance of the Gaussians projected onto the discriminant.

    A statistic of the variable, such as a projection, cannot increase the Fisher-Rao
    distance (Chentsov 1972). For distant means, this bound is tighter than the
    Calvo-Oller distance.
    """
    directions = offsets / (1 + scales**2)
    sigmas_a = np.linalg.norm(directions, axis=-1)
    sigmas_b = np.linalg.norm(directions * scales, axis=-1)
    apart = sigmas_a * sigmas_b > 0
    sigmas_a, sigmas_b = (np.where(apart, s, 1) for s in (sigmas_a, sigmas_b))
    separations = (directions * offsets).sum(axis=-1)
    return _distance_in_planes(separations, sigmas_a, sigmas_b) * apart


def _warn_of_errors(distances, errors, unproven, tol):
    """Warn if the estimated error of a distance exceeds ``tol``."""
    bad = errors > tol * np.maximum(1, distances)
    if bad.any():
        worst = np.argmax(np.where(bad, errors, -1))
        reason = "Rounding limits the accuracy"
        if unproven.flat[worst]:
            reason = (
                f"Beyond {INJECTIVITY_RADIUS} it is an upper bound, as shorter paths "
                "may exist. In addition, rounding limits the accuracy"
            )
        warn_user(
            f"{np.count_nonzero(bad)} of {bad.size} Fisher-Rao distances miss "
            f"tol={tol:g}: the error of the distance {distances.flat[worst]:.6g} may "
            f"be {errors.flat[worst]:.2g}. {reason} for Gaussians that are far apart "
            "or nearly singular. Increase tol, or set return_bounds=True.",
            ConvergenceWarning,
        )


def _check_vectors(means, name_means, variances, name_variances):
    if means.ndim == 0 or variances.ndim == 0 or means.shape[-1] != variances.shape[-1]:
        raise ValueError(
            f"{name_means} must have shape (..., m) for {name_variances} of shape "
            f"(..., m), got shapes {tuple(means.shape)} and {tuple(variances.shape)}."
        )
    check_finite(means, name_means, axis=-1)
    check_finite(variances, name_variances, axis=-1)
    if not namespace(variances).all(variances > 0):
        variances = to_numpy(variances)
        index = [int(i) for i in np.argwhere(~(variances > 0))[0]]
        raise ValueError(
            f"{name_variances}{index} is not positive: it is "
            f"{variances[tuple(index)]:.3g}. Remove such a variable, or add a small "
            "number to its variances."
        )
