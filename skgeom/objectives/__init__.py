"""What the estimators optimise: value and analytic gradient as a function of a point.

An objective is called with a point and returns ``(value, gradient)``. It knows neither
an estimator nor an optimiser. Public are the distances between classes that have
parameters of their own; they are values of ``distance`` of :class:`skgeom.SQFA`.
"""

from skgeom.objectives._device_classes import projected_classes as projected_classes
from skgeom.objectives._fixed_filters import WithFixedFilters as WithFixedFilters
from skgeom.objectives._pairwise import MeanPairwiseDistance as MeanPairwiseDistance
from skgeom.objectives._posterior import MeanInformation as MeanInformation
from skgeom.objectives._registry import DISTANCES as DISTANCES
from skgeom.objectives._registry import (
    SECOND_MOMENT_DISTANCES as SECOND_MOMENT_DISTANCES,
)
from skgeom.objectives._registry import find_distance as find_distance
from skgeom.objectives._student_t import StudentT

__all__ = ["StudentT"]
