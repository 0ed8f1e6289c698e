"""DecisionRegionsDisplay draws what a fitted classifier predicts in a plane."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import (
    GaussianClassifier,
    GaussianRegressor,
    KernelDiscriminantAnalysis,
    RejectionClassifier,
)
from skgeom.plotting import DecisionRegionsDisplay


@pytest.mark.parametrize("step", [PCA(2), KernelDiscriminantAnalysis(2)])
def test_regions_of_the_pipeline_are_those_of_its_last_step(iris, step):
    X, y = iris
    model = make_pipeline(StandardScaler(), step, GaussianClassifier()).fit(X, y)
    display = DecisionRegionsDisplay.from_estimator(model, X, y, resolution=30)
    points = np.stack(np.meshgrid(*display.grid), axis=-1).reshape(-1, 2)
    assert_array_equal(display.regions.ravel(), model[-1].predict(points))
    Z = model[:-1].transform(X)
    assert_allclose(display.components, Z)
    assert (Z.min(axis=0) > points.min(axis=0)).all()
    assert (Z.max(axis=0) < points.max(axis=0)).all()
    name = type(step).__name__.lower()
    assert display.axis_names == (f"{name}0", f"{name}1")
    assert [len(p.get_offsets()) for p in display.points_] == [50, 50, 50]


def test_features_of_a_plane_are_the_regression_on_its_components(iris):
    """With a linear classifier, regions and the regression of its scores agree."""
    X, y = iris
    y = y > 1
    model = LogisticRegression(C=1e3, max_iter=1000).fit(X, y)
    projection = PCA().fit(X)
    display = DecisionRegionsDisplay.from_estimator(
        model, X, y, projection=projection, dims=(2, 0), resolution=40
    )
    # Principal components are uncorrelated: the other components are at their mean.
    points = np.stack(np.meshgrid(*display.grid), axis=-1).reshape(-1, 2)
    features = X.mean(axis=0) + points @ projection.components_[[2, 0]]
    assert_array_equal(display.regions.ravel(), model.predict(features))
    assert 0 < display.regions.mean() < 1
    assert display.ax_.get_xlabel() == "pca2"


def test_units_do_not_matter(iris):
    X, y = iris
    displays = [
        DecisionRegionsDisplay.from_estimator(
            make_pipeline(StandardScaler(), LogisticRegression()).fit(Z, y),
            Z,
            projection=make_pipeline(StandardScaler(), PCA(2)).fit(Z),
            resolution=20,
        )
        for Z in (X, X * [1e-6, 1, 1e6, 1e3])
    ]
    assert_array_equal(displays[0].regions, displays[1].regions)


def test_rejected_samples_are_crosses(iris):
    X, y = iris
    names = np.array(["a", "b", "c"])[y]
    model = RejectionClassifier(GaussianClassifier(), threshold=0.97).fit(X, names)
    display = DecisionRegionsDisplay.from_estimator(
        model, X, names, projection=PCA(2).fit(X), resolution=30
    )
    rejected = model.predict(X) == "rejected"
    assert 0 < rejected.sum() == len(display.points_[-1].get_offsets())
    assert display.points_[-1].get_label() == "rejected"
    drawn = display.regions_.get_array()
    assert_array_equal(np.ma.getmaskarray(drawn), display.regions == "rejected")
    assert drawn.mask.any() and not drawn.mask.all()


@pytest.mark.filterwarnings("error")
def test_data_frames_and_many_classes():
    X, y = make_blobs(120, 5, centers=12, random_state=0)
    X = pd.DataFrame(X, columns=list("abcde"))
    model = GaussianClassifier().fit(X, y)
    projection = PCA(2).set_output(transform="pandas").fit(X)
    display = DecisionRegionsDisplay.from_estimator(
        model, X, projection=projection, resolution=10, legend=False
    )
    assert len(display.points_) == 12
    assert display.ax_.get_legend() is None
    display.plot(cmap="viridis")
    assert display.regions_.get_cmap().name == "viridis"


def test_features_of_a_classifier_without_projection():
    X, y = make_blobs(60, 2, random_state=0)
    frame = pd.DataFrame(X, columns=["length", "width"])
    model = RejectionClassifier(GaussianClassifier(), rejection_rate=0.2).fit(frame, y)
    display = DecisionRegionsDisplay.from_estimator(model, frame, y, resolution=20)
    points = np.stack(np.meshgrid(*display.grid), axis=-1).reshape(-1, 2)
    expected = model.predict(pd.DataFrame(points, columns=frame.columns))
    assert_array_equal(display.regions.ravel(), expected)
    assert display.axis_names == ("length", "width")
    model = GaussianClassifier().fit(X, y)
    display = DecisionRegionsDisplay.from_estimator(model, X, dims=(1, 0))
    assert_allclose(display.components, X[:, ::-1])
    assert display.axis_names == ("feature 1", "feature 0")


def test_bad_input(iris):
    X, y = iris
    model = GaussianClassifier().fit(X, y)
    draw = DecisionRegionsDisplay.from_estimator
    with pytest.raises(TypeError, match="projection must be a transformer, got a Gaus"):
        draw(model, X, y, projection=model)
    pca = PCA(2).fit(X)
    with pytest.raises(ValueError, match="dims must be two different indices of the 2"):
        draw(model, X, y, projection=pca, dims=(0, 2))
    with pytest.raises(ValueError, match="y contains the label 7, which is not a cl"):
        draw(model, X, np.where(y > 1, 7, y), projection=pca)
    with pytest.raises(ValueError, match="y has 9 labels, but X has 150 samples"):
        draw(model, X, y[:9], projection=pca)
    with pytest.raises(ValueError, match=r"projection must be linear.* a pipeline"):
        draw(model, X, y, projection=KernelPCA(2, kernel="rbf", gamma=1).fit(X))
    with pytest.raises(ValueError, match="less than two directions of pca0 and pca1"):
        draw(model, X[:2], y[:2], projection=pca)
    constant = np.column_stack([np.zeros(len(X)), X])
    with pytest.raises(ValueError, match=r"0 and feature 1.*projection=PCA\(2\)"):
        draw(GaussianClassifier().fit(constant, y), constant, y)
    with pytest.raises(
        TypeError, match="must be a classifier, got a GaussianRegressor"
    ):
        draw(GaussianRegressor(n_levels=4, prior_samples=1).fit(X, X[:, 0]), X)
