"""
Reject option with costs of errors and referrals
================================================

A classifier of heart disease may refer a patient to an expert instead of deciding. With
the cost of an error and the cost of a referral, the optimal rule rejects a sample if
its largest class probability is below a threshold. This tutorial checks that the
probabilities are calibrated, sets the threshold from the costs, and compares the cost
with the cost of a classifier that always decides, on held-out patients.
"""

# %%
# A classifier with calibrated probabilities
# ------------------------------------------
#
# :class:`~skgeom.KernelDiscriminantAnalysis` calibrates its probabilities in ``fit``.
# All predictions below are for held-out samples of ten folds. The preprocessing is
# fitted in each fold.

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import (
    KernelDiscriminantAnalysis,
    RejectionClassifier,
    accuracy_rejection_curve,
)
from skgeom.datasets import fetch_heart

X, y = fetch_heart(return_X_y=True)
classifier = make_pipeline(
    SimpleImputer(strategy="median"), StandardScaler(), KernelDiscriminantAnalysis()
)
folds = StratifiedKFold(10, shuffle=True, random_state=0)
probabilities = cross_val_predict(classifier, X, y, cv=folds, method="predict_proba")
predicted, correct = probabilities.argmax(axis=1), probabilities.argmax(axis=1) == y
confidence = probabilities.max(axis=1)
print(f"accuracy without referrals: {correct.mean():.1%}")
print(f"mean confidence:            {confidence.mean():.1%}")

# %%
# The accuracy of a calibrated classifier equals its confidence. Each dot represents a
# quarter of the patients; error bars are two standard errors.

observed, expected = calibration_curve(
    correct, confidence, n_bins=4, strategy="quantile"
)
errors = 2 * np.sqrt(observed * (1 - observed) / (len(y) / 4))
figure, axis = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
expected, observed, errors = 100 * expected, 100 * observed, 100 * errors
axis.plot([50, 100], [50, 100], color="gray", ls="--", label="calibrated")
axis.errorbar(expected, observed, yerr=errors, fmt="o", label="held-out patients")
axis.set(xlabel="confidence (%)", ylabel="accuracy (%)", xlim=(50, 100), ylim=(40, 105))
axis.legend()
# sphinx_gallery_alt = "Accuracy against confidence, near the diagonal"
plt.show()

# %%
# Threshold from the costs
# ------------------------
#
# Suppose that an error costs 10 units and a referral 2 units. Rejection costs less than
# a decision if the probability of an error exceeds 2 / 10, so the threshold of the
# largest probability is 1 - 2 / 10 [1]_.

error_cost, referral_cost = 10, 2
threshold = 1 - referral_cost / error_cost
model = RejectionClassifier(classifier, threshold=threshold, reject_label=-1)
decisions = np.empty_like(y)
for train, test in folds.split(X, y):
    decisions[test] = model.fit(X[train], y[train]).predict(X[test])

referred = decisions == model.reject_label_
wrong = ~referred & (decisions != y)
cost = (error_cost * wrong + referral_cost * referred).mean()
print(f"referred: {referred.mean():.1%}")
print(f"accuracy of the decisions: {(decisions == y)[~referred].mean():.1%}")
print(f"cost per patient: {cost:.2f}")
print(f"cost if all are decided: {error_cost * (~correct).mean():.2f}")
print(f"cost if all are referred: {referral_cost:.2f}")

# %%
# The plot shows the cost for all thresholds. For each referral cost, the threshold of
# the rule is near the minimum. :func:`~skgeom.accuracy_rejection_curve` returns
# accuracy and rejection rate for each threshold.

accuracies, rejected, thresholds = accuracy_rejection_curve(y, probabilities)
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
for color, unit in [("C0", 1), ("C1", 2), ("C2", 4)]:
    costs = (1 - rejected) * (1 - accuracies) * error_cost + rejected * unit
    name = f"a referral costs {unit}"
    axis.plot(thresholds, costs, color=color, label=name)
    axis.axvline(1 - unit / error_cost, color=color, ls="--", lw=1)
axis.set(xlabel="threshold (dashed: rule)", ylabel="cost per patient", xlim=(0.5, 1))
figure.legend(title="an error costs 10", loc="outside right upper")
# sphinx_gallery_alt = "Cost per patient against the threshold for three costs"
plt.show()

# %%
# Limit the rejection rate or the error rate
# ------------------------------------------
#
# Without costs, set ``rejection_rate`` to the capacity of the experts, or
# ``target_error`` to the largest error rate of the accepted patients. With few samples,
# a small target error rejects many patients: the guarantee accounts for the
# uncertainty of the estimate.

for parameters in [{"rejection_rate": 0.2}, {"target_error": 0.12}]:
    model = RejectionClassifier(classifier, **parameters, cv=folds).fit(X, y)
    rate = np.mean(confidence < model.threshold_)
    print(f"{parameters}: threshold {model.threshold_:.2f}, {rate:.1%} referred")

# %%
# See :ref:`rejection` for the guarantee.
#
# .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE
#    Transactions on Information Theory 16, 1970.
