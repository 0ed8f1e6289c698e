"""
Nine classifiers of matrices
============================

Two sets of 10 x 10 matrices from the paper of PLRSQ. The classes of SynI differ in
their eigenvectors and eigenvalues, those of SynII in their eigenvalues alone. Which
classifier is right depends on how the classes lie: one mean a class, several clusters,
linear borders in the tangent space, or borders of a kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from skgeom import GLRSQ, PLRSQ
from skgeom.baselines import (
    GeometryAwarePCA,
    kernel_kmeans,
    log_euclidean_svm,
    mdrm,
    riemannian_kmeans,
    tangent_space_svm,
    tslda,
)
from skgeom.datasets import make_syn_spd

models = {
    "class means": mdrm(),
    "k-means, nearest cluster": riemannian_kmeans(8, random_state=0),
    "kernel k-means": kernel_kmeans(8, random_state=0),
    "tangent space, LDA": tslda(),
    "tangent space, SVM": tangent_space_svm(),
    "log-Euclidean kernel, SVM": log_euclidean_svm(),
    "PCA to 4 x 4, class means": make_pipeline(GeometryAwarePCA(4), mdrm()),
    "GLRSQ": GLRSQ(random_state=0),
    "PLRSQ": PLRSQ(random_state=0),
}

# %%
# Accuracy in three folds, with 40 matrices a class.

figure, axis = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
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
