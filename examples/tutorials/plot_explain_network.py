"""
Explain a trained neural network on tabular data
================================================

A neural network predicts diabetes from eight measurements. To explain its decisions,
:class:`~skgeom.CovarianceHessianProjection` computes a 2-D projection. Along the first
axis, the data have the largest variance; along the second axis, the loss of the network
has the largest curvature. Measurements with large weights in the second axis contribute
most to this direction.
"""

# %%
# Train a network
# ---------------
#
# :func:`~skgeom.datasets.fetch_pima` returns eight measurements of 768 women. Zeros in
# five columns are missing values: replace them by the median of the column. Half of the
# samples are used for testing.

# sphinx_gallery_thumbnail_number = 101

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import CovarianceHessianProjection
from skgeom.datasets import fetch_pima

pima = fetch_pima()
X, y = pd.DataFrame(pima.data, columns=pima.feature_names), pima.target
names = X.columns
missing = ["glucose", "blood_pressure", "skin_thickness", "insulin", "bmi"]
X[missing] = X[missing].replace(0, np.nan)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
scaler = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
Z_train, Z_test = scaler.fit_transform(X_train), scaler.transform(X_test)
network = MLPClassifier((16, 8), alpha=3, max_iter=2000, random_state=0)
network.fit(Z_train, y_train)
print(f"test accuracy of the network: {network.score(Z_test, y_test):.1%}")

# %%
# Compute the projection
# ----------------------
#
# ``fit`` trains a copy of the classifier, unless the classifier is a
# ``FrozenEstimator``. PyTorch modules and functions that return logits are never
# trained.

projection = CovarianceHessianProjection(FrozenEstimator(network)).fit(Z_train, y_train)
plane = projection.transform(Z_test)
predicted = network.predict(Z_test)
probability = network.predict_proba(Z_test)[:, 1]

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
pca = PCA(2).fit(Z_train)
for axis, points, title in [
    (axes[0], pca.transform(Z_test), "PCA"),
    (axes[1], plane, "covariance and Hessian"),
]:
    image = axis.scatter(*points.T, c=probability, s=10, cmap="RdBu_r", vmin=0, vmax=1)
    axis.set(title=title, xlabel="component 1", ylabel="component 2")
figure.colorbar(image, ax=axes, label="probability of diabetes (network)")
# sphinx_gallery_alt = "Patients in two projections, colored by predicted probability"
plt.show()

# %%
# Agreement of the projection with the network
# --------------------------------------------
#
# Train a linear classifier on the two components to predict the decisions of the
# network. The agreement of the linear classifier with the network on test samples
# measures how well the projection represents the decisions.

for name, method in {"PCA": pca, "covariance and Hessian": projection}.items():
    surrogate = LogisticRegression()
    surrogate.fit(method.transform(Z_train), network.predict(Z_train))
    agreement = surrogate.score(method.transform(Z_test), predicted)
    print(f"{name:24s} agreement with the network {agreement:.1%}")

# %%
# Contributions and permutation importance of the measurements
# ------------------------------------------------------------
#
# The plot compares the weights of the Hessian axis with the permutation importance.
# Here the importance is the percentage of decisions of the network that change if one
# column is shuffled. Glucose has the largest weight and the largest importance.

weights = projection.components_[1]
importance = permutation_importance(
    network, Z_test, predicted, n_repeats=20, random_state=0
).importances_mean
order = np.abs(weights).argsort()
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
axes[0].barh(names[order], np.abs(weights[order]))
axes[0].set_xlabel("absolute weight in the Hessian axis")
axes[1].barh(names[order], 100 * importance[order], color="C1")
axes[1].set_xlabel("decisions changed by shuffling (%)")
# sphinx_gallery_alt = "Weights and permutation importance of eight measurements"
plt.show()

# %%
# Explain one decision
# --------------------
#
# Move a sample along the Hessian axis, the direction of largest curvature of the loss,
# until the decision of the network changes. This step changes all eight measurements
# together. Print the three measurements with the largest standardized changes, in the
# units of the table. The changes are a property of the network, not a causal effect.

index = np.abs(probability - 0.7).argmin()
steps = np.linspace(-3, 3, 601)
path = Z_test[index] + steps[:, None] * weights
flips = steps[network.predict(path) != predicted[index]]
step = flips[np.abs(flips).argmin()]
change = step * weights * scaler[-1].scale_
print(f"probability of diabetes: {probability[index]:.1%}")
print("measurement, value and change, for three of the eight joint changes:")
for k in np.abs(step * weights).argsort()[:-4:-1]:
    value = scaler[-1].inverse_transform(Z_test[[index]])[0, k]
    print(f"{names[k]:15s} {value:6.2f} {change[k]:+.2f}")

# %%
# :ref:`covariance_hessian` explains the theory and its assumptions.
