"""
Metrics of SPD prototypes, and an animation of training
=======================================================

A covariance matrix of two features can be drawn as an ellipse. In this example, the
classes differ in the orientation of the ellipses, and the sizes vary within each class.
The figure shows how the metric changes the prototypes of the classes. An animation
shows prototypes during training.
"""

# sphinx_gallery_thumbnail_number = 100

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation

from skgeom import PLRSQ

rng = np.random.default_rng(0)
n_samples = 180
y = np.arange(n_samples) % 3
angles = np.array([0.0, 1.0, 2.1])[y] + 0.35 * rng.normal(size=n_samples)
axes = np.stack([np.cos(angles), np.sin(angles), -np.sin(angles), np.cos(angles)], -1)
axes = axes.reshape(-1, 2, 2)
sizes = np.exp(0.7 * rng.normal(size=(n_samples, 1)))
variances = sizes * np.exp(0.3 * rng.normal(size=(n_samples, 2))) * [3.0, 0.5]
X = axes.mT @ (variances[:, :, None] * axes)

circle = np.linspace(0, 2 * np.pi, 100)
circle = np.stack([np.cos(circle), np.sin(circle)])
COLOURS = ["tab:blue", "tab:orange", "tab:green"]


def outline(axis, matrix, **style):
    axis.plot(*(np.linalg.cholesky(matrix) @ circle), **style)


# %%
# Each plot shows samples (thin lines) and the prototype of each class (thick lines) for
# one metric. Euclidean prototypes are large, because large matrices have the largest
# influence on Euclidean distances.

metrics = ["riemann", "logeuclid", "logdet", "euclid"]
figure, panels = plt.subplots(2, 2, figsize=(7, 7), layout="constrained")
for panel, metric in zip(panels.flat, metrics, strict=True):
    model = PLRSQ(metric=metric)
    model.fit(X, y)
    for matrix, label in zip(X[:60], y[:60], strict=True):
        outline(panel, matrix, color=COLOURS[label], lw=0.4, alpha=0.6)
    for matrix, label in zip(model.prototypes_, model.prototype_labels_, strict=True):
        outline(panel, matrix, color=COLOURS[label], lw=3.5)
    panel.set(title=metric, xlim=(-4, 4), ylim=(-4, 4))
    panel.set(aspect="equal", xticks=[], yticks=[])
# sphinx_gallery_alt = "Prototypes of three classes as ellipses, for four metrics"
plt.show()

# %%
# Animation of stochastic training
# --------------------------------
#
# Three prototypes start at the identity matrix. Stochastic steps move each prototype
# towards samples of its class, and away from samples of the other classes. The left
# plot shows the shape of each matrix, without its size, as a point of a disc. Circles
# are at the center, and narrow ellipses near the edge. The angle of a point is twice
# the angle of its ellipse. The right plot shows the matrices as ellipses.


def disc(matrices):
    """Points of the unit disc that do not depend on the sizes of the matrices."""
    a, b, c = matrices[..., 0, 0], matrices[..., 0, 1], matrices[..., 1, 1]
    return np.stack([a - c, 2 * b], axis=-1) / (a + c)[..., None]


N_FRAMES, ROWS = 30, 24
order = np.random.default_rng(0).permutation(np.tile(np.arange(n_samples), 4))
model = PLRSQ(init=np.stack([np.eye(2)] * 3), solver="sgd", random_state=0)
steps = [np.stack([np.eye(2)] * 3)]
for frame in range(N_FRAMES - 1):
    batch = order[ROWS * frame : ROWS * (frame + 1)]
    model.partial_fit(X[batch], y[batch], classes=[0, 1, 2])
    steps.append(model.prototypes_.copy())
path = np.array(steps)

figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
left.plot(*circle, color="black", lw=1)
lines, stars, ellipses = [], [], []
for label, colour in enumerate(COLOURS):
    left.plot(*disc(X[y == label]).T, ".", color=colour, ms=4, alpha=0.5)
    lines += left.plot([], [], color=colour, lw=2)
    stars += left.plot([], [], "*", color=colour, ms=17, mec="black")
    for matrix in X[y == label][:12]:
        outline(right, matrix, color=colour, lw=0.4, alpha=0.6)
    ellipses += right.plot([], [], color=colour, lw=3.5, label=f"class {label}")
left.set(aspect="equal", title="shapes, as points of a disc")
left.axis("off")
right.set(aspect="equal", title="as ellipses", xlim=(-4, 4), ylim=(-4, 4))
right.set(xticks=[], yticks=[])
right.legend(loc="upper right")


def draw(frame):
    for label in range(3):
        places = disc(path[: frame + 1, label])
        lines[label].set_data(*places.T)
        stars[label].set_data(*places[-1:].T)
        ellipses[label].set_data(*(np.linalg.cholesky(path[frame, label]) @ circle))


# Repeat the last frame at the end.
frames = [*range(N_FRAMES), *[N_FRAMES - 1] * 10]
animation = FuncAnimation(figure, draw, frames, interval=150)
# sphinx_gallery_alt = "Animation: prototypes move towards samples of their classes"
plt.show()
