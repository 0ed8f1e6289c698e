"""
Cross-session and cross-subject EEG classification without labels
=================================================================

If a classifier of EEG covariances is trained in one session, its accuracy is usually
lower in the next session, and still lower for a different subject. Re-centering moves
the mean of each domain (subject or session) to the identity, without labels. This
tutorial measures the effect on the accuracy for four subjects and four imagined
movements of BCI competition IV, data set 2a.
"""

# %%
# Data
# ----
#
# Each subject performed 288 trials on each of two days. Each trial is one 22 x 22
# covariance matrix of signals that are filtered to 10 to 30 Hz. The file of the folder
# ``SKGEOM_DATA`` that this page reads cannot be downloaded;
# :ref:`sphx_glr_auto_examples_tutorials_plot_motor_imagery.py` shows how to compute the
# covariances. To compute covariances of your own signals, of shape (n_trials,
# n_channels, n_times), use
# ``pyriemann.estimation.Covariances("oas").transform(signals)``.

# sphinx_gallery_thumbnail_number = 100

import copy
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from pyriemann.classification import MDM
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score
from sklearn.model_selection import LeaveOneGroupOut, cross_val_score
from sklearn.utils import Bunch

from skgeom import Recentering, TransferDiscriminantAnalysis, make_domain_scorer
from skgeom.geometry import logm

arrays = {"data": "cov", "target": "y", "test": "test"}
with np.load(Path(os.environ["SKGEOM_DATA"], "bci_iv_2a_s1_to_s4.npz")) as file:
    subjects = [
        Bunch(**{name: file[f"{array}_{number}"] for name, array in arrays.items()})
        for number in (1, 2, 3, 4)
    ]
print(subjects[0].data.shape, np.bincount(subjects[0].target))

# %%
# Plot the first two principal components of the matrix logarithms of the first session.
# Colors are subjects. Without re-centering, subjects differ more than movements.

first = np.concatenate([s.data[~s.test] for s in subjects])
labels = np.concatenate([s.target[~s.test] for s in subjects])
subject = np.repeat([1, 2, 3, 4], 288)
centered = Recentering().fit_transform(first, domain=subject)
rows, columns = np.triu_indices(22)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for axis, matrices, title in [
    (axes[0], first, "not re-centered"),
    (axes[1], centered, "re-centered"),
]:
    plane = PCA(2).fit_transform(logm(matrices)[:, rows, columns])
    for number in (1, 2, 3, 4):
        axis.scatter(*plane[subject == number].T, s=5, label=f"subject {number}")
    axis.set(title=title, xlabel="PC 1", ylabel="PC 2", xticks=[], yticks=[])
axes[0].legend(markerscale=2)
# sphinx_gallery_alt = "Trials of four subjects before and after re-centering"
plt.show()

# %%
# Cross-session classification
# ----------------------------
#
# Train on the first day and test on the second day. Chance is 25 %. ``domain`` is the
# session of each matrix. The labels of the second day are used only for the score.
# Apply :class:`~skgeom.Recentering` before MDM, pyRiemann's classifier of nearest class
# means. :class:`~skgeom.TransferDiscriminantAnalysis` (TransferDA) re-centers and
# classifies.

methods = ["MDM", "re-centered MDM", "TransferDA"]
sessions = np.empty((len(methods), 4))
for k, data in enumerate(subjects):
    train, test = ~data.test, data.test
    X, y = data.data, data.target
    Z = Recentering().fit_transform(X, domain=data.test)
    transfer = TransferDiscriminantAnalysis().fit(X[train], y[train], domain="day 1")
    sessions[:, k] = [
        MDM().fit(X[train], y[train]).score(X[test], y[test]),
        MDM().fit(Z[train], y[train]).score(Z[test], y[test]),
        transfer.score(X[test], y[test], domain="day 2"),
    ]

# %%
# Cross-subject classification
# ----------------------------
#
# Train on the first day of three subjects, and test on the first day of the fourth
# subject. ``make_domain_scorer`` passes the domain of each matrix to the predictions.

scorer = make_domain_scorer(accuracy_score)
folds = LeaveOneGroupOut()
domains = {"domain": subject, "groups": subject}
results = [
    cross_val_score(MDM(), first, labels, groups=subject, cv=folds),
    cross_val_score(MDM(), centered, labels, groups=subject, cv=folds),
]
with sklearn.config_context(enable_metadata_routing=True):
    transfer = TransferDiscriminantAnalysis()
    results.append(
        cross_val_score(
            transfer, first, labels, scoring=scorer, cv=folds, params=domains
        )
    )
across = np.array(results)

# %%
# Compare the mean accuracy over the subjects. Across subjects, re-centering causes most
# of the gain, and the mean accuracies of the two classifiers of re-centered matrices do
# not differ significantly.
# Across sessions, TransferDA is more accurate than re-centered MDM. With 288 trials,
# the standard error for one subject is about 3 percentage points. The accuracy for
# subject 2 is low with all methods.

for name, by_session, by_subject in zip(methods, sessions, across, strict=True):
    means = f"{by_session.mean():.1%}, across subjects {by_subject.mean():.1%}"
    print(f"{name:18s} across sessions {means}")

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharey=True)
for axis, scores, title in [
    (axes[0], sessions, "across sessions"),
    (axes[1], across, "across subjects"),
]:
    for k in range(4):
        axis.plot(
            100 * scores[:, k], range(len(methods)), "o", label=f"subject {k + 1}"
        )
    axis.plot(100 * scores.mean(axis=1), range(len(methods)), "k|", ms=18, label="mean")
    axis.axvline(25, color="gray", ls=":")
    axis.set(title=title, xlabel="accuracy (%)", yticks=range(len(methods)))
    axis.set_yticklabels(methods)
    axis.grid(axis="y", alpha=0.3)
axes[0].invert_yaxis()
axes[0].legend(loc="lower left", fontsize="small")
# sphinx_gallery_alt = "Accuracy across sessions and subjects for three methods"
plt.show()

# %%
# Adapt to a new subject without labels
# -------------------------------------
#
# In addition to the mean of the new subject, ``adapt`` estimates the class means of
# this subject, and tests on held-out halves whether Gaussians with the new class means
# fit the data better than a single Gaussian. If the test fails, ``adapt`` keeps the
# class means of the training subjects. Train the models with both days of three
# subjects, and adapt them to the second day of the fourth subject. The test accepts the
# adaptation only for subject 3, for whom the accuracy increases by about 14 percentage
# points. For the remaining subjects, the predictions do not change.

models, tests = [], []
for target in subjects:
    known = [s for s in subjects if s is not target]
    X = np.concatenate([s.data for s in known])
    y = np.concatenate([s.target for s in known])
    domain = np.concatenate([2 * j + s.test for j, s in enumerate(known)])
    models.append(TransferDiscriminantAnalysis().fit(X, y, domain=domain))
    tests.append((target.data[target.test], target.target[target.test]))

for k, (model, (X, y)) in enumerate(zip(models, tests, strict=True), 1):
    before = model.score(X, y, domain=["new"] * len(X))
    adapted = copy.deepcopy(model).adapt(X)
    print(
        f"subject {k}: re-centered {before:.1%}, adapted {adapted.score(X, y):.1%} "
        f"(accepted: {adapted.adaptation_})"
    )

# %%
# Online adaptation, six trials at a time
# ---------------------------------------
#
# An online application cannot wait for all trials. Before the predictions of each block
# of six trials, ``partial_adapt`` updates the mean of the new domain with this block,
# and adapts the class means to all trials so far if the test accepts the adaptation. A
# block may also be a single trial. In the second half of the day, the mean is computed
# from at least 144 trials.

correct, names = [], ["new"] * 6
for model, (X, y) in zip(models, tests, strict=True):
    for start in range(0, len(X), 6):
        block = slice(start, start + 6)
        model.partial_adapt(X[block], domain=names)
        correct.extend(model.predict(X[block], domain=names) == y[block])
by_trial = np.reshape(correct, (4, -1))
print(f"accuracy, all trials:        {by_trial.mean():.1%}")
print(f"accuracy, trials 145 to 288: {by_trial[:, 144:].mean():.1%}")

# %%
# Calibration with labeled trials
# -------------------------------
#
# If the first 48 trials of the new subject have labels, pass them to ``fit``, which
# adds them to the training data with a weight of 10. The accuracy for the remaining
# trials of the day increases for all subjects. For a new day of a training subject, the
# weight would be too large: adapt without labels there.

for k, (target, model, (X_new, y_new)) in enumerate(
    zip(subjects, models, tests, strict=True), 1
):
    known = [s for s in subjects if s is not target]
    X = np.concatenate([s.data for s in known])
    y = np.concatenate([s.target for s in known])
    domain = np.concatenate([2 * j + s.test for j, s in enumerate(known)])
    remaining = X_new[48:], y_new[48:]
    before = model.adapt(X_new[:48]).score(*remaining)
    model = sklearn.clone(model).set_params(shrinkage=model.shrinkage_)
    target = {"X_target_labeled": X_new[:48], "y_target_labeled": y_new[:48]}
    model.fit(X, y, domain=domain, **target)
    print(f"subject {k}: unlabeled {before:.1%}, labeled {model.score(*remaining):.1%}")

# %%
# :ref:`transfer` explains the model, and :ref:`benchmarks` compares more methods.
