"""Kernel discriminants of arrays of other libraries than numpy, on their devices."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import _array_api

from skgeom import Calibration
from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom.utils.array_api import to_numpy

LANDMARKS = {"solver": "nystroem", "n_landmarks": 40}
MODELS = [
    KDA(),
    KDA(penalty="identity", regularization=1e-3),
    KDA(criterion="total", kernel="linear", regularization=1e-3),
    KDA(solver="eigen", kernel="chi2", gamma=0.1, regularization=1e-3),
    KDA(**LANDMARKS, penalty="identity"),
    KDA(metric="learned", gamma="scale", regularization=1e-3),
    # Rounding divided by the selected penalty would exceed the tolerance.
    KDA(**LANDMARKS, kernel="poly", degree=1.5, regularization=1e-3),
]
RARE_MODELS = [
    KDA(regularization=1e-5, priors="uniform"),
    KDA(kernel="laplacian", gamma=0.01),
    KDA(kernel="sigmoid", gamma=1e-3, penalty="identity"),
    KDA(kernel="cosine"),
    KDA(kernel="poly", degree=2, calibration=Calibration(temperature=2.0)),
    KDA(**LANDMARKS),
]
MODELS += [pytest.param(model, marks=pytest.mark.exhaustive) for model in RARE_MODELS]
METHODS = ["transform", "decision_function", "predict_proba", "predict_log_proba"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[26:])
def test_results_are_those_of_numpy(library, digits, model, one_partition):
    X, y = digits[0][:150], digits[1][:150]
    X = X.astype(library.dtype)
    model.set_params(**{"random_state": 0} if isinstance(model, KDA) else {})
    with config_context(array_api_dispatch=False):
        expected = model.fit(X, y)
        expected = pickle.loads(pickle.dumps(expected))
    X_there, y_there = library.array(X), library.array(y)
    there = model.fit(X_there, y_there)
    for name, value in vars(expected).items():
        if isinstance(value, np.ndarray):
            assert library.is_mine(getattr(there, name)), name
    assert there.regularization_ == pytest.approx(expected.regularization_)
    # Rounding of single precision is enlarged by a light penalty, in numpy as well.
    tolerance = 1e-6 if library.dtype == "float64" else 2e-3
    for method in METHODS:
        found = getattr(there, method)(X_there)
        assert library.is_mine(found)
        reference = getattr(expected, method)(X)
        assert to_numpy(found).dtype == reference.dtype
        size = np.abs(reference).max()
        assert_allclose(to_numpy(found), reference, rtol=0, atol=tolerance * size)
    predicted = there.predict(X_there)
    assert library.is_mine(predicted)
    assert (to_numpy(predicted) == expected.predict(X)).mean() > 0.99
    assert there.score(X_there, y_there) == pytest.approx(
        expected.score(X, y), abs=0.01
    )


@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_precomputed(library, digits, solver):
    X, y = digits[0][:150], digits[1][:150]
    K = rbf_kernel(X, gamma=0.05).astype(library.dtype)
    model = KDA(
        kernel="precomputed", solver=solver, n_landmarks=50, random_state=0
    ).set_params(regularization=1e-3)
    with config_context(array_api_dispatch=False):
        expected = model.fit(K, y).predict_proba(K[:20])
    there = model.fit(library.array(K), library.array(y))
    found = there.predict_proba(library.array(K[:20]))
    assert_allclose(to_numpy(found), expected, rtol=0, atol=library.tolerance * 10)
    crooked = K.copy()
    crooked[0, 1] += 1
    with pytest.raises(ValueError, match="not symmetric"):
        model.fit(library.array(crooked), library.array(y))
    with pytest.raises(ValueError, match="zero diagonal"):
        model.fit(library.array(K - np.diag(np.diag(K))), library.array(y))


def test_callable_kernel(library, digits):
    X, y = digits
    X_there, y_there = library.array(X[:60]), library.array(y[:60])

    def kernel(x, z):
        return x @ z.T

    model = KDA(kernel=kernel, regularization=1e-2).fit(X_there, y_there)
    found = to_numpy(model.predict_proba(X_there))
    model.set_params(kernel="linear").fit(X_there, y_there)
    expected = to_numpy(model.predict_proba(X_there))
    assert_allclose(found, expected, rtol=0, atol=10 * library.tolerance)


def test_moves_between_devices(library, digits):
    X, y = digits[0][:150], digits[1][:150]
    X_there = library.array(X)
    for model in (KDA(), KDA(solver="nystroem", n_landmarks=40)):
        model.fit(X_there, library.array(y))
        expected = to_numpy(model.predict_proba(X_there))
        loaded = pickle.loads(pickle.dumps(model))
        assert_array_equal(to_numpy(loaded.predict_proba(X_there)), expected)
        with pytest.raises(ValueError, match="move_estimator_to"):
            model.predict(X)
        here = _array_api.move_estimator_to(model, np, "cpu")
        found = here.predict_proba(X.astype(library.dtype))
        assert_allclose(found, expected, rtol=0, atol=100 * library.tolerance)
        assert (here.predict(X) == y).mean() > 0.9
        back = _array_api.move_estimator_to(here, library.xp, library.device)
        assert_array_equal(to_numpy(back.predict_proba(X_there)), expected)
