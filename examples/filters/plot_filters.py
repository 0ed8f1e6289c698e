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
# Plot the class means and ellipses of one standard deviation for the first two filters.

ClassEllipsesDisplay.from_estimator(model, X, y, label="digit")
# sphinx_gallery_alt = "Ellipses of ten digits in the plane of two filters"
plt.show()

# %%
# The heat map shows the Fisher-Rao distance between each pair of digits, computed from
# all six filters. A quadratic classifier usually confuses pairs with small distances
# most often.

display = DistanceMatrixDisplay.from_estimator(model, values_format=".1f")
display.ax_.set(xlabel="digit", ylabel="digit")
# sphinx_gallery_alt = "Matrix of distances between ten digits, with values"
plt.show()

# %%
# Filters of moving patterns
# --------------------------
#
# A random texture moves behind a slit with a width of 2 degrees, at one of 17 speeds.
# A sample is an image of space and time: 15 frames of 20 pixels. All classes have mean
# zero, so only the class covariances differ.

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
X *= np.cos(np.pi / 2 * position)  # smooth edges of the slit
X = (X + 0.1 * rng.standard_normal(X.shape)).reshape(len(y), -1)

# %%
# Learn four filters in groups of two. Time runs downwards, so a stripe from the upper
# right to the lower left is a bar that moves to the left. The two filters of each group
# respond to opposite directions of motion. Each direction has an odd filter (two
# stripes of opposite sign) and an even filter (a central stripe). The sum of the
# squared outputs of both filters measures the energy of the motion in this direction,
# and hardly depends on the phase of the texture.

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
# Plot the ellipses of the speeds for the first two filters (left), and for the first
# filter and the filter of the second group that responds to the same direction (right).
# On the left, the speed rotates a narrow ellipse. On the right, the speed changes the
# size of the ellipse.

variances = np.diagonal(sqfa.statistics_.covariances, axis1=1, axis2=2)
to_the_right = variances[speeds > 0].sum(axis=0) > variances[speeds < 0].sum(axis=0)
partner = 2 if to_the_right[2] == to_the_right[0] else 3
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, dims in zip(panels, [(0, 1), (0, partner)], strict=True):
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
# Neighboring speeds have small distances. The same difference of speed results in a
# smaller distance at high speeds than at low speeds, as in Weber's law of perception.

display = DistanceMatrixDisplay.from_estimator(sqfa)
display.ax_.set(xlabel="speed (deg/s)", ylabel="speed (deg/s)")
# sphinx_gallery_alt = "Matrix of distances between speeds, small near the diagonal"
plt.show()
