"""The Bayes error of Gaussian classes: the smallest error rate of any classifier."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.special import gammainc, gammaincc, ndtri
from scipy.stats.qmc import Sobol
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skgeom._statistics import check_covariances, checked_statistics
from skgeom.objectives._class_distances import DISTANCES
from skgeom.utils._sklearn import Interval, StrOptions, positive, validated_parameters
from skgeom.utils.linalg import ENTRIES_AT_ONCE
from skgeom.utils.methods import on_host
from skgeom.utils.validation import check_priors, check_two_classes, cholesky
from skgeom.utils.warn import warn_user

# Number of randomly shifted sets of directions, whose scatter determines the standard
# error, and the first and the largest number of directions of a set (page "Constants").
_N_SHIFTS = 16
_FIRST, _MOST = 256, 2**15


@dataclass(frozen=True)
class BayesError:
    """The Bayes error of Gaussian classes, with bounds.

    Attributes
    ----------
    value : float
        The error probability of the optimal classifier.
    standard_error : float
        Standard error of ``value``; zero for one feature, because the value is exact.
    by_class : ndarray of shape (n_classes,)
        The error probability for samples of each class.
    lower, upper : float
        Bounds of the error probability, computed from the Bhattacharyya coefficients of
        the pairs of classes.
    """

    value: float
    standard_error: float
    by_class: np.ndarray
    lower: float
    upper: float


@validated_parameters(
    regularization=[Interval(Real, 0, None, closed="left")],
    priors=[None, StrOptions({"uniform"}), "array-like"],
    tol=[positive],
    random_state=["random_state"],
)
def bayes_error(
    statistics, *, regularization=0.0, priors=None, tol=0.01, random_state=0
):
    r"""Compute the Bayes error of Gaussian classes with given statistics.

    The Bayes error is the error probability of the optimal classifier. This classifier
    misclassifies a sample x of class i if the posterior of a different class is larger,

    .. math::

       g_{ij}(x) = \log \frac{\pi_i \, \mathcal{N}(x; \mu_i, \Sigma_i)}
       {\pi_j \, \mathcal{N}(x; \mu_j, \Sigma_j)} < 0
       \quad \text{for some } j \ne i,

    where :math:`\pi_i`, :math:`\mu_i` and :math:`\Sigma_i` are the prior probability,
    the mean and the covariance (with ``regularization``) of class i. Along a ray from
    the mean, :math:`x = \mu_i + r \Sigma_i^{1/2} u` with a unit vector u, each
    :math:`g_{ij}` is a quadratic function of r, and :math:`r^2` has a chi-squared
    distribution. The roots of the quadratic functions therefore determine the error
    probability along the ray. The mean over the directions u is computed numerically
    [1]_, with low-discrepancy directions, until its standard error is at most ``tol``
    times the mean, or until the largest number of directions is reached.

    Parameters
    ----------
    statistics : ClassStatistics
        Counts, means and covariances of at least two classes. To compute the Bayes
        error of the features of a fitted filter estimator, pass
        ``statistics.project(components_)``.
    regularization : float, default=0.0
        Variance that is added to the variance of each feature, in squared units of the
        features.
    priors : None, "uniform" or array-like, default=None
        Prior probabilities of the classes. None is proportional to the counts;
        ``"uniform"`` is equal for all classes. An array has the shape (n_classes,).
    tol : float, default=0.01
        The computation stops when the standard error is at most ``tol`` times the Bayes
        error.
    random_state : int, RandomState instance or None, default=0
        Seed of the random shifts of the low-discrepancy directions.

    Returns
    -------
    BayesError
        The attributes are ``value``, ``standard_error``, ``by_class``, and the bounds
        ``lower`` and ``upper``.

    Raises
    ------
    TypeError
        If ``statistics`` is not a :class:`ClassStatistics`.
    ValueError
        If there is only one class, if a covariance is singular, if ``priors`` are
        malformed, or if ``statistics`` contains second moments only.

    Warns
    -----
    ConvergenceWarning
        If the tolerance is not reached with the largest number of directions.

    See Also
    --------
    SQFA : Learns filters that separate Gaussian classes.
    GaussianClassifier : With a number as ``regularization``, the optimal classifier for
        the statistics to which it is fitted.

    Notes
    -----
    The bounds are computed from the overlaps :math:`\int \min(\pi_i p_i, \pi_j p_j)` of
    all pairs of classes with the densities :math:`p_i` and :math:`p_j`. With the
    Bhattacharyya coefficient :math:`\rho_{ij}`, an overlap is at most
    :math:`\sqrt{\pi_i \pi_j} \rho_{ij}`, and at least
    :math:`\frac12 (s - \sqrt{s^2 - 4 \pi_i \pi_j \rho_{ij}^2})` with
    :math:`s = \pi_i + \pi_j` [2]_. The Bayes error of c classes is at most the sum of
    the overlaps of all pairs, and at least 2 / c times this sum. It is also at most
    :math:`1 - \max_i \pi_i`.

    The value and its standard error are too small if a class is so narrow, in many
    dimensions, that no direction from the mean of a wider class meets it. In tests with
    10 to 100 features, this was the case for errors below 1e-5.

    References
    ----------
    .. [1] A. Das and W. S. Geisler, "A method to integrate and classify normal
       distributions", Journal of Vision 21(10), 2021.
    .. [2] T. Kailath, "The divergence and Bhattacharyya distance measures in signal
       selection", IEEE Transactions on Communication Technology 15(1), 1967.

    Examples
    --------
    The means of two classes with equal variances differ by two standard deviations, so
    the Bayes error is :math:`\Phi(-1)` with the standard normal distribution function
    :math:`\Phi`:

    >>> import numpy as np
    >>> from skgeom import ClassStatistics, bayes_error
    >>> means, covariances = [[0.0], [2.0]], np.ones((2, 1, 1))
    >>> statistics = ClassStatistics([0, 1], [50, 50], means, covariances)
    >>> error = bayes_error(statistics)
    >>> round(error.value, 6)
    0.158655
    >>> bool(error.lower < error.value < error.upper)
    True
    """
    statistics = checked_statistics(statistics)
    check_two_classes(statistics.classes, "bayes_error", "statistics")
    check_covariances(statistics, "bayes_error")
    statistics = on_host(statistics)
    priors = check_priors(priors, statistics.counts)
    noise = regularization * np.eye(statistics.n_features)
    covariances = statistics.covariances + noise
    factors = np.stack(list(map(_factor, statistics.classes, covariances)))
    by_class, deviation = _mean_over_directions(
        statistics.means, factors, priors, tol, check_random_state(random_state)
    )
    lower, upper = _bracket(statistics.means, covariances, priors)
    return BayesError(float(priors @ by_class), deviation, by_class, lower, upper)


def _factor(label, covariance):
    try:
        return cholesky(covariance, "covariance")
    except ValueError:
        raise ValueError(
            f"The covariance of class {label} is singular. Set regularization > 0, or "
            "project the statistics onto fewer features."
        ) from None


def _mean_over_directions(means, factors, priors, tol, rng):
    """Errors of the classes, and the standard error of their prior-weighted mean."""
    order = means.shape[1]
    gaussians = means, factors, np.linalg.inv(factors)
    if order == 1:
        ends = np.array([[1.0], [-1.0]])
        return _errors(gaussians, priors, ends), 0.0
    shifts = rng.uniform(size=(_N_SHIFTS, order))
    sequence = Sobol(order, scramble=False)
    errors, count, n_more = np.zeros((_N_SHIFTS, len(means))), 0, _FIRST
    while True:
        points = sequence.random(n_more)
        for k, shift in enumerate(shifts):
            new = _errors(gaussians, priors, _directions(points, shift))
            # Update the mean over the directions so far.
            errors[k] += (new - errors[k]) * n_more / (count + n_more)
        count += n_more
        values = errors @ priors
        deviation = float(values.std(ddof=1) / np.sqrt(_N_SHIFTS))
        if deviation <= tol * values.mean():
            break
        if count >= _MOST:
            warn_user(
                f"The Bayes error {values.mean():.3g} has a standard error of "
                f"{deviation:.2g} after {count * _N_SHIFTS} directions, which exceeds "
                f"tol={tol:g} times the error. Increase tol if this is precise enough.",
                ConvergenceWarning,
            )
            break
        n_more = count
    return errors.mean(axis=0), deviation


def _directions(points, shift):
    """Unit vectors and their negatives, from points of the unit cube."""
    inside = np.clip((points + shift) % 1, 1e-12, 1 - 1e-12)
    normal = ndtri(inside)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return np.vstack([normal, -normal])


def _errors(gaussians, priors, directions):
    """Mean probability of an error over the directions, for each class."""
    errors = np.zeros(len(priors))
    n_parts = -(-directions.size * len(priors) // ENTRIES_AT_ONCE)
    for part in np.array_split(directions, n_parts):
        for i in range(len(priors)):
            errors[i] += _probabilities(i, *gaussians, priors, part).sum()
    return errors / len(directions)


def _probabilities(i, means, factors, whiteners, priors, directions):
    """Probability of an error of class i along each direction."""
    others = np.delete(np.arange(len(means)), i)
    # g(r) = k + b r + a r^2, in coordinates in which class j is white.
    to_white = whiteners[others]
    along = (to_white @ factors[i]) @ directions.T
    offsets = to_white @ (means[i] - means[others])[:, :, None]
    log_dets = np.log(factors.diagonal(axis1=1, axis2=2)).sum(axis=1)
    k = np.log(priors[i] / priors[others]) + log_dets[others] - log_dets[i]
    k = (k + (offsets**2).sum(axis=(1, 2)) / 2)[:, None]
    b = (along * offsets).sum(axis=1)
    a = ((along**2).sum(axis=1) - 1) / 2
    # For equal covariances, g is linear: remove curvature that is a rounding error.
    rounding = (np.abs(to_white) @ np.abs(factors[i])).max(axis=(1, 2))[:, None]
    a[np.abs(a) < 100 * len(factors[i]) * np.finfo(float).eps * rounding] = 0
    return _probability_of_any(*_intervals(a, b, k, others < i), len(factors[i]))


def _intervals(a, b, k, loses_ties):
    """Intervals inside or outside of which each quadratic function is negative.

    Returns the ends of the intervals, and whether the function is negative inside.
    """
    discriminants = b**2 - 4 * a * k
    roots = np.sqrt(np.maximum(discriminants, 0))
    q = -(b + np.copysign(roots, b)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = q / a, k / q
    # If q is zero, both roots are zero.
    first, second = np.where(q == 0, 0, first), np.where(q == 0, 0, second)
    low, high = np.minimum(first, second), np.maximum(first, second)
    inside = a >= 0
    # Without real roots, the constant or the curvature determines the sign.
    constant = (discriminants < 0) | ((a == 0) & (b == 0))
    negative = np.where((a == 0) & (k == 0), loses_ties[:, None], (k < 0) | (a < 0))
    low = np.where(constant, np.where(negative, -np.inf, np.inf), low)
    high = np.where(constant, np.inf, high)
    return low, high, inside | constant


def _probability_of_any(low, high, inside, order):
    """Probability that any of the functions is negative at r, for each column."""

    def above(r):
        return gammaincc(order / 2, np.maximum(r, 0) ** 2 / 2)

    # Functions that are negative outside of an interval: below start and above end.
    start = np.where(inside, -np.inf, low).max(axis=0)
    end = np.where(inside, np.inf, high).min(axis=0)
    outside = gammainc(order / 2, np.maximum(start, 0) ** 2 / 2) + above(end)
    empty = (end <= np.maximum(start, 0)) | (outside >= 1)
    low = np.where(inside, np.clip(low, start, end), end)
    high = np.where(inside, np.clip(high, start, end), end)
    # Union of intervals in ascending order: each adds the part after earlier intervals.
    by_start = np.argsort(low, axis=0)
    starts = above(np.take_along_axis(low, by_start, axis=0))
    ends = above(np.take_along_axis(high, by_start, axis=0))
    reached = np.minimum.accumulate(ends, axis=0)
    before = np.vstack([np.ones_like(starts[:1]), reached[:-1]])
    union = np.maximum(np.minimum(starts, before) - ends, 0).sum(axis=0)
    return np.where(empty, 1.0, np.minimum(outside + union, 1.0))


def _bracket(means, covariances, priors):
    """Bounds of the Bayes error, from the overlaps of the pairs of classes."""
    i, j = np.triu_indices(len(means), 1)
    distances, _ = DISTANCES["bhattacharyya"](means, covariances).pairs(i, j)
    # The root is not computed from the product, which underflows first.
    root = np.sqrt(priors[i] * priors[j]) * np.exp(-distances)
    product = root**2
    total = priors[i] + priors[j]
    # The smaller root of x^2 - total x + product, without cancellation.
    least = 2 * product / (total + np.sqrt(np.maximum(total**2 - 4 * product, 0)))
    upper = min(root.sum(), 1 - priors.max())
    return float(2 / len(means) * least.sum()), float(upper)
