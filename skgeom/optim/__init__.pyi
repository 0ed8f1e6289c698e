"""Written by tools/make_stubs.py."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClassifierMixin
from sklearn.base import OneToOneFeatureMixin, RegressorMixin, TransformerMixin

class _SupportsArray(Protocol):
    def __array__(self) -> NDArray[Any]: ...

class _SupportsRun(Protocol):
    def run(self, problem: Any, *, initial_point: Any = None) -> Any: ...

# ArrayLike includes str: a parameter that also accepts names needs a type without it.
_Array = _SupportsArray | list[Any] | tuple[Any, ...]

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
    def __init__(self, memory: int = 10, *, preconditioned: bool = False, sufficient_decrease: float = 0.0001, max_line_search: int = 25, max_time: float = 1000, max_iterations: float = 1000, min_gradient_norm: float = 1e-06, min_step_size: float = 1e-10, max_cost_evaluations: float = 5000) -> None: ...
    def run(self, problem: Any, *, initial_point: Any = None) -> Any: ...

def minimize(value_and_gradient: Callable[..., Any], manifold: Any, start: Any, *, optimizer: str | _SupportsRun = 'lbfgs', max_iter: int = 500, tol: float = 1e-06, callback: Callable[..., Any] | None = None, preconditioner: Callable[..., Any] | None = None) -> MinimizeResult: ...
