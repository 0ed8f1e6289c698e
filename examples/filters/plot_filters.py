"""
Plot filters, class ellipses and distances
==========================================

A linear filter of images is an image itself. The displays of :mod:`skgeom.plotting`
draw filters of digits and of moving patterns, the classes in the space of the features,
and the distances between classes.
"""

# sphinx_gallery_thumbnail_number = 5

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from skgeom import SQFA
from skgeom.plotting import (
    ClassEllipsesDisplay,
    DistanceMatrixDisplay,
    FilterDisplay,
)

# %%
# Digits
# ------
#
# Six filters for images of 8 x 8 pixels. White is zero; each filter has its own scale.
# In a pipeline, the display finds the step that has filters.

X, y = load_digits(return_X_y=True)
X = X / X.std()
model = make_pipeline(SQFA(6, random_state=0), QuadraticDiscriminantAnalysis(tol=0))
model.fit(X, y)
FilterDisplay.from_estimator(model, shape=(8, 8), n_columns=6)
plt.show()

# %%
# The digits in the plane of two filters: means, and ellipses of one standard deviation.

ClassEllipsesDisplay.from_estimator(model, X, y, label="digit")
plt.show()

# %%
# Six filters together separate all pairs. A classifier will confuse the closest ones.

display = DistanceMatrixDisplay.from_estimator(model, values_format=".1f")
display.ax_.set(xlabel="digit", ylabel="digit")
plt.show()

# %%
# Moving patterns
# ---------------
#
# A random texture, seen through a slit of 2 degrees, drifts with one of 17 speeds. A
# sample is a picture of space and time, 15 frames of 20 pixels. All classes have zero
# mean: only their covariances differ.

rng = np.random.default_rng(0)
position = np.linspace(-1, 1, 20)  # degrees
time = np.linspace(0, 0.25, 15)  # seconds
speeds = np.arange(-8, 9)  # degrees per second
frequency = np.arange(0.25, 3, 0.25)  # cycles per degree
y = np.repeat(speeds, 300)
place = position - y[:, None, None] * time[:, None]  # of the texture
X = np.zeros_like(place)
for f in frequency:
    phase = rng.uniform(0, 2 * np.pi, size=(len(y), 1, 1))
    X += rng.rayleigh(size=phase.shape) / f * np.cos(2 * np.pi * f * place + phase)
X *= np.cos(np.pi / 2 * position)  # the slit fades out
X = (X + 0.1 * rng.standard_normal(X.shape)).reshape(len(y), -1)

# %%
# Four filters, learned two at a time. Time runs downwards, so a stripe from the upper
# right to the lower left is a bar that moves to the left. The filters are tuned to
# directions of motion: the first and the last one to the left, the others to the right.
# For each direction there is an odd and an even filter. The sum of their squares
# measures the energy of the motion in this direction, whatever the phase of the
# texture.

sqfa = SQFA(4, group_size=2, random_state=0).fit(X, y)
FilterDisplay.from_estimator(
    sqfa,
    shape=(15, 20),
    extent=(-1, 1, 250, 0),
    xlabel="position (deg)",
    ylabel="time (ms)",
    n_columns=4,
    limits="shared",
)
plt.show()

# %%
# Ordered classes are coloured in their order. In the plane of two filters of opposite
# directions, the speed rotates a narrow ellipse. In the plane of the odd and the even
# filter of one direction, it changes the size of the ellipse.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, dims in zip(panels, [(0, 1), (0, 3)], strict=True):
    ClassEllipsesDisplay.from_estimator(
        sqfa,
        dims=dims,
        ax=ax,
        cmap="coolwarm",
        label="speed (deg/s)",
        legend=ax is panels[1],
    )
plt.show()

# %%
# Neighbouring speeds are close to each other, fast ones closer than slow ones. As in
# Weber's law, the same difference matters less at high speeds.

display = DistanceMatrixDisplay.from_estimator(sqfa)
display.ax_.set(xlabel="speed (deg/s)", ylabel="speed (deg/s)")
plt.show()
