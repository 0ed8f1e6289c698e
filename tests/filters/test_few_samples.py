"""Filters of samples that are fewer than their features are sought in their span."""

import autograd.numpy as anp
import numpy as np
import pytest
from comparisons import peak_memory
from numpy.testing import assert_allclose
from sklearn.base import clone

from skgeom import SQFA, AMAGauss, ClassStatistics, SecondMomentSQFA

N_SAMPLES, N_FEATURES = 36, 60


@pytest.fixture
def wide(rng):
    """Three classes of twelve samples each of 60 features, off the origin."""
    y = np.repeat(["a", "b", "c"], N_SAMPLES // 3)
    codes = np.repeat(np.arange(3), N_SAMPLES // 3)
    deviations = np.arange(1, N_FEATURES + 1) ** -0.5
    spread = rng.uniform(0.3, 2, size=(3, N_FEATURES)) * deviations
    means = 2 + rng.normal(size=(3, N_FEATURES)) * deviations / 2
    return means[codes] + rng.normal(size=(N_SAMPLES, N_FEATURES)) * spread[codes], y


def lower_bound(means_a, covariances_a, means_b, covariances_b):
    """A distance of the user's that an offset of all means changes."""
    differences = anp.sum((means_a - means_b) ** 2, axis=1)
    sizes = anp.sum(means_a**2 + means_b**2, axis=1)
    traces = anp.sum((covariances_a + covariances_b) * np.eye(2), axis=(1, 2))
    return differences / (sizes + traces)


SETTINGS = {
    "default": (SQFA, {}),
    "hellinger": (SQFA, {"distance": "hellinger", "constraint": "orthonormal"}),
    "sample covariances": (SQFA, {"covariance_estimator": None}),
    "groups": (SQFA, {"group_size": 1, "n_components": 3}),
    "orthonormal groups": (SQFA, {"group_size": 2, "constraint": "orthonormal"}),
    "second moments": (SecondMomentSQFA, {}),
    "function": (SQFA, {"distance": lower_bound}),
}


@pytest.mark.parametrize(
    ("name", "weighted"), [(name, name == "default") for name in SETTINGS]
)
def test_filters_are_those_of_all_features(name, weighted, wide, rng):
    X, y = wide
    kind, options = SETTINGS[name]
    weights = rng.integers(1, 3, size=len(y)).astype(float) if weighted else None
    # The order of the principal axes decides on the starts, and not their signs.
    model = kind(**{"n_components": 2, "init": "pca", "tol": 1e-10, **options})
    model.set_params(regularization=0.4)
    statistics = ClassStatistics.from_data(X, y, sample_weight=weights)
    fitted = clone(model).fit(X, y, sample_weight=weights)
    if model.covariance_estimator == "auto":
        statistics = statistics.shrunk(fitted.class_shrinkages_)
    expected = model.fit_statistics(statistics)
    components, objective = expected.components_, expected.objective_
    features = expected.statistics_
    assert fitted.components_.shape == (model.n_components, N_FEATURES)
    assert_allclose(fitted.objective_, objective, rtol=1e-9)
    assert_allclose(fitted.components_, components, atol=1e-4)
    assert_allclose(fitted.statistics_.means, features.means, atol=1e-3)
    assert_allclose(fitted.statistics_.covariances, features.covariances, atol=1e-3)
    # The statistics are those of what transform returns.
    of_features = ClassStatistics.from_data(
        fitted.transform(X), y, sample_weight=weights
    )
    assert_allclose(fitted.statistics_.means, of_features.means, rtol=1e-10)


def test_given_filter_across_the_span(wide, rng):
    X, y = wide
    init = rng.normal(size=(2, X.shape[1]))
    init[1] -= np.linalg.pinv(X) @ (X @ init[1])  # orthogonal up to rounding
    with pytest.raises(ValueError, match="Row 1 of init is zero in all directions"):
        SQFA(2, init=init).fit(X, y)


@pytest.mark.parametrize("constraint", ["unit-norm", "orthonormal"])
def test_more_filters_than_directions(constraint, rng):
    X = 3 + rng.normal(size=(4, 12))
    y = [0, 0, 1, 1]
    sqfa = SQFA(
        8, constraint=constraint, regularization=0.01, init="pca", tol=1e-3
    ).fit(X, y)
    assert_allclose(np.linalg.norm(sqfa.components_, axis=1), 1, rtol=1e-12)
    if constraint == "orthonormal":
        assert_allclose(sqfa.components_ @ sqfa.components_.T, np.eye(8), atol=1e-12)


def test_without_regularization(wide, rng):
    X, y = wide
    with pytest.raises(ValueError, match="class a, which has 12 samples, is singular"):
        SQFA(2, regularization=0).fit(X, y)
    # Few directions in features of unlike units, all of which count alike.
    flat = X[:, :4] @ rng.normal(size=(4, 50)) * 10.0 ** rng.uniform(-3, 3, size=50)
    sqfa = SQFA(2, regularization=0, covariance_estimator=None, tol=1e-10)
    reached = sqfa.set_params(random_state=0).fit(flat, y).objective_
    expected = sqfa.fit(X[:, :4], y).objective_
    assert_allclose(reached, expected, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:The predictions of held-out")
@pytest.mark.parametrize("kind", [SQFA, SecondMomentSQFA, AMAGauss])
def test_memory_is_that_of_the_samples(kind, rng):
    X = rng.normal(size=(20, 3000)).astype(np.float32)
    y = np.arange(20) % 2
    model = kind(2, random_state=0, max_iter=5, tol=1.0)
    peak = peak_memory(lambda: model.fit(X, y))
    assert peak < 30 * X.nbytes  # one matrix of all features is 300 of it


@pytest.mark.filterwarnings("ignore:The predictions of held-out")
@pytest.mark.parametrize("estimator", [SQFA, SecondMomentSQFA])
def test_single_precision_keeps_small_features_beside_a_large_one(estimator, rng):
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 500))
    X[y == 1, 1:5] += 3
    X[:, 0] *= 1e5
    X = X.astype(np.float32)
    single = estimator(1, regularization=1.0, random_state=0).fit(X, y)
    double = estimator(1, regularization=1.0, random_state=0).fit(X.astype(float), y)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-5)


def test_classes_without_variance(rng):
    X, y = rng.normal(size=(15, 300)).repeat(3, axis=0), np.arange(15).repeat(3)
    sqfa = SQFA(2, regularization=1.0, random_state=0).fit(X, y)
    assert np.isfinite(sqfa.objective_) and sqfa.objective_ > 0


# The covariance of a noise.


@pytest.fixture
def noise(rng):
    """A noise of all features that is correlated."""
    factor = rng.normal(size=(N_FEATURES, N_FEATURES)) / np.sqrt(N_FEATURES)
    return 0.1 * factor @ factor.T + 0.05 * np.eye(N_FEATURES)


@pytest.mark.parametrize("kind", [SQFA, SecondMomentSQFA])
def test_noise_is_added_to_the_covariances_of_few_samples(kind, wide, noise):
    statistics = ClassStatistics.from_data(*wide).shrunk()
    moments = statistics.means, statistics.covariances + noise
    expected = ClassStatistics(statistics.classes, statistics.counts, *moments)
    noisy = statistics.with_noise(noise)
    assert_allclose(noisy.covariances, expected.covariances)
    model = kind(2, regularization=0, random_state=0)
    filters = clone(model).fit_statistics(expected).components_
    assert_allclose(model.fit_statistics(noisy).components_, filters, atol=1e-6)


def test_equal_noise_of_all_features_is_that_of_orthonormal_filters(wide):
    X, y = wide[0][:, :5], wide[1]
    model = SQFA(2, covariance_estimator=None, tol=1e-10, random_state=0)
    noisy = ClassStatistics.from_data(X, y).with_noise(0.4 * np.eye(5))
    of_features = clone(model).set_params(regularization=0).fit_statistics(noisy)
    model.set_params(regularization=0.4, constraint="orthonormal").fit(X, y)
    assert of_features.objective_ == pytest.approx(model.objective_, rel=1e-6)


def test_noise_of_statistics_with_axes(wide, noise):
    X, y = wide
    options = {"regularization": 0, "tol": 1e-10, "random_state": 0}
    some = ClassStatistics.from_data(X, y, n_axes=20)
    in_axes = SQFA(2, **options).fit_statistics(some.with_noise(noise))
    inside = ClassStatistics.from_data(X @ some.axes.T, y)
    inside = inside.with_noise(some.axes @ noise @ some.axes.T)
    expected = SQFA(2, **options).fit_statistics(inside).objective_
    assert in_axes.objective_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda N: N[:-1], r"covariance has shape \(59, 60\). .* \(60, 60\)"),
        (lambda N: N[0], r"covariance has shape \(60,\)"),
        (lambda N: np.triu(N), "covariance is not symmetric"),
        (lambda N: N - np.eye(60), "covariance is not a covariance"),
        (lambda N: N * np.nan, "covariance contains NaN"),
    ],
)
def test_invalid_noise(change, message, wide, noise):
    with pytest.raises(ValueError, match=message):
        ClassStatistics.from_data(*wide).with_noise(change(noise))
