"""Supervised PCA and LOL against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import orth, subspace_angles
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

from skgeom.baselines import LOL, SupervisedPCA


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[:150] / X.std(axis=0), y[:150]  # classes of different sizes


def literal_supervised_pca(X, y):
    """Eigenvalues and eigenvectors of X'HKHX, with matrices of all samples."""
    kernel = (y[:, None] == y).astype(float)
    H = np.eye(len(y)) - 1 / len(y)
    values, vectors = np.linalg.eigh(X.T @ H @ kernel @ H @ X)
    return values[::-1], vectors[:, ::-1]


@pytest.mark.parametrize("offset", [0, 1e4])
def test_supervised_pca_is_that_of_the_label_kernel(wine, offset):
    X, y = wine
    X = X + offset
    values, vectors = literal_supervised_pca(X, y)
    model = SupervisedPCA().fit(X, y)
    assert model.components_.shape == (2, 13)
    assert_allclose(model.eigenvalues_, values[:2], rtol=1e-7)
    cosines = np.sum(model.components_.T * vectors[:, :2], axis=0)
    assert_allclose(np.abs(cosines), 1, atol=1e-9)
    # There are no others.
    assert_allclose(values[2:] / values[0], 0, atol=1e-6)


def test_supervised_pca_has_one_component_less_than_classes(wine):
    X, y = wine
    with pytest.raises(ValueError, match=r"means of the 3 classes differ in 2 dir"):
        SupervisedPCA(n_components=3).fit(X, y)


def within(X, y):
    return np.concatenate([X[y == k] - X[y == k].mean(axis=0) for k in np.unique(y)])


@pytest.mark.parametrize("tall", [True, False])
def test_lol_of_two_classes_by_hand(wine, tall):
    X, y = wine
    X, y = X[y < 2], y[y < 2]
    if not tall:
        X, y = X[::13], y[::13]
        assert len(X) < X.shape[1]
    model = LOL(4).fit(X, y)
    difference = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    leading = PCA(3).fit(within(X, y)).components_
    expected, _ = np.linalg.qr(np.column_stack([difference, *leading]))
    products = np.abs(model.components_ @ expected)
    assert_allclose(products, np.eye(4), atol=1e-8)
    assert model.n_mean_directions_ == 1


def test_lol_of_several_classes_has_the_span_of_differences_and_directions(wine):
    X, y = wine
    model = LOL(5).fit(X, y)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    leading = PCA(3).fit(within(X, y)).components_
    span = orth(np.vstack([means[1:] - means[0], leading]).T)
    assert np.sin(subspace_angles(model.components_.T, span)).max() < 1e-8
    assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-12)
    of_means = orth((means[1:] - means[0]).T)
    assert np.sin(subspace_angles(model.components_[:2].T, of_means)).max() < 1e-8
    assert model.n_mean_directions_ == 2
    # The first alone is the one along which the means vary the most.
    first = LOL(1).fit(X, y)
    repeated = np.repeat(means, np.bincount(y), axis=0)
    assert abs(first.components_[0] @ PCA(1).fit(repeated).components_[0]) > 1 - 1e-9


def test_lol_passes_over_directions_that_add_nothing(rng):
    """The leading direction within the classes is that of the mean difference."""
    y = np.repeat([0, 1], 4)
    within_class = np.array([[3, 0, 0], [-3, 0, 0], [0, 1, 0], [0, -1, 0.0]])
    X = np.tile(within_class, (2, 1))
    X[y == 1, 0] += 5
    model = LOL(2).fit(X, y)
    assert_allclose(model.components_, np.eye(3)[:2], atol=1e-12)
    with pytest.raises(ValueError, match="span only 2 directions"):
        LOL(3).fit(X, y)
