"""
SQFA, LDA and PCA: nine features of handwritten digits
======================================================

Three methods learn nine linear features of the 8 x 8 digits of scikit-learn. Quadratic
discriminant analysis (QDA) classifies the features. Principal component analysis (PCA)
does not use the labels. Linear discriminant analysis (LDA) uses the class means and one
covariance for all classes. Supervised quadratic feature analysis (SQFA) uses the mean
and the covariance of each class, and is not limited to ``n_classes - 1`` features.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skgeom import SQFA
from skgeom.plotting import FilterDisplay

# %%
# Divide the images by the standard deviation of all pixels. Half of the images are used
# for training.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
X_train, X_test = X_train / X_train.std(), X_test / X_train.std()

# %%
# Fit each method in a pipeline with QDA, and compare the accuracies on the test images.
# Set the tolerance of QDA to zero: QDA compares ``tol`` with the eigenvalues of each
# class covariance, and raises an error if an eigenvalue is smaller.

transformers = {
    "PCA": PCA(n_components=9),
    "LDA": LinearDiscriminantAnalysis(n_components=9, solver="eigen", shrinkage=0.1),
    "SQFA": SQFA(n_components=9, random_state=0),
}
accuracy = {}
for name, transformer in transformers.items():
    model = make_pipeline(transformer, QuadraticDiscriminantAnalysis(tol=0))
    accuracy[name] = model.fit(X_train, y_train).score(X_test, y_test)
    print(f"{name:>4}: test accuracy of QDA {accuracy[name]:.1%}")

figure, axis = plt.subplots(figsize=(4.2, 3), layout="constrained")
for row, value in enumerate(accuracy.values()):
    axis.plot(100 * value, row, "o", ms=14)
    axis.annotate(f"{value:.1%}", (100 * value, row + 0.4), ha="center")
axis.set(xlabel="test accuracy (%)", xlim=(94, 99), ylim=(2.7, -0.5))
axis.set_yticks(range(3), list(accuracy), size=14)
# sphinx_gallery_alt = "Test accuracy of QDA: SQFA is more accurate than PCA and LDA"
plt.show()

# %%
# Plot the filters. Do not interpret single filters of SQFA: QDA has the same accuracy
# for any basis of their span.

figure, axes = plt.subplots(3, 9, figsize=(9, 3.6), layout="constrained")
for row, (name, transformer) in zip(axes, transformers.items(), strict=True):
    FilterDisplay.from_estimator(transformer, shape=(8, 8), axes=row, titles=None)
    row[0].set_ylabel(f"{name}\n{accuracy[name]:.1%}")
figure.suptitle("Nine filters of digits, and the test accuracy of QDA on their outputs")
# sphinx_gallery_alt = "Nine filters each of PCA, LDA and SQFA as 8 x 8 images"
figure.savefig("digits_filters.png", dpi=150)
print("The figure is saved as digits_filters.png")
