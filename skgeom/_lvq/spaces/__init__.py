"""Metrics of prototypes, by name; ``base.py`` says how to add one."""

from skgeom._lvq.spaces.affine_invariant import AffineInvariantSpace
from skgeom._lvq.spaces.base import CurvedSpace, Pairs, Space
from skgeom._lvq.spaces.flat import EuclideanSPDSpace, FlatSpace, LogEuclideanSpace

SPD_SPACES = {
    "riemann": AffineInvariantSpace,
    "logeuclid": LogEuclideanSpace,
    "euclid": EuclideanSPDSpace,
}

__all__ = [
    "SPD_SPACES",
    "AffineInvariantSpace",
    "CurvedSpace",
    "EuclideanSPDSpace",
    "FlatSpace",
    "LogEuclideanSpace",
    "Pairs",
    "Space",
]
