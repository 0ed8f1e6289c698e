"""
The data sets at a glance
=========================

What the generators of :mod:`skgeom.datasets` make, and how to read the data of the
papers. Toys come as samples or as exact statistics, from which filters can be learnt
without any samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from skgeom.datasets import (
    fetch_wbcd,
    fisher_rao_line_statistics,
    make_gaussian_classes,
    make_spd_classes,
    make_speed_videos,
    make_syn_spd,
    sqfa_scaling_toy,
    sqfa_toy_statistics,
)
from skgeom.plotting import ClassEllipsesDisplay

# %%
# Gaussian classes
# ----------------
#
# Two toys of the paper of SQFA, and samples of one. Classes at given Fisher-Rao
# distances, here 1 from each to the next. And classes that differ in ten directions of
# 200: two of those ten, and two of the others. Ellipses are one standard deviation.

toy = sqfa_toy_statistics("means")
X, y = make_gaussian_classes(toy, n_per_class=200, random_state=0)
line = fisher_rao_line_statistics([0.0, 1.0, 2.0, 3.0], random_state=4)
scaling = sqfa_scaling_toy(n_informative=10, n_features=200, random_state=0)
basis, _ = np.linalg.qr(scaling.components.T, mode="complete")
others = scaling.statistics.project(basis[:, 10:12].T)

figure, panels = plt.subplots(2, 3, figsize=(10, 6.4), layout="constrained")
shown = {
    'sqfa_toy_statistics("lda")': (sqfa_toy_statistics("lda"), (0, 1)),
    'sqfa_toy_statistics("means")': (toy, (2, 3)),
    "fisher_rao_line_statistics": (line, (0, 1)),
    "sqfa_scaling_toy, informative": (scaling.subspace_statistics, (0, 1)),
    "sqfa_scaling_toy, other": (others, (0, 1)),
}
places = panels.ravel()[[0, 1, 3, 4, 5]]
for panel, (name, (statistics, dims)) in zip(places, shown.items(), strict=True):
    ClassEllipsesDisplay.from_statistics(statistics, dims=dims, ax=panel, legend=False)
    panel.set(title=name, xlabel="", ylabel="")
panels[0, 2].scatter(*X[:, 2:].T, c=y, cmap="tab10", vmax=9, s=6)
panels[0, 2].set(title="make_gaussian_classes", aspect="equal")
plt.show()

# %%
# Matrices
# --------
#
# Symmetric positive definite matrices that scatter around a mean in each class, as
# ellipses; and the four classes of SynI and SynII, which have 10 x 10 matrices.

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
    panel.set(title=f'make_syn_spd("{name}")', xlabel="number", ylabel="eigenvalue")
plt.show()

# %%
# Videos, and tumours
# -------------------
#
# Natural images that move with several speeds, as pictures of space and time; and the
# tumours of Wisconsin, which scikit-learn has too, in the plane of two principal
# components.

videos = make_speed_videos(speeds=[-4, 0, 4], n_per_speed=30, random_state=2)
tumours = fetch_wbcd()
figure, panels = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
for panel, speed in zip(panels, range(3), strict=False):
    video = videos.videos[videos.target == speed][1]
    panel.imshow(video, cmap="gray", aspect="auto")
    panel.set(
        title=f"{videos.speeds[speed]:.0f}°/s", xticks=[], yticks=[], xlabel="space"
    )
panels[0].set_ylabel("time")
Z = PCA(2).fit_transform(StandardScaler().fit_transform(tumours.data))
for label, name in enumerate(tumours.target_names):
    panels[3].plot(*Z[tumours.target == label].T, ".", ms=3, label=name)
panels[3].set_title("fetch_wbcd")
panels[3].set(xlabel="component 1", ylabel="component 2")
panels[3].legend(markerscale=3)
plt.show()

# %%
# Data to fetch
# -------------
#
# The other data of the papers are not part of this package.
# :func:`~skgeom.datasets.fetch_mnist`, :func:`~skgeom.datasets.fetch_svhn`,
# :func:`~skgeom.datasets.fetch_heart` and :func:`~skgeom.datasets.fetch_pima` download
# theirs once, and :func:`~skgeom.datasets.fetch_bci_iv_2a` does so by the package
# moabb. :func:`~skgeom.datasets.fetch_eth80` reads a file that must be made. All of
# them look first in the folder that the environment variable ``SKGEOM_DATA`` names, and
# the error says what is missing where. They are used alike (this is not run here)::
#
#     from skgeom.datasets import fetch_heart, fetch_mnist
#
#     digits = fetch_mnist(subset="train")
#     digits.images.shape  # (60000, 28, 28)
#     X, y = fetch_heart(return_X_y=True, as_frame=True)
