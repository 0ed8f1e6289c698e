"""The cross-validated path of kernel discriminant analysis."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
)
from sklearn.preprocessing import StandardScaler

from skgeom import KernelDiscriminantAnalysis, KernelDiscriminantAnalysisCV
from skgeom._kernel.base import spread_over_classes
from skgeom._kernel.problem import KernelProblem

KDA = KernelDiscriminantAnalysis
PATH = KernelDiscriminantAnalysisCV


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500] / 16, y[:500]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.filterwarnings("ignore:The best value")
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("penalty", ["identity", "kernel"])
@pytest.mark.parametrize("criterion", ["total", "between"])
def test_path_equals_a_grid_search(digits, criterion, penalty, center):
    X, y = digits
    values = np.logspace(-7, 2, 7)
    settings = {
        "gamma": 0.02,
        "criterion": criterion,
        "penalty": penalty,
        "center": center,
        "temperature": 1.0,
    }
    path = KernelDiscriminantAnalysisCV(regularizations=values, **settings).fit(X, y)
    search = GridSearchCV(KDA(**settings), {"regularization": values}).fit(X, y)
    expected = [search.cv_results_[f"split{i}_test_score"] for i in range(5)]
    found = [path.cv_results_[f"split{i}_test_score"] for i in range(5)]
    np.testing.assert_allclose(found, expected)
    assert path.best_score_ == pytest.approx(search.best_score_)
    single = KDA(regularization=path.regularization_, **settings).fit(X, y)
    np.testing.assert_allclose(path.transform(X), single.transform(X), atol=1e-8)
    assert path.lambda_ == pytest.approx(single.lambda_)


@pytest.mark.filterwarnings("ignore:The best value")
@pytest.mark.parametrize("penalty", ["identity", "kernel"])
def test_path_of_several_batches(digits, penalty):
    X, y = digits
    X, y = X[:150], y[:150]
    values = np.logspace(-6, 1, 47)  # results of 200 columns are made together
    path = PATH(regularizations=values, gamma=0.02, penalty=penalty, cv=2).fit(X, y)
    for k in (0, 22, 23, 46):
        single = PATH(
            regularizations=values[k : k + 1], gamma=0.02, penalty=penalty, cv=2
        ).fit(X, y)
        assert path.cv_results_["mean_test_score"][k] == single.best_score_


@pytest.mark.parametrize(("penalty", "small"), [("kernel", 1e-17), ("identity", 1e-34)])
def test_path_names_the_value_that_is_too_small(wine, penalty, small):
    with pytest.raises(ValueError, match=f"singular with regularization={small:g}"):
        PATH(regularizations=[1e-3, small], penalty=penalty).fit(*wine)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("penalty", ["identity", "kernel"])
@pytest.mark.parametrize("criterion", ["total", "between"])
def test_path_equals_dense_solutions(wine, criterion, penalty, center):
    X, y = wine
    weights = np.full(len(y), 1 / len(y))

    def problem():
        return KernelProblem(
            rbf_kernel(X, gamma=0.02),
            y,
            weights,
            np.bincount(y, weights),
            identity=penalty == "identity",
            center=center,
            definite=True,
        )

    values = [1e-6, 1e-2, 1e3]
    solutions = problem().solve_path(values, criterion, 2)
    for value, solution in zip(values, solutions, strict=True):
        expected = problem().solve_eigen(value, criterion, 2)
        for name in ("eigenvalues", "coefficients", "offset", "means", "penalty"):
            found, array = getattr(solution, name), getattr(expected, name)
            scale = np.abs(array).max()
            np.testing.assert_allclose(found, array, rtol=0, atol=1e-7 * scale)


def test_path_of_a_kernel_in_single_precision():
    # Its negative eigenvalues, of its rounding, are larger than the smallest penalty.
    X, y = load_iris(return_X_y=True)
    K = X @ X.T
    path = PATH(kernel="precomputed", penalty="kernel").fit(K.astype(np.float32), y)
    double = PATH(kernel="precomputed", penalty="kernel").fit(K, y)
    assert path.best_score_ == pytest.approx(double.best_score_, abs=0.01)
    assert np.isfinite(path.dual_coef_).all()


def test_path_of_an_indefinite_kernel(wine):
    X, y = wine
    K = rbf_kernel(X, gamma=0.05) - 0.3 * np.eye(len(y))
    with pytest.raises(ValueError, match=r"negative .* Use penalty='identity'"):
        PATH(kernel="precomputed", penalty="kernel").fit(K, y)
    settings = {"kernel": "precomputed", "penalty": "identity"}
    path = PATH(**settings).fit(K, y)
    single = KDA(**settings, regularization=path.regularization_).fit(K, y)
    Z = single.transform(K)
    np.testing.assert_allclose(path.transform(K), Z, rtol=0, atol=1e-6 * abs(Z).max())


def test_folds_of_groups(wine):
    X, y = wine
    groups = np.arange(len(y)) % 7
    listed = PATH(cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    path = PATH(cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert path.cv_results_.keys() == listed.cv_results_.keys()
    for name, values in listed.cv_results_.items():
        np.testing.assert_array_equal(path.cv_results_[name], values)


def test_warns_of_many_samples(wine, monkeypatch):
    path = PATH(regularizations=[1e-3], cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path.fit(*wine)
    monkeypatch.setattr("skgeom._kernel.discriminant_cv.MAX_EXACT", 100)
    with pytest.warns(UserWarning, match=r"with 178 samples .*solver='nystroem'"):
        path.fit(*wine)


def test_path_options(wine):
    X, y = wine
    K = rbf_kernel(X, gamma=0.05)
    settings = {"regularizations": 4, "cv": 3, "scoring": "neg_log_loss"}
    settings["penalty"] = "identity"
    named = KernelDiscriminantAnalysisCV(gamma=0.05, **settings).fit(X, y)
    given = KernelDiscriminantAnalysisCV(kernel="precomputed", **settings).fit(K, y)
    for key, column in named.cv_results_.items():
        np.testing.assert_allclose(column, given.cv_results_[key], rtol=1e-6)
    np.testing.assert_allclose(named.regularizations_, np.logspace(-12, 0, 4))
    splits = np.array([named.cv_results_[f"split{k}_test_score"] for k in range(3)])
    means = named.cv_results_["mean_test_score"]
    np.testing.assert_allclose(means, splits.mean(axis=0))
    np.testing.assert_allclose(named.cv_results_["std_test_score"], splits.std(axis=0))
    assert named.best_score_ == means.max()
    # A tie goes to the larger value.
    tied = KernelDiscriminantAnalysisCV(regularizations=[1e-3, 1.001e-3]).fit(X, y)
    assert tied.regularization_ == 1.001e-3
    with pytest.raises(ValueError, match=r"regularizations must be .* positive"):
        KernelDiscriminantAnalysisCV(regularizations=[0, 1]).fit(X, y)
    with pytest.raises(ValueError, match="class 2 has no sample in a training"):
        split = [(np.flatnonzero(y < 2), np.flatnonzero(y == 2))]
        KernelDiscriminantAnalysisCV(cv=split).fit(X, y)


def test_splits(wine):
    """Masks serve as numbers do, and splitters see the labels themselves."""
    X, y = wine
    names = np.array(["a", "b", "c"])[y]
    numbers = list(StratifiedKFold(3).split(X, y))
    masks = [tuple(np.isin(np.arange(len(y)), part) for part in s) for s in numbers]
    seen = []

    class Splitter(KFold):
        def split(self, X, y=None, groups=None):
            seen.append(y)
            return iter(numbers)

    settings = {"gamma": 0.05, "regularizations": [1e-8, 1e-3, 10]}
    expected = PATH(cv=numbers, **settings).fit(X, names)
    for cv in (masks, Splitter(3), 3):
        found = PATH(cv=cv, **settings).fit(X, names)
        for key, column in expected.cv_results_.items():
            np.testing.assert_array_equal(found.cv_results_[key], column)
    np.testing.assert_array_equal(seen[0], names)
    with pytest.raises(ValueError, match="cv has no splits"):
        PATH(cv=[]).fit(X, y)
    with pytest.raises(ValueError, match="test part of split 0 of cv has no samples"):
        PATH(cv=[(np.arange(len(y)), np.arange(0))]).fit(X, y)


@pytest.mark.filterwarnings("ignore:The best value")
def test_scores_that_are_not_numbers(wine):
    X, y = wine

    def missing(model, X, y):
        return np.nan

    def sometimes(model, X, y):
        return np.nan if np.isclose(model.lambda_, lightest) else model.score(X, y)

    with pytest.raises(ValueError, match="No value of regularizations has a score"):
        PATH(scoring=missing).fit(X, y)
    with pytest.raises(ValueError, match=r"scoring must return a number, got \["):
        PATH(scoring=lambda model, X, y: [1.0]).fit(X, y)
    values, split = [1e-6, 1e-3, 10], list(StratifiedKFold(2).split(X, y))[:1]
    train = split[0][0]
    kda = KDA(gamma=0.05, regularization=1e-6)
    lightest = kda.fit(X[train], y[train]).lambda_
    with pytest.warns(UserWarning, match="1 of 3 values .* score that is NaN"):
        path = PATH(gamma=0.05, regularizations=values, scoring=sometimes, cv=split)
        path.fit(X, y)
    assert path.regularization_ == 1e-3


def test_values_to_try(wine):
    X, y = wine
    for values in ([1e-3, np.inf], [1e-3, np.nan]):
        with pytest.raises(ValueError, match="regularizations contains"):
            PATH(regularizations=values).fit(X, y)
    for number in (0, 1):
        with pytest.raises(ValueError, match=r"at least 2 values.* given as \[1.0\]"):
            PATH(regularizations=number).fit(X, y)
    assert PATH(regularizations=[0.5]).fit(X, y).regularization_ == 0.5
    kernel = PATH(regularizations=3, penalty="kernel").fit(X, y)
    np.testing.assert_allclose(kernel.regularizations_, [1e-8, 1e-4, 1])


def test_warns_of_the_ends_of_the_range(wine):
    X, y = wine
    settings = {"gamma": 0.05, "scoring": "neg_log_loss"}
    for values, end in (([1e-4, 1, 100], "smallest"), ([1e-14, 1e-9, 1e-4], "largest")):
        with pytest.warns(UserWarning, match=f"0.0001, is the {end} one"):
            PATH(regularizations=values, **settings).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = PATH(regularizations=[1e-12, 1e-4, 1], **settings).fit(X, y)
        assert path.regularization_ == 1e-4
        # A plateau that ends there is none to search beyond.
        PATH(regularizations=[0.9e-4, 1e-4, 1.0001e-4], gamma=0.05).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_automatic_values_do_not_warn_of_their_ends():
    X, y = load_breast_cancer(return_X_y=True)
    model = KernelDiscriminantAnalysisCV().fit(X, y)
    assert model.regularization_ == model.regularizations_.min()
    given = KernelDiscriminantAnalysisCV(regularizations=model.regularizations_)
    with pytest.warns(UserWarning, match="is the smallest one of those"):
        given.fit(X, y)


@pytest.mark.filterwarnings("ignore:The best value")
def test_large_training_parts_are_subsampled(digits, monkeypatch):
    """Models of a part of the samples have the lambda of all, and see all tests."""
    X, y = digits
    monkeypatch.setattr("skgeom._kernel.discriminant_cv._MAX_PATH", 200)
    settings = {"gamma": 0.02, "temperature": 1.0}
    path = PATH(regularizations=[1e-6, 1e-3, 1e-1], cv=3, **settings).fit(X, y)
    sizes = []
    for k, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        kept = spread_over_classes(y, train, 200)
        assert np.isin(kept, train).all()
        sizes.append(len(kept))
        for i, value in enumerate([1e-6, 1e-3, 1e-1]):
            kda = KDA(regularization=value * len(train) / len(kept), **settings)
            score = kda.fit(X[kept], y[kept]).score(X[test], y[test])
            assert path.cv_results_[f"split{k}_test_score"][i] == score
    assert max(sizes) < 220
    # The last fit is to all samples, with the value as it is.
    single = KDA(regularization=path.regularization_, **settings).fit(X, y)
    np.testing.assert_allclose(path.transform(X), single.transform(X), atol=1e-8)


def test_parts_have_more_of_small_classes():
    codes = np.repeat([0, 1, 2], [900, 90, 3])
    kept = np.flatnonzero(np.arange(len(codes)) % 10)  # 810, 81 and 2
    part = spread_over_classes(codes, kept, 100)
    assert np.isin(part, kept).all()
    np.testing.assert_array_equal(np.bincount(codes[part]), [91, 16, 2])
    np.testing.assert_array_equal(spread_over_classes(codes, kept, 10_000), kept)


@pytest.mark.parametrize("penalty", ["kernel", "identity"])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_weights_are_repetitions(penalty, scoring):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    order = np.argsort(np.arange(len(y)) % 3, kind="stable")
    tests = np.array_split(order, 3)
    splits = [(np.setdiff1d(order, test), test) for test in tests]
    rows = np.repeat(np.arange(len(y)), weights)
    repeated = [
        tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in splits
    ]
    settings = {"penalty": penalty, "regularizations": 5, "scoring": scoring}
    weighted = KernelDiscriminantAnalysisCV(cv=splits, **settings)
    weighted.fit(X, y, sample_weight=weights)
    same = KernelDiscriminantAnalysisCV(cv=repeated, **settings).fit(X[rows], y[rows])
    for name in ("mean_test_score", "split0_test_score"):
        assert_allclose(
            weighted.cv_results_[name], same.cv_results_[name], rtol=1e-6, atol=1e-9
        )
    assert weighted.regularization_ == pytest.approx(same.regularization_)
    assert weighted.lambda_ == pytest.approx(same.lambda_)
    assert_allclose(weighted.transform(X), same.transform(X), rtol=0, atol=1e-7)


def test_weights_of_many_samples(monkeypatch):
    monkeypatch.setattr("skgeom._kernel.discriminant_cv._MAX_PATH", 60)
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    settings = {"regularizations": 4, "cv": 3}
    plain = KernelDiscriminantAnalysisCV(**settings).fit(X, y)
    equal = clone(plain).fit(X, y, sample_weight=np.full(len(y), 3.0))
    assert_allclose(
        equal.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    assert_allclose(equal.transform(X), plain.transform(X), rtol=0, atol=1e-8)
    few = np.where(y == 0, 1e-3, 1.0)
    rare = clone(plain).fit(X, y, sample_weight=few)
    assert rare.priors_[0] < 0.01


def test_weights_that_are_refused():
    X, y = load_iris(return_X_y=True)
    model = KernelDiscriminantAnalysisCV(cv=[(np.arange(0, 150, 2), [1, 3])])
    with pytest.raises(ValueError, match="test part of split 0 of cv has no samples"):
        model.fit(X, y, sample_weight=(np.arange(150) > 3).astype(float))
    with pytest.raises(ValueError, match="class 0 has no sample"):
        model.fit(X, y, sample_weight=(np.arange(150) >= 50).astype(float))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(X, y, sample_weight=-np.ones(150))


def test_a_function_that_scores_gets_no_weights():
    X, y = load_iris(return_X_y=True)

    def scoring(model, X, y):
        return model.score(X, y)

    model = KernelDiscriminantAnalysisCV(regularizations=3, scoring=scoring, cv=3)
    assert model.fit(X, y, sample_weight=np.ones(150)).best_score_ > 0.9
