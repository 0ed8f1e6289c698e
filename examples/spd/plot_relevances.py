"""
Feature relevances with GMLVQ
=============================

:class:`~skgeom.GMLVQ` learns one prototype per class and a metric. The diagonal of the
metric contains the relevance of each feature. A classifier of the five features with
the largest relevances is nearly as accurate as a classifier of all thirty features.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import GMLVQ, RSLVQ

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), data.target_names[data.target]


def report(name, model):
    scores = cross_val_score(make_pipeline(StandardScaler(), model), data.data, y)
    error = scores.std() / 5**0.5
    print(f"{name:24s} {scores.mean():.1%} (standard error {error:.1%})")


report("GMLVQ, learned metric", GMLVQ(random_state=0))
report("RSLVQ, Euclidean metric", RSLVQ())

# %%
# The learned metric does not increase the accuracy here, but it can be interpreted.
#
# Feature selection by relevance
# ------------------------------
#
# In each training fold, select the five features with the largest relevances. Compare
# the accuracy on these features with the accuracy on five random features.

selection = SelectFromModel(
    GMLVQ(random_state=0),
    max_features=5,
    threshold=-np.inf,
    importance_getter="relevances_",
)
report("five relevant features", make_pipeline(selection, RSLVQ()))
rng = np.random.default_rng(0)
scores = []
for _ in range(10):
    columns = rng.choice(30, size=5, replace=False)
    model = make_pipeline(StandardScaler(), RSLVQ())
    scores.append(cross_val_score(model, data.data[:, columns], y).mean())
print(f"{'five random features':24s} {np.mean(scores):.1%} (mean of 10 draws)")

# %%
# Calibrated probabilities
# ------------------------
#
# The probabilities of :class:`~skgeom.GMLVQ` depend on a temperature, which ``fit``
# selects with held-out samples. Compare the log-loss with the sigmoid calibration of
# scikit-learn, which fits five classifiers.

for name, model in {
    "temperature": GMLVQ(random_state=0),
    "CalibratedClassifierCV": CalibratedClassifierCV(GMLVQ(random_state=0)),
}.items():
    model = make_pipeline(StandardScaler(), model)
    losses = cross_val_score(model, data.data, y, scoring="neg_log_loss")
    print(f"{name:22s}  log-loss in five folds {-losses.mean():.3f}")

# %%
# Feature relevances
# ------------------
#
# The features are ten measurements of cell nuclei, each as mean, standard error and
# worst value. The relevances are normalized to a sum of one. The plot shows the ten
# largest relevances. Most of these features are worst values.

gmlvq = GMLVQ(random_state=0).fit(X, y)
relevances = gmlvq.relevances_
order = np.argsort(relevances)[-10:]
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.barh(data.feature_names[order], relevances[order])
axis.set_xlabel("relevance")
# sphinx_gallery_alt = "Bars of the ten largest relevances of features"
plt.show()

# %%
# 2-D projection by the metric
# ----------------------------
#
# The rows of ``omega_`` are sorted by their contribution to the distances. The plot
# shows samples and prototypes in the projection onto the first two rows.

plane = gmlvq.omega_[:2].T
figure, axis = plt.subplots(figsize=(6, 4.2), layout="constrained")
for label, colour in zip(gmlvq.classes_, ["tab:blue", "tab:orange"], strict=True):
    axis.plot(*(X[y == label] @ plane).T, ".", color=colour, ms=4, label=label)
    prototypes = gmlvq.prototypes_[gmlvq.prototype_labels_ == label] @ plane
    axis.plot(*prototypes.T, "*", color=colour, ms=18, mec="black")
axis.set(xlabel="first row of omega_", ylabel="second row of omega_")
axis.legend(title="stars: prototypes")
# sphinx_gallery_alt = "Samples and prototypes in a plane of the learned metric"
plt.show()
