"""
Nonlinear filters, and what filters use
=======================================

A filter on kernel components is a nonlinear function of the image. This page compares
nine of each kind on digits, draws the images that nonlinear filters are made for, shows
how many filters are enough, and what separates the classes: means or covariances.
"""

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline

from skgeom import SQFA, GaussianClassifier, LandmarkKernelPCA
from skgeom.datasets import make_speed_videos
from skgeom.plotting import (
    ComponentCurveDisplay,
    DistancePartsDisplay,
    FilterDisplay,
)

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
    print(f"nine {name} filters: {score:.3f}")

# %%
# Preimages
# ---------
#
# A nonlinear filter is no image, but there is an image at which its output is largest,
# in the upper row, and one at which it is smallest, in the lower row. The filter tells
# the first kind of digit from the second.

pca, filters = nonlinear[0], nonlinear[1].components_
images = np.concatenate([pca.preimages(filters), pca.preimages(-filters)])
FilterDisplay(images.reshape(-1, 8, 8)).plot(n_columns=9, cmap="gray")
plt.show()

# %%
# How many filters?
# -----------------
#
# Filters in groups are ordered, so that one fit serves for all numbers. The error of a
# classifier of samples that are left out falls more slowly than the Bayes error of
# Gaussians with the same statistics: digits are no Gaussians.

sqfa = SQFA(18, distance="hellinger", group_size=2, random_state=0)
cv = StratifiedKFold(5, shuffle=True, random_state=0)
display = ComponentCurveDisplay.from_estimator(sqfa, X, y, cv=cv)
display.ax_.set(xlabel="number of filters", yscale="log", ylim=(1e-3, 1))
plt.show()

# %%
# Means or covariances?
# ---------------------
#
# Digits are separated by their means, the cells above the diagonals. Each panel is one
# filter on its own.

sqfa = SQFA(4, distance="bhattacharyya", group_size=1, random_state=0).fit(X, y)
DistancePartsDisplay.from_estimator(sqfa, each_filter=True)
plt.show()

# %%
# Videos of textures that move, from -6 to 6 degrees per second, have nearly equal
# means. Their covariances separate the speeds, in the cells below the diagonals.

videos = make_speed_videos(
    speeds=np.linspace(-6, 6, 7), n_per_speed=150, random_state=0
)
sqfa = SQFA(4, distance="bhattacharyya", group_size=1, random_state=0)
sqfa.fit(videos.data, videos.target)
display = DistancePartsDisplay.from_estimator(sqfa, each_filter=True)
for ax in display.axes_:
    speeds = [f"{speed:.0f}" for speed in videos.speeds]
    ax.set_xticks(range(7), speeds)
    ax.set_yticks(range(7), speeds)
display.figure_.suptitle("speeds, in degrees per second")
plt.show()
