"""What the projection onto covariance and Hessian eigenvectors does not take."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skgeom import CovarianceHessianProjection as CHP


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CHP(n_covariance=0, n_hessian=0), "= 0 must be at least 1"),
        (CHP(n_covariance=4, n_hessian=3), "= 7 must be .* at most n_features=5"),
        (CHP(LinearSVC()), "LinearSVC has no .* CalibratedCl"),
        (CHP(LogisticRegression(), n_hessian=2), r"Regression, 1\. .* n_hessian\.$"),
        (
            CHP(LogisticRegression(), n_hessian=2, derivatives="differences"),
            "exceeds the number of positive eigenvalues .*, 1.",
        ),
        (CHP(DecisionTreeClassifier()), "Hessian of DecisionTreeClassifier cannot be"),
        (
            CHP(make_pipeline(StandardScaler(), DummyClassifier())),
            r"Pipeline\(StandardScaler, DummyClassifier\) is zero.*regularize it more",
        ),
        (
            CHP(GaussianNB(), class_weight={0: -1}),
            "class_weight must be finite and nonneg",
        ),
        (CHP(GaussianNB(), n_covariance=-1), "'n_covariance' parameter .* must be"),
        (CHP("network"), "'estimator' parameter .* must be"),
    ],
)
def test_bad_parameters(rng, model, message):
    X, y = rng.normal(size=(40, 5)), np.arange(40) % 2
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


class AtMost100Samples(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        if len(X) > 100:
            raise RuntimeError("more than 100 samples")
        return super().fit(X, y, sample_weight)


def test_errors_of_classifiers_that_depend_on_the_samples(rng):
    """Fits to some of the samples do not raise them, in any precision."""
    X, y = rng.normal(size=(120, 5)), np.arange(120) % 2
    with pytest.raises(RuntimeError, match="than 100 samples"):
        CHP(AtMost100Samples()).fit(X, y)


def test_unscaled_feature_warns():
    """It determines the covariance, but not the Hessian."""
    X, y = load_wine(return_X_y=True)
    with pytest.warns(match=r"in 1 of 13 features: 12 \(counted .*vectors"):
        CHP(GaussianNB()).fit(X, y)
    CHP(GaussianNB(), n_covariance=0).fit(X, y)


def test_bad_data(rng):
    X, y = rng.normal(size=(40, 5)), np.arange(40) % 2
    with pytest.raises(ValueError, match="y contains 1 class, 1"):
        CHP().fit(X, np.ones(40, int))
    with pytest.raises(ValueError, match=r"n_covariance=3 exceeds .* X, 2"):
        CHP(n_covariance=3, n_hessian=0).fit(X * [1, 1, 0, 0, 0], y)
    with pytest.raises(NotFittedError):
        CHP(FrozenEstimator(GaussianNB())).fit(X, y)
    with pytest.raises(ValueError, match="n_hessian=0, so the separation"):
        # What was fitted counts, not what was set since.
        CHP(n_hessian=0).fit(X, y).set_params(n_hessian=1).separation(X, y)


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
@pytest.mark.parametrize("derivatives", ["analytic", "differences"])
def test_saturated_probabilities(classes, derivatives):
    """A warning for any number of classes, and an error if the Hessian is zero."""
    X, y = load_iris(return_X_y=True)
    X, y = X[np.isin(y, classes)], y[np.isin(y, classes)]
    model = LogisticRegression(max_iter=1000).fit(X, y)
    coef, intercept = model.coef_, model.intercept_
    projection = CHP(FrozenEstimator(model), derivatives=derivatives)
    projection.fit(X, y)  # without a warning
    factor = 1
    while (model.predict_proba(X).max(axis=1) < 1).any():
        factor *= 10
        model.coef_, model.intercept_ = factor * coef, factor * intercept
    with pytest.warns(UserWarning, match="LogisticRegression are zero or one"):
        projection.fit(X, y)
    model.coef_, model.intercept_ = 1e9 * coef, 1e9 * intercept
    if derivatives == "analytic":
        with pytest.raises(ValueError, match="Hessian of LogisticRegression is zero"):
            projection.fit(X, y)
