"""
From EEG trials to a classifier
===============================

Trials of an electroencephalogram (EEG), recorded on two days: how to make covariance
matrices of them, compare classifiers, look at what was learnt, and carry it over to the
second day. The trials are simulated, since recordings are large; they come as an
array of shape (trials, channels, times), as ``mne.Epochs.get_data()`` gives them.
"""

# %%
# The trials
# ----------
#
# Twelve channels see a mixture of twelve sources. While a person imagines a movement of
# the left or the right hand, or of the feet, one of three sources gets weaker. On the
# second day the cap sits a little differently: the mixture is another one.

import matplotlib.pyplot as plt
import numpy as np
from pyriemann.estimation import Covariances
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from skgeom import PLRSQ, Recentering
from skgeom.baselines import mdrm, tslda

rng = np.random.default_rng(1)
classes = np.array(["feet", "left", "right"])
n_channels, n_times = 12, 150
mixing, _ = np.linalg.qr(rng.normal(size=(n_channels, n_channels)))


def record(n_trials, mixing):
    """Trials of one day, and what was imagined in each."""
    y = rng.integers(3, size=n_trials)
    spread = np.where(np.arange(n_channels) < 3, 0.3, 0.8)
    amplitudes = np.exp(spread * rng.normal(size=(n_trials, n_channels)))
    amplitudes[np.arange(n_trials), y] *= 0.55
    sources = amplitudes[:, :, None] * rng.normal(size=(n_trials, n_channels, n_times))
    return mixing @ sources, classes[y]


shift = np.eye(n_channels) + 0.15 * rng.normal(size=(n_channels, n_channels))
day_1, y_1 = record(210, mixing)
day_2, y_2 = record(210, shift @ mixing)

figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.plot(day_1[0, :6].T - 6 * np.arange(6), lw=0.8)
axis.set(xlabel="time (samples)", ylabel="channel", yticks=[], title="one trial")
plt.show()

# %%
# Covariance matrices
# -------------------
#
# What tells the trials apart is the power of the sources, and it is in the covariances
# of the channels. A shrunk estimate is positive definite even for short trials.

covariances = Covariances("oas")
X_1 = covariances.fit_transform(day_1)
print(X_1.shape)

# %%
# Which classifier?
# -----------------
#
# Distances from class means (MDM), discriminants in the tangent space, and learnt
# prototypes. Each is a step of a pipeline behind the covariances.

models = {
    "class means": mdrm(),
    "tangent space": tslda(),
    "prototypes": PLRSQ(),
    "prototypes, metric of MDM": PLRSQ(metric="riemann"),
}
for name, model in models.items():
    pipeline = make_pipeline(Covariances("oas"), model)
    scores = cross_val_score(pipeline, day_1, y_1, cv=5)
    print(f"{name:28s} {scores.mean():.3f} +- {scores.std() / np.sqrt(5):.3f}")

# %%
# What a prototype says
# ---------------------
#
# A prototype is a covariance matrix itself. In directions where it differs most from
# the mean of all prototypes, its class has its own power. Here the direction with the
# least relative power is the source that the movement damps: its pattern over the
# channels agrees with the column of the true mixture.

model = PLRSQ().fit(X_1, y_1)
mean = model.prototypes_.mean(axis=0)
figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained", sharey=True)
for source, (panel, prototype) in enumerate(
    zip(panels, model.prototypes_, strict=True)
):
    factor = np.linalg.cholesky(mean)
    whitened = np.linalg.solve(factor, np.linalg.solve(factor, prototype).T)
    _, directions = np.linalg.eigh(whitened)
    pattern = factor @ directions[:, 0]
    pattern *= np.sign(pattern @ mixing[:, source]) / np.linalg.norm(pattern)
    panel.bar(np.arange(n_channels) - 0.2, pattern, 0.4, label="found")
    panel.bar(np.arange(n_channels) + 0.2, mixing[:, source], 0.4, label="true")
    panel.set(title=classes[source], xlabel="channel")
panels[0].legend()
plt.show()

# %%
# The second day
# --------------
#
# The prototypes of the first day fit the second one badly: the cap sits differently.
# Most of that is a change of the mean of all trials, which can be taken out without any
# labels: each day is moved such that its mean is the identity.

X_2 = covariances.transform(day_2)
print(f"as it is:            {model.score(X_2, y_2):.3f}")

recentering = Recentering()
day = np.repeat([1, 2], 210)
X = recentering.fit_transform(np.concatenate([X_1, X_2]), domain=day)
model = PLRSQ().fit(X[day == 1], y_1)
print(f"re-centered:         {model.score(X[day == 2], y_2):.3f}")

# %%
# With labels of some trials of the second day, the prototypes go on learning.

first, rest = X[day == 2][:60], X[day == 2][60:]
before = model.score(rest, y_2[60:])
model.set_params(solver="sgd", learning_rate=0.1)
for _epoch in range(3):
    model.partial_fit(first, y_2[:60])
print(f"trials after the 60th, before and after: {before:.3f}, ", end="")
print(f"{model.score(rest, y_2[60:]):.3f}")
ConfusionMatrixDisplay.from_estimator(model, rest, y_2[60:], colorbar=False)
plt.show()
