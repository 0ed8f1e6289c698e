"""
Digits that are better left to a person
=======================================

These classifiers may reject samples in which they have little confidence. The curves
show how many of the handwritten digits must be rejected for a given accuracy on the
others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skgeom import SQFA, RejectionClassifier, accuracy_rejection_curve
from skgeom.plotting import AccuracyRejectionDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
X_train, X_test = X_train / X_train.std(), X_test / X_train.std()

# %%
# Three classifiers, two of them with features that they learn. Their accuracy without
# rejection is at the left. The curves also compare how well the confidences, which are
# the largest class probabilities, separate correct from wrong predictions.

models = {
    "LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
    "PCA + QDA": make_pipeline(PCA(9), QuadraticDiscriminantAnalysis(tol=0)),
    "SQFA + QDA": make_pipeline(
        SQFA(9, random_state=0), QuadraticDiscriminantAnalysis(tol=0)
    ),
}
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
for name, model in models.items():
    model.fit(X_train, y_train)
    AccuracyRejectionDisplay.from_estimator(model, X_test, y_test, label=name, ax=axis)
axis.set(xlim=(0, 0.4), ylim=(0.9, 1.002))
plt.show()

# %%
# The numbers behind the curves: the least fraction to reject for an accuracy of .99 on
# the others.

for name, model in models.items():
    accuracies, rejected, thresholds = accuracy_rejection_curve(
        y_test, model.predict_proba(X_test), labels=model.classes_
    )
    first = np.argmax(accuracies >= 0.99)
    print(f"{name:10s}  reject {rejected[first]:.3f}, ", end="")
    print(f"below the confidence {thresholds[first]:.3f}")

# %%
# To reject a tenth of the digits, the threshold is found from the confidences of the
# training digits in cross-validation. The fraction of the test digits that it rejects
# differs from this by chance: by a few hundredths, for other halves of the data.

rejecting = RejectionClassifier(models["SQFA + QDA"], rejection_rate=0.1)
predicted = rejecting.fit(X_train, y_train).predict(X_test)
rejected = predicted == rejecting.reject_label_
print(f"accuracy on all digits:      {models['SQFA + QDA'].score(X_test, y_test):.3f}")
print(f"rejected below {rejecting.threshold_:.3f}:        {rejected.mean():.3f}")
print(f"accuracy on the others:      {(predicted == y_test)[~rejected].mean():.3f}")

# %%
# Or at most three in a hundred of the digits that are kept shall be wrong, with the
# probability .95. The threshold is found from errors on held-out training digits.

careful = RejectionClassifier(models["SQFA + QDA"], target_error=0.03)
sure = careful.fit(X_train, y_train).predict(X_test)
kept = sure != careful.reject_label_
print(f"rejected for the target .03: {1 - kept.mean():.3f}")
print(f"errors among the others:     {(sure != y_test)[kept].mean():.3f}")

# %%
# The digits with the least confidence, and their labels.

confidence = rejecting.predict_proba(X_test).max(axis=1)
figure, axes = plt.subplots(2, 8, figsize=(8, 2.6), layout="constrained")
for axis, k in zip(axes.flat, confidence.argsort(), strict=False):
    axis.imshow(X_test[k].reshape(8, 8), cmap="gray_r")
    axis.set(xticks=[], yticks=[])
    axis.set_title(f"{y_test[k]} ({confidence[k]:.0%})", size=9)
figure.suptitle("Rejected digits, their labels and the confidence in the best guess")
plt.show()
