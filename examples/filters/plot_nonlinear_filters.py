"""
Nonlinear filters, number of filters, and contributions to distances
====================================================================

A filter on kernel principal components is a nonlinear function of the image. This page
compares nine linear and nine nonlinear filters on digits. It plots images with extreme
outputs of the nonlinear filters (preimages), the error against the number of filters,
and the contributions of means and covariances to the class distances.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline

from skgeom import (
    SQFA,
    ClassStatistics,
    GaussianClassifier,
    LandmarkKernelPCA,
    bayes_error,
)
from skgeom.datasets import make_speed_videos
from skgeom.plotting import FilterDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
linear = make_pipeline(
    SQFA(9, distance="hellinger", random_state=0), GaussianClassifier()
)
nonlinear = make_pipeline(
    LandmarkKernelPCA(300, n_landmarks=600, random_state=0),
    SQFA(9, distance="hellinger", random_state=0),
    GaussianClassifier(),
)
for name, model in [("linear", linear), ("nonlinear", nonlinear)]:
    score = model.fit(X_train, y_train).score(X_test, y_test)
    print(f"nine {name} filters: test accuracy {score:.1%}")

# %%
# Preimages
# ---------
#
# The weights of a nonlinear filter are not an image. For each filter, the upper row
# shows an image at which the output has a local maximum, and the lower row an image at
# which the output has a local minimum. The digits that resemble the images suggest
# which digits the filter separates.

pca, filters = nonlinear[0], nonlinear[1].components_
images = np.concatenate([pca.preimages(filters), pca.preimages(-filters)])
FilterDisplay(images.reshape(-1, 8, 8)).plot(n_columns=9, cmap="gray")
# sphinx_gallery_alt = "Preimages with the largest and smallest filter outputs"
plt.show()

# %%
# Number of filters
# -----------------
#
# Linear filters that are learned in groups are ordered, so one fit per fold suffices
# for all numbers of filters. The cross-validated error decreases more slowly than the
# Bayes error of Gaussians with the same statistics, which assumes that the classes are
# Gaussian and that their statistics are known. The dotted line marks the smallest
# number of filters whose error is within one standard error of the lowest error.

sqfa = SQFA(18, distance="hellinger", group_size=2, random_state=0)
numbers = np.arange(2, 19, 2)
errors = []
for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
    Z = sqfa.fit(X[train], y[train]).transform(X)
    models = [GaussianClassifier().fit(Z[train, :k], y[train]) for k in numbers]
    scores = [
        m.score(Z[test, :k], y[test]) for m, k in zip(models, numbers, strict=True)
    ]
    errors.append(100 * (1 - np.array(scores)))
mean, standard_error = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / 5**0.5
best = mean.argmin()
fewest = numbers[(mean <= mean[best] + standard_error[best]).argmax()]
features = ClassStatistics.from_data(sqfa.fit_transform(X, y), y).shrunk()
bayes = [bayes_error(features.project(np.eye(18)[:k]), tol=0.05).value for k in numbers]

_, ax = plt.subplots(layout="constrained")
ax.errorbar(numbers, mean, standard_error, marker="o", label="cross-validated error")
ax.plot(numbers, 100 * np.array(bayes), "--.", label="Bayes error of the Gaussians")
ax.axvline(fewest, color="grey", linestyle=":", label="one standard error")
ax.set(xlabel="number of filters", ylabel="error (%)", yscale="log", ylim=(0.1, 100))
ticks = [0.1, 1, 10, 100]
ax.set_yticks(ticks, ticks)
ax.legend()
# sphinx_gallery_alt = "Error against the number of filters, flat beyond 14"
plt.show()

# %%
# Contributions of means and covariances to the distances
# -------------------------------------------------------
#
# The Bhattacharyya distance is the sum of a term of the means and a term of the
# covariances. The panels show both terms of the distances along single filters: the
# term of the means above the diagonal, and the term of the variances below the
# diagonal. For most pairs of digits, the term of the means is larger than the term of
# the variances.


def draw_parts(sqfa, labels):
    """Draw both terms of the distance between each pair of classes, per filter."""
    figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
    panels = []
    for k in range(4):
        means = sqfa.statistics_.means[:, k]
        variances = sqfa.statistics_.covariances[:, k, k] + sqfa.regularization_
        average = (variances[:, None] + variances) / 2
        of_means = (means[:, None] - means) ** 2 / (8 * average)
        of_covariances = np.log(average / np.sqrt(np.outer(variances, variances))) / 2
        panels.append(np.triu(of_means, 1) + np.tril(of_covariances, -1))
    for k, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
        image = ax.imshow(panel, vmin=0, vmax=np.max(panels))
        ax.plot([-0.5, len(panel) - 0.5], [-0.5, len(panel) - 0.5], color="white")
        ax.set_xticks(range(len(panel)), labels)
        ax.set_yticks(range(len(panel)), labels)
        ax.set_title(f"filter {k}")
    figure.colorbar(image, ax=axes, label="term of the distance")
    return figure


sqfa = SQFA(4, distance="bhattacharyya", group_size=1, random_state=0).fit(X, y)
draw_parts(sqfa, sqfa.classes_)
# sphinx_gallery_alt = "Terms of means and covariances for pairs of digits"
plt.show()

# %%
# Videos of moving textures, with speeds from -6 to 6 degrees per second, have nearly
# equal class means. Here the terms of the variances are much larger.

videos = make_speed_videos(
    speeds=np.linspace(-6, 6, 7), n_per_speed=150, random_state=0
)
sqfa.fit(videos.data, videos.target)
figure = draw_parts(sqfa, [f"{speed:.0f}" for speed in videos.speeds])
figure.suptitle("speeds, in degrees per second")
# sphinx_gallery_alt = "Terms of means and covariances for pairs of speeds"
plt.show()
