"""
Filters for the speed of natural images
=======================================

How fast does a patch of the world move? The classes are speeds, and the data videos of
natural textures in 250 ms and one degree of the visual field, as the eye sees them. All
classes have nearly the same mean, zero, so that only their covariances tell them apart.
The filters that SQFA learns look like the receptive fields of neurons that respond to
motion (Herrera-Esposito and Burge, 2025).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from skgeom import SQFA
from skgeom.datasets import make_speed_videos
from skgeom.plotting import FilterDisplay

# %%
# The videos are made of two photographs, of which one is for training. Each is averaged
# over its height, so that it is an image of space (horizontal) and time (downwards), in
# which motion is a slant.

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
plt.show()

# %%
# Eight filters, in pairs that are learned one after the other: each pair is the best
# one beside those before it. Neurons respond with noise. SQFA is told its variance, and
# it is added to the responses before they are classified.

noise = 0.001
rng = np.random.default_rng(0)


def responses(model, X):
    features = model.transform(X)
    return features + np.sqrt(noise) * rng.standard_normal(features.shape)


models = {
    "SQFA": SQFA(8, regularization=noise, group_size=2, random_state=0),
    "PCA": PCA(8, random_state=0),
}
figure, axes = plt.subplots(2, 8, figsize=(9, 2.8), layout="constrained")
for row, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X_train, y_train)
    classifier = QuadraticDiscriminantAnalysis(tol=0)
    classifier.fit(responses(model, X_train), y_train)
    accuracy = classifier.score(responses(model, X_test), y_test)
    print(f"{name:>4}: quadratic discriminant accuracy {accuracy:.3f}")
    FilterDisplay.from_estimator(
        model, (15, 30), titles=None, axes=row, cmap="gray", aspect="auto"
    )
    row[0].set_ylabel(name)
figure.suptitle("Most filters of SQFA are slanted: they prefer a direction of motion")
plt.show()
