"""What held-out samples determine: weight of representability, and temperature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.tangentspace import TangentSpace
from scipy.optimize import brentq, minimize_scalar
from scipy.special import softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import GLRSQ, GMLVQ, PLRSQ, RSLVQ
from skgeom._held_out import held_out_folds
from skgeom.datasets import make_spd_classes

WEIGHTS = np.logspace(-1, -4, 10)


def samples(distance, *, per_class=(20, 15, 10), size=4, seed=0):
    """Vectors of Gaussian classes around axes at a distance from the origin."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(per_class)), per_class)
    return rng.normal(size=(len(y), size)) + distance * np.eye(size)[y], y


def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def means_of(X, y):
    return np.stack([X[y == label].mean(axis=0) for label in np.unique(y)])


def folds_of(X, y):
    """Rows of each fold; the samples are sorted by the distances from class means."""
    order = ((X - means_of(X, y)[y]) ** 2).sum(axis=1).argsort().argsort()
    folds = held_out_folds(order[:, None], y)
    return [np.flatnonzero(folds == fold) for fold in range(5)]


def log_posteriors(log_densities, priors, y, temperature):
    """Log posteriors of the labels, half a sample of which is random."""
    joint = np.log(priors) + log_densities / temperature
    posteriors = softmax(joint, axis=1)[np.arange(len(y)), y]
    noise = 0.5 / len(y)
    return np.log((1 - noise) * posteriors + noise / len(priors))


@pytest.mark.parametrize("priors", [None, "uniform"])
@pytest.mark.parametrize("distance", [1.0, 4.0])
def test_the_weight_is_the_largest_within_a_standard_error(distance, priors):
    X, y = samples(distance)
    model = RSLVQ(tol=1e-7, max_iter=500, priors=priors).fit(X, y)
    selection, counts = model.selection_, np.bincount(y)
    assert_allclose(selection.candidates["representability"], WEIGHTS)
    n_tried = np.count_nonzero(np.isfinite(selection.scores))
    shares = (model.priors_ / counts)[y]
    scores, densities = np.empty((n_tried, len(y))), np.empty((n_tried, len(y), 3))
    for k, weight in enumerate(WEIGHTS[:n_tried]):
        options = {"representability": weight, "temperature": 1.0}
        part = clone(model).set_params(**options, sigma2=model.sigma2_)
        for out in folds_of(X, y):
            weights = np.where(np.isin(np.arange(len(y)), out), 1e-12, 1.0)
            squared = part.fit(X, y, sample_weight=weights).transform(X[out]) ** 2
            densities[k, out] = -squared / (2 * model.sigma2_)
        tempered = [
            log_posteriors(densities[k], model.priors_, y, temperature)
            for temperature in 2.0 ** np.arange(-6, 7)
        ]
        scores[k] = max(tempered, key=lambda found: shares @ found)
    means = scores @ shares
    assert_allclose(selection.scores[:n_tried], means, atol=5e-3)
    # The search ends where the mean decreases.
    assert (np.diff(means)[:-1] > -1e-6).all()
    assert means[-1] < means[-2] or n_tried == len(WEIGHTS)
    losses = scores[means.argmax()] - scores
    deviations = losses - (losses @ shares)[:, None]
    errors = np.sqrt(((shares * deviations) ** 2).sum(axis=1))
    allowed = np.maximum(errors, shares @ shares)
    assert selection.index == np.argmax(losses @ shares <= allowed)
    assert model.representability_ == WEIGHTS[selection.index]
    found = densities[selection.index]

    def score(temperature):
        return shares @ log_posteriors(found, model.priors_, y, temperature)

    def missing_errors(temperature):
        """At least one error is expected among new samples."""
        posteriors = softmax(np.log(model.priors_) + found / temperature, axis=1)
        return 1 / len(y) - shares @ (1 - posteriors.max(axis=1))

    best = max(2.0 ** np.arange(-6, 4, 0.5), key=score)
    if missing_errors(best) > 0:
        best = brentq(missing_errors, best, 100)
    assert model.temperature_ == pytest.approx(best, rel=0.01)


@pytest.mark.parametrize("model", [RSLVQ(), PLRSQ()], ids=repr)
def test_predictions_use_the_proportions_of_the_classes(rng, model):
    """Two overlapping classes of 10 : 1, whose prior decides most samples."""
    y = (rng.random(1100) < 1 / 11).astype(int)
    X = rng.normal(size=(1100, 2)) + 1.2 * y[:, None]
    if isinstance(model, PLRSQ):
        X = np.exp(X[..., None]) * np.eye(2)
    train, test = slice(0, 300), slice(300, None)
    model, equal = (
        clone(model).set_params(priors=p).fit(X[train], y[train])
        for p in (model.priors, "uniform")
    )
    assert_allclose(model.priors_, np.bincount(y[train]) / 300)
    assert model.score(X[test], y[test]) > equal.score(X[test], y[test]) + 0.1
    losses = (log_loss(y[test], m.predict_proba(X[test])) for m in (model, equal))
    assert next(losses) < next(losses) - 0.1


def hidden(seed=0):
    """The classes differ in a feature of small variance."""
    y = np.arange(100) % 2
    X = np.random.default_rng(seed).normal(size=(100, 10))
    X[:, 0] = 0.1 * X[:, 0] + 0.4 * y
    return X, y


@pytest.mark.filterwarnings("ignore:The predictions of held-out")
def test_prototypes_leave_the_class_means_if_this_separates_the_classes():
    overlapping, separable = (RSLVQ().fit(*data) for data in (samples(0.1), hidden()))
    assert overlapping.representability_ == 0.1 > 0.01 > separable.representability_


def test_a_given_weight_equals_the_selected_one(spd):
    model = PLRSQ().fit(*spd)
    weight, temperature = model.representability_, model.temperature_
    for given in ({}, {"temperature": temperature}):
        again = PLRSQ(representability=weight, **given).fit(*spd)
        assert_array_equal(again.prototypes_, model.prototypes_)
        assert again.temperature_ == temperature
        assert model.selection_ is not None and again.selection_ is None


@pytest.mark.parametrize(
    ("metric", "solver", "weight"),
    [("riemann", "auto", 0.03), ("logdet", "auto", 0.03), ("tangent", "sgd", 0)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_where_no_weight_is_selected(spd, metric, solver, weight):
    model = PLRSQ(metric=metric, solver=solver, max_iter=1).fit(*spd)
    assert model.representability_ == weight
    assert model.selection_ is None and model.temperature_ != 1


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


@pytest.mark.parametrize("estimator", [PLRSQ(), GLRSQ()], ids=repr)
def test_matrices_at_chance_should_be_recentered(estimator):
    X, _ = make_spd_classes(1, 60, 3, random_state=0)
    with pytest.warns(UserWarning, match="re-center the matrices of each domain"):
        clone(estimator).fit(X, np.arange(60) % 2)


def test_temperature_minimizes_the_log_loss_of_held_out_samples():
    X, y = samples(1.5)
    part, scores = GMLVQ(init=means_of(X, y), temperature=1.0), np.empty((len(y), 3))
    for out in folds_of(X, y):
        rest = np.setdiff1d(np.arange(len(y)), out)
        scores[out] = part.fit(X[rest], y[rest]).decision_function(X[out])

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
    between = model.transform(model.prototypes_)[~np.eye(6, dtype=bool)]
    mean *= np.sqrt((between**2).mean())
    expected = softmax(-(nearest**2) / mean / 0.7, axis=1)
    assert_allclose(model.predict_proba(X), expected)


@pytest.mark.filterwarnings("ignore:The predictions of held-out samples")
@pytest.mark.parametrize(
    "model", [GMLVQ(), GLRSQ(metric="logeuclid", class_weight=None)], ids=repr
)
def test_probabilities_of_prototypes_far_from_the_samples(model):
    """A rare class that overlaps drives them away, to other distances in each fold."""
    excess = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = (rng.random(2150) < 0.15).astype(int)
        X = rng.normal(size=(2150, 6))
        X[:, 0] += 0.4 * y
        X[:, 1] *= 1 + y
        if isinstance(model, GLRSQ):
            X = np.exp(X[..., None]) * np.eye(6)
        proba = clone(model).fit(X[:150], y[:150]).predict_proba(X[150:])
        constant = np.full(2000, y[:150].mean())
        excess.append(log_loss(y[150:], proba) - log_loss(y[150:], constant))
    assert max(excess) < 0.1


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
    log_odds = model.decision_function(X)[100:]
    assert (np.diff(log_odds) > 0).all()


@pytest.mark.parametrize("model", [GLRSQ(), GMLVQ()], ids=repr)
def test_probabilities_of_margins_are_calibrated(make_signals, model):
    X, y = wine()
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
