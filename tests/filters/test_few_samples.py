"""Filters of samples that are fewer than their features are sought in their span."""

import tracemalloc

import autograd.numpy as anp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from skgeom import SQFA, AMAGauss, ClassStatistics, SecondMomentSQFA
from skgeom._filters._auto import class_intensities

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
    "weights": (SQFA, {"class_weight": {"a": 3.0}}),
    "function": (SQFA, {"distance": lower_bound}),
}


@pytest.mark.parametrize(
    ("name", "weighted"),
    [(name, name == "default") for name in SETTINGS],
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
        intensities = class_intensities(fitted.shrinkage_, statistics.counts)
        statistics = statistics.shrunk(intensities)
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


def test_given_filter_across_the_span(wide):
    X, y = wide
    X = np.hstack([X, np.full((len(X), 1), 5.0)])
    init = np.eye(2, X.shape[1], X.shape[1] - 2)  # the second on the constant feature
    with pytest.raises(ValueError, match="Row 1 of init is zero on all directions"):
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


@pytest.mark.filterwarnings("ignore:The filters do not separate")
@pytest.mark.parametrize("kind", [SQFA, SecondMomentSQFA, AMAGauss])
def test_memory_is_that_of_the_samples(kind, rng):
    X = rng.normal(size=(20, 3000)).astype(np.float32)
    y = np.arange(20) % 2
    tracemalloc.start()
    try:
        kind(2, random_state=0, max_iter=5, tol=1.0).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30 * X.nbytes  # one matrix of all features is 300 of it


def test_numbers_too_large_to_square(wide):
    X, y = wide
    with pytest.raises(ValueError, match="too large for floating-point numbers"):
        SQFA(2).fit(1e160 * X, y)


@pytest.mark.filterwarnings("ignore:The filters do not separate")
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
