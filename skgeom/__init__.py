"""Supervised dimensionality reduction and classification by geometric objectives."""

from skgeom._accuracy_rejection import accuracy_rejection_curve
from skgeom._ama import AMAGauss
from skgeom._covariance_hessian import CovarianceHessianProjection
from skgeom._generalized_lvq import GLRSQ, GMLVQ
from skgeom._input_hessians import input_hessian
from skgeom._kernel_discriminant import KernelDiscriminantAnalysis
from skgeom._kernel_discriminant_cv import KernelDiscriminantAnalysisCV
from skgeom._lvq import PLRSQ, RSLVQ
from skgeom._projection_diagnostics import ProjectionConditions, SeparationGrid
from skgeom._region_covariance import RegionCovariance
from skgeom._rejection import RejectionClassifier
from skgeom._sqfa import SQFA, SecondMomentSQFA
from skgeom._sqfa_cv import SQFACV
from skgeom._statistics import ClassStatistics

__all__ = [
    "GLRSQ",
    "GMLVQ",
    "PLRSQ",
    "RSLVQ",
    "SQFA",
    "SQFACV",
    "AMAGauss",
    "ClassStatistics",
    "CovarianceHessianProjection",
    "KernelDiscriminantAnalysis",
    "KernelDiscriminantAnalysisCV",
    "ProjectionConditions",
    "RegionCovariance",
    "RejectionClassifier",
    "SecondMomentSQFA",
    "SeparationGrid",
    "accuracy_rejection_curve",
    "input_hessian",
]
__version__ = "0.1.0.dev0"
