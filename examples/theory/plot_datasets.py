"""
Generators and fetchers of data sets
====================================

This page plots the output of the generators in :mod:`skgeom.datasets`, and explains how
to obtain the real data of the papers that skgeom implements. Toy problems are available
as samples, or as exact class statistics for ``fit_statistics``.
"""

# sphinx_gallery_thumbnail_number = 101

import matplotlib.pyplot as plt
import numpy as np

from skgeom.datasets import (
    make_gaussian_classes,
    make_spd_classes,
    make_speed_videos,
    make_syn_spd,
    sqfa_toy_statistics,
)
from skgeom.plotting import ClassEllipsesDisplay

# %%
# Gaussian classes
# ----------------
#
# Plot two toy problems of the SQFA paper as ellipses of one standard deviation, and
# samples of the second problem.

toy = sqfa_toy_statistics("means")
X, y = make_gaussian_classes(toy, n_per_class=200, random_state=0)
figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
shown = {"lda": (sqfa_toy_statistics("lda"), (0, 1)), "means": (toy, (2, 3))}
for panel, (name, (statistics, dims)) in zip(panels, shown.items(), strict=False):
    ClassEllipsesDisplay.from_statistics(statistics, dims=dims, ax=panel, legend=False)
    panel.set(title=f'sqfa_toy_statistics("{name}")', xlabel="", ylabel="")
panels[2].scatter(*X[:, 2:].T, c=y, cmap="tab10", vmax=9, s=6)
panels[2].set(title="make_gaussian_classes", aspect="equal")
# sphinx_gallery_alt = "Classes of two toy problems, and samples of one of them"
plt.show()

# %%
# SPD matrices
# ------------
#
# Plot symmetric positive definite matrices around their class means, as ellipses, and
# the eigenvalues of the 10 x 10 matrices of SynI and SynII, by class.

made = make_spd_classes(3, 12, 2, dispersion=0.4, random_state=0)
angles = np.linspace(0, 2 * np.pi, 80)
circle = np.stack([np.cos(angles), np.sin(angles)])
figure, panels = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
for matrix, label in zip(made[0], made[1], strict=True):
    panels[0].plot(*(np.linalg.cholesky(matrix) @ circle), color=f"C{label}", lw=1)
panels[0].set(title="make_spd_classes", aspect="equal")
for panel, name in zip(panels[1:], ["SynI", "SynII"], strict=True):
    syn, classes = make_syn_spd(name, 30, random_state=0)
    for label in range(4):
        values = np.linalg.eigvalsh(syn[classes == label])[:, ::-1]
        panel.semilogy(range(1, 11), values.T, color=f"C{label}", lw=0.4)
    panel.set(title=f'make_syn_spd("{name}")', xlabel="rank", ylabel="eigenvalue")
# sphinx_gallery_alt = "SPD matrices as ellipses, and eigenvalues of two data sets"
plt.show()

# %%
# Videos of moving surfaces
# -------------------------
#
# Plot videos of natural images that move at three speeds, as images of space and time.

videos = make_speed_videos(speeds=[-4, 0, 4], n_per_speed=30, random_state=2)
figure, panels = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
for speed, panel in enumerate(panels):
    video = videos.videos[videos.target == speed][1]
    panel.imshow(video, cmap="gray", aspect="auto")
    panel.set(
        title=f"{videos.speeds[speed]:.0f}°/s", xticks=[], yticks=[], xlabel="space"
    )
panels[0].set_ylabel("time")
# sphinx_gallery_alt = "Videos at three speeds as images of space and time"
plt.show()

# %%
# Real data
# ---------
#
# Fetchers look for a file in the folder that the environment variable ``SKGEOM_DATA``
# names. :func:`~skgeom.datasets.fetch_mnist`, :func:`~skgeom.datasets.fetch_heart` and
# :func:`~skgeom.datasets.fetch_pima` download missing files with scikit-learn, and
# return a ``Bunch``, or X and y with ``return_X_y=True``. The following code is not run
# on this page::
#
#     from skgeom.datasets import fetch_heart, fetch_mnist
#
#     digits = fetch_mnist(subset="train")
#     digits.images.shape  # (60000, 28, 28)
#     X, y = fetch_heart(return_X_y=True)
