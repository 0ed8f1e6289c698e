"""Rejection of samples of other libraries than numpy, and of Dask."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _array_api, get_tags

from skgeom import GaussianClassifier, KernelDiscriminantAnalysis, RejectionClassifier
from skgeom.utils._sklearn import ARRAY_API
from skgeom.utils.array_api import to_numpy

# Nothing is selected: other tests compare selected values.
GIVEN = KernelDiscriminantAnalysis(gamma=7e-4, regularization=0.1)
RULES = [
    {"threshold": 0.7},
    {"rejection_rate": 0.2, "cv": 3},
    {"target_error": 0.5, "cv": 3},
    {"cost_matrix": [[0, 1, 2, 0.7], [1, 0, 1, 0.5], [2, 1, 0, 0.7]]},
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: next(iter(rule)))
def test_results_are_those_of_numpy(library, blobs, rule):
    X, y = blobs
    weights = None if "target_error" in rule else np.arange(len(y)) % 3 + 1.0
    model = RejectionClassifier(GIVEN, **rule)
    with config_context(array_api_dispatch=False):
        X_near = X.astype(library.dtype)
        model.fit(X_near, y, weights)
        threshold, expected = model.threshold_, model.predict(X_near)
        accuracy = model.score(X_near, y, weights)
    X_there, y_there = library.array(X), library.array(y)
    weights_there = None if weights is None else library.array(weights)
    there = model.fit(X_there, y_there, weights_there)
    assert there.threshold_ == pytest.approx(threshold, abs=1e-3)
    assert there.reject_label_ == -1
    predicted = there.predict(X_there)
    assert library.is_mine(predicted)
    assert library.is_mine(there.predict_proba(X_there))
    found = to_numpy(predicted)
    assert (found == expected).mean() > 0.98
    assert {-1, 0, 1, 2} == set(found.tolist())
    assert there.score(X_there, y_there, weights) == pytest.approx(accuracy, abs=0.02)
    with pytest.raises(ValueError, match=r"RejectionClassifier.predict\(\)"):
        there.predict(X)
    here = _array_api.move_estimator_to(there, np, "cpu")
    assert_array_equal(here.predict(X_near), found)
    assert get_tags(there).array_api_support is ARRAY_API


def test_densities(library, blobs):
    X, y = blobs
    classifier = GaussianClassifier(regularization=0.1)
    model = RejectionClassifier(classifier, rejection_rate=0.2, cv=3)
    model.set_params(confidence="density")
    with config_context(array_api_dispatch=False):
        X_near = X.astype(library.dtype)
        expected = model.fit(X_near, y).predict(X_near)
    predicted = model.fit(library.array(X), library.array(y)).predict(library.array(X))
    assert library.is_mine(predicted)
    assert (to_numpy(predicted) == expected).mean() > 0.98


def test_labels_of_text_stay_on_the_host(library, blobs):
    X, y = blobs
    labels = np.array(["a", "b", "c"])[y]
    model = RejectionClassifier(GIVEN, rejection_rate=0.2, cv=3)
    predicted = model.fit(library.array(X), labels).predict(library.array(X))
    assert set(predicted) == {"a", "b", "c", "rejected"}
    assert model.score(library.array(X), labels) > 0.5


def test_dask(blobs):
    da = pytest.importorskip("dask.array")
    X, y = blobs
    blocks, labels = da.from_array(X, chunks=(50, -1)), da.from_array(y, chunks=50)
    landmarks = KernelDiscriminantAnalysis(solver="nystroem")
    model = RejectionClassifier(landmarks, threshold=0.8)
    expected = model.fit(X, y).predict(X)
    assert_array_equal(model.fit(blocks, y).predict(X), expected)
    weighted = model.fit(X, y, y + 1).predict(X)
    assert_array_equal(model.fit(X, labels, labels + 1).predict(X), weighted)
    frame = blocks.to_dask_dataframe(["a", "b"][: X.shape[1]])
    series = labels.to_dask_dataframe()
    assert_array_equal(model.fit(frame, series, series + 1).predict(frame), weighted)
    model.fit(frame, series)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert_array_equal(model.predict(frame), expected)
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    model.set_params(threshold=None, rejection_rate=0.1)
    with pytest.raises(TypeError, match=r"needs all of X in memory.*Set threshold"):
        model.fit(blocks, y)
    frozen = FrozenEstimator(GaussianClassifier().fit(X, y))
    model = RejectionClassifier(frozen, rejection_rate=0.1)
    assert model.fit(blocks, y).threshold_ == pytest.approx(model.fit(X, y).threshold_)
