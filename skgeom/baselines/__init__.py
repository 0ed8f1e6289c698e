"""Methods to compare with: classifiers of SPD matrices, and linear projections.

The functions return unfitted estimators for symmetric positive definite (SPD) matrices,
X of shape (n_samples, n, n), put together from parts of pyriemann and scikit-learn.
"""

from skgeom._cluster_classifier import ClusterClassifier
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

__all__ = [
    "ClusterClassifier",
    "kernel_kmeans",
    "log_euclidean_kmeans",
    "log_euclidean_svm",
    "mdrm",
    "riemannian_kmeans",
    "tangent_space_svm",
    "tslda",
    "tssm_lda",
]
