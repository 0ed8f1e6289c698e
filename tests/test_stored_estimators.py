"""Fitted estimators in files: pickles of other versions, and skops."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_regressor
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_spd_matrix
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

import skgeom
from skgeom import baselines

FIRST = {"ClusterClassifier": KMeans(4, random_state=0)}
FIRST |= {"RejectionClassifier": LogisticRegression()}
METHODS = "transform", "predict", "predict_proba", "decision_function"
NAMES = [
    (module, name)
    for module in (skgeom, baselines)
    for name in module.__all__
    if isinstance(getattr(module, name), type)
    and issubclass(getattr(module, name), BaseEstimator)
]
every_estimator = pytest.mark.parametrize(
    ("module", "name"), NAMES, ids=[name for _, name in NAMES]
)


def fitted(module, name):
    """A fitted estimator, and its samples."""
    model = getattr(module, name)(*[FIRST[name]] if name in FIRST else [])
    if "max_iter" in model.get_params():
        model.set_params(max_iter=3)
    if name == "RegionCovariance":
        X, y = np.random.default_rng(0).random((6, 9, 9)), None
    elif get_tags(model).input_tags.two_d_array:
        X, y = load_iris(return_X_y=True)
        X, y = X[::3], y[::3]
        if not is_regressor(model):
            y = np.array(["setosa", "versicolor", "virginica"])[y]
    else:
        X = np.array([make_spd_matrix(3, random_state=k) for k in range(40)])
        y = np.arange(40) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y), X


def assert_same_results(model, same, X):
    for method in METHODS:
        if hasattr(model, method):
            expected, found = (getattr(m, method)(X) for m in (model, same))
            np.testing.assert_array_equal(found, expected)


@every_estimator
def test_pickles_of_another_version_warn(module, name, monkeypatch):
    model, X = fitted(module, name)
    content = pickle.dumps(model)
    same = pickle.loads(content)
    assert_same_results(model, same, X)
    assert vars(same).keys() == vars(model).keys()
    monkeypatch.setattr(skgeom, "__version__", "99.0")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pickle.loads(content)
    own = [w for w in caught if issubclass(w.category, InconsistentVersionWarning)]
    assert any(f"{name} from version" in str(w.message) for w in own)


@every_estimator
def test_skops_stores_the_estimator(module, name):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    model, X = fitted(module, name)
    content = io.dumps(model)
    unknown = io.get_untrusted_types(data=content)
    assert all(kind.startswith("skgeom.") for kind in unknown)
    assert_same_results(model, io.loads(content, trusted=unknown), X)
