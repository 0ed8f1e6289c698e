"""SQFACV: it chooses as a grid search does, and reports what it saw."""

import pickle

import autograd.numpy as anp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgeom import SQFA, SQFACV, GaussianClassifier
from skgeom._filters import regularization_cv
from skgeom.objectives import MeanPairwiseDistance


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture
def noisy():
    """Three classes that differ in the variances of three features among ten."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 10)) * np.repeat([1.0, 0.1], [3, 7])
    for k in range(3):
        X[y == k, k] *= 0.15
    return X, y


def grid_search(X, y, values, classifier, **options):
    sqfa = SQFA(3, covariance_estimator=None, random_state=0)
    model = make_pipeline(sqfa, classifier)
    return GridSearchCV(model, {"sqfa__regularization": values}, **options).fit(X, y)


@pytest.mark.filterwarnings("ignore:The best regularization:UserWarning")
@pytest.mark.parametrize(
    ("classifier", "scoring", "cv"),
    [
        (QuadraticDiscriminantAnalysis(), None, None),
        (QuadraticDiscriminantAnalysis(), "neg_log_loss", 3),
        (KNeighborsClassifier(3), "f1_macro", 4),
        (
            QuadraticDiscriminantAnalysis(),
            "balanced_accuracy",
            RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        ),
    ],
    ids=["default", "log_loss", "neighbors", "repeated"],
)
def test_chooses_as_a_grid_search(classifier, scoring, cv, noisy):
    X, y = noisy
    values = [0.0001, 0.001, 0.01, 0.1]
    search = grid_search(X, y, values, classifier, scoring=scoring, cv=cv)
    sqfa = SQFACV(
        3,
        regularizations=values,
        classifier=classifier,
        scoring=scoring,
        cv=cv,
        covariance_estimator=None,
        random_state=0,
    ).fit(X, y)
    assert sqfa.regularization_ == search.best_params_["sqfa__regularization"]
    assert_allclose(
        sqfa.cv_results_["mean_test_score"],
        search.cv_results_["mean_test_score"],
        atol=0.03,
    )
    best = search.best_estimator_["sqfa"]
    # Both converge to the tolerance, from statistics that differ by rounding.
    assert_allclose(sqfa.components_, best.components_, atol=1e-3)
    assert sqfa.objective_ == pytest.approx(best.objective_, rel=1e-6)


def test_results(noisy):
    values = [1.0, 0.01, 0.1]
    sqfa = SQFACV(2, regularizations=values, cv=3, random_state=0).fit(*noisy)
    results = sqfa.cv_results_
    splits = np.array([results[f"split{k}_test_score"] for k in range(3)])
    assert len(results) == 6
    assert_allclose(results["regularization"], values)
    assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    assert_allclose(results["std_test_score"], splits.std(axis=0))
    assert sqfa.best_score_ == results["mean_test_score"].max()
    assert sqfa.regularization_ == values[np.argmax(results["mean_test_score"])]


def test_folds_of_groups(noisy):
    X, y = noisy
    groups = np.arange(len(y)) % 7
    splits = list(GroupKFold(3).split(X, y, groups))
    listed = SQFACV(2, regularizations=[0.01, 0.1], cv=splits, random_state=0)
    sqfa = clone(listed).set_params(cv=GroupKFold(3)).fit(X, y, groups=groups)
    found, expected = sqfa.cv_results_, listed.fit(X, y).cv_results_
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert_allclose(found[name], values, rtol=1e-12)


def test_default_values_are_around_the_sampling_noise(wine):
    """Half the trace within the classes over their mean number of samples."""
    X, y = wine
    within = sum((y == k).mean() * np.cov(X[y == k].T) for k in range(3))
    noise = np.trace(within) / (2 * len(y) / 3)
    sqfa = SQFACV(2, regularizations=4, cv=2, covariance_estimator=None).fit(X, y)
    values = sqfa.cv_results_["regularization"]
    assert_allclose(values, noise * np.logspace(-1, 2, 4))


@pytest.mark.parametrize("best", ["smallest", "largest"])
def test_grid_goes_on_where_the_best_value_is_at_its_end(best, noisy):
    """By the same steps, without a warning."""
    X, y = np.tile(noisy[0], (20, 1)), np.tile(noisy[1], 20)
    scores = iter(np.arange(1000.0) * (1 if best == "largest" else -1))
    sqfa = SQFACV(
        2, regularizations=4, cv=2, scoring=lambda *_: next(scores), random_state=0
    )
    sqfa.fit(X, y)
    values = sqfa.cv_results_["regularization"]
    assert_allclose(np.diff(np.log10(values)), 1)
    assert len(values) > 4
    if best == "largest":
        assert sqfa.regularization_ == values[-1] < X.var(axis=0).sum()


@pytest.mark.parametrize("sign", [1, -1])
def test_values_beyond_the_grid_that_all_fail(sign, noisy):
    """They are not chosen, whatever the end at which the best value is."""
    scores = iter(sign * np.arange(8.0))

    def score(*_):
        if (value := next(scores, None)) is None:
            raise ArithmeticError("no more")
        return value

    X, y = np.tile(noisy[0], (20, 1)), np.tile(noisy[1], 20)
    sqfa = SQFACV(2, regularizations=4, cv=2, scoring=score, random_state=0)
    with pytest.warns(FitFailedWarning, match=r"no more") as caught:
        sqfa.fit(X, y)
    assert sum(warning.category is FitFailedWarning for warning in caught) == 1
    assert np.isnan(sqfa.cv_results_["mean_test_score"]).sum() >= 1
    # The means over the folds are 2 to 5, or -2 to -5.
    assert sqfa.best_score_ == (5 if sign == 1 else -2)


def test_scores_of_an_exact_solution(noisy):
    """With one value nothing is shared along a path: the scores are those of SQFA."""
    X, y = noisy
    sqfa = SQFACV(2, regularizations=[0.1], random_state=0).fit(X, y)
    model = make_pipeline(
        SQFA(2, regularization=0.1, random_state=0), QuadraticDiscriminantAnalysis()
    )
    expected = cross_val_score(model, X, y)
    found = [sqfa.cv_results_[f"split{k}_test_score"][0] for k in range(5)]
    assert_allclose(found, expected)


def test_groups_of_filters_and_another_distance(noisy):
    sqfa = SQFACV(
        3,
        regularizations=[0.001, 0.01],
        group_size=2,
        distance="hellinger",
        cv=2,
        random_state=0,
    ).fit(*noisy)
    assert sqfa.components_.shape == (3, 10)
    assert sqfa.class_distances().shape == (3, 3)
    assert_allclose(
        sqfa.class_distances()[np.triu_indices(3, 1)].mean(), sqfa.objective_
    )
    orthonormal = sqfa.orthonormalize().components_
    assert_allclose(orthonormal @ orthonormal.T, np.eye(3), atol=1e-12)


# With the few samples of some checks, a fold leaves some classes one sample, of which a
# quadratic discriminant makes nothing. The blobs of others are separated by one
# direction, which the filters repeat: the warning is right.
@pytest.mark.filterwarnings("ignore:The 2 filters span 1 directions only:UserWarning")
@parametrize_with_checks([SQFACV(regularizations=2, cv=2, classifier=GaussianNB())])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_string_labels_pipeline_and_pickle():
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = y.map({0: "a", 1: "b", 2: "c"})
    sqfa = SQFACV(2, regularizations=[0.001, 0.01], random_state=0).set_output(
        transform="pandas"
    )
    features = sqfa.fit_transform(X, labels)
    assert list(features.columns) == ["sqfacv0", "sqfacv1"]
    assert list(sqfa.classes_) == ["a", "b", "c"]
    again = pickle.loads(pickle.dumps(sqfa)).transform(X)
    assert_allclose(again, features)


def test_path_that_does_not_converge(noisy):
    sqfa = SQFACV(2, regularizations=[0.01, 0.1], cv=2, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        sqfa.fit(*noisy)
    messages = [str(warning.message) for warning in caught]
    assert messages[0].startswith("4 of the 4 searches of the cross-validation did not")
    assert messages[1].startswith("SQFACV did not converge")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "0 sample|minimum of 1"),
        ([0.1, -1.0], "list of non-negative numbers"),
        ([[0.1, 1.0]], "list of non-negative numbers"),
        ([0.1, np.nan], "Input regularizations contains NaN"),
        (1, "The 'regularizations' parameter"),
        ("auto", "The 'regularizations' parameter"),
    ],
)
def test_bad_values(values, message, noisy):
    with pytest.raises(ValueError, match=message):
        SQFACV(regularizations=values).fit(*noisy)


def test_zero_names_the_singular_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 15)), np.repeat([0, 1], 10)
    with pytest.raises(ValueError, match="The covariance of class 0, which has 5"):
        SQFACV(2, regularizations=[0.1, 0.0], cv=2).fit(X, y)


class Fussy(QuadraticDiscriminantAnalysis):
    """Cannot be fitted to features that repeat each other."""

    def fit(self, X, y):
        if np.linalg.matrix_rank(X, tol=0.01) < X.shape[1]:
            raise ValueError("I want other features.")
        return super().fit(X, y)


def test_classifier_that_fails_for_some_values(noisy):
    """They are not chosen, as in a grid search."""
    X, y = noisy
    with pytest.warns(FitFailedWarning, match=r"fails in 2 of 4 fits.*other features"):
        sqfa = SQFACV(
            3, regularizations=[10, 0.01], classifier=Fussy(), cv=2, random_state=0
        ).fit(X, y)
    assert sqfa.regularization_ == 0.01
    assert np.isnan(sqfa.cv_results_["mean_test_score"][0])


def test_classifier_that_always_fails(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match=r"for every value and fold.*other features"):
        SQFACV(classifier=Fussy(), regularizations=2, cv=2).fit(1e-9 * X, y)


def test_random_state_that_is_shared(noisy):
    """One source of random numbers gives the same results, whatever the order."""
    fits = [
        SQFACV(2, regularizations=3, cv=3, random_state=np.random.RandomState(0))
        .fit(*noisy)
        .cv_results_["mean_test_score"]
        for _ in range(2)
    ]
    assert np.array_equal(*fits)


def test_distance_of_the_users(noisy):
    """autograd is not made for threads, so the folds come one after the other."""

    def mahalanobis(means_a, covariances_a, means_b, covariances_b):
        offsets = (means_a - means_b)[:, :, None]
        average = (covariances_a + covariances_b) / 2
        squares = anp.sum(offsets * anp.linalg.solve(average, offsets), axis=(1, 2))
        return anp.sqrt(squares + 1e-12)

    options = {"regularizations": [0.01, 0.1], "cv": 3, "random_state": 0}
    found = SQFACV(2, distance=mahalanobis, **options).fit(*noisy)
    expected = SQFACV(2, distance="mahalanobis", **options).fit(*noisy)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-4)
    assert found.regularization_ == expected.regularization_


def test_nothing_is_fitted_from_statistics():
    assert not hasattr(SQFACV(), "fit_statistics")


# What it says


def scores_by_value(*scores):
    """A scorer that gives each value its score, whatever the fold."""
    given = iter(scores * 2)
    return lambda *_: next(given)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ((0.9, 0.8, 0.7), "The best regularization, 0.001, is the smallest one of"),
        ((0.7, 0.8, 0.9), "The best regularization, 0.1, is the largest one of"),
    ],
)
def test_best_value_at_an_end_warns(scores, message, noisy):
    sqfa = SQFACV(
        regularizations=[0.001, 0.01, 0.1], cv=2, scoring=scores_by_value(*scores)
    )
    with pytest.warns(UserWarning, match=message) as caught:
        sqfa.fit(*noisy)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("scores", [(0.7, 0.9, 0.8), (0.9, 0.9, 0.8), (0.8, 0.9, 0.9)])
def test_best_value_inside_or_equal_to_another(scores, noisy):
    """No warning, which would be an error here."""
    SQFACV(
        regularizations=[0.01, 0.1, 1.0], cv=2, scoring=scores_by_value(*scores)
    ).fit(*noisy)


def test_verbose_prints_a_line_a_value(noisy, capsys):
    sqfa = SQFACV(
        regularizations=[0.01, 0.1, 1.0],
        cv=2,
        scoring=scores_by_value(0.7, 0.9, 0.8),
        random_state=0,
    ).fit(*noisy)
    assert capsys.readouterr().out == ""
    sqfa.set_params(scoring=scores_by_value(0.7, 0.9, 0.8), verbose=1).fit(*noisy)
    lines = capsys.readouterr().out.splitlines()
    scores = [line for line in lines if "mean score" in line]
    assert scores[1] == "[SQFACV] regularization 0.1: mean score 0.900000"
    assert len(scores) == 3
    assert any(line.startswith("[SQFACV] folds: fold ") for line in lines)


def test_repeated_filters_are_a_warning_about_the_values():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)) * [1, 0.1, 0.1], np.repeat([0, 1], 50)
    X[y == 1, 0] += 10
    with pytest.warns(UserWarning, match="or smaller regularizations, or fewer comp"):
        SQFACV(2, regularizations=[5.0], classifier=GaussianNB()).fit(X, y)


# How it searches


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_random_starts_are_the_same_in_each_fold(noisy):
    """A source of random numbers gives one seed, which does not depend on threads."""
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    options = {"init": "random", "n_init": 2, "max_iter": 2, "tol": 0.1}
    options |= {"scoring": "neg_log_loss", "regularizations": [0.02, 0.03]}
    found, expected = (
        SQFACV(3, random_state=state, **options).fit(*noisy).cv_results_
        for state in (np.random.RandomState(0), seed)
    )
    for name in expected:
        assert np.array_equal(found[name], expected[name])


def test_filters_of_a_value_start_from_those_of_the_last(monkeypatch):
    """So those of equal values take next to no evaluations."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 110)) / np.arange(1, 111), np.repeat([0, 1, 2], 100)
    X[y == 1, :3] *= 0.3
    X[y == 2, 2:6] *= 0.3
    evaluate, counts = MeanPairwiseDistance.__call__, []

    def count(self, filters):
        counts[-1] += 1
        return evaluate(self, filters)

    monkeypatch.setattr(MeanPairwiseDistance, "__call__", count)
    for n_values in (1, 6):
        counts.append(0)
        SQFACV(
            3, regularizations=[0.01] * n_values, cv=2, n_init=2, random_state=0
        ).fit(X, y)
    assert counts[1] < 2 * counts[0]


@pytest.mark.filterwarnings("ignore:The best regularization:UserWarning")
@pytest.mark.filterwarnings("ignore:The 2 filters span 1 directions only:UserWarning")
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_default_values_as_a_grid_search(load):
    """The very same choice among values around the automatic one."""
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    sqfa = SQFACV(2, regularizations=5, cv=3, random_state=0).fit(X, y)
    model = make_pipeline(SQFA(2, random_state=0), QuadraticDiscriminantAnalysis(tol=0))
    values = sqfa.cv_results_["regularization"]
    search = GridSearchCV(model, {"sqfa__regularization": values}, cv=3).fit(X, y)
    assert sqfa.regularization_ == search.best_params_["sqfa__regularization"]


@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_log_loss"])
def test_scores_by_statistics_are_those_of_samples(scoring):
    """The default classifier never sees the training features."""
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = SQFACV(2, regularizations=4, scoring=scoring, random_state=0).fit(X, y)
    scores = model.cv_results_["mean_test_score"]
    # Not scikit-learn's discriminant, whose covariances depend on its version.
    model.set_params(classifier=GaussianClassifier()).fit(X, y)
    np.testing.assert_allclose(scores, model.cv_results_["mean_test_score"], rtol=1e-6)
    if scoring != "neg_log_loss":
        assert model.best_score_ == scores.max()


def test_filters_of_far_classes_are_those_of_a_fit():
    """Where all distances are near 1, a looser search would end at once."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 100)
    X = rng.normal(size=(400, 12)) + 8 * rng.normal(size=(4, 12))[y]
    options = {"distance": "hellinger", "random_state": 0}
    scoring = {"scoring": "neg_log_loss", "cv": 3}
    sqfa = SQFACV(2, regularizations=[0.1], **options, **scoring).fit(X, y)
    model = make_pipeline(
        SQFA(2, regularization=0.1, **options), QuadraticDiscriminantAnalysis()
    )
    expected = cross_val_score(model, X, y, **scoring)
    found = [sqfa.cv_results_[f"split{k}_test_score"][0] for k in range(3)]
    assert sqfa.objective_ > 0.99
    assert_allclose(found, expected, rtol=1e-6)


def test_some_of_many_held_out_samples_are_scored(noisy, monkeypatch):
    X, y = noisy
    monkeypatch.setattr(regularization_cv, "_MOST_SCORED", 7)
    rows = np.arange(10, len(y))
    some = regularization_cv._at_most(7, rows, y)
    assert set(some) <= set(rows) and set(y[some]) == set(y[rows])
    assert 7 <= len(some) <= 7 + len(np.unique(y))
    sqfa = SQFACV(2, regularizations=[0.01, 1.0], cv=3, random_state=0).fit(X, y)
    for k, (_, test) in enumerate(StratifiedKFold(3).split(X, y)):
        n_scored = len(regularization_cv._at_most(7, test, y))
        n_correct = n_scored * sqfa.cv_results_[f"split{k}_test_score"]
        assert_allclose(n_correct, np.round(n_correct), atol=1e-12)
    again = SQFACV(2, regularizations=[0.01, 1.0], cv=3, random_state=0).fit(X, y)
    assert again.best_score_ == sqfa.best_score_


def test_a_rare_class_is_scored(noisy, monkeypatch):
    monkeypatch.setattr(regularization_cv, "_MOST_SCORED", 3)
    sqfa = SQFACV(2, regularizations=[0.01, 1.0], cv=3, scoring="neg_log_loss")
    assert np.isfinite(sqfa.fit(*noisy).cv_results_["mean_test_score"]).all()
