"""Methods to compare with: linear projections, and classifiers of SPD matrices.

The functions return unfitted estimators for symmetric positive definite (SPD) matrices,
X of shape (n_samples, n, n), built from parts of pyriemann and scikit-learn.
"""

from skgeom.baselines._cluster_classifier import ClusterClassifier
from skgeom.baselines._generalized_eigenvectors import GeneralizedEigenvectors
from skgeom.baselines._geometry_aware_pca import GeometryAwarePCA
from skgeom.baselines._local_fisher import LocalFisherDiscriminantAnalysis
from skgeom.baselines._mean_differences import LOL, SupervisedPCA
from skgeom.baselines._spd import (
    kernel_kmeans,
    log_euclidean_kmeans,
    log_euclidean_svm,
    mdrm,
    riemannian_kmeans,
    tangent_space_svm,
    tslda,
    tssm_lda,
)
from skgeom.baselines._wasserstein import WassersteinDiscriminantAnalysis

__all__ = [
    "LOL",
    "ClusterClassifier",
    "GeneralizedEigenvectors",
    "GeometryAwarePCA",
    "LocalFisherDiscriminantAnalysis",
    "SupervisedPCA",
    "WassersteinDiscriminantAnalysis",
    "kernel_kmeans",
    "log_euclidean_kmeans",
    "log_euclidean_svm",
    "mdrm",
    "riemannian_kmeans",
    "tangent_space_svm",
    "tslda",
    "tssm_lda",
]
