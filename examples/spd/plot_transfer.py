"""
Re-centering and activation patterns on simulated EEG
=====================================================

Covariances of EEG differ more between subjects than between imagined movements.
Re-centering moves the mean of each subject to the identity, without labels. In this
example, recordings of nineteen electrodes are simulated, so the true sources are known.
The sources are rhythms over the motor areas of the left hand, the right hand and the
feet, and one rhythm that is unrelated to movements. In each trial, the rhythm of the
imagined movement is weaker.
"""

# sphinx_gallery_thumbnail_number = 203

import matplotlib.pyplot as plt
import numpy as np
from mne.viz import plot_topomap
from sklearn.base import clone
from sklearn.decomposition import PCA

from skgeom import (
    Recentering,
    TransferDiscriminantAnalysis,
    activation_patterns,
    spatial_filters,
)
from skgeom.geometry import logm, mean_affine_invariant

ELECTRODES = {
    **{"Fp1": (-2, 6), "Fp2": (2, 6), "F7": (-5, 3.5), "F3": (-2.5, 3.2), "Fz": (0, 3)},
    **{"F4": (2.5, 3.2), "F8": (5, 3.5), "T7": (-6, 0), "C3": (-3, 0), "Cz": (0, 0)},
    **{"C4": (3, 0), "T8": (6, 0), "P7": (-5, -3.5), "P3": (-2.5, -3.2)},
    **{"Pz": (0, -3), "P4": (2.5, -3.2), "P8": (5, -3.5), "O1": (-2, -6)},
    **{"O2": (2, -6)},
}
PLACES = np.array(list(ELECTRODES.values())) / 75  # in meters
SOURCES = np.array([[3, 0], [-3, 0], [0, 0], [0, -5]]) / 75  # last: no movement
MOVEMENTS = np.array(["left hand", "right hand", "feet"])
N_PEOPLE, N_TRIALS = 5, 150
rng = np.random.default_rng(0)


def record(y):
    """Covariances of the trials of one subject with movements y."""
    shifts = rng.normal(size=SOURCES.shape) * 0.008
    squared = ((PLACES[:, None] - SOURCES - shifts) ** 2).sum(axis=2)
    mixing = np.exp(-squared / (2 * 0.035**2))
    gains = rng.lognormal(sigma=0.3, size=len(PLACES))
    powers = rng.lognormal([0.3, 0.3, 0.3, 1], 0.3, size=(len(y), 4))
    powers[np.arange(len(y)), y] *= 0.45  # the area of the movement is desynchronized
    signals = rng.normal(size=(len(y), 4, 80)) * np.sqrt(powers)[:, :, None]
    signals = mixing @ signals + 0.3 * rng.normal(size=(len(y), len(PLACES), 80))
    signals = gains[:, None] * signals
    return signals @ signals.mT / 80


y = rng.integers(3, size=N_PEOPLE * N_TRIALS)
person = np.repeat(np.arange(N_PEOPLE), N_TRIALS)
X = np.concatenate([record(y[person == p]) for p in range(N_PEOPLE)])
new = person == N_PEOPLE - 1

# %%
# The left plot shows two principal components of the matrix logarithms, which separate
# the subjects. The right plot shows two principal components of the class scores after
# re-centering. A model that is trained on four subjects separates the movements of the
# fifth subject.

Z = Recentering().fit_transform(X, domain=person)
model = TransferDiscriminantAnalysis().fit(X[~new], y[~new], domain=person[~new])
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
rows, columns = np.triu_indices(len(PLACES))
plane = PCA(2).fit_transform(logm(X)[:, rows, columns])
for p in range(N_PEOPLE):
    name = "new subject" if p == N_PEOPLE - 1 else f"subject {p + 1}"
    axes[0].scatter(*plane[person == p].T, s=8, label=name)
axes[0].legend()
axes[0].set(title="not re-centered: colors are subjects", xticks=[], yticks=[])
scores = model.decision_function(X, domain=person)
plane = PCA(2).fit(scores[~new]).transform(scores)
for label, name in enumerate(MOVEMENTS):
    others, own = ~new & (y == label), new & (y == label)
    axes[1].scatter(*plane[others].T, s=6, alpha=0.3, color=f"C{label}")
    axes[1].scatter(*plane[own].T, s=18, color=f"C{label}", marker="x", label=name)
axes[1].legend()
axes[1].set(title="re-centered: scores (x: new subject)", xticks=[], yticks=[])
# sphinx_gallery_alt = "Clusters of subjects; after re-centering, of movements"
plt.show()

# %%
# Accuracy for the new subject
# ----------------------------
#
# Without re-centering, the accuracy is little above chance (33.3 %). Online,
# ``partial_adapt`` updates the mean of the new subject with each trial before the
# prediction of this trial. It also adapts the class means if a test on the trials so
# far accepts the adaptation. The online accuracy includes the first trials, for which
# the mean is uncertain.

session = ["new"] * int(new.sum())
fixed = TransferDiscriminantAnalysis().fit(X[~new], y[~new])
print(f"not re-centered:            {fixed.score(X[new], y[new]):.1%}")
accuracy = model.score(X[new], y[new], domain=session)
print(f"re-centered by all trials:  {accuracy:.1%}")

online = clone(model).fit(X[~new], y[~new], domain=person[~new])
correct = []
for x, movement in zip(X[new][:, None], y[new], strict=True):
    online.partial_adapt(x, domain="new")
    correct.append(online.predict(x, domain="new")[0] == movement)
print(f"updated trial by trial:     {np.mean(correct):.1%}")

# %%
# Filters and activation patterns
# -------------------------------
#
# The first row shows, for each movement, the spatial filter with the smallest output
# power in the class mean. The class means are means of re-centered matrices. To apply
# such a filter w to the original signals, use :math:`M^{-1/2} w`, where M is the mean
# covariance of the subject. The second row shows the activation patterns. They locate
# the weaker rhythm over the motor area; for hand movements, this area is in the
# hemisphere opposite to the hand. The weights of the filters do not show the location,
# because the filters also suppress other rhythms.

mean = mean_affine_invariant(X[new])
values, vectors = np.linalg.eigh(mean)
whitening = (vectors / np.sqrt(values)) @ vectors.T
filters = []
for class_mean in model.means_:
    found, ratios = spatial_filters(class_mean, np.eye(len(PLACES)))
    weakest = ratios.argmin()  # the smallest output power in this class
    filters.append(found[weakest] @ whitening)
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
# sphinx_gallery_alt = "Scalp maps of three filters and of their activation patterns"
plt.show()
