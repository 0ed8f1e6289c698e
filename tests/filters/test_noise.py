"""The automatic regularisation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from skgeom._filters.noise import linear_discriminants
from sklearn.datasets import load_digits, make_blobs
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from skgeom import SQFA, AMAGauss, ClassStatistics, SecondMomentSQFA
from skgeom.objectives import MeanInformation


def gaussians(rng, n_samples, n_features=20, n_classes=5):
    """Classes with random means and random, nearly singular covariances."""
    y = rng.integers(n_classes, size=n_samples)
    X = np.empty((n_samples, n_features))
    for label in range(n_classes):
        spread = rng.normal(size=(n_features, n_features))
        noise = rng.normal(size=((y == label).sum(), n_features))
        X[y == label] = rng.normal(size=n_features) + noise @ spread.T
    return X, y


def sampling_noise(X, y):
    classes, counts = np.unique(y, return_counts=True)
    within = sum(n * np.cov(X[y == k].T) for k, n in zip(classes, counts, strict=True))
    return np.trace(within / len(y)) / (2 * counts.mean())


@pytest.mark.parametrize("second_moments", [False, True])
def test_sampling_noise_of_statistics(second_moments, rng):
    X, y = gaussians(rng, 500, 6, 3)
    statistics = ClassStatistics.from_data(X, y)
    estimator = (SecondMomentSQFA if second_moments else SQFA)(2, random_state=0)
    found = estimator.fit_statistics(statistics).regularization_
    assert found == pytest.approx(sampling_noise(X, y), rel=1e-12)


def test_more_samples_have_less_noise(rng):
    X, y = gaussians(rng, 8000)
    few, many = (ClassStatistics.from_data(X[:n], y[:n]) for n in (500, 8000))
    few, many = (SQFA(2).fit_statistics(s).regularization_ for s in (few, many))
    assert many == pytest.approx(few / 16, rel=0.1)


def test_of_noises_that_are_as_good_the_largest_is_taken(rng):
    """Far classes are told apart with any; the next one would exceed the variance."""
    y = np.arange(600) % 2
    X = rng.normal(size=(600, 3))
    X[:, 0] += 30 * y
    found = SQFA(2, random_state=0).fit(X, y).regularization_
    assert 1 / 3.5 < found < 1.1
    steps = np.log(found / sampling_noise(X, y)) / np.log(3)
    assert steps > 3
    assert steps == pytest.approx(round(steps), abs=1e-6)


def test_noises_are_tried_up_to_the_variance_of_the_classes(rng, monkeypatch):
    """Searches with little noise end in other maxima, so that scores may dip."""
    y = np.arange(600) % 2
    X = rng.normal(size=(600, 3)) + y[:, None]
    scores = [0.5, 0.4, 0.4, 0.4, 0.6, 0.1]
    left = iter(scores)
    monkeypatch.setattr(MeanInformation, "value", lambda self, filters: next(left))
    found = SQFA(2, random_state=0).fit(X, y).regularization_
    # 3^5 times the sampling noise of 1 / 200 is more than the variance.
    assert list(left) == scores[5:]
    assert found == pytest.approx(sampling_noise(X, y) * 3**4, rel=1e-12)


def test_a_rare_class_is_not_given_up_for_more_noise():
    """A thousandth of the samples hardly counts in the mean score."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], [20_000, 20])
    X = rng.normal(size=(len(y), 10)) * np.geomspace(1, 0.1, 10)
    X[:, 0] += 0.5 * y
    X[:, -2] *= 1 + y
    X[:, -1] += 0.25 * y
    found = SQFA(2, random_state=0).fit(X, y).regularization_
    assert found < 0.1**2 / 3  # the least variance of a feature


def test_gaussians_have_the_sampling_noise(rng):
    """And so filters that find what a class has little variance along."""
    X, y = gaussians(rng, 4000)
    sqfa = SQFA(4, covariance_estimator=None, random_state=0).fit(X, y)
    assert sqfa.regularization_ == pytest.approx(sampling_noise(X, y), rel=1e-12)
    noisy = SQFA(4, regularization=100 * sqfa.regularization_, random_state=0)
    qda = QuadraticDiscriminantAnalysis()
    scores = [
        qda.fit(Z, y).score(Z, y)
        for Z in (sqfa.transform(X), noisy.fit(X, y).transform(X))
    ]
    assert scores[0] > scores[1] + 0.1


def test_classes_that_are_no_gaussians_have_more_noise(rng):
    """Features that hardly ever vary set the covariances apart, but few samples."""
    n = 2000
    y = np.repeat([0, 1, 2], n)
    X = rng.normal(size=(3 * n, 6))
    X[:, :3] += 1.5 * (y[:, None] == np.arange(3))
    # One sample in 20 of a class has nearly all of the variance of a feature.
    rare = rng.random((3 * n, 3)) < 0.05
    X[:, 3:] *= np.where(rare & (y[:, None] == np.arange(3)), 3, 1e-2)
    sqfa = SQFA(1, random_state=0).fit(X, y)
    assert sqfa.regularization_ > 2 * sampling_noise(X, y)
    assert np.linalg.norm(sqfa.components_[0, :3]) > 0.9


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e9])
@pytest.mark.parametrize("estimator", [SQFA, SecondMomentSQFA, AMAGauss])
def test_common_factor(estimator, factor):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400, 10:30], y[:400]
    plain, scaled = (
        estimator(3, random_state=0).fit(s * X, y).regularization_ for s in (1, factor)
    )
    assert scaled == pytest.approx(factor**2 * plain, rel=1e-6)


@pytest.mark.parametrize("offset", [0, 1, 1e3])
def test_equal_samples_of_each_class_have_the_total_noise(offset, rng):
    """Rounding of the class means is no variance within the classes."""
    means = rng.normal(size=(3, 80))
    X, y = np.repeat(means, 5, axis=0) + offset, np.repeat([0, 1, 2], 5)
    for factor in (1e-3, 1, 1e3):
        sqfa = SQFA(2, random_state=0).fit(factor * X, y)
        expected = factor**2 * np.trace(np.cov(means.T, bias=True)) / 10
        assert sqfa.regularization_ >= expected * (1 - 1e-6)
        assert np.isfinite(sqfa.objective_)


def test_order_of_samples():
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    plain, sorted_ = (
        SQFA(3, random_state=0).fit(X[rows], y[rows]).regularization_
        for rows in (slice(None), order)
    )
    assert sorted_ == pytest.approx(plain, rel=1e-6)


def test_random_state_is_not_used_for_the_noise():
    X, y = load_digits(return_X_y=True)
    values = {SQFA(4, random_state=k).fit(X, y).regularization_ for k in range(3)}
    assert len(values) == 1


@pytest.mark.parametrize("estimator", [SQFA(2), SQFA(2, distance="hellinger")])
def test_filters_that_repeat_each_other_are_sought_again_orthonormal(estimator):
    """One direction separates these blobs, and twice it is worth more than another."""
    X, y = make_blobs(
        [15, 15], centers=[[0, 0, 0], [1, 1, 1]], cluster_std=0.1, random_state=0
    )
    filters = estimator.set_params(random_state=0).fit(X, y).components_
    assert np.linalg.svd(filters, compute_uv=False)[-1] > 0.01
    assert_allclose(np.linalg.norm(filters, axis=1), 1)


def test_data_without_variance(rng):
    X = np.zeros((20, 3))
    with pytest.warns(UserWarning, match="classes do not differ"):
        sqfa = SQFA(1).fit(X, np.repeat([0, 1], 10))
    assert sqfa.regularization_ == 1


@pytest.mark.parametrize("n_components", [1, 2, 9])
def test_linear_discriminants(n_components, rng):
    """Against the generalised eigenproblem of the scatters."""
    X, y = gaussians(rng, 600, 8, 4)
    statistics = ClassStatistics.from_data(X, y)
    statistics.counts[:] = 150  # classes count alike
    within, total = statistics.pooled_covariances()
    moments = SQFA()._moments(statistics)
    found = linear_discriminants(moments, 0.3, n_components)
    _, vectors = eigh(total - within, within + 0.3 * np.eye(8))
    expected = vectors[:, -min(n_components, 3) :]
    expected /= np.linalg.norm(expected, axis=0)
    assert found.shape == expected.shape
    assert_allclose(np.abs((found * expected).sum(axis=0)), 1, atol=1e-9)
