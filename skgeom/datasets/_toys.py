"""The toy problems of SQFA, as exact class statistics."""

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from skgeom.datasets._common import population, random_orthogonal

# Number of classes of the scaling toy, and of the axes along which their means differ.
_N_CLASSES = 5
_N_MEAN_AXES = 4


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
    return population(*_TOYS[name]())


@validate_params(
    {
        "n_informative": [Interval(Integral, _N_MEAN_AXES, None, closed="left")],
        "n_features": [Interval(Integral, _N_MEAN_AXES, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def sqfa_scaling_toy(n_informative=10, n_features=500, *, random_state=None):
    r"""Make a toy problem whose classes differ in a subspace of many dimensions.

    The five classes differ in d = ``n_informative`` directions and have unit variance
    in all others. In coordinates of the subspace, coordinate j = 0, ..., 3 of the mean
    of class i = 0, ..., 4 is :math:`(i - 2)(1 - 0.15 j)` and the others are zero. The
    covariance consists of blocks of two coordinates: block b has variances
    :math:`1 + 6 / \sqrt d` and 1 along axes that are rotated by :math:`36 i + 11 b`
    degrees. If d is odd, the last coordinate has unit variance.

    Parameters
    ----------
    n_informative : int, default=10
        Dimension d of the subspace, at least 4.
    n_features : int, default=500
        Dimension of the data, at least ``n_informative``. The reference has 5000, with
        d of 10, 50, 100 and 500. The statistics need 40 n_features^2 bytes: 1 GB for
        5000.
    random_state : int, RandomState instance or None, default=None
        For the orientation of the subspace.

    Returns
    -------
    Bunch
        With the attributes

        - ``statistics``, the :class:`~skgeom.ClassStatistics` of the data;
        - ``components``, ndarray of shape (n_informative, n_features): an orthonormal
          basis of the subspace in its rows;
        - ``subspace_statistics``, those of ``X @ components.T``;
        - ``DESCR``, a description.

    Raises
    ------
    ValueError
        If ``n_features`` is below ``n_informative``.

    Examples
    --------
    >>> from skgeom.datasets import sqfa_scaling_toy
    >>> toy = sqfa_scaling_toy(n_informative=6, n_features=50, random_state=0)
    >>> toy.statistics
    ClassStatistics(5 classes, 50 features, 500 samples)
    >>> toy.components.shape
    (6, 50)
    """
    if n_features < n_informative:
        raise ValueError(
            f"n_features must be at least n_informative={n_informative}, got "
            f"{n_features}."
        )
    rng = check_random_state(random_state)
    means = np.zeros((_N_CLASSES, n_informative))
    slopes = 1 - 0.15 * np.arange(_N_MEAN_AXES)
    means[:, :_N_MEAN_AXES] = np.linspace(-2, 2, _N_CLASSES)[:, None] * slopes
    covariances = np.tile(np.eye(n_informative), (_N_CLASSES, 1, 1))
    variances = [1 + 6 / np.sqrt(n_informative), 1]
    for k, angle in enumerate(np.linspace(0, 144, _N_CLASSES)):
        for block in range(n_informative // 2):
            axes = slice(2 * block, 2 * block + 2)
            covariances[k, axes, axes] = _rotated_covariance(
                variances, angle + 11 * block
            )

    components = random_orthogonal((n_informative, n_features), rng)
    ambient = np.empty((_N_CLASSES, n_features, n_features))
    for k, excess in enumerate(covariances - np.eye(n_informative)):
        np.matmul(components.T, excess @ components, out=ambient[k])
    ambient = (ambient + ambient.mT) / 2
    ambient[:, range(n_features), range(n_features)] += 1
    return Bunch(
        statistics=population(means @ components, ambient),
        components=components,
        subspace_statistics=population(means, covariances),
        DESCR=(
            f"Five Gaussian classes that differ in {n_informative} of {n_features} "
            "dimensions: a toy problem for the scaling of supervised quadratic "
            "feature analysis."
        ),
    )
