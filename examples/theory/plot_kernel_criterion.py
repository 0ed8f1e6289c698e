"""
Total or between-class criterion of kernel discriminant analysis
================================================================

The ratio of kernel discriminant analysis can have the total or the between-class
variance in its numerator (``criterion``). Without regularization, the two criteria are
equivalent: the total ratio is the between-class ratio plus one. With regularization,
the total criterion prefers directions of large variance, even if the classes do not
differ along these directions. With a large regularization, the discriminants of the
total criterion are close to kernel principal components, and the discriminants of the
between-class criterion are close to the differences of the class means.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from skgeom import KernelDiscriminantAnalysis

# %%
# The two classes are long parallel bands. Most of the variance is along the bands, but
# the classes differ across the bands. The contours show the first discriminant. With a
# regularization of 1, the discriminant of the total criterion varies along the bands.

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 150)
X = np.column_stack([rng.uniform(-3, 3, 300), rng.normal(0, 0.25, 300) + y])

regularizations = [1e-4, 1e-2, 1]
figure, axes = plt.subplots(2, 3, figsize=(10, 4.5), layout="constrained")
x_grid, y_grid = np.meshgrid(np.linspace(-4, 4, 120), np.linspace(-1, 2, 80))
grid = np.column_stack([x_grid.ravel(), y_grid.ravel()])
for row, criterion in zip(axes, ["total", "between"], strict=True):
    for axis, regularization in zip(row, regularizations, strict=True):
        kda = KernelDiscriminantAnalysis(
            gamma=0.1,
            criterion=criterion,
            regularization=regularization,
        ).fit(X, y)
        values = kda.transform(grid).reshape(x_grid.shape)
        axis.contourf(x_grid, y_grid, values, levels=15, cmap="PuOr")
        axis.scatter(*X.T, c=y, cmap="tab10", vmax=9, s=5)
        axis.set(xticks=[], yticks=[])
        axis.set_title(f"{criterion}, regularization {regularization:g}", size=9)
# sphinx_gallery_alt = "Discriminants of two criteria for three regularizations"
plt.show()

# %%
# Plot the within-class fraction of the variance of the discriminant against the
# regularization. If the fraction is close to one, the discriminant varies along the
# bands and does not separate the classes.

values = np.logspace(-6, 2, 25)
K = rbf_kernel(X, gamma=0.1)
figure, axis = plt.subplots(figsize=(6, 3.5), layout="constrained")
for criterion in ["total", "between"]:
    shares = []
    for penalty in map(float, values):
        kda = KernelDiscriminantAnalysis(
            kernel="precomputed",
            criterion=criterion,
            regularization=penalty,
        )
        z = kda.fit(K, y).transform(K)[:, 0]
        shares.append((z[y == 0].var() + z[y == 1].var()) / 2 / z.var())
    axis.semilogx(values, shares, label=criterion)
axis.set(xlabel="regularization", ylabel="within-class fraction of variance")
axis.legend(title="criterion")
# sphinx_gallery_alt = "Within-class variance against the regularization"
plt.show()
