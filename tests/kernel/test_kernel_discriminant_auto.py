"""regularization="auto": errors of samples that are left out, in closed form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom._kernel import discriminant
from skgeom._kernel.base import rescaled_to
from skgeom._kernel.problem import KernelProblem


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def problem_of(K, y, penalty):
    counts = np.bincount(y)
    return KernelProblem(
        K.copy(),
        y,
        np.full(len(y), 1 / len(y)),
        counts / len(y),
        identity=penalty == "identity",
        center=True,
        definite=True,
    )


@pytest.mark.parametrize("value", [1e-6, 1e-2])
@pytest.mark.parametrize("penalty", ["kernel", "identity"])
def test_errors_are_those_of_fits_without_each_sample(wine, penalty, value):
    X, y = wine[0][::4], wine[1][::4]
    n = len(y)
    K = rbf_kernel(X, gamma=0.1)
    problem = problem_of(K, y, penalty)
    (found,) = problem.errors_left_out([value], np.ones(n))
    centering = np.eye(n) - 1 / n
    Kc, Y = centering @ K @ centering, np.eye(3)[y]
    if penalty == "kernel":
        penalty_matrix = n * value * np.trace(Kc) / n * Kc
    else:
        penalty_matrix = value * np.square(Kc).sum() * np.eye(n)
    design = np.hstack([np.ones((n, 1)), Kc])  # an intercept, without a penalty
    total = 0.0
    for left_out in range(n):
        kept = np.arange(n) != left_out
        A = design[kept]
        normal = A.T @ A
        normal[1:, 1:] += penalty_matrix
        solution = np.linalg.lstsq(normal, A.T @ Y[kept], rcond=1e-14)[0]
        total += np.square(design[left_out] @ solution - Y[left_out]).sum()
    assert_allclose(found, total / n, rtol=1e-5)


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "nystroem"])
@pytest.mark.parametrize("penalty", ["kernel", "identity"])
def test_auto_is_a_value(wine, penalty, solver):
    X, y = wine
    options = {"penalty": penalty, "solver": solver, "random_state": 0}
    auto = KDA(regularization="auto", **options).fit(X, y)
    given = KDA(regularization=auto.regularization_, **options).fit(X, y)
    assert 1e-12 <= auto.regularization_ <= 1
    assert_allclose(auto.transform(X), given.transform(X))
    assert_allclose(auto.predict_proba(X), given.predict_proba(X))
    assert_allclose(KDA(**options).fit(X, y).transform(X), auto.transform(X))
    fixed = KDA(**options, regularization=1e-3).fit(X, y)
    assert fixed.regularization_ == 1e-3


def test_auto_is_near_the_best_on_digits():
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(y)) % 3 > 0
    auto = KDA().fit(X[train], y[train])
    best = max(
        KDA(regularization=value).fit(X[train], y[train]).score(X[~train], y[~train])
        for value in np.logspace(-8, 0, 9)
    )
    heavy = KDA(regularization=1e-3).fit(X[train], y[train])
    score = auto.score(X[~train], y[~train])
    assert score >= best - 0.004
    assert score > heavy.score(X[~train], y[~train]) + 0.002


def test_a_weight_of_two_is_two_samples(wine):
    X, y = wine
    weights = 1 + np.arange(len(y)) % 3
    weighted = KDA(regularization="auto", penalty="kernel").fit(X, y, weights)
    repeated = KDA(regularization="auto", penalty="kernel").fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    assert weighted.regularization_ == repeated.regularization_


def test_scale_of_the_kernel_and_order_of_samples_do_not_matter(wine):
    X, y = wine
    K = rbf_kernel(X, gamma=0.05)
    options = {"kernel": "precomputed", "regularization": "auto"}
    expected = KDA(**options).fit(K, y).regularization_
    assert KDA(**options).fit(1e6 * K, y).regularization_ == expected
    order = np.random.default_rng(0).permutation(len(y))
    permuted = KDA(**options).fit(K[np.ix_(order, order)], y[order])
    assert permuted.regularization_ == expected


def test_a_part_of_many_samples_has_some_of_each_class(monkeypatch):
    monkeypatch.setattr(discriminant, "_MAX_LEFT_OUT", 20)
    X, y = load_iris(return_X_y=True)
    kept = np.r_[0:50, 50:100, 100:103]
    auto = KDA().fit(X[kept], y[kept])
    again = KDA().fit(X[kept], y[kept])
    assert auto.regularization_ == again.regularization_
    assert auto.score(X, y) > 0.9


def test_float32_and_priors(wine):
    X, y = wine
    options = {"regularization": "auto", "penalty": "kernel", "priors": "uniform"}
    single = KDA(**options).fit(X.astype(np.float32), y)
    double = KDA(**options).fit(X, y)
    assert_allclose(single.regularization_, double.regularization_)
    with pytest.raises(ValueError, match="regularization"):
        KDA(regularization="automatic").fit(X, y)


@pytest.mark.parametrize("penalty", ["kernel", "identity"])
def test_rescaled_values_keep_lambda(wine, penalty):
    X, y = wine
    kda = KDA(regularization=1e-3, penalty=penalty)
    expected = kda.fit(X, y).lambda_
    kda.set_params(regularization=rescaled_to(1e-3, penalty, 1 / 3))
    assert_allclose(kda.fit(np.tile(X, (3, 1)), np.tile(y, 3)).lambda_, expected)


@pytest.mark.parametrize("penalty", ["kernel", "identity"])
def test_a_part_of_the_samples_chooses_nearly_as_well(penalty, monkeypatch):
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(y)) % 2 > 0
    scores = []
    for most in (250, 10_000):
        monkeypatch.setattr(discriminant, "_MAX_CHOOSING", most)
        kda = KDA(penalty=penalty).fit(X[train], y[train])
        scores.append(kda.score(X[~train], y[~train]))
    assert scores[0] > scores[1] - 0.006
