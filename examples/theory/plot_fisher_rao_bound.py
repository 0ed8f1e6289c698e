"""
How tight the Calvo-Oller bound is
==================================

SQFA maximises a lower bound of the Fisher-Rao distance, because the distance itself has
no closed form. This page shows how far the bound is below the distance: for Gaussians
of equal covariance, as in figure 9 of Herrera-Esposito and Burge (2025), and for pairs
of random Gaussians, whose distances are computed numerically.
"""

import matplotlib.pyplot as plt
import numpy as np

from skgeom.geometry import (
    distance_calvo_oller,
    distance_fisher_rao,
    distance_fisher_rao_equal_covariance,
)

# %%
# Equal covariances
# -----------------
#
# Both distances depend only on the Mahalanobis distance of the means, up to 20 here,
# where the Gaussians overlap in less than one part in :math:`10^{20}`. No classifier
# needs a distance of 20.

mahalanobis = np.linspace(0, 20, 101)
means = mahalanobis[:, None] * [1.0, 0.0]
bound = distance_calvo_oller(np.zeros(2), np.eye(2), means, np.eye(2))
exact = distance_fisher_rao_equal_covariance(np.zeros(2), means, np.eye(2))

# %%
# Random Gaussians
# ----------------
#
# Three groups of pairs, whose means spread more and more. The bound is exact for equal
# means, and closer the less the means differ compared with the covariances.

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
    panels[1].scatter(distance, lower, s=6, label=f"means spread by {spread}")
panels[1].set_title("Random Gaussians in 4 dimensions")
for axis in panels:
    limit = axis.get_xlim()[1]
    axis.plot([0, limit], [0, limit], "k--", linewidth=0.8)
    axis.set(xlabel="Fisher-Rao distance", ylabel="Calvo-Oller bound")
    axis.legend()
plt.show()

# %%
# At the end of the curve on the left, the bound is still most of the distance:

print(f"M = 5:  {bound[25]:.3f} of {exact[25]:.3f}")
print(f"M = 20: {bound[-1]:.3f} of {exact[-1]:.3f}")
for spread, (distance, lower) in samples.items():
    print(f"means spread by {spread}: at least {(lower / distance).min():.1%}")
