"""A fit that raises leaves the estimator as it was, fitted or not."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import skgeom
from skgeom import baselines

ESTIMATORS = [
    skgeom.SQFA(random_state=0),
    skgeom.SecondMomentSQFA(random_state=0),
    skgeom.AMAGauss(random_state=0),
    skgeom.KernelDiscriminantAnalysis(regularization="auto"),
    skgeom.CovarianceHessianProjection(LinearDiscriminantAnalysis()),
    skgeom.RejectionClassifier(LinearDiscriminantAnalysis(), rejection_rate=0.1),
    skgeom.RSLVQ(max_iter=2),
    skgeom.GMLVQ(max_iter=2),
    baselines.SupervisedPCA(),
    baselines.LOL(),
    baselines.GeneralizedEigenvectors(),
    baselines.LocalFisherDiscriminantAnalysis(),
]
# Later in the fit than the checks of X and y: other columns, and one class only.
X, y = load_iris(return_X_y=True)
REFUSED = X[:, :3], np.zeros(len(y), int)


def attributes(estimator):
    return {k: v for k, v in vars(estimator).items() if not k.startswith("_skl")}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_failed_fit_changes_nothing(estimator):
    estimator = clone(estimator)
    with pytest.raises(ValueError):
        estimator.fit(*REFUSED)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, y)
    before = attributes(estimator)
    with pytest.raises(ValueError):
        estimator.fit(*REFUSED)
    after = attributes(estimator)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_interrupted_fit_changes_nothing(monkeypatch):
    sqfa = skgeom.SQFA(random_state=0).fit(X, y)
    before = attributes(sqfa)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("skgeom._filters._linear_filters.optimize_filters", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sqfa.fit(X[:, :3], y)
    assert all(attributes(sqfa)[name] is before[name] for name in before)


def test_singular_classes_leave_no_half_fitted_filters():
    """The case that was met: transform then raised AttributeError."""
    lone = np.hstack([X, X[:, :1]])
    lone[y == 0, 4] = 0
    sqfa = skgeom.SQFA(regularization=0, covariance_estimator=None)
    with pytest.raises(ValueError, match="singular"):
        sqfa.fit(lone, y)
    with pytest.raises(NotFittedError):
        sqfa.transform(lone)
