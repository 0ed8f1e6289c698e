"""Statistics of classes, and Gaussian classifiers, of arrays of other libraries."""

import numpy as np
import pytest
from comparisons import assert_same_statistics
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone

from skgeom import SQFA, ClassStatistics, GaussianClassifier
from skgeom.utils._sklearn import ARRAY_API
from skgeom.utils.array_api import namespace, to_numpy

CLASSIFIERS = [
    GaussianClassifier(),
    GaussianClassifier("shared", priors="uniform"),
    GaussianClassifier(regularization=0.5),
    GaussianClassifier(covariance_estimator="oas"),
]
METHODS = "decision_function predict predict_proba predict_log_proba score_samples"


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_are_those_of_numpy(library, rng, weighted):
    # More features than are multiplied at once, and several blocks of rows.
    X = (rng.normal(size=(9000, 300)) + 100).astype(np.float32).astype(float)
    y = (np.arange(9000) > 500).astype(int)
    weights = rng.integers(0, 3, size=len(y)) / 2 if weighted else None
    expected = ClassStatistics.from_data(X, y, sample_weight=weights)
    statistics = ClassStatistics.from_data(
        library.array(X), library.array(y), sample_weight=weights
    )
    assert library.is_mine(statistics.means)
    assert library.is_mine(statistics.covariances)
    assert "float64" in str(statistics.covariances.dtype)
    assert_same_statistics(statistics, expected)


def test_statistics_lie_where_the_left_ones_do(library, wine_32):
    X, y = wine_32
    there = library.array(X)
    expected = ClassStatistics.from_data(X, y)
    # The second half lacks a class.
    on_device = ClassStatistics.from_data(there[:100, :], y[:100])
    on_host = ClassStatistics.from_data(X[100:], y[100:])
    left = on_device + on_host
    assert library.is_mine(left.covariances)
    assert_same_statistics(left, expected)
    right = on_host + on_device
    assert type(right.covariances) is np.ndarray
    assert_same_statistics(right, expected)
    assert_same_statistics(sum([on_device, on_host]), expected)
    assert_same_statistics(
        on_host.update(there[:100, :], library.array(y[:100])), expected
    )
    assert type(on_host.means) is np.ndarray
    assert_same_statistics(on_device.update(X[100:], y[100:]), expected)
    assert library.is_mine(on_device.means)


def test_bad_numbers_are_refused(library, wine_32):
    X, y = wine_32
    for wrong, match in ((np.nan, "NaN"), (1e200, "too large")):
        if library.dtype == "float32" and wrong == 1e200:
            continue
        spoilt = X.copy()
        spoilt[0, 0] = wrong
        with pytest.raises(ValueError, match=match):
            ClassStatistics.from_data(library.array(spoilt), y)
    if library.dtype == "float64":
        with pytest.raises(ValueError, match="too small"):
            ClassStatistics.from_data(library.array(X * 1e-300), y)
    with pytest.raises(ValueError, match="but y has"):
        ClassStatistics.from_data(library.array(X), y[1:])


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_gaussians_are_those_of_numpy(classifier, library, wine_32):
    X, y = wine_32
    there = library.array(X)
    expected = clone(classifier).fit(X, y)
    fitted = clone(classifier).fit(there, library.array(y))
    assert library.is_mine(fitted.priors_)
    score = fitted.score(there, library.array(y))
    assert score == pytest.approx(expected.score(X, y), abs=1e-6)
    for method in METHODS.split():
        result = getattr(fitted, method)(there)
        assert library.is_mine(result), method
        assert_allclose(to_numpy(result), getattr(expected, method)(X), atol=1e-6)
        with pytest.raises(ValueError, match=rf"{method}\(\) must use the same"):
            getattr(fitted, method)(X)


def test_more_samples_and_announced_classes(library, wine_32):
    X, y = wine_32
    first = y < 2
    classifier, expected = GaussianClassifier(), GaussianClassifier()
    classifier.partial_fit(library.array(X[first]), y[first], classes=[-1, 0, 1, 2])
    expected.partial_fit(X[first], y[first], classes=[-1, 0, 1, 2])
    assert_allclose(
        to_numpy(classifier.predict_proba(library.array(X))),
        expected.predict_proba(X),
        atol=1e-6,
    )
    classifier.partial_fit(library.array(X[~first]), library.array(y[~first]))
    expected.partial_fit(X[~first], y[~first])
    assert_array_equal(
        to_numpy(classifier.predict(library.array(X))), expected.predict(X)
    )
    with pytest.raises(ValueError, match=r"partial_fit\(\) must use the same"):
        classifier.partial_fit(X, y)


@pytest.mark.skipif(not ARRAY_API, reason="needs scikit-learn 1.9")
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_predictions_copy_nothing_to_the_host(classifier, wine_32, monkeypatch):
    def only_numpy(array):
        assert namespace(array) is np
        return to_numpy(array)

    xp = pytest.importorskip("array_api_strict")
    X, y = wine_32
    there = xp.asarray(X, device=xp.Device("device1"))
    with config_context(array_api_dispatch=True):
        fitted = clone(classifier).fit(there, y)
        monkeypatch.setattr("skgeom.utils.array_api.to_numpy", only_numpy)
        for method in METHODS.split():
            getattr(fitted, method)(there)


def test_without_the_switch_all_is_numpy(library, wine_32):
    X, y = wine_32
    if library.name != "torch":
        pytest.skip("numpy cannot read it")
    with config_context(array_api_dispatch=False):
        statistics = ClassStatistics.from_data(library.array(X), library.array(y))
        assert type(statistics.means) is np.ndarray
        assert type(SQFA(2).fit(library.array(X), y).components_) is np.ndarray
