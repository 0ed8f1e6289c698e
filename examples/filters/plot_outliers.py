"""
Robust filters for data with outliers
=====================================

Two classes differ in their covariance, and one in fifteen training samples is an
outlier. The outliers change the sample covariances and therefore the filters. The
minimum covariance determinant (``"mcd"``), a robust covariance estimate, and the
distance between Student t distributions are less sensitive to outliers.
"""

# sphinx_gallery_thumbnail_number = 101

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skgeom import SQFA, GaussianClassifier
from skgeom.objectives import StudentT

rng = np.random.default_rng(0)


def sample(n_samples):
    """Eight inputs; the classes differ in the correlation of the first two inputs."""
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
# Plot two features of the test samples, which contain no outliers. The titles contain
# the test accuracy of a quadratic classifier.

# The expected warning: held-out outliers have very small log posteriors.
warnings.filterwarnings("ignore", message="The filters do not separate")

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
    panel.set(title=f"{name}: {score:.1%} accuracy", xlabel="feature 1")
panels[0].set_ylabel("feature 2")
panels[0].legend()
# sphinx_gallery_alt = "Sample covariances mix two classes, robust ones separate them"
plt.show()

# %%
# The classes differ only in the first two of the eight inputs. Print the fraction of
# the squared filter weights on these two inputs.

for name, model in models.items():
    share = (model.components_[:, :2] ** 2).sum() / 2
    print(f"{name:20s} {share:.1%} of the squared weights on the first two inputs")
