"""Filters of samples that are fewer than their features are sought in their span."""

import tracemalloc

import autograd.numpy as anp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from skgeom import (
    SQFA,
    AMAGauss,
    ClassStatistics,
    SecondMomentSQFA,
)
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


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("weighted", [False, True])
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


def test_automatic_regularization_is_that_of_all_features(wide):
    """An estimate class by class keeps the search among all features."""

    class SampleCovariance:
        def get_params(self, deep=True):
            return {}

        def fit(self, X):
            self.covariance_ = np.cov(X.T)
            return self

    X, y = wide
    in_span = SQFA(2, covariance_estimator=None, random_state=0).fit(X, y)
    among_all = SQFA(2, covariance_estimator=SampleCovariance(), random_state=0)
    among_all.fit(X, y)
    assert_allclose(in_span.regularization_, among_all.regularization_, rtol=1e-10)
    assert_allclose(in_span.objective_, among_all.objective_, rtol=1e-5)


def test_covariances_of_an_estimator_go_beyond_the_span(wide):
    X, y = wide
    model = SQFA(2, covariance_estimator="oas", regularization=0.1, init="pca")
    components = model.fit(X, y).components_
    statistics = ClassStatistics.from_data(X, y, "oas")
    assert_allclose(components, model.fit_statistics(statistics).components_)


@pytest.mark.parametrize("constraint", ["unit-norm", "orthonormal"])
def test_given_filters_are_where_the_search_starts(constraint, wide, rng):
    X, y = wide
    best = SQFA(2, constraint=constraint, regularization=0.4, random_state=0, tol=1e-9)
    best.fit(X, y)
    # The part across the span adds nothing.
    centred = X - X.mean(axis=0)
    _, _, axes = np.linalg.svd(centred)
    init = (
        best.components_
        + 0.1
        * rng.normal(size=(2, N_FEATURES - N_SAMPLES + 1))
        @ (axes[N_SAMPLES - 1 :])
    )
    again = SQFA(2, constraint=constraint, regularization=0.4, init=init, tol=1e-9)
    again.fit(X, y)
    assert again.n_iter_ < 12
    assert_allclose(again.objective_, best.objective_, rtol=1e-8)
    assert_allclose(again.components_, best.components_, atol=1e-3)


def test_given_filter_across_the_span(wide):
    X, y = wide
    X = np.hstack([X, np.full((len(X), 1), 5.0)])
    init = np.eye(2, X.shape[1], X.shape[1] - 2)  # the second on the constant feature
    with pytest.raises(ValueError, match="Row 1 of init is zero on all directions"):
        SQFA(2, init=init).fit(X, y)


def test_information_is_that_of_the_features(wide):
    X, y = wide
    ama = AMAGauss(2, random_state=0).fit(X, y)
    statistics = ClassStatistics.from_data(X, y)
    intensities = class_intensities(ama.shrinkage_, statistics.counts)
    statistics = statistics.shrunk(intensities).project(ama.components_)
    features = ama.transform(X)
    logs = np.empty((len(X), 3))
    for k in range(3):
        covariance = statistics.covariances[k] + ama.regularization_ * np.eye(2)
        offsets = features - statistics.means[k]
        squares = (offsets @ np.linalg.inv(covariance) * offsets).sum(axis=1)
        logs[:, k] = -(squares + np.linalg.slogdet(covariance)[1]) / 2
    logs -= np.logaddexp.reduce(logs, axis=1)[:, None]
    of_correct = logs[np.arange(len(X)), np.searchsorted(ama.classes_, y)]
    assert_allclose(ama.objective_, of_correct.mean(), rtol=1e-9)


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


def test_float32(wide):
    X, y = wide
    sqfa = SQFA(2, init="pca").fit(X.astype(np.float32), y)
    assert sqfa.components_.dtype == np.float32
    assert_allclose(
        sqfa.components_, SQFA(2, init="pca").fit(X, y).components_, atol=1e-3
    )


def test_numbers_too_large_to_square(wide):
    X, y = wide
    with pytest.raises(ValueError, match="too large for floating-point numbers"):
        SQFA(2).fit(1e160 * X, y)


def test_callbacks_get_filters_of_all_features(wide):
    pytest.importorskip("sklearn.callback", reason="callbacks need scikit-learn 1.9")
    seen = []

    class Recorder:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator, X):
            if context.task_name == "iteration":
                seen.append(fitted_estimator.transform(X).shape)

    SQFA(2, init="pca").set_callbacks(Recorder()).fit(*wide)
    assert seen
    assert set(seen) == {(N_SAMPLES, 2)}


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
