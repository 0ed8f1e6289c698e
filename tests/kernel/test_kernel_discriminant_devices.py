"""Kernel discriminants of arrays of other libraries than numpy, on their devices."""

import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from skgeom import (
    KernelDiscriminantAnalysis,
)
from skgeom.utils.array_api import move_estimator_to, namespace, to_numpy

KDA = KernelDiscriminantAnalysis
MODELS = [
    KDA(),
    KDA(penalty="identity"),
    KDA(penalty="identity", center=False, regularization=1e-3),
    KDA(criterion="total", regularization=1e-3),
    KDA(regularization=1e-5, center=False, class_weight="balanced"),
    KDA(solver="eigen", regularization=1e-3),
    KDA(kernel="linear", regularization=1e-4),
    KDA(kernel="laplacian", gamma=0.01),
    KDA(kernel="chi2", gamma=0.1),
    KDA(kernel="sigmoid", gamma=1e-3, penalty="identity"),
    KDA(kernel="cosine", priors="uniform"),
    KDA(kernel="poly", degree=2, temperature=2.0),
    KDA(solver="nystroem", n_landmarks=40),
    KDA(solver="nystroem", n_landmarks=40, landmarks="random", penalty="identity"),
    KDA(solver="nystroem", n_landmarks=40, kernel="poly", degree=1.5),
]
METHODS = ["transform", "decision_function", "predict_proba", "predict_log_proba"]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:250] / 16, y[:250]


@pytest.fixture
def crossings(monkeypatch):
    """Sizes of the arrays that go between numpy and another library, as they do."""
    sizes = []

    def spied(function):
        def spy(array, *args, **kwargs):
            result = function(array, *args, **kwargs)
            if (namespace(array) is np) != (namespace(result) is np):
                sizes.append(np.prod(result.shape, dtype=int))
            return result

        return spy

    for name, module in list(sys.modules.items()):
        if name.startswith("skgeom"):
            for crossing in ("to_numpy", "like"):
                if hasattr(module, crossing):
                    monkeypatch.setattr(
                        module, crossing, spied(getattr(module, crossing))
                    )
    return sizes


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[26:])
def test_results_are_those_of_numpy(library, digits, model):
    X, y = digits
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
def test_nothing_crosses_in_use_and_little_in_fit(device_library, solver, crossings):
    library = device_library
    X, y = load_digits(return_X_y=True)
    X, y = X[:1200, ::8], y[:1200]
    X_there, y_there = library.array(X), library.array(y)
    model = KDA(solver=solver, n_landmarks=100, landmarks="random", random_state=0)
    model.fit(X_there, y_there)
    # X once, for equal samples; the kernels of samples that parameters are selected by,
    # 200 rows of all kernels, and features or blocks of samples that are left out.
    assert max(crossings) <= 1000**2
    assert sum(crossings) <= X.size + 6 * 500**2 + 1000**2 + 300 * len(y)
    crossings.clear()
    for method in [*METHODS, "predict"]:
        getattr(model, method)(X_there)
    assert not crossings


def test_labels_of_text_stay_on_the_host(library, digits):
    X, y = digits
    labels = np.array([f"digit {label}" for label in y])
    model = KDA(regularization=1e-3).fit(library.array(X), labels)
    predicted = model.predict(library.array(X))
    assert isinstance(predicted, np.ndarray)
    assert (predicted == labels).mean() > 0.95
    assert model.score(library.array(X), labels) > 0.95


@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_labels_and_weights_of_numpy(library, digits, solver):
    X, y = digits
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    X_there = library.array(X)
    model = KDA(solver=solver, n_landmarks=250, regularization=1e-3)
    there = model.fit(X_there, library.array(y), library.array(weights))
    expected = to_numpy(there.transform(X_there))
    mixed = model.fit(X_there, y, weights.astype(library.dtype)).transform(X_there)
    assert library.is_mine(mixed)
    assert_allclose(to_numpy(mixed), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("solver", ["cholesky", "nystroem", "eigen"])
def test_precomputed(library, digits, solver):
    X, y = digits
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
    with pytest.raises(ValueError, match="diagonal of zeros"):
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


def test_indefinite_kernels_are_refused(library, digits):
    X, y = digits
    X_there, y_there = library.array(X), library.array(y)
    for model in (
        KDA(kernel="sigmoid", gamma=0.1, coef0=-1, regularization=1e-3),
        KDA(kernel="sigmoid", gamma=0.1, coef0=-1, regularization=1e-3).set_params(
            solver="nystroem", n_landmarks=50, landmarks="random"
        ),
    ):
        with pytest.raises(ValueError, match="negative eigenvalue"):
            model.fit(X_there, y_there)


def test_moves_between_devices(library, digits):
    X, y = digits
    X_there = library.array(X)
    for model in (KDA(), KDA(solver="nystroem", n_landmarks=40)):
        model.fit(X_there, library.array(y))
        expected = to_numpy(model.predict_proba(X_there))
        loaded = pickle.loads(pickle.dumps(model))
        assert_array_equal(to_numpy(loaded.predict_proba(X_there)), expected)
        with pytest.raises(ValueError, match="move_estimator_to"):
            model.predict(X)
        here = move_estimator_to(model, np, "cpu")
        found = here.predict_proba(X.astype(library.dtype))
        assert_allclose(found, expected, rtol=0, atol=100 * library.tolerance)
        assert (here.predict(X) == y).mean() > 0.9
        back = move_estimator_to(here, library.xp, library.device)
        assert_array_equal(to_numpy(back.predict_proba(X_there)), expected)


def test_low_rank_with_a_light_penalty(library, digits):
    X, y = digits[0][:, 20:44:2].astype(library.dtype), digits[1]
    # In single precision, the kernel matrix is not known to be of low rank.
    light = 1e-9 if library.dtype == "float64" else 1e-5
    model = KDA(kernel="linear", regularization=light)
    with config_context(array_api_dispatch=False):
        expected = model.fit(X, y).decision_function(X)
    X_there = library.array(X)
    found = to_numpy(model.fit(X_there, library.array(y)).decision_function(X_there))
    assert_allclose(found, expected, rtol=0, atol=library.tolerance * 30)
