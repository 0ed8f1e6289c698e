"""
SQFA compared with LDA and PCA on toy problems
==============================================

This example computes filters for toy problems of Herrera-Esposito and Burge (2025) from
the class statistics of :func:`~skgeom.datasets.sqfa_toy_statistics`, without samples.
Each panel shows two axes of the data, with classes as ellipses of one standard
deviation and filters as arrows. A filter without an arrow in a panel has zero weights
for the axes of this panel.
"""

# sphinx_gallery_thumbnail_number = 1

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import eigh

from skgeom import SQFA, SecondMomentSQFA
from skgeom.datasets import sqfa_toy_statistics
from skgeom.plotting import ClassEllipsesDisplay

COLORS = "black", "tab:purple", "crimson"


def draw(axis, statistics, methods, dims, label=False, limit=1.6):
    """Plot classes and filters of methods along two axes."""
    display = ClassEllipsesDisplay.from_statistics(
        statistics, dims=dims, ax=axis, legend=False
    )
    for (name, filters), color in zip(methods.items(), COLORS, strict=False):
        unit = filters / np.linalg.norm(filters, axis=1, keepdims=True)
        display.plot_filters(unit[:, dims], color=color, label=name if label else None)
    axis.set(
        xlim=(-limit, limit),
        ylim=(-limit, limit),
        xlabel=f"axis {dims[0] + 1}",
        ylabel=f"axis {dims[1] + 1}",
    )


# %%
# Covariances, means and variance: SQFA, LDA and PCA
# --------------------------------------------------
#
# The class covariances differ in axes 1 and 2, the class means differ slightly in axes
# 3 and 4, and the variance is largest in axes 5 and 6. SQFA selects axes 1 and 2, which
# separate the classes best. Linear discriminant analysis (LDA) selects axes 3 and 4,
# and principal component analysis (PCA) selects axes 5 and 6.

statistics = sqfa_toy_statistics("covariances")
within, total = statistics.pooled_covariances()
methods = {
    "SQFA": SQFA(2, regularization=0.002, random_state=0)
    .fit_statistics(statistics)
    .components_,
    "LDA": eigh(total - within, within)[1][:, :-3:-1].T,
    "PCA": np.linalg.eigh(total)[1][:, :-3:-1].T,
}
figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for axis, dims in zip(panels, [(0, 1), (2, 3), (4, 5)], strict=True):
    draw(axis, statistics, methods, dims, label=axis is panels[0])
figure.suptitle("Two filters of three methods")
# sphinx_gallery_alt = "Arrows of SQFA, LDA and PCA along different pairs of axes"
plt.show()

# %%
# Means and second moments
# ------------------------
#
# In this problem, the class means differ in axes 1 and 2, and the class covariances in
# axes 3 and 4. The second moments differ more in axes 3 and 4. SQFA uses means and
# covariances, and selects axes 1 and 2, in which the classes are narrow.
# SecondMomentSQFA (smSQFA) compares second moments only, and selects axes 3 and 4.

statistics = sqfa_toy_statistics("means")
figure, panels = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
models = {
    "SQFA": SQFA(2, regularization=0.001, random_state=0),
    "smSQFA": SecondMomentSQFA(2, regularization=0.001, random_state=0),
}
for name, model in models.items():
    model.fit_statistics(statistics)
    print(f"{name}: mean distance {model.objective_:.4f}")
methods = {name: model.components_ for name, model in models.items()}
for axis, dims in zip(panels, [(0, 1), (2, 3)], strict=True):
    draw(axis, statistics, methods, dims, label=axis is panels[0])
figure.suptitle("SQFA compares distributions, smSQFA second moments")
# sphinx_gallery_alt = "SQFA and smSQFA select different pairs of axes"
plt.show()

# %%
# Distances between second moments
# --------------------------------
#
# The orientations of three centered classes differ more in axes 1 and 2, which have a
# small variance, than in axes 3 and 4, which have a large variance. The
# affine-invariant, log-Euclidean and Jeffreys distances do not change if all features
# are multiplied by the same factor, and select axes 1 and 2. The Wasserstein and
# Euclidean distances increase with this factor, and select axes 3 and 4. Filters for
# the Euclidean distance are orthonormal, because two filters of unit norm would become
# equal. Titles contain the mean distance of the classes, which is not comparable
# between distances.

statistics = sqfa_toy_statistics("distances")
distances = [
    "affine-invariant",
    "log-euclidean",
    "jeffreys",
    "wasserstein",
    "euclidean",
]
figure, panels = plt.subplots(2, 5, figsize=(12, 5), layout="constrained")
for column, distance in zip(panels.T, distances, strict=True):
    model = SecondMomentSQFA(
        2,
        distance=distance,
        constraint="orthonormal" if distance == "euclidean" else "unit-norm",
        regularization=0.001,
        n_init=20,
        random_state=0,
    ).fit_statistics(statistics)
    for axis, dims in zip(column, [(0, 1), (2, 3)], strict=True):
        draw(axis, statistics, {distance: model.components_}, dims, limit=1.1)
    column[0].set_title(f"{distance}\n{model.objective_:.3f}")
# sphinx_gallery_alt = "Filters of five distances in two pairs of axes"
plt.show()
