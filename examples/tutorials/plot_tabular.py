"""
Tabular data: baselines, two features and probabilities
=======================================================

This tutorial classifies a table with columns in different units: 13 clinical attributes
of 303 patients with or without heart disease. It preprocesses the table, compares
classifiers of skgeom with baselines of scikit-learn by accuracy and log-loss, reduces
the table to two features, and saves the model.
"""

# %%
# Load and preprocess
# -------------------
#
# Four columns of :func:`~skgeom.datasets.fetch_heart` are codes: convert them to
# indicators. The remaining columns have different units (years, mmHg, mg/dl):
# standardize them, because the results of filters and kernels depend on the scale of
# the features. Impute missing values.

# sphinx_gallery_thumbnail_number = 2

import io

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import resample

from skgeom import RSLVQ, SQFA, GaussianClassifier, KernelDiscriminantAnalysis
from skgeom.datasets import fetch_heart
from skgeom.plotting import ClassEllipsesDisplay

heart = fetch_heart()
X = pd.DataFrame(heart.data, columns=heart.feature_names)
y = pd.Series(heart.target)
codes = ["cp", "restecg", "slope", "thal"]
preprocess = make_column_transformer(
    (
        make_pipeline(
            SimpleImputer(strategy="most_frequent"),
            OneHotEncoder(drop="first", sparse_output=False),
        ),
        codes,
    ),
    (
        make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
        X.columns.drop(codes),
    ),
    verbose_feature_names_out=False,
).set_output(transform="pandas")
X.iloc[:4, :8]

# %%
# Compare with baselines
# ----------------------
#
# Compute accuracy and log-loss in ten folds (five folds, repeated twice), with the same
# folds and the same preprocessing for all models. A grid search selects the penalty of
# the logistic regression. The log-loss measures the quality of the probabilities; lower
# values are better.

models = {
    "logistic regression": GridSearchCV(
        LogisticRegression(), {"C": [0.01, 0.1, 1]}, scoring="neg_log_loss"
    ),
    "random forest": RandomForestClassifier(random_state=0),
    "gradient boosting": GradientBoostingClassifier(random_state=0),
    "SVC": SVC(),
    "KernelDiscriminantAnalysis": KernelDiscriminantAnalysis(),
    "RSLVQ": RSLVQ(random_state=0),
    "SQFA(2), GaussianClassifier": make_pipeline(
        SQFA(2, random_state=0), GaussianClassifier()
    ),
}
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
scores = {}
for name, model in models.items():
    scoring = ["accuracy"] if name == "SVC" else ["accuracy", "neg_log_loss"]
    pipeline = make_pipeline(preprocess, model)
    scores[name] = cross_validate(pipeline, X, y, cv=folds, scoring=scoring)
table = pd.DataFrame(
    {
        "accuracy": {
            name: f"{s['test_accuracy'].mean():.1%}" for name, s in scores.items()
        },
        "log-loss": {
            name: f"{-s['test_neg_log_loss'].mean():.3f}"
            for name, s in scores.items()
            if "test_neg_log_loss" in s
        },
    }
).fillna("no probabilities")
table.loc[list(models)]

# %%
# Plot means and standard deviations over the folds: baselines in blue, and skgeom in
# orange. With 303 patients, the differences in accuracy between the classifiers are
# smaller than the differences between folds. Choose a classifier by its log-loss,
# interpretability and computing time.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
for axis, key, label in [
    (axes[0], "test_accuracy", "accuracy (%)"),
    (axes[1], "test_neg_log_loss", "log-loss"),
]:
    for row, name in enumerate(models):
        if key in scores[name]:
            values = abs(scores[name][key]) * (100 if key == "test_accuracy" else 1)
            color = "C1" if row > 3 else "C0"
            axis.errorbar(values.mean(), row, xerr=values.std(), fmt="o", color=color)
    axis.set_xlabel(label)
    axis.grid(axis="x", alpha=0.3)
axes[0].set_yticks(range(len(models)), list(models))
axes[0].invert_yaxis()
# sphinx_gallery_alt = "Accuracy and log-loss of seven classifiers"
plt.show()

# %%
# Two features
# ------------
#
# SQFA reduces the table to two features. Plot all patients, and an ellipse of one
# standard deviation for each class.

model = make_pipeline(preprocess, SQFA(2, random_state=0), GaussianClassifier())
disease = y.map({0: "absent", 1: "present"})
model.fit(X, disease)
display = ClassEllipsesDisplay.from_estimator(model, X, disease, label="heart disease")
features = model[:-1].transform(X)
for color, name in [("C0", "absent"), ("C1", "present")]:
    display.ax_.scatter(*features[disease == name].T, s=6, color=color, alpha=0.6)
display.ax_.set(xlabel="feature 1", ylabel="feature 2")
# sphinx_gallery_alt = "Patients in two features with ellipses of both classes"
plt.show()

# %%
# Plot the eight largest weights of the first filter. Weights of standardized columns
# are comparable. The weight of an indicator is the change of the filter output between
# this code and the first code of the column.

weights = model["sqfa"].components_[0]
names = model[:-2].get_feature_names_out()
largest = np.abs(weights).argsort()[-8:]
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.barh(names[largest], weights[largest])
axis.set_xlabel("weight in the first filter")
# sphinx_gallery_alt = "Bars of the largest weights of the first filter"
plt.show()

# %%
# Importances of the filters with bootstrap intervals
# ---------------------------------------------------
#
# The importance of a filter is the decrease of the mean class distance if the filter is
# removed. Compute intervals of 95 % from 50 bootstrap samples of the patients. Each fit
# starts from the filters of all patients, so that filters with the same number
# correspond.

sqfa, table = model["sqfa"], model[:-2].transform(X)
again = clone(sqfa).set_params(
    init=sqfa.components_, regularization=sqfa.regularization_
)
importances = [
    again.fit(
        *resample(table, disease, stratify=disease, random_state=seed)
    ).filter_importances()
    for seed in range(50)
]
intervals = np.percentile(importances, [2.5, 97.5], axis=0).T
for k, (low, high) in enumerate(intervals):
    print(
        f"filter {k + 1}: {sqfa.filter_importances()[k]:.2f} ({low:.2f} to {high:.2f})"
    )

# %%
# Save and load
# -------------
#
# Save the fitted pipeline with joblib. The example saves it to memory instead of a
# file.

file = io.BytesIO()
joblib.dump(model, file)
file.seek(0)
loaded = joblib.load(file)
print("equal predictions:", np.array_equal(loaded.predict(X), model.predict(X)))

# %%
# :ref:`kernel_discriminant` explains a classifier with calibrated probabilities, and
# :ref:`sqfa` explains the filters.
# :ref:`sphx_glr_auto_examples_tutorials_plot_reject_cost.py` shows decisions with costs
# on the same table. :ref:`defaults` compares the classifiers on more data sets.
