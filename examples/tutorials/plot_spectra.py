"""
Spectra: few samples, many wavelengths
======================================

This tutorial classifies spectra with many more wavelengths than samples: simulated
near-infrared spectra of three varieties, and measured spectra of coffee from three
countries. It compares the classifiers of skgeom with the baselines of chemometrics, and
shows which bands the filters measure.
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

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.signal import savgol_filter
from scipy.stats import zscore
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, LabelBinarizer, StandardScaler

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
ax.legend(title="variety", loc="center left", bbox_to_anchor=(1, 0.5))
# sphinx_gallery_alt = "Eight spectra of each variety, which overlap almost completely."
plt.show()

# %%
# Compare classifiers
# -------------------
#
# In chemometrics, LDA usually follows PCA, or partial least squares (PLS) of the class
# indicators (PLS-DA). Common preprocessing steps are:
#
# * The standard normal variate (SNV) centers each spectrum and divides it by its
#   standard deviation, which reduces offsets and scattering.
# * A derivative, computed by the Savitzky-Golay filter, reduces smooth baselines.
#
# :class:`~skgeom.GaussianClassifier` selects its regularization among ridges down to
# 1e-7 of the variances, so it also uses directions of small variance. The classifiers
# of skgeom are applied to the spectra as they are, because all wavelengths have the
# same unit. Only logistic regression standardizes the wavelengths, because its penalty
# depends on their scale.
#
# The varieties differ in the means of two bands and in the variances of two more bands,
# so :class:`~skgeom.SQFA` learns four filters. If only the means differed,
# ``n_classes - 1 = 2`` filters would suffice. Accuracy and log-loss are means of four
# folds.


class PLS(PLSRegression):
    """Partial least squares of the class indicators, as a step of a pipeline."""

    def fit_transform(self, X, y):
        return self.fit(X, LabelBinarizer().fit_transform(y)).transform(X)


pca, lda = PCA(20, svd_solver="full"), LinearDiscriminantAnalysis()
snv = FunctionTransformer(zscore, kw_args={"axis": 1})
derivative = FunctionTransformer(
    savgol_filter, kw_args={"window_length": 31, "polyorder": 2, "deriv": 1}
)
models = {
    "PCA(20), LDA": make_pipeline(pca, lda),
    "SNV, PCA(20), LDA": make_pipeline(snv, pca, lda),
    "PLS(12), LDA": make_pipeline(PLS(12, scale=False), lda),
    "derivative, PLS(12), LDA": make_pipeline(derivative, PLS(12, scale=False), lda),
    "LDA, shrinkage": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "logistic regression": make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=2000)
    ),
    "KernelDiscriminantAnalysis": KernelDiscriminantAnalysis(),
    "KernelDiscriminantAnalysis, linear": KernelDiscriminantAnalysis(kernel="linear"),
    "GaussianClassifier": GaussianClassifier(),
    "SQFA(2), GaussianClassifier": make_pipeline(
        SQFA(2, random_state=0), GaussianClassifier()
    ),
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
# With 300 samples, the standard error of an accuracy is about 2.6 percentage points, so
# most accuracies are not significantly different. The log-loss is lowest for
# GaussianClassifier and for SQFA with four filters, which use the variances of the
# bands. Two filters are too few. SNV and the derivative change the accuracy by at most
# two standard errors.
#
# If only the means of your classes differ, PCA and LDA, or
# ``KernelDiscriminantAnalysis(kernel="linear")``, are equally accurate and much faster.

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

import chemotools.datasets

coffee, origin = chemotools.datasets.load_coffee()
coffee, origin = coffee.to_numpy(), origin.to_numpy().ravel()
compare(
    {
        name: models[name]
        for name in ("PCA(20), LDA", "logistic regression", "GaussianClassifier")
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
figure.legend(loc="outside right upper")
# sphinx_gallery_alt = "Spectra of coffee in the plane of two filters: three groups."
plt.show()

# %%
# .. seealso::
#
#    :ref:`selection` explains how the regularization is selected, and :ref:`which`
#    recommends estimators for other data.
