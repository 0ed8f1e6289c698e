"""ClassEllipsesDisplay draws means, covariances and filters to scale."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import SQFA, ClassStatistics, SecondMomentSQFA
from skgeom.plotting import ClassEllipsesDisplay


@pytest.fixture
def statistics(make_gaussians):
    means, covariances = make_gaussians((3,), 4)
    return ClassStatistics(["a", "b", "c"], [9, 9, 9], means, covariances)


def many(labels):
    means = np.random.default_rng(0).normal(size=(len(labels), 2))
    return ClassStatistics(labels, [5] * len(labels), means, [np.eye(2)] * len(labels))


@pytest.mark.parametrize("dims", [(0, 1), (-1, 0)])
def test_ellipses_are_level_sets(statistics, dims):
    """Each point of an ellipse is n_std away by the Mahalanobis distance."""
    dims = np.array(dims)
    display = ClassEllipsesDisplay.from_statistics(statistics, dims=dims, n_std=2)
    assert len(display.ellipses_) == 3
    for k, ellipse in enumerate(display.ellipses_):
        mean = statistics.means[k, dims]
        covariance = statistics.covariances[k][np.ix_(dims, dims)]
        assert_array_equal(ellipse.center, mean)
        lengths = 2 * 2 * np.sqrt(np.linalg.eigvalsh(covariance))
        assert_allclose([ellipse.height, ellipse.width], lengths)
        path = ellipse.get_path().interpolated(1)
        points = ellipse.get_patch_transform().transform(path.vertices[::3])
        offsets = points - mean
        squares = (offsets @ np.linalg.inv(covariance) * offsets).sum(axis=1)
        assert_allclose(squares, 4, rtol=1e-6)
    assert_array_equal(display.means_.get_offsets(), statistics.means[:, dims])
    first, second = dims % 4
    assert display.ax_.get_xlabel() == f"feature {first}"
    assert display.ax_.get_ylabel() == f"feature {second}"
    assert display.ax_.get_aspect() == 1


def test_arrows_are_the_filters(statistics):
    filters = np.array([[1.0, 2], [0, 0], [-1, 0.5]])
    display = ClassEllipsesDisplay.from_statistics(statistics, dims=(1, 0))
    (arrows,) = display.plot_filters(filters, scale=3).arrows_
    assert_allclose(np.stack([arrows.U, arrows.V], axis=1), 3 * filters)
    centre = statistics.means[:, [1, 0]].mean(axis=0)
    assert_allclose(arrows.get_offsets(), [centre] * 3)
    assert arrows.angles == arrows.scale_units == "xy" and arrows.scale == 1


def test_few_classes_have_the_colours_of_the_cycle():
    display = ClassEllipsesDisplay.from_statistics(many(range(10)), label="digit")
    colours = [ellipse.get_edgecolor() for ellipse in display.ellipses_]
    assert colours == [to_rgba(f"C{k}") for k in range(10)]
    assert_array_equal(display.means_.get_facecolor(), colours)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [str(k) for k in range(10)]
    assert display.ax_.get_legend().get_title().get_text() == "digit"
    assert len(display.figure_.axes) == 1


def test_many_ordered_classes_have_a_colour_bar():
    speeds = np.linspace(-6, 6, 41)
    speeds[0] = -12
    display = ClassEllipsesDisplay.from_statistics(
        many(speeds), cmap="coolwarm", label="speed (deg/s)"
    )
    cmap = plt.get_cmap("coolwarm")
    for speed, ellipse in zip(speeds, display.ellipses_, strict=True):
        assert ellipse.get_edgecolor() == cmap((speed + 12) / 18)
    assert display.ax_.get_legend() is None
    _, bar = display.figure_.axes
    assert bar.get_ylabel() == "speed (deg/s)"
    assert bar.get_ylim() == (-12, 6)


def test_classes_in_the_features_of_an_estimator(iris):
    X, y = iris
    sqfa = SQFA(3, covariance_estimator=None, random_state=0).fit(X, y)
    kept = ClassEllipsesDisplay.from_estimator(sqfa, dims=(0, 2))
    given = ClassEllipsesDisplay.from_estimator(sqfa, X, y, dims=(0, 2))
    expected = ClassStatistics.from_data(sqfa.transform(X)[:, [0, 2]], y)
    for display in (kept, given):
        assert_allclose(display.means, expected.means)
        assert_allclose(display.covariances, expected.covariances)
        assert display.ax_.get_ylabel() == "sqfa2"


@pytest.mark.parametrize("classifier", [[], [QuadraticDiscriminantAnalysis(tol=0)]])
def test_pipelines(iris, classifier):
    X, y = iris
    lda = LinearDiscriminantAnalysis(n_components=2)
    model = make_pipeline(StandardScaler(), lda, *classifier).fit(X, y)
    display = ClassEllipsesDisplay.from_estimator(model, X, y)
    projected = lda.transform(model[0].transform(X))
    assert_allclose(display.means, [projected[y == k].mean(axis=0) for k in range(3)])
    assert display.axis_names[1] == "lineardiscriminantanalysis1"
    sqfa = make_pipeline(StandardScaler(), SQFA(2), *classifier).fit(X, y)
    display = ClassEllipsesDisplay.from_estimator(sqfa)
    assert_array_equal(display.means, sqfa["sqfa"].statistics_.means)


def test_second_moments_alone(make_spd):
    moments = make_spd((2,), 3)
    statistics = ClassStatistics.from_second_moments([0, 1], [5, 5], moments)
    display = ClassEllipsesDisplay.from_statistics(statistics, dims=(0, 2))
    assert_array_equal(display.means, np.zeros((2, 2)))
    assert_array_equal(display.covariances, moments[:, ::2, ::2])
    smsqfa = SecondMomentSQFA(2, regularization=0.1).fit_statistics(statistics)
    display = ClassEllipsesDisplay.from_estimator(smsqfa)
    assert display.ax_.get_xlabel() == "secondmomentsqfa0"


@pytest.mark.parametrize("constant", [0, 1])
def test_feature_that_is_constant(constant, make_gaussians):
    """The axis of a line has a width, in which its filters are drawn too."""
    means, covariances = make_gaussians((3,), 2)
    means[:, constant] = 7
    covariances[:, constant] = covariances[:, :, constant] = 0
    statistics = ClassStatistics(range(3), [9] * 3, means, covariances)
    display = ClassEllipsesDisplay.from_statistics(statistics)
    display.plot_filters(np.eye(2)[[1 - constant]])
    display.figure_.canvas.draw()
    limits = [display.ax_.get_xlim(), display.ax_.get_ylim()]
    spans = np.ptp(limits, axis=1)
    assert spans.min() > 0.05 * spans.max()
    low, high = limits[constant]
    assert low < 7 < high


@pytest.mark.parametrize("dims", [(0, -4), (0, 4), (0, 1, 2), 0, (0, 1.0)])
def test_invalid_dims(statistics, dims):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match="two different indices of the 4 features"):
        ClassEllipsesDisplay.from_statistics(statistics, dims=dims)
    assert plt.get_fignums() == before


def test_errors(statistics, iris):
    X, y = iris
    with pytest.raises(TypeError, match=r"must be a ClassStatistics.* got ndarray"):
        ClassEllipsesDisplay.from_statistics(X)
    with pytest.raises(ValueError, match="feature_names must have 4 names, got 2"):
        ClassEllipsesDisplay.from_statistics(statistics, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="n_std must be positive"):
        ClassEllipsesDisplay.from_statistics(statistics, n_std=np.nan)
    with pytest.raises(NotFittedError):
        ClassEllipsesDisplay.from_estimator(SQFA(), X, y)
    with pytest.raises(TypeError, match=r"statistics_.* got a PCA\. Pass X and y"):
        ClassEllipsesDisplay.from_estimator(PCA(2).fit(X))
    with pytest.raises(TypeError, match=r"a transformer.* got a QuadraticDiscriminant"):
        classifier = QuadraticDiscriminantAnalysis().fit(X, y)
        ClassEllipsesDisplay.from_estimator(classifier, X, y)
    with pytest.raises(ValueError, match="Pass both X and y"):
        ClassEllipsesDisplay.from_estimator(PCA(2).fit(X), X)
    with pytest.raises(ValueError, match=r"means of 3 .* shape \(3, 2\), got \(3, 4\)"):
        ClassEllipsesDisplay([0, 1, 2], statistics.means, np.ones((3, 2, 2))).plot()
    with pytest.raises(ValueError, match=r"covariances\[1\] contains NaN"):
        covariances = np.stack([np.eye(2), np.full((2, 2), np.nan)])
        ClassEllipsesDisplay([0, 1], np.zeros((2, 2)), covariances).plot()
    display = ClassEllipsesDisplay.from_statistics(statistics)
    with pytest.raises(ValueError, match="must have two columns"):
        display.plot_filters(np.eye(3))


def test_labels_that_begin_with_an_underscore_are_in_the_legend():
    names = ["_left", "right", "_"]
    display = ClassEllipsesDisplay(names, np.zeros((3, 2)), [np.eye(2)] * 3).plot()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert [text.strip() for text in texts] == names


def test_features_in_different_units_have_different_scales(iris):
    X, y = iris
    for factor, aspect in ((1, 1.0), (100, "auto")):
        statistics = ClassStatistics.from_data(X * [factor, 1, 1, 1], y)
        display = ClassEllipsesDisplay.from_statistics(statistics)
        assert display.ax_.get_aspect() == aspect
