"""Folds of SQFACV: splits, statistics, scores, and whose code runs in which thread."""

import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_fit2d_1feature
from threadpoolctl import threadpool_limits

from skgeom import SQFA, SQFACV, ClassStatistics
from skgeom._filters.folds import FoldStatistics, checked_splits


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def split_scores(sqfa, n_splits):
    return [sqfa.cv_results_[f"split{k}_test_score"][0] for k in range(n_splits)]


# Statistics


@pytest.mark.parametrize("size", [0.0, 1e8])
def test_statistics_of_training_parts(size, wine):
    """Also where an outlier in one test part is larger than all else."""
    X, y = wine
    X[0] += size * np.linspace(0.5, 1.5, X.shape[1])
    splits = checked_splits(5, X, y)
    folds = FoldStatistics(X, y, splits)
    for index, (train, _) in enumerate(splits):
        found, expected = (
            folds.training(index),
            ClassStatistics.from_data(X[train], y[train]),
        )
        assert np.array_equal(found.counts, expected.counts)
        for name in ("means", "covariances"):
            a, b = getattr(found, name), getattr(expected, name)
            assert_allclose(a, b, rtol=1e-9, atol=1e-12 * np.abs(b).max())
    clean = [k for k, (train, _) in enumerate(splits) if 0 not in train]
    smallest = np.linalg.eigvalsh(folds.training(clean[0]).covariances)[:, 0]
    assert (smallest > 1e-3).all()


def test_each_sample_is_looked_at_once(wine, monkeypatch):
    X, y = wine
    sizes = []
    make = ClassStatistics._from_valid_data

    def count(X, y, covariance_estimator=None):
        sizes.append(len(X))
        return make(X, y, covariance_estimator)

    monkeypatch.setattr(ClassStatistics, "_from_valid_data", count)
    folds = FoldStatistics(X, y, checked_splits(StratifiedKFold(5), X, y))
    for index in range(5):
        folds.training(index)
    assert sum(sizes) == len(y)


def test_a_single_split_takes_one_pass(wine, monkeypatch):
    """The statistics of all samples are made of those of its two parts."""
    X, y = wine
    expected = ClassStatistics.from_data(X, y)
    splits = [(np.arange(0, len(y), 2), np.arange(1, len(y), 2))]
    folds = FoldStatistics(X, y, splits)
    monkeypatch.setattr(ClassStatistics, "_from_valid_data", None)
    assert_allclose(folds.all().covariances, expected.covariances, rtol=1e-9)
    assert np.array_equal(folds.training(0).counts, np.bincount(y[::2]))


def test_training_parts_that_are_not_the_rest(wine):
    X, y = wine
    splits = [(train[::2], test) for train, test in checked_splits(3, X, y)]
    folds = FoldStatistics(X, y, splits)
    for index, (train, _) in enumerate(splits):
        expected = ClassStatistics.from_data(X[train], y[train])
        found = folds.training(index)
        assert np.array_equal(found.covariances, expected.covariances)


def test_covariance_estimator_of_the_folds(wine):
    X, y = wine
    sqfa, model = (
        estimator(2, covariance_estimator="oas", random_state=0, **options)
        for estimator, options in [
            (SQFACV, {"regularizations": [0.01], "cv": 4}),
            (SQFA, {"regularization": 0.01, "tol": 1e-3}),  # as the folds
        ]
    )
    model = make_pipeline(model, QuadraticDiscriminantAnalysis(tol=0))
    # Log losses tell estimators apart where accuracies agree.
    expected = cross_val_score(model, X, y, cv=4, scoring="neg_log_loss")
    found = split_scores(sqfa.set_params(scoring="neg_log_loss").fit(X, y), 4)
    assert_allclose(found, expected, rtol=1e-9)
    sqfa.set_params(covariance_estimator=None).fit(X, y)
    assert np.abs(split_scores(sqfa, 4) - expected).max() > 0.01


def test_single_precision_of_large_scale(wine):
    X, y = wine
    options = {"regularizations": [0.1], "random_state": 0}
    expected = SQFACV(2, **options).fit(X, y).best_score_
    options["regularizations"] = [0.1e40]
    large = SQFACV(2, **options).fit((X * 1e20).astype(np.float32), y)
    assert large.best_score_ == pytest.approx(expected, abs=0.01)


# Whose code runs where


class Witness(QuadraticDiscriminantAnalysis):
    """Notes the threads that use it, and changes the filters of warnings meanwhile."""

    threads = set()

    def fit(self, X, y):
        self.threads.add(threading.current_thread())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return super().fit(X, y)


def test_classifiers_run_in_the_thread_that_calls(wine):
    Witness.threads.clear()

    def scoring(estimator, X, y):
        Witness.threads.add(threading.current_thread())
        return estimator.score(X, y)

    before = list(warnings.filters)
    with threadpool_limits(2):
        SQFACV(2, regularizations=4, classifier=Witness(tol=0), scoring=scoring).fit(
            *wine
        )
    assert Witness.threads == {threading.current_thread()}
    assert warnings.filters == before


# Splits


def test_fold_that_lacks_classes(wine):
    X, y = wine
    splits = list(LeaveOneGroupOut().split(X, y, groups=(y == 2).astype(int)))
    with pytest.raises(ValueError, match=r"training part of split 0 .* one class only"):
        SQFACV(regularizations=2, cv=splits).fit(X, y)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "cv holds no split"),
        ([([0, 60], [1]), ([0, 60], [])], "The test part of split 1 of cv is empty"),
        ([([], [1])], "The training part of split 0 of cv is empty"),
        ([([0, 60], [178])], "test part of split 0 of cv .* from 0 to 177, got"),
        ([([0, 60], [0.5])], "test part of split 0 of cv must be a list of indices"),
    ],
)
def test_bad_splits(cv, message, wine):
    with pytest.raises(ValueError, match=message):
        SQFACV(regularizations=2, cv=cv).fit(*wine)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (1, "Class 2 has 1 sample, fewer than the 5 folds of cv. Give cv as a list"),
        (2, "Class 2 has 2 samples, fewer than the 5 folds of cv. Use cv=2, or leave"),
    ],
)
def test_class_that_is_too_small_is_named(count, message, wine):
    X, y = (array[: 130 + count] for array in wine)
    with pytest.raises(ValueError, match=message):
        SQFACV(regularizations=2).fit(X, y)


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_class_of_three_samples_will_do(wine):
    X, y = (array[:133] for array in wine)
    estimator = SQFACV(regularizations=[0.5], classifier=GaussianNB(), random_state=0)
    assert 0.9 < estimator.fit(X, y).best_score_ <= 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_check_of_scikit_learn_with_small_classes():
    """Three samples of a class in the five folds that are the default."""
    check_fit2d_1feature("SQFACV", SQFACV(classifier=GaussianNB()))


def test_masks_are_splits(wine):
    X, y = wine
    indices = checked_splits(3, X, y)
    masks = [
        tuple(np.isin(np.arange(len(y)), part) for part in split) for split in indices
    ]
    for found, expected in zip(checked_splits(masks, X, y), indices, strict=True):
        for a, b in zip(found, expected, strict=True):
            assert np.array_equal(a, b)


# Scores


def test_infinite_scores_do_not_win(wine):
    scores = iter([np.inf, 0.3] * 2)
    with pytest.warns(FitFailedWarning, match="fails in 2 of 4 .* The score is inf"):
        sqfa = SQFACV(
            regularizations=[0.1, 1.0], cv=2, scoring=lambda *_: next(scores)
        ).fit(*wine)
    assert sqfa.regularization_ == 1.0
    assert sqfa.best_score_ == 0.3


def test_scores_that_are_no_numbers(wine):
    with pytest.raises(ValueError, match=r"scorer fails for every .* The score is nan"):
        SQFACV(regularizations=2, cv=2, scoring=lambda *_: np.nan).fit(*wine)
    with pytest.raises(ValueError, match="scoring must return a number, got 'good' of"):
        SQFACV(regularizations=2, cv=2, scoring=lambda *_: "good").fit(*wine)


def test_scorer_that_fails(wine):
    with pytest.raises(ValueError, match=r"classifier or scorer fails .* division by"):
        SQFACV(regularizations=2, cv=2, scoring=lambda *_: 1 / 0).fit(*wine)


def test_regressor_is_refused(wine):
    with pytest.raises(ValueError, match=r"classifier must be a classifier, got Ridge"):
        SQFACV(classifier=Ridge()).fit(*wine)


def test_first_of_equal_scores_is_chosen(wine):
    values = [0.1, 1.0, 0.5]
    options = {"regularizations": values, "cv": 2, "random_state": 0}
    assert SQFACV(scoring=lambda *_: 1, **options).fit(*wine).regularization_ == 0.1
    scores = iter([0, 1, 1] * 2)
    chosen = SQFACV(scoring=lambda *_: next(scores), **options).fit(*wine)
    assert chosen.regularization_ == 1.0


def test_overflow_names_the_class(wine):
    X, y = wine
    with pytest.raises(
        ValueError, match=r"numbers of class 0, .* Divide X by a common"
    ):
        SQFA(2).fit(X * 1e160, y)
