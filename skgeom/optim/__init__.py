"""Optimization on matrix manifolds."""

from skgeom.optim._coarse_to_fine import growing_rows as growing_rows
from skgeom.optim._coarse_to_fine import (
    maximize_coarse_to_fine as maximize_coarse_to_fine,
)
from skgeom.optim._coarse_to_fine import prefixed as prefixed
from skgeom.optim._lbfgs import RiemannianLBFGS
from skgeom.optim._manifolds import CONSTRAINTS as CONSTRAINTS
from skgeom.optim._manifolds import AffineInvariant as AffineInvariant
from skgeom.optim._manifolds import Euclidean as Euclidean
from skgeom.optim._manifolds import Product as Product
from skgeom.optim._manifolds import Sphere as Sphere
from skgeom.optim._manifolds import Stiefel as Stiefel
from skgeom.optim._manifolds import filter_manifold as filter_manifold
from skgeom.optim._minimize import OPTIMIZERS as OPTIMIZERS
from skgeom.optim._minimize import MinimizeResult, minimize
from skgeom.optim._minimize import StartError as StartError

__all__ = ["MinimizeResult", "RiemannianLBFGS", "minimize"]
