"""
Comparison of twelve classifiers of SPD matrices
================================================

The data are two sets of 10 x 10 matrices from the PLRSQ paper. The classes of SynI
differ in their eigenvectors and eigenvalues, the classes of SynII in their eigenvalues
only. The classifiers use one mean per class, clusters of all samples, linear decision
boundaries in the tangent space, a kernel, or trained prototypes. Several classifiers
are pipelines of scikit-learn and pyRiemann.
:class:`~skgeom.baselines.ClusterClassifier` classifies samples by the clusters of any
clusterer.
"""

import matplotlib.pyplot as plt
import numpy as np
from pyriemann.clustering import Kmeans
from pyriemann.geometry.tangentspace import upper
from pyriemann.spatialfilters import CSP
from pyriemann.tangentspace import TangentSpace
from sklearn.cluster import KMeans
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from skgeom import GLRSQ, PLRSQ
from skgeom.baselines import ClusterClassifier, GeometryAwarePCA, mdrm, tslda
from skgeom.datasets import make_syn_spd
from skgeom.geometry import logm

# Euclidean distances between these vectors are log-Euclidean distances of matrices.
logarithms = FunctionTransformer(lambda X: upper(logm(X)))
kmeans = KMeans(8, n_init=10, random_state=0)
mixture = GaussianMixture(8, covariance_type="diag", random_state=0)
lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
sub_manifold = make_pipeline(CSP(6, metric="riemann", log=False), TangentSpace(), lda)
models = {
    "class means": mdrm(),
    "k-means": ClusterClassifier(Kmeans(8, n_init=3, random_state=0)),
    "k-means, log-Euclidean": ClusterClassifier(make_pipeline(logarithms, kmeans)),
    "k-means of a kernel": ClusterClassifier(
        make_pipeline(logarithms, KernelPCA(kernel="rbf"), kmeans)
    ),
    "tangent space, mixture": ClusterClassifier(make_pipeline(TangentSpace(), mixture)),
    "sub-manifold, LDA": OneVsRestClassifier(sub_manifold),
    "tangent space, LDA": tslda(),
    "tangent space, SVM": make_pipeline(TangentSpace(), SVC(kernel="linear")),
    "log-Euclidean kernel, SVM": make_pipeline(logarithms, SVC()),
    "PCA to 4 x 4, class means": make_pipeline(GeometryAwarePCA(4), mdrm()),
    "GLRSQ": GLRSQ(random_state=0),
    "PLRSQ": PLRSQ(random_state=0),
}

# %%
# Compute the accuracy in 3-fold cross-validation, with 40 matrices per class. The first
# figure compares one classifier of each kind on SynII.

results = {}
for name in ["SynI", "SynII"]:
    X, y = make_syn_spd(name, 40, random_state=0)
    results[name] = [cross_val_score(m, X, y, cv=3).mean() for m in models.values()]

shown = {
    "k-means": "clusters",
    "PLRSQ": "prototypes",
    "class means": "class means",
    "tangent space, LDA": "tangent space",
    "log-Euclidean kernel, SVM": "kernel",
}
figure, axis = plt.subplots(figsize=(4.6, 3), layout="constrained")
for row, name in enumerate(shown):
    value = 100 * results["SynII"][list(models).index(name)]
    axis.plot(value, row, "o", ms=12)
axis.set(xlabel="accuracy on SynII (%)", ylim=(-0.5, 4.5))
axis.set_yticks(range(5), list(shown.values()), size=13)
axis.grid(alpha=0.3)
# sphinx_gallery_alt = "Accuracy on SynII of five kinds of classifiers"
plt.show()

# %%
# The second figure compares all classifiers. On SynI, class means, prototypes, linear
# and kernel classifiers are similarly accurate (90.7 to 95.6 %). Classifiers of
# clusters and of 4 x 4 matrices are less accurate. On SynII, the support vector machine
# with a log-Euclidean kernel is the most accurate. With about 27 training matrices per
# class, trained prototypes (GLRSQ, PLRSQ) are less accurate than class means. With 250
# training matrices per class, PLRSQ with a decreasing variance sigma^2 is slightly
# more accurate than class means (:ref:`results_plrsq`).

figure, axis = plt.subplots(figsize=(7.5, 5), layout="constrained")
place = np.arange(len(models))
for offset, (name, scores) in zip([-0.2, 0.2], results.items(), strict=True):
    axis.barh(place + offset, 100 * np.array(scores), 0.4, label=name)
axis.set_yticks(place, list(models))
axis.invert_yaxis()
axis.set(xlabel="accuracy (%)", xlim=(20, 100))
axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
# sphinx_gallery_alt = "Bars of accuracy for twelve classifiers and two data sets"
plt.show()

for k, name in enumerate(models):
    print(
        f"{name:28s} SynI {results['SynI'][k]:6.1%}, SynII {results['SynII'][k]:6.1%}"
    )
