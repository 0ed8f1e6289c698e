"""
Effect of the regularization on the accuracy
============================================

``regularization`` is the variance that SQFA adds to the covariance of the filter
outputs. If the value is too small, the filters overfit. If it is too large, they ignore
small differences between classes. By default, ``fit`` selects the value with held-out
training samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedShuffleSplit

from skgeom import SQFA, GaussianClassifier

X, y = load_digits(return_X_y=True)
X = X / X.std()

# %%
# Plot the accuracy of a quadratic classifier on the outputs of nine filters against the
# regularization. A star marks the value that ``regularization="auto"`` selects. The
# filters are learned from 200 training images, and accuracies are means of eight random
# splits. By default, ``fit`` also selects a shrinkage of the class covariances; here
# all fits use sample covariances, so only the regularization differs. ``"auto"`` scores
# each value by the mean log posterior of the correct class over held-out samples, and
# selects the largest regularization whose score is within one standard error of the
# best score. The selected regularization is larger than the regularization with the
# highest test accuracy.

splits = StratifiedShuffleSplit(8, train_size=200, random_state=0)


def scores(regularization):
    """Mean regularization, and training and test accuracies in percent."""
    results = []
    for train, test in splits.split(X, y):
        model = SQFA(
            9,
            distance="hellinger",
            constraint="orthonormal",
            covariance_estimator=None,
            regularization=regularization,
            random_state=0,
        ).fit(X[train], y[train])
        Z = model.transform(X)
        classifier = GaussianClassifier().fit(Z[train], y[train])
        correct = classifier.predict(Z) == y
        parts = 100 * correct[train].mean(), 100 * correct[test].mean()
        results.append([model.regularization_, *parts])
    return np.mean(results, axis=0)


values = np.logspace(-3, 2, 11)
_, train, test = np.transpose([scores(float(value)) for value in values])
automatic, _, automatic_test = scores("auto")
figure, axis = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
axis.semilogx(values, train, "o--", color="tab:gray", label="200 training images")
axis.semilogx(values, test, "o-", label="test images")
axis.plot(automatic, automatic_test, "*", ms=16, color="tab:red", label='"auto"')
axis.set(xlabel="regularization", ylabel="accuracy (%)")
axis.legend(loc="center right")
# sphinx_gallery_alt = "Accuracy against regularization; the star is the selected value"
plt.show()

print(f"smallest value: {test[0]:.1f} %, largest value: {test[-1]:.1f} %")
print(f"best value, {values[test.argmax()]:.2g}: {test.max():.1f} %")
print(f"automatic value, {automatic:.2g} on average: {automatic_test:.1f} %")
