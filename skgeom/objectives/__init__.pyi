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

__all__ = ['StudentT']

class StudentT():
    df: float
    def __init__(self, df: float) -> None: ...
