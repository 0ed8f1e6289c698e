"""
Kernel discriminant analysis: nonlinear class boundaries
========================================================

The class boundaries of linear discriminant analysis (LDA) are linear, so its accuracy
is low if the optimal boundaries are strongly nonlinear. Kernel discriminant analysis is
LDA in the feature space of a kernel, so its discriminants are nonlinear functions of
the data. This example plots the discriminants as filled contours. It compares the
accuracy with LDA, with kernel principal component analysis (PCA) followed by LDA, and
with a support vector machine.
"""

# sphinx_gallery_thumbnail_number = 101

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_circles, make_swiss_roll
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skgeom import KernelDiscriminantAnalysis


def contours(axis, function, points, labels):
    """Filled contours of a function of the plane, and labeled points."""
    low, high = points.min(axis=0), points.max(axis=0)
    low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)
    x, y = np.meshgrid(*np.linspace(low, high, 100).T)
    values = function(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    axis.contourf(x, y, values, levels=15, cmap="PuOr")
    axis.scatter(*points.T, c=labels, cmap="tab10", vmax=9, s=8)
    axis.set(xticks=[], yticks=[])


# %%
# Concentric rings
# ----------------
# For two classes, there is one discriminant. With ``gamma=1``, the width of the kernel,
# :math:`1 / \sqrt{2 \gamma} \approx 0.7`, is similar to the distance between the rings,
# 0.5. The sign of the discriminant is chosen so that its mean over the inner ring, the
# second class, is positive. The accuracy of LDA is at chance level.

X, y = make_circles(400, factor=0.5, noise=0.08, random_state=0)
lda = LinearDiscriminantAnalysis().fit(X, y)
kda = KernelDiscriminantAnalysis(gamma=1).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axis, model in zip(axes, (lda, kda), strict=True):
    contours(axis, lambda points, model=model: model.transform(points)[:, 0], X, y)
    axis.set_title(f"{type(model).__name__}, {model.score(X, y):.0%} accuracy", size=9)
# sphinx_gallery_alt = "Rings: LDA splits them by a line, KDA by a circle"
plt.show()

# %%
# Swiss roll with four classes
# ----------------------------
# Four classes are sections of a rolled-up band, shown from the side. There are at most
# three discriminants, one less than the number of classes. They are sorted by the ratio
# of between-class to within-class variance.

X, position = make_swiss_roll(800, noise=0.3, random_state=0)
X = StandardScaler().fit_transform(X[:, [0, 2]])
y = np.digitize(position, np.quantile(position, [0.25, 0.5, 0.75]))
kda = KernelDiscriminantAnalysis(gamma=3).fit(X, y)

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for k, axis in enumerate(axes):
    contours(axis, lambda points, k=k: kda.transform(points)[:, k], X, y)
    axis.set_title(f"discriminant {k + 1}, ratio {kda.eigenvalues_[k]:.1f}", size=9)
# sphinx_gallery_alt = "Three discriminants of a Swiss roll with four classes"
plt.show()

# %%
# Breast cancer data
# ------------------
# Compare the cross-validated accuracy of the methods on the Wisconsin breast cancer
# data, thirty features of cell nuclei. A grid search selects the kernel coefficient
# ``gamma`` and a second parameter: the number of components of kernel PCA, C of the
# support vector machine, or the regularization of kernel discriminants. The last model
# in the table has no grid search: ``fit`` selects gamma and the regularization by
# leave-one-out predictions, and calibrates the probabilities. Its fit takes less time
# than the grid search over the parameters of the same estimator. The four nonlinear
# models are equally accurate within their standard errors, and more accurate than LDA.

X, y = load_breast_cancer(return_X_y=True)
gammas = [0.003, 0.01, 0.03]
models = {
    "LDA": LinearDiscriminantAnalysis(),
    "kernel PCA + LDA": GridSearchCV(
        make_pipeline(KernelPCA(kernel="rbf"), LinearDiscriminantAnalysis()),
        {"kernelpca__gamma": gammas, "kernelpca__n_components": [10, 30, 100]},
    ),
    "SVC": GridSearchCV(SVC(), {"gamma": gammas, "C": [1, 10, 100]}),
    "kernel discriminants": GridSearchCV(
        KernelDiscriminantAnalysis(priors="uniform"),
        {"gamma": gammas, "regularization": [1e-5, 1e-4, 1e-3]},
    ),
    "kernel discriminants, leave-one-out": KernelDiscriminantAnalysis(priors="uniform"),
}
for name, model in models.items():
    found = cross_validate(make_pipeline(StandardScaler(), model), X, y, cv=5)
    scores, seconds = found["test_score"], found["fit_time"].mean()
    error = scores.std() / 5**0.5
    print(f"{name:35s} {scores.mean():.1%} (standard error {error:.1%})", end="")
    print(f", fit {seconds:.2f} s")

# %%
# Plot the distribution of the discriminant for both classes.

Z = StandardScaler().fit_transform(X)
kda = KernelDiscriminantAnalysis(priors="uniform")
discriminant = kda.fit(Z, y).transform(Z)[:, 0]
figure, axis = plt.subplots(figsize=(6, 3.5), layout="constrained")
for label, name in enumerate(["malignant", "benign"]):
    axis.hist(discriminant[y == label], bins=30, alpha=0.6, label=name)
axis.set(xlabel="discriminant", ylabel="samples")
axis.legend()
# sphinx_gallery_alt = "Separated histograms of malignant and benign samples"
plt.show()

# %%
# Repeat the fit with the selected values: no parameter is selected again.
# ``calibration`` is a :class:`~skgeom.Calibration`, which contains the temperature of
# the probabilities.

values = {name: getattr(kda, f"{name}_") for name in ("gamma", "regularization")}
again = KernelDiscriminantAnalysis(
    priors="uniform", calibration=kda.calibration_, **values
).fit(Z, y)
difference = abs(again.predict_proba(Z) - kda.predict_proba(Z)).max()
print(f"temperature {kda.calibration_.temperature:.3g}, difference {difference:.0e}")
