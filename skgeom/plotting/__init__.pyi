"""Written by tools/make_stubs.py."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from skgeom import AMAGauss, ClassStatistics, CovarianceHessianProjection, GLRSQ, GMLVQ, GaussianClassifier, KernelDiscriminantAnalysis, LandmarkKernelPCA, PLRSQ, ProjectionConditions, RSLVQ, Recentering, RegionCovariance, RejectionClassifier, SQFA, SecondMomentSQFA, SeparationGrid, TransferDiscriminantAnalysis

__all__ = ['AccuracyRejectionDisplay', 'ClassEllipsesDisplay', 'DistanceMatrixDisplay', 'FilterDisplay']

class AccuracyRejectionDisplay():
    line_: Any
    ax_: Any
    figure_: Any
    def __init__(self, *, accuracies: NDArray[Any], rejection_rates: NDArray[Any], thresholds: NDArray[Any] | None = None, name: str | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None, name: str | None = None, ax: Any = None, **kwargs: Any) -> Any: ...
    @classmethod
    def from_predictions(cls, y_true: ArrayLike, y_score: ArrayLike, *, labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None, name: str | None = None, ax: Any = None, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Any: ...

class ClassEllipsesDisplay():
    ellipses_: Any
    means_: Any
    arrows_: Any
    ax_: Any
    figure_: Any
    def __init__(self, classes: ArrayLike, means: ArrayLike, covariances: ArrayLike, axis_names: Any = ...) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike | None = None, y: ArrayLike | None = None, *, dims: Any = ..., ax: Any = None, **kwargs: Any) -> Any: ...
    @classmethod
    def from_statistics(cls, statistics: ClassStatistics, components: ArrayLike | None = None, dims: Any = ..., *, feature_names: ArrayLike | None = None, ax: Any = None, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, n_std: float = 1.0, cmap: Any = None, legend: bool = True, label: str = 'class') -> Any: ...
    def plot_filters(self, filters: ArrayLike, *, color: Any = 'black', label: str | None = None, scale: float = 1.0, start: ArrayLike | None = None) -> Any: ...

class DistanceMatrixDisplay():
    im_: Any
    text_: NDArray[Any] | None
    ax_: Any
    figure_: Any
    def __init__(self, matrix: ArrayLike, classes: ArrayLike | None = None, label: str = 'distance') -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, *, regularized: bool = True, ax: Any = None, **kwargs: Any) -> Any: ...
    @classmethod
    def from_statistics(cls, statistics: ClassStatistics, distance: Any = 'fisher-rao', *, regularization: float = 0.0, ax: Any = None, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, values_format: str = '.2f', cmap: Any = 'viridis', colorbar: bool = True, im_kw: dict[Any, Any] | None = None) -> Any: ...

class FilterDisplay():
    images_: Any
    axes_: NDArray[Any]
    figure_: Any
    def __init__(self, filters: ArrayLike, titles: ArrayLike | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, shape: Any = None, *, titles: Literal['auto'] | None | ArrayLike | str = 'auto', axes: ArrayLike | None = None, **kwargs: Any) -> Any: ...
    def plot(self, *, axes: ArrayLike | None = None, n_columns: int | None = None, limits: Literal['each', 'shared'] | float | str = 'each', cmap: Any = 'RdBu_r', colorbar: bool = False, xlabel: str | None = None, ylabel: str | None = None, extent: Any = None, **kwargs: Any) -> Any: ...
