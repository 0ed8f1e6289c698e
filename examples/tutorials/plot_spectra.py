"""
Spectra: few samples, many wavelengths
======================================

This tutorial classifies spectra with many more wavelengths than samples: simulated
near-infrared spectra of three varieties, and measured spectra of coffee from three
countries. It compares classifiers without preprocessing of the spectra, and shows which
bands the filters measure.
"""

# %%
# Simulate spectra
# ----------------
#
# A spectrum is a sum of twelve absorption bands, a smooth baseline and noise, times a
# random factor (scattering). The varieties differ in the mean of one or two bands, and
# in the variance of one band. These differences are much smaller than the variation of
# baseline and scattering, as is typical of powders.

# sphinx_gallery_thumbnail_number = 2

import chemotools.datasets
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import (
    SQFA,
    GaussianClassifier,
    KernelDiscriminantAnalysis,
    activation_patterns,
)
from skgeom.plotting import FilterDisplay

rng = np.random.default_rng(0)
wavelengths = np.linspace(900, 1700, 700)  # nm
centers, widths = rng.uniform(950, 1650, 12), rng.uniform(20, 60, 12)
bands = np.exp(-0.5 * ((wavelengths - centers[:, None]) / widths[:, None]) ** 2)
y = np.repeat(["A", "B", "C"], 100)
amounts = rng.normal(1, 0.15, size=(300, 12))
amounts[y == "B", 3] += 0.35
amounts[y == "C", 7] += 0.35
amounts[y == "A", 5] += rng.normal(0, 0.35, size=100)
amounts[y == "B", 9] += rng.normal(0, 0.35, size=100)
position = np.linspace(-1, 1, 700)
baselines = rng.normal(0, 0.3, size=(300, 3)) @ position ** np.arange(3)[:, None]
scattering = rng.normal(1, 0.1, size=(300, 1))
X = scattering * (amounts @ bands) + baselines + rng.normal(0, 0.01, size=(300, 700))

figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
for label, color in zip("ABC", ("C0", "C1", "C2"), strict=True):
    lines = ax.plot(wavelengths, X[y == label][:8].T, color=color, linewidth=0.6)
    lines[0].set_label(label)
ax.set(xlabel="wavelength (nm)", ylabel="absorbance")
ax.legend(title="variety")
# sphinx_gallery_alt = "Eight spectra of each variety, which overlap almost completely."
plt.show()

# %%
# Compare classifiers
# -------------------
#
# :class:`~skgeom.GaussianClassifier` selects its regularization among ridges down to
# 1e-7 of the variances, so it also uses directions of small variance. It is applied to
# the spectra as they are, because all wavelengths have the same unit.
# :class:`~skgeom.SQFA` learns four filters. Accuracy and log-loss are means of four
# folds.

models = {
    "LDA": LinearDiscriminantAnalysis(),
    "LDA, shrinkage": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "logistic regression": make_pipeline(
        StandardScaler(), LogisticRegression(C=100, max_iter=2000)
    ),
    "KernelDiscriminantAnalysis": make_pipeline(
        StandardScaler(), KernelDiscriminantAnalysis()
    ),
    "GaussianClassifier": GaussianClassifier(),
    "SQFA(4), GaussianClassifier": make_pipeline(
        SQFA(4, random_state=0), GaussianClassifier()
    ),
}


def compare(models, X, y):
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    rows = {}
    for name, model in models.items():
        scores = cross_validate(
            model, X, y, cv=folds, scoring=["accuracy", "neg_log_loss"]
        )
        rows[name] = {
            "accuracy": f"{scores['test_accuracy'].mean():.1%}",
            "log-loss": f"{-scores['test_neg_log_loss'].mean():.3f}",
        }
    return pd.DataFrame(rows).T


compare(models, X, y)

# %%
# Which bands do the filters measure?
# -----------------------------------
#
# A filter also suppresses baseline, scattering and noise, so its weights are difficult
# to read. The activation pattern of a filter is the change of the spectrum when the
# output of this filter increases by one. Draw the patterns as curves, with the centers
# of the four bands that differ between the varieties.

sqfa = SQFA(4, random_state=0).fit(X, y)
patterns = activation_patterns(sqfa.components_, np.cov(X.T))
display = FilterDisplay(patterns, titles=sqfa.get_feature_names_out())
display.plot(x=wavelengths, n_columns=2, xlabel="wavelength (nm)")
for ax in display.axes_:
    for center in centers[[3, 5, 7, 9]]:
        ax.axvline(center, color="C1", linestyle=":")
# sphinx_gallery_alt = "Patterns of four filters as curves, with peaks at dotted lines."
plt.show()

# %%
# Spectra of coffee
# -----------------
#
# The package ``chemotools`` (``pip install chemotools``) contains 60 spectra of coffee
# from Brazil, Ethiopia and Vietnam, with 1,841 wavelengths. The countries are easy to
# separate: no method makes an error. With 45 training samples without errors, however,
# nobody knows whether the error is 0 or 3 %, so the probabilities of skgeom are
# deliberately cautious (:ref:`selection`).

coffee, origin = chemotools.datasets.load_coffee()
coffee, origin = coffee.to_numpy(), origin.to_numpy().ravel()
compare(
    {
        name: models[name]
        for name in ("LDA", "logistic regression", "GaussianClassifier")
    },
    coffee,
    origin,
)

# %%
model = make_pipeline(SQFA(2, random_state=0), GaussianClassifier()).fit(coffee, origin)
features = model[:-1].transform(coffee)
figure, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
for label in np.unique(origin):
    ax.scatter(*features[origin == label].T, s=14, label=label)
ax.set(xlabel="filter 0", ylabel="filter 1")
ax.legend()
# sphinx_gallery_alt = "Spectra of coffee in the plane of two filters: three groups."
plt.show()

# %%
# .. seealso::
#
#    :ref:`selection` explains how the regularization is selected, and :ref:`which`
#    recommends estimators for other data.
