"""
SQFA, LDA and PCA: nine features of handwritten digits
======================================================

Three methods learn nine linear features of the 8 x 8 digits of scikit-learn. A
quadratic discriminant classifies the features. The principal axes (PCA) do not use the
labels. Linear discriminant analysis (LDA) uses the differences between the mean images.
Supervised quadratic feature analysis (SQFA) also uses the covariances of the images of
each digit, and it is not limited to ``n_classes - 1`` features.
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
# Each method is a transformer in a pipeline with the classifier. The tolerance of the
# classifier is zero, because scikit-learn compares the tolerance with the variances of
# the features and raises an error for features with small values.

transformers = {
    "PCA": PCA(n_components=9),
    "LDA": LinearDiscriminantAnalysis(n_components=9, solver="eigen", shrinkage=0.1),
    "SQFA": SQFA(n_components=9, random_state=0),
}
accuracy = {}
for name, transformer in transformers.items():
    model = make_pipeline(transformer, QuadraticDiscriminantAnalysis(tol=0))
    accuracy[name] = model.fit(X_train, y_train).score(X_test, y_test)
    print(f"{name:>4}: quadratic discriminant accuracy {accuracy[name]:.1%}")

# %%
# Plot the filters. SQFA determines their span only: a quadratic discriminant has the
# same accuracy for any basis of the span. Do not interpret single filters.

figure, axes = plt.subplots(3, 9, figsize=(9, 3.6), layout="constrained")
for row, (name, transformer) in zip(axes, transformers.items(), strict=True):
    FilterDisplay.from_estimator(transformer, shape=(8, 8), axes=row, titles=None)
    row[0].set_ylabel(f"{name}\n{accuracy[name]:.1%}")
figure.suptitle("Nine filters for digits, and the accuracy of QDA on their outputs")
# sphinx_gallery_alt = "Nine filters each of PCA, LDA and SQFA as 8 x 8 images"
figure.savefig("digits_filters.png", dpi=150)
print("The picture is in digits_filters.png")
