"""A linear kernel is linear discriminant analysis; both beside published figures."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import cohen_kappa_score, f1_score, roc_auc_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from skgeom import KernelDiscriminantAnalysis

CRITERIA = ["total", "between"]


@pytest.fixture(scope="module")
def wbcd():
    """Whiskers of the box plot at most, standard scores; the second class is benign."""
    X, y = load_breast_cancer(return_X_y=True)
    low, high = np.percentile(X, [25, 75], axis=0)
    X = np.clip(X, low - 1.5 * (high - low), high + 1.5 * (high - low))
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y


@pytest.mark.parametrize("data", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    ("penalty", "regularization", "solver", "center"),
    [
        ("identity", 0, "eigen", True),
        ("identity", 0, "eigen", False),
        ("kernel", 0, "auto", True),
        ("kernel", 0, "auto", False),
        ("kernel", 1e-11, "eigen", True),
        ("kernel", 1e-10, "cholesky", True),
        ("kernel", 1e-11, "nystroem", True),
    ],
)
def test_linear_kernel_is_lda(data, criterion, penalty, regularization, solver, center):
    X, y = data(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    kda = KernelDiscriminantAnalysis(
        kernel="linear",
        regularization=regularization,
        penalty=penalty,
        criterion=criterion,
        solver=solver,
        center=center,
        temperature=1,
    )
    moved = X if center else X + 1  # so that the centred C K is not symmetric
    Z, expected = kda.fit(moved, y).transform(moved), lda.transform(X)
    Z = Z - Z.mean(axis=0)
    angles = subspace_angles(Z, expected - expected.mean(axis=0))
    assert angles.max() < 1e-6
    np.testing.assert_array_equal(kda.predict(moved), lda.predict(X))
    np.testing.assert_allclose(np.abs(Z), np.abs(expected), rtol=0, atol=1e-4)
    np.testing.assert_allclose(
        kda.predict_proba(moved), lda.predict_proba(X), atol=1e-4
    )


def cross_validated(model, X, y):
    """Mean F1, balanced accuracy and kappa in ten folds; the first class is positive.

    Balanced accuracy is the area under the curve of hard labels.
    """
    scores = []
    for train, test in KFold(10, shuffle=True, random_state=42).split(X):
        fitted = model(X[train], y[train])
        truth, predicted = 1 - y[test], 1 - fitted.predict(X[test])
        scores.append(
            [
                f1_score(truth, predicted),
                roc_auc_score(truth, predicted),
                cohen_kappa_score(truth, predicted),
            ]
        )
    return np.mean(scores, axis=0)


@pytest.mark.parametrize(
    ("penalty", "regularization"), [("identity", 1e-13), ("kernel", 1e-8)]
)
def test_wbcd_linear(wbcd, penalty, regularization):
    """The figures of LDA in Hartoyo's protocol, for both."""
    X, y = wbcd
    kda = KernelDiscriminantAnalysis(
        kernel="linear", penalty=penalty, regularization=regularization
    )
    for transformer in (LinearDiscriminantAnalysis(), kda):
        pipeline = make_pipeline(transformer, SVC(kernel="linear"))
        scores = cross_validated(pipeline.fit, X, y)
        np.testing.assert_allclose(scores, [0.9427, 0.9550, 0.9109], atol=5e-5)


def test_wbcd_rbf(wbcd):
    """Those of a direct solution, with lambda 0.1; the SVM depends on the scale."""
    X, y = wbcd

    def fit(X, y):
        kda = KernelDiscriminantAnalysis(
            gamma=0.001, penalty="identity", criterion="total", regularization=1e-3
        ).fit(X, y)
        # The attribute lambda_ is proportional to the parameter.
        kda.set_params(regularization=kda.regularization * 0.1 / kda.lambda_)
        assert kda.fit(X, y).lambda_ == pytest.approx(0.1)
        return make_pipeline(kda, StandardScaler(), LinearSVC(random_state=1)).fit(X, y)

    scores = cross_validated(fit, X, y)
    np.testing.assert_allclose(scores, [0.9675, 0.9743, 0.9494], atol=0.002)
