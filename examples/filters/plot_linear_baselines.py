"""
Supervised dimensionality reduction: eight linear methods on digits
===================================================================

Eight methods compute two linear features of handwritten digits. Each title contains the
test accuracy of a quadratic classifier on the two features.
"""

# sphinx_gallery_thumbnail_number = 106

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from skgeom import SQFA, AMAGauss, GaussianClassifier
from skgeom.baselines import (
    LOL,
    GeneralizedEigenvectors,
    LocalFisherDiscriminantAnalysis,
    SupervisedPCA,
)

X, y = load_digits(return_X_y=True)
X = X / X.std()
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Comparison
# ----------
#
# PCA maximizes the variance, without labels. Supervised PCA, LDA and linear optimal
# low-rank projection (LOL) use the class means; LDA and LOL also use the within-class
# covariance. Local Fisher discriminants are linear discriminants that keep only
# neighboring samples of the same class close together. Each generalized eigenvector
# (GEM) separates one pair of classes by their second moments, so two eigenvectors do
# not separate most digits. SQFA and AMA-Gauss use the means and covariances of all
# classes.

methods = {
    "PCA": PCA(2),
    "supervised PCA": SupervisedPCA(2),
    "LDA": LinearDiscriminantAnalysis(n_components=2, solver="eigen", shrinkage="auto"),
    "LOL": LOL(2),
    "local Fisher": LocalFisherDiscriminantAnalysis(2, regularization=0.1),
    "pairs (GEM)": GeneralizedEigenvectors(2),
    "SQFA": SQFA(2, distance="hellinger", random_state=0),
    "AMA-Gauss": AMAGauss(2, random_state=0),
}
figure, panels = plt.subplots(2, 4, figsize=(10.5, 5.6), layout="constrained")
for panel, (name, method) in zip(panels.flat, methods.items(), strict=True):
    Z = method.fit(X_train, y_train).transform(X_train)
    Z_test = method.transform(X_test)
    score = GaussianClassifier().fit(Z, y_train).score(Z_test, y_test)
    points = panel.scatter(*Z_test.T, c=y_test, cmap="tab10", s=8)
    panel.set(title=f"{name}: {score:.1%}", xticks=[], yticks=[])
handles, labels = points.legend_elements()
figure.legend(handles, labels, loc="outside right upper", title="digit")
figure.supxlabel("first feature")
figure.supylabel("second feature")
# sphinx_gallery_alt = "Digits in two features of eight methods, with accuracies"
plt.show()
