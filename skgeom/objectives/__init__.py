"""What the estimators optimise: value and analytic gradient as a function of a point.

An objective is called with a point and returns ``(value, gradient)``. It knows neither
an estimator nor an optimiser.
"""

from skgeom.objectives._distances import DISTANCES
from skgeom.objectives._pairwise import MeanPairwiseDistance, WithFixedFilters

__all__ = ["DISTANCES", "MeanPairwiseDistance", "WithFixedFilters"]
