"""The few functions that know of arrays of other libraries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from skgeom import (
    GMLVQ,
    SQFA,
    CovarianceHessianProjection,
    GaussianClassifier,
    KernelDiscriminantAnalysis,
    LandmarkKernelPCA,
    Recentering,
    TransferDiscriminantAnalysis,
    plotting,
)
from skgeom.baselines import LOL, GeometryAwarePCA, mdrm
from skgeom.utils.array_api import like, namespace, to_numpy


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(40, 3, centers=2, random_state=0)


def test_there_and_back(library, rng):
    values = rng.normal(size=(3, 4))
    there = like(values[::-1].T, library.array([0.0]))
    assert library.is_mine(there)
    np.testing.assert_array_equal(to_numpy(there), values[::-1].T)
    single = namespace(there).float32
    assert "float32" in str(like(values, there, single).dtype)
    assert library.is_mine(like(there, there))


# Each takes X in a way of its own.
REFUSING = [
    Recentering(),
    TransferDiscriminantAnalysis(),
    GeometryAwarePCA(2),
    mdrm(),
    LandmarkKernelPCA(2),
    LOL(1),
]


@pytest.mark.parametrize("estimator", REFUSING, ids=lambda e: type(e).__name__)
def test_estimators_of_numpy_refuse_devices(estimator, device_library, make_spd):
    library = device_library
    y = np.arange(12) % 2
    X = make_spd((12,), 3) * (1 + 99 * y)[:, None, None]
    if isinstance(estimator, LandmarkKernelPCA | LOL):
        X = X.reshape(len(X), -1)
    there = library.array(X)
    with pytest.raises(ValueError, match=r"set_config\(array_api_dispatch=False"):
        clone(estimator).fit(there, y)
    fitted = clone(estimator).fit(X, y)
    method = "transform" if hasattr(fitted, "transform") else "predict"
    with pytest.raises(ValueError, match=r"libraries|same namespace"):
        getattr(fitted, method)(there)


FITTED = [
    SQFA(1, max_iter=2),
    GaussianClassifier(),
    KernelDiscriminantAnalysis(),
    CovarianceHessianProjection(LogisticRegression()),
    GMLVQ(max_iter=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", FITTED, ids=lambda e: type(e).__name__)
def test_switch_of_the_fit_and_imaginary_parts(estimator, library, blobs):
    X, y = blobs
    there = library.array(X)
    fitted = clone(estimator).fit(there, y)
    method = "transform" if hasattr(fitted, "transform") else "predict"
    with config_context(array_api_dispatch=False):
        with pytest.raises(ValueError, match=f"Before {method}, call set_config"):
            getattr(fitted, method)(X)
    waves = there * (1 + 1j)
    with pytest.raises(ValueError, match="Complex data not supported"):
        clone(estimator).fit(waves, y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        getattr(fitted, method)(waves)


# Scorers of scikit-learn and displays.


# roc_auc of scikit-learn 1.9.1 fails with tensors, of its own classifiers as well.
@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "neg_log_loss"])
def test_scorers(scoring, library, iris):
    X, y = iris

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
def test_displays(name, library, iris):
    X, y = iris
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    draw, drawn = DISPLAYS[name]
    cls = getattr(plotting, name)
    found = drawn(draw(cls, library.array(X), library.array(y)))
    assert isinstance(found, np.ndarray)
    assert_allclose(found, drawn(draw(cls, X, y)), atol=1e-2)
    plt.close("all")
