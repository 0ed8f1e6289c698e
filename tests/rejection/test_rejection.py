"""RejectionClassifier: what is rejected, with which label, and from which threshold."""

import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from skgeom import RSLVQ, GaussianClassifier, RejectionClassifier

PROBABILITIES = [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (None, [0, 1, -1, 2]),
        (0.5, [0, 1, -1, 2]),
        (np.nextafter(0.5, 1), [0, -1, -1, 2]),
        (0.0, [0, 1, 2, 2]),
        (1.0, [-1, -1, -1, 2]),
    ],
)
def test_rejects_below_the_threshold(threshold, expected, given):
    model = RejectionClassifier(given, threshold=threshold)
    model.fit(PROBABILITIES, [0, 1, 2, 2])
    assert_array_equal(model.predict(PROBABILITIES), expected)
    assert_array_equal(model.predict_proba(PROBABILITIES), PROBABILITIES)
    assert_array_equal(model.predict([[np.nan] * 3]), [-1])


COSTS = [[0.0, 1, 5, 0.5], [2, 0, 1, 0.4], [9, 4, -1, 3]]


def test_costs(blobs):
    """The expected cost of each prediction is computed class by class."""
    X, y = blobs
    names = np.array(["a", "b", "c"])[y]
    bayes = GaussianNB().fit(X, names)
    model = RejectionClassifier(bayes, cost_matrix=COSTS).fit(X, names)
    assert model.threshold_ is None
    predicted = model.predict(X)
    for probabilities, found in zip(bayes.predict_proba(X), predicted, strict=True):
        costs = dict.fromkeys(["a", "b", "c", "rejected"], 0.0)
        for probability, row in zip(probabilities, COSTS, strict=True):
            for label, cost in zip(costs, row, strict=True):
                costs[label] += probability * cost
        assert found == min(costs, key=costs.get)
    assert set(predicted) == {"a", "b", "c", "rejected"}


def test_equal_costs_of_errors_are_a_threshold(given):
    """Chow's rule; the probabilities are dyadic, so ties are exact."""
    X = np.random.default_rng(0).multinomial(64, [0.6, 0.3, 0.1], size=300) / 64
    X[0] = [0.75, 0.25, 0]
    y = np.arange(300) % 3
    costs = np.column_stack([1 - np.eye(3), np.full(3, 0.25)])
    model = RejectionClassifier(given, cost_matrix=costs).fit(X, y)
    chow = RejectionClassifier(given, threshold=0.75).fit(X, y)
    predicted = model.predict(X)
    assert_array_equal(predicted, chow.predict(X))
    assert predicted[0] == 0 and -1 in predicted
    assert_array_equal(model.predict([[np.nan] * 3]), [-1])


@pytest.mark.parametrize("share", [0.1, 0.2, 0.45])
def test_a_class_is_preferred_to_a_rejection_of_equal_cost(share, given):
    """Chow's rule for probabilities whose sums are rounded."""
    X, y = np.array([[share, 1 - share]] * 4), [0, 1, 0, 1]
    costs = [[0, 1, 1 - (1 - share)], [1, 0, 1 - (1 - share)]]
    model = RejectionClassifier(given, cost_matrix=costs).fit(X, y)
    assert_array_equal(model.predict(X), 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda C: C.iloc[[1, 0, 2]], "cost_matrix has the label 'b' at position 0"),
        (lambda C: C.iloc[:, [1, 0, 2, 3]], "cost_matrix has the label 'b' at pos"),
        (lambda C: C.iloc[:, [3, 0, 1, 2]], "has the label 'referral' at position 0"),
        (lambda C: C.iloc[:, :3], r"shape \(3, 4\), got \(3, 3\)\..* last column"),
        (lambda C: C.iloc[:2], r"shape \(3, 4\), got \(2, 4\)"),
        (lambda C: C.replace(9, np.nan), "cost_matrix contains NaN"),
    ],
)
def test_costs_with_labels(change, message, blobs):
    X, y = blobs
    names = np.array(["a", "b", "c"])[y]
    costs = pd.DataFrame(COSTS, list("abc"), [*"abc", "referral"])
    model = RejectionClassifier(GaussianNB(), cost_matrix=costs).fit(X, names)
    given = RejectionClassifier(GaussianNB(), cost_matrix=COSTS).fit(X, names)
    assert_array_equal(model.predict(X), given.predict(X))
    with pytest.raises(ValueError, match=message):
        model.set_params(cost_matrix=change(costs)).fit(X, names)


@pytest.mark.parametrize("costs", [[1, 2, 3], [[0, 1, 1], [1, 0, 1]], [COSTS]])
def test_the_shape_of_costs_is_checked_before_the_fit(costs, blobs):
    class Unfitted(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("The classifier is fitted.")

    X, y = blobs
    shape = re.escape(str(np.shape(costs)))
    for classifier in (Unfitted(), FrozenEstimator(GaussianNB().fit(X, y))):
        model = RejectionClassifier(classifier, cost_matrix=costs)
        with pytest.raises(ValueError, match=rf"shape \(3, 4\), got {shape}\. Use one"):
            model.fit(X, y)
    # Not all classifiers ignore a class without weight.
    weights = np.where(y == 2, 0.0, 1.0)
    for classifier, n_classes in ((GaussianNB(), 3), (GaussianClassifier(), 2)):
        fair = np.column_stack([1 - np.eye(n_classes), np.full(n_classes, 0.4)])
        RejectionClassifier(classifier, cost_matrix=fair).fit(X, y, weights)


@pytest.fixture
def outliers(blobs):
    """Samples of three classes, and samples that are far from all of them."""
    X, y = blobs
    angles = np.linspace(0, 2 * np.pi, 40)
    return X, y, X.mean(axis=0) + 60 * np.column_stack([np.cos(angles), np.sin(angles)])


def nearest(model, X):
    """Minus the squared distance from the nearest class mean."""
    return -np.square(X[:, None] - model.theta_).sum(axis=2).min(axis=1)


@pytest.mark.parametrize(
    ("classifier", "confidence"),
    [
        (GaussianClassifier(), "density"),
        (make_pipeline(StandardScaler(), RSLVQ(max_iter=20)), "density"),
        (GaussianNB(), nearest),
    ],
    ids=["Gaussians", "prototypes", "function"],
)
def test_confidence_rejects_outliers(classifier, confidence, outliers):
    X, y, far = outliers
    sure = RejectionClassifier(classifier, threshold=0.5).fit(X, y)
    assert (sure.predict(far) != -1).mean() > 0.5
    model = RejectionClassifier(classifier, confidence=confidence, cv=3)
    model.set_params(rejection_rate=0.05)
    rejected = model.fit(X, y).predict(X) == -1
    assert rejected.mean() == pytest.approx(0.05, abs=0.03)
    assert (model.predict(far) == -1).all()
    # Accepted are the samples of confidences from the threshold, with their classes.
    fitted = clone(classifier).fit(X, y)
    function = nearest if confidence is nearest else type(fitted).score_samples
    assert_array_equal(rejected, function(fitted, X) < model.threshold_)
    assert_array_equal(model.predict(X)[~rejected], fitted.predict(X)[~rejected])
    # No sample is rejected to meet a large target error.
    model.set_params(rejection_rate=None, target_error=0.8)
    assert model.fit(X, y).threshold_ == -np.inf
    assert_array_equal(model.predict(far), fitted.predict(far))


def test_rate_of_infinite_densities(given):
    """At most the samples of the density zero are rejected, without a warning."""
    X, y = np.column_stack([np.repeat([-np.inf, 1, 2], [4, 8, 8])] * 2), [0, 1] * 10
    model = RejectionClassifier(given, confidence=lambda _, X: np.array(X)[:, 0], cv=2)
    assert model.set_params(rejection_rate=0.2).fit(X, y).threshold_ == 1
    assert model.set_params(rejection_rate=0.01).fit(X, y).threshold_ == -np.inf


def test_rate(given):
    """Two that are as near: the smaller; 0.29 * 100 is less than 29 by rounding."""
    X, y = np.empty((100, 2)), [0, 1] * 50
    frozen = FrozenEstimator(given.fit(X, y))
    X[:, 0] = np.linspace(0.5, 1, 100)
    X[:, 1] = 1 - X[:, 0]
    for hundredths in range(1, 100):
        model = RejectionClassifier(frozen, rejection_rate=hundredths / 100)
        assert (model.fit(X, y).predict(X) == -1).sum() == hundredths
    X[:, 0] = np.repeat([0.6, 0.7, 0.8, 1.0], [10, 20, 30, 40])
    X[:, 1] = 1 - X[:, 0]
    for rate, expected in [
        (0.04, 0), (0.05, 0), (0.06, 10), (0.2, 10), (0.21, 30), (0.5, 60), (0.95, 60),
    ]:  # fmt: skip
        model = RejectionClassifier(frozen, rejection_rate=rate).fit(X, y)
        assert (model.predict(X) == -1).sum() == expected


def test_default_folds(blobs):
    X, y = blobs
    ranks = np.array([np.sum(y[:i] == y[i]) for i in range(len(y))])
    for rows, folds in [(ranks >= 0, 10), ((y != 2) | (ranks < 7), 7), (ranks < 3, 3)]:
        found = RejectionClassifier(GaussianNB(), rejection_rate=0.2)
        expected = RejectionClassifier(GaussianNB(), rejection_rate=0.2, cv=folds)
        found.fit(X[rows], y[rows])
        assert found.threshold_ == expected.fit(X[rows], y[rows]).threshold_


def test_groups_are_held_out_together(blobs):
    """With a step of a pipeline, a classifier with and one without groups."""
    X, y = blobs
    groups = np.random.default_rng(0).permutation(len(y)) % 20
    splits = list(StratifiedGroupKFold(10).split(X, y, groups))
    for classifier, name, passed in [
        (GaussianNB(), "groups", {}),
        (GaussianClassifier(), "groups", {"groups": groups}),
        (make_pipeline(GaussianNB()), "groups", {}),
        (make_pipeline(GaussianClassifier()), "gaussianclassifier__groups", None),
    ]:
        passed = {name: groups} if passed is None else passed
        model = RejectionClassifier(classifier, rejection_rate=0.2)
        given = clone(model).set_params(cv=splits).fit(X, y, **passed)
        assert model.fit(X, y, **{name: groups}).threshold_ == given.threshold_
    model = RejectionClassifier(GaussianNB(), rejection_rate=0.2)
    given = clone(model).set_params(cv=splits).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        assert model.fit(X, y, groups=groups).threshold_ == given.threshold_
    with pytest.raises(ValueError, match="groups contains one group"):
        model.fit(X, y, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="groups contains 1 missing label"):
        model.fit(X, y, groups=[None, *map(str, groups[1:])])


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_weights_are_repetitions(rate, blobs, rng):
    X, y = blobs
    counts = rng.integers(0, 4, size=len(y))
    index = np.repeat(np.arange(len(y)), counts)
    part = np.arange(len(y)) % 3
    splits = [
        [(np.flatnonzero(p != k), np.flatnonzero(p == k)) for k in range(3)]
        for p in (part, part[index])
    ]
    weighted, repeated = (
        RejectionClassifier(GaussianNB(), rejection_rate=rate, cv=cv) for cv in splits
    )
    weighted.fit(X, y, sample_weight=counts)
    repeated.fit(X[index], y[index])
    assert weighted.threshold_ == pytest.approx(repeated.threshold_, rel=1e-9)
    assert_array_equal(weighted.predict(X), repeated.predict(X))
    nested = make_pipeline(StandardScaler(), make_pipeline(GaussianNB()))
    pipeline = clone(weighted).set_params(estimator=nested)
    pipeline.fit(X, y, pipeline__gaussiannb__sample_weight=counts)
    assert pipeline.threshold_ == pytest.approx(weighted.threshold_, rel=1e-6)


def test_rate_if_classifiers_of_folds_are_more_confident(blobs):
    class LessConfidentWithMoreSamples(GaussianNB):
        def predict_proba(self, X):
            power = 1 if self.class_count_.sum() < len(y) else 0.01
            found = super().predict_proba(X) ** power
            return found / found.sum(axis=1, keepdims=True)

    X, y = blobs
    model = RejectionClassifier(LessConfidentWithMoreSamples(), rejection_rate=0.2)
    assert (model.fit(X, y).predict(X) == -1).mean() == pytest.approx(0.2, abs=0.01)
    # All confidences of training samples are 1.
    trees = ExtraTreesClassifier(20, random_state=0)
    model = RejectionClassifier(trees, rejection_rate=0.5).fit(X[::2], y[::2])
    assert (model.predict(X[1::2]) == -1).mean() == pytest.approx(0.5, abs=0.1)


def test_score_counts_rejected_samples_as_errors(blobs):
    X, y = blobs
    weights = np.arange(len(y)) % 4
    model = RejectionClassifier(GaussianNB(), threshold=0.6).fit(X, y)
    predicted = model.predict(X)
    assert 0 < (predicted == -1).mean() < 0.9
    assert model.score(X, y) == pytest.approx(accuracy_score(y, predicted))
    assert model.score(X, y, weights) == pytest.approx(
        accuracy_score(y, predicted, sample_weight=weights)
    )
    with_nan = clone(model).set_params(reject_label=np.nan).fit(X, y)
    assert with_nan.score(X, y) == model.score(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda y, w: (y.astype(str), w),
            r"'\d', which is text, but the class 0",
        ),
        (lambda y, w: (y.astype("S"), w), r"b'\d', which is bytes, but the class 0"),
        (lambda y, w: (np.where(y, y, np.nan), w), "y contains NaN"),
        (lambda y, w: (pd.Series(y, dtype="Int64").where(y > 0), w), "missing label"),
        (lambda y, w: (y, w * np.nan), "sample_weight contains NaN"),
        (lambda y, w: (y, w[1:]), "sample_weight"),
    ],
)
def test_score_refuses_labels_and_weights_of_errors(change, message, blobs):
    X, y = blobs
    model = RejectionClassifier(GaussianNB(), threshold=0.6).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.score(X, *change(y, np.ones(len(y))))
    # True labels may be new, or the label of rejected samples.
    expected = accuracy_score(np.where(y == 0, 7, y), model.predict(X))
    assert model.score(X, np.where(y == 0, 7, y)) == expected
    assert model.score(X, model.predict(X)) == 1


def test_threshold_of_labels_of_a_different_type(blobs):
    X, y = blobs
    frozen = FrozenEstimator(GaussianNB().fit(X, y.astype(str)))
    with pytest.raises(ValueError, match=r"\d, which is a number, but the class '0'"):
        RejectionClassifier(frozen, target_error=0.1).fit(X, y)


def test_spd_matrices(make_spd, rng):
    from pyriemann.classification import MDM

    X = make_spd((60,), 4)
    y = np.repeat(["left", "right"], 30)
    X[y == "left"] *= np.array([2.0, 1, 1, 1])[:, None] * np.array([2.0, 1, 1, 1])
    model = RejectionClassifier(MDM(), rejection_rate=0.2, cv=3).fit(X, y)
    predicted = model.predict(X)
    proba = MDM().fit(X, y).predict_proba(X)
    assert_array_equal(predicted == "rejected", proba.max(axis=1) < model.threshold_)
    assert 0 < (predicted == "rejected").mean() < 0.4
    kept = predicted != "rejected"
    assert_array_equal(predicted[kept], model.classes_[proba.argmax(axis=1)][kept])


@pytest.mark.parametrize("dtype", ["string", "category", object])
@pytest.mark.parametrize("rule", [{"threshold": 0.6}, {"target_error": 0.45}])
def test_labels_of_pandas(dtype, rule, blobs):
    X, y = blobs
    names = pd.Series(np.array(["a", "b", "c"])[y]).astype(dtype)
    model = RejectionClassifier(GaussianNB(), **rule).fit(X.tolist(), names)
    found = pd.Series(model.predict(X.tolist()))
    expected = RejectionClassifier(GaussianNB(), **rule).fit(X, y).predict(X)
    assert_array_equal(found.map({"a": 0, "b": 1, "c": 2, "rejected": -1}), expected)
    assert model.score(X, names) == pytest.approx((expected == y).mean())


def test_methods_and_tags_are_those_of_the_classifier(blobs):
    X, y = blobs
    logistic, bayes = LogisticRegression(), GaussianNB()
    model = RejectionClassifier(logistic).fit(X, y)
    logistic.fit(X, y)
    assert_array_equal(model.predict_proba(X), logistic.predict_proba(X))
    assert get_tags(RejectionClassifier(logistic)).input_tags.sparse
    assert not get_tags(RejectionClassifier(bayes)).input_tags.sparse
    assert_array_equal(model.predict(csr_array(X)), model.predict(X))


def test_metadata_routing(blobs, rng):
    X, y = blobs
    weights, groups = rng.uniform(size=len(y)), np.arange(len(y)) % 7
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            GaussianNB().set_fit_request(sample_weight=True),
        )
        model = RejectionClassifier(
            pipeline, rejection_rate=0.2, cv=GroupKFold(3)
        ).set_fit_request(sample_weight=True)
        model.fit(X, y, sample_weight=weights, groups=groups)
        splits = list(GroupKFold(3).split(X, y, groups))
    Z = StandardScaler().fit_transform(X)
    confidences = np.empty(len(y))
    for train, test in splits:
        scaler = StandardScaler().fit(X[train])
        bayes = GaussianNB().fit(scaler.transform(X[train]), y[train], weights[train])
        confidences[test] = bayes.predict_proba(scaler.transform(X[test])).max(axis=1)
    expected = GaussianNB().fit(Z, y, weights).predict_proba(Z)
    assert_allclose(model.predict_proba(X), expected)
    shares = np.cumsum(weights[np.argsort(confidences)]) / weights.sum()
    share = weights[confidences < model.threshold_].sum() / weights.sum()
    assert abs(share - 0.2) == pytest.approx(np.abs(shares - 0.2).min())


def scaled(classifier):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    return make_pipeline(scaler, classifier)


def voting(classifier):
    other = GaussianNB().set_fit_request(sample_weight=False)
    both = [("unweighted", other), ("weighted", classifier)]
    return scaled(VotingClassifier(both, voting="soft"))


@pytest.mark.parametrize("make", [clone, scaled, voting])
def test_weights_with_an_alias(make, blobs):
    """They are the weights of the rejection rate, as without an alias."""
    X, y = blobs
    weights = 1.0 + 8 * (y == 0)
    with sklearn.config_context(enable_metadata_routing=True):
        plain, alias = (
            RejectionClassifier(
                make(GaussianNB().set_fit_request(sample_weight=request)),
                rejection_rate=0.3,
            )
            for request in (True, "weight")
        )
        expected = plain.fit(X, y, sample_weight=weights).threshold_
        assert plain.fit(X, y).threshold_ != expected
        assert alias.fit(X, y, weight=weights).threshold_ == expected
        alias.set_params(rejection_rate=None, target_error=0.5)
        with pytest.raises(ValueError, match="sample_weight cannot be used with"):
            alias.fit(X, y, weight=weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.5, "rejection_rate": 0.1}, "Only one of threshold=0.5"),
        ({"target_error": 0.5, "rejection_rate": 0.1}, "rate=0.1 and target_error=0.5"),
        ({"threshold": 0.5, "cost_matrix": COSTS}, "of threshold=0.5 and cost_matrix"),
        ({"target_error": 1}, "The 'target_error' parameter"),
        ({"confidence_level": 1}, "The 'confidence_level' parameter"),
        ({"threshold": 1.1}, "threshold=1.1 must be a probability"),
        ({"confidence": "density", "threshold": -5}, "method score_samples, which Gau"),
        ({"confidence": len}, "no default threshold. Set threshold, rejec"),
        (
            {"confidence": len, "cost_matrix": COSTS},
            "cost_matrix weights class prob",
        ),
        ({"confidence": lambda *_: 1, "rejection_rate": 0.1}, r"of shape \(\) for 15"),
        ({"threshold": np.nan}, "The 'threshold' parameter"),
        ({"rejection_rate": 0}, "The 'rejection_rate' parameter"),
        ({"rejection_rate": 1}, "The 'rejection_rate' parameter"),
        ({"reject_label": [1]}, "The 'reject_label' parameter"),
        ({"estimator": SVC()}, "implementing 'fit' and 'predict_proba'"),
    ],
)
def test_bad_parameters(options, message, blobs):
    with pytest.raises(ValueError, match=message):
        RejectionClassifier(**{"estimator": GaussianNB(), **options}).fit(*blobs)


def test_bad_data(blobs, given):
    X, y = blobs
    for classifier in (GaussianNB(), DecisionTreeClassifier(), LogisticRegression()):
        with pytest.raises(
            ValueError, match=r"RejectionClassifier .* y contains 1 class"
        ):
            RejectionClassifier(classifier).fit(X, np.ones(len(y)))
    bad = FrozenEstimator(given.fit(X, y))
    with pytest.raises(ValueError, match=r"FrozenEstimator returns NaN .* 1 of 2"):
        RejectionClassifier(bad, rejection_rate=0.1).fit(
            [[0.5, np.nan], [1, 0]], [0, 1]
        )
    part = np.arange(len(y)) < 75
    model = RejectionClassifier(
        GaussianNB(), rejection_rate=0.1, cv=[np.nonzero(part) + np.nonzero(~part)]
    )
    with pytest.raises(ValueError, match="zero for all samples that cv tests"):
        model.fit(X, y, sample_weight=part.astype(float))
