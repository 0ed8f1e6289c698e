"""Baselines: linear projections, and classifiers of SPD matrices.

The linear projections are methods from the literature that are not part of
scikit-learn. :func:`mdrm` and :func:`tslda` return pipelines that validate their input.
"""

from skgeom.baselines._cluster_classifier import ClusterClassifier
from skgeom.baselines._generalized_eigenvectors import GeneralizedEigenvectors
from skgeom.baselines._geometry_aware_pca import GeometryAwarePCA
from skgeom.baselines._local_fisher import LocalFisherDiscriminantAnalysis
from skgeom.baselines._mean_differences import LOL, SupervisedPCA
from skgeom.baselines._spd_pipelines import mdrm, tslda

__all__ = [
    "LOL",
    "ClusterClassifier",
    "GeneralizedEigenvectors",
    "GeometryAwarePCA",
    "LocalFisherDiscriminantAnalysis",
    "SupervisedPCA",
    "mdrm",
    "tslda",
]
