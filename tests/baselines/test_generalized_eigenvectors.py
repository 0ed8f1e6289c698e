"""Generalized eigenvectors compared with their definition."""

from itertools import permutations

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_digits, load_wine

from skgeom.baselines import GeneralizedEigenvectors


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X / X.std(axis=0), np.array(["barbera", "barolo", "grignolino"])[y]


def moments_of(X, y, regularization):
    for label in np.unique(y):
        moment = X[y == label].T @ X[y == label] / np.sum(y == label)
        noise = regularization * np.trace(moment) / len(moment)
        yield label, (moment, moment + noise * np.eye(len(moment)))


@pytest.mark.parametrize("regularization", [0, 1])
def test_each_pair_equals_scipy(wine, regularization):
    X, y = wine
    model = GeneralizedEigenvectors(regularization=regularization).fit(X, y)
    moments = dict(moments_of(X, y, regularization))
    assert len(model.components_) == 6
    assert (np.diff(model.eigenvalues_) <= 0).all()
    for i, j in permutations(moments, 2):
        (of_pair,) = np.flatnonzero((model.pairs_ == [i, j]).all(axis=1))
        values, vectors = eigh(moments[i][0], moments[j][1])
        assert model.eigenvalues_[of_pair] == pytest.approx(values[-1], rel=1e-8)
        # scipy scales the vectors in the same way, up to the sign.
        np.testing.assert_allclose(
            np.abs(model.components_[of_pair]), np.abs(vectors[:, -1]), atol=1e-7
        )


def test_singular_moment_is_named(wine):
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ValueError, match=r"class 0 is singular.*Increase regularizat"):
        GeneralizedEigenvectors(regularization=0).fit(X, y)
    X = wine[0].copy()
    X[wine[1] == "barolo"] = 0
    with pytest.raises(ValueError, match=r"'barolo' is singular.*values in X are zero"):
        GeneralizedEigenvectors().fit(X, wine[1])
