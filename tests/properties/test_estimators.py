"""Every estimator: what must not change a fit, and what changes it in a known way.

An estimator learns from one drawn data set and from a changed copy; the outcomes are
compared: probabilities, decisions, predictions, or features up to their signs.
"""

import warnings

import numpy as np
import public_estimators as public
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from public_estimators import ESTIMATORS, data_of, fitted, outcome
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter

import skgeom
from skgeom import _held_out, baselines

# Fits take longer than distances.
few = settings(max_examples=max(1, settings.default.max_examples // 6))


CHOICES = {"regularization_", "shrinkage_", "gamma_", "representability_"}


def check_choices(model, again, prop):
    """Selected values must be equal; rounding may only decide between two optima."""
    # Rotations change the folds; other names change the order of the classes.
    unchanged = prop in (public.ORDER, public.NAMES, public.WEIGHTS)
    for name in CHOICES & set(dir(model)) if unchanged else ():
        pair = [np.ravel(getattr(m, name)).astype(float) for m in (model, again)]
        assert_allclose(*map(np.sort, pair), rtol=1e-6, atol=1e-12, err_msg=name)
    for name, rtol in [("regularization_", 1e-6), ("objective_", 1e-4)]:
        assume(np.isclose(*(getattr(m, name, 1.0) for m in (model, again)), rtol=rtol))


# Their fits are those of SQFA, and their objectives are tested with given values.
SLOW = {"SecondMomentSQFA", "AMAGauss"}


def marks_of(name):
    return pytest.mark.exhaustive if name in SLOW else ()


# LinearDiscriminantAnalysis does not accept weights.
WEIGHTED = {
    name: case
    for name, case in ESTIMATORS.items()
    if has_fit_parameter(case.make(), "sample_weight") and name[:9] != "Rejection"
} | {
    "RejectionClassifier": public.Case(
        skgeom.RejectionClassifier(skgeom.GaussianClassifier(), threshold=0.6)
    )
}


def each(names):
    return [pytest.param(name, marks=marks_of(name)) for name in names]


def same(case, found, expected):
    """Whether outcomes agree; those of searches to the tolerance of these."""
    if expected.dtype.kind != "f":
        assert_array_equal(found, expected)
    else:
        assert_allclose(found, expected, rtol=0, atol=case.rtol)


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("name", each(ESTIMATORS))
@few
@given(seed=seeds)
def test_single_precision_is_close(name, seed):
    case = ESTIMATORS[name]
    X, y = data_of(case, seed)
    X = X.astype(np.float32).astype(np.float64)
    if case.data == "matrices":
        X = (X + X.mT) / 2
    single = outcome(fitted(case, X.astype(np.float32), y), X.astype(np.float32))
    expected = outcome(fitted(case, X, y), X)
    if expected.dtype.kind != "f":
        assert np.mean(single == expected) > 0.9
        return
    assert np.abs(single - expected).mean() < 0.02


def moved(prop, case, X, rng):
    """The samples in other coordinates."""
    if prop == public.SCALE:
        return 1024 * X  # exact, so that rounding is the same too
    if prop == public.SHIFT:
        return X + 10 * rng.normal(size=X.shape[1])
    G = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    if prop == public.CONGRUENCE:
        G = G * rng.uniform(0.5, 2, size=4)
    if case.data == "vectors":
        return X @ G
    Z = G.T @ X @ G
    return (Z + Z.mT) / 2


def changed(prop, case, X, y, rng):
    """Changed X, y and samples for the outcome; options of the first fit."""
    if prop == public.ORDER:
        order = rng.permutation(len(y))
        return X[order], y[order], X, {}
    if prop == public.NAMES:
        return X, np.array(["c", "a", "b"])[y], X, {}
    if prop == public.WEIGHTS:
        counts = rng.integers(1, 4, size=len(y))
        repeated = np.repeat(X, counts, axis=0), np.repeat(y, counts)
        return *repeated, X, {"sample_weight": counts.astype(float)}
    Z = moved(prop, case, X, rng)
    return Z, y, Z, {}


# The scores of tslda are those of scikit-learn's LinearDiscriminantAnalysis.
CLASSIFIERS = [
    name
    for name, case in {**ESTIMATORS, **public.VARIANTS}.items()
    if hasattr(case.make(), "decision_function") and name != "tslda"
]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_scores_have_no_term_that_all_classes_share(name, monkeypatch):
    """A shared term that differs between samples would spoil a calibration by class."""
    monkeypatch.setattr(_held_out, "_MOST_PARTITIONS", 1)  # the selection is no matter
    case = {**ESTIMATORS, **public.VARIANTS}[name]
    X, y = data_of(case, 0)
    model = fitted(case, X, y)
    assert_allclose(with_label_noise(model, X), model.predict_proba(X), rtol=1e-6)
    two = y < 2
    model = fitted(case, X[two], y[two])
    assert_allclose(with_label_noise(model, X), model.predict_proba(X), rtol=1e-6)


def with_label_noise(model, X):
    """Probabilities from the scores of the classes, with random labels if any."""
    scores = model.decision_function(X)
    scores = np.stack([0 * scores, scores], axis=1) if scores.ndim == 1 else scores
    if len(model.classes_) > 2:  # log-probabilities, without a shared term
        assert_allclose(np.exp(scores).sum(axis=1), 1)
    noise = getattr(model, "label_noise_", 0)
    return (1 - noise) * softmax(scores, axis=1) + noise / len(model.classes_)


@pytest.mark.parametrize("name", each(WEIGHTED))
def test_small_weights_are_scaled(name):
    """Survey weights that sum to one are weights of mean one."""
    case = WEIGHTED[name]
    X, y = data_of(case, 0)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, size=len(y))
    weights[::9] = 0
    weights *= np.count_nonzero(weights) / weights.sum()
    model = fitted(case, X, y, sample_weight=weights)
    for factor in (1 / weights.sum(), 1e-30):
        again = fitted(case, X, y, sample_weight=factor * weights)
        same(case, outcome(again, X), outcome(model, X))


@pytest.mark.parametrize("name", each(WEIGHTED))
def test_samples_of_weight_zero_are_left_out(name):
    case = WEIGHTED[name]
    X, y = data_of(case, 0)
    kept = np.arange(len(y)) % 4 > 0
    far = np.where(np.expand_dims(kept, tuple(range(1, X.ndim))), X, 5 * X)
    model = fitted(case, far, y, sample_weight=2.0 * kept)
    again = fitted(case, X[kept], y[kept], sample_weight=np.full(kept.sum(), 2.0))
    same(case, outcome(model, X), outcome(again, X))


def test_every_supervised_estimator_accepts_weights():
    public_names = {*skgeom.__all__}
    without = {"LandmarkKernelPCA", "RegionCovariance"}  # not supervised
    assert {name.split(",")[0] for name in WEIGHTED} == {
        name.split(",")[0] for name in ESTIMATORS
    } & public_names - without


@pytest.mark.parametrize("name", each(WEIGHTED))
def test_a_class_of_weight_zero_is_left_out(name):
    """As if the samples were removed: a bootstrap sample may lack a rare class."""
    case = WEIGHTED[name]
    X, y = data_of(case, 0)
    kept = y != 1
    model = fitted(case, X, y, sample_weight=kept.astype(float))
    again = fitted(case, X[kept], y[kept])
    if hasattr(model, "classes_"):
        assert_array_equal(model.classes_, [0, 2])
    same(case, outcome(model, X), outcome(again, X))


@pytest.mark.parametrize(
    "name, prop",
    [
        pytest.param(name, prop, marks=marks_of(name))
        for name, case in ESTIMATORS.items()
        for prop in sorted(case.holds)
    ],
)
@few
@given(seed=seeds)
def test_what_changes_nothing(name, prop, seed):
    case = ESTIMATORS[name]
    X, y = data_of(case, seed)
    Z, z, samples, options = changed(prop, case, X, y, np.random.default_rng(seed))
    model, again = fitted(case, X, y, **options), fitted(case, Z, z)
    if prop != public.SCALE:
        check_choices(model, again, prop)
    if prop == public.NAMES and hasattr(model, "predict"):
        numbers = {"a": 1, "b": 2, "c": 0}
        found = [numbers.get(label, -1) for label in again.predict(X)]  # -1: rejected
        agree = found == model.predict(X)
        assert agree.mean() > (0.95 if case.rtol > 1e-3 else 0.999)
    else:
        same(case, outcome(again, samples), outcome(model, X))


# What a refusal of nearly singular data says.
REFUSALS = "singular|positive definite|too (large|small)|scale|regularization|condition"


@pytest.mark.parametrize(
    "name", each(n for n, c in ESTIMATORS.items() if c.data != "images")
)
@few
@given(seed=seeds, power=st.sampled_from([8, 4, 12]))
def test_any_condition_gives_numbers_or_says_so(name, power, seed):
    """Standard deviations, or eigenvalues, that are up to 1e12 apart."""
    case = ESTIMATORS[name]
    X, y = data_of(case, seed, power=power)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = outcome(case.make().fit(X, y), X)
        except ValueError as error:
            assert any(word in str(error) for word in REFUSALS.split("|")), error
            return
    if np.asarray(found).dtype.kind == "f":
        assert np.isfinite(found).all()


def test_every_estimator_has_its_properties():
    values = {**vars(skgeom), **vars(baselines)}
    public_names = {*skgeom.__all__, *baselines.__all__}
    classes = {name for name in public_names if isinstance(values[name], type)}
    found = {name.split(",")[0] for name in ESTIMATORS}
    assert found - {"mdrm", "tslda"} == {
        name for name in classes if issubclass(values[name], BaseEstimator)
    }
