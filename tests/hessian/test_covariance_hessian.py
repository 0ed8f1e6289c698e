"""The projection onto covariance and Hessian eigenvectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import CovarianceHessianProjection, input_hessian

CHP = CovarianceHessianProjection


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def fitted(cancer):
    return CHP(n_covariance=2, n_hessian=3, random_state=0).fit(*cancer)


# Equations.


def test_eigenvectors(cancer, fitted):
    """Equations 1, 4 and 5, and eigenvectors of what `input_hessian` gives."""
    X, y = cancer
    covariance = np.cov(X.T)
    hessian = input_hessian(fitted.estimator_, X, y)
    assert_allclose(fitted.covariance_, covariance, atol=1e-12)
    assert_allclose(fitted.hessian_, hessian, atol=1e-15)
    for matrix, axes, count in [
        (covariance, fitted.components_[:2], 2),
        (hessian, fitted.components_[2:], 3),
    ]:
        values = np.linalg.eigvalsh(matrix)[::-1][:count]
        assert_allclose(axes @ matrix, values[:, None] * axes, atol=1e-10 * values[0])
        assert_allclose(axes @ axes.T, np.eye(count), atol=1e-10)
    assert_allclose(fitted.transform(X), X @ fitted.components_.T)
    assert (fitted.components_.max(axis=1) == fitted.contributions_.max(axis=1)).all()
    assert (fitted.contributions_ == np.abs(fitted.components_)).all()


def test_theorem_1(rng):
    """Isotropic classes: the first eigenvector is along the mean difference."""
    distance, direction = 3, rng.normal(size=8)
    direction /= np.linalg.norm(direction)
    y = np.arange(20_000) % 2
    X = rng.normal(size=(len(y), 8)) + np.outer(y - 0.5, distance * direction)
    model = CHP(n_hessian=0).fit(X, y)
    assert abs(model.components_[0] @ direction) > 0.999
    assert model.conditions_.mean_alignment > 0.999
    assert (model.conditions_.isotropy > 0.99).all()
    # Equations 6 and B.12: the variance is that within the classes, of one by design,
    # and a quarter of the squared distance; along other axes it is that of the classes.
    values = model.covariance_eigenvalues_
    assert values[0] == pytest.approx(1 + distance**2 / 4, rel=0.03)
    assert_allclose(values[1:], 1, atol=0.06)


# The classifier.


def test_frozen_estimator_is_not_fitted_again(cancer):
    X, y = cancer
    estimator = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    before = estimator[-1].coef_.copy()
    model = CHP(FrozenEstimator(estimator)).fit(X[:100], y[:100])
    assert_array_equal(estimator[-1].coef_, before)
    expected = input_hessian(estimator, X[:100], y[:100])
    assert_array_equal(model.hessian_, expected)


def test_function_stands_for_a_frozen_estimator(cancer):
    X, y = cancer
    model = LogisticRegression().fit(X, y)
    expected = CHP(FrozenEstimator(model)).fit(X, y)
    actual = CHP(lambda X: X @ model.coef_.T + model.intercept_).fit(X, y)
    assert_allclose(actual.hessian_, expected.hessian_, atol=1e-12)
    assert_allclose(actual.components_, expected.components_, atol=1e-8)


def test_class_weight(rng):
    """In the training, and in the average; as samples repeated as often."""
    y = np.repeat([0, 1], [80, 20])
    X = rng.normal(size=(100, 4)) + np.outer(y, [1, 1, 0, 0])
    weighted = CHP(GaussianNB(), class_weight="balanced").fit(X, y)
    repeated = np.concatenate([np.arange(80), np.repeat(np.arange(80, 100), 4)])
    expected = input_hessian(
        GaussianNB().fit(X[repeated], y[repeated]), X[repeated], y[repeated]
    )
    assert_allclose(weighted.hessian_, expected, rtol=1e-6)
    same = CHP(GaussianNB(), class_weight={0: 1, 1: 4}).fit(X, y)
    assert_allclose(same.hessian_, expected, rtol=1e-6)
    assert_allclose(weighted.covariance_, np.cov(X.T))
    # A classifier that takes no weights is weighted in the average alone.
    lda = CHP(LinearDiscriminantAnalysis(), class_weight="balanced")
    with pytest.warns(UserWarning, match="LinearDiscriminantAnalysis does not"):
        lda.fit(X, y)
    expected = input_hessian(
        LinearDiscriminantAnalysis().fit(X, y), X[repeated], y[repeated]
    )
    assert_allclose(lda.hessian_, expected)


def test_weights_reach_the_last_step_of_a_pipeline(rng):
    y = np.repeat([0, 1], [80, 20])
    X = rng.normal(size=(100, 4))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = CHP(pipeline, class_weight="balanced").fit(X, y)
    expected = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced")
    ).fit(X, y)
    assert_allclose(
        model.estimator_[-1].coef_, expected[-1].coef_, rtol=1e-3, atol=1e-6
    )


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_sample_weights_are_copies(rng, class_weight):
    """In the covariance, the training, the mean Hessian and the diagnostics."""
    y = np.repeat([0, 1, 2], [40, 20, 20])
    X = rng.normal(size=(80, 3)) + np.outer(y, [1, 0.5, 0])
    weights = rng.integers(0, 4, size=80)
    copies = X.repeat(weights, axis=0), y.repeat(weights)
    classifier = make_pipeline(StandardScaler(), GaussianNB())
    model = CHP(classifier, class_weight=class_weight).fit(X, y, weights)
    again = CHP(classifier, class_weight=class_weight).fit(*copies)
    assert_allclose(model.covariance_, np.cov(copies[0].T))
    assert_allclose(model.hessian_, again.hessian_, rtol=1e-7, atol=1e-12)
    assert_allclose(model.components_, again.components_, atol=1e-9)
    for name, value in vars(again.conditions_).items():
        assert_allclose(getattr(model.conditions_, name), value, rtol=1e-7)
    for name, value in vars(again.separation_).items():
        assert_allclose(getattr(model.separation_, name), value, rtol=1e-7)
    default = CHP(random_state=0).fit(X, y, weights)
    again = CHP(random_state=0).fit(*copies)
    assert_allclose(default.components_, again.components_, atol=1e-2)


# What a user sees.


def test_separation(cancer, fitted):
    X, y = cancer
    grid = fitted.separation_
    assert grid.between.shape == grid.within.shape == grid.ratio.shape == (10, 10)
    axes = fitted.covariance_eigenvectors_[2], fitted.hessian_eigenvectors_[1]
    Z = X @ np.transpose(axes)
    # Figure 1: the distance along the one axis, the variances along the other.
    between = (Z[y == 0, 0].mean() - Z[y == 1, 0].mean()) ** 2
    within = Z[y == 0, 1].var() + Z[y == 1, 1].var()
    assert grid.between[1, 2] == pytest.approx(between)
    assert grid.within[1, 2] == pytest.approx(within)
    assert grid.ratio[1, 2] == pytest.approx(between / within)
    assert (grid.between == grid.between[0]).all()
    assert (grid.within == grid.within[:, :1]).all()
    again = fitted.separation(X, y)
    assert_allclose(again.ratio, grid.ratio)
    with pytest.raises(ValueError, match=r"contain all classes \[0, 1\]"):
        fitted.separation(X[y == 0], y[y == 0])


def test_conditions(cancer, fitted):
    conditions = fitted.conditions_
    values = fitted.hessian_eigenvalues_
    assert conditions.hessian_dominance == pytest.approx(values[0] / values[1])
    assert 1 < conditions.effective_samples < 569
    text = str(conditions)
    assert "class 0: isotropy" in text and "of 569" in text and "nan" not in text
    pca = str(CHP(n_hessian=0).fit(*cancer).conditions_)
    assert pca == "\n".join(text.splitlines()[:4])  # what is about the covariance


def test_pipeline_of_named_columns(cancer):
    """Its classifier is fitted on, and differentiated by, data frames."""
    pd = pytest.importorskip("pandas")
    X, y = pd.DataFrame(cancer[0][:, :4], columns=list("abcd")), cancer[1]
    columns = make_column_transformer((StandardScaler(), ["b", "d"]))
    model = CHP(make_pipeline(columns, LogisticRegression())).fit(X, y)
    assert_allclose(model.components_[1, [0, 2]], 0, atol=1e-6)
    plain = CHP(LogisticRegression()).fit(X[["b", "d"]], y)
    assert_allclose(model.components_[1, [1, 3]], plain.components_[1], atol=1e-6)
    with pytest.raises(ValueError, match="only supported for dataframes"):
        CHP(make_pipeline(columns, LogisticRegression())).fit(X.to_numpy(), y)
