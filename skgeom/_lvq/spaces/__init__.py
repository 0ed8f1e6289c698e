"""Metrics of prototypes, by name; ``base.py`` says how to add one."""

from skgeom._lvq.spaces.affine_invariant import AffineInvariantSpace
from skgeom._lvq.spaces.base import CurvedSpace as CurvedSpace
from skgeom._lvq.spaces.base import Pairs as Pairs
from skgeom._lvq.spaces.base import Space as Space
from skgeom._lvq.spaces.flat import EuclideanSPDSpace, LogEuclideanSpace
from skgeom._lvq.spaces.flat import FlatSpace as FlatSpace
from skgeom._lvq.spaces.logdet import LogDetSpace
from skgeom._lvq.spaces.tangent import MahalanobisSpace, TangentSpace
from skgeom._lvq.spaces.wasserstein import WassersteinSpace

SPD_SPACES = {
    "riemann": AffineInvariantSpace,
    "logeuclid": LogEuclideanSpace,
    "tangent": TangentSpace,
    "mahalanobis": MahalanobisSpace,
    "euclid": EuclideanSPDSpace,
    "logdet": LogDetSpace,
    "wasserstein": WassersteinSpace,
}


def find_space(metric):
    """A new space of the metric of a name."""
    if metric not in SPD_SPACES:
        raise ValueError(f"metric must be one of {sorted(SPD_SPACES)}, got {metric!r}.")
    return SPD_SPACES[metric]()
