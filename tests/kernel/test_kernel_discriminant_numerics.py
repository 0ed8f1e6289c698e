"""Kernel discriminant analysis at the limits: symmetry, scale, rank and rounding."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel

from skgeom import KernelDiscriminantAnalysis as KDA

SOLVERS = ["eigen", "cholesky", "nystroem"]


@pytest.fixture(scope="module")
def mirrored():
    """3,200 samples; the direction of the largest variance is orthogonal to E."""
    design = np.array(list(itertools.product((-1, 1), repeat=3)) * 400, float)
    X = np.column_stack([design[:, 0] + 2 * design[:, 1], 3 * design[:, 2]])
    return X, design[:, 0] > 0


# Solutions.


@pytest.mark.parametrize("criterion", ["total", "between"])
@pytest.mark.parametrize("regularization", [0.1, 1])
def test_directions_that_symmetry_hides(mirrored, regularization, criterion):
    """Without squaring K, as solved with the two features themselves."""
    X, y = mirrored
    kda = KDA(
        kernel="linear",
        regularization=regularization,
        penalty="identity",
        criterion=criterion,
        calibration=None,
    )
    # With K = X X^T, alpha = X x, and V = X^T X / n, S_t is V^3 up to powers of n.
    V = X.T @ X / len(X)
    mean = (X[y].mean(axis=0) - X[~y].mean(axis=0)) / 2
    total, between = V @ V @ V, np.outer(V @ mean, V @ mean)
    numerator = total if criterion == "total" else between
    penalty = regularization * np.trace(V @ V) * V
    ratios = np.linalg.eigvals(np.linalg.solve(total - between + penalty, numerator))
    kda.fit(X, y)
    assert_allclose(kda.eigenvalues_, ratios.real.max(), rtol=1e-6)


# Scales and rounding.


@pytest.mark.parametrize("factor", [1e-180, 1e-85, 1e78, 1e180])
@pytest.mark.parametrize("penalty", ["identity", "kernel"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_scale_of_the_kernel(wine, solver, penalty, factor):
    X, y = wine
    K = rbf_kernel(X, gamma=0.05)
    kda = KDA(kernel="precomputed", penalty=penalty, solver=solver)
    expected = clone(kda).fit(K, y)
    kda.fit(factor * K, y)
    assert_allclose(kda.eigenvalues_, expected.eigenvalues_, rtol=1e-8)
    assert_allclose(kda.transform(factor * K), expected.transform(K), rtol=0, atol=1e-8)
    if penalty == "kernel":  # that of the other is the square, beyond all numbers
        assert kda.lambda_ / factor == pytest.approx(expected.lambda_)


def test_singular_matrix_names_the_remedy(wine):
    X, y = wine
    K = rbf_kernel(X, gamma=1e-4).astype(np.float32)
    kda = KDA(kernel="precomputed", penalty="kernel", regularization=1e-7)
    with pytest.raises(ValueError, match=r"Increase regularization, .* to 1e-06"):
        kda.fit(K, y)


@pytest.mark.parametrize("criterion", ["total", "between"])
@pytest.mark.parametrize("regularization", [1e-9, 1e-11])
def test_kernel_matrix_of_low_rank(wine, regularization, criterion):
    """A light penalty enlarges no rounding: no coefficients in the null space of K."""
    X, y = wine
    kda = KDA(
        kernel="linear",
        penalty="kernel",
        regularization=regularization,
        criterion=criterion,
    )
    expected = kda.set_params(solver="eigen").fit(X, y).transform(X)
    kda.set_params(solver="cholesky").fit(X, y)
    assert np.abs(kda.dual_coef_).max() < 1
    assert_allclose(kda.transform(X), expected, rtol=0, atol=1e-11)


# Degenerate data.


@pytest.mark.parametrize("penalty", ["identity", "kernel"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_classes_that_coincide(wine, kernel, solver, penalty):
    X, _ = wine
    kda = KDA(kernel=kernel, gamma="scale", solver=solver, penalty=penalty)
    kda.set_params(regularization=1e-3)
    with pytest.raises(ValueError, match="equal means in the feature space"):
        kda.fit(np.vstack([X, X]), np.repeat([0, 1], len(X)))


@pytest.mark.filterwarnings("ignore:The (selected|predictions)")
def test_no_gamma_with_equal_class_means_is_selected():
    """Although it would be the smallest one, for the parity of seven bits."""
    X = np.unpackbits(np.arange(128, dtype=np.uint8)[:, None], axis=1).astype(float)
    y = X.sum(axis=1) % 2
    assert KDA().fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("solver", ["eigen", "cholesky", "nystroem"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_offset_samples(kernel, solver):
    """The center is subtracted first, unless the kernel depends on the origin."""
    X, y = load_iris(return_X_y=True)
    X = np.round(X * 2**8) / 2**8  # exact after the translation
    options = {"kernel": kernel, "solver": solver, "random_state": 0}
    expected = KDA(**options).fit(X, y).decision_function(X)
    found = KDA(**options).fit(X + 1e8, y).decision_function(X + 1e8)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match=r"Use StandardScaler|Scale X"):
        KDA(kernel="poly").fit(X + 1e9, y)


def test_landmarks_that_are_zero(wine):
    def inner(A, B):
        return A @ B.T

    X, y = wine
    X *= 1e-200  # products of which are zero
    kda = KDA(kernel=inner, solver="nystroem", n_landmarks=1)
    kda.set_params(regularization=1e-3, random_state=1)
    with pytest.raises(ValueError, match=r"matrix of the landmarks is zero.*n_land"):
        kda.fit(X, y)


# Kernels.


def test_callable_kernel_must_be_a_symmetric_function_of_matrices(wine):
    X, y = wine
    with pytest.raises(ValueError, match=r"samples .* is not symmetric"):
        KDA(kernel=lambda A, B: A[:, :1] + 2 * B[:, 0]).fit(X, y)
    with pytest.raises(ValueError, match=r"shapes (?s:.*)must be a function of two"):
        KDA(kernel=np.dot).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(3, 13\) for two matrices of 3 s"):
        KDA(kernel=np.multiply).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "nystroem"])
def test_nearly_diagonal_kernel(wine, solver):
    X, y = load_wine(return_X_y=True)
    kda = KDA(gamma=1, regularization=1e-3, solver=solver)
    with pytest.warns(UserWarning, match=r"nearly diagonal.*StandardScaler"):
        kda.fit(X, y)
    X, _ = wine
    with pytest.warns(UserWarning, match=r"below 0.05 times .* gamma='scale'"):
        kda.set_params(gamma=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kda.set_params(gamma=0.3).fit(X, y)
