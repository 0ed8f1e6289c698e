"""All displays check matplotlib and the axes that they draw in."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skgeom.plotting import (
    AccuracyRejectionDisplay,
    ClassEllipsesDisplay,
    DecisionRegionsDisplay,
    DistanceMatrixDisplay,
    FilterDisplay,
)

ON_ONE = [
    AccuracyRejectionDisplay(accuracies=[1.0], rejection_rates=[0.0]),
    ClassEllipsesDisplay([0], np.zeros((1, 2)), np.ones((1, 2, 2))),
    DecisionRegionsDisplay(
        grid=(np.arange(2), np.arange(2)),
        regions=np.zeros((2, 2)),
        components=np.zeros((1, 2)),
        predictions=[0],
        classes=[0, 1],
    ),
    DistanceMatrixDisplay(1 - np.eye(2)),
]
FILTERS = FilterDisplay(np.ones((2, 2, 2)))


@pytest.mark.parametrize("display", [*ON_ONE, FILTERS], ids=lambda d: type(d).__name__)
def test_without_matplotlib(monkeypatch, display):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"Display\.plot requires matplotlib"):
        display.plot()


@pytest.mark.parametrize("display", ON_ONE, ids=lambda d: type(d).__name__)
def test_given_ax(display):
    figure, axes = plt.subplots(1, 2, sharex=True, sharey=True)
    display.plot(ax=axes[1])
    assert display.ax_ is axes[1] and display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()
    for ax, kind in [(axes, "ndarray"), ("top", "str")]:
        with pytest.raises(
            TypeError, match=f"ax must be a matplotlib Axes, got {kind}"
        ):
            display.plot(ax=ax)
