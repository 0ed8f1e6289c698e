"""Matrices of unlike scales, or of nearly no rank, with affine-invariant metrics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pyriemann.classification import MDM
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skgeom import GLRSQ, PLRSQ, Recentering, TransferDiscriminantAnalysis
from skgeom.baselines import mdrm, tslda

EXHAUSTIVE = [pytest.mark.exhaustive]
MODELS = [
    PLRSQ(2, metric="riemann", max_iter=5, random_state=0),
    PLRSQ(metric="riemann", solver="sgd", max_iter=1, random_state=0),
    GLRSQ(metric="riemann", tol=0.1),
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "estimator",
    [PLRSQ(), PLRSQ(metric="logdet"), TransferDiscriminantAnalysis(), mdrm(), tslda()],
    ids=["tangent", "logdet", "transfer", "mdrm", "tslda"],
)
def test_single_singular_trials(make_signals, estimator, dtype):
    """Rounding makes half of them definite, but each is refused, as in a batch."""
    X, y = make_signals(per_class=30, size=6)
    model = clone(estimator).fit(X, y)
    centering = np.eye(6) - 1 / 6
    singular = (centering @ X @ centering).astype(dtype)
    message = r"X\[0\] is not positive definite.*user guide describes\.$"
    if dtype is np.float32:
        message = message.replace("$", ".* in float64, not in float32")
    for trial in singular[::3]:
        with pytest.raises(ValueError, match=message):
            model.predict(trial[None])
    with pytest.raises(ValueError, match=message):
        model.predict(singular)
    # The remedy of the message.
    means = np.trace(singular, axis1=1, axis2=2)[:, None, None] / 6
    remedied = singular + dtype(1e-3) * means.astype(dtype) * np.eye(6, dtype=dtype)
    assert model.predict(remedied).shape == (90,)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize(
    "estimator",
    [PLRSQ(), GLRSQ(), TransferDiscriminantAnalysis(), Recentering(), mdrm(), tslda()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_flat_channels(make_signals, estimator, dtype):
    """A disconnected electrode, whatever the signs of eigenvalues after rounding."""
    X, y = make_signals(per_class=30, size=12)
    X = X.astype(dtype)
    model = clone(estimator).fit(X, y)
    predict = getattr(model, "predict", None) or model.transform
    for trial, channel in np.ndindex(12, 12):
        flat = X.copy()
        flat[trial, channel], flat[trial, :, channel] = 0, 0
        message = rf"X\[{trial}\] is not positive definite.*Channel {channel} has no"
        with pytest.raises(ValueError, match=message):
            predict(flat)
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(flat, y)


def test_a_search_that_stays_where_it_began_says_so(spd, monkeypatch):
    from skgeom.optim import _minimize

    def stopped(self, problem, *, initial_point):
        problem.riemannian_gradient(initial_point)
        raise _minimize._Stop("No step lowers the cost any more.", False)

    monkeypatch.setattr(_minimize.RiemannianLBFGS, "run", stopped)
    with pytest.warns(ConvergenceWarning, match="No step lowers the cost"):
        PLRSQ().fit(*spd)
