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


EXHAUSTIVE = [pytest.mark.exhaustive]
MODELS = [
    PLRSQ(2, metric="riemann", max_iter=5, random_state=0),
    PLRSQ(metric="riemann", solver="sgd", max_iter=1, random_state=0),
    GLRSQ(tol=0.1),
]
MAPS = [np.random.default_rng(1).normal(size=(4, 4)), np.diag([1e4, 1, 1e-3, 1e-8])]


@pytest.mark.parametrize("D", MAPS, ids=["mixing", "units"])
@pytest.mark.parametrize(
    "estimator",
    [
        *MODELS,
        *(
            pytest.param(clone(m).set_params(metric="logdet"), marks=marks)
            for m, marks in zip(MODELS, ([], EXHAUSTIVE, EXHAUSTIVE), strict=True)
        ),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_linear_maps_and_units_change_nothing(spd, estimator, D):
    """Volts beside microvolts: the same distances as in one unit."""
    (X, y), moved = spd, D @ spd[0] @ D.T
    expected, model = clone(estimator).fit(X, y), clone(estimator).fit(moved, y)
    assert_allclose(model.transform(moved), expected.transform(X), rtol=1e-6)
    prototypes = D @ expected.prototypes_ @ D.T
    diagonals = np.linalg.diagonal(prototypes) ** 0.5
    scales = diagonals[:, :, None] * diagonals[:, None]
    assert_allclose(model.prototypes_ / scales, prototypes / scales, atol=1e-5)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(moved), model.transform(moved))
    # And they go on learning in any of them.
    for one, samples in ((model, moved), (expected, X)):
        one.set_params(random_state=0).partial_fit(samples, y)
    assert_allclose(model.transform(moved), expected.transform(X), rtol=1e-6)


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
