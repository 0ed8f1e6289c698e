"""Displays with the interface of scikit-learn's displays. They require matplotlib."""

from skgeom.plotting._accuracy_rejection import AccuracyRejectionDisplay
from skgeom.plotting._class_ellipses import ClassEllipsesDisplay
from skgeom.plotting._decision_regions import DecisionRegionsDisplay
from skgeom.plotting._distance_matrix import DistanceMatrixDisplay
from skgeom.plotting._filter_display import FilterDisplay
from skgeom.plotting._selection_display import SelectionDisplay

__all__ = [
    "AccuracyRejectionDisplay",
    "ClassEllipsesDisplay",
    "DecisionRegionsDisplay",
    "DistanceMatrixDisplay",
    "FilterDisplay",
    "SelectionDisplay",
]
