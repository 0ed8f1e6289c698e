"""Displays of fitted estimators, drawn with matplotlib."""

from skgeom.plotting._projection import ProjectionDisplay, SeparationDisplay
from skgeom.plotting._spectra import ContributionDisplay, EigenspectrumDisplay

__all__ = [
    "ContributionDisplay",
    "EigenspectrumDisplay",
    "ProjectionDisplay",
    "SeparationDisplay",
]
