"""
Prototypes of 2 x 2 matrices, in several metrics
================================================

A covariance matrix of two features is an ellipse, so small ones can be looked at. The
classes here differ in orientation; their sizes vary. The metric decides what a typical
ellipse is, and whether size matters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

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
# The samples, thin, and the prototype of each class, thick, in four metrics.

metrics = ["riemann", "logeuclid", "logdet", "euclid"]
figure, panels = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")
for panel, metric in zip(panels, metrics, strict=True):
    model = PLRSQ(metric=metric)
    score = cross_val_score(model, X, y, cv=3).mean()
    model.fit(X, y)
    for matrix, label in zip(X[:60], y[:60], strict=True):
        outline(panel, matrix, color=COLOURS[label], lw=0.4, alpha=0.6)
    for matrix, label in zip(model.prototypes_, model.prototype_labels_, strict=True):
        outline(panel, matrix, color=COLOURS[label], lw=3.5)
    panel.set(title=f"{metric}: {score:.2f} right", xlim=(-4, 4), ylim=(-4, 4))
    panel.set(aspect="equal", xticks=[], yticks=[])
plt.show()
