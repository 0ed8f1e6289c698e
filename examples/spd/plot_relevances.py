"""
Feature relevances with GMLVQ
=============================

:class:`~skgeom.GMLVQ` learns one prototype per class and a metric. The diagonal of the
metric contains the relevance of each feature. The baseline is :class:`~skgeom.RSLVQ`,
which uses the Euclidean metric.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import GMLVQ, RSLVQ

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), data.target_names[data.target]
for name, lvq in {
    "learned metric": GMLVQ(random_state=0),
    "Euclidean": RSLVQ(),
}.items():
    model = make_pipeline(StandardScaler(), lvq)
    scores = cross_val_score(model, data.data, y)
    print(f"{name:14s}  accuracy in five folds {scores.mean():.1%}")

# %%
# ``predict_proba`` of :class:`~skgeom.GMLVQ` uses a temperature that is selected with
# held-out samples. Compare the log-loss with a sigmoid calibration by scikit-learn,
# which fits five classifiers.

for name, model in {
    "temperature": GMLVQ(random_state=0),
    "CalibratedClassifierCV": CalibratedClassifierCV(GMLVQ(random_state=0)),
}.items():
    model = make_pipeline(StandardScaler(), model)
    losses = cross_val_score(model, data.data, y, scoring="neg_log_loss")
    print(f"{name:22s}  log-loss in five folds {-losses.mean():.3f}")

# %%
# The learned metric does not always increase the accuracy, but it can be interpreted.
#
# Feature relevances
# ------------------
#
# The features are ten measurements of cell nuclei, each as mean, standard error and
# worst value. The relevances sum to one. Few measurements have large relevances.

gmlvq = GMLVQ(random_state=0).fit(X, y)
metric = gmlvq.omega_.T @ gmlvq.omega_
relevances = np.diag(metric)
order = np.argsort(relevances)[-10:]
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.barh(data.feature_names[order], relevances[order] / relevances.sum())
axis.set_xlabel("relevance")
plt.show()

# %%
# 2-D projection by the metric
# ----------------------------
#
# The leading axes of the metric determine most of the distances. The plot shows samples
# and prototypes along two of them.

_, axes = np.linalg.eigh(metric)
plane = axes[:, :-3:-1]
figure, axis = plt.subplots(figsize=(6, 4.2), layout="constrained")
for label, colour in zip(gmlvq.classes_, ["tab:blue", "tab:orange"], strict=True):
    axis.plot(*(X[y == label] @ plane).T, ".", color=colour, ms=4, label=label)
    prototypes = gmlvq.prototypes_[gmlvq.prototype_labels_ == label] @ plane
    axis.plot(*prototypes.T, "*", color=colour, ms=18, mec="black")
axis.set(xlabel="first axis of the metric", ylabel="second axis")
axis.legend(title="stars: prototypes")
plt.show()
