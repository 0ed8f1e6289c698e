"""Kernel discriminant analysis: its solutions, against independent computations."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh, subspace_angles
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.preprocessing import StandardScaler

from skgeom import KernelDiscriminantAnalysis
from skgeom._kernel import _system

PENALTIES = ["identity", "kernel"]
CRITERIA = ["total", "between"]
SOLVERS = ["eigen", "cholesky", "nystroem"]


def scatter_matrices(K, y):
    """S_t and S_w of the docstring."""
    total = len(K) * np.cov(K.T, bias=True)
    of_classes = [K[y == label].T for label in np.unique(y)]
    return total, sum(k.shape[1] * np.cov(k, bias=True) for k in of_classes)


def with_lambda(penalty_factor, X, y, **parameters):
    """A fitted estimator with a given lambda."""
    kda = KernelDiscriminantAnalysis(regularization=1e-3, **parameters).fit(X, y)
    regularization = kda.regularization * penalty_factor / kda.lambda_
    return kda.set_params(regularization=regularization).fit(X, y)


def angle(A, B):
    """Largest angle between the spans of columns, which may have other origins."""
    return subspace_angles(A - A.mean(axis=0), B - B.mean(axis=0)).max()


# Against the equations.


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_maximizes_the_ratio(wine, solver, penalty, criterion):
    """A direct solution with scipy, of centred matrices as in the docstring."""
    X, y = wine
    K = rbf_kernel(X, gamma=0.05)
    n = len(K)
    C = np.eye(n) - np.ones((n, n)) / n
    centered = C @ K @ C
    total, within = scatter_matrices(centered, y)
    R = np.eye(n) if penalty == "identity" else centered
    numerator = total if criterion == "total" else total - within
    # A little of 11^T makes R = K regular, and touches nothing that is centred.
    expected, alpha = eigh(numerator, within + 0.3 * R + np.ones((n, n)))

    kda = with_lambda(
        0.3, X, y, gamma=0.05, penalty=penalty, criterion=criterion, solver=solver
    )
    assert kda.lambda_ == pytest.approx(0.3)
    assert_allclose(kda.eigenvalues_, expected[:-3:-1], rtol=1e-8)
    assert angle(kda.transform(X), centered @ alpha[:, -2:]) < 1e-6
    # Centered components, and the scale: the denominator is one, for covariances.
    x = X[:5] + 0.1
    rows = (rbf_kernel(x, X, gamma=0.05) - K.mean(axis=0)) @ C
    coefficients = alpha[:, :-3:-1] * np.sqrt(n)
    assert_allclose(
        np.abs(kda.transform(x)), np.abs(rows @ coefficients), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(
    ("regularization", "penalty", "criterion"),
    [
        (10, "kernel", "total"),
        (1e-3, "kernel", "between"),
        (1e-6, "kernel", "total"),
        (10, "identity", "between"),
        (1e-3, "identity", "total"),
        (1e-6, "identity", "between"),
    ],
)
def test_solvers_agree(digits, regularization, penalty, criterion):
    """Nystroem with all samples as landmarks is exact."""
    X, y = digits
    models = [
        KernelDiscriminantAnalysis(
            gamma=0.03,
            regularization=regularization,
            penalty=penalty,
            criterion=criterion,
            solver=solver,
        ).fit(X, y)
        for solver in SOLVERS
    ]
    reference = models[0].transform(X)
    for model in models[1:]:
        assert_allclose(model.eigenvalues_, models[0].eigenvalues_, rtol=1e-7)
        assert angle(model.transform(X), reference) < 1e-6
        probabilities = model.predict_proba(X), models[0].predict_proba(X)
        assert_allclose(*probabilities, rtol=0, atol=1e-6)
        assert model.lambda_ == pytest.approx(models[0].lambda_)
        size = np.abs(reference).max()
        assert_allclose(model.means_, models[0].means_, atol=1e-6 * size, rtol=0)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("regularization", [1, 1e-6])
def test_iteration(regularization, criterion, monkeypatch):
    """Without calibration, large problems do not need the square of K."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:1100] / 16, y[:1100]
    kda = KernelDiscriminantAnalysis(
        gamma=0.03,
        penalty="identity",
        regularization=regularization,
        criterion=criterion,
    ).fit(X, y)
    kda.calibration = None
    expected = kda.eigenvalues_, kda.transform(X)
    with monkeypatch.context() as patch:
        patch.setattr(_system, "solve_dual", None)
        kda.fit(X, y)
    assert_allclose(kda.eigenvalues_, expected[0], rtol=1e-6)
    size = 1e-6 * np.abs(expected[1]).max()
    assert_allclose(kda.transform(X), expected[1], rtol=0, atol=size)
    # Minus the kernel has the same solutions, but no Cholesky factor.
    kda.set_params(kernel=lambda X, Y: -rbf_kernel(X, Y, gamma=0.03)).fit(X, y)
    assert_allclose(kda.transform(X), expected[1], rtol=0, atol=size)


@pytest.mark.parametrize("data", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    ("penalty", "regularization", "solver"),
    [
        ("identity", 0, "eigen"),
        ("kernel", 0, "auto"),
        ("kernel", 1e-11, "eigen"),
        ("kernel", 1e-10, "cholesky"),
        ("kernel", 1e-11, "nystroem"),
    ],
)
def test_linear_kernel_is_lda(data, criterion, penalty, regularization, solver):
    X, y = data(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    kda = KernelDiscriminantAnalysis(
        kernel="linear",
        regularization=regularization,
        penalty=penalty,
        criterion=criterion,
        solver=solver,
        calibration=None,
    )
    Z, expected = kda.fit(X, y).transform(X), lda.transform(X)
    Z = Z - Z.mean(axis=0)
    angles = subspace_angles(Z, expected - expected.mean(axis=0))
    assert angles.max() < 1e-6
    assert_array_equal(kda.predict(X), lda.predict(X))
    assert_allclose(np.abs(Z), np.abs(expected), rtol=0, atol=1e-4)
    assert_allclose(kda.predict_proba(X), lda.predict_proba(X), atol=1e-4)


# Kernels.


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        ("linear", {}),
        ("rbf", {"gamma": 0.1}),
        ("laplacian", {"gamma": 0.1}),
        ("poly", {"gamma": 0.1, "degree": 2, "coef0": 1}),
        ("cosine", {}),
        ("chi2", {"gamma": 0.5}),
    ],
)
@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_precomputed_kernel(digits, kernel, parameters, solver):
    X, y = digits
    X_train, X_test, y = X[:200], X[200:], y[:200]
    settings = {"solver": solver, "n_landmarks": 200, "calibration": None}
    settings["regularization"] = 1e-3  # with all samples as landmarks
    named = KernelDiscriminantAnalysis(kernel=kernel, **parameters, **settings)
    expected = named.fit(X_train, y).transform(X_test)
    K = pairwise_kernels(X_train, metric=kernel, **parameters)
    K_test = pairwise_kernels(X_test, X_train, metric=kernel, **parameters)
    given = KernelDiscriminantAnalysis(kernel="precomputed", **settings).fit(K, y)
    assert_allclose(given.transform(K_test), expected, rtol=0, atol=1e-7)
    assert_array_equal(given.predict(K_test), named.predict(X_test))


def test_callable_kernel(wine):
    X, y = wine

    def kernel(A, B, width):
        return np.exp(-(cdist(A, B) ** 2) / width)

    kda = KernelDiscriminantAnalysis(kernel=partial(kernel, width=20))
    expected = KernelDiscriminantAnalysis(gamma=0.05).fit_transform(X, y)
    assert_allclose(kda.fit_transform(X, y), expected, rtol=1e-7, atol=1e-10)


def test_default_and_scaled_gamma(wine):
    X, y = wine
    X = 3 * X + np.arange(13)
    scaled = KernelDiscriminantAnalysis(gamma="scale").fit(X, y)
    assert scaled.gamma_ == pytest.approx(1 / X.var(axis=0).sum())
    own = KernelDiscriminantAnalysis(gamma=None).fit(X, y)
    same = KernelDiscriminantAnalysis(gamma=1 / X.shape[1]).fit(X, y)
    assert_allclose(own.transform(X), same.transform(X), rtol=1e-10)
