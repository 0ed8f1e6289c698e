"""
Calvo-Oller bound compared with the Fisher-Rao distance
=======================================================

By default, SQFA maximizes the Calvo-Oller lower bound of the Fisher-Rao distance,
because the distance has no closed form in general. This page compares the bound with
the distance for Gaussians of equal covariance, as in figure 9 of Herrera-Esposito and
Burge (2025), and for pairs of random Gaussians, whose distances are computed
numerically.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np

from skgeom.geometry import (
    calvo_oller_embedding,
    distance_affine_invariant,
    distance_calvo_oller,
    distance_fisher_rao,
    distance_fisher_rao_diagonal,
    distance_fisher_rao_equal_covariance,
)

# %%
# Equal covariances
# -----------------
#
# For equal covariances, bound and distance depend only on the Mahalanobis distance
# between the means. Compute both for Mahalanobis distances of at most 20. At 20, the
# Bayes error of two equally frequent classes is less than :math:`10^{-20}`.

mahalanobis = np.linspace(0, 20, 101)
means = mahalanobis[:, None] * [1.0, 0.0]
bound = distance_calvo_oller(np.zeros(2), np.eye(2), means, np.eye(2))
exact = distance_fisher_rao_equal_covariance(np.zeros(2), means, np.eye(2))

# %%
# Random Gaussians
# ----------------
#
# Three groups of random pairs differ in the scale of the means. The bound is exact for
# equal means, and it is tighter if the means differ less, relative to the covariances.

rng = np.random.default_rng(0)
samples = {}
for spread in (0.5, 1.5, 3.0):
    factors = rng.normal(size=(200, 2, 4, 8))
    covariances = factors @ factors.mT / 8
    offsets = spread * rng.normal(size=(200, 2, 4)) / 2
    pairs = (offsets[:, 0], covariances[:, 0], offsets[:, 1], covariances[:, 1])
    samples[spread] = distance_fisher_rao(*pairs), distance_calvo_oller(*pairs)

figure, panels = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
panels[0].plot(exact, bound, label="Calvo-Oller bound")
panels[0].set_title("Equal covariances")
for spread, (distance, lower) in samples.items():
    panels[1].scatter(distance, lower, s=6, label=f"mean scale {spread}")
panels[1].set_title("Random Gaussians in 4 dimensions")
for axis in panels:
    limit = axis.get_xlim()[1]
    axis.plot([0, limit], [0, limit], "k--", linewidth=0.8)
    axis.set(xlabel="Fisher-Rao distance", ylabel="Calvo-Oller bound")
    axis.legend()
# sphinx_gallery_alt = "Bound against distance, slightly below the diagonal"
plt.show()

# %%
# Print the bound and the distance at the Mahalanobis distances M = 5 and M = 20, and
# the smallest ratio of bound and distance in each group of random pairs.

print(f"M = 5:  bound {bound[25]:.3f}, distance {exact[25]:.3f}")
print(f"M = 20: bound {bound[-1]:.3f}, distance {exact[-1]:.3f}")
for spread, (distance, lower) in samples.items():
    print(f"mean scale {spread}: ratio at least {(lower / distance).min():.1%}")

# %%
# Embedding of Gaussians in SPD matrices
# --------------------------------------
#
# The embedding maps a Gaussian of m variables to a positive definite matrix with m + 1
# rows. The bound is the affine-invariant distance between two such matrices, divided by
# the square root of two. It is a lower bound, because the shortest path between the
# matrices may contain matrices that are not embedded Gaussians.

mean, covariance, other_mean, other = (values[0] for values in pairs)
embedded = calvo_oller_embedding(mean, covariance)
other_embedded = calvo_oller_embedding(other_mean, other)
distance = distance_affine_invariant(embedded, other_embedded) / np.sqrt(2)
print(f"distance of the matrices: {distance:.6f}")
print(f"bound:                    {samples[3.0][1][0]:.6f}")

# %%
# Upper bound for independent variables
# -------------------------------------
#
# If the variables are independent in both Gaussians, the length of the shortest path of
# Gaussians with independent variables has a closed form. This length is an upper bound
# of the Fisher-Rao distance. In the figure, the upper bound is up to 26 % larger than
# the distance (median 8 %).

means = 1.5 * rng.normal(size=(2, 200, 4))
variances = rng.chisquare(8, size=(2, 200, 4)) / 8
diagonal = variances[..., None] * np.eye(4)
exact = distance_fisher_rao(means[0], diagonal[0], means[1], diagonal[1])
lower = distance_calvo_oller(means[0], diagonal[0], means[1], diagonal[1])
upper = distance_fisher_rao_diagonal(means[0], variances[0], means[1], variances[1])
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
axis.scatter(exact, upper / exact, s=8, color="C1", label="upper bound")
axis.scatter(exact, lower / exact, s=8, color="C0", label="Calvo-Oller bound")
axis.axhline(1, color="black", ls="--", lw=0.8)
axis.set(xlabel="Fisher-Rao distance", ylabel="ratio to the Fisher-Rao distance")
axis.legend()
# sphinx_gallery_alt = "Ratios of an upper and a lower bound to the distance"
plt.show()
