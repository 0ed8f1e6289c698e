"""Displays say what they need and draw on, and skgeom can be imported without it."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA

from skgeom import ClassStatistics, SeparationGrid
from skgeom.plotting import (
    AccuracyRejectionDisplay,
    ClassEllipsesDisplay,
    ComponentCurveDisplay,
    ContributionDisplay,
    DistanceMatrixDisplay,
    DistancePartsDisplay,
    EigenspectrumDisplay,
    FilterDisplay,
    LossCurveDisplay,
    PatternDisplay,
    ProjectionDisplay,
    SeparationDisplay,
)

STATISTICS = ClassStatistics([0, 1], [5, 5], np.eye(2), [np.eye(2)] * 2)

PARTS = DistancePartsDisplay(
    np.ones((2, 2, 2)), np.ones((2, 2, 2)), [0, 1], ["first", "second"]
)
GRID = SeparationGrid(np.eye(2), np.eye(2), np.eye(2))


@pytest.mark.parametrize(
    "draw",
    [
        FilterDisplay(np.ones((1, 2, 2))).plot,
        lambda: FilterDisplay.from_estimator(PCA()),
        ClassEllipsesDisplay([0], np.zeros((1, 2)), np.ones((1, 2, 2))).plot,
        lambda: ClassEllipsesDisplay.from_statistics(STATISTICS),
        lambda: ClassEllipsesDisplay.from_estimator(PCA()),
        DistanceMatrixDisplay(1 - np.eye(2)).plot,
        lambda: DistanceMatrixDisplay.from_matrix(1 - np.eye(2)),
        lambda: DistanceMatrixDisplay.from_statistics(STATISTICS),
        lambda: DistanceMatrixDisplay.from_estimator(PCA()),
        PARTS.plot,
        lambda: DistancePartsDisplay.from_statistics(STATISTICS),
        lambda: DistancePartsDisplay.from_estimator(PCA()),
        ComponentCurveDisplay([1], [[0.5]]).plot,
        lambda: ComponentCurveDisplay.from_estimator(PCA(), np.eye(2), [0, 1]),
        LossCurveDisplay([2, 1]).plot,
        lambda: LossCurveDisplay.from_estimator(PCA()),
        PatternDisplay(np.ones((1, 2))).plot,
        lambda: PatternDisplay.from_estimator(PCA(), np.eye(2)),
    ],
)
def test_without_matplotlib(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"Display\.\w+ requires matplotlib"):
        draw()


ON_ONE = [
    AccuracyRejectionDisplay(accuracies=[1.0], rejection_rates=[0.0]),
    ClassEllipsesDisplay([0], np.zeros((1, 2)), np.ones((1, 2, 2))),
    ComponentCurveDisplay([1], [[0.5]]),
    DistanceMatrixDisplay(1 - np.eye(2)),
    LossCurveDisplay([2, 1]),
    ProjectionDisplay(np.eye(2), np.arange(2), None),
]
ON_SEVERAL = [
    ContributionDisplay(np.ones((2, 3)), ["a", "b", "c"], ["first", "second"]),
    EigenspectrumDisplay({"covariance": [2.0, 1.0], "Hessian": [1.0]}),
    DistancePartsDisplay(
        np.ones((2, 2, 2)), np.ones((2, 2, 2)), [0, 1], ["first", "second"]
    ),
    FilterDisplay(np.ones((2, 2, 2))),
    PatternDisplay(np.ones((2, 2))),
    SeparationDisplay(GRID),
]


@pytest.mark.parametrize("display", ON_ONE, ids=lambda d: type(d).__name__)
def test_ax_that_is_none(display):
    _, axes = plt.subplots(1, 2)
    for ax, kind in [(axes, "ndarray"), ("top", "str")]:
        with pytest.raises(TypeError, match=f"ax must be a matplotlib Axes.* {kind}"):
            display.plot(ax=ax)


@pytest.mark.parametrize("display", ON_SEVERAL, ids=lambda d: type(d).__name__)
def test_axes_that_are_none_or_too_few(display):
    display.plot()
    count = len(display.axes_)
    with pytest.raises(TypeError, match=r"each of axes must be .* got str"):
        display.plot(axes=["top"] * count)
    with pytest.raises(ValueError, match=f"one entry for each of the {count} .* got 1"):
        display.plot(axes=plt.subplots()[1])
    figure, axes = plt.subplots(count, 1)
    assert display.plot(axes=axes[:, None]).figure_ is figure
