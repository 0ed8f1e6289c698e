"""Scikit-learn's whole battery, for every public estimator with default parameters.

Estimators of SPD matrices or images run on vectors through an adapter, whose parameters
are the defaults as well. ``EXPECTED_FAILURES`` declares what cannot pass, with the
reason.
"""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils._array_api import (
    get_namespace,
    get_namespace_and_device,
    supported_float_dtypes,
)
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import _check_feature_names, check_is_fitted
from sklearn.utils.validation import validate_data as validate

import skgeom
from skgeom import baselines

PAGE = Path(__file__).parents[1] / "doc" / "results" / "estimator_checks.rst"
# The first parameter of estimators that require one
REQUIRED = {
    "ClusterClassifier": [KMeans(4, n_init=3, random_state=0)],
    "RejectionClassifier": [LogisticRegression()],
}
REJECTS = "predict returns the reject label for doubtful samples"
STEPS = "one stochastic step of double length is not two steps, at different times"
OF_STEPS = {
    f"check_sample_weight_equivalence_on_{kind}_data": STEPS
    for kind in ("dense", "sparse")
}
EXPECTED_FAILURES = {
    "RejectionClassifier(estimator=LogisticRegression())": {
        "check_classifiers_train": REJECTS
    },
    "RSLVQ(max_iter=20, solver='sgd')": OF_STEPS,
    "VectorGLRSQ(max_iter=5, solver='sgd')": OF_STEPS,
    "VectorPLRSQ(max_iter=5, metric='euclid')": OF_STEPS,
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
    "score_samples",
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


def title(estimator):
    """Name on the page of the documentation; in italics through an adapter."""
    name = type(estimator).__name__
    adapted = name.startswith("Vector")
    return f"*{name.removeprefix('Vector')}*" if adapted else f"``{name}``"


ESTIMATORS = list(estimators())
# Parameters that lead through other code, which the defaults never reach
VARIANTS = [
    skgeom.SQFA(constraint="orthonormal", group_size=1, squared=True),
    skgeom.AMAGauss(group_size=1),
    skgeom.GaussianClassifier("shared"),
    skgeom.KernelDiscriminantAnalysis(solver="nystroem"),
    skgeom.KernelDiscriminantAnalysis(penalty="identity", criterion="total"),
    skgeom.LandmarkKernelPCA(2, kernel="poly", degree=2, n_landmarks=8),
    skgeom.CovarianceHessianProjection(n_hessian=0),
    skgeom.RejectionClassifier(LogisticRegression(), rejection_rate=1e-6, cv=3),
    skgeom.RSLVQ(solver="sgd", max_iter=20),
    VectorPLRSQ(metric="logeuclid", max_iter=40),  # noqa: F821
    VectorPLRSQ(metric="euclid", max_iter=5),  # noqa: F821
    VectorGLRSQ(solver="sgd", max_iter=5),  # noqa: F821
    VectorRecentering(metric="euclid", window=9),  # noqa: F821
]
# Some labels are random, or classes are so far apart that a warning is right.
expected_warnings = pytest.mark.filterwarnings(
    "ignore:(The (selected (regul|gamma)|filters do not sep|predictions of held-out)"
    "|prior_samples is not selected|shrinkage='auto' uses 1)"
)


def name_of(check):
    return getattr(check, "func", check).__name__


# Checks that fit to arrays of each library, or of each kind of sparse array
MANY_FITS = "check_(array_api|estimator_sparse_(array|matrix))"
# Most of the code of these is that of another one, which runs in the fast tier.
EXHAUSTIVE = {"AMAGauss", "SecondMomentSQFA", "VectorGLRSQ"}


def cases(estimators):
    """Each estimator with each of its checks."""
    for estimator in estimators:
        declared = EXPECTED_FAILURES.get(repr(estimator), {})
        for _, check in estimator_checks_generator(estimator):
            name, marks = name_of(check), []
            if name in declared:
                marks.append(pytest.mark.xfail(reason=declared[name]))
            if type(estimator).__name__ in EXHAUSTIVE or re.match(MANY_FITS, name):
                marks.append(pytest.mark.exhaustive)
            case_id = f"{type(estimator).__name__}-{name}"
            yield pytest.param(estimator, check, marks=marks, id=case_id)


@expected_warnings
@pytest.mark.parametrize(("estimator", "check"), list(cases(ESTIMATORS)))
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.exhaustive
@expected_warnings
@pytest.mark.filterwarnings("ignore:The 2 filters span 1 directions only:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "check"), list(cases(VARIANTS)))
def test_scikit_learn_check_of_variant(estimator, check):
    check(estimator)


def test_no_tag_silences_the_battery():
    for estimator in ESTIMATORS:
        names = {name_of(check) for _, check in estimator_checks_generator(estimator)}
        assert len(names) > 40, estimator
        assert {"check_estimators_pickle", "check_fit2d_1sample"} <= names, estimator
        assert not estimator.__sklearn_tags__().no_validation, estimator


def test_page_lists_the_checks_and_the_declared_failures():
    """``python tools/estimator_checks.py --write`` renews the page."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^   (\S+), (\d+), (\d+), (\d+), (\d+)$", text, re.MULTILINE)
    counts = {name: [int(number) for number in numbers] for name, *numbers in rows}
    for estimator in ESTIMATORS:
        *_, n_declared, n_failed = counts[title(estimator)]
        declared = EXPECTED_FAILURES.get(repr(estimator), {})
        for check, reason in declared.items():
            assert f"- {title(estimator)}, ``{check}``, declared: {reason}.\n" in text
        assert n_failed == 0
        assert (n_declared > 0) == (len(declared) > 0)
        if f"scikit-learn {sklearn.__version__}," in text:
            n_checks = len(list(estimator_checks_generator(estimator)))
            assert sum(counts[title(estimator)]) == n_checks
    ours = list(counts)[: len(ESTIMATORS)]
    assert ours == [title(estimator) for estimator in ESTIMATORS]
