"""
Online learning on a drifting stream
====================================

In this stream, the directions that separate the classes change slowly. The example
compares three strategies: keep the filters of the first batch, update the filters with
:meth:`~skgeom.SQFA.partial_fit`, which weights all previous samples equally, or reduce
the weights of old samples with :meth:`~skgeom.ClassStatistics.decay` before a new batch
is added.
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
# The classifier is fitted to the class statistics of the features, without samples.


def classify(sqfa, X):
    classifier = GaussianClassifier().fit_statistics(sqfa.statistics_)
    return classifier.predict(sqfa.transform(X))


# %%
# Each batch is first classified with the current filters, and then used to update the
# filters. Each optimization starts from the current filters and needs few iterations.
# With a decay of 0.9 per batch, the weight of a batch is about one third after ten
# further batches.

filters = SQFA(3, distance="hellinger", random_state=0)
X, y = batch(0)
kept = clone(filters).partial_fit(X, y)
updated = clone(filters).partial_fit(X, y)
recent = clone(filters)
statistics = ClassStatistics.from_data(X, y)
recent.fit_statistics(statistics)
accuracies = {"first batch": [], "all samples": [], "recent samples": []}
for time in np.linspace(0, 1, N_BATCHES):
    X, y = batch(time)
    for name, sqfa in zip(accuracies, (kept, updated, recent), strict=True):
        accuracies[name].append(100 * (classify(sqfa, X) == y).mean())
    updated.partial_fit(X, y)
    statistics = statistics.decay(0.9) + ClassStatistics.from_data(X, y)
    recent.init = recent.components_
    recent.fit_statistics(statistics.shrunk())

# %%
# Plot the accuracy of each batch. With the filters of the first batch, the accuracy
# decreases to chance level. Filters with larger weights of recent samples have the
# highest mean accuracy.

for name, values in accuracies.items():
    plt.plot(values, label=name)
plt.axhline(100 / N_CLASSES, color="0.7", linestyle=":", label="chance")
plt.xlabel("batch")
plt.ylabel("accuracy (%)")
plt.legend()
# sphinx_gallery_alt = "Accuracy by batch; with fixed filters, it falls to chance level"
plt.show()
for name, values in accuracies.items():
    print(f"{name:15s} mean accuracy {np.mean(values):.1f} %")
