"""Displays, in the manner of those of scikit-learn. They need matplotlib."""

from skgeom.plotting._projection import ProjectionDisplay, SeparationDisplay
from skgeom.plotting._rejection import AccuracyRejectionDisplay
from skgeom.plotting._spectra import ContributionDisplay, EigenspectrumDisplay

__all__ = [
    "AccuracyRejectionDisplay",
    "ContributionDisplay",
    "EigenspectrumDisplay",
    "ProjectionDisplay",
    "SeparationDisplay",
]
