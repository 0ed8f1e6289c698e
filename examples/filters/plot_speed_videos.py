"""
Motion filters from natural videos
==================================

The classes are speeds of moving image patches. Each video shows a natural texture for
250 ms in one degree of the visual field, filtered by a model of the eye. All class
means are nearly zero, so only the class covariances differ. According to
Herrera-Esposito and Burge (2025), such filters resemble the receptive fields of neurons
that respond to motion.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from skgeom import SQFA, ClassStatistics, GaussianClassifier
from skgeom.datasets import make_speed_videos
from skgeom.plotting import FilterDisplay

# %%
# The training videos show one photograph, and the test videos show a different
# photograph. Each video is averaged over its height, which yields an image of space
# (horizontal) and time (downwards). Moving surfaces appear as slanted lines.

videos = make_speed_videos(
    speeds=np.linspace(-6, 6, 13), n_per_speed=600, random_state=0
)
train = videos.image_id == 0
X_train, y_train = videos.data[train], videos.target[train]
X_test, y_test = videos.data[~train], videos.target[~train]

figure, axes = plt.subplots(2, 7, figsize=(9, 3), layout="constrained")
for column, k in zip(axes.T, range(0, 13, 2), strict=True):
    FilterDisplay(videos.videos[~train][y_test == k][:2]).plot(
        axes=column, cmap="gray", aspect="auto"
    )
    column[0].set_title(f"{videos.speeds[k]:.0f}°/s")
figure.suptitle("Two videos for each of seven speeds")
# sphinx_gallery_alt = "Videos of seven speeds as slanted patterns in space and time"
plt.show()

# %%
# SQFA learns eight filters in pairs, one pair after the other. Each pair maximizes the
# objective together with the earlier pairs. SQFA-H uses the Hellinger distance.
# Responses of neurons are noisy: the regularization of SQFA is the variance of this
# noise. The quadratic classifier adds the same variance to the class covariances of the
# filter outputs (responses).

noise = 0.001


def accuracy(model):
    responses = ClassStatistics.from_data(model.transform(X_train), y_train)
    covariances = responses.covariances + noise * np.eye(8)
    classes = [
        multivariate_normal(mean, covariance)
        for mean, covariance in zip(responses.means, covariances, strict=True)
    ]
    scores = [one.logpdf(model.transform(X_test)) for one in classes]
    return np.mean(np.argmax(scores, axis=0) == y_test)


models = {
    "SQFA-H": SQFA(
        8, distance="hellinger", regularization=noise, group_size=2, random_state=0
    ),
    "SQFA": SQFA(8, regularization=noise, group_size=2, random_state=0),
    "PCA": PCA(8, random_state=0),
}
figure, axes = plt.subplots(3, 8, figsize=(9, 4.4), layout="constrained")
for row, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X_train, y_train)
    score = accuracy(model)
    print(f"{name:>6}: test accuracy of the quadratic classifier {score:.1%}")
    FilterDisplay.from_estimator(
        model, (15, 30), titles=None, axes=row, cmap="gray", aspect="auto"
    )
    row[0].set_ylabel(f"{name}\n{score:.1%}")
figure.suptitle("Eight filters and the test accuracy: slanted filters detect motion")
# sphinx_gallery_alt = "Eight motion filters each of SQFA-H, SQFA and PCA"
plt.show()

# %%
# Filters for known sensor noise
# ------------------------------
#
# Sensor noise may be correlated. In this example, the noise is flicker, which is equal
# for all pixels of a frame, plus small independent noise. If the covariance of the
# noise is added to the class covariances, the filters suppress flicker, and the
# accuracy on noisy test videos is higher than with the variance 0.003.

flicker = np.kron(np.eye(15), np.full((30, 30), 1 / 30))
covariance = 0.01 * flicker + 0.0002 * np.eye(450)
rng = np.random.default_rng(0)
noisy = X_test + rng.multivariate_normal(np.zeros(450), covariance, len(X_test))
statistics = ClassStatistics.from_data(X_train, y_train)
with_noise = statistics.with_noise(covariance)
for name, training, sigma2 in [
    ("covariance", with_noise, 0),
    ("variance", statistics, 0.003),
]:
    model = SQFA(
        4, distance="hellinger", regularization=sigma2, n_init=1, random_state=0
    ).fit_statistics(training)
    responses = with_noise.project(model.components_)
    classifier = GaussianClassifier(regularization=0).fit_statistics(responses)
    score = classifier.score(model.transform(noisy), y_test)
    print(f"With the {name} of the noise: accuracy on noisy videos {score:.1%}")
