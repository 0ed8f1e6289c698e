"""
MNIST: from 784 pixels to nine features
=======================================

SQFA learns linear filters that separate the digits by their class means and
covariances. This tutorial selects the regularization by the accuracy on validation
images, compares nine features of SQFA, PCA and LDA, and plots the accuracy for several
numbers of filters. With 30 filters, the accuracy of a quadratic classifier is close to
its accuracy with all 784 pixels.
"""

# %%
# Data and class statistics
# -------------------------
#
# Use 50,000 images for training, 10,000 for validation and 10,000 for testing. The
# classifier is a quadratic discriminant with one Gaussian per digit. SQFA and the
# classifier require only the class means and covariances. Compute these statistics
# once, and fit all models to the statistics instead of the images.

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from skgeom import SQFA, ClassStatistics, GaussianClassifier
from skgeom.datasets import fetch_mnist
from skgeom.plotting import FilterDisplay

X, y = fetch_mnist(subset="train", return_X_y=True)
X_test, y_test = fetch_mnist(subset="test", return_X_y=True)
X, X_test = (X / np.float32(255)), (X_test / np.float32(255))
training, validation = slice(50_000), slice(50_000, None)
statistics = ClassStatistics.from_data(X[training], y[training])

# %%
# PCA and LDA as baselines
# ------------------------
#
# ``statistics.project(filters)`` computes the class statistics of linear features, to
# which the classifier is fitted.

lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1)
baselines = {
    "PCA, 9 features": PCA(9).fit(X[training]).components_,
    "LDA, 9 features": lda.fit(X[training], y[training]).scalings_[:, :9].T,
}
accuracy = {}
for name, filters in baselines.items():
    classifier = GaussianClassifier().fit_statistics(statistics.project(filters))
    accuracy[name] = classifier.score(X_test @ filters.T, y_test)

# %%
# SQFA
# ----
#
# The function below fits filters and classifier to the class statistics.


def fitted(n_filters, sigma2):
    """Filters and classifier, from the class statistics."""
    sqfa = SQFA(
        n_filters, distance="hellinger", regularization=sigma2, random_state=0
    ).fit_statistics(statistics)
    return sqfa, GaussianClassifier().fit_statistics(sqfa.statistics_)


# %%
# Select the regularization
# -------------------------
#
# ``regularization`` is a variance :math:`\sigma^2`, which SQFA adds to the class
# covariances of the filter outputs. Select the value with the highest accuracy on the
# validation images. The classifier of all pixels also has a parameter
# ``regularization``, the variance that is added to the class covariances of the pixels.
# Select this variance by the accuracy on 1,000 validation images.

values = [1, 0.1, 0.03, 0.01]
models = [fitted(9, sigma2) for sigma2 in values]
scores = [
    classifier.score(sqfa.transform(X[validation]), y[validation])
    for sqfa, classifier in models
]
best = values[int(np.argmax(scores))]
sqfa, nine = models[int(np.argmax(scores))]

some = slice(50_000, 51_000)
on_pixels = [
    GaussianClassifier(regularization=sigma2).fit_statistics(statistics)
    for sigma2 in [0.03, 0.01]
]
pixels = max(on_pixels, key=lambda classifier: classifier.score(X[some], y[some]))

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
axis.semilogx(values, 100 * np.array(scores), "o-")
axis.axvline(best, color="C1", ls="--", label=rf"selected: $\sigma^2$ = {best}")
axis.set(xlabel=r"regularization $\sigma^2$ of SQFA", ylabel="validation accuracy (%)")
axis.legend()
# sphinx_gallery_alt = "Validation accuracy against the regularization"
plt.show()

# %%
# Test accuracy compared with PCA and LDA
# ---------------------------------------

accuracy["SQFA, 9 features"] = nine.score(sqfa.transform(X_test), y_test)
accuracy["all 784 pixels"] = pixels.score(X_test, y_test)
for name, value in accuracy.items():
    print(f"{name:18s} {value:.1%}")

# %%
# Plot the nine filters. Red pixels have positive weights, and blue pixels negative
# weights.

FilterDisplay.from_estimator(sqfa, shape=(28, 28), titles=None)
# sphinx_gallery_alt = "Nine filters of MNIST as red and blue images"
plt.show()

# %%
# Number of filters
# -----------------
#
# LDA has at most nine features, the number of classes minus one. SQFA has no such
# limit, and its accuracy increases with the number of filters in this plot.

numbers = [2, 5, 9, 30]
curve = []
for n_filters in numbers:
    model, classifier = (sqfa, nine) if n_filters == 9 else fitted(n_filters, best)
    curve.append(classifier.score(model.transform(X_test), y_test))

figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(numbers, 100 * np.array(curve), "o-", label="SQFA")
axis.plot(9, 100 * accuracy["LDA, 9 features"], "s", label="LDA")
axis.plot(9, 100 * accuracy["PCA, 9 features"], "^", label="PCA")
axis.axhline(
    100 * accuracy["all 784 pixels"], color="gray", ls="--", label="784 pixels"
)
axis.set(xlabel="number of features", ylabel="test accuracy (%)", ylim=(60, 100))
axis.legend(loc="lower right")
# sphinx_gallery_alt = "Accuracy against the number of features for three methods"
plt.show()
print(f"{numbers[-1]} filters: {curve[-1]:.1%}")

# %%
# Nonlinear classifiers are more accurate on MNIST: :ref:`benchmarks` reports 98.2 % for
# kernel discriminant analysis with 4,000 landmarks. Use SQFA for a few linear features
# that are fast to compute and can be displayed as images. :ref:`sqfa` explains the
# objective, and :ref:`n_filters` explains how to select the number of filters by
# cross-validation.
