"""
Geometric and arithmetic means of covariance matrices
=====================================================

The determinant of the arithmetic mean of covariance matrices can exceed the
determinants of all matrices (swelling). The geometric mean minimizes the mean squared
affine-invariant distance, and does not swell: its determinant is the geometric mean of
the determinants. A linear map of the coordinates transforms the matrices and their
geometric mean in the same way.
"""

# sphinx_gallery_thumbnail_number = 100

import matplotlib.pyplot as plt
import numpy as np

from skgeom.datasets import make_spd_classes
from skgeom.geometry import (
    distance_affine_invariant,
    expm,
    generalized_eigenvalues,
    invsqrtm,
    logm,
    mean_affine_invariant,
    sqrtm,
    whiten,
)

made = make_spd_classes(1, 30, 2, dispersion=1.2, random_state=3)
X = made[0]
means = {"arithmetic": X.mean(axis=0), "geometric": mean_affine_invariant(X)}
for name, mean in means.items():
    distances = distance_affine_invariant(X, mean)
    print(f"{name:10s} mean squared distance {np.mean(distances**2):.3f}")

# %%
# Plot each matrix as an ellipse in the original coordinates (left) and in coordinates
# that are whitened with the geometric mean (right). In whitened coordinates, the
# geometric mean is the unit circle.

angles = np.linspace(0, 2 * np.pi, 100)
circle = np.stack([np.cos(angles), np.sin(angles)])
figure, panels = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
inverse_root = invsqrtm(means["geometric"])
for panel, change in zip(panels, [np.eye(2), inverse_root], strict=True):
    for matrix in change @ X @ change:
        panel.plot(*(sqrtm(matrix) @ circle), color="tab:gray", lw=0.5)
    for (name, mean), colour in zip(means.items(), ["C1", "C0"], strict=True):
        panel.plot(*(sqrtm(change @ mean @ change) @ circle), colour, lw=3, label=name)
    panel.set(aspect="equal", xlim=(-3, 3), ylim=(-3, 3))
panels[0].set_title("original coordinates")
panels[1].set_title("whitened")
panels[0].legend()
# sphinx_gallery_alt = "Ellipses with arithmetic and geometric mean, also whitened"
plt.show()

# %%
# Affine-invariant distance and generalized eigenvalues
# -----------------------------------------------------
#
# The ratio of the variances of two covariance matrices depends on the direction. Its
# largest value, smallest value and further stationary values are the generalized
# eigenvalues. The affine-invariant distance is the norm of their logarithms. Neither
# the eigenvalues nor the distance depends on the coordinates.

mean = means["geometric"]
ratios = generalized_eigenvalues(X[0], mean)
print("ratios of variances:", ratios.round(3))
print(f"norm of the logarithms: {np.linalg.norm(np.log(ratios)):.6f}")
print(f"distance:               {distance_affine_invariant(X[0], mean):.6f}")
change = np.array([[2.0, 1.0], [0.0, 0.3]])
moved, moved_mean = change @ X[0] @ change.T, change @ mean @ change.T
print("in other coordinates:", generalized_eigenvalues(moved, moved_mean).round(3))

# %%
# Tangent space
# -------------
#
# Logarithms of whitened matrices are symmetric matrices, which form a vector space, so
# linear classifiers can be used. The mean of the logarithms is zero if the matrices are
# whitened with the geometric mean. The matrix exponential is the inverse of the
# logarithm.

tangent = logm(whiten(X, means["geometric"]))
print("largest entry of their mean:", np.abs(tangent.mean(axis=0)).max().round(8))
factor = np.linalg.cholesky(means["geometric"])
print("exponential restores X:", np.allclose(factor @ expm(tangent) @ factor.T, X))
