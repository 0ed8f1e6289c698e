"""Written by tools/make_stubs.py."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from skgeom import AMAGauss, ClassStatistics, CovarianceHessianProjection, GLRSQ, GMLVQ, GaussianClassifier, KernelDiscriminantAnalysis, KernelDiscriminantAnalysisCV, LandmarkKernelPCA, PLRSQ, ProjectionConditions, RSLVQ, Recentring, RegionCovariance, RejectionClassifier, SQFA, SecondMomentSQFA, SeparationGrid, TransferDiscriminantAnalysis

__all__ = ['MinimizeResult', 'RiemannianLBFGS', 'minimize']

class MinimizeResult():
    point: Any
    cost: float
    gradient_norm: float
    n_iter: int
    n_evaluations: int
    converged: bool
    reason: str
    gradient_scale: float
    def __init__(self, point: Any, cost: Any, gradient_norm: Any, n_iter: Any, n_evaluations: Any, converged: Any, reason: Any, gradient_scale: Any = None) -> None: ...

class RiemannianLBFGS():
    def __init__(self, memory: int = 10, *, preconditioned: bool = False, sufficient_decrease: float = 0.0001, max_line_search: int = 25, precision: float = np.float64(2.220446049250313e-16), verbosity: int = 0, log_verbosity: int = 0, **limits: Any) -> None: ...
    def run(self, problem: Any, *, initial_point: Any = None) -> Any: ...

def minimize(value_and_gradient: Callable[..., Any], manifold: Any, start: Any, *, optimizer: Any = 'lbfgs', max_iter: int = 500, tol: float = 1e-06, callback: Callable[..., Any] | None = None, preconditioner: Callable[..., Any] | None = None, precision: float = np.float64(2.220446049250313e-16), gradient_scale: float | None = None) -> Any: ...
