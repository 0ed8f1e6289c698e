"""
2-D projection of a classifier by its covariance and Hessian
============================================================

A network classifies samples of cells as benign or malignant by thirty features.
:class:`~skgeom.CovarianceHessianProjection` computes a 2-D projection of the samples
(Hartoyo et al., 2025). The first axis is the direction of largest variance. The second
axis is the direction in which the loss of the network has the largest curvature, the
first eigenvector of its Hessian.
"""

# sphinx_gallery_thumbnail_number = 102

import autograd.numpy as anp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from skgeom import (
    CovarianceHessianProjection,
    KernelDiscriminantAnalysis,
    RejectionClassifier,
    input_hessian,
)
from skgeom.plotting import DecisionRegionsDisplay

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.3, stratify=data.target, random_state=0
)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
# A network with the layers of Hartoyo et al. (2025).
network = make_pipeline(
    StandardScaler(),
    MLPClassifier((32, 16, 8), alpha=3, max_iter=2000, random_state=0),
)
projection = CovarianceHessianProjection(network).fit(X_train, y_train)

# %%
# 2-D projections
# ---------------
# Each plot shows the test samples along two components, and the F1 score of a linear
# support vector machine of these components on the test samples. Two Hessian
# eigenvectors, and covariance with Hessian, have similar scores. PCA, which does not
# use the labels, has a lower score.

methods = {
    "PCA": PCA(2).fit(X_train),
    "two Hessian eigenvectors": CovarianceHessianProjection(
        network, n_covariance=0, n_hessian=2
    ).fit(X_train, y_train),
    "covariance and Hessian": projection,
}
figure, axes = plt.subplots(1, 3, figsize=(10, 4), layout="constrained")
for axis, (name, method) in zip(axes, methods.items(), strict=True):
    svm = LinearSVC(random_state=0).fit(method.transform(X_train), y_train)
    Z = method.transform(X_test)
    for label, target in enumerate(data.target_names):
        axis.scatter(*Z[y_test == label].T, s=9, label=target)
    axis.set_title(f"{name}, F1 {f1_score(y_test, svm.predict(Z)):.3f}", size=9)
    axis.set(xlabel="component 0", ylabel="component 1")
    axis.legend()
# sphinx_gallery_alt = "Three 2-D projections of cells"
plt.show()

# %%
# Decision regions of the network
# -------------------------------
# :class:`~skgeom.plotting.DecisionRegionsDisplay` shows the predictions of the network
# itself. Each point of the plane represents the cells that are expected for its two
# components. A :class:`~skgeom.RejectionClassifier` rejects the cells whose probability
# is below 90 % (crosses); they are close to the decision boundary (white).

reject = RejectionClassifier(FrozenEstimator(projection.estimator_), threshold=0.9)
reject.fit(X_train, y_train)
display = DecisionRegionsDisplay.from_estimator(
    reject, X_test, y_test, projection=projection
)
# sphinx_gallery_alt = "Decision regions of a network, with rejected cells as crosses"
plt.show()

# %%
# Assumptions of the theory
# -------------------------
# The theory of Hartoyo et al. assumes isotropic classes, and first eigenvalues that are
# much larger than the second eigenvalues. The attribute ``conditions_``, a
# :class:`~skgeom.ProjectionConditions`, measures both assumptions. The classes of these
# data are far from isotropic. Nevertheless, the first covariance eigenvector is close
# to the direction between the class means.

print(projection.conditions_)

# %%
# Class separation along further eigenvectors
# -------------------------------------------
# The heat maps show the squared distance between the class means along covariance
# eigenvectors, the within-class variance along Hessian eigenvectors, and the ratio of
# both, as in figure 1 of Hartoyo et al. (2025). The distance is by far the largest
# along the first covariance eigenvector. Theorem 2 of this paper predicts the smallest
# variance for the first Hessian eigenvector. These data violate its assumptions, and
# the best ratio is in a later row.
# :meth:`~skgeom.CovarianceHessianProjection.separation` returns a
# :class:`~skgeom.SeparationGrid` with the values.

grid = projection.separation(X_train, y_train)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for axis, values, title in zip(
    axes,
    (grid.between, grid.within, grid.ratio),
    ("squared distance of means", "variance within classes", "ratio"),
    strict=True,
):
    figure.colorbar(axis.imshow(values, aspect="auto"), ax=axis)
    axis.set_title(title)
    axis.set(xlabel="covariance eigenvector", ylabel="Hessian eigenvector")
# sphinx_gallery_alt = "Heat maps of mean distance, variance and their ratio"
plt.show()
print(f"best ratio: {grid.ratio.max():.1f}")

# %%
# Spectra and contributions
# -------------------------
# Both spectra decrease over several orders of magnitude. Crosses mark the magnitudes of
# negative eigenvalues. The second figure shows ``contributions_``, the magnitudes of
# the entries of the components. Features with a large entry in the first component vary
# together; features with a large entry in the second component contribute most to the
# direction of largest curvature of the loss.

spectra = projection.covariance_eigenvalues_, projection.hessian_eigenvalues_
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for axis, values, name in zip(axes, spectra, ("covariance", "Hessian"), strict=True):
    numbers = np.arange(len(values))
    axis.semilogy(numbers[values > 0], values[values > 0], "o")
    axis.semilogy(numbers[values < 0], -values[values < 0], "x")
    axis.set(title=name, xlabel="eigenvector", ylabel="eigenvalue")
# sphinx_gallery_alt = "Eigenvalues of covariance and Hessian on a log scale"
plt.show()

# %%

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for axis, row, name in zip(
    axes, projection.contributions_, ("covariance", "Hessian"), strict=True
):
    largest = np.argsort(row)[-10:]
    axis.barh(data.feature_names[largest], row[largest])
    axis.set(title=f"{name} eigenvector", xlabel="contribution")
# sphinx_gallery_alt = "Largest contributions of features to both eigenvectors"
plt.show()

# %%
# Classifiers from other packages
# -------------------------------
# Pass a PyTorch module directly. Pass a classifier from a different package as a
# function that returns logits and is written with ``autograd.numpy``. The function
# below computes the logits of the network above from its weights. The resulting
# components equal the components above, up to rounding.

network_scaler, network = projection.estimator_
layers = list(zip(network.coefs_, network.intercepts_, strict=True))


def logits(X):
    """Logits of both classes: zero and the output of the network."""
    values = (X - network_scaler.mean_) / network_scaler.scale_
    for weights, bias in layers[:-1]:
        values = anp.maximum(anp.dot(values, weights) + bias, 0)
    values = anp.dot(values, layers[-1][0]) + layers[-1][1]
    return anp.concatenate([0 * values, values], axis=1)


again = CovarianceHessianProjection(logits).fit(X_train, y_train)
print(
    f"largest difference: {abs(again.components_ - projection.components_).max():.1e}"
)

# %%
# The Hessian matrix
# ------------------
# :func:`~skgeom.input_hessian` returns the Hessian of the loss with respect to the
# features. The second axis of the projection is the first eigenvector of this matrix.
# The three largest eigenvalues account for nearly all of the trace.

hessian = input_hessian(logits, X_train, y_train)
values, vectors = np.linalg.eigh(hessian)
print(f"cosine with the axis: {abs(vectors[:, -1] @ projection.components_[1]):.3f}")
print(f"three largest eigenvalues / trace: {values[-3:].sum() / values.sum():.3f}")

# %%
# Hessians of kernel classifiers
# ------------------------------
# The Hessians of :class:`~skgeom.KernelDiscriminantAnalysis` and of a calibrated
# ``SVC`` are computed by the same formula for kernel expansions. With
# ``derivatives="differences"``, the Hessians are computed from central differences of
# the predictions. The printed relative differences of both results are at most 1e-5.

kernel_models = {
    "KernelDiscriminantAnalysis": KernelDiscriminantAnalysis(gamma=0.02),
    "SVC": CalibratedClassifierCV(SVC(gamma=0.02), ensemble=False),
}
for name, model in kernel_models.items():
    model.fit(X_train, y_train)
    hessian = input_hessian(model, X_train, y_train)
    differences = input_hessian(model, X_train, y_train, derivatives="differences")
    error = np.linalg.norm(hessian - differences) / np.linalg.norm(hessian)
    share = np.linalg.eigvalsh(hessian)[-3:].sum() / np.trace(hessian)
    print(f"{name}: three largest / trace {share:.3f}, relative difference {error:.0e}")
