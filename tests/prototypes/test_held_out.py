"""What held-out samples determine: weight of representability, and temperature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.tangentspace import TangentSpace
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import GLRSQ, GMLVQ, PLRSQ, RSLVQ
from skgeom._held_out import held_out_folds

WEIGHTS = np.logspace(-1, -4, 10)


def samples(distance, *, per_class=(20, 15, 10), size=4, seed=0):
    """Vectors of Gaussian classes around axes at a distance from the origin."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(per_class)), per_class)
    return rng.normal(size=(len(y), size)) + distance * np.eye(size)[y], y


def scores_of(model, X, y, weight):
    """Log probability of the class of each sample, by a model without its fold."""
    means = np.stack([X[y == label].mean(axis=0) for label in np.unique(y)])
    order = ((X - means[y]) ** 2).sum(axis=1).argsort().argsort()
    folds, scores = held_out_folds(order[:, None], y), np.empty(len(y))
    part = clone(model).set_params(representability=weight, sigma2=model.sigma2_)
    for own in (folds == fold for fold in range(5)):
        part.fit(X, y, sample_weight=np.where(own, 1e-12, 1.0))
        squared = part.transform(X[own]) ** 2
        found = log_softmax(-squared / (2 * model.sigma2_), axis=1)
        scores[own] = found[np.arange(own.sum()), y[own]]
    return scores


@pytest.mark.parametrize("distance", [1.0, 4.0])
def test_the_weight_is_the_largest_within_standard_errors(distance):
    X, y = samples(distance)
    model = RSLVQ(tol=1e-7, max_iter=500).fit(X, y)
    tried = list(model.representability_scores_)
    assert_allclose(tried, WEIGHTS[: len(tried)])
    scores = np.array([scores_of(model, X, y, weight) for weight in tried])
    shares = 1 / (3 * np.bincount(y)[y])  # classes count equally
    means = scores @ shares
    assert_allclose(list(model.representability_scores_.values()), means, atol=5e-3)
    # The search ends where the mean falls.
    assert (np.diff(means)[:-1] >= 0).all()
    assert means[-1] < means[-2] or len(tried) == len(WEIGHTS)
    losses = scores[means.argmax()] - scores
    deviations = losses - (losses @ shares)[:, None]
    errors = np.sqrt(((shares * deviations) ** 2).sum(axis=1))
    expected = tried[np.argmax(losses @ shares <= 1.5 * errors)]
    assert_allclose(model.representability_, expected)


@pytest.mark.filterwarnings("ignore:The predictions of held-out")
def test_classes_that_are_far_apart_are_let_loose():
    overlapping, apart = (RSLVQ().fit(*samples(d)) for d in (0.1, 4.0))
    assert overlapping.representability_ == 0.1 > 0.01 > apart.representability_


def test_a_given_weight_equals_the_selected_one(spd):
    model = PLRSQ().fit(*spd)
    given = PLRSQ(representability=model.representability_).fit(*spd)
    assert_array_equal(given.prototypes_, model.prototypes_)
    assert given.representability_scores_ == {}


@pytest.mark.parametrize(
    ("metric", "solver", "weight"),
    [("riemann", "auto", 0.03), ("logdet", "auto", 0.03), ("tangent", "sgd", 0)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_where_no_weight_is_selected(spd, metric, solver, weight):
    model = PLRSQ(metric=metric, solver=solver, max_iter=1).fit(*spd)
    assert model.representability_ == weight


@pytest.mark.parametrize(
    "model",
    [PLRSQ(), GLRSQ(), PLRSQ(metric="mahalanobis")],
    ids=repr,
)
def test_neither_order_nor_unit_nor_a_constant_weight_matters(spd, model):
    X, y = spd
    model = clone(model).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    for again, unit in (
        (clone(model).fit(X[order], y[order]), 1),
        (clone(model).fit(X, y, sample_weight=np.full(len(y), 2.0**10)), 1),
        (clone(model).fit(1e-12 * X, y), 1e-12),
    ):
        if isinstance(model, PLRSQ):
            assert again.representability_ == model.representability_
        factor = again.loss_curve_[0] / model.loss_curve_[0]
        assert_allclose(again.loss_curve_, factor * model.loss_curve_, rtol=1e-4)
        found = again.predict_proba(unit * X)
        assert_allclose(found, model.predict_proba(X), atol=1e-6)


def test_a_warm_start_keeps_the_weight():
    X, y = samples(4.0)
    model = RSLVQ(warm_start=True).fit(X, y)
    chosen = model.representability_
    noise = np.random.default_rng(0).permutation(y)
    assert RSLVQ().fit(X, noise).representability_ > chosen
    assert model.fit(X, noise).representability_ == chosen
    assert model.partial_fit(X, noise).representability_ == 0
    assert model.fit(X, noise).representability_ > chosen
    assert model.set_params(warm_start=False).fit(X, y).representability_ == chosen


@pytest.mark.filterwarnings("ignore:The predictions of held-out samples")
@pytest.mark.parametrize("model", [PLRSQ(metric="mahalanobis"), PLRSQ(n_components=2)])
def test_folds_without_samples(make_signals, model):
    """Three groups are in three folds, and four samples are in two."""
    X, y = make_signals(size=3, per_class=12, n_classes=2)
    for rows, groups in ((range(24), np.arange(24) % 3), (range(0, 24, 6), None)):
        model = clone(model).fit(X[rows], y[rows], groups=groups)
        assert model.score(X, y) > 0.5


@pytest.mark.parametrize("model", [RSLVQ(), GMLVQ()], ids=repr)
@pytest.mark.parametrize("per_class", [(1, 1), (1, 3), (2, 2)])
def test_classes_of_very_few_samples(per_class, model):
    X, y = samples(3.0, per_class=per_class)
    assert_array_equal(clone(model).fit(X, y).predict_proba(X).argmax(axis=1), y)


@pytest.mark.parametrize(
    "model",
    [PLRSQ(metric="mahalanobis"), GLRSQ(metric="mahalanobis"), PLRSQ(n_components=6)],
    ids=repr,
)
def test_metric_and_subspace_do_not_use_held_out_labels(make_signals, model):
    """With more dimensions than samples, they separate samples of random labels."""
    rng = np.random.default_rng(0)
    X = make_signals(size=16, per_class=160, n_classes=1)[0]
    X, y = np.exp(0.5 * rng.normal(size=(160, 1, 1))) * X, rng.permutation(160) % 2
    with pytest.warns(UserWarning, match="not significantly better"):
        model = clone(model).fit(X[:80], y[:80])
    assert log_loss(y[80:], model.predict_proba(X[80:])) < 0.9
    with pytest.warns(UserWarning, match="not significantly better"):
        # In each fold, fewer samples of a class than prototypes remain.
        model = clone(model).set_params(n_prototypes=2, random_state=0)
        model.fit(X[:20], np.arange(20) < 2)


def test_temperature_minimizes_the_log_loss_of_held_out_samples():
    X, y = samples(1.5)
    start = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    squared = ((X[:, None] - start) ** 2).sum(axis=2)
    order = squared[np.arange(len(y)), y].argsort().argsort()
    folds, scores = held_out_folds(order[:, None], y), np.empty((len(y), 3))
    part = GMLVQ(init=start, temperature=1.0)
    for own in (folds == fold for fold in range(5)):
        scores[own] = part.fit(X[~own], y[~own]).decision_function(X[own])

    def loss(log_temperature):
        return log_loss(y, softmax(scores / np.exp(log_temperature), axis=1))

    best = minimize_scalar(loss, bounds=(-6, 6), method="bounded")
    assert GMLVQ().fit(X, y).temperature_ == pytest.approx(np.exp(best.x), rel=1e-3)


def test_different_samples_with_equal_distances_are_held_out():
    X = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0
    gmlvq = GMLVQ(random_state=0).fit(X, X[:, 0] > 0)
    assert gmlvq.predict_proba(X).max(axis=1).mean() > 0.99


def test_probabilities_follow_the_nearest_prototypes(spd):
    X, y = spd
    model = GLRSQ([2, 1, 3], temperature=0.7, random_state=0).fit(X, y)
    distances, labels = model.transform(X), model.prototype_labels_
    of_classes = [distances[:, labels == c].min(axis=1) for c in range(3)]
    nearest = np.stack(of_classes, axis=1)
    mean = np.sqrt((nearest**2).mean(axis=1, keepdims=True))
    expected = softmax(-(nearest**2) / mean / 0.7, axis=1)
    assert_allclose(model.predict_proba(X), expected)


def test_probabilities_of_heavy_tails_are_not_uniform(rng):
    y = rng.integers(3, size=1800)
    X = rng.standard_t(1.5, (1800, 6))
    X[:, 0] += 4 * y
    model = GMLVQ(random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.75
    assert log_loss(y[300:], model.predict_proba(X[300:])) < 0.65


def test_samples_beyond_two_prototypes_differ_in_confidence():
    X = np.linspace(-5, 5, 200)[:, None]
    model = GMLVQ(init=[[-1.0], [1.0]], max_iter=1).fit(X, X[:, 0] > 0)
    confidences = model.predict_proba(X).max(axis=1)[100:]
    assert (np.diff(confidences) > 0).all()


@pytest.mark.parametrize("model", [GLRSQ(), GMLVQ()], ids=repr)
def test_probabilities_of_margins_are_calibrated(make_signals, model):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if isinstance(model, GLRSQ):
        X, y = make_signals(per_class=60)
    train = np.arange(len(y)) % 2 == 0
    sigmoid = CalibratedClassifierCV(clone(model).set_params(temperature=1.0))
    ours, theirs = (
        log_loss(y[~train], m.fit(X[train], y[train]).predict_proba(X[~train]))
        for m in (model, sigmoid)
    )
    assert ours < theirs


def test_weak_signals():
    """Class information in directions of small variance within the classes."""
    rng = np.random.default_rng(0)
    y = np.arange(2316) % 2
    logs = 0.3 * rng.normal(size=(len(y), 28))
    logs[:, :6] += rng.normal(size=(len(y), 6))
    logs[:, 6:12] += 0.1 * (2 * y[:, None] - 1)
    signals = np.exp(logs / 2)[..., None] * rng.normal(size=(len(y), 28, 160))
    X, train = signals @ signals.mT / 160, np.arange(len(y)) < 316
    model = PLRSQ().fit(X[train], y[train])
    logistic = make_pipeline(TangentSpace(), LogisticRegression(max_iter=1000))
    expected = logistic.fit(X[train], y[train]).score(X[~train], y[~train])
    assert model.score(X[~train], y[~train]) >= expected
