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

__all__ = ['ClusterClassifier', 'GeneralizedEigenvectors', 'GeometryAwarePCA', 'LOL', 'LocalFisherDiscriminantAnalysis', 'SupervisedPCA', 'mdrm', 'tslda']

class ClusterClassifier(ClassifierMixin, BaseEstimator):
    clusterer_: Any
    clusters_: NDArray[Any]
    cluster_labels_: NDArray[Any]
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, clusterer: Any) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self: ...
    def predict(self, X: ArrayLike) -> NDArray[Any]: ...

class GeneralizedEigenvectors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    components_: NDArray[Any]
    eigenvalues_: NDArray[Any]
    pairs_: NDArray[Any]
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, n_components: int | None = None, *, regularization: float = 0.01) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self: ...
    def transform(self, X: Any) -> NDArray[Any]: ...

class GeometryAwarePCA(TransformerMixin, BaseEstimator):
    components_: NDArray[Any]
    mean_: NDArray[Any]
    objective_: float
    n_iter_: int
    n_features_in_: int
    def __init__(self, n_components: int = 2, *, max_iter: int = 500, tol: float = 1e-06) -> None: ...
    def fit(self, X: ArrayLike, y: None = None) -> Self: ...
    def transform(self, X: ArrayLike) -> NDArray[Any]: ...

class LOL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    components_: NDArray[Any]
    n_mean_directions_: int
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, n_components: int = 2) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self: ...
    def transform(self, X: Any) -> NDArray[Any]: ...

class LocalFisherDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    components_: NDArray[Any]
    eigenvalues_: NDArray[Any]
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, n_components: int = 2, *, n_neighbors: int | None = 7, embedding: Literal['weighted', 'orthonormalized', 'plain'] = 'weighted', regularization: float = 0.0) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self: ...
    def transform(self, X: Any) -> NDArray[Any]: ...

class SupervisedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    components_: NDArray[Any]
    eigenvalues_: NDArray[Any]
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, n_components: int | None = None) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self: ...
    def transform(self, X: Any) -> NDArray[Any]: ...

def mdrm(metric: str = 'riemann') -> Any: ...

def tslda(metric: str = 'riemann', shrinkage: Literal['auto'] | float | None = 'auto') -> Any: ...
