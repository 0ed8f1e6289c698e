"""Prototypes that go on learning: partial_fit, init, and fits that fail."""

import pickle

import numpy as np
import pytest
from comparisons import samples_of
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.geometry.distance import distance
from sklearn.base import clone

from skgeom import GLRSQ, GMLVQ, PLRSQ, RSLVQ

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def first_samples(spd):
    """A sample of each class, to start from."""
    X, y = spd
    return np.stack([X[y == label][0] for label in range(3)])


@pytest.mark.parametrize(
    "estimator", [PLRSQ(sigma2=1.0), GLRSQ(), RSLVQ(sigma2=1.0)], ids=repr
)
def test_partial_fit_is_an_epoch(spd, estimator):
    X, y = spd
    start = samples_of(estimator, np.stack([X[y == k][0] for k in range(3)]))
    options = {"solver": "sgd", "max_iter": 1, "init": start, "random_state": 0}
    whole = clone(estimator).set_params(**options).fit(samples_of(estimator, X), y)
    order = np.random.RandomState(0).permutation(len(y))  # of the epoch of fit
    part = clone(whole).partial_fit(samples_of(estimator, X[order]), y[order])
    assert_allclose(part.prototypes_, whole.prototypes_, rtol=1e-12)
    assert_allclose(part.loss_curve_, whole.loss_curve_)


def test_temperature_of_partial_fit_without_fit(spd, first_samples):
    X, y = spd
    model = GLRSQ(metric="riemann", init=first_samples).partial_fit(X, y)
    squared = distance(X, first_samples[y], metric="riemann", squared=True)
    between = distance(*first_samples[[[0, 0, 1], [1, 2, 2]]], metric="riemann")
    extent = np.sqrt((between**2).mean())
    assert_allclose(model.temperature_, np.sqrt(squared.mean()) / 2 / extent)


def test_partial_fit_learns_for_life(spd, first_samples):
    X, y = spd
    model = PLRSQ(sigma2=1.0, init=first_samples, random_state=0)
    model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])  # of some classes
    for part in np.array_split(np.random.default_rng(0).permutation(60), 11):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.n_iter_ == len(model.loss_curve_) == 12
    assert model.score(X, y) > 0.85
    with pytest.raises(ValueError, match=r"label .*7"):
        model.partial_fit(X[:2], [0, 7])
    with pytest.raises(ValueError, match=r"classes=\[0, 1\], .*=\[0, 1, 2\]"):
        model.partial_fit(X[:2], [0, 1], classes=[0, 1])


def clone_with(model, **parameters):
    """A fitted copy with other parameters."""
    return pickle.loads(pickle.dumps(model)).set_params(**parameters)


CHANGES = [
    ({"n_components": 3}, "n_components=3, because .* n_components=2"),
    ({"n_components": None}, "n_components=None, because .* n_components=2"),
    ({"n_prototypes": 2}, r"n_prototypes=\(2, .* n_prototypes=\(1, 1, 1\)"),
    ({"metric": "logdet"}, "metric='logdet', because .* metric='tangent'"),
]


@pytest.mark.parametrize("changes, message", CHANGES)
def test_learning_goes_on_with_the_same_parameters(spd, changes, message):
    X, y = spd
    model = PLRSQ(n_components=2, solver="sgd", max_iter=1).fit(X, y)
    expected = model.predict_proba(X)
    changed = clone_with(model, **changes)
    with pytest.raises(ValueError, match=message):
        changed.partial_fit(X, y)
    # Predictions are those of the fit, before and after.
    assert_array_equal(changed.predict_proba(X), expected)


@pytest.mark.parametrize(
    "estimator",
    [
        PLRSQ(),
        PLRSQ(2, n_components=2, random_state=0),
        GLRSQ(),
        RSLVQ(),
        GMLVQ(),
    ],
    ids=repr,
)
def test_init_continues_from_the_prototypes_of_a_fit(spd, estimator):
    """They are far from the samples, and have been trained on those of all folds."""
    X, y = samples_of(estimator, spd[0]), spd[1]
    model = clone(estimator).set_params(max_iter=4).fit(X, y)
    again = clone(model).set_params(init=model.prototypes_).fit(X, y)
    for name in ("sigma2_", "representability_", "temperature_"):
        assert getattr(again, name, None) == getattr(model, name, None)
    if not isinstance(model, GMLVQ):  # it begins with a new Omega
        assert again.loss_curve_[0] == pytest.approx(model.loss_curve_[-1], rel=1e-9)


def test_partial_fit_after_fit_is_the_last_epoch_again(spd):
    """The rate, and the slope, are those with which the schedule ends."""
    X, y = spd
    options = {"solver": "sgd", "random_state": 0}
    model = GLRSQ(max_iter=4, **options).fit(X, y)
    start, curve = model.prototypes_, model.loss_curve_
    order = np.random.RandomState(0).permutation(len(y))  # of the epoch of fit
    model.partial_fit(X[order], y[order])
    rate = 4 / 100 * 0.01 / 4  # of n / 100, at the end, for the slope 4
    options |= {"slope": 4.0, "learning_rate": rate * 4 * 100}
    expected = GLRSQ(init=start, max_iter=1, **options).fit(X, y)
    assert_allclose(model.prototypes_, expected.prototypes_, rtol=1e-10)
    assert model.n_iter_ == 5
    assert_array_equal(model.loss_curve_[:-1], curve)


def test_learnt_sigma2_stays_in_partial_fit(spd):
    with pytest.raises(ValueError, match="partial_fit does not support sigma2"):
        PLRSQ(sigma2="learn").partial_fit(*spd)
    model = PLRSQ(sigma2="learn", tol=1e-2).fit(*spd)
    learnt = model.sigma2_
    assert model.partial_fit(*spd).sigma2_ == learnt


def test_refused_partial_fit_leaves_the_model_as_it_was(spd):
    X, y = spd
    model = PLRSQ(priors="uniform").partial_fit(X, y)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="weight"):
        model.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    model.set_params(priors=[1, 2])
    with pytest.raises(ValueError, match="priors must hold 3 positive"):
        model.partial_fit(X, y)
    del before["priors"]
    assert all(vars(model)[name] is value for name, value in before.items())


@pytest.mark.parametrize(
    "estimator", [PLRSQ(metric="euclid"), GLRSQ(metric="euclid"), RSLVQ()], ids=repr
)
def test_null_step_moves_nothing(spd, estimator):
    """Matrices of a small unit, of which later samples have larger eigenvalues."""
    X, y = 1e-6 * spd[0], spd[1]
    model = clone(estimator).set_params(max_iter=5, random_state=0).fit(X, y)
    before = model.prototypes_
    model.set_params(learning_rate=1e-300)
    for part in (X + 1e-6 * np.eye(4), 1e6 * X):
        model.partial_fit(part, y)
        assert_allclose(model.prototypes_, before, rtol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [PLRSQ(metric="riemann"), PLRSQ(metric="logdet"), GLRSQ(), RSLVQ()],
    ids=repr,
)
def test_trial_by_trial_or_all_at_once(make_signals, estimator):
    """The rate falls with the samples, however they are divided among calls."""
    X, y = make_signals(per_class=160)
    X = samples_of(estimator, X)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:120], order[120:]
    start = [X[train][y[train] == label][:5].mean(axis=0) for label in [0, 1, 2]]
    model = clone(estimator).set_params(init=np.stack(start), random_state=0)
    whole = clone(model).partial_fit(X[train], y[train])
    for i in train:
        model.partial_fit(X[[i]], y[[i]], classes=[0, 1, 2])
    assert abs(model.score(X[test], y[test]) - whole.score(X[test], y[test])) <= 0.02
    assert len(model.loss_curve_) == model.n_iter_ == 120
    if hasattr(model, "sigma2_"):
        assert model.sigma2_ == pytest.approx(whole.sigma2_)


@pytest.mark.parametrize("metric", ["tangent", "mahalanobis"])
def test_the_first_trial_does_not_make_the_space(spd, metric):
    """It may be a bad one; the prototypes that are given stand for all classes."""
    X, y = spd
    start = np.stack([X[y == label][:5].mean(axis=0) for label in [0, 1, 2]])
    model = PLRSQ(metric=metric, init=start, sigma2=1.0, learning_rate=1e-300)
    bad = np.diag(np.logspace(0, -9, 4))
    found = [
        clone(model).partial_fit(first[None], y[:1], classes=[0, 1, 2])
        for first in (X[0], bad)
    ]
    assert_allclose(found[1].transform(X), found[0].transform(X), rtol=1e-9)
    assert_allclose(found[1].prototypes_, start, rtol=1e-9)


def test_the_rate_falls_with_the_samples(spd, first_samples):
    """Half an epoch leaves a tenth of it, one a hundredth, as in the epoch of fit."""
    X, y = spd
    model = PLRSQ(init=first_samples, sigma2=1.0, random_state=0, max_iter=1)
    rows = np.arange(0, 60, 5)  # twelve: three prototypes of four rows
    fit = clone(model).set_params(solver="sgd")
    for part, left in ((rows[::2], 0.1), (rows, 0.01)):
        one = clone(model).set_params(learning_rate=1e-4)
        order = part[np.random.RandomState(0).permutation(len(part))]
        one.partial_fit(X[order], y[order], classes=[0, 1, 2])
        fit.set_params(learning_rate=1e-4 * left / 0.01).fit(X[part], y[part])
        assert_allclose(one.prototypes_, fit.prototypes_, rtol=1e-12)
        assert np.abs(one.prototypes_ - first_samples).max() > 0


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (RSLVQ(), "sigma2_"),
        (PLRSQ(metric="riemann"), "sigma2_"),
        (GLRSQ(metric="riemann", class_weight=None), "temperature_"),
    ],
)
def test_the_automatic_variance_is_that_of_all_samples(spd, estimator, name):
    """Prototypes that are driven apart must not enlarge it, and the steps with it."""
    X, y = samples_of(estimator, spd[0]), spd[1]
    start = np.stack([X[y == label].mean(axis=0) for label in range(3)])
    model = clone(estimator).set_params(init=start, random_state=0)
    whole = getattr(clone(model).partial_fit(X, y), name)
    for _ in range(8):
        for part in np.array_split(np.random.default_rng(0).permutation(60), 3):
            model.partial_fit(X[part], y[part], classes=[0, 1, 2])
        assert getattr(model, name) == pytest.approx(whole)
    assert np.abs(np.diff(model.loss_curve_[-6:-3])).max() < model.loss_curve_[0]
    fitted = getattr(model.fit(X, y), name)
    assert getattr(model.partial_fit(X[:5], y[:5]), name) == fitted


def test_automatic_sigma2_is_where_learning_starts(spd):
    model = PLRSQ(representability=0.1).fit(*spd)
    given = clone(model).set_params(sigma2=model.sigma2_).fit(*spd)
    assert_allclose(given.prototypes_, model.prototypes_, rtol=1e-6)
    assert clone(model).partial_fit(*spd).sigma2_ == pytest.approx(model.sigma2_)
    learnt = clone(model).set_params(sigma2="learn").fit(*spd)
    assert learnt.loss_curve_[0] == pytest.approx(model.loss_curve_[0])
