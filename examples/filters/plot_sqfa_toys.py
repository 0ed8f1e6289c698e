"""
SQFA compared with LDA and PCA on toy problems
==============================================

Toy problems with known class statistics, after Herrera-Esposito and Burge (2025). Each
panel shows two axes of the data, the classes as ellipses of one standard deviation, and
filters as arrows. A filter without length in a panel lies in different axes. The
filters are computed from the statistics of
:func:`~skgeom.datasets.sqfa_toy_statistics`, without samples.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import eigh

from skgeom import SQFA, SecondMomentSQFA
from skgeom.datasets import sqfa_toy_statistics
from skgeom.plotting import ClassEllipsesDisplay

COLORS = "black", "tab:purple", "crimson"


def draw(axis, statistics, methods, dims, label=False, limit=1.6):
    """Classes and the filters of methods in the plane of two axes."""
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
# Covariances, means, or variance
# -------------------------------
#
# In axes 1 and 2 the classes differ in their covariances, in 3 and 4 a little in their
# means, and in 5 and 6 the variance is largest. SQFA chooses the axes that separate the
# classes best, linear discriminant analysis those where the means differ, and principal
# component analysis those with the largest variance.

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
figure.suptitle("Two filters by three methods: each prefers another plane")
plt.show()

# %%
# Means and second moments
# ------------------------
#
# Here the means differ in axes 1 and 2, and the covariances in 3 and 4, such that the
# second moments differ more in 3 and 4. SQFA uses means and covariances, and finds that
# the classes are narrow in axes 1 and 2. SecondMomentSQFA compares second moments only,
# and chooses axes 3 and 4.

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
figure.suptitle("Comparing distributions, or second moments")
plt.show()

# %%
# The choice of the distance
# --------------------------
#
# Three centred classes whose orientations differ more in axes 1 and 2, where the
# variance is small, than in 3 and 4, where it is large. Distances that do not change
# with the scale of an axis choose the former, and Wasserstein and Euclidean distances
# the latter. (With the Euclidean distance, two filters of unit norm would become
# equal.)

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
plt.show()
