"""The choice of landmarks of kernel discriminant analysis."""

import numpy as np
import pytest

from skgeom import KernelDiscriminantAnalysis

KDA = KernelDiscriminantAnalysis


def test_automatic_solver(wine, monkeypatch):
    """Exact for up to 10,000 samples."""
    kda = KDA()
    assert kda._chosen_solver(10_000) == "cholesky"
    assert kda._chosen_solver(10_001) == "nystroem"
    X, y = wine
    monkeypatch.setattr("skgeom._kernel.discriminant.MAX_EXACT", 100)
    assert kda.fit(X, y).solver_ == "nystroem"
    with pytest.raises(ValueError, match="positive with solver='nystroem'"):
        KDA(regularization=0).fit(X, y)
    with pytest.raises(ValueError, match="of solver='nystroem', is no kernel"):
        KDA(kernel="sigmoid", gamma=0.5, coef0=-1, regularization=1).fit(X, y)


@pytest.mark.parametrize("parameters", [{"coef0": -3}, {"degree": 0.5}])
def test_polynomials_that_are_not_definite(wine, parameters):
    X, y = wine
    X = np.abs(X)
    kda = KDA(kernel="poly", gamma=0.1, penalty="kernel")
    with pytest.raises(ValueError, match="negative eigenvalue"):
        kda.set_params(**{"degree": 2, **parameters}).fit(X, y)
