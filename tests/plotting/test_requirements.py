"""Displays say what they need, and skgeom can be imported without it."""

import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA

from skgeom import ClassStatistics
from skgeom.plotting import (
    ClassEllipsesDisplay,
    DistanceMatrixDisplay,
    FilterDisplay,
    LossCurveDisplay,
)

STATISTICS = ClassStatistics([0, 1], [5, 5], np.eye(2), [np.eye(2)] * 2)


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
        LossCurveDisplay([2, 1]).plot,
        lambda: LossCurveDisplay.from_estimator(PCA()),
    ],
)
def test_without_matplotlib(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"Display\.\w+ requires matplotlib"):
        draw()
