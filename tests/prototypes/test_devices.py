"""Prototypes of arrays of other libraries: numpy's results, where the samples are."""

from unittest import mock

import numpy as np
import pytest
from comparisons import samples_of
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import _array_api

import skgeom.utils.array_api as _arrays
from skgeom import GLRSQ, GMLVQ, PLRSQ, RSLVQ
from skgeom.utils._sklearn import ARRAY_API
from skgeom.utils.array_api import to_numpy

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MATRICES = [
    PLRSQ(metric="riemann", max_iter=2),
    PLRSQ(metric="riemann", solver="sgd", max_iter=1),
    PLRSQ([1, 3, 2], metric="logdet", max_iter=2),
    GLRSQ(2, metric="riemann", max_iter=2),
]
VECTORS = [
    RSLVQ(2, sigma2="learn", representability=0.1, max_iter=2),
    GMLVQ(2, n_components=2, max_iter=2),
]
RARE = [  # in the exhaustive tier
    PLRSQ(metric="euclid", max_iter=2),
    RSLVQ(solver="sgd", max_iter=2),
    GMLVQ(max_iter=4),
]
for model in MATRICES + VECTORS + RARE:
    model.random_state = 0
TANGENT = PLRSQ(representability=0.1, max_iter=2, random_state=0)
FEW = [
    VECTORS[0],
    RARE[2],
    PLRSQ([1, 3, 2], max_iter=1, random_state=0),  # which selects representability
    clone(TANGENT).set_params(metric="mahalanobis"),
    clone(TANGENT).set_params(n_components=2),
]
METHODS = ["transform", "decision_function", "predict", "predict_proba"]


@pytest.fixture
def matrices(make_signals):
    return make_signals(per_class=9, size=3)


def results(model, X):
    return {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}


@pytest.mark.parametrize(
    "model",
    [
        *MATRICES,
        *VECTORS,
        *(pytest.param(model, marks=pytest.mark.exhaustive) for model in RARE),
    ],
    ids=repr,
)
def test_results_are_those_of_numpy_where_the_samples_are(model, library, matrices):
    X, y = matrices
    X = samples_of(model, X).astype(library.dtype)
    expected, there = clone(model).fit(X, y), library.array(X)
    found = clone(model).fit(there, library.array(y))

    def compare(value, wanted, factor=1):
        assert library.is_mine(value)
        tolerance = factor * library.tolerance
        atol = tolerance * max(np.abs(wanted).max(), 1)
        assert_allclose(to_numpy(value), wanted, rtol=tolerance, atol=atol)

    names = [name for name, v in vars(expected).items() if isinstance(v, np.ndarray)]
    for name in {*names} - {"omega_"}:  # eigenvectors are ill-conditioned
        compare(getattr(found, name), getattr(expected, name))
    if "omega_" in names:
        assert library.is_mine(found.omega_)
        compare(found.relevances_, expected.relevances_, factor=100)
        omega, wanted = found.omega_, expected.omega_
        compare(omega.T @ omega, wanted.T @ wanted, factor=100)
    by_numpy = results(expected, X)
    for name, value in results(found, there).items():
        compare(value, by_numpy[name])
        assert str(value.dtype).split(".")[-1] == str(by_numpy[name].dtype)
    # scikit-learn averages in single precision.
    score = found.score(there, library.array(y))
    assert score == pytest.approx(expected.score(X, y), rel=1e-6)


@pytest.mark.parametrize("model", FEW, ids=repr)
def test_predictions_copy_nothing_to_the_host(model, device_library, matrices):
    library, (X, y) = device_library, matrices
    X = library.array(samples_of(model, X))
    model = clone(model).fit(X, library.array(y))

    def spy(function):
        def stays(array, *args, **kwargs):
            result = function(array, *args, **kwargs)
            assert _arrays.namespace(array) is _arrays.namespace(result)
            return result

        return stays

    spies = {"to_numpy": spy(_arrays.to_numpy), "like": spy(_arrays.like)}
    modules = ["_prototype_classifier", "plrsq", "_metrics"]
    with mock.patch.multiple(_arrays, **spies):
        for module in modules:
            for name, function in spies.items():
                path = f"skgeom._prototypes.{module}.{name}"
                mock.patch(path, function, create=True).start()
        try:
            results(model, X)
        finally:
            mock.patch.stopall()


@pytest.mark.parametrize("model", FEW, ids=repr)
def test_a_model_moves(model, library, matrices):
    X, y = matrices
    X = samples_of(model, X).astype(library.dtype)
    on_host = clone(model).fit(X, y)
    there = library.array(X)
    moved = _array_api.move_estimator_to(on_host, library.xp, library.device)
    for name, value in results(moved, there).items():
        assert library.is_mine(value)
        expected = getattr(on_host, name)(X)
        assert_allclose(to_numpy(value), expected, rtol=1e-6, atol=1e-6)
    back = _array_api.move_estimator_to(moved, np, "cpu")
    with config_context(array_api_dispatch=False):
        for name, value in results(back, X).items():
            assert isinstance(value, np.ndarray)
            assert_allclose(value, getattr(on_host, name)(X), rtol=1e-6, atol=1e-9)
    if hasattr(back, "partial_fit"):
        back.partial_fit(X, y)  # all that learning goes on from has moved


def test_samples_of_another_library_are_refused(library, matrices):
    X, y = matrices
    model = clone(TANGENT).fit(library.array(X), y)
    for name in METHODS:
        with pytest.raises(ValueError, match=rf"PLRSQ.{name}\(\).*move_estimator_to"):
            getattr(model, name)(X)
    with pytest.raises(ValueError, match="partial_fit"):
        model.partial_fit(X, y)
    with config_context(array_api_dispatch=False):
        with pytest.raises(ValueError, match="Before predict, call set_config"):
            model.predict(X)
    with pytest.raises(ValueError, match=r"PLRSQ.predict\(\)"):
        clone(TANGENT).fit(X, y).predict(library.array(X))


def test_labels_and_weights_may_be_elsewhere(library, matrices):
    X, y = matrices
    weights = np.r_[0.0, np.linspace(0.5, 2, len(y) - 1)]
    expected = clone(TANGENT).fit(X, y, weights).transform(X)
    there = library.array(X)
    for where in (np.asarray, library.array, list):
        model = clone(TANGENT).fit(there, where(y), where(weights))
        found = to_numpy(model.transform(there))
        assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_mahalanobis_metric_of_classes_that_are_points(library, matrices):
    X, y = matrices[0][::9].repeat(2, axis=0), np.repeat([0, 1, 2], 2)
    there, model = library.array(X), clone(TANGENT).set_params(metric="mahalanobis")
    found = to_numpy(model.fit(there, y).transform(there))
    assert_allclose(found, model.fit(X, y).transform(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("where", ["host", "device"])
def test_init_may_be_an_array(where, library, matrices):
    X, y = matrices
    init = X[[0, 9, 18]]
    given = init if where == "host" else library.array(init)
    options = {"solver": "sgd", "learning_rate": 1e-12, "max_iter": 1}
    model = PLRSQ(init=given, **options).fit(library.array(X), y)
    assert library.is_mine(model.prototypes_)
    assert_allclose(to_numpy(model.prototypes_), init, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "model", [TANGENT, GLRSQ(max_iter=2, metric="tangent"), FEW[-1]]
)
def test_learning_goes_on(model, library, matrices):
    X, y = (array[::2] for array in matrices)
    X = X.astype(library.dtype)
    there, labels = library.array(X), library.array(y)
    expected, found = (clone(model).set_params(random_state=0) for _ in range(2))
    for method in ("fit", "partial_fit", "partial_fit"):
        getattr(expected, method)(X, y)
        getattr(found, method)(there, labels)
        assert library.is_mine(found.prototypes_)
        assert library.is_mine(found.loss_curve_)
        assert found.loss_curve_.shape == expected.loss_curve_.shape
    assert_allclose(
        to_numpy(found.transform(there)), expected.transform(X), rtol=2e-3, atol=1e-4
    )


def test_a_stream_begins_on_the_device(library, matrices):
    X, y = matrices
    expected, found = (RSLVQ(random_state=0) for _ in range(2))
    X = X.reshape(len(X), -1).astype(library.dtype)
    for half in (slice(None, None, 2), slice(1, None, 2)):
        expected.partial_fit(X[half], y[half], classes=[0, 1, 2])
        there = library.array(X[half]), library.array(y[half])
        found.partial_fit(*there, classes=library.array([0, 1, 2]))
    assert library.is_mine(found.classes_)
    found, expected = to_numpy(found.prototypes_), expected.prototypes_
    assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("change", ["nan", "indefinite"])
def test_errors_are_those_of_numpy(change, library, matrices):
    X, y = matrices[0].astype(library.dtype), matrices[1]
    if change == "nan":
        X[5, 1, 1] = np.nan
    else:
        X[5] = np.diag([1.0, 0.5, -0.5])
    with pytest.raises(ValueError, match=r"X\[5|PLRSQ takes") as expected:
        PLRSQ().fit(X, y)
    with pytest.raises(ValueError) as found:
        PLRSQ().fit(library.array(X), y)
    assert str(found.value) == str(expected.value)


def test_near_samples_keep_their_digits(library):
    # Far from the origin, close to a prototype: differences of squares lose all.
    rng = np.random.default_rng(0)
    X = 1000 + rng.normal(size=(12, 3)).astype(library.dtype)
    y, init = np.arange(12) % 2, X[:2] + np.float32(0.125)
    options = {"init": init, "solver": "sgd", "learning_rate": 1e-300, "max_iter": 1}
    options["temperature"] = 1.0
    expected = RSLVQ(**options).fit(X, y).transform(X)
    there = library.array(X)
    found = RSLVQ(**options).fit(there, y).transform(there)
    assert_allclose(to_numpy(found), expected, rtol=library.tolerance)


def test_jax(matrices):
    jax = pytest.importorskip("jax")
    if not ARRAY_API:
        pytest.skip("Arrays of other libraries need scikit-learn 1.9.")
    X, y = matrices
    options = {"metric": "logeuclid", "max_iter": 1, "tol": 1.0}
    expected = GLRSQ(**options).fit(X, y)
    X = jax.numpy.asarray(X)
    with config_context(array_api_dispatch=True):
        found = GLRSQ(**options).fit(X, y).transform(X)
    assert isinstance(found, jax.Array)
    assert_allclose(np.asarray(found), expected.transform(np.asarray(X)), rtol=1e-3)
