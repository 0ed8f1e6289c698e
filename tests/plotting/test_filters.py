"""FilterDisplay draws each filter as an image."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import SQFA
from skgeom.plotting import FilterDisplay


@pytest.fixture(scope="module")
def pca(digits):
    return PCA(7).fit(digits[0])


def images(display):
    return np.array([image.get_array() for image in display.images_])


def limits(display):
    return [image.get_clim() for image in display.images_]


def test_images_are_the_components(pca):
    display = FilterDisplay.from_estimator(pca, shape=(4, 16))
    assert_array_equal(images(display), pca.components_.reshape(7, 4, 16))
    assert_array_equal(display.filters, images(display))
    assert len(display.figure_.axes) == len(display.axes_) == 7
    assert display.axes_.shape == (7,)
    titles = [ax.get_title() for ax in display.axes_]
    assert titles == [f"pca{k}" for k in range(7)]
    assert all(len(ax.get_xticks()) == 0 for ax in display.axes_)


def test_filters_of_a_step_of_a_pipeline(digits):
    X, y = digits
    # The last step has scalings_ as well, but these are no filters.
    model = make_pipeline(
        StandardScaler(),
        SQFA(2, regularization=1),
        QuadraticDiscriminantAnalysis(tol=0),
    ).fit(X[:300], y[:300])
    display = FilterDisplay.from_estimator(model)
    assert_array_equal(images(display).reshape(2, 64), model["sqfa"].components_)
    assert display.axes_[1].get_title() == "sqfa1"


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_linear_discriminants_are_those_of_transform(digits, solver):
    X, y = digits
    X = X + np.random.default_rng(0).normal(size=X.shape)
    lda = LinearDiscriminantAnalysis(n_components=4, solver=solver).fit(X, y)
    drawn = images(FilterDisplay.from_estimator(lda)).reshape(-1, 64)
    features = X @ drawn.T
    expected = lda.transform(X)
    assert features.shape == expected.shape
    centred = features - features.mean(axis=0)
    assert_allclose(centred, expected - expected.mean(axis=0), atol=1e-8)


def test_colour_limits(pca):
    largest = np.abs(pca.components_).max(axis=1)
    each = limits(FilterDisplay.from_estimator(pca))
    assert_array_equal(each, np.transpose([-largest, largest]))
    display = FilterDisplay.from_estimator(pca, limits="shared")
    assert_array_equal(limits(display), [(-largest.max(), largest.max())] * 7)
    assert len(display.figure_.axes) == 8  # with the colour bar


def test_space_time_plot(pca):
    display = FilterDisplay.from_estimator(
        pca,
        shape=(16, 4),
        extent=(-1, 1, 250, 0),
        xlabel="position (deg)",
        ylabel="time (ms)",
        n_columns=4,
    )
    display.figure_.canvas.draw()
    for k, ax in enumerate(display.axes_):
        assert ax.get_xlim() == (-1, 1) and ax.get_ylim() == (250, 0)
        assert ax.get_aspect() == "auto"
        assert ax.get_ylabel() == ("time (ms)" if k in (0, 4) else "")
        # The last place of the second row is empty, so the fourth one is labelled.
        assert ax.get_xlabel() == ("position (deg)" if k >= 3 else "")
        shown = [tick.label1.get_visible() for tick in ax.xaxis.get_major_ticks()]
        assert set(shown) == {k >= 3}


def test_filters_of_spectra_are_curves(digits):
    X, _ = digits
    pca = PCA(3).fit(X[:, :10])  # 10 is not a square number
    wavelengths = np.linspace(900, 1700, 10)
    display = FilterDisplay.from_estimator(pca, x=wavelengths, xlabel="wavelength (nm)")
    assert display.images_ == [] and len(display.lines_) == 3
    for line, ax, filter in zip(
        display.lines_, display.axes_, pca.components_, strict=True
    ):
        assert_array_equal(line.get_xdata(), wavelengths)
        assert_array_equal(line.get_ydata(), filter)
        low, high = ax.get_ylim()
        assert low == -high and high > np.abs(filter).max()
        # Each curve has its own scale, so each axis has labels.
        ticks = ax.yaxis.get_major_ticks()
        assert all(tick.label1.get_visible() for tick in ticks)
    square = FilterDisplay.from_estimator(PCA(2).fit(X), x=np.arange(64.0) / 2)
    assert_array_equal(square.lines_[1].get_xdata(), np.arange(64) / 2)
    square = FilterDisplay.from_estimator(PCA(2).fit(X), 64, color="red", lw=3)
    assert square.lines_[1].get_linewidth() == 3
    assert square.lines_[1].get_color() == "red"
    assert_array_equal(square.lines_[1].get_xdata(), np.arange(64))
    same = FilterDisplay.from_estimator(pca, limits="shared")
    assert len({ax.get_ylim() for ax in same.axes_}) == 1
    assert len(same.figure_.axes) == 3  # without a color bar


def test_errors(digits, pca):
    X, y = digits
    with pytest.raises(ValueError, match=r"rows \* columns = 64"):
        FilterDisplay.from_estimator(pca, (8, 9))
    with pytest.raises(ValueError, match="x must have one position for each of the 64"):
        FilterDisplay.from_estimator(pca, 64, x=range(10))
    with pytest.raises(ValueError, match="extent is only used for images"):
        FilterDisplay.from_estimator(pca, 64, extent=(0, 1, 0, 1))
    with pytest.raises(ValueError, match=r"curves, but .* images of shape \(8, 8\)"):
        FilterDisplay.from_estimator(pca, (8, 8), x=range(64))
    with pytest.raises(NotFittedError):
        FilterDisplay.from_estimator(SQFA())
    few = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:50], y[:50])
    with pytest.raises(TypeError, match=r"components_ or scalings_.* got a Pipeline"):
        FilterDisplay.from_estimator(few)
    discriminant = QuadraticDiscriminantAnalysis(reg_param=0.5).fit(X, y)
    with pytest.raises(TypeError, match="got a QuadraticDiscriminantAnalysis"):
        FilterDisplay.from_estimator(discriminant)
    with pytest.raises(ValueError, match="must have one entry for each of the 7 filt"):
        FilterDisplay.from_estimator(pca, titles=["a"])
    with pytest.raises(ValueError, match=r"axes must have one .* 7 filters, got 3"):
        FilterDisplay.from_estimator(pca, axes=plt.subplots(3)[1])
    with pytest.raises(TypeError, match="each of axes must be a matplotlib Axes"):
        FilterDisplay.from_estimator(pca, axes=["top"] * 7)
    with pytest.raises(TypeError, match="instead of ax"):
        FilterDisplay.from_estimator(pca, ax=None)
    with pytest.raises(ValueError, match="'each' or 'shared', got 'all'"):
        FilterDisplay.from_estimator(pca, limits="all")
    with pytest.raises(ValueError, match="n_columns must be an integer >= 1, got 0"):
        FilterDisplay.from_estimator(pca, n_columns=0)
    with pytest.raises(ValueError, match=r"got shape \(64,\)"):
        FilterDisplay(pca.components_[0]).plot()
    with pytest.raises(ValueError, match=r"filters\[1\] contains NaN"):
        FilterDisplay([np.eye(2), np.full((2, 2), np.nan)]).plot()
    with pytest.raises(TypeError, match="filters must hold real numbers, got dtype"):
        FilterDisplay([[[1j, 0]]]).plot()
