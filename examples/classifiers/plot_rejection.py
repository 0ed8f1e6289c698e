"""
Reject option on handwritten digits
===================================

A classifier with a reject option does not classify samples whose confidence, the
largest class probability, is below a threshold. This example compares three classifiers
by the accuracy of the accepted digits, and determines thresholds for a rejection rate
and for an error rate.
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
# LDA classifies the 64 pixels. The other two pipelines classify nine features. Plot the
# accuracy of the accepted digits against the rejection rate. Each curve starts at the
# accuracy without rejection. The curve is steeper if the confidence separates correct
# and incorrect predictions better.

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
axis.set(xlim=(0, 40), ylim=(90, 100.2))
# sphinx_gallery_alt = "Accuracy against the rejection rate for three classifiers"
plt.show()

# %%
# Print the smallest rejection rate for which the accuracy of the accepted digits is at
# least 99 %, and the threshold of the confidence.

for name, model in models.items():
    accuracies, rejected, thresholds = accuracy_rejection_curve(
        y_test, model.predict_proba(X_test), labels=model.classes_
    )
    first = np.argmax(accuracies >= 0.99)
    print(f"{name:10s}  reject {rejected[first]:.1%}, ", end="")
    print(f"below the confidence {thresholds[first]:.1%}")

# %%
# With ``rejection_rate=0.1``, ``fit`` determines the threshold that rejects 10 % of the
# training digits in cross-validation. The rejection rate of the test digits differs
# from 10 %, because the classifier and the test digits differ from those in
# cross-validation.

rejecting = RejectionClassifier(models["SQFA + QDA"], rejection_rate=0.1)
predicted = rejecting.fit(X_train, y_train).predict(X_test)
rejected = predicted == rejecting.reject_label_
print(f"accuracy on all digits:      {models['SQFA + QDA'].score(X_test, y_test):.1%}")
print(f"rejected below {rejecting.threshold_:.1%}:        {rejected.mean():.1%}")
print(f"accuracy of accepted digits: {(predicted == y_test)[~rejected].mean():.1%}")

# %%
# With ``target_error=0.03``, the error rate of accepted digits is at most 3 % with a
# probability of at least 95 %, the default of ``confidence_level``. This statement is
# approximate here, because cross-validation on the training digits determines the
# threshold.

careful = RejectionClassifier(models["SQFA + QDA"], target_error=0.03)
sure = careful.fit(X_train, y_train).predict(X_test)
kept = sure != careful.reject_label_
print(f"rejected for target 3 %:     {1 - kept.mean():.1%}")
print(f"error of accepted digits:    {(sure != y_test)[kept].mean():.1%}")

# %%
# Plot the sixteen digits with the smallest confidence, and their labels.

confidence = rejecting.predict_proba(X_test).max(axis=1)
figure, axes = plt.subplots(2, 8, figsize=(8, 2.6), layout="constrained")
for axis, k in zip(axes.flat, confidence.argsort(), strict=False):
    axis.imshow(X_test[k].reshape(8, 8), cmap="gray_r")
    axis.set(xticks=[], yticks=[])
    axis.set_title(f"{y_test[k]} ({confidence[k]:.0%})", size=9)
figure.suptitle("Rejected digits: label (confidence of the most probable class)")
# sphinx_gallery_alt = "Sixteen rejected digits with labels and confidences"
plt.show()
