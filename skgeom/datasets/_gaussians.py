"""Gaussian classes: toy problems as exact statistics, and samples."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from skgeom._statistics import ClassStatistics


def balanced_labels(n_classes, n_per_class, shuffle, rng):
    """Labels 0, 1, ..., each ``n_per_class`` times, sorted or in random order."""
    y = np.repeat(np.arange(n_classes), n_per_class)
    if shuffle:
        rng.shuffle(y)
    return y


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


def _rotation(degrees):
    angle = np.deg2rad(degrees)
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _rotated_covariance(variances, degrees):
    """Covariance with given variances along two axes that are rotated by an angle."""
    rotation = _rotation(degrees)
    return (rotation * variances) @ rotation.T


def _covariances_toy():
    means = np.zeros((3, 6))
    means[:, 2:4] = [(-0.25, -0.25), (0.25, -0.25), (0, 0.25)]
    covariances = np.zeros((3, 6, 6))
    for k, (angle, variance) in enumerate([(10, 0.9), (45, 1.0), (80, 1.1)]):
        covariances[k, :2, :2] = _rotated_covariance([0.9, 0.02], angle)
        covariances[k, 2:4, 2:4] = 0.6 * np.eye(2)
        covariances[k, 4:, 4:] = variance * np.eye(2)
    return means, covariances


def _means_toy():
    means = np.zeros((3, 4))
    covariances = np.zeros((3, 4, 4))
    for k, (angle, sign) in enumerate([(0, 1), (40, -1), (80, 1)]):
        mean = sign * _rotation(angle)[:, 0]
        means[k, :2] = mean
        covariances[k, :2, :2] = 0.05 * np.eye(2)
        covariances[k, 2:, 2:] = np.outer(mean, mean) + 0.045 * np.eye(2)
    return means, covariances


def _distances_toy():
    covariances = np.zeros((3, 4, 4))
    for k in range(3):
        covariances[k, :2, :2] = _rotated_covariance([0.25, 0.01], 40 * k)
        covariances[k, 2:, 2:] = _rotated_covariance([1.0, 0.04], 20 * k)
    return np.zeros((3, 4)), covariances


def _lda_toy():
    means = [(-0.8, 0.2), (-0.84, -0.2), (0.84, 0.6), (0.8, -0.6)]
    return means, [0.008 * np.eye(2)] * 4


_TOYS = {
    "covariances": _covariances_toy,
    "means": _means_toy,
    "distances": _distances_toy,
    "lda": _lda_toy,
}


@validate_params({"name": [StrOptions(set(_TOYS))]}, prefer_skip_nested_validation=True)
def sqfa_toy_statistics(name):
    """Return the statistics of a toy problem of supervised quadratic feature analysis.

    Each problem shows which differences of the classes a method finds, with two filters
    or, for ``"lda"``, one. :func:`make_gaussian_classes` draws data from them.

    Parameters
    ----------
    name : {"covariances", "means", "distances", "lda"}
        Which problem:

        - ``"covariances"``, 3 classes in 6 axes [1]_: the covariances differ much in
          axes 1-2, which :class:`~skgeom.SQFA` finds; the means differ a little in
          axes 3-4, which LDA finds; and axes 5-6 have the largest variance, which PCA
          finds. The paper has sigma^2 = 0.002.
        - ``"means"``, 3 classes in 4 axes [1]_: the means differ in axes 1-2, which
          SQFA finds, and the second moments differ more in axes 3-4, which
          :class:`~skgeom.SecondMomentSQFA` finds. sigma^2 = 0.001.
        - ``"distances"``, 3 centred classes in 4 axes [2]_: orientations differ more in
          axes 1-2, where the variance is small, than in axes 3-4, where it is large.
          Which axes are found depends on the distance. sigma^2 = 0.001.
        - ``"lda"``, 4 classes with the same covariance in the plane: the one filter
          that separates all pairs is not the filter of LDA. sigma^2 = 0.001.

    Returns
    -------
    ClassStatistics
        Means and covariances of the classes 0, 1, ..., in float64, with equal counts.

    Raises
    ------
    ValueError
        If there is no problem of this name.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025: figures 2 and 3.
    .. [2] The first version of [1]_: figure 7.

    Examples
    --------
    >>> from skgeom import SQFA
    >>> from skgeom.datasets import sqfa_toy_statistics
    >>> statistics = sqfa_toy_statistics("covariances")
    >>> statistics.means.shape
    (3, 6)
    >>> sqfa = SQFA(2, regularization=0.002, random_state=0)
    >>> sqfa.fit_statistics(statistics).components_.round(2).any(axis=0)
    array([ True,  True, False, False, False, False])
    """
    means, covariances = _TOYS[name]()
    n_classes = len(means)
    # Only the ratios of the counts matter.
    return ClassStatistics(range(n_classes), [100] * n_classes, means, covariances)
