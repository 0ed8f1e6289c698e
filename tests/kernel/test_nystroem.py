"""The choice of landmarks of kernel discriminant analysis."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from skgeom import KernelDiscriminantAnalysis

KDA = KernelDiscriminantAnalysis


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_automatic_solver(wine, monkeypatch):
    """Exact for up to 10,000 samples; errors beyond tell why there are landmarks."""
    kda = KDA()
    assert kda._chosen_solver(10_000) == "cholesky"
    assert kda._chosen_solver(10_001) == "nystroem"
    X, y = wine
    monkeypatch.setattr("skgeom._kernel.discriminant.MAX_EXACT", 100)
    assert kda.fit(X, y).solver_ == "nystroem"
    automatic = "solver='nystroem', which 'auto' is for more than 100 samples"
    with pytest.raises(ValueError, match=f"positive with {automatic}"):
        KDA(regularization=0).fit(X, y)
    with pytest.raises(ValueError, match=f"landmarks, of {automatic}, is no kernel"):
        KDA(kernel="sigmoid", gamma=0.5, coef0=-1, regularization=1).fit(X, y)


@pytest.mark.parametrize("parameters", [{"coef0": -3}, {"degree": 0.5}])
def test_polynomials_that_are_not_definite(wine, parameters):
    X, y = wine
    X = np.abs(X)
    kda = KDA(kernel="poly", gamma=0.1, penalty="kernel")
    with pytest.raises(ValueError, match="negative eigenvalue"):
        kda.set_params(**{"degree": 2, **parameters}).fit(X, y)
