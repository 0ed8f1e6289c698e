"""Kernel discriminant analysis as an estimator: invariances, use, and bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel, sigmoid_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score

from skgeom import KernelDiscriminantAnalysis as KDA

SOLVERS = ["eigen", "cholesky", "nystroem"]


# Invariances.


@pytest.mark.parametrize("penalty", ["identity", "kernel"])
@pytest.mark.parametrize("criterion", ["total", "between"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_order_of_the_samples_changes_nothing(wine, solver, criterion, penalty):
    """Not even the signs."""
    X, y = wine
    order = np.random.default_rng(0).permutation(len(y))
    kda = KDA(solver=solver, criterion=criterion, penalty=penalty)
    expected = kda.fit(X, y).transform(X)
    permuted = clone(kda).fit(X[order], y[order]).transform(X)
    np.testing.assert_allclose(permuted, expected, rtol=0, atol=1e-7)


def test_priors(wine):
    """Uniform ones are weights of classes, see the tests of these."""
    X, y = wine
    np.testing.assert_allclose(KDA(priors="uniform").fit(X, y).priors_, 1 / 3)
    given = KDA(priors=np.bincount(y) / len(y)).fit(X, y)
    np.testing.assert_allclose(given.predict_proba(X), KDA().fit(X, y).predict_proba(X))


# Use.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_landmarks(digits, dtype):
    X, y = digits
    settings = {"gamma": 0.03, "penalty": "kernel", "regularization": 1e-4}
    exact = KDA(**settings).fit(X, y)
    kda = KDA(**settings, solver="nystroem", n_landmarks=150, random_state=0).fit(
        X.astype(dtype), y
    )
    assert kda.X_fit_.shape == (150, X.shape[1])
    found, double = kda.transform(X.astype(dtype)), clone(kda).fit(X, y)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, double.transform(X), rtol=1e-6, atol=1e-6)
    assert (kda.predict(X) == exact.predict(X)).mean() > 0.97
    assert kda.eigenvalues_[0] <= exact.eigenvalues_[0] * 1.05


def test_precomputed_kernel_in_cross_validation(wine):
    X, y = wine
    K = rbf_kernel(X, gamma=0.05)
    given = cross_val_score(KDA(kernel="precomputed"), K, y)
    np.testing.assert_array_equal(given, cross_val_score(KDA(gamma=0.05), X, y))
    grid = {"regularization": [1e-6, 1e-3, 1e3]}
    search = GridSearchCV(KDA(kernel="precomputed"), grid).fit(K, y)
    assert search.best_score_ >= given.mean()


@pytest.mark.parametrize("solver", SOLVERS)
def test_input_is_not_modified(wine, solver):
    X, y = wine
    K = rbf_kernel(X)
    copy = K.copy()
    KDA(kernel="precomputed", solver=solver, penalty="kernel").fit(K, y)
    np.testing.assert_array_equal(K, copy)
    X = X.copy()
    kda = KDA(solver=solver, n_landmarks=500).fit(X, y)
    before = kda.transform(X[:3])
    sample = X[:3].copy()
    X[:] = 0  # what the user does to X later does not reach the model
    np.testing.assert_array_equal(kda.transform(sample), before)


# Bad input.


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("penalty", ["identity", "kernel"])
def test_indefinite_kernel(wine, solver, penalty):
    """An error, except where the scatter matrices are semidefinite all the same."""
    X, y = wine
    K = sigmoid_kernel(X, gamma=0.5, coef0=-1)
    assert np.linalg.eigvalsh(K)[0] < -1
    for kda, data in (
        (KDA(kernel="precomputed", solver=solver, penalty=penalty), K),
        (KDA(kernel="sigmoid", gamma=0.5, coef0=-1, solver=solver, penalty=penalty), X),
    ):
        if penalty == "identity" and solver != "nystroem":
            assert np.isfinite(kda.fit(data, y).predict_proba(data)).all()
        else:
            with pytest.raises(ValueError, match=r"negative eigenvalue .*a different"):
                kda.fit(data, y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_too_many_components(wine, solver):
    X, y = wine
    with pytest.raises(ValueError, match=r"n_components=3 exceeds n_classes - 1 = 2"):
        KDA(3, solver=solver).fit(X, y)
    with pytest.raises(ValueError, match=r"n_components=2 exceeds n_classes - 1 = 1"):
        KDA(2, solver=solver).fit(X, y, sample_weight=y != 1)


@pytest.mark.parametrize("regularization", [0, 1e-3])
@pytest.mark.parametrize("penalty", ["identity", "kernel"])
@pytest.mark.parametrize("criterion", ["total", "between"])
def test_kernel_without_variance_above_rounding(criterion, penalty, regularization):
    """The kernel is constant up to the rounding of float32, as a saturated sigmoid."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(30, 2))
    kernel = (1 + 3e-7 * X @ X.T).astype(np.float32)
    kda = KDA(
        kernel="precomputed",
        solver="eigen",
        penalty=penalty,
        criterion=criterion,
        regularization=regularization,
    )
    with pytest.raises(ValueError, match=r"equal (means )?in the feature space"):
        kda.fit(kernel, np.arange(30) % 3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("penalty", ["identity", "kernel"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_constant_features_and_duplicated_samples(wine, solver, penalty, kernel):
    X, y = wine
    kda = KDA(kernel=kernel, solver=solver, penalty=penalty, regularization=1e-3)
    expected = clone(kda).set_params(gamma=0.05).fit(X, y)
    more = np.column_stack([X, np.full(len(X), 3.0)])
    more, labels = np.vstack([more, more]), np.tile(y, 2)
    fitted = clone(kda).set_params(gamma=0.05).fit(more, labels)
    np.testing.assert_allclose(
        fitted.transform(more[: len(X)]), expected.transform(X), rtol=0, atol=1e-6
    )
    with pytest.raises(ValueError, match="All samples are equal in the feature"):
        kda.fit(np.full_like(X, 0.1), y)


def test_regularization_zero(wine):
    X, y = wine
    with pytest.raises(ValueError, match="within-class matrix is singular with reg"):
        KDA(regularization=0).fit(X, y)
    for solver in ("cholesky", "nystroem"):
        with pytest.raises(ValueError, match="must be positive with solver"):
            KDA(regularization=0, solver=solver).fit(X, y)
    assert KDA(kernel="linear", regularization=0).fit(X, y).score(X, y) == 1
    kda = KDA(kernel="poly", degree=1, regularization=0).fit(X, y)
    assert kda.gamma_ == pytest.approx(1 / 13)  # which is not selected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 0}, "gamma"),
        ({"gamma": -1.0}, "gamma"),
        ({"regularization": -1}, "regularization"),
        ({"kernel": "gaussian"}, "kernel"),
        ({"priors": [0.5, 0.5]}, "priors must hold 3 positive"),
        ({"priors": [0.5, 0.6, -0.1]}, "priors must hold 3 positive .* sum to 1"),
        ({"priors": pd.Series([0.2, 0.3, 0.5], [2, 0, 1])}, "not a labelled series"),
        ({"kernel": "poly", "degree": 400, "coef0": 1e9}, "NaN or infinite"),
        ({"kernel": "poly", "degree": 400, "coef0": 1e9, "solver": "nystroem"}, "NaN"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_parameters(wine, settings, message):
    with pytest.raises(ValueError, match=message):
        KDA(**settings).fit(*wine)


def test_bad_precomputed_kernel(wine):
    X, y = wine
    K = rbf_kernel(X)
    kda = KDA(kernel="precomputed")
    with pytest.raises(ValueError, match=r"square kernel matrix .* got shape \(178, 9"):
        kda.fit(K[:, :9], y)
    with pytest.raises(ValueError, match="precomputed kernel, is not symmetric"):
        kda.fit(K + np.triu(K), y)
    with pytest.raises(ValueError, match="NaN"):
        kda.fit(np.where(K == K[0, 1], np.nan, K), y)
    with pytest.raises(ValueError, match=r"zero diagonal, like a matrix of"):
        kda.fit(np.linalg.norm(X[:, None] - X, axis=2), y)
    with pytest.raises(ValueError, match=r"X has 9 columns.* 178 training samples"):
        kda.fit(K, y).predict(K[:, :9])


# Landmarks.


def test_automatic_solver(wine, monkeypatch):
    """Exact for up to 10,000 samples."""
    kda, (X, y) = KDA(), wine
    assert kda._chosen_solver(10_000) == "cholesky" != kda._chosen_solver(10_001)
    monkeypatch.setattr("skgeom._kernel.discriminant.MAX_EXACT", 100)
    assert kda.fit(X, y).solver_ == "nystroem"
    with pytest.raises(ValueError, match="of solver='nystroem', is not a kernel"):
        KDA(kernel="sigmoid", gamma=0.5, coef0=-1, regularization=1).fit(X, y)


@pytest.mark.parametrize("parameters", [{"coef0": -3}, {"degree": 0.5}])
def test_polynomials_that_are_not_definite(wine, parameters):
    X, y = wine
    X = np.abs(X)
    kda = KDA(kernel="poly", gamma=0.1, penalty="kernel")
    with pytest.raises(ValueError, match="negative eigenvalue"):
        kda.set_params(**{"degree": 2, **parameters}).fit(X, y)
