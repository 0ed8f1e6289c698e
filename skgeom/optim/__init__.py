"""Optimization on matrix manifolds."""

from skgeom.optim._lbfgs import RiemannianLBFGS
from skgeom.optim._minimize import MinimizeResult, minimize

__all__ = ["MinimizeResult", "RiemannianLBFGS", "minimize"]
