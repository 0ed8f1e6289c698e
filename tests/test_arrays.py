"""The few functions that know of arrays of other libraries."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from skgeom import (
    GMLVQ,
    SQFA,
    CovarianceHessianProjection,
    GaussianClassifier,
    KernelDiscriminantAnalysis,
    LandmarkKernelPCA,
    Recentering,
    TransferDiscriminantAnalysis,
)
from skgeom.baselines import LOL, GeometryAwarePCA, mdrm
from skgeom.utils.array_api import has_float64, is_dispatched, like, namespace, to_numpy


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(40, 3, centers=2, random_state=0)


def test_lists_and_numbers_are_for_numpy():
    assert namespace(np.ones(2), [1.0], 2, None) is np
    assert not is_dispatched([1.0])
    assert has_float64(np.ones(2))


def test_there_and_back(library, rng):
    values = rng.normal(size=(3, 4))
    there = like(values[::-1].T, library.array([0.0]))
    assert library.is_mine(there)
    np.testing.assert_array_equal(to_numpy(there), values[::-1].T)
    assert "float32" in str(like(values, there, "float32").dtype)
    assert library.is_mine(like(there, there))


def test_the_switch_decides(library):
    array = library.array([1.0])
    assert namespace(array, [2.0]) is library.xp
    assert is_dispatched(array)
    with config_context(array_api_dispatch=False):
        assert not is_dispatched(array)


def test_two_libraries_are_refused(library):
    with pytest.raises(TypeError, match="namespace"):
        namespace(library.array([1.0]), np.ones(1))


def test_what_torch_knows_and_numpy_does_not():
    torch = pytest.importorskip("torch")
    values = torch.tensor([1.0, -0.5])
    for tensor in (values.bfloat16(), values.requires_grad_()):
        np.testing.assert_array_equal(to_numpy(tensor), [1, -0.5])
    conjugate = torch.tensor([1 + 2j]).conj()  # a view, with a mark
    np.testing.assert_array_equal(to_numpy(conjugate), [1 - 2j])


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
    X, y = make_spd((12,), 3), np.arange(12) % 2
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
def test_the_switch_of_the_fit_is_needed_after_it(estimator, library, blobs):
    X, y = blobs
    fitted = clone(estimator).fit(library.array(X), y)
    method = "transform" if hasattr(fitted, "transform") else "predict"
    with config_context(array_api_dispatch=False):
        with pytest.raises(ValueError, match=f"For {method}, set_config"):
            getattr(fitted, method)(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", FITTED, ids=lambda e: type(e).__name__)
def test_imaginary_parts_are_not_dropped(estimator, library, blobs):
    X, y = blobs
    there = library.array(X)
    fitted = clone(estimator).fit(there, y)
    waves = there * (1 + 1j)
    with pytest.raises(ValueError, match="Complex data not supported"):
        clone(estimator).fit(waves, y)
    method = "transform" if hasattr(fitted, "transform") else "predict"
    with pytest.raises(ValueError, match="Complex data not supported"):
        getattr(fitted, method)(waves)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "parameter", "values"),
    [
        (GaussianClassifier(), "priors", [0.25, 0.75]),
        (KernelDiscriminantAnalysis(), "priors", [0.25, 0.75]),
    ],
    ids=str,
)
def test_parameters_may_be_such_arrays(estimator, parameter, values, library, blobs):
    X, y = blobs
    X = library.array(X)
    expected = clone(estimator).set_params(**{parameter: values}).fit(X, y)
    there = library.array(np.array(values))
    found = clone(estimator).set_params(**{parameter: there}).fit(X, y)
    method = "transform" if hasattr(found, "transform") else "predict_proba"
    np.testing.assert_array_equal(
        to_numpy(getattr(found, method)(X)), to_numpy(getattr(expected, method)(X))
    )
