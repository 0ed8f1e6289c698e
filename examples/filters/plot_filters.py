"""
Plot filters, class ellipses and distances
==========================================

A linear filter of images is an image itself. The displays of :mod:`skgeom.plotting`
draw filters of digits and of moving patterns, the class distributions of two features,
and the distances between classes.
"""

# sphinx_gallery_thumbnail_number = 6

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
# Filters of digits
# -----------------
#
# Learn six filters of images of 8 x 8 pixels. White is zero; each filter has its own
# color scale. In a pipeline, the display draws the filters of the last step that has
# filters.

X, y = load_digits(return_X_y=True)
X = X / X.std()
model = make_pipeline(SQFA(6, random_state=0), QuadraticDiscriminantAnalysis(tol=0))
model.fit(X, y)
FilterDisplay.from_estimator(model, shape=(8, 8), n_columns=6)
# sphinx_gallery_alt = "Six filters of digits as red and blue images"
plt.show()

# %%
# Plot the class means and ellipses of one standard deviation for two filters.

ClassEllipsesDisplay.from_estimator(model, X, y, label="digit")
# sphinx_gallery_alt = "Ellipses of ten digits in the plane of two filters"
plt.show()

# %%
# Six filters together separate all pairs of digits. A classifier confuses the closest
# pairs most often.

display = DistanceMatrixDisplay.from_estimator(model, values_format=".1f")
display.ax_.set(xlabel="digit", ylabel="digit")
# sphinx_gallery_alt = "Matrix of distances between ten digits, with values"
plt.show()

# %%
# Filters of moving patterns
# --------------------------
#
# A random texture behind a slit of 2 degrees moves at one of 17 speeds. A sample is an
# image of space and time, 15 frames of 20 pixels. All class means are zero: only the
# class covariances differ.

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
# Learn four filters in groups of two. Time runs downwards, so a stripe from the upper
# right to the lower left is a bar that moves to the left. The first and the last filter
# respond to motion to the left, the second and the third filter to motion to the right.
# Each direction has an odd and an even filter. The sum of the squared outputs of an odd
# and an even filter measures the energy of the motion in their direction, independently
# of the phase of the texture.

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
# sphinx_gallery_alt = "Four slanted filters of space and time"
plt.show()

# %%
# The color map shows the order of the classes. For two filters of opposite directions,
# the speed rotates a narrow ellipse. For the odd and the even filter of one direction,
# the speed changes the size of the ellipse.

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
# sphinx_gallery_alt = "Ellipses of 17 speeds, rotated and scaled by the speed"
plt.show()

# %%
# Neighboring speeds have small distances. The distances are smaller for high speeds
# than for low speeds: as in Weber's law, the same difference matters less at high
# speeds.

display = DistanceMatrixDisplay.from_estimator(sqfa)
display.ax_.set(xlabel="speed (deg/s)", ylabel="speed (deg/s)")
# sphinx_gallery_alt = "Matrix of distances between speeds, small near the diagonal"
plt.show()
