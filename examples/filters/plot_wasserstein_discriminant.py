"""
Classes of several parts: Wasserstein discriminant analysis
===========================================================

Linear discriminant analysis (LDA) brings all samples of a class together. A class may
have several parts that are far apart, with those of other classes between them.
Wasserstein discriminant analysis (WDA) brings a sample close to those of its class to
which a transport plan moves it, and away from those of other classes. How far plans
spread is set by ``regularization``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skgeom.baselines import (
    LocalFisherDiscriminantAnalysis,
    WassersteinDiscriminantAnalysis,
)

# %%
# Nine parts in a square belong to three classes, such that each row and each column has
# one part of every class: the class means are the same. Eight features of noise are
# added, and all are rotated at random.

rng = np.random.default_rng(0)
places = 2.0 * np.array([[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)])
part = np.repeat(np.arange(9), 40)
y = (part // 3 + part % 3) % 3
signal = places[part] + 0.35 * rng.normal(size=(360, 2))
noise = 1.5 * rng.normal(size=(360, 8))
rotation, _ = np.linalg.qr(rng.normal(size=(10, 10)))
X = np.column_stack([signal, noise]) @ rotation.T


def compare(methods):
    """Draw the features by each method, with the accuracy of neighbours on new ones."""
    rows, columns = 2, len(methods) // 2
    size = (2.7 * columns, 2.8 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    figure.supxlabel("first feature")
    figure.supylabel("second feature")
    for axis, (name, method) in zip(axes.flat, methods.items(), strict=True):
        model = make_pipeline(method, KNeighborsClassifier(5))
        accuracy = cross_val_score(model, X, y).mean()
        features = method.fit(X, y).transform(X)
        axis.scatter(*features.T, c=y, cmap="tab10", vmax=9, s=6)
        axis.set(xticks=[], yticks=[], title=f"{name}: {accuracy:.2f}")


# %%
# The features to be found come first. LDA sees nothing, as the class means are the
# same. PCA sees variance only. Local Fisher discriminant analysis (LFDA) and
# neighbourhood components analysis (NCA) find the parts less clearly than WDA. The
# titles have the accuracies of five nearest neighbours, cross-validated.

compare(
    {
        "the two signals": FunctionTransformer(lambda X: X @ rotation[:, :2]),
        "PCA": PCA(2),
        "LDA": LinearDiscriminantAnalysis(n_components=2),
        "LFDA": LocalFisherDiscriminantAnalysis(2, embedding="orthonormalized"),
        "NCA": NeighborhoodComponentsAnalysis(2, random_state=0),
        "WDA": WassersteinDiscriminantAnalysis(2),
    }
)
plt.show()

# %%
# With a large regularisation the plans are even. Every sample is then compared with all
# of its class, as in LDA, which is of no use here. With a very small one a sample is
# compared with itself and hardly any other.

compare(
    {
        f"{value:g}": WassersteinDiscriminantAnalysis(2, regularization=value)
        for value in (0.01, 0.1, 1.0, 10.0)
    }
)
plt.show()
