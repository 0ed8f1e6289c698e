"""Supervised dimensionality reduction and classification by geometric objectives."""

from importlib import import_module

from skgeom._bayes_error import bayes_error
from skgeom._domain_scorer import make_domain_scorer
from skgeom._filters.ama import AMAGauss
from skgeom._filters.sqfa import SQFA, SecondMomentSQFA
from skgeom._gaussian_classifier import GaussianClassifier
from skgeom._gaussian_regressor import GaussianRegressor
from skgeom._hessian.diagnostics import ProjectionConditions, SeparationGrid
from skgeom._hessian.input_hessian import input_hessian
from skgeom._hessian.projection import CovarianceHessianProjection
from skgeom._kernel._calibration import Calibration
from skgeom._kernel.discriminant import KernelDiscriminantAnalysis
from skgeom._kernel.kernel_pca import LandmarkKernelPCA
from skgeom._patterns import activation_patterns, spatial_filters
from skgeom._prototypes.glrsq import GLRSQ
from skgeom._prototypes.gmlvq import GMLVQ
from skgeom._prototypes.plrsq import PLRSQ
from skgeom._prototypes.rslvq import RSLVQ
from skgeom._region_covariance import RegionCovariance
from skgeom._rejection.accuracy_rejection import accuracy_rejection_curve
from skgeom._rejection.rejection_classifier import RejectionClassifier
from skgeom._selection import Selection
from skgeom._statistics import ClassStatistics
from skgeom._transfer.recentering import Recentering
from skgeom._transfer.transfer_discriminant import TransferDiscriminantAnalysis
from skgeom._version import __version__ as __version__
from skgeom.utils.warn import warn_of_scikit_geometry

__all__ = [
    "GLRSQ",
    "GMLVQ",
    "PLRSQ",
    "RSLVQ",
    "SQFA",
    "AMAGauss",
    "Calibration",
    "ClassStatistics",
    "CovarianceHessianProjection",
    "GaussianClassifier",
    "GaussianRegressor",
    "KernelDiscriminantAnalysis",
    "LandmarkKernelPCA",
    "ProjectionConditions",
    "Recentering",
    "RegionCovariance",
    "RejectionClassifier",
    "SecondMomentSQFA",
    "Selection",
    "SeparationGrid",
    "TransferDiscriminantAnalysis",
    "accuracy_rejection_curve",
    "activation_patterns",
    "bayes_error",
    "input_hessian",
    "make_domain_scorer",
    "spatial_filters",
]

_SUBMODULES = ["baselines", "datasets", "geometry", "objectives", "optim", "plotting"]


def __getattr__(name):
    """Import a public submodule when it is first used."""
    if name in _SUBMODULES:
        return import_module(f"skgeom.{name}")
    raise AttributeError(f"module 'skgeom' has no attribute {name!r}")


def __dir__():
    return [*globals(), *_SUBMODULES]


warn_of_scikit_geometry(__path__[0])
