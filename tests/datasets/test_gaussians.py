"""Generators of Gaussian classes and of the toy problems of SQFA."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag

from skgeom import ClassStatistics
from skgeom.datasets import make_gaussian_classes, sqfa_toy_statistics


def rotated(large, small, degrees):
    """A covariance by its variances along axes, the larger one at an angle."""
    mean, half = (large + small) / 2, (large - small) / 2
    c, s = (f(np.deg2rad(2 * degrees)) for f in (np.cos, np.sin))
    return [[mean + half * c, half * s], [half * s, mean - half * c]]


# The blocks of the covariances, class by class, and the means: the numbers by which the
# authors made figures 2 and 3 of the paper, figure 7 of its first version, and the
# comparison with LDA.
BLOCKS = {
    "covariances": [
        [rotated(0.9, 0.02, angle), 0.6 * np.eye(2), variance * np.eye(2)]
        for angle, variance in ((10, 0.9), (45, 1.0), (80, 1.1))
    ],
    "means": [
        [0.05 * np.eye(2), rotated(1.045, 0.045, angle)] for angle in (0, 40, 80)
    ],
    "distances": [
        [rotated(0.25, 0.01, 2 * angle), rotated(1.0, 0.04, angle)]
        for angle in (0, 20, 40)
    ],
    "lda": [[0.008 * np.eye(2)]] * 4,
}
MEANS = {
    "covariances": [
        [0, 0, -0.25, -0.25, 0, 0],
        [0, 0, 0.25, -0.25, 0, 0],
        [0, 0, 0, 0.25, 0, 0],
    ],
    "means": [  # at 0, 220 and 80 degrees on the unit circle
        [1, 0, 0, 0],
        [-0.766044443, -0.642787610, 0, 0],
        [0.173648178, 0.984807753, 0, 0],
    ],
    "distances": np.zeros((3, 4)),
    "lda": [[-0.8, 0.2], [-0.84, -0.2], [0.84, 0.6], [0.8, -0.6]],
}


@pytest.mark.parametrize("name", BLOCKS)
def test_toy_statistics_are_those_of_the_authors(name):
    statistics = sqfa_toy_statistics(name)
    assert_allclose(statistics.means, MEANS[name], atol=1e-9)
    expected = [block_diag(*blocks) for blocks in BLOCKS[name]]
    assert_allclose(statistics.covariances, expected, atol=1e-12)


@pytest.mark.parametrize("name", BLOCKS)
def test_samples_have_the_statistics(name):
    """Within 5 standard errors, of the mean and of the entries of the covariance."""
    population = sqfa_toy_statistics(name)
    n = 4000
    X, y = make_gaussian_classes(population, n, random_state=0)
    assert X.dtype == np.float64
    sample = ClassStatistics.from_data(X, y)
    assert_array_equal(sample.counts, n)
    variances = np.diagonal(population.covariances, axis1=1, axis2=2)
    assert np.all(np.abs(sample.means - population.means) < 5 * np.sqrt(variances / n))
    error = np.abs(sample.covariances - population.covariances)
    # Var of the sample covariance of i and j is (S_ii S_jj + S_ij^2) / (n - 1).
    spread = variances[:, :, None] * variances[:, None] + population.covariances**2
    assert np.all(error < 5 * np.sqrt(spread / (n - 1)))


def test_samples_of_singular_covariances_and_other_labels():
    singular = np.diag([1.0, 0.0])
    statistics = ClassStatistics(["b", "a"], [3, 9], [[1, 2], [3, 4]], [singular] * 2)
    X, y = make_gaussian_classes(statistics, 50, shuffle=False, random_state=0)
    assert_array_equal(y, np.repeat(["a", "b"], 50))
    assert_array_equal(X[:, 1], np.repeat([4.0, 2.0], 50))
    assert X[:50, 0].std() > 0.5


def test_samples_need_means():
    moments = ClassStatistics.from_second_moments([0, 1], [1, 1], [np.eye(2)] * 2)
    with pytest.raises(ValueError, match="second moments only"):
        make_gaussian_classes(moments)
