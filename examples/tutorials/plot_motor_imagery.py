"""
Motor imagery: from covariances to scalp topographies
=====================================================

Imagined movements weaken rhythms of 10 to 30 Hz over the motor cortex. This tutorial
classifies covariance matrices of EEG trials by the imagined movement. Scalp maps show
the activation pattern of the rhythm whose power decreases most during each movement.
"""

# %%
# Data
# ----
#
# The data are from BCI competition IV, data set 2a, subject 3: 22 channels, four
# imagined movements, and 288 trials on each of two days. Each trial is one covariance
# matrix of the signals from 0.5 to 2.5 s after the cue, filtered to 10 to 30 Hz.
# The file ``bci_iv_2a_s1_to_s4.npz`` in the folder ``SKGEOM_DATA`` contains the
# covariances of the authors of PLRSQ, and cannot be downloaded. If you do not have this
# file, compute covariances from the signals, which MOABB downloads. The accuracies may
# then differ from this page::
#
#     from moabb.datasets import BNCI2014_001
#     from moabb.paradigms import MotorImagery
#     from pyriemann.estimation import Covariances
#
#     paradigm = MotorImagery(n_classes=4, fmin=10, fmax=30, tmin=0.5, tmax=2.5)
#     signals, labels, details = paradigm.get_data(BNCI2014_001(), subjects=[3])
#     covariances = Covariances().transform(signals)
#     second_day = (details["session"] == "1test").to_numpy()
#     movements = np.char.replace(labels.astype(str), "_", " ")

# sphinx_gallery_thumbnail_number = 200

import os
from pathlib import Path

import matplotlib.pyplot as plt
import mne
import numpy as np
from pyriemann.classification import MDM
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import cross_val_score

from skgeom import PLRSQ, Recentering, activation_patterns, spatial_filters
from skgeom.baselines import tslda
from skgeom.geometry import mean_affine_invariant

with np.load(Path(os.environ["SKGEOM_DATA"], "bci_iv_2a_s1_to_s4.npz")) as file:
    covariances, numbers, second_day = file["cov_3"], file["y_3"], file["test_3"]
names = np.array(["left hand", "right hand", "feet", "tongue"])
movements = names[numbers]
X, y = covariances[~second_day], movements[~second_day]
print(X.shape)

# %%
# Compare classifiers
# -------------------
#
# Compare the accuracy in five folds of the first day. MDM is pyRiemann's classifier of
# nearest class means, ``tslda`` is linear discriminant analysis in the tangent space,
# and PLRSQ learns prototypes. Chance is 25 %.

for name, model in {"MDM": MDM(), "tslda": tslda(), "PLRSQ": PLRSQ()}.items():
    scores = cross_val_score(model, X, y, cv=5)
    print(f"{name:6s} {scores.mean():.1%} (standard error {scores.std() / 5**0.5:.1%})")

# %%
# Test on the second day
# ----------------------
#
# Train on the first day and test on the second day. The signals change between days, so
# first move the mean of each day to the identity. Re-centering does not use labels.

day = second_day
Z = Recentering().fit_transform(covariances, domain=day)
model = PLRSQ().fit(Z[~day], y)
y_test = movements[day]
print(f"second day: {model.score(Z[day], y_test):.1%}")
ConfusionMatrixDisplay.from_estimator(
    model,
    Z[day],
    y_test,
    normalize="true",
    values_format=".0%",
    cmap="Blues",
    colorbar=False,
)
# sphinx_gallery_alt = "Confusion matrix of four imagined movements"
plt.show()

# %%
# Topographies of activation patterns
# -----------------------------------
#
# For each movement, compare the mean of its trials with the mean of all trials.
# :func:`~skgeom.spatial_filters` returns filters and ratios. The ratio of a filter is
# its output power during the movement, divided by its output power in the mean of all
# trials. The filter with the smallest ratio extracts the component whose power is
# reduced most. The activation pattern of the filter shows the location of this rhythm.
# The weights of the filter do not show the location, because the filter also suppresses
# other rhythms.

# The names and the order of the channels are from the description of the data set.
channels = (
    "Fz FC3 FC1 FCz FC2 FC4 C5 C3 C1 Cz C2 C4 C6 CP3 CP1 CPz CP2 CP4 P1 Pz P2 POz"
).split()
info = mne.create_info(channels, sfreq=250, ch_types="eeg")
info.set_montage("biosemi64")

overall = mean_affine_invariant(X)
figure, axes = plt.subplots(1, 4, figsize=(9, 2.8), layout="constrained")
for axis, name in zip(axes, names, strict=True):
    filters, ratios = spatial_filters(mean_affine_invariant(X[y == name]), overall)
    weakest = ratios.argmin()
    pattern = activation_patterns(filters[[weakest]], overall)[0]
    pattern *= np.sign(pattern[abs(pattern).argmax()])
    mne.viz.plot_topomap(pattern, info, axes=axis, show=False, contours=4)
    axis.set_title(f"{name}\npower {ratios[weakest]:.0%} of the mean")
# sphinx_gallery_alt = "Scalp maps of four movements with their relative power"
plt.show()

# %%
# The patterns of hand movements are strongest over the motor cortex of the opposite
# hemisphere, and the pattern of foot movements is strongest near the midline. No rhythm
# is clearly weaker for the tongue: the ratio is close to one, and the pattern has no
# focus. :ref:`lvq` explains prototypes, and :ref:`patterns` explains activation
# patterns.
