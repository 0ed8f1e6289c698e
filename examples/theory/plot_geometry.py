"""
Geodesics of Gaussians and covariance matrices
==============================================

SQFA can use distances between Gaussians or between covariance matrices. This example
plots the shortest paths (geodesics) between two 1-D Gaussians, and between two 2 x 2
covariance matrices.
"""

# sphinx_gallery_thumbnail_number = 200

import matplotlib.pyplot as plt
import numpy as np

from skgeom.geometry import (
    distance_fisher_rao,
    exp_map_fisher_rao,
    geodesic_fisher_rao,
    log_map_fisher_rao,
)

# %%
# Gaussians of one dimension
# --------------------------
#
# The coordinates in the left plot are mean and standard deviation. In the Fisher-Rao
# metric, the same change of the mean is shorter if the standard deviation is large,
# because wide Gaussians are harder to distinguish. The geodesic between two Gaussians
# is therefore an arc through wide Gaussians. The logarithm map returns the velocity of
# the geodesic at the first Gaussian. The exponential map returns the end point of the
# geodesic with a given velocity.


def geodesic(a, b, n_points=60):
    """Points between (mean, deviation) a and b."""
    mean_a, variance_a, mean_b, variance_b = (
        [a[0]],
        [[a[1] ** 2]],
        [b[0]],
        [[b[1] ** 2]],
    )
    velocity = log_map_fisher_rao(mean_a, variance_a, mean_b, variance_b)
    points = []
    for t in np.linspace(0, 1, n_points):
        step = [t * part for part in velocity]
        mean, variance = exp_map_fisher_rao(mean_a, variance_a, *step)
        points.append([mean[0], np.sqrt(variance[0, 0])])
    return np.array(points)


def length(points):
    """Sum of the Fisher-Rao distances along a path."""
    means, variances = points[:, :1], points[:, 1:, None] ** 2
    steps = distance_fisher_rao(means[:-1], variances[:-1], means[1:], variances[1:])
    return steps.sum()


a, b = (-2.0, 0.6), (2.0, 0.9)
paths = {"geodesic": geodesic(a, b), "straight": np.linspace(a, b, 60)}
figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for (name, path), colour in zip(paths.items(), ["tab:blue", "tab:gray"], strict=True):
    panels[0].plot(*path.T, color=colour, label=f"{name}: length {length(path):.2f}")
    x = np.linspace(-5, 5, 300)[:, None]
    density = np.exp(-((x - path[:, 0]) ** 2) / 2 / path[:, 1] ** 2) / path[:, 1]
    if name == "geodesic":
        panels[1].plot(x, density[:, ::8], color=colour, lw=1)
panels[0].plot(*np.transpose([a, b]), "o", color="black")
middle, variance = geodesic_fisher_rao(
    [a[0]], [[a[1] ** 2]], [b[0]], [[b[1] ** 2]], 0.5
)
panels[0].plot(middle, np.sqrt(variance[0]), "D", color="tab:blue", label="mean")
panels[0].set(xlabel="mean", ylabel="standard deviation", ylim=(0, None))
panels[0].legend(loc="lower center")
panels[1].set(title="Gaussians along the geodesic", xlabel="x", yticks=[])
# sphinx_gallery_alt = "Geodesic of Gaussians as an arc above a straight line"
plt.show()

# %%
# Covariance matrices
# -------------------
#
# The 2 x 2 covariance matrices fill a cone, whose surface contains the singular
# matrices. In the affine-invariant metric, the surface is infinitely far away. The
# midpoint of the straight line between two narrow ellipses is a circle with a larger
# determinant (swelling). The determinant is constant along the geodesic, because both
# end points have determinant 1.

start, end = np.diag([4.0, 0.25]), np.diag([0.25, 4.0])
times = np.linspace(0, 1, 7)
straight = [(1 - t) * start + t * end for t in times]
curved = [np.diag(np.diag(start) ** (1 - t) * np.diag(end) ** t) for t in times]
circle = np.stack(
    [np.cos(np.linspace(0, 2 * np.pi, 100)), np.sin(np.linspace(0, 2 * np.pi, 100))]
)

figure = plt.figure(figsize=(10, 4), layout="constrained")
cone = figure.add_subplot(1, 2, 1, projection="3d")
angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, 60), np.linspace(0, 2.2, 12))
# With the axes (a - c) / 2, b and (a + c) / 2, the matrices [[a, b], [b, c]] that are
# positive definite fill the interior of a circular cone.
cone.plot_surface(
    height * np.cos(angle), height * np.sin(angle), height, alpha=0.15, color="gray"
)
ellipses = figure.add_subplot(1, 2, 2)
for row, (matrices, colour) in enumerate(
    [(straight, "tab:gray"), (curved, "tab:blue")]
):
    entries = np.array(
        [[(m[0, 0] - m[1, 1]) / 2, m[0, 1], np.trace(m) / 2] for m in matrices]
    )
    cone.plot(*entries.T, "o-", color=colour, ms=4)
    for place, matrix in enumerate(matrices):
        outline = np.linalg.cholesky(matrix) @ circle
        ellipses.plot(outline[0] + 4.5 * place, outline[1] - 5 * row, color=colour)
cone.set(xlabel="(a - c) / 2", ylabel="b", zlabel="(a + c) / 2")
cone.set(xticks=[-2, 0, 2], yticks=[-2, 0, 2], zticks=[0, 1, 2])
cone.set_box_aspect(None, zoom=0.85)  # the labels of the axes stay in the picture
cone.view_init(18, -65)
ellipses.set_yticks([0, -5], ["straight", "geodesic"])
ellipses.set(aspect="equal", xticks=[])
# sphinx_gallery_alt = "Cone of covariances with a straight line and a geodesic"
plt.show()
