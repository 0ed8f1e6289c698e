"""
Class distances and the Bayes error
===================================

This example compares the Fisher-Rao, Hellinger and Bhattacharyya distances between two
Gaussians with the accuracy of the optimal classifier, as in appendices A and C of
Herrera-Esposito and Burge (2025). The accuracy is one minus the Bayes error, and is
computed by numerical integration.
"""

# sphinx_gallery_thumbnail_number = 400

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm, spearmanr

from skgeom import ClassStatistics, bayes_error
from skgeom.geometry import distance_calvo_oller

# %%
# One-dimensional Gaussians with equal means
# ------------------------------------------
#
# The first class has variance 1, and the second class has variance :math:`\sigma^2`.
# For equal means, the Calvo-Oller distance is the Fisher-Rao distance, here
# :math:`|\log \sigma^2| / \sqrt 2`. The log odds of a correct prediction, the logarithm
# of accuracy / error, are also nearly proportional to :math:`|\log \sigma^2|`.

log_variances = np.linspace(-3, 3, 61)
x = np.linspace(-150, 150, 300_001)
densities = norm.pdf(x, scale=10 ** (log_variances[:, None] / 2))
accuracy = np.maximum(densities, norm.pdf(x)).sum(axis=1) * (x[1] - x[0]) / 2
fisher_rao = distance_calvo_oller(
    np.zeros(1), np.eye(1), np.zeros((61, 1)), 10 ** log_variances[:, None, None]
)
figure, panels = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
log_odds = np.log(accuracy / (1 - accuracy))
for axis, values, label in zip(
    panels,
    (100 * accuracy, log_odds, fisher_rao),
    ("accuracy (%)", "log odds of a correct prediction", "Fisher-Rao distance"),
    strict=True,
):
    axis.plot(log_variances, values)
    axis.set(xlabel=r"$\log_{10} \sigma^2$", ylabel=label)
# sphinx_gallery_alt = "Accuracy, log odds and distance against the variance"
plt.show()

# %%
# Two-dimensional Gaussians with equal means
# ------------------------------------------
#
# The covariance of the first class is the identity, and the covariance of the second
# class is :math:`\operatorname{diag}(\sigma_1^2, \sigma_2^2)`. The axes of the plots
# show the logarithms of the variances, and the colors show the quantity in the title.
# The level sets of the Fisher-Rao distance are circles, and the level sets of the
# Hellinger and Bhattacharyya distances are nearly circles. These distances do not
# change if a variance is replaced by its inverse. The accuracy has this symmetry only
# approximately: it is higher if both variances increase than if one variance increases
# and one decreases.

log_variances = np.linspace(-1.5, 1.5, 41)
first, second = np.meshgrid(log_variances, log_variances)
variances = 10 ** np.stack([first, second], axis=-1)
covariances = variances[..., None] * np.eye(2)
x = np.linspace(-25, 25, 501)
marginals = norm.pdf(x, scale=10 ** (log_variances[:, None] / 2))
standard = np.outer(norm.pdf(x), norm.pdf(x))
accuracy = np.array(
    [[np.maximum(np.outer(a, b), standard).sum() for a in marginals] for b in marginals]
)
accuracy *= (x[1] - x[0]) ** 2 / 2
fisher_rao = distance_calvo_oller(np.zeros(2), np.eye(2), np.zeros(2), covariances)
bhattacharyya = np.log((1 + variances) / 2 / np.sqrt(variances)).sum(axis=-1) / 2
maps = {
    "accuracy": accuracy,
    "log odds": np.log(accuracy / (1 - accuracy)),
    "Fisher-Rao": fisher_rao,
    "Hellinger": np.sqrt(-np.expm1(-bhattacharyya)),
    "Bhattacharyya": bhattacharyya,
}
figure, panels = plt.subplots(1, 5, figsize=(13, 3), layout="constrained")
for axis, (name, values) in zip(panels, maps.items(), strict=True):
    axis.contourf(log_variances, log_variances, values, levels=12)
    axis.set(title=name, aspect="equal", xlabel=r"$\log_{10} \sigma_1^2$")
panels[0].set_ylabel(r"$\log_{10} \sigma_2^2$")
# sphinx_gallery_alt = "Contours of accuracy and distances for two variances"
plt.show()

# %%
# Equal covariances
# -----------------
#
# With a common covariance, all distances are functions of the Mahalanobis distance M
# between the means: :math:`\sqrt 2 \operatorname{arccosh}(1 + M^2 / 4)` for Fisher-Rao,
# :math:`M^2 / 8` for Bhattacharyya and :math:`\sqrt{1 - e^{-M^2 / 8}}` for Hellinger.
# For well-separated classes, the Bhattacharyya distance grows fastest, and the
# Hellinger distance hardly grows. Filters that maximize the mean Bhattacharyya distance
# of many pairs therefore separate the most distant classes further. Filters that
# maximize the mean Hellinger distance separate the closest classes.

mahalanobis = np.linspace(0, 10, 201)
curves = {
    "Fisher-Rao": np.sqrt(2) * np.arccosh(1 + mahalanobis**2 / 4),
    "Bhattacharyya": mahalanobis**2 / 8,
    "Hellinger": np.sqrt(-np.expm1(-(mahalanobis**2) / 8)),
    "accuracy (%)": 100 * norm.cdf(mahalanobis / 2),
}
figure, panels = plt.subplots(2, 2, figsize=(7, 5), layout="constrained")
for axis, (name, values) in zip(panels.flat, curves.items(), strict=True):
    axis.plot(mahalanobis, values)
    axis.set(xlabel="Mahalanobis distance", title=name)
# sphinx_gallery_alt = "Three distances and accuracy against Mahalanobis distance"
plt.show()

# %%
# Many dimensions
# ---------------
#
# In eight dimensions, integration on a grid of points is not feasible.
# :func:`~skgeom.bayes_error` integrates along rays instead. In one dimension, the
# result agrees with the sum over a grid, as printed below. The figure shows the
# accuracy for 80 pairs of random Gaussians. Titles contain the rank correlation between
# distance and accuracy. For different means and covariances, the Fisher-Rao distance
# has no closed form; the left plot shows the Calvo-Oller distance, a lower bound.


def random_pair(n=8):
    factors = rng.normal(size=(2, n, 2 * n))
    covariances = factors @ factors.mT / (2 * n)
    means = rng.uniform(0, 0.8) * rng.normal(size=(2, n))
    return ClassStatistics([0, 1], [1, 1], means, covariances)


rng = np.random.default_rng(0)
statistics = [random_pair() for _ in range(80)]
errors = np.array([bayes_error(pair, priors="uniform").value for pair in statistics])
means = np.array([pair.means for pair in statistics])
covariances = np.array([pair.covariances for pair in statistics])
middle = covariances.mean(axis=1)
offsets = means[:, 0] - means[:, 1]
mahalanobis = np.sum(offsets * np.linalg.solve(middle, offsets[..., None])[..., 0], 1)
logs = np.linalg.slogdet(covariances)[1].sum(axis=1)
bhattacharyya = mahalanobis / 8 + np.linalg.slogdet(middle)[1] / 2 - logs / 4
distances = {
    "Fisher-Rao (bound)": distance_calvo_oller(
        means[:, 0], covariances[:, 0], means[:, 1], covariances[:, 1]
    ),
    "Hellinger": np.sqrt(-np.expm1(-bhattacharyya)),
    "Bhattacharyya": bhattacharyya,
}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained", sharey=True)
for axis, (name, values) in zip(panels, distances.items(), strict=True):
    axis.scatter(values, 100 * (1 - errors), s=10)
    correlation = spearmanr(values, -errors).statistic
    axis.set(xlabel=name, title=f"correlation {correlation:.3f}")
panels[0].set_ylabel("accuracy (%)")
# sphinx_gallery_alt = "Accuracy against three distances for 80 pairs of Gaussians"
plt.show()

line = ClassStatistics([0, 1], [1, 1], [[0.0], [0.0]], [[[1.0]], [[100.0]]])
x = np.linspace(-150, 150, 300_001)
grid = np.maximum(norm.pdf(x), norm.pdf(x, scale=10)).sum() * (x[1] - x[0]) / 2
rays = 1 - bayes_error(line).value
print(f"accuracy by rays: {rays:.3%}, by the grid: {grid:.3%}")
