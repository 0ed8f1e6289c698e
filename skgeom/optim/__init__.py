"""Optimisation on matrix manifolds; only this folder imports pymanopt."""

from skgeom.optim._coarse_to_fine import (
    maximize_coarse_to_fine as maximize_coarse_to_fine,
)
from skgeom.optim._coarse_to_fine import maximize_on_samples as maximize_on_samples
from skgeom.optim._coarse_to_fine import (
    maximize_over_many_samples as maximize_over_many_samples,
)
from skgeom.optim._coarse_to_fine import sizes_of_parts as sizes_of_parts
from skgeom.optim._coarse_to_fine import within as within
from skgeom.optim._lbfgs import RiemannianLBFGS
from skgeom.optim._manifolds import CONSTRAINTS as CONSTRAINTS
from skgeom.optim._manifolds import AffineInvariant as AffineInvariant
from skgeom.optim._manifolds import Euclidean as Euclidean
from skgeom.optim._manifolds import Product as Product
from skgeom.optim._manifolds import Sphere as Sphere
from skgeom.optim._manifolds import Stiefel as Stiefel
from skgeom.optim._minimize import OPTIMIZERS as OPTIMIZERS
from skgeom.optim._minimize import MinimizeResult, minimize
from skgeom.optim._minimize import StartError as StartError

__all__ = ["MinimizeResult", "RiemannianLBFGS", "minimize"]
