"""
From other people to a new one, without labels
==============================================

Covariances of EEG differ more between people than between the movements they imagine.
Recentering moves the mean of each person to the identity, and adaptation then finds the
new person's classes. The recordings are simulated: nineteen electrodes, and rhythms
over the left hand's, the right hand's and the feet's motor areas, one of which is
weaker in each trial.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from mne.viz import plot_topomap
from sklearn.decomposition import PCA

from skgeom import (
    Recentering,
    TransferDiscriminantAnalysis,
    activation_patterns,
    spatial_filters,
)
from skgeom.geometry import logm

ELECTRODES = {
    **{"Fp1": (-2, 6), "Fp2": (2, 6), "F7": (-5, 3.5), "F3": (-2.5, 3.2), "Fz": (0, 3)},
    **{"F4": (2.5, 3.2), "F8": (5, 3.5), "T7": (-6, 0), "C3": (-3, 0), "Cz": (0, 0)},
    **{"C4": (3, 0), "T8": (6, 0), "P7": (-5, -3.5), "P3": (-2.5, -3.2)},
    **{"Pz": (0, -3), "P4": (2.5, -3.2), "P8": (5, -3.5), "O1": (-2, -6)},
    **{"O2": (2, -6)},
}
PLACES = np.array(list(ELECTRODES.values())) / 75  # in metres
SOURCES = np.array([[3, 0], [-3, 0], [0, 0], [0, -5]]) / 75  # the last is no movement
MOVEMENTS = np.array(["left hand", "right hand", "feet"])
N_PEOPLE, N_TRIALS = 5, 150
rng = np.random.default_rng(0)


def record(y):
    """Covariances of a person's trials of movements y."""
    shifts = rng.normal(size=SOURCES.shape) * 0.008
    squared = ((PLACES[:, None] - SOURCES - shifts) ** 2).sum(axis=2)
    mixing = np.exp(-squared / (2 * 0.035**2))
    gains = rng.lognormal(sigma=0.3, size=len(PLACES))
    powers = rng.lognormal([0.3, 0.3, 0.3, 1], 0.3, size=(len(y), 4))
    powers[np.arange(len(y)), y] *= 0.45  # the area of the movement is desynchronised
    signals = rng.normal(size=(len(y), 4, 80)) * np.sqrt(powers)[:, :, None]
    signals = mixing @ signals + 0.3 * rng.normal(size=(len(y), len(PLACES), 80))
    signals = gains[:, None] * signals
    return signals @ signals.mT / 80


y = rng.integers(3, size=N_PEOPLE * N_TRIALS)
person = np.repeat(np.arange(N_PEOPLE), N_TRIALS)
X = np.concatenate([record(y[person == p]) for p in range(N_PEOPLE)])
new = person == N_PEOPLE - 1

# %%
# The logarithms of the matrices, in the plane of their two leading principal
# components: people are apart, and movements hardly. After re-centering, people lie on
# one another. The scores of the movements are learnt from the other people only.

Z = Recentering().fit_transform(X, domain=person)
model = TransferDiscriminantAnalysis().fit(X[~new], y[~new], person[~new])
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
rows, columns = np.triu_indices(len(PLACES))
plane = PCA(2).fit_transform(logm(X)[:, rows, columns])
for p in range(N_PEOPLE):
    name = "new person" if p == N_PEOPLE - 1 else f"person {p + 1}"
    axes[0].scatter(*plane[person == p].T, s=8, label=name)
axes[0].legend()
axes[0].set(title="as they are, colours are people", xticks=[], yticks=[])
scores = model.decision_function(X, domain=person)
plane = PCA(2).fit(scores[~new]).transform(scores)
for label, name in enumerate(MOVEMENTS):
    others, own = ~new & (y == label), new & (y == label)
    axes[1].scatter(*plane[others].T, s=6, alpha=0.3, color=f"C{label}")
    axes[1].scatter(*plane[own].T, s=18, color=f"C{label}", marker="x", label=name)
axes[1].legend()
axes[1].set(title="re-centered: scores (x: new person)", xticks=[], yticks=[])

# %%
# Re-centering alone, and adaptation as well; and both a trial at a time, with no data
# of the new subject at first.

session = ["new"] * int(new.sum())
print(f"re-centered: {model.score(X[new], y[new], domain=session):.3f}")
print(f"adapted:     {model.adapt(X[new]).score(X[new], y[new]):.3f}")

online = TransferDiscriminantAnalysis().fit(X[~new], y[~new], person[~new])
correct = []
for x, movement in zip(X[new][:, None], y[new], strict=True):
    online.partial_adapt(x, ["new"])
    correct.append(online.predict(x, ["new"])[0] == movement)
last = np.mean(correct[-50:])
print(f"online:      {np.mean(correct):.3f}, the last 50 trials {last:.3f}")

# %%
# What tells a movement apart, in the new person: the spatial filter by which the
# adapted class mean differs most from the identity, and its activation pattern. A
# filter of re-centered signals is one of the recording after :math:`M^{-1/2}`, with the
# person's mean M. Patterns, in the second row, show where the rhythm is that is weaker
# during the movement: over the motor area, on the opposite side for a hand. Filters do
# not: they have large weights where they subtract other rhythms.

mean = model.recentering_.means_[None]
values, vectors = np.linalg.eigh(mean)
whitening = (vectors / np.sqrt(values)) @ vectors.T
filters = []
for class_mean in model.means_:
    found, ratios = spatial_filters(class_mean, np.eye(len(PLACES)))
    strongest = ratios.argmin()  # of the least power, in this class
    filters.append(found[strongest] @ whitening)
patterns = activation_patterns(np.array(filters), mean)
shown = np.concatenate([filters, patterns])
shown *= np.sign(shown.sum(axis=1, keepdims=True))
titles = [f"{name}, {kind}" for kind in ("filter", "pattern") for name in MOVEMENTS]
figure, axes = plt.subplots(2, 3, figsize=(7.5, 5), layout="constrained")
for axis, values, title in zip(axes.flat, shown, titles, strict=True):
    limit = np.abs(values).max()
    plot_topomap(
        values, PLACES, axes=axis, show=False, vlim=(-limit, limit), contours=4
    )
    axis.set_title(title, fontsize="medium")
plt.show()
