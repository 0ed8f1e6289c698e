"""
Reject option with costs of errors and referrals
================================================

A classifier of heart disease may reject a patient, that is, refer the patient to an
expert. The costs of an error and of a referral determine the optimal rule: reject a
patient if the largest class probability is below a threshold. This tutorial checks that
the probabilities are calibrated, sets the threshold from the costs, and compares the
cost on held-out patients with the cost of a classifier that decides for all patients.
"""

# %%
# A classifier with calibrated probabilities
# ------------------------------------------
#
# :class:`~skgeom.KernelDiscriminantAnalysis` calibrates its probabilities in ``fit``.
# Compute all predictions below by cross-validation with ten folds. In each fold, the
# preprocessing and the classifier are fitted to the training patients.

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
# If the classifier is calibrated, the accuracy of patients with similar confidence (the
# largest class probability) equals their mean confidence. Each dot represents a quarter
# of the patients. Error bars are two standard errors.

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
# Suppose that an error costs 10 units and a referral costs 2 units. A referral costs
# less than a decision if the probability of an error exceeds 2 / 10. The threshold of
# the confidence is therefore 1 - 2 / 10 [1]_. If a missed disease costs more than a
# false alarm, set ``cost_matrix`` instead of ``threshold``.

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
# Plot the cost against the threshold, for referral costs of 1, 2 and 4 units. For each
# referral cost, the cost at the threshold of the rule (dashed) is close to the minimum
# of the curve.
# :func:`~skgeom.accuracy_rejection_curve` returns accuracy and rejection rate for each
# threshold.

accuracies, rejected, thresholds = accuracy_rejection_curve(y, probabilities)
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
for color, unit in [("C0", 1), ("C1", 2), ("C2", 4)]:
    costs = (1 - rejected) * (1 - accuracies) * error_cost + rejected * unit
    name = f"a referral costs {unit}"
    axis.plot(thresholds, costs, color=color, label=name)
    axis.axvline(1 - unit / error_cost, color=color, ls="--", lw=1)
axis.set(
    xlabel="threshold (dashed: of the rule)", ylabel="cost per patient", xlim=(0.5, 1)
)
figure.legend(title="an error costs 10", loc="outside right upper")
# sphinx_gallery_alt = "Cost per patient against the threshold for three costs"
plt.show()

# %%
# Limit the rejection rate or the error rate
# ------------------------------------------
#
# If the costs are unknown, set ``rejection_rate`` to the fraction of patients whom the
# experts can examine, or ``target_error`` to the largest acceptable error rate of the
# decisions. The bound of the error rate accounts for the uncertainty of its estimate,
# so with few samples a small target error rejects many patients.

for parameters in [{"rejection_rate": 0.2}, {"target_error": 0.12}]:
    model = RejectionClassifier(classifier, **parameters, cv=folds).fit(X, y)
    rate = np.mean(confidence < model.threshold_)
    print(f"{parameters}: threshold {model.threshold_:.2f}, {rate:.1%} referred")

# %%
# :ref:`rejection` states the conditions of the bound.
#
# .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE
#    Transactions on Information Theory 16, 1970.
