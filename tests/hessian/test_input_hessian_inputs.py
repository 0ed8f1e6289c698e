"""What input Hessians take, and what they say of what they do not take."""

import autograd.numpy as anp
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC

from skgeom import KernelDiscriminantAnalysis, input_hessian

# Functions.


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda X: X[:, :3],
            r"one column per class of y, \(20, 2\).* got shape \(20, 3\)",
        ),
        (lambda X: anp.log(anp.maximum(X[:, :2], 0)), "NaN or infinity"),
        (lambda X: X[:, :2] - anp.mean(X[:, :2], axis=0), "same row of X only"),
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
        with pytest.raises(ValueError, match=r"KeyError: 'weights'.*autograd\.numpy"):
            input_hessian(log_proba, X, y, derivatives=derivatives)


# What there is no formula for.

clipping = MaxAbsScaler()
clipping.clip = True  # a parameter since scikit-learn 1.9


@pytest.mark.parametrize(
    "classifier",
    [
        RandomForestClassifier(3, random_state=0),
        make_pipeline(PolynomialFeatures(), LogisticRegression(C=1e-3)),
        make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
        make_pipeline(clipping, LogisticRegression()),
        CalibratedClassifierCV(SVC(), ensemble=False),  # gamma="scale"
        KernelDiscriminantAnalysis(kernel="laplacian"),
    ],
)
def test_no_formula(data, classifier):
    X, y = data
    classifier.fit(X, y)
    with pytest.raises(ValueError, match=r"(?s)no formula .*MLPClassifier.*autograd"):
        input_hessian(classifier, X, y, derivatives="analytic")


def test_other_features_and_classes(data):
    X, y = data
    model = GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match=r"X has 5 features, but .* expecting 6"):
        input_hessian(model, X[:, :5], y)
    with pytest.raises(ValueError, match=r"y contains the class 7, but .* was trained"):
        input_hessian(model, X, np.where(y == 0, 7, y))
    with pytest.raises(ValueError, match=r"sample_weight is zero|one non-zero"):
        input_hessian(model, X, y, sample_weight=np.zeros(len(y)))


# Classifiers and pipelines that need care.


def test_whitening_of_data_without_full_rank(rng, assert_close):
    """Directions of no variance are scaled as scikit-learn does it."""
    X = rng.normal(size=(60, 4))
    X[:, 3] = X[:, 2]
    y = np.arange(60) % 3
    pca = PCA(whiten=True, svd_solver="covariance_eigh").fit(X)
    pca.explained_variance_[-1] = 0
    model = make_pipeline(pca, GaussianNB(var_smoothing=1e-3)).fit(X, y)
    model.steps[0] = ("pca", pca)
    Z = pca.transform(X)
    model[-1].fit(Z, y)
    H = input_hessian(model, X, y)
    matrix = pca.transform(np.eye(4)) - pca.transform(np.zeros((1, 4)))
    expected = matrix @ input_hessian(model[-1], Z, y) @ matrix.T
    assert_close(H, expected)


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (GaussianNB(var_smoothing=0), r"variance of zero in class 0.*var_smoothing"),
        (QuadraticDiscriminantAnalysis(reg_param=0.1), r"zero in class 2.*reg_param"),
    ],
)
def test_zero_variance(rng, classifier, message):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    classifier.fit(X, y)
    if isinstance(classifier, GaussianNB):
        classifier.var_[:, 1] = 0  # as with a constant feature
    else:
        classifier.scalings_[2][:] = 0
    with pytest.raises(ValueError, match=message):
        input_hessian(classifier, X, y)


@pytest.mark.filterwarnings("ignore:divide by zero")  # of scikit-learn's predict_proba
@pytest.mark.parametrize("derivatives", ["analytic", "differences"])
@pytest.mark.parametrize(
    "kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB]
)
def test_prior_of_zero(rng, kind, derivatives, assert_close):
    """A class that is never predicted; its own samples have an infinite loss."""
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    model, limit = kind().fit(X, y), kind().fit(X, y)
    if kind is LinearDiscriminantAnalysis:
        model.intercept_[2], limit.intercept_[2] = -np.inf, -80
    else:
        name = "class_prior_" if kind is GaussianNB else "priors_"
        setattr(model, name, np.array([0.5, 0.5, 0]))
        setattr(limit, name, np.array([0.5, 0.5, 1e-40]))
    others = y < 2
    H = input_hessian(model, X[others], y[others], derivatives=derivatives)
    assert_close(H, input_hessian(limit, X[others], y[others]))
    with pytest.raises(ValueError, match=r"zero of class 2 .*positive prior"):
        input_hessian(model, X, y, derivatives=derivatives)


@pytest.mark.parametrize(
    "classifier",
    [
        make_pipeline(StandardScaler(), MLPClassifier((3,), max_iter=5)),
        RandomForestClassifier(3),
        OneVsRestClassifier(LogisticRegression()),
    ],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_several_labels(rng, classifier):
    X, Y = rng.normal(size=(40, 4)), rng.integers(2, size=(40, 3))
    classifier.fit(X, Y)
    with pytest.raises(ValueError, match=r"is a multilabel classifier"):
        input_hessian(classifier, X, Y[:, 0])
