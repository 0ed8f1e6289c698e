"""
The noise, chosen by cross-validation
=====================================

Filters are learnt for a noise of the variance ``regularization``. SQFA and AMA-Gauss
find a good value without a search. :class:`~skgeom.SQFACV` and
:class:`~skgeom.AMAGaussCV` try several, and take the one with which a classifier is
right most often in samples that are left out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skgeom import SQFA, SQFACV, AMAGauss, AMAGaussCV, GaussianClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / X.std(), y, train_size=300, stratify=y, random_state=0
)

# %%
# The search
# ----------
#
# Ten values in five folds, for 300 images. A search for a smaller variance starts from
# the filters of the larger one, so that ten values cost less than ten fits.

searches = {
    "SQFA": SQFACV(6, random_state=0),
    "AMA-Gauss": AMAGaussCV(6, random_state=0),
}
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for (name, search), colour in zip(searches.items(), ["C0", "C1"], strict=True):
    results = search.fit(X_train, y_train).cv_results_
    values, scores = results["regularization"], results["mean_test_score"]
    error = results["std_test_score"] / np.sqrt(5)
    axis.plot(values, scores, "o-", color=colour, label=name)
    axis.fill_between(values, scores - error, scores + error, color=colour, alpha=0.2)
    chosen = scores[np.isclose(values, search.regularization_)]
    axis.plot(search.regularization_, chosen, "*", ms=18, color=colour, mec="black")
axis.set(xscale="log", xlabel="regularization", ylabel="accuracy in the folds")
axis.legend(title="stars: chosen")
plt.show()

# %%
# Was it worth it?
# ----------------
#
# The accuracy in new images, with the chosen values and with the automatic ones.


def accuracy(model):
    classifier = GaussianClassifier().fit(model.transform(X_train), y_train)
    return classifier.score(model.transform(X_test), y_test)


for name, automatic in {"SQFA": SQFA(6), "AMA-Gauss": AMAGauss(6)}.items():
    automatic.set_params(random_state=0).fit(X_train, y_train)
    for how, model in {"automatic": automatic, "searched": searches[name]}.items():
        print(f"{name:9s}  {how:9s}  {model.regularization_:6.3f}", end="")
        print(f"  accuracy {accuracy(model):.3f}")
