"""
Effect of the regularization on the accuracy
============================================

``regularization`` is the variance that SQFA adds to the covariance of the filter
outputs. Small values lead to overfitting, and large values suppress small differences
between classes. ``fit`` selects the automatic value.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skgeom import SQFA, GaussianClassifier

X, y = load_digits(return_X_y=True)
X = X / X.std()
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=500, stratify=y, random_state=0
)

# %%
# Plot the accuracy of a quadratic classifier on nine filters, for a range of values and
# for the automatic value.


def scores(regularization):
    model = SQFA(
        9,
        distance="hellinger",
        constraint="orthonormal",
        regularization=regularization,
        random_state=0,
    ).fit(X_train, y_train)
    classifier = GaussianClassifier().fit(model.transform(X_train), y_train)
    parts = (X_train, y_train), (X_test, y_test)
    return model, [classifier.score(model.transform(A), b) for A, b in parts]


values = np.logspace(-3, 2, 11)
train, test = np.transpose([scores(value)[1] for value in values])
automatic, (_, best) = scores("auto")
figure, axis = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
axis.semilogx(values, train, "o--", color="tab:gray", label="500 training images")
axis.semilogx(values, test, "o-", label="test images")
axis.plot(automatic.regularization_, best, "*", ms=16, color="tab:red", label='"auto"')
axis.set(xlabel="regularization", ylabel="accuracy")
axis.legend()
plt.show()
