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

__all__ = ['fetch_heart', 'fetch_mnist', 'fetch_pima', 'make_gaussian_classes', 'make_spd_classes', 'make_speed_videos', 'make_syn_spd', 'sqfa_toy_statistics']

def fetch_heart(*, data_home: Any = None, download_if_missing: bool = True, return_X_y: bool = False) -> Any: ...

def fetch_mnist(*, subset: Literal['all', 'train', 'test'] = 'all', data_home: Any = None, download_if_missing: bool = True, return_X_y: bool = False) -> Any: ...

def fetch_pima(*, data_home: Any = None, download_if_missing: bool = True, return_X_y: bool = False) -> Any: ...

def make_gaussian_classes(statistics: ClassStatistics, n_per_class: int = 100, *, shuffle: bool = True, random_state: int | np.random.RandomState | None = None) -> tuple[NDArray[Any], NDArray[Any]]: ...

@overload
def make_spd_classes(n_classes: int = 3, n_per_class: int = 100, n_features: int = 4, *, separation: float = 1.0, dispersion: float = 1.0, shuffle: bool = True, random_state: int | np.random.RandomState | None = None, return_means: Literal[False] = False) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def make_spd_classes(n_classes: int = 3, n_per_class: int = 100, n_features: int = 4, *, separation: float = 1.0, dispersion: float = 1.0, shuffle: bool = True, random_state: int | np.random.RandomState | None = None, return_means: bool) -> Any: ...

def make_speed_videos(images: ArrayLike | list[Any] | None = None, speeds: ArrayLike | None = None, n_per_speed: int = 100, *, gamma: float = 2.2, border: int = 6, shuffle: bool = True, random_state: int | np.random.RandomState | None = None, return_X_y: bool = False) -> Any: ...

def make_syn_spd(name: Literal['SynI', 'SynII'] = 'SynI', n_per_class: int = 250, *, eigenvalue_noise: float = 0.1, eigenvector_noise: float = 0.3, shuffle: bool = True, random_state: int | np.random.RandomState | None = None) -> tuple[NDArray[Any], NDArray[Any]]: ...

def sqfa_toy_statistics(name: Literal['covariances', 'means', 'distances', 'lda']) -> ClassStatistics: ...
