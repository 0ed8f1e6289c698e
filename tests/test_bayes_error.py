"""The Bayes error against closed forms, quadrature and simulation."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.exceptions import ConvergenceWarning

from skgeom import ClassStatistics, GaussianClassifier, bayes_error
from skgeom.datasets import make_gaussian_classes


def statistics_of(means, covariances, counts=None):
    counts = [10] * len(means) if counts is None else counts
    return ClassStatistics(range(len(means)), counts, means, covariances)


@pytest.fixture
def random_classes(rng, make_spd):
    def make(n_classes, order):
        means = rng.normal(size=(n_classes, order))
        return statistics_of(means, make_spd((n_classes,), order))

    return make


def on_a_grid(statistics, priors, extent=14, n=700):
    """One less the integral of the largest density, in one or two dimensions."""
    line = np.linspace(-extent, extent, n, endpoint=False)
    step = line[1] - line[0]
    points = np.stack(np.meshgrid(*[line] * statistics.n_features), axis=-1)
    densities = [
        prior * multivariate_normal(mean, covariance).pdf(points)
        for prior, mean, covariance in zip(
            priors, statistics.means, statistics.covariances, strict=True
        )
    ]
    return 1 - np.max(densities, axis=0).sum() * step**statistics.n_features


@pytest.mark.parametrize("distance", [0.1, 1.0, 6.0, 20.0])
@pytest.mark.parametrize("order", [1, 4])
def test_equal_covariances(order, distance, make_spd):
    (covariance,) = make_spd((1,), order)
    apart = np.linalg.cholesky(covariance)[:, 0] * distance
    means = np.stack([np.zeros(order), apart])
    expected = norm.cdf(-distance / 2)
    error = bayes_error(statistics_of(means, np.stack([covariance] * 2)))
    assert error.value == pytest.approx(
        expected, rel=1e-9, abs=5 * error.standard_error
    )


def test_an_accuracy_that_is_not_reached_is_warned_of(random_classes, monkeypatch):
    monkeypatch.setattr("skgeom._bayes_error._MOST", 2048)
    with pytest.warns(ConvergenceWarning, match="has a standard error of"):
        error = bayes_error(random_classes(2, 3), tol=1e-12)
    assert error.standard_error < 1e-3 * error.value


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_one_feature_is_exact(random_classes, n_classes):
    statistics = random_classes(n_classes, 1)
    priors = np.arange(1.0, n_classes + 1)
    priors /= priors.sum()
    error = bayes_error(statistics, priors=priors)
    expected = on_a_grid(statistics, priors, n=400_000)
    assert error.value == pytest.approx(expected, abs=1e-7)
    assert error.standard_error == 0
    assert error.lower <= error.value <= error.upper
    far = bayes_error(statistics_of([[0.0], [60.0]], np.ones((2, 1, 1))))
    assert far.value == pytest.approx(norm.sf(30), rel=1e-9)
    assert far.lower <= far.value <= far.upper


def test_equal_classes_with_correlated_features(make_spd):
    for covariance in make_spd((6,), 3, condition=1e12):
        error = bayes_error(statistics_of(np.ones((4, 3)), np.stack([covariance] * 4)))
        assert error.value == pytest.approx(0.75)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_two_features_by_quadrature(random_classes, n_classes):
    statistics = random_classes(n_classes, 2)
    error = bayes_error(statistics, priors="uniform", tol=1e-4)
    expected = on_a_grid(statistics, np.full(n_classes, 1 / n_classes))
    assert error.value == pytest.approx(expected, abs=1e-4)
    assert abs(error.value - expected) < 5 * error.standard_error + 1e-6


def test_more_features_by_simulation(random_classes):
    statistics = random_classes(4, 6)
    X, y = make_gaussian_classes(statistics, 50_000, random_state=0)
    model = GaussianClassifier(regularization=0).fit_statistics(statistics)
    wrong = model.predict(X) != y
    error = bayes_error(statistics)
    deviation = np.hypot(error.standard_error, wrong.std() / np.sqrt(len(wrong)))
    assert abs(error.value - wrong.mean()) < 4 * deviation
    assert error.lower <= error.value <= error.upper
    for label in statistics.classes:
        of_class = wrong[y == label].mean()
        assert error.by_class[label] == pytest.approx(of_class, abs=0.01)


def test_equal_classes_leave_the_largest_prior():
    statistics = statistics_of(np.zeros((3, 2)), np.stack([np.eye(2)] * 3))
    for priors in ([0.2, 0.3, 0.5], "uniform"):
        error = bayes_error(statistics, priors=priors)
        largest = 1 / 3 if priors == "uniform" else 0.5
        assert error.value == pytest.approx(1 - largest)
        assert error.upper == pytest.approx(1 - largest)


def test_priors_are_the_proportions_of_the_counts():
    statistics = statistics_of(np.array([[0.0], [1.0]]), np.ones((2, 1, 1)), [30, 10])
    given = bayes_error(statistics, priors=[0.75, 0.25])
    assert bayes_error(statistics).value == given.value
    assert given.value == pytest.approx(
        0.75 * norm.cdf(-0.5 - np.log(3)) + 0.25 * norm.cdf(-0.5 + np.log(3))
    )


def test_bad_input_is_named():
    singular = statistics_of(np.zeros((2, 2)), np.stack([np.eye(2), np.ones((2, 2))]))
    with pytest.raises(ValueError, match="covariance of class 1 is singular"):
        bayes_error(singular)
    nearly = np.array([[1.0, 1.0], [1.0, np.nextafter(1, 2)]])  # definite by rounding
    np.linalg.cholesky(nearly)
    with pytest.raises(ValueError, match="covariance of class 1 is singular"):
        bayes_error(statistics_of(np.zeros((2, 2)), np.stack([np.eye(2), nearly])))
    assert 0 < bayes_error(singular, regularization=0.1).value < 0.5
    alone = statistics_of(np.zeros((1, 2)), np.eye(2)[None])
    with pytest.raises(ValueError, match="at least 2 classes"):
        bayes_error(alone)
    moments = ClassStatistics.from_second_moments([0, 1], [9, 9], np.ones((2, 1, 1)))
    with pytest.raises(ValueError, match="second moments"):
        bayes_error(moments)
    with pytest.raises(TypeError, match=r"got ndarray. .*from_second_moments"):
        bayes_error(np.eye(2))
    with pytest.raises(ValueError, match="priors"):
        bayes_error(statistics_of(np.zeros((2, 1)), np.ones((2, 1, 1))), priors=[1, 1])
