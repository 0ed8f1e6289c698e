"""Written by tools/make_stubs.py."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from skgeom import AMAGauss, ClassStatistics, CovarianceHessianProjection, GLRSQ, GMLVQ, GaussianClassifier, KernelDiscriminantAnalysis, LandmarkKernelPCA, PLRSQ, ProjectionConditions, RSLVQ, Recentering, RegionCovariance, RejectionClassifier, SQFA, SecondMomentSQFA, SeparationGrid, TransferDiscriminantAnalysis

__all__ = ['MinimizeResult', 'RiemannianLBFGS', 'minimize']

class MinimizeResult():
    point: Any
    cost: float
    gradient_norm: float
    n_iter: int
    n_evaluations: int
    converged: bool
    reason: str
    def __init__(self, point: Any, cost: Any, gradient_norm: Any, n_iter: Any, n_evaluations: Any, converged: Any, reason: Any) -> None: ...

class RiemannianLBFGS():
    def __init__(self, memory: int = 10, *, preconditioned: bool = False, sufficient_decrease: float = 0.0001, max_line_search: int = 25, precision: float = np.float64(2.220446049250313e-16), **limits: Any) -> None: ...
    def run(self, problem: Any, *, initial_point: Any = None) -> Any: ...

def minimize(value_and_gradient: Callable[..., Any], manifold: Any, start: Any, *, optimizer: Any = 'lbfgs', max_iter: int = 500, tol: float = 1e-06, callback: Callable[..., Any] | None = None, preconditioner: Callable[..., Any] | None = None, precision: float = np.float64(2.220446049250313e-16)) -> Any: ...
