"""
Filters in spite of outliers
============================

Two classes differ in their covariance. One in fifteen samples is a gross error. The
sample covariances, and so the filters, follow the errors. Robust estimates of the
covariances, and the distance between Student t distributions, which have heavy tails,
do not.
"""

import matplotlib.pyplot as plt
import numpy as np

from skgeom import SQFA, GaussianClassifier
from skgeom.objectives import StudentT

rng = np.random.default_rng(0)


def sample(n_samples):
    """Eight features; the classes differ in the correlation of the first two."""
    y = np.arange(n_samples) % 2
    X = rng.normal(size=(n_samples, 8))
    wide, narrow = 1.5 * X[:, 0], 0.3 * X[:, 1]
    X[:, 0] = wide + narrow
    X[:, 1] = np.where(y, 1, -1) * (wide - narrow)
    return X, y


X, y = sample(600)
X_test, y_test = sample(4000)
wrong = rng.random(600) < 1 / 15
X[wrong, 4:] += 30 * rng.standard_t(1, size=(np.count_nonzero(wrong), 4))

# %%
# The plain fit, and the robust one, in the plane of their two filters. Each title says
# how many new samples, without errors, a quadratic classifier gets right.

models = {
    "sample covariances": SQFA(2, covariance_estimator=None, random_state=0),
    "robust, Student t": SQFA(
        2, distance=StudentT(3), covariance_estimator="mcd", random_state=0
    ),
}
figure, panels = plt.subplots(1, 2, figsize=(8.5, 4), layout="constrained")
for panel, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    clean = ~wrong
    classifier = GaussianClassifier().fit(model.transform(X[clean]), y[clean])
    score = classifier.score(model.transform(X_test), y_test)
    for label, colour in enumerate(["tab:blue", "tab:orange"]):
        Z = model.transform(X_test[y_test == label][:300])
        panel.plot(*Z.T, ".", color=colour, ms=4, label=f"class {label}")
    panel.set(title=f"{name}: {score:.2f} right", xlabel="feature 1")
panels[0].set_ylabel("feature 2")
panels[0].legend()
plt.show()

# %%
# Where the weight of the filters lies: the first two features are those that differ.

for name, model in models.items():
    share = (model.components_[:, :2] ** 2).sum() / 2
    print(f"{name:20s} {share:.2f} of the squared weight on the features that differ")
