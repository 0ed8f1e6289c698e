"""Displays show what the estimators found."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skgeom import CovarianceHessianProjection
from skgeom.plotting import (
    ContributionDisplay,
    EigenspectrumDisplay,
    ProjectionDisplay,
    SeparationDisplay,
)

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    return CovarianceHessianProjection(GaussianNB()).fit(*iris)


def test_projection(iris, fitted):
    X, y = iris
    _, ax = plt.subplots()
    display = ProjectionDisplay.from_estimator(fitted, X, y, ax=ax)
    assert display.ax_ is ax
    scatters = display.ax_.collections[:3]
    for label, scatter in enumerate(scatters):
        np.testing.assert_allclose(
            scatter.get_offsets(), fitted.transform(X[y == label])
        )
    with pytest.raises(ValueError, match="has 3 components, but a plane has 2"):
        three = CovarianceHessianProjection(GaussianNB(), n_covariance=2).fit(X, y)
        ProjectionDisplay.from_estimator(three, X, y)


def test_labels_that_begin_with_an_underscore_are_in_the_legend(iris):
    X, y = iris
    names = np.array(["_a", "b", "_c"])
    model = CovarianceHessianProjection(GaussianNB()).fit(X, names[y])
    display = ProjectionDisplay.from_estimator(model, X, names[y])
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert {text.strip() for text in texts} == set(names)


def test_projection_to_data_frames(iris):
    """What was fitted with names is asked with names."""
    pytest.importorskip("pandas")
    X, y = iris
    model = make_pipeline(
        CovarianceHessianProjection(GaussianNB()), LogisticRegression()
    ).set_output(transform="pandas")
    display = ProjectionDisplay.from_estimator(model.fit(X, y), X, y)
    assert len(display.ax_.collections) == 6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boundary_is_that_of_the_pipeline(iris, fitted, n_classes):
    X, y = iris[0][iris[1] < n_classes], iris[1][iris[1] < n_classes]
    model = make_pipeline(
        CovarianceHessianProjection(GaussianNB()), LogisticRegression()
    )
    display = ProjectionDisplay.from_estimator(model.fit(X, y), X, y)
    assert display.classifier is model[-1]
    contours = display.ax_.collections[n_classes:]
    assert len(contours) == {2: 1, 3: 3}[n_classes]
    for contour in contours:
        for path in contour.get_paths():
            proba = np.sort(model[-1].predict_proba(path.vertices), axis=1)
            assert (proba[:, -1] - proba[:, -2] < 0.1).all()


def test_separation(iris, fitted):
    X, y = iris
    display = SeparationDisplay.from_estimator(fitted)
    images = [ax.images[0].get_array() for ax in display.axes_]
    grid = fitted.separation_
    for image, values in zip(
        images, (grid.between, grid.within, grid.ratio), strict=True
    ):
        np.testing.assert_array_equal(image, values)
    half = SeparationDisplay.from_estimator(fitted, X[::2], y[::2])
    np.testing.assert_array_equal(
        half.axes_[2].images[0].get_array(), fitted.separation(X[::2], y[::2]).ratio
    )
    with pytest.raises(ValueError, match="has no Hessian, n_hessian=0"):
        pca = CovarianceHessianProjection(n_hessian=0).fit(X, y)
        SeparationDisplay.from_estimator(pca)


def test_contributions(fitted):
    display = ContributionDisplay.from_estimator(fitted, n_features=2)
    assert [ax.get_title() for ax in display.axes_] == ["covariance 0", "Hessian 0"]
    for ax, row in zip(display.axes_, fitted.contributions_, strict=True):
        widths = [bar.get_width() for bar in ax.patches]
        np.testing.assert_array_equal(widths, np.sort(row)[-2:])
        names = [text.get_text() for text in ax.get_yticklabels()]
        assert names == [f"x{i}" for i in np.argsort(row)[-2:]]
    for n_features in (0, -1):
        with pytest.raises(ValueError, match="n_features must be 1 or more, got"):
            ContributionDisplay.from_estimator(fitted, n_features=n_features)
    with pytest.raises(ValueError, match="must have 4 names, got 2"):
        ContributionDisplay.from_estimator(fitted, feature_names=["a", "b"])


def test_contributions_of_features_of_one_name(fitted):
    display = ContributionDisplay.from_estimator(fitted, feature_names=list("abba"))
    for ax, row in zip(display.axes_, fitted.contributions_, strict=True):
        order = np.argsort(row)
        assert [bar.get_width() for bar in ax.patches] == row[order].tolist()
        names = [text.get_text() for text in ax.get_yticklabels()]
        assert names == [list("abba")[i] for i in order]


def test_contributions_are_those_of_the_fit(iris):
    model = CovarianceHessianProjection(GaussianNB(), n_covariance=2).fit(*iris)
    model.set_params(n_covariance=1, n_hessian=3)
    display = ContributionDisplay.from_estimator(model)
    titles = [ax.get_title() for ax in display.axes_]
    assert titles == ["covariance 0", "covariance 1", "Hessian 0"]


def test_spectra(iris, fitted):
    display = EigenspectrumDisplay.from_estimator(fitted)
    for ax, values in zip(
        display.axes_,
        (fitted.covariance_eigenvalues_, fitted.hessian_eigenvalues_),
        strict=True,
    ):
        drawn = np.concatenate([line.get_ydata() for line in ax.lines])
        np.testing.assert_allclose(np.sort(drawn), np.sort(np.abs(values)))
        assert ax.get_yscale() == "log"
    pca = CovarianceHessianProjection(n_hessian=0).fit(*iris)
    assert EigenspectrumDisplay.from_estimator(pca).axes_.shape == (1,)


@pytest.mark.parametrize("display", [ContributionDisplay, EigenspectrumDisplay])
def test_estimators_of_another_kind(display, iris):
    X, y = iris
    with pytest.raises(TypeError, match=r"got a PCA\. This is a display of Covariance"):
        display.from_estimator(PCA(2).fit(X))
    model = make_pipeline(CovarianceHessianProjection(GaussianNB())).fit(X, y)
    assert display.from_estimator(model).axes_.size == 2
