"""Objectives of filters, with analytic gradients.

An :class:`Objective` maps filters to ``(value, gradient)``. It depends neither on an
estimator nor on an optimizer. The public class :class:`StudentT` is a distance with a
parameter, a value of the parameter ``distance`` of :class:`skgeom.SQFA`.
"""

from skgeom.objectives._class_distances import StudentT

__all__ = ["StudentT"]
