"""Scorers of scikit-learn and displays accept models and samples of other libraries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from skgeom import SQFA, GaussianClassifier, plotting

X, y = load_iris(return_X_y=True)


# roc_auc of scikit-learn 1.9.1 fails with tensors, of its own classifiers as well.
@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "neg_log_loss"])
def test_scorers(scoring, library):
    def scores(X, y):
        return cross_val_score(GaussianClassifier(), X, y, cv=2, scoring=scoring)

    found = scores(library.array(X), library.array(y))
    assert_allclose(found, scores(X, y), atol=0.02)


DISPLAYS = {
    "AccuracyRejectionDisplay": (
        lambda cls, X, y: cls.from_estimator(GaussianClassifier().fit(X, y), X, y),
        lambda display: display.accuracies,
    ),
    "ClassEllipsesDisplay": (
        lambda cls, X, y: cls.from_estimator(sqfa_of(X, y), X, y),
        lambda display: display.means,
    ),
    "DistanceMatrixDisplay": (
        lambda cls, X, y: cls.from_estimator(sqfa_of(X, y)),
        lambda display: display.matrix,
    ),
    "FilterDisplay": (
        lambda cls, X, y: cls.from_estimator(sqfa_of(X, y), shape=(2, 2)),
        lambda display: np.abs(display.filters),
    ),
}


def sqfa_of(X, y):
    return SQFA(2, regularization=0.1, random_state=0).fit(X, y)


@pytest.mark.parametrize("name", DISPLAYS)
def test_displays(name, library):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    draw, drawn = DISPLAYS[name]
    cls = getattr(plotting, name)
    found = drawn(draw(cls, library.array(X), library.array(y)))
    assert isinstance(found, np.ndarray)
    assert_allclose(found, drawn(draw(cls, X, y)), atol=1e-2)
    plt.close("all")
