"""
Direction of a traveling wave from complex cross-spectra
========================================================

A wave passes an array of sensors, from left to right or from right to left. The powers
of the sensors and the covariances of all pairs of sensors are equal in both cases. Only
the sign of the phase between two sensors differs, and the cross-spectrum, a complex
Hermitian matrix, contains this sign in its imaginary part. :class:`~skgeom.PLRSQ`
accepts complex Hermitian matrices. :func:`~skgeom.geometry.real_embedding` converts
complex matrices for estimators that require real matrices.
"""

# sphinx_gallery_thumbnail_number = 201

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import hilbert
from sklearn.model_selection import cross_val_score

from skgeom import PLRSQ

rng = np.random.default_rng(0)
N_TRIALS, N_SENSORS, N_TIMES = 160, 6, 200
time = np.arange(N_TIMES) / 200  # seconds
directions = np.array(["leftwards", "rightwards"])

# %%
# Simulate a wave of about 10 Hz that reaches each sensor 8 ms after the previous
# sensor, and add noise.


def record(direction):
    """A trial: signals of shape (sensors, times)."""
    delay = 0.008 * np.arange(N_SENSORS) * (1 if direction == "rightwards" else -1)
    frequency, phase = rng.normal(10, 1), rng.uniform(0, 2 * np.pi)
    wave = np.sin(2 * np.pi * frequency * (time - delay[:, None]) + phase)
    return rng.uniform(0.3, 0.9) * wave + rng.normal(size=(N_SENSORS, N_TIMES))


y = directions[rng.integers(2, size=N_TRIALS)]
trials = np.array([record(direction) for direction in y])

figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for panel, direction in zip(panels, directions, strict=True):
    trial = trials[y == direction][0]
    smooth = np.apply_along_axis(np.convolve, 1, trial, np.ones(7) / 7, "same")
    panel.plot(time[:80], smooth[:, :80].T - 1.6 * np.arange(N_SENSORS), color="C0")
    panel.set(title=f"a wave that moves {direction}", xlabel="time (s)")
    panel.set_yticks(-1.6 * np.arange(N_SENSORS), range(1, N_SENSORS + 1))
panels[0].set_ylabel("sensor (smoothed signal)")
# sphinx_gallery_alt = "Signals of six sensors for waves in two directions"
plt.show()

# %%
# Accuracy with real and complex covariances
# ------------------------------------------
#
# The Hilbert transform computes the analytic signal, whose complex values contain the
# phase of each sensor at each time. The covariances of the analytic signals are
# cross-spectra, summed over all frequencies. The accuracy with their real parts is
# close to the chance level, 50 %, because the real parts do not separate the
# directions.

analytic = hilbert(trials)
spectra = analytic @ analytic.conj().mT / N_TIMES
for name, X in {"real": spectra.real, "complex": spectra}.items():
    scores = cross_val_score(PLRSQ(), X, y, cv=5)
    print(f"{name:8s} {X.shape}  accuracy {scores.mean():.1%}")

# %%
# Phases of the prototypes
# ------------------------
#
# The prototypes are complex. The phase of the entry i, k of a prototype is proportional
# to the delay of the wave from sensor i to sensor k.

model = PLRSQ().fit(spectra, y)
figure, panels = plt.subplots(1, 2, figsize=(8, 3.8), layout="compressed")
for panel, prototype, label in zip(
    panels, model.prototypes_, model.prototype_labels_, strict=True
):
    image = panel.imshow(np.angle(prototype), cmap="RdBu_r", vmin=-np.pi, vmax=np.pi)
    panel.set(title=label, xlabel="sensor", ylabel="sensor")
    panel.set_xticks(range(N_SENSORS), range(1, N_SENSORS + 1))
    panel.set_yticks(range(N_SENSORS), range(1, N_SENSORS + 1))
figure.colorbar(image, ax=panels, label="phase (radians)")
# sphinx_gallery_alt = "Phase matrices of two prototypes with opposite signs"
plt.show()
