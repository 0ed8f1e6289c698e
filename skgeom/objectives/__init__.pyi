"""Written by tools/make_stubs.py."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from skgeom import AMAGauss, ClassStatistics, CovarianceHessianProjection, GLRSQ, GMLVQ, GaussianClassifier, KernelDiscriminantAnalysis, KernelDiscriminantAnalysisCV, LandmarkKernelPCA, PLRSQ, ProjectionConditions, RSLVQ, Recentring, RegionCovariance, RejectionClassifier, SQFA, SecondMomentSQFA, SeparationGrid, TransferDiscriminantAnalysis

__all__ = ['StudentT']

class StudentT():
    df: float
    def __init__(self, df: float) -> None: ...
