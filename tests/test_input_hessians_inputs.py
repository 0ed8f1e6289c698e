"""What input Hessians take, and what they say of what they do not take."""

import autograd.numpy as anp
import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from skgeom import input_hessian
from skgeom._logit_estimators import analytic_model


@pytest.fixture(params=[2, 4], ids=["binary", "multi-class"])
def data(request, rng):
    y = np.arange(60) % request.param
    means = rng.normal(size=(request.param, 6))
    return rng.normal(size=(60, 6)) * np.arange(1, 7) / 3 + means[y], y


def assert_close(actual, expected, tolerance=1e-6):
    size = np.abs(expected).max()
    assert size > 0
    np.testing.assert_allclose(actual / size, expected / size, rtol=0, atol=tolerance)


# Functions.


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda X: X[:, :3],
            r"one column a class of y, \(20, 2\), got shape \(20, 3\)",
        ),
        (lambda X: anp.log(anp.maximum(X[:, :2], 0)), "NaN or infinity"),
        (lambda X: X[:, :2] - anp.mean(X[:, :2], axis=0), "that row of X only"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_function_of_wrong_result(rng, function, message):
    with pytest.raises(ValueError, match=message):
        input_hessian(function, rng.normal(size=(20, 4)), np.arange(20) % 2)


def test_function_that_raises(rng):
    def log_proba(X):
        raise KeyError("weights")

    X, y = rng.normal(size=(20, 4)), np.arange(20) % 2
    for derivatives in ("auto", "differences"):
        with pytest.raises(
            ValueError, match=r"log_proba, raised KeyError: 'weights'.*autograd\.numpy"
        ):
            input_hessian(log_proba, X, y, derivatives=derivatives)


def test_function_that_mixes_later_samples(rng):
    """The first sample is right, and others are not."""

    def shuffled(X):
        return X[np.argsort(np.arange(len(X)) % 7), :2]

    X, y = rng.normal(size=(20, 4)), np.arange(20) % 2
    for derivatives in ("auto", "differences"):
        with pytest.raises(ValueError, match="gives sample 1[09] other values alone"):
            input_hessian(shuffled, X, y, derivatives=derivatives)


@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
def test_function_by_differences(data, curvature):
    """One that autograd cannot differentiate; it is given copies to write into."""
    X, y = data
    model = GaussianNB().fit(X, y)

    def log_proba(X):
        result = model.predict_log_proba(np.array(X, dtype=float))
        X[:] = 0
        return result

    before = X.copy()
    with pytest.raises(ValueError, match="or use derivatives='differences'"):
        input_hessian(log_proba, X, y)
    H = input_hessian(log_proba, X, y, derivatives="differences", curvature=curvature)
    np.testing.assert_array_equal(X, before)
    assert_close(H, input_hessian(model, X, y, curvature=curvature))


def test_autograd_counts_as_analytic(data):
    X, y = data

    def logits(X):
        return anp.tanh(X[:, : y.max() + 1])

    expected = input_hessian(logits, X, y)
    np.testing.assert_array_equal(
        input_hessian(logits, X, y, derivatives="analytic"), expected
    )


# Differences.


ROUGH = [
    RandomForestClassifier(10, random_state=0),
    KNeighborsClassifier(),
    KNeighborsClassifier(weights="distance"),
    CalibratedClassifierCV(LinearSVC(), method="isotonic"),
    make_pipeline(FunctionTransformer(np.round), LogisticRegression()),
    make_pipeline(FunctionTransformer(lambda X: np.round(X, 3)), LogisticRegression()),
]


@pytest.mark.parametrize("classifier", ROUGH, ids=range(len(ROUGH)))
def test_probabilities_that_are_not_smooth(classifier):
    X, y = load_iris(return_X_y=True)
    classifier.fit(X, y)
    with pytest.raises(ValueError, match=r"not a smooth function.*method='sigmoid'"):
        input_hessian(classifier, X, y)


def test_constant_probabilities_are_smooth(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    model.coef_[:] = 0
    H = input_hessian(model, X, y, derivatives="differences")
    np.testing.assert_allclose(H, 0, atol=1e-12)


def test_kinks_leave_the_gauss_newton_part(rng):
    """A piecewise linear logit has a gradient, but no second differences at kinks."""
    X, y = rng.normal(size=(2000, 3)), np.arange(2000) % 2
    model = MLPClassifier((50,), random_state=0, max_iter=5, early_stopping=True)
    model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="use curvature='gauss-newton'"):
        input_hessian(model, X, y, derivatives="differences")
    by_differences = input_hessian(
        model, X, y, derivatives="differences", curvature="gauss-newton"
    )
    assert_close(by_differences, input_hessian(model, X, y), 1e-3)


class Rounded(LogisticRegression):
    """A classifier whose probabilities are float32, and all that there is."""

    decision_function = None

    def predict_proba(self, X):
        return softmax(self._logits(X), axis=1).astype(np.float32)

    def predict_log_proba(self, X):
        return np.log(self.predict_proba(X))

    def _logits(self, X):
        z = X @ self.coef_.T + self.intercept_
        return np.hstack([np.zeros_like(z), z]) if z.shape[1] == 1 else z


def test_float32_probabilities(data):
    X, y = data
    X = StandardScaler().fit_transform(X)
    exact = LogisticRegression().fit(X, y)
    model = Rounded()
    model.__dict__.update(exact.__dict__)
    H = input_hessian(model, X, y)
    # Rounding is eps**0.5 of the second derivatives, and truncation about as much.
    assert_close(H, input_hessian(exact, X, y), 20 * np.finfo(np.float32).eps ** 0.5)


@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("kind", [LogisticRegression, GaussianNB])
def test_differences_of_saturated_probabilities(data, kind, curvature):
    """Decision values and log-probabilities have the digits that these have lost."""
    X, y = data
    model = kind().fit(X, y)
    if kind is GaussianNB:
        X = X + 300
        y = model.predict(X)
    else:
        model.coef_ *= 1000
        y = model.predict(X)
    proba = model.predict_proba(X)
    assert (proba.max(axis=1) == 1).sum() > 30
    keep = proba.max(axis=1) == 1
    H, expected = (
        input_hessian(
            model, X[keep], y[keep], derivatives=derivatives, curvature=curvature
        )
        for derivatives in ("differences", "analytic")
    )
    assert_close(H, expected, 1e-4)


def test_steps_of_constant_and_shifted_features(rng):
    X = rng.normal(size=(80, 4)) * [1, 1e-6, 0, 0] + [0, 1e3, 1e6, 0]
    y = np.arange(80) % 2
    model = LogisticRegression().fit(X[:, :1], y)
    model.coef_ = np.array([[1.0, 1e6, 1e-6, 1.0]])
    model.intercept_ = np.array([-1e9 - 1])
    model.n_features_in_ = 4
    unit = np.array([1, 1e6, 1e-6, 1])  # in which all features count alike
    H, expected = (
        input_hessian(model, X, y, derivatives=derivatives) / np.outer(unit, unit)
        for derivatives in ("differences", "analytic")
    )
    assert_close(H, expected, 1e-3)


# What there is no formula for.


@pytest.mark.parametrize(
    "classifier",
    [
        RandomForestClassifier(3, random_state=0),
        make_pipeline(PolynomialFeatures(), LogisticRegression(C=1e-3)),
        make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
    ],
)
def test_no_formula(data, classifier):
    X, y = data
    classifier.fit(X, y)
    assert analytic_model(classifier) is None
    with pytest.raises(
        ValueError, match=r"(?s)no formula for .*MLPClassifier.*autograd"
    ):
        input_hessian(classifier, X, y, derivatives="analytic")


def test_subclass_with_other_probabilities_has_no_formula(data):
    class Tempered(LogisticRegression):
        def predict_proba(self, X):
            return softmax(super().predict_log_proba(X) / 2, axis=1)

    class Plain(LogisticRegression):
        pass

    X, y = data
    assert analytic_model(Tempered().fit(X, y)) is None
    assert analytic_model(Plain().fit(X, y)) is not None


def test_no_probabilities(data):
    X, y = data
    with pytest.raises(ValueError, match=r"LinearSVC, has no class prob.*GaussianNB"):
        input_hessian(LinearSVC().fit(X, y), X, y)


def test_other_features_and_classes(data):
    X, y = data
    model = GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="fitted on 6 features, but X has 5"):
        input_hessian(model, X[:, :5], y)
    with pytest.raises(ValueError, match="y has the class 7, which estimator was not"):
        input_hessian(model, X, np.where(y == 0, 7, y))
    with pytest.raises(ValueError, match=r"sample_weight is zero|one non-zero"):
        input_hessian(model, X, y, sample_weight=np.zeros(len(y)))


def test_some_classes_only(data):
    """A sample's Hessian does not depend on which classes the others have."""
    X, y = data
    model = GaussianNB().fit(X, y)
    last = y == y.max()
    parts = [input_hessian(model, X[m], y[m]) * m.sum() for m in (last, ~last)]
    assert_close(sum(parts) / len(y), input_hessian(model, X, y), 1e-12)


@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, BernoulliNB])
def test_other_naive_bayes_classifiers_are_not_gaussian(kind):
    X, y = load_iris(return_X_y=True)
    assert analytic_model(kind().fit(X, y)) is None


def test_a_subclass_with_another_decision_has_no_formula():
    class Tempered(LogisticRegression):
        def decision_function(self, X):
            return super().decision_function(X) / 10

    X, y = load_iris(return_X_y=True)
    assert analytic_model(Tempered(max_iter=500).fit(X, y)) is None
    assert analytic_model(LogisticRegression(max_iter=500).fit(X, y)) is not None
