"""
Twelve classifiers of matrices
==============================

Two sets of 10 x 10 matrices from the paper of PLRSQ. The classes of SynI differ in
their eigenvectors and eigenvalues, those of SynII in their eigenvalues alone. Which
classifier is right depends on how the classes lie: one mean a class, several clusters,
linear borders in the tangent space, or borders of a kernel.
:class:`~skgeom.baselines.ClusterClassifier` makes a classifier of any clusterer.
"""

import matplotlib.pyplot as plt
import numpy as np
from pyriemann.tangentspace import TangentSpace
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from skgeom import GLRSQ, PLRSQ
from skgeom.baselines import (
    ClusterClassifier,
    GeometryAwarePCA,
    kernel_kmeans,
    log_euclidean_kmeans,
    log_euclidean_svm,
    mdrm,
    riemannian_kmeans,
    tangent_space_svm,
    tslda,
    tssm_lda,
)
from skgeom.datasets import make_syn_spd

mixture = GaussianMixture(8, covariance_type="diag", random_state=0)
models = {
    "class means": mdrm(),
    "k-means": riemannian_kmeans(8, n_init=3, random_state=0),
    "k-means, log-Euclidean": log_euclidean_kmeans(8, random_state=0),
    "k-means of a kernel": kernel_kmeans(8, random_state=0),
    "tangent space, mixture": ClusterClassifier(make_pipeline(TangentSpace(), mixture)),
    "sub-manifold, LDA": tssm_lda(6),
    "tangent space, LDA": tslda(),
    "tangent space, SVM": tangent_space_svm(),
    "log-Euclidean kernel, SVM": log_euclidean_svm(),
    "PCA to 4 x 4, class means": make_pipeline(GeometryAwarePCA(4), mdrm()),
    "GLRSQ": GLRSQ(random_state=0),
    "PLRSQ": PLRSQ(random_state=0),
}

# %%
# Accuracy in three folds, with 40 matrices a class.

figure, axis = plt.subplots(figsize=(7.5, 5), layout="constrained")
place = np.arange(len(models))
for offset, name in [(-0.2, "SynI"), (0.2, "SynII")]:
    X, y = make_syn_spd(name, 40, random_state=0)
    scores = [cross_val_score(model, X, y, cv=3).mean() for model in models.values()]
    axis.barh(place + offset, scores, 0.4, label=name)
axis.set_yticks(place, list(models))
axis.invert_yaxis()
axis.set(xlabel="accuracy", xlim=(0.2, 1))
axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
