"""
At most so many errors
======================

A classifier that may reject samples can promise something about the others: with
``target_error=0.05``, at most one in twenty is wrong, except with a small probability.
Here the promise is put to the test, 200 times.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator

from skgeom import RejectionClassifier

rng = np.random.default_rng(0)
means = [[0, 0], [3, 0], [0, 3]]


def draw(n_samples):
    """Three Gaussian classes in the plane, of as many samples each."""
    y = np.arange(n_samples) % 3
    return np.array(means)[y] + rng.normal(size=(n_samples, 2)), y


# %%
# A classifier is trained once. Then 1,200 labelled samples set the threshold, in each
# of 200 draws, and 21,000 more tell what it did.

frozen = FrozenEstimator(LinearDiscriminantAnalysis().fit(*draw(900)))
X_test, y_test = draw(21000)
targets = [0.03, 0.05, 0.08]
errors, rejected = {}, {}
for target in targets:
    errors[target], rejected[target] = [], []
    for _ in range(200):
        model = RejectionClassifier(frozen, target_error=target, confidence_level=0.9)
        predicted = model.fit(*draw(1200)).predict(X_test)
        kept = predicted != model.reject_label_
        errors[target].append(np.mean(predicted[kept] != y_test[kept]))
        rejected[target].append(np.mean(~kept))

figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for target, colour in zip(targets, ["C0", "C1", "C2"], strict=True):
    above = np.mean(np.array(errors[target]) > target)
    name = f"target {target}: missed in {above:.1%}"
    axis.hist(errors[target], bins=25, color=colour, alpha=0.7, label=name)
    axis.axvline(target, color=colour, ls="--", lw=2)
axis.set(xlabel="error in the accepted samples", ylabel="draws", ylim=(0, 55))
axis.legend(title="dashed: the targets", loc="upper left")
plt.show()

for target in targets:
    print(f"target {target}: {np.mean(rejected[target]):.2f} rejected on the mean")
