"""The number of filters, where it is left to the number of classes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from skgeom import SQFA, AMAGauss, SecondMomentSQFA

ESTIMATORS = [
    SQFA(random_state=0),
    SecondMomentSQFA(random_state=0),
    AMAGauss(random_state=0),
]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
all_filters = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda e: type(e).__name__
)


@all_filters
def test_none_is_one_less_than_there_are_classes(estimator):
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    model = clone(estimator).set_params(n_components=None).fit(X, y)
    assert model.n_components is None
    expected = clone(estimator).set_params(n_components=2).fit(X, y)
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert len(model.get_feature_names_out()) == 2
    lda = LinearDiscriminantAnalysis().fit(X, y)
    assert model.transform(X).shape == lda.transform(X).shape


def test_none_is_no_more_than_there_are_features():
    X, y = load_digits(return_X_y=True)
    X = X[:, [20, 28, 36]] + np.random.default_rng(0).normal(size=(len(y), 3))
    model = SQFA(None, random_state=0).fit(X, y)
    assert model.components_.shape == (3, 3)


def test_filters_become_more_as_classes_come():
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    model = SQFA(None, random_state=0).partial_fit(X[y < 2], y[y < 2])
    assert model.components_.shape == (1, 13)
    model.partial_fit(X[y == 2], y[y == 2])
    assert model.components_.shape == (2, 13)
    fewer = model.set_params(n_components=1).partial_fit(X, y)
    assert fewer.components_.shape == (1, 13)
