"""Fitted estimators in files: pickles of other versions, and skops."""

import pickle
import warnings

import numpy as np
import public_estimators as public
import pytest
from sklearn.exceptions import InconsistentVersionWarning

METHODS = "transform", "predict", "predict_proba", "decision_function"
NAMES = {name.split(",")[0] for name in public.ESTIMATORS} - {"mdrm", "tslda"}


@pytest.fixture(params=sorted(NAMES))
def fitted(request):
    """A fitted estimator, and its samples."""
    case = public.ESTIMATORS[request.param]
    X, y = public.data_of(case, seed=0)
    if public.NAMES in case.holds:
        y = np.array(["setosa", "versicolor", "virginica"])[y]
    return public.fitted(case, X, y), X


def assert_same_results(model, same, X):
    for method in METHODS:
        if hasattr(model, method):
            expected, found = (getattr(m, method)(X) for m in (model, same))
            np.testing.assert_array_equal(found, expected)


def test_pickles_of_another_version_warn(fitted, monkeypatch):
    model, X = fitted
    content = pickle.dumps(model)
    same = pickle.loads(content)
    assert_same_results(model, same, X)
    assert vars(same).keys() == vars(model).keys()
    monkeypatch.setattr("skgeom.utils.estimator.__version__", "99.0")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pickle.loads(content)
    own = [w for w in caught if issubclass(w.category, InconsistentVersionWarning)]
    name = type(model).__name__
    assert any(f"{name} from version" in str(w.message) for w in own)


def test_skops_stores_the_estimator(fitted):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    model, X = fitted
    content = io.dumps(model)
    unknown = io.get_untrusted_types(data=content)
    assert all(kind.startswith("skgeom.") for kind in unknown)
    assert_same_results(model, io.loads(content, trusted=unknown), X)
