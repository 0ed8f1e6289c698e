"""Local Fisher discriminant analysis against its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh, subspace_angles
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from skgeom.baselines import LocalFisherDiscriminantAnalysis as LFDA


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return (X / X.std(axis=0))[:160], y[:160]


def literal_scatters(X, y, n_neighbors):
    """The matrices within and between, as sums over all pairs of samples."""
    n, offsets, same = len(X), X[:, None] - X, y[:, None] == y
    distances, counts = np.linalg.norm(offsets, axis=2), same.sum(axis=1)
    of_class = np.sort(np.where(same, distances, np.inf), axis=1)
    scale = of_class[np.arange(n), np.minimum(n_neighbors, counts - 1)]
    affinity = np.exp(-(distances**2) / np.outer(scale, scale))
    of_within = np.where(same, affinity / counts, 0)
    of_between = np.where(same, affinity * (1 / n - 1 / counts), 1 / n)
    return [
        np.einsum("ij,ijk,ijl->kl", weights, offsets, offsets) / 2
        for weights in (of_within, of_between)
    ]


@pytest.mark.parametrize("n_neighbors", [1, 7, 1000])
def test_components_are_those_of_the_sums_over_pairs(wine, n_neighbors):
    X, y = wine
    within, between = literal_scatters(X, y, n_neighbors)
    values, vectors = eigh(between, within)
    values, vectors = values[::-1][:6], vectors[:, ::-1][:, :6].T
    model = LFDA(6, n_neighbors=n_neighbors, embedding="plain").fit(X + 100, y)
    assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    assert_allclose(np.abs(model.components_), np.abs(vectors), rtol=1e-5, atol=1e-7)
    assert_allclose(
        model.components_ @ within @ model.components_.T, np.eye(6), atol=1e-8
    )


def test_embeddings(wine):
    plain = LFDA(4, embedding="plain").fit(*wine)
    weighted = LFDA(4).fit(*wine)
    ratios = weighted.components_ / plain.components_
    assert_allclose(
        ratios, np.sqrt(plain.eigenvalues_)[:, None] * np.ones(13), rtol=1e-8
    )
    orthonormal = LFDA(4, embedding="orthonormalized").fit(*wine).components_
    assert_allclose(orthonormal @ orthonormal.T, np.eye(4), atol=1e-12)
    for k in range(1, 5):
        angles = subspace_angles(orthonormal[:k].T, plain.components_[:k].T)
        assert np.sin(angles).max() < 1e-9


def test_affinity_of_one_is_linear_discriminant_analysis(wine):
    X, y = wine
    model = LFDA(3, n_neighbors=None, embedding="plain").fit(X, y)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    of_lda = lda.scalings_[:, :2]
    assert np.sin(subspace_angles(model.components_[:2].T, of_lda)).max() < 1e-7
    # Further components of LDA have a ratio of zero; those of LFDA do not.
    assert abs(model.eigenvalues_[2]) < 1e-9 * model.eigenvalues_[0]
    assert LFDA(3).fit(X, y).eigenvalues_[2] > 0.1


def test_classes_far_apart(rng):
    """Of the matrix between, all but the distance of the means is negligible."""
    y = np.repeat([0, 1], [30, 50])
    X = rng.normal(size=(80, 3))
    for k in range(2):
        X[y == k] -= X[y == k].mean(axis=0)
    within, _ = literal_scatters(X, y, 7)
    offset = 1e5 * np.array([1.0, 2.0, -2.0]) / 3
    direction = np.linalg.solve(within, offset)
    model = LFDA(1, embedding="orthonormalized").fit(X + np.outer(y, offset), y)
    expected = 30 * 50 / 80 * offset @ direction
    assert model.eigenvalues_[0] == pytest.approx(expected, rel=1e-8)
    cosine = model.components_[0] @ direction / np.linalg.norm(direction)
    assert np.arccos(min(abs(cosine), 1)) < 1e-7
    with pytest.raises(ValueError, match="classes a million times their"):
        LFDA(1).fit(X + np.outer(y, 1e3 * offset), y)


def test_singular_matrix_within_needs_regularization(rng):
    X, y = rng.normal(size=(12, 20)), np.arange(12) % 2
    with pytest.raises(ValueError, match="Set regularization"):
        LFDA().fit(X, y)
    assert LFDA(regularization=0.1).fit(X, y).components_.shape == (2, 20)
    with pytest.raises(ValueError, match="varies in only 20 directions"):
        LFDA(30, regularization=0.1).fit(X, y)
