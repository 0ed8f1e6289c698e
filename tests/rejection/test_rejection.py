"""RejectionClassifier: what is rejected, with which label, and from which threshold."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, euclidean_distances
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from skgeom import RejectionClassifier, accuracy_rejection_curve


@pytest.fixture
def blobs():
    """Three classes that overlap."""
    return make_blobs(150, centers=3, cluster_std=3.0, random_state=0)


class Told(ClassifierMixin, BaseEstimator):
    """Its probabilities are the samples themselves."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


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
def test_rejects_below_the_threshold(threshold, expected):
    model = RejectionClassifier(Told(), threshold=threshold)
    model.fit(PROBABILITIES, [0, 1, 2, 2])
    assert_array_equal(model.predict(PROBABILITIES), expected)
    assert_array_equal(model.predict_proba(PROBABILITIES), PROBABILITIES)


def test_nan_is_rejected():
    model = RejectionClassifier(Told(), threshold=0.0).fit(PROBABILITIES, [0, 1, 2, 2])
    assert_array_equal(model.predict([[np.nan] * 3, [0.5, 0.3, 0.2]]), [-1, 0])


@pytest.mark.parametrize("rate", [0.05, 0.29, 0.5])
def test_rate_is_met_by_cross_validated_probabilities(rate, blobs):
    X, y = blobs
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    model = RejectionClassifier(GaussianNB(), rejection_rate=rate, cv=cv).fit(X, y)
    proba = cross_val_predict(GaussianNB(), X, y, cv=cv, method="predict_proba")
    confidences = np.sort(proba.max(axis=1))
    k = int(np.floor(rate * len(y) + 1e-6))
    assert (confidences < model.threshold_).sum() == k
    assert model.threshold_ == pytest.approx((confidences[k - 1] + confidences[k]) / 2)
    assert_array_equal(model.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X))


def test_rate_of_hundredths_is_met_exactly():
    """0.29 * 100 is less than 29 in floating point."""
    confidences = np.linspace(0.5, 1, 100)
    X = np.column_stack([confidences, 1 - confidences])
    frozen = FrozenEstimator(Told().fit(X, [0, 1] * 50))
    for hundredths in range(1, 100):
        model = RejectionClassifier(frozen, rejection_rate=hundredths / 100)
        rejected = model.fit(X, [0, 1] * 50).predict(X) == -1
        assert rejected.sum() == hundredths


def test_rate_of_equal_confidences_is_the_nearest():
    """A forest of ten trees has ten confidences. Two that are as near: the smaller."""
    confidences = np.repeat([0.6, 0.7, 0.8, 1.0], [10, 20, 30, 40])
    X = np.column_stack([confidences, 1 - confidences])
    y = [0, 1] * 50
    frozen = FrozenEstimator(Told().fit(X, y))
    for rate, expected in [
        (0.04, 0), (0.05, 0), (0.06, 10), (0.2, 10), (0.21, 30), (0.5, 60), (0.95, 60),
    ]:  # fmt: skip
        model = RejectionClassifier(frozen, rejection_rate=rate).fit(X, y)
        assert (model.predict(X) == -1).sum() == expected


def test_rate_of_a_forest_holds_for_other_samples():
    """Means of ten draws of 300 + 1000 samples, of deviation below .01."""
    X, y = make_classification(
        n_samples=5000, n_informative=5, n_classes=3, flip_y=0.1, random_state=0
    )
    forest = RandomForestClassifier(30, random_state=0)
    shares = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        train, test = order[:300], order[300:1300]
        model = RejectionClassifier(forest, rejection_rate=0.2).fit(X[train], y[train])
        shares.append((model.predict(X[test]) == -1).mean())
    assert np.mean(shares) == pytest.approx(0.2, abs=0.03)


def test_default_folds(blobs):
    X, y = blobs
    part = (y != 2) | (np.cumsum(y == 2) <= 7)
    for X_part, y_part, folds in [(X, y, 10), (X[part], y[part], 7)]:
        found, expected = (
            RejectionClassifier(GaussianNB(), rejection_rate=0.2, cv=cv)
            for cv in (None, folds)
        )
        found.fit(X_part, y_part)
        assert found.threshold_ == expected.fit(X_part, y_part).threshold_


def test_frozen_classifier_is_kept(blobs):
    X, y = blobs
    fitted = GaussianNB().fit(X[:60], y[:60])
    model = RejectionClassifier(FrozenEstimator(fitted), rejection_rate=0.2)
    rejected = model.fit(X[60:], y[60:]).predict(X[60:]) == model.reject_label_
    assert rejected.mean() == pytest.approx(0.2)
    assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))


def test_equal_confidences_are_not_split(blobs):
    """A tree is always sure, so no share of the samples can be rejected."""
    X, y = blobs
    tree = DecisionTreeClassifier(random_state=0)
    model = RejectionClassifier(tree, rejection_rate=0.3).fit(X, y)
    assert model.threshold_ == pytest.approx((1 / 3 + 1) / 2)
    assert not (model.predict(X) == -1).any()


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


def test_folds_that_overlap(blobs):
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=0)
    model = RejectionClassifier(GaussianNB(), rejection_rate=0.1, cv=cv)
    rejected = model.fit(*blobs).predict(blobs[0]) == -1
    with parallel_config(backend="threading"):
        parallel = clone(model).set_params(n_jobs=2).fit(*blobs)
    assert parallel.threshold_ == model.threshold_
    assert 0.05 < rejected.mean() < 0.15


def test_curve_and_classifier_agree(blobs):
    X, y = blobs
    classifier = KNeighborsClassifier(7).fit(X, y)
    curve = accuracy_rejection_curve(y, classifier.predict_proba(X))
    assert len(curve[0]) > 3
    for accuracy, rate, threshold in zip(*curve, strict=True):
        model = RejectionClassifier(FrozenEstimator(classifier), threshold=threshold)
        predicted = model.fit(X, y).predict(X)
        rejected = predicted == model.reject_label_
        assert rejected.mean() == pytest.approx(rate)
        assert (predicted == y)[~rejected].mean() == pytest.approx(accuracy)


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


def test_pandas_strings_and_pickle():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    model = RejectionClassifier(GaussianNB(), rejection_rate=0.1).fit(X, names)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.n_features_in_ == 4
    predicted = model.predict(X)
    assert set(predicted) == {"setosa", "versicolor", "virginica", "rejected"}
    table = pd.crosstab(names, predicted)
    assert table.loc["setosa", "setosa"] == 50
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), predicted)


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


def test_parameters_of_fit_reach_a_step_of_a_pipeline(blobs, rng):
    X, y = blobs
    weights = rng.uniform(size=len(y))
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    model = RejectionClassifier(pipeline, rejection_rate=0.1, cv=3)
    model.fit(X, y, gaussiannb__sample_weight=weights)
    pipeline.fit(X, y, gaussiannb__sample_weight=weights)
    assert_array_equal(model.predict_proba(X), pipeline.predict_proba(X))
    assert model.threshold_ != clone(model).fit(X, y).threshold_


def test_methods_and_tags_are_those_of_the_classifier(blobs):
    X, y = blobs
    logistic, bayes = LogisticRegression(), GaussianNB()
    model = RejectionClassifier(logistic).fit(X, y)
    logistic.fit(X, y)
    for method in ("decision_function", "predict_log_proba"):
        assert_array_equal(getattr(model, method)(X), getattr(logistic, method)(X))
    assert not hasattr(RejectionClassifier(bayes), "decision_function")
    assert get_tags(RejectionClassifier(logistic)).input_tags.sparse
    assert not get_tags(RejectionClassifier(bayes)).input_tags.sparse
    assert_array_equal(model.predict(csr_array(X)), model.predict(X))
    with pytest.raises(NotFittedError):
        RejectionClassifier(bayes).predict(X)


def test_precomputed_distances_are_split_by_rows_and_columns(blobs):
    X, y = blobs
    distances = euclidean_distances(X)
    found, expected = (
        RejectionClassifier(
            KNeighborsClassifier(7, metric=metric), rejection_rate=0.2, cv=3
        )
        for metric in ("precomputed", "euclidean")
    )
    found.fit(distances, y)
    assert found.threshold_ == expected.fit(X, y).threshold_
    assert_array_equal(found.predict(distances), expected.predict(X))


def test_in_a_grid_search_and_a_pipeline(blobs):
    X, y = blobs
    model = make_pipeline(StandardScaler(), RejectionClassifier(KNeighborsClassifier()))
    grid = {"rejectionclassifier__estimator__n_neighbors": [3, 9]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.predict(X).dtype == y.dtype


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


def test_weights_that_the_classifier_does_not_take(blobs):
    X, y = blobs
    model = RejectionClassifier(KNeighborsClassifier())
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\.fit takes none"):
        model.fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.5, "rejection_rate": 0.1}, "only one can be given"),
        ({"target_error": 0.5, "rejection_rate": 0.1}, "rate=0.1 and target_error=0.5"),
        ({"target_error": 1}, "The 'target_error' parameter"),
        ({"confidence_level": 1}, "The 'confidence_level' parameter"),
        ({"threshold": 1.1}, "The 'threshold' parameter"),
        ({"threshold": np.nan}, "The 'threshold' parameter"),
        ({"rejection_rate": 0}, "The 'rejection_rate' parameter"),
        ({"rejection_rate": 1}, "The 'rejection_rate' parameter"),
        ({"reject_label": [1]}, "The 'reject_label' parameter"),
        ({"estimator": SVC()}, "SVC has no predict_proba.*CalibratedClassifierCV"),
        ({"estimator": "SVC"}, "The 'estimator' parameter"),
    ],
)
def test_bad_parameters(options, message, blobs):
    with pytest.raises(ValueError, match=message):
        RejectionClassifier(**{"estimator": GaussianNB(), **options}).fit(*blobs)


def test_bad_data(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="Unknown label type: multilabel-indicator"):
        RejectionClassifier(GaussianNB()).fit(X, np.eye(3, dtype=int)[y])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        RejectionClassifier(GaussianNB()).fit(X, np.where(y == 0, np.nan, y))
    for classifier in (GaussianNB(), DecisionTreeClassifier(), LogisticRegression()):
        with pytest.raises(ValueError, match=r"RejectionClassifier .* one class only"):
            RejectionClassifier(classifier).fit(X, np.ones(len(y)))
    bad = FrozenEstimator(Told().fit(X, y))
    with pytest.raises(ValueError, match=r"FrozenEstimator gives NaN .* 1 of 2"):
        RejectionClassifier(bad, rejection_rate=0.1).fit(
            [[0.5, np.nan], [1, 0]], [0, 1]
        )
    frozen = RejectionClassifier(FrozenEstimator(GaussianNB().fit(X, y)))
    with pytest.raises(ValueError, match=r"zero for all|non-zero number"):
        frozen.set_params(rejection_rate=0.1).fit(X, y, sample_weight=np.zeros(len(y)))
    part = np.arange(len(y)) < 75
    model = RejectionClassifier(
        GaussianNB(), rejection_rate=0.1, cv=[np.nonzero(part) + np.nonzero(~part)]
    )
    with pytest.raises(ValueError, match="zero for all samples that cv tests"):
        model.fit(X, y, sample_weight=part.astype(float))


def test_object_that_only_has_the_methods_of_a_classifier():
    class Duck(BaseEstimator):
        fit, predict_proba = Told.fit, Told.predict_proba

    model = RejectionClassifier(Duck()).fit(PROBABILITIES, [0, 1, 2, 2])
    assert_array_equal(model.predict(PROBABILITIES), [0, 1, -1, 2])


def test_missing_labels_of_a_list_are_counted():
    X, y = np.arange(20.0).reshape(10, 2), ["a"] * 5 + ["b"] * 4 + [None]
    with pytest.raises(ValueError, match="1 of the labels in y are missing"):
        RejectionClassifier(LogisticRegression()).fit(X, y)
