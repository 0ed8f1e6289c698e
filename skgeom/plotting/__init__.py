"""Displays, in the manner of those of scikit-learn. They need matplotlib."""

from skgeom.plotting._component_curve import ComponentCurveDisplay
from skgeom.plotting._distances import DistanceMatrixDisplay
from skgeom.plotting._ellipses import ClassEllipsesDisplay
from skgeom.plotting._filters import FilterDisplay
from skgeom.plotting._loss import LossCurveDisplay
from skgeom.plotting._parts import DistancePartsDisplay
from skgeom.plotting._patterns import PatternDisplay
from skgeom.plotting._projection import ProjectionDisplay, SeparationDisplay
from skgeom.plotting._rejection import AccuracyRejectionDisplay
from skgeom.plotting._spectra import ContributionDisplay, EigenspectrumDisplay

__all__ = [
    "AccuracyRejectionDisplay",
    "ClassEllipsesDisplay",
    "ComponentCurveDisplay",
    "ContributionDisplay",
    "DistanceMatrixDisplay",
    "DistancePartsDisplay",
    "EigenspectrumDisplay",
    "FilterDisplay",
    "LossCurveDisplay",
    "PatternDisplay",
    "ProjectionDisplay",
    "SeparationDisplay",
]
