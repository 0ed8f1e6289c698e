"""
SSVEP classification from raw EEG signals
=========================================

Lights that flicker at 13, 17 and 21 Hz evoke EEG oscillations of the same frequency
(steady-state visual evoked potentials, SSVEP). This tutorial filters raw signals,
computes covariance matrices, compares classifiers of the frequency for twelve subjects,
and plots the power that separates the frequencies.
"""

# %%
# Data
# ----
#
# The file ``eeg_ssvep.npz`` in the folder ``SKGEOM_DATA`` contains signals of 8
# occipital channels at 256 Hz, 864 trials of twelve subjects (Kalunga et al., 2016). It
# cannot be downloaded: cut the trials beforehand from the recordings at
# https://github.com/sylvchev/dataset-ssvep-exoskeleton, from 0.5 s before to 5.5 s
# after the start of each trial. MOABB downloads the recordings as well::
#
#     from moabb.datasets import Kalunga2016
#
#     recordings = Kalunga2016().get_data(subjects=[7])
#
# The array ``X`` has the axes trial, channel and time, like the result of
# ``mne.Epochs.get_data()``. It contains integers, which ``scale`` converts to signals.
# The class ``y`` is 0 without a light, and 1 to 3 for the frequencies.
#
# Use only the trials with a light. Most trials without a light (rest) were recorded
# before all other trials, so slow changes of the signals would also separate rest from
# the frequencies.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from pyriemann.classification import MDM
from pyriemann.estimation import Covariances
from scipy.signal import butter, sosfiltfilt, welch
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skgeom import PLRSQ
from skgeom.baselines import tslda
from skgeom.geometry import mean_affine_invariant

with np.load(Path(os.environ["SKGEOM_DATA"], "eeg_ssvep.npz")) as file:
    lights = file["y"] > 0
    signals = file["X"][lights] * np.float32(file["scale"])
    y, subject = file["y"][lights].astype(int), file["subject"][lights]
    channels = file["channels"].tolist()
frequencies, sfreq = [13, 17, 21], 256.0
times = -0.5 + np.arange(signals.shape[2]) / sfreq
print(signals.shape, channels)

# %%
# Plot power spectra of channel Oz of subject 7, averaged over trials. Each spectrum has
# a peak at the frequency of the light. The peak at 21 Hz is the smallest.

figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
for label, frequency in enumerate(frequencies, 1):
    some = signals[(subject == 7) & (y == label), 0][:, times > 1]
    hertz, power = welch(some, sfreq, nperseg=512)
    color = f"C{label - 1}"
    axis.semilogy(hertz, power.mean(axis=0), color=color, label=f"{frequency} Hz light")
    axis.axvline(frequency, color=color, ls=":", lw=1)
axis.set(xlim=(5, 30), xlabel="frequency (Hz)", ylabel="power, channel Oz")
figure.legend(loc="outside upper center", ncols=3)
# sphinx_gallery_alt = "Power spectra with peaks at the frequencies of the lights"
plt.show()

# %%
# Covariances of filtered signals
# -------------------------------
#
# Filter the signals around each frequency, and stack the three filtered copies of each
# trial, which results in 24 channels. The diagonal of the covariance then contains the
# power at each frequency. Use the signals from 2 to 5 seconds after the onset of the
# light. Three seconds of narrow-band signals contain few independent values, so
# estimate the covariances with shrinkage (``"lwf"``, Ledoit-Wolf).

window = (times >= 2) & (times < 5)


def filter_bank(signals):
    bands = [
        butter(4, [f - 1, f + 1], "bandpass", fs=sfreq, output="sos")
        for f in frequencies
    ]
    filtered = [sosfiltfilt(band, signals)[..., window] for band in bands]
    return np.concatenate(filtered, axis=1)


features = make_pipeline(FunctionTransformer(filter_bank), Covariances("lwf"))
X = features.fit_transform(signals)
print(X.shape)

# %%
# Compare classifiers
# -------------------
#
# Compute the accuracy in three folds within each subject. Most subjects have 48 trials,
# so the standard error of the accuracy of one subject is about 6 percentage points. The
# covariances can be computed before the cross-validation, because each trial is
# processed separately. MDM is pyRiemann's classifier of nearest class means, ``tslda``
# is linear discriminant analysis in the tangent space, and PLRSQ learns prototypes.

models = {"MDM": MDM(), "tslda": tslda(), "PLRSQ": PLRSQ()}
folds = StratifiedKFold(3, shuffle=True, random_state=0)
scores = {
    name: [
        cross_val_score(model, X[subject == s], y[subject == s], cv=folds).mean()
        for s in range(1, 13)
    ]
    for name, model in models.items()
}
for name, values in scores.items():
    print(f"{name:6s} {np.mean(values):.1%}")

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
for name, marker in zip(models, "s^o", strict=True):
    axis.plot(range(1, 13), 100 * np.array(scores[name]), marker, label=name)
axis.axhline(100 / 3, color="gray", ls=":", label="chance")
axis.set(xlabel="subject", ylabel="accuracy (%)", xticks=range(1, 13), ylim=(30, 102))
figure.legend(ncols=4, loc="outside upper center")
# sphinx_gallery_alt = "Accuracy of three classifiers for twelve subjects"
plt.show()

# %%
# Band power of the class means
# -----------------------------
#
# The diagonal of a class mean contains the power of each channel and band. Plot the
# power of subject 7 relative to the mean of all trials. For lights of 13 and 17 Hz, the
# power in the band of the light is higher than the mean on all channels. For the light
# of 21 Hz, the power in the band of the light hardly differs from the mean (-0.3 to 0.3
# dB), and lower power at 13 Hz distinguishes this light.

mine = subject == 7
overall = np.diag(mean_affine_invariant(X[mine]))
figure, axes = plt.subplots(1, 3, figsize=(8, 2.8), layout="constrained", sharey=True)
for axis, label, frequency in zip(axes, [1, 2, 3], frequencies, strict=True):
    power = np.diag(mean_affine_invariant(X[mine & (y == label)]))
    decibels = 10 * np.log10(power / overall).reshape(3, 8)
    image = axis.imshow(decibels, cmap="RdBu_r", vmin=-4, vmax=4, aspect="auto")
    axis.set_xticks(range(8), channels, rotation=90)
    axis.set_yticks(range(3), [f"{f} Hz" for f in frequencies])
    axis.set_title(f"light of {frequency} Hz")
axes[0].set_ylabel("band")
figure.colorbar(image, ax=axes, label="relative power (dB)")
# sphinx_gallery_alt = "Relative power by band and channel for three lights"
plt.show()

# %%
# :ref:`lvq` explains PLRSQ. To classify a new subject or session, see
# :ref:`sphx_glr_auto_examples_tutorials_plot_transfer_sessions.py`.
