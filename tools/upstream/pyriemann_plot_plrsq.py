"""
=================================================
Several prototypes per class: PLRSQ and MDM
=================================================

MDM represents each class by one mean. If a class has several modes, its mean lies
between them. Probabilistic learning Riemannian space quantization (PLRSQ) learns
several prototypes per class.
"""

import matplotlib.pyplot as plt
import numpy as np
from pyriemann.classification import MDM
from pyriemann.geometry.base import expm
from sklearn.model_selection import StratifiedKFold, cross_val_score

from skgeom import PLRSQ

###############################################################################
# Each class has two modes, at opposite corners of a square of log-variances.

rng = np.random.default_rng(0)
corners = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
mode = np.repeat(range(4), 50)
logs = rng.normal(scale=0.5, size=(200, 2, 2))
logs = (logs + logs.swapaxes(1, 2)) / 2
logs[:, [0, 1], [0, 1]] += corners[mode]
X, y = expm(logs), mode // 2

###############################################################################
# Cross-validated accuracy with one and with two prototypes per class.

models = {
    "MDM": MDM(),
    "PLRSQ, 1 prototype": PLRSQ(1, random_state=0),
    "PLRSQ, 2 prototypes": PLRSQ(2, random_state=0),
}
cv = StratifiedKFold(5, shuffle=True, random_state=0)
scores = [100 * cross_val_score(model, X, y, cv=cv) for model in models.values()]
for name, score in zip(models, scores, strict=True):
    print(f"{name}: {score.mean():.1f} %")

figure, axes = plt.subplots(figsize=(6, 3))
axes.boxplot(scores, orientation="horizontal")
axes.set_yticks(range(1, 4), models)
axes.set_xlabel("accuracy (%)")
figure.tight_layout()
plt.show()
