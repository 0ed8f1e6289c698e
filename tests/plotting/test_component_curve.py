"""ComponentCurveDisplay: the error against the number of components."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import SQFA, ClassStatistics, GaussianClassifier, bayes_error
from skgeom.plotting import ComponentCurveDisplay


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_errors_are_those_of_cross_validations(iris):
    X, y = iris
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    pca = make_pipeline(StandardScaler(), PCA())
    display = ComponentCurveDisplay.from_estimator(pca, X, y, cv=cv, bayes=False)
    assert_array_equal(display.n_components, [1, 2, 3, 4])
    for k, errors in zip(display.n_components, display.errors, strict=True):
        model = make_pipeline(StandardScaler(), PCA(k), GaussianClassifier())
        assert_allclose(1 - errors, cross_val_score(model, X, y, cv=cv))
    assert display.bayes_line_ is None
    assert_array_equal(display.line_.get_ydata(), display.errors.mean(axis=1))


def test_groups_and_bayes_error(iris):
    X, y = iris
    sqfa = SQFA(3, group_size=2, random_state=0)
    rows = np.arange(0, 150, 2), np.arange(1, 150, 2)
    display = ComponentCurveDisplay.from_estimator(sqfa, X, y, cv=[rows])
    assert_array_equal(display.n_components, [2, 3])
    statistics = ClassStatistics.from_data(sqfa.fit(X, y).transform(X), y).shrunk()
    expected = bayes_error(statistics, tol=0.001).value
    assert display.bayes_errors[1] == pytest.approx(expected, rel=0.2)
    assert_array_equal(display.bayes_line_.get_ydata(), display.bayes_errors)


def test_one_standard_error():
    errors = np.array([[0.5, 0.5], [0.22, 0.2], [0.1, 0.3], [0.19, 0.19]])
    display = ComponentCurveDisplay([1, 2, 4, 8], errors).plot()
    assert display.fewest_ == 8  # the best one has no spread
    errors[3] = 0.18, 0.21  # mean .195, standard error .015
    assert ComponentCurveDisplay([1, 2, 4, 8], errors).plot().fewest_ == 2
    assert ComponentCurveDisplay([1, 2, 4, 8], errors[:, :1]).plot().fewest_ == 4


def test_classifier_and_numbers(iris):
    display = ComponentCurveDisplay.from_estimator(
        PCA(),
        *iris,
        n_components=[4, 2],
        classifier=QuadraticDiscriminantAnalysis(),
        bayes=False,
        line_kw={"color": "red"},
    )
    assert_array_equal(display.n_components, [2, 4])
    assert display.line_.get_color() == "red"


def test_sparse_samples(iris):
    X, y = iris
    sqfa = SQFA(2, group_size=1, random_state=0)
    expected = ComponentCurveDisplay.from_estimator(sqfa, X, y, bayes=False)
    found = ComponentCurveDisplay.from_estimator(sqfa, csr_array(X), y, bayes=False)
    assert_allclose(found.errors, expected.errors, atol=0.02)


def test_bad_arguments(iris):
    draw = ComponentCurveDisplay.from_estimator
    with pytest.raises(ValueError, match="set group_size"):
        draw(make_pipeline(StandardScaler(), SQFA(3)), *iris)
    with pytest.raises(ValueError, match="numbers from 1 to 4"):
        draw(PCA(), *iris, n_components=[1, 5])
    with pytest.raises(ValueError, match="numbers from 1 to 4"):
        draw(PCA(), *iris, n_components=[1.5])
    with pytest.raises(ValueError, match="numbers from 1 to 4"):
        draw(PCA(), *iris, n_components=[])
    with pytest.raises(ValueError, match="must be a classifier"):
        draw(PCA(), *iris, classifier=Ridge())
    with pytest.raises(ValueError, match="one row for each of the 3"):
        ComponentCurveDisplay([1, 2, 3], np.ones((2, 5))).plot()
    with pytest.raises(ValueError, match="rising numbers"):
        ComponentCurveDisplay([3, 1], np.ones((2, 5))).plot()
