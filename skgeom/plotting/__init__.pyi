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

from skgeom import ClassStatistics
from skgeom import Selection
from skgeom.objectives import StudentT

__all__ = ['AccuracyRejectionDisplay', 'ClassEllipsesDisplay', 'DecisionRegionsDisplay', 'DistanceMatrixDisplay', 'FilterDisplay', 'SelectionDisplay']

class AccuracyRejectionDisplay():
    line_: Any
    ax_: Any
    figure_: Any
    def __init__(self, *, accuracies: NDArray[Any], rejection_rates: NDArray[Any]) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None, ax: Any = None, **kwargs: Any) -> AccuracyRejectionDisplay: ...
    @classmethod
    def from_predictions(cls, y_true: ArrayLike, y_score: ArrayLike, *, labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None, ax: Any = None, **kwargs: Any) -> AccuracyRejectionDisplay: ...
    def plot(self, ax: Any = None, **kwargs: Any) -> AccuracyRejectionDisplay: ...

class ClassEllipsesDisplay():
    ellipses_: Any
    means_: Any
    arrows_: Any
    ax_: Any
    figure_: Any
    def __init__(self, classes: ArrayLike, means: ArrayLike, covariances: ArrayLike, axis_names: Any = ...) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike | None = None, y: ArrayLike | None = None, *, dims: Any = ..., ax: Any = None, **kwargs: Any) -> ClassEllipsesDisplay: ...
    @classmethod
    def from_statistics(cls, statistics: ClassStatistics, *, dims: Any = ..., feature_names: ArrayLike | None = None, ax: Any = None, **kwargs: Any) -> ClassEllipsesDisplay: ...
    def plot(self, ax: Any = None, *, n_std: float = 1.0, cmap: Any = None, legend: bool = True, label: str = 'class') -> ClassEllipsesDisplay: ...
    def plot_filters(self, filters: ArrayLike, *, color: Any = 'black', label: str | None = None, scale: float = 1.0) -> ClassEllipsesDisplay: ...

class DecisionRegionsDisplay():
    regions_: Any
    points_: Any
    ax_: Any
    figure_: Any
    def __init__(self, *, grid: Any, regions: NDArray[Any], components: NDArray[Any], predictions: NDArray[Any], classes: NDArray[Any], y: NDArray[Any] | None = None, axis_names: Any = ...) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, *, projection: Any = None, dims: Any = ..., resolution: int = 200, ax: Any = None, **kwargs: Any) -> DecisionRegionsDisplay: ...
    def plot(self, ax: Any = None, *, legend: bool = True, **kwargs: Any) -> DecisionRegionsDisplay: ...

class DistanceMatrixDisplay():
    im_: Any
    text_: NDArray[Any] | None
    ax_: Any
    figure_: Any
    def __init__(self, matrix: ArrayLike, classes: ArrayLike | None = None, label: str = 'distance') -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, *, regularized: bool = True, ax: Any = None, **kwargs: Any) -> DistanceMatrixDisplay: ...
    @classmethod
    def from_statistics(cls, statistics: ClassStatistics, distance: str | StudentT | Callable[..., Any] = 'fisher-rao', *, regularization: float = 0.0, ax: Any = None, **kwargs: Any) -> DistanceMatrixDisplay: ...
    def plot(self, ax: Any = None, *, values_format: str = '.2f', **kwargs: Any) -> DistanceMatrixDisplay: ...

class FilterDisplay():
    images_: Any
    lines_: Any
    axes_: NDArray[Any]
    figure_: Any
    def __init__(self, filters: ArrayLike, titles: ArrayLike | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, shape: Any = None, *, titles: Literal['auto'] | None | _Array = 'auto', axes: ArrayLike | None = None, **kwargs: Any) -> FilterDisplay: ...
    def plot(self, *, axes: ArrayLike | None = None, n_columns: int | None = None, limits: Literal['each', 'shared'] = 'each', xlabel: str | None = None, ylabel: str | None = None, extent: Any = None, x: ArrayLike | None = None, **kwargs: Any) -> FilterDisplay: ...

class SelectionDisplay():
    errorbar_: Any
    ax_: Any
    figure_: Any
    def __init__(self, *, selection: Selection, name: str | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, name: str | None = None, *, ax: Any = None, **kwargs: Any) -> SelectionDisplay: ...
    def plot(self, ax: Any = None, **kwargs: Any) -> SelectionDisplay: ...
