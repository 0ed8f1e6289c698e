"""Input Hessians by differences: accuracy and errors."""

import autograd.numpy as anp
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, LinearSVC

from skgeom import input_hessian

ROUGH = [
    RandomForestClassifier(10, random_state=0),
    KNeighborsClassifier(),
    KNeighborsClassifier(weights="distance"),
    CalibratedClassifierCV(LinearSVC(), method="isotonic"),
    CalibratedClassifierCV(GaussianNB(), method="isotonic", ensemble=False),
    make_pipeline(FunctionTransformer(np.round), GaussianNB(var_smoothing=0.01)),
    make_pipeline(FunctionTransformer(lambda X: np.round(X, 3)), GaussianNB()),
    make_pipeline(CalibratedClassifierCV(SVC(), ensemble=False)),
]


@pytest.mark.parametrize("classifier", ROUGH, ids=range(len(ROUGH)))
def test_probabilities_that_are_not_smooth(classifier, iris):
    X, y = iris
    classifier.fit(X, y)
    with pytest.raises(ValueError, match=r"not a smooth function.*method='sigmoid'"):
        input_hessian(classifier, X, y)


def test_kinks_leave_the_gauss_newton_part(rng, assert_close):
    """A piecewise linear logit has a gradient, but no second differences at kinks."""
    X, y = rng.normal(size=(2000, 3)), np.arange(2000) % 2
    model = MLPClassifier((50,), random_state=0)
    model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="curvature='gauss-newton'"):
        input_hessian(model, X, y, derivatives="differences")
    by_differences = input_hessian(
        model, X, y, derivatives="differences", curvature="gauss-newton"
    )
    assert_close(by_differences, input_hessian(model, X, y), 1e-3)


@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("kind", [LogisticRegression, GaussianNB])
def test_differences_of_saturated_probabilities(data, kind, curvature, assert_close):
    """Decision values and log-probabilities have the digits that these have lost."""
    X, y = data
    model = kind().fit(X, y)
    if kind is GaussianNB:
        X = 8 * X
    else:
        model.coef_ *= 20
        model.intercept_ *= 20
    y = model.predict(X)
    keep = model.predict_proba(X).max(axis=1) == 1
    assert keep.sum() > 15
    H, expected = (
        input_hessian(
            model, X[keep], y[keep], derivatives=derivatives, curvature=curvature
        )
        for derivatives in ("differences", "analytic")
    )
    assert_close(H, expected, 1e-4)


def test_steps_of_constant_and_shifted_features(rng, assert_close):
    """Features that vary by little, or not at all, far from zero or at zero."""
    centre, unit = np.array([0, 1e3, 1e6, 0]), np.array([1, 1e-6, 1e6, 1])
    X = centre + rng.normal(size=(80, 4)) * [1, 1e-6, 0, 0]
    y = np.arange(80) % 2

    def logits(X):
        z = anp.sum((X - centre) / unit, axis=1)
        return anp.stack([anp.zeros(len(X)), z + z**2 / 4], axis=1)

    H, expected = (
        input_hessian(logits, X, y, derivatives=derivatives) * np.outer(unit, unit)
        for derivatives in ("differences", "analytic")
    )
    assert_close(H, expected)


def test_transformations_of_heavy_tailed_features(rng, assert_close):
    """The standard deviation is far larger than most values."""
    X, y = np.exp(3 * rng.normal(size=(300, 3))), np.arange(300) % 2
    model = make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()).fit(X, y)
    logits = model[1].coef_, model[1].intercept_
    expected = input_hessian(lambda X: anp.log1p(X) @ logits[0].T + logits[1], X, y)
    assert_close(input_hessian(model, X, y), expected, 1e-5)
    model[0].func = np.log
    with pytest.raises(ValueError, match="pass the transformed samples"):
        input_hessian(model, X, y)


def test_unsorted_classes(data, assert_close):
    """A classifier of another package may list its classes in any order."""
    X, y = data
    model = LogisticRegression().fit(X, y)
    expected = input_hessian(model, X, y)
    predict_proba = model.predict_proba
    model.classes_ = model.classes_[::-1]
    model.predict_proba = lambda X: predict_proba(X)[:, ::-1]
    assert_close(input_hessian(model, X, y), expected, 1e-6)
