"""
A diagnosis in the plane of a covariance and a Hessian
======================================================

A network tells benign from malignant samples of cells by thirty features.
:class:`~skgeom.CovarianceHessianProjection` shows its decision in a plane: along the
first axis the data vary most, along the second the loss of the network bends most. Along
the way come the diagnostics: how well the planes of other eigenvectors separate the
classes, the spectra, and what the features contribute.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skgeom import CovarianceHessianProjection

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.3, stratify=data.target, random_state=0
)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
projection = CovarianceHessianProjection(random_state=0).fit(X_train, y_train)

# %%
# The plane
# ---------
# A linear support vector machine on two components, with its boundary, on samples that
# it was not trained with. The Hessian alone does about as well as the plane; PCA does
# not know the classes.

methods = {
    "PCA": PCA(2).fit(X_train),
    "two Hessian eigenvectors": CovarianceHessianProjection(
        n_covariance=0, n_hessian=2, random_state=0
    ).fit(X_train, y_train),
    "covariance and Hessian": projection,
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for axis, (name, method) in zip(axes, methods.items(), strict=True):
    svm = LinearSVC(random_state=0).fit(method.transform(X_train), y_train)
    Z = method.transform(X_test)
    score = f1_score(y_test, svm.predict(Z))
    for label, class_name in enumerate(data.target_names):
        axis.scatter(*Z[y_test == label].T, s=9, label=class_name)
    first = np.array([Z[:, 0].min(), Z[:, 0].max()])
    boundary = -(svm.coef_[0, 0] * first + svm.intercept_[0]) / svm.coef_[0, 1]
    axis.plot(first, boundary, color="black", linewidth=1)
    axis.set_ylim(Z[:, 1].min() - 0.5, Z[:, 1].max() + 0.5)
    axis.set_title(f"{name}, F1 {score:.3f}", size=9)
axes[0].legend(fontsize=8)
figure.savefig("covariance_hessian_planes.png", dpi=150)

# %%
# Whether it should work
# ----------------------
# The conditions under which theory promises something: isotropic classes, and first
# eigenvalues that dominate. These classes are far from isotropic, and still the first
# covariance eigenvector is near the difference of the class means.

print(projection.conditions_)

# %%
# Other planes
# ------------
# The ratio of between-class distance to within-class variance for the planes of the
# leading eigenvectors. The first ones are the best.

grid = projection.separation_
panels = {
    "squared distance of means": grid.between,
    "variance within classes": grid.within,
    "ratio": grid.ratio,
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for axis, (name, values) in zip(axes, panels.items(), strict=True):
    image = axis.imshow(values)
    axis.set(xlabel="covariance eigenvector", ylabel="Hessian eigenvector")
    axis.set_title(name, size=9)
    figure.colorbar(image, ax=axis, shrink=0.8)
figure.savefig("covariance_hessian_separation.png", dpi=150)

# %%
# Spectra and contributions
# -------------------------
# Both spectra fall over several orders of magnitude. The features that contribute most
# to the first eigenvectors tell what varies, and what the network looks at.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for name in ("covariance", "hessian"):
    values = getattr(projection, f"{name}_eigenvalues_")
    axes[0].semilogy(values[values > 1e-12] / values[0], "o-", markersize=3, label=name)
axes[0].set(xlabel="number", ylabel="eigenvalue / largest")
axes[0].legend()
for axis, name, contributions in zip(
    axes[1:], ("covariance", "Hessian"), projection.contributions_, strict=True
):
    order = np.argsort(contributions)[-10:]
    axis.barh(data.feature_names[order], contributions[order])
    axis.set_title(f"first {name} eigenvector", size=9)
    axis.tick_params(labelsize=8)
figure.savefig("covariance_hessian_contributions.png", dpi=150)
plt.show()
