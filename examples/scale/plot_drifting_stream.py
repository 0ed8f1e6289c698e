"""
A stream that drifts
====================

Sensors send samples for as long as they run, and what tells the classes apart moves
slowly. Filters are learnt from the first batches and kept, or updated by all samples so
far with :meth:`~skgeom.SQFA.partial_fit`, or by the recent ones only. For the last,
:meth:`~skgeom.ClassStatistics.decay` reduces the weights of the old samples before new
ones are added.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from skgeom import SQFA, ClassStatistics, GaussianClassifier

N_FEATURES, N_CLASSES, ROWS, N_BATCHES = 12, 3, 300, 40

# %%
# Each class varies most along a direction of its own. These directions turn into other
# ones, by a right angle over the whole stream.

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
# Only the statistics of the features are needed to classify.


def classify(sqfa, X):
    classifier = GaussianClassifier().fit_statistics(sqfa.statistics_)
    return classifier.predict(sqfa.transform(X))


# %%
# Every batch is classified by the filters of the batches before, and learnt then. A
# search that starts from the last filters is a short one. With nine tenths of the
# weights in each step, a batch counts a third after ten more.

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
        accuracies[name].append((classify(sqfa, X) == y).mean())
    updated.partial_fit(X, y)
    statistics = statistics.decay(0.9) + ClassStatistics.from_data(X, y)
    recent.init = recent.components_
    recent.fit_statistics(statistics.shrunk())

# %%
for name, values in accuracies.items():
    plt.plot(values, label=name)
plt.axhline(1 / N_CLASSES, color="0.7", linestyle=":", label="by chance")
plt.xlabel("batch")
plt.ylabel("accuracy of the next batch")
plt.legend()
plt.show()
print({name: round(float(np.mean(values)), 3) for name, values in accuracies.items()})
