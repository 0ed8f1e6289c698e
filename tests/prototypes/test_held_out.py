"""The weight of representability that is found by cross-validation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.tangentspace import TangentSpace
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skgeom import PLRSQ, RSLVQ

WEIGHTS = np.logspace(0, -4, 13)


def samples(distance, *, per_class=(40, 30, 20), size=6, seed=0):
    """Vectors of Gaussian classes around axes at a distance from the origin."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(per_class)), per_class)
    return rng.normal(size=(len(y), size)) + distance * np.eye(size)[y], y


def scores_of(model, X, y):
    """Mean log probabilities of the folds, by models without them, (weights, folds)."""
    means = np.stack([X[y == label].mean(axis=0) for label in np.unique(y)])
    order, folds = np.argsort(((X - means[y]) ** 2).sum(axis=1)), np.empty(len(y), int)
    for label in np.unique(y):
        own = order[y[order] == label]
        folds[own] = np.arange(len(own)) % 5
    scores = np.empty((len(WEIGHTS), 5))
    for i, weight in enumerate(WEIGHTS):
        for k in range(5):
            rest, own = folds != k, folds == k
            part = clone(model).set_params(
                representability=weight, sigma2=model.sigma2_, tol=1e-7, max_iter=500
            )
            part.fit(X, y, sample_weight=np.where(rest, 1.0, 1e-12))
            squared = part.transform(X[own]) ** 2
            found = log_softmax(-squared / (2 * model.sigma2_), axis=1)
            by_class = [found[y[own] == c, c].mean() for c in np.unique(y)]
            scores[i, k] = np.mean(by_class)
    return scores


@pytest.mark.parametrize("distance", [1.0, 4.0])
def test_the_weight_is_the_largest_that_is_as_good_as_the_best(distance):
    X, y = samples(distance)
    model = RSLVQ(tol=1e-7, max_iter=500).fit(X, y)
    scores = scores_of(model, X, y)
    means = scores.mean(axis=1)
    # The search ends where the mean falls.
    n_tried = np.argmax(np.append(np.diff(means) < 0, True)) + 1
    assert_allclose(list(model.representability_scores_), WEIGHTS[: n_tried + 1])
    found = np.array(list(model.representability_scores_.values()))
    assert_allclose(np.sort(found), np.sort(scores[: n_tried + 1]), atol=5e-3)
    losses = scores[means[:n_tried].argmax()] - scores[:n_tried]
    errors = losses.std(axis=1, ddof=1) / np.sqrt(5)
    expected = WEIGHTS[np.argmax(losses.mean(axis=1) <= errors)]
    assert_allclose(model.representability_, expected)


def test_classes_that_are_far_apart_are_let_loose():
    overlapping, apart = (RSLVQ().fit(*samples(d)) for d in (0.1, 4.0))
    assert overlapping.representability_ > 0.1 > 0.01 > apart.representability_


def test_neither_order_nor_copies_matter():
    X, y = samples(1.5)
    model = RSLVQ().fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = RSLVQ().fit(X[order], y[order])
    assert shuffled.representability_ == model.representability_
    assert_allclose(shuffled.prototypes_, model.prototypes_, rtol=1e-6)
    twice = 1 + np.arange(len(y)) % 2
    weighted = RSLVQ().fit(X, y, sample_weight=twice)
    repeated = RSLVQ().fit(np.repeat(X, twice, axis=0), np.repeat(y, twice))
    assert weighted.representability_ == repeated.representability_
    assert_allclose(weighted.prototypes_, repeated.prototypes_, rtol=1e-6)


def test_what_is_chosen_by_itself_is_what_is_given(make_signals):
    X, y = make_signals(per_class=20)
    for metric in ("tangent", "logeuclid", "mahalanobis"):
        model = PLRSQ(metric=metric).fit(X, y)
        given = PLRSQ(metric=metric, representability=model.representability_)
        assert_array_equal(given.fit(X, y).prototypes_, model.prototypes_)
    for metric, solver, expected in (
        ("riemann", "auto", 0.03),
        ("logdet", "auto", 0.03),
        ("tangent", "sgd", 0.0),
    ):
        model = PLRSQ(metric=metric, solver=solver, max_iter=30).fit(X, y)
        assert model.representability_ == expected


@pytest.mark.parametrize("metric", ["tangent", "mahalanobis"])
def test_neither_order_nor_unit_nor_a_constant_weight_matters(make_signals, metric):
    X, y = make_signals(per_class=20)
    model = PLRSQ(metric=metric).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    for again, unit in (
        (clone(model).fit(X[order], y[order]), 1),
        (clone(model).fit(X, y, sample_weight=np.full(len(y), 7.0)), 1),
        (clone(model).fit(1e-12 * X, y), 1e-12),
    ):
        assert again.representability_ == model.representability_
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


@pytest.mark.parametrize("per_class", [(1, 1), (1, 3), (2, 2)])
def test_classes_of_very_few_samples(per_class):
    X, y = samples(3.0, per_class=per_class)
    assert_array_equal(RSLVQ().fit(X, y).predict(X), y)


def test_the_choice_is_printed(capsys):
    model = RSLVQ(verbose=1).fit(*samples(1.0))
    line = f"representability {model.representability_:.3g} selected"
    assert capsys.readouterr().out.count(line) == 1


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
