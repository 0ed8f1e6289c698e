"""Scikit-learn's whole battery, for every public estimator with default parameters.

Estimators of SPD matrices or images run on vectors through an adapter, whose parameters
are the defaults as well. ``EXPECTED_FAILURES`` declares what cannot pass, with the
reason.
"""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils._array_api import (
    get_namespace,
    get_namespace_and_device,
    supported_float_dtypes,
)
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)
from sklearn.utils.validation import _check_feature_names, check_is_fitted
from sklearn.utils.validation import validate_data as validate

import skgeom
from skgeom import baselines

# The first parameter of estimators that require one
REQUIRED = {
    "ClusterClassifier": [KMeans(4, n_init=3, random_state=0)],
    "RejectionClassifier": [LogisticRegression()],
}
REJECTS = "predict returns the reject label for doubtful samples"
EXPECTED_FAILURES = {
    "RejectionClassifier": {"check_classifiers_train": REJECTS},
}
LEARNING = "fit", "partial_fit", "fit_transform", "fit_predict"
METHODS = (
    *LEARNING,
    "transform",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score",
)


def spd_matrices(X):
    """Full SPD matrices whose eigenvalues before a congruence are exp(arcsinh(x))."""
    xp, _, device = get_namespace_and_device(X)
    size = X.shape[1]
    mixing = np.eye(size) + np.tri(size, k=-1) / size
    mixing = xp.asarray(mixing, dtype=X.dtype, device=device)
    return (mixing * xp.exp(xp.asinh(X / 100))[:, None, :]) @ mixing.T


def images(X):
    """Images with a texture, so that no descriptor is constant."""
    rows = np.arange(1.0, 6.0)[:, None]
    texture = np.sin(rows * np.arange(X.shape[1] + 4) ** 2)
    return texture + np.pad(X, [(0, 0), (2, 2)], mode="edge")[:, None, :] * rows


def on_vectors(cls, convert):
    """A subclass whose methods convert vectors before they call those of ``cls``."""

    def adapted(name, method):
        def call(self, X, *args, **kwargs):
            if getattr(X, "ndim", 2) > 2:  # from another method
                return method(self, X, *args, **kwargs)
            if name not in LEARNING:
                check_is_fitted(self)
            first = name != "partial_fit" or not hasattr(self, "n_features_in_")
            reset = name in LEARNING and first
            dtypes = supported_float_dtypes(get_namespace(X)[0])
            valid = validate(self, X, dtype=dtypes, reset=reset)
            result = method(self, convert(valid), *args, **kwargs)
            if reset:
                self.n_features_in_ = valid.shape[1]
                _check_feature_names(self, X, reset=True)
            if getattr(result, "ndim", 0) > 2:
                result = get_namespace(result)[0].reshape(result, (result.shape[0], -1))
            return result

        call.__signature__ = inspect.signature(method)
        return call

    def tags(self):
        tags = super(adapter, self).__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = False
        return tags

    methods = {
        name: adapted(name, getattr(cls, name)) for name in METHODS if name in dir(cls)
    }
    adapter = type(f"Vector{cls.__name__}", (cls,), methods)
    adapter.__module__ = __name__
    adapter.__sklearn_tags__ = tags
    return adapter


def estimators():
    """Each public estimator with default parameters, of vectors."""
    for module in (skgeom, baselines):
        for name in module.__all__:
            cls = getattr(module, name)
            if not (inspect.isclass(cls) and issubclass(cls, BaseEstimator)):
                continue
            if cls is skgeom.RegionCovariance:
                cls = on_vectors(cls, images)
            elif not get_tags(cls(*REQUIRED.get(name, ()))).input_tags.two_d_array:
                cls = on_vectors(cls, spd_matrices)
            globals()[cls.__name__] = cls  # for the checks that pickle
            yield cls(*REQUIRED.get(name, ()))


ESTIMATORS = list(estimators())


# The labels of some checks are random, or their classes far apart, so that no choice of
# regularization is better than the largest one.
@pytest.mark.filterwarnings("ignore:The selected regularization:UserWarning")
@pytest.mark.filterwarnings("ignore:The filters do not separate:UserWarning")
@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {}),
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_no_tag_silences_the_battery(estimator):
    names = {
        getattr(check, "func", check).__name__
        for _, check in estimator_checks_generator(estimator)
    }
    assert len(names) > 40
    assert {"check_estimators_pickle", "check_fit2d_1sample"} <= names
    assert not estimator.__sklearn_tags__().no_validation
