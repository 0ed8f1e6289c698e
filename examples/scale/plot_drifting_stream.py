"""
Online learning on a drifting stream
====================================

In this stream, the directions that separate the classes change slowly. The example
compares three strategies: filters of the first batch, filters that
:meth:`~skgeom.SQFA.partial_fit` updates with all samples so far, and filters of recent
samples. For recent samples, :meth:`~skgeom.ClassStatistics.decay` reduces the weights
of old samples before a new batch is added.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from skgeom import SQFA, ClassStatistics, GaussianClassifier

N_FEATURES, N_CLASSES, ROWS, N_BATCHES = 12, 3, 300, 40

# %%
# Each class has the largest variance along its own direction. The directions rotate by
# a right angle over the whole stream.

rng = np.random.default_rng(1)


def batch(time):
    angle = time * np.pi / 2
    start, end = np.eye(N_FEATURES)[:, :3], np.eye(N_FEATURES)[:, 3:6]
    axes = np.eye(N_FEATURES)
    axes[:, :3] = np.cos(angle) * start + np.sin(angle) * end
    axes[:, 3:6] = np.cos(angle) * end - np.sin(angle) * start
    y = rng.integers(N_CLASSES, size=ROWS)
    Z = rng.normal(size=(ROWS, N_FEATURES))
    Z[np.arange(ROWS), y] *= 5
    return Z @ axes.T, y


# %%
# The classifier requires only the statistics of the features.


def classify(sqfa, X):
    classifier = GaussianClassifier().fit_statistics(sqfa.statistics_)
    return classifier.predict(sqfa.transform(X))


# %%
# Each batch is classified with the filters of the earlier batches and then used for
# training. An optimization that starts from the last filters needs few iterations. With
# a decay of 0.9 per batch, the weight of a batch is about one third after ten further
# batches.

filters = SQFA(3, distance="hellinger", random_state=0)
X, y = batch(0)
kept = clone(filters).partial_fit(X, y)
updated = clone(filters).partial_fit(X, y)
recent = clone(filters)
statistics = ClassStatistics.from_data(X, y)
recent.fit_statistics(statistics)
accuracies = {"kept": [], "all samples": [], "recent samples": []}
for time in np.linspace(0, 1, N_BATCHES):
    X, y = batch(time)
    for name, sqfa in zip(accuracies, (kept, updated, recent), strict=True):
        accuracies[name].append(100 * (classify(sqfa, X) == y).mean())
    updated.partial_fit(X, y)
    statistics = statistics.decay(0.9) + ClassStatistics.from_data(X, y)
    recent.init = recent.components_
    recent.fit_statistics(statistics.shrunk())

# %%
for name, values in accuracies.items():
    plt.plot(values, label=name)
plt.axhline(100 / N_CLASSES, color="0.7", linestyle=":", label="by chance")
plt.xlabel("batch")
plt.ylabel("accuracy of the next batch (%)")
plt.legend()
# sphinx_gallery_alt = "Accuracy of old filters decreases, of updated filters not"
plt.show()
for name, values in accuracies.items():
    print(f"{name:15s} {np.mean(values):.1f} %")
