"""PatternDisplay draws topographies with MNE, and bars without."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skgeom import SQFA, activation_patterns
from skgeom.plotting import PatternDisplay

RADII = np.array([3, 7, 5, 7, 4, 7, 6, 7]) / 100
PLACES = RADII[:, None] * np.c_[np.sin(np.arange(8)), np.cos(np.arange(8))]


@pytest.fixture
def patterns(rng):
    return rng.normal(size=(3, 8))


def heights(container):
    return [bar.get_height() for bar in container]


def test_bars_are_the_patterns(patterns):
    display = PatternDisplay(patterns, ["a", "b", "c"]).plot(color="grey")
    assert_allclose([heights(bars) for bars in display.artists_], patterns)
    assert [ax.get_title() for ax in display.axes_] == ["a", "b", "c"]
    assert display.axes_.shape == (3,) and display.figure_ is display.axes_[0].figure


def test_of_an_estimator():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(PCA(3), SQFA(2, random_state=0), GaussianNB())
    model.fit(X, y)
    covariance = np.cov(model["pca"].transform(X).T)
    display = PatternDisplay.from_estimator(model, covariance)
    expected = activation_patterns(model["sqfa"].components_, covariance)
    assert_allclose(display.patterns, expected)
    assert [ax.get_title() for ax in display.axes_] == ["sqfa0", "sqfa1"]
    with pytest.raises(ValueError, match="each of the 4 features of covariance"):
        PatternDisplay.from_estimator(model, np.cov(X.T))
    with pytest.raises(TypeError, match="components_ or scalings_"):
        PatternDisplay.from_estimator(GaussianNB().fit(X, y), np.cov(X.T))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_topographies(patterns):
    mne = pytest.importorskip("mne")
    display = PatternDisplay(patterns).plot(PLACES)
    for image, pattern in zip(display.artists_, patterns, strict=True):
        bound = np.abs(pattern).max()
        assert image.get_clim() == pytest.approx((-bound, bound))
        # Near a channel, the interpolation is what the channel has.
        values = np.ma.filled(image.get_array(), np.nan)
        left, right, bottom, top = image.get_extent()
        rows, columns = values.shape
        for (x, y), value in zip(PLACES, pattern, strict=True):
            row = round((y - bottom) / (top - bottom) * (rows - 1))
            column = round((x - left) / (right - left) * (columns - 1))
            assert values[row, column] == pytest.approx(value, abs=0.15 * bound)
    names = [f"channel {k}" for k in range(8)]
    info = mne.create_info(names, 250.0, "eeg")
    places = np.c_[PLACES, np.full(8, 0.05)]
    positions = dict(zip(names, places, strict=True))
    info.set_montage(mne.channels.make_dig_montage(positions, coord_frame="head"))
    _, axes = plt.subplots(1, 3)
    display = PatternDisplay(patterns).plot(info, axes=axes, sensors=False)
    assert display.axes_[0] is axes[0]


def test_without_mne(patterns, monkeypatch):
    monkeypatch.setitem(sys.modules, "mne", None)
    monkeypatch.setitem(sys.modules, "mne.viz", None)
    with pytest.raises(ImportError, match="needs MNE to draw topographies"):
        PatternDisplay(patterns).plot(PLACES)
    PatternDisplay(patterns).plot()


def test_errors(patterns):
    pytest.importorskip("mne")
    with pytest.raises(ValueError, match=r"positions of the 8 channels .* got 7"):
        PatternDisplay(patterns).plot(PLACES[:7])
    with pytest.raises(ValueError, match=r"got shape \(8, 3\)"):
        PatternDisplay(patterns).plot(np.ones((8, 3)))
    with pytest.raises(ValueError, match="one entry for each of the 3 patterns"):
        PatternDisplay(patterns, ["a"]).plot()
    with pytest.raises(ValueError, match=r"patterns must have shape .* got \(8,\)"):
        PatternDisplay(patterns[0]).plot()
    with pytest.raises(ValueError, match=r"patterns\[0\] contains NaN"):
        PatternDisplay([[np.nan, 1]]).plot()
    with pytest.raises(ValueError, match="each of the 3 patterns, got 1"):
        PatternDisplay(patterns).plot(axes=plt.subplots()[1])
    assert len(plt.get_fignums()) == 1
