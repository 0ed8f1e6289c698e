"""Objectives of filters, with analytic gradients.

An :class:`Objective` maps filters to ``(value, gradient)``. It depends neither on an
estimator nor on an optimizer. The public class :class:`StudentT` is a distance with a
parameter, a value of the parameter ``distance`` of :class:`skgeom.SQFA`.
"""

from skgeom.objectives._class_distances import DISTANCES as DISTANCES
from skgeom.objectives._class_distances import (
    SECOND_MOMENT_DISTANCES as SECOND_MOMENT_DISTANCES,
)
from skgeom.objectives._class_distances import StudentT
from skgeom.objectives._class_distances import find_distance as find_distance
from skgeom.objectives._pairwise import ClassMoments as ClassMoments
from skgeom.objectives._pairwise import MeanPairwiseDistance as MeanPairwiseDistance
from skgeom.objectives._pairwise import Objective as Objective
from skgeom.objectives._pairwise import (
    StructuredCovariances as StructuredCovariances,
)
from skgeom.objectives._pairwise import plus_outer_products as plus_outer_products
from skgeom.objectives._posterior import MeanInformation as MeanInformation

__all__ = ["StudentT"]
