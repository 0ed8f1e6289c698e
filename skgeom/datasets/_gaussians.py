"""Gaussian classes: samples of given statistics, and given Fisher-Rao distances."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.validation import check_array

from skgeom._statistics import ClassStatistics
from skgeom.datasets._common import balanced_labels, population, random_orthogonal
from skgeom.utils.validation import real_array


@validate_params(
    {
        "statistics": [ClassStatistics],
        "n_per_class": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_gaussian_classes(
    statistics, n_per_class=100, *, shuffle=True, random_state=None
):
    """Draw samples of Gaussian classes with given means and covariances.

    Parameters
    ----------
    statistics : ClassStatistics
        The means and covariances of the classes, such as those of
        :func:`sqfa_toy_statistics`. Covariances may be singular.
    n_per_class : int, default=100
        Number of samples of each class; the counts in ``statistics`` have no effect.
    shuffle : bool, default=True
        Whether the samples are in random order, or sorted by class.
    random_state : int, RandomState instance or None, default=None
        For the samples.

    Returns
    -------
    X : ndarray of shape (n_classes * n_per_class, n_features), float64
        The samples.
    y : ndarray of shape (n_classes * n_per_class,)
        Their labels, those of ``statistics.classes``.

    Raises
    ------
    ValueError
        If ``statistics`` has second moments only.

    See Also
    --------
    sqfa_toy_statistics : Toy problems.
    fisher_rao_line_statistics : Classes with given Fisher-Rao distances.

    Examples
    --------
    >>> from skgeom.datasets import make_gaussian_classes, sqfa_toy_statistics
    >>> statistics = sqfa_toy_statistics("means")
    >>> X, y = make_gaussian_classes(statistics, 200, random_state=0)
    >>> X.shape, y[:5]
    ((600, 4), array([2, 0, 1, 2, 1]))
    """
    if statistics.means is None:
        raise ValueError(
            "statistics must have means and covariances to draw samples from, got "
            "second moments only."
        )
    rng = check_random_state(random_state)
    n_classes = len(statistics.classes)
    y = balanced_labels(n_classes, n_per_class, shuffle, rng)
    X = np.empty((len(y), statistics.n_features))
    for k in range(n_classes):
        noise = rng.standard_normal((n_per_class, statistics.n_features))
        X[y == k] = statistics.means[k] + noise @ _factor(statistics.covariances[k]).T
    return X, statistics.classes[y]


def _factor(covariance):
    """A matrix L with L L' = covariance, which may be singular."""
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        eigenvalues, vectors = np.linalg.eigh(covariance)
        return vectors * np.sqrt(np.maximum(eigenvalues, 0))


@validate_params(
    {
        "positions": ["array-like"],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "change": [StrOptions({"covariances", "means-and-covariances"})],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def fisher_rao_line_statistics(
    positions=(0.0, 1.0, 2.0),
    n_features=2,
    *,
    change="means-and-covariances",
    random_state=None,
):
    r"""Return statistics of Gaussian classes with given Fisher-Rao distances.

    The classes lie along a geodesic of the manifold of Gaussians, so that the
    Fisher-Rao distance of classes i and j is exactly :math:`|t_i - t_j|`, where
    :math:`t_i` are their positions.

    Parameters
    ----------
    positions : array-like of shape (n_classes,), default=(0.0, 1.0, 2.0)
        Position :math:`t_i` of each class along the geodesic, at least two.
        ``t * np.arange(n_classes)`` gives classes at equal distances t.
    n_features : int, default=2
        Dimension of the Gaussians.
    change : {"means-and-covariances", "covariances"}, default="means-and-covariances"
        What changes along the geodesic. Means change along one direction; with
        ``"covariances"`` all means are zero.
    random_state : int, RandomState instance or None, default=None
        For the direction of the geodesic, and a rotation of the data.

    Returns
    -------
    ClassStatistics
        Means and covariances of the classes 0, 1, ..., in float64, with equal counts.

    Raises
    ------
    TypeError
        If ``positions`` holds no real numbers.
    ValueError
        If ``positions`` is not a finite vector of at least two numbers, or spans more
        than 20, where the covariances would be too ill-conditioned.

    See Also
    --------
    skgeom.geometry.distance_fisher_rao : The distance.
    make_gaussian_classes : Draws samples.

    Notes
    -----
    The variables are independent, and the mean of at most one of them changes. Then the
    squared length of a step is the sum over the variables of

    .. math:: (d\mu^2 + 2 d\sigma^2) / \sigma^2

    [1]_. A variable of constant mean moves at unit speed if its log variance changes by
    :math:`\sqrt 2\, t`, and a variable whose mean changes does so along

    .. math::

       \mu = \sqrt 2 \tanh (t / \sqrt 2), \qquad \sigma = 1 / \cosh (t / \sqrt 2) .

    The speeds of the variables are the entries of a random unit vector, so that the
    whole moves at unit speed. The position t = 0 of these formulas is the middle of the
    range of ``positions``. Finally, the data are rotated.

    No path through other Gaussians is shorter. Put the variable with the changing mean
    first, and write :math:`\Sigma = L D L^\top` with L unit lower triangular. Then the
    Fisher-Rao metric is at least the sum above for the mean of this variable and the
    variances in the diagonal matrix D.

    References
    ----------
    .. [1] S. I. R. Costa, S. A. Santos and J. E. Strapasson, "Fisher information
       distance: a geometrical reading", Discrete Applied Mathematics 197, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.datasets import fisher_rao_line_statistics
    >>> from skgeom.geometry import distance_fisher_rao
    >>> statistics = fisher_rao_line_statistics([0, 1, 3], n_features=3, random_state=0)
    >>> means, covariances = statistics.means, statistics.covariances
    >>> d = distance_fisher_rao(means[0], covariances[0], means[1:], covariances[1:])
    >>> d.round(6)
    array([1., 3.])
    """
    positions = real_array(positions, "positions")
    positions = check_array(
        positions, dtype=np.float64, ensure_2d=False, input_name="positions"
    )
    if positions.ndim != 1 or len(positions) < 2:
        raise ValueError(
            "positions must be a vector of at least two numbers, got shape "
            f"{positions.shape}."
        )
    if np.ptp(positions) > 20:
        raise ValueError(
            "positions must span at most 20, since covariances further apart are too "
            f"ill-conditioned, got a range of {np.ptp(positions):.4g}."
        )
    rng = check_random_state(random_state)
    direction = rng.standard_normal(n_features)
    direction /= np.linalg.norm(direction)
    rotation = random_orthogonal((n_features, n_features), rng)

    t = positions - (positions.min() + positions.max()) / 2
    path = t[:, None] * direction / np.sqrt(2)
    means = np.zeros_like(path)
    sigmas = np.exp(path)
    if change == "means-and-covariances":
        means[:, 0] = np.sqrt(2) * np.tanh(path[:, 0])
        sigmas[:, 0] = 1 / np.cosh(path[:, 0])
    covariances = (rotation.T * sigmas[:, None] ** 2) @ rotation
    return population(means @ rotation, (covariances + covariances.mT) / 2)
