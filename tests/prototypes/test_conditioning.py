"""Matrices of unlike scales, or of nearly no rank, with affine-invariant metrics."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.classification import MDM
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skgeom import GLRSQ, PLRSQ
from skgeom._prototypes._metrics import SPD_METRICS, find_metric

WHITENED = ["riemann", "logdet"]


@pytest.mark.parametrize("name", WHITENED)
def test_whitening_changes_no_distance_and_can_be_undone(spd, name):
    X, _ = spd
    plain, metric = SPD_METRICS[name](), SPD_METRICS[name]()
    metric.fit(X, None, None)
    plain.fit(np.eye(4)[None], None, None)
    Z = metric.encode(X)
    assert_allclose(Z.mean(axis=0), np.eye(4), atol=1e-13)
    assert_array_equal(Z, Z.mT)
    assert_allclose(metric.decode(Z), X, rtol=1e-12, atol=1e-13)
    assert_allclose(
        metric.squared_distances(Z, Z[:3]),
        plain.squared_distances(X, X[:3]),
        atol=1e-11,
    )


MODELS = [
    PLRSQ(2, max_iter=5, random_state=0),
    PLRSQ(solver="sgd", max_iter=1, random_state=0),
    GLRSQ(tol=0.1),
]


@pytest.mark.parametrize("scales", [[1, 1e-8, 1e-8, 1], [1e4, 1, 1e-3, 1e-8]], ids=str)
@pytest.mark.parametrize(
    ("metric", "estimator"),
    [
        *(("riemann", model) for model in MODELS),
        pytest.param("logdet", MODELS[0]),
        *(
            pytest.param("logdet", model, marks=pytest.mark.exhaustive)
            for model in MODELS[1:]
        ),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_channels_of_unlike_units(spd, metric, estimator, scales):
    """Volts beside microvolts: the same distances as in one unit."""
    X, y = spd
    D = np.diag(scales)
    model = clone(estimator).set_params(metric=metric)
    expected = clone(model).fit(X, y)
    model.fit(D @ X @ D, y)
    assert_allclose(model.transform(D @ X @ D), expected.transform(X), rtol=1e-6)
    assert_allclose(model.prototypes_, D @ expected.prototypes_ @ D, rtol=1e-5)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(D @ X @ D), model.transform(D @ X @ D))
    # And they go on learning in any of them.
    for one, scale in ((model, D), (expected, np.eye(4))):
        one.set_params(random_state=0).partial_fit(scale @ X @ scale, y)
    assert_allclose(model.transform(D @ X @ D), expected.transform(X), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Convergence not reached:UserWarning")  # of MDM
@pytest.mark.parametrize("ridge", [1e-6, 1e-13])
@pytest.mark.parametrize(
    ("metric", "estimator"), [("riemann", GLRSQ()), ("logdet", PLRSQ())], ids=repr
)
def test_a_common_reference_and_a_small_ridge(make_signals, metric, estimator, ridge):
    """Centred channels have no full rank, which a small multiple of I mends."""
    X, y = make_signals(per_class=60, size=6)
    centering = np.eye(6) - 1 / 6
    X = centering @ X @ centering + ridge * np.eye(6)
    train = np.arange(len(y)) % 2 == 0
    means = MDM().fit(X[train], y[train]).score(X[~train], y[~train])
    model = clone(estimator).set_params(metric=metric).fit(X[train], y[train])
    assert model.score(X[~train], y[~train]) >= means - 0.02


def test_a_search_that_stays_where_it_began_says_so(spd, monkeypatch):
    from skgeom.optim import _minimize

    def stopped(self, problem, *, initial_point):
        problem.riemannian_gradient(initial_point)
        raise _minimize._Stop("No step lowers the cost any more.", False)

    monkeypatch.setattr(_minimize.RiemannianLBFGS, "run", stopped)
    with pytest.warns(ConvergenceWarning, match="No step lowers the cost"):
        PLRSQ().fit(*spd)


@pytest.mark.parametrize("metric", ["riemann", "logdet"])
def test_singular_prototypes_are_refused(metric):
    """One large eigenvalue is enough, or one that rounding made negative."""
    metric = find_metric(metric)
    good = np.array([np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 1.0, 1e12])])
    metric.check_representable(good)
    for bad in (
        [1.0, 1.0, 1e17],
        [-1e-17, 1.0, 1.0],
        [1.0, 1.0, 0.0],
        [1.0, 1.0, np.inf],
    ):
        with pytest.raises(np.linalg.LinAlgError, match="singular up to rounding"):
            metric.check_representable(np.array([good[0], np.diag(bad)]))
