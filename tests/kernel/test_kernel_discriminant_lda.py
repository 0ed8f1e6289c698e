"""A linear kernel is linear discriminant analysis, compared with published figures."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

from skgeom import KernelDiscriminantAnalysis

CRITERIA = ["total", "between"]


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
        temperature=1,
    )
    Z, expected = kda.fit(X, y).transform(X), lda.transform(X)
    Z = Z - Z.mean(axis=0)
    angles = subspace_angles(Z, expected - expected.mean(axis=0))
    assert angles.max() < 1e-6
    np.testing.assert_array_equal(kda.predict(X), lda.predict(X))
    np.testing.assert_allclose(np.abs(Z), np.abs(expected), rtol=0, atol=1e-4)
    np.testing.assert_allclose(kda.predict_proba(X), lda.predict_proba(X), atol=1e-4)
