"""Classes of different sizes: their weights in training, and priors in decisions."""

import numpy as np
import pytest
from comparisons import samples_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.class_weight import compute_sample_weight

from skgeom import GLRSQ, GMLVQ, PLRSQ, RSLVQ
from skgeom.datasets import make_spd_classes

FAMILY = [PLRSQ(), GLRSQ(), RSLVQ(), GMLVQ()]
WEIGHTS = {0: 0.5, 1: 2.0, 2: 3.0}


@pytest.fixture
def unequal(make_signals):
    """Covariances, 30 of class 0, 9 of class 1 and 6 of class 2."""
    X, y = make_signals(per_class=30)
    keep = np.r_[0:30, 30:39, 60:66]
    return X[keep], y[keep]


@pytest.fixture(scope="module")
def overlapping():
    """Two classes, of which 100 and 20 matrices train."""
    X, y = make_spd_classes(2, 200, 8, separation=0.6, dispersion=1.5, random_state=3)
    train = np.r_[np.flatnonzero(y == 0)[:100], np.flatnonzero(y == 1)[:20]]
    test = np.setdiff1d(np.arange(len(y)), train)
    return X[train], y[train], X[test], y[test]


@pytest.mark.parametrize("metric", ["riemann", "logeuclid", "logdet"])
@pytest.mark.parametrize("estimator", [PLRSQ(priors="uniform"), GLRSQ()], ids=repr)
def test_a_large_class_does_not_take_all(overlapping, estimator, metric):
    X, y, X_test, y_test = overlapping
    model = clone(estimator).set_params(metric=metric).fit(X, y)
    assert balanced_accuracy_score(y_test, model.predict(X_test)) > 0.93


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", FAMILY, ids=repr)
def test_class_weights_multiply_the_sample_weights(unequal, estimator):
    """As in scikit-learn: in the cost, and in the proportions of the classes."""
    X, y = samples_of(estimator, unequal[0]), unequal[1]
    model, twice = clone(estimator).set_params(max_iter=5), 1 + np.arange(len(y)) % 2
    even = len(y) / 3 / np.bincount(y)
    for class_weight, factors in (
        ("balanced", even),
        (dict(enumerate(even)), even),
        (WEIGHTS, np.array(list(WEIGHTS.values()))),
    ):
        weighted = clone(model).set_params(class_weight=class_weight).fit(X, y)
        plain = clone(model).set_params(class_weight=None)
        plain.fit(X, y, sample_weight=factors[y])
        assert_allclose(weighted.prototypes_, plain.prototypes_, rtol=1e-7, atol=1e-9)
        assert_allclose(weighted.predict_proba(X), plain.predict_proba(X), rtol=1e-6)
        if hasattr(weighted, "priors_"):
            shares = factors * np.bincount(y)
            assert_allclose(weighted.priors_, shares / shares.sum())
    # And a sample of weight two counts as two when classes are balanced.
    model.set_params(class_weight="balanced")
    weighted = clone(model).fit(X, y, sample_weight=twice).transform(X)
    repeated = clone(model).fit(np.repeat(X, twice, axis=0), np.repeat(y, twice))
    assert_allclose(weighted, repeated.transform(X), rtol=1e-5)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_priors_act_on_decisions_by_bayes_rule(unequal, class_weight):
    X, y = unequal
    given = {"class_weight": class_weight, "representability": 0.01, "temperature": 1}
    model = PLRSQ(**given, priors="uniform").fit(X, y)
    uniform = model.predict_proba(X)
    assert_allclose(model.priors_, np.full(3, 1 / 3))
    shifted = clone(model).set_params(priors=None).fit(X, y)
    shares = np.bincount(y) if class_weight is None else np.ones(3)
    assert_allclose(shifted.priors_, shares / shares.sum())
    assert_allclose(shifted.prototypes_, model.prototypes_)
    expected = uniform * shifted.priors_
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(shifted.predict_proba(X), expected)


@pytest.mark.parametrize(
    ("estimator", "class_weight"),
    # PLRSQ also balances the proportions of earlier batches, unlike their weights.
    [(GLRSQ(), "balanced"), (GLRSQ(), WEIGHTS), (PLRSQ(), WEIGHTS)],
    ids=str,
)
def test_weights_in_partial_fit(unequal, estimator, class_weight):
    """Balanced are the samples seen so far; a dict multiplies the sample weights."""
    order = np.random.default_rng(0).permutation(len(unequal[1]))
    X, y = unequal[0][order], unequal[1][order]
    start = np.stack([X[y == label][0] for label in range(3)])
    model = clone(estimator).set_params(init=start, class_weight=class_weight)
    plain, sums = clone(model).set_params(class_weight=None), np.zeros(3)
    for part in np.array_split(np.arange(len(y)), 9):
        sums += np.bincount(y[part], minlength=3)
        weights = compute_sample_weight(WEIGHTS, y[part])
        if class_weight == "balanced":
            weights = sums.sum() / np.count_nonzero(sums) / sums[y[part]]
        for one, options in ((model, {}), (plain, {"sample_weight": weights})):
            one.set_params(random_state=0)
            one.partial_fit(X[part], y[part], classes=[0, 1, 2], **options)
        assert_allclose(model.prototypes_, plain.prototypes_, rtol=1e-10)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({0: 1.0, 1: -1.0}, "class_weight must be positive and finite"),
        ({0: 1.0, 1: 0.0}, "class_weight must be positive and finite"),
        ({0: 1.0, 1: np.inf}, "class_weight must be positive and finite"),
        ({0: 1.0, 7: 1.0}, "are not in class_weight"),
        ("even", "class_weight"),
        ([1, 2, 3], "class_weight"),
    ],
)
def test_bad_class_weights(unequal, class_weight, message):
    X, y = samples_of(RSLVQ(), unequal[0]), unequal[1]
    for estimator in FAMILY:
        Z = unequal[0] if isinstance(estimator, PLRSQ | GLRSQ) else X
        with pytest.raises(ValueError, match=message):
            clone(estimator).set_params(class_weight=class_weight).fit(Z, y)


def test_names_of_classes_are_keys(unequal):
    X, y = unequal
    names = np.array(["left", "right", "up"])
    named = GLRSQ(class_weight=dict(zip(names.tolist(), WEIGHTS.values(), strict=True)))
    model = GLRSQ(class_weight=WEIGHTS).fit(X, y)
    assert_array_equal(named.fit(X, names[y]).prototypes_, model.prototypes_)
