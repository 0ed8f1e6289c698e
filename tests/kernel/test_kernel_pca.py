"""Kernel principal components by landmarks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from skgeom import LandmarkKernelPCA


@pytest.mark.parametrize(
    "kernel", [{}, {"kernel": "linear"}, {"kernel": "poly", "degree": 2, "gamma": 0.1}]
)
@pytest.mark.parametrize("scale", [1, 100])
def test_all_samples_as_landmarks_give_kernel_pca(digits, kernel, scale):
    X = digits[0] * scale
    ours = LandmarkKernelPCA(None, n_landmarks=400, **kernel).fit(X[:300])
    reference = {"kernel": "rbf", "gamma": ours.gamma_, "coef0": 1} | kernel
    theirs = KernelPCA(5, eigen_solver="dense", **reference).fit(X[:300])
    assert_allclose(ours.eigenvalues_[:5], theirs.eigenvalues_ / 300, rtol=1e-8)
    Z, expected = ours.transform(X)[:, :5], theirs.transform(X)
    assert_allclose(np.abs(Z), np.abs(expected), atol=1e-7 * np.abs(expected).max())


def test_inner_products_are_those_of_the_projected_kernel(digits):
    """Unit norm of the features is unit norm in the feature space."""
    X = digits[0]
    pca = LandmarkKernelPCA(None, n_landmarks=40, random_state=0).fit(X)
    columns = rbf_kernel(X, pca.landmarks_, gamma=pca.gamma_)
    own = rbf_kernel(pca.landmarks_, gamma=pca.gamma_)
    projected = columns @ np.linalg.solve(own, columns.T)
    center = np.eye(len(X)) - 1 / len(X)
    Z = pca.transform(X)
    assert_allclose(center @ Z @ Z.T @ center, center @ projected @ center, atol=1e-9)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_step_of_a_regression_pipeline(digits, n_targets):
    """A pipeline passes y, which is ignored."""
    X, targets = digits[0][:200], digits[0][:200, 20 : 20 + n_targets] / 3
    pca = LandmarkKernelPCA(10, n_landmarks=30, random_state=0)
    model = make_pipeline(pca, Ridge()).fit(X, targets.squeeze())
    expected = clone(pca).fit(X)
    assert_array_equal(model[0].landmarks_, expected.landmarks_)
    assert model.score(X, targets.squeeze()) > 0.5


def test_preimages_are_maxima(digits, rng):
    X = digits[0]
    pca = LandmarkKernelPCA(30, n_landmarks=100, random_state=0).fit(X)
    filters = rng.normal(size=(4, 30))
    found = pca.preimages(filters)
    assert_array_equal(pca.set_params(gamma=9.0).preimages(filters), found)
    pca.set_params(gamma="scale")
    assert found.shape == (4, 64)

    def values(inputs):
        return np.einsum("fi,fi->f", filters, pca.transform(inputs))

    best = values(found)
    assert (best >= (pca.transform(X) @ filters.T).max(axis=0) - 1e-9).all()
    scale = np.abs(best).max()
    for direction in rng.normal(size=(10, 4, 64)):
        step = 1e-3 * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        slope = (values(found + step) - values(found - step)) / 2e-3
        assert np.abs(slope).max() < 2e-3 * scale


def test_errors(digits):
    X = digits[0]
    with pytest.raises(ValueError, match="only for kernel='rbf', not for 'linear'"):
        LandmarkKernelPCA(2, kernel="linear").fit(X).preimages(np.ones((1, 2)))
    with pytest.raises(ValueError, match="must have 2 columns"):
        LandmarkKernelPCA(2).fit(X).preimages(np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"kernel matrix of the landmarks is zero"):
        LandmarkKernelPCA(2, kernel="linear").fit(np.zeros((9, 2)))
    for kernel in ("sigmoid", "additive_chi2", lambda A, B: -A @ B.T):
        with pytest.raises(ValueError, match=r"negative eigenvalue.*different kernel"):
            LandmarkKernelPCA(2, kernel=kernel).fit(X / 16)
    # Negative eigenvalues that are rounding errors of single precision.
    kernel = lambda A, B: (np.float32(A) @ np.float32(B).T + 1) ** 3  # noqa: E731
    LandmarkKernelPCA(2, kernel=kernel).fit(X[:20, 20:22] * 16 / 7)
    with pytest.warns(UserWarning, match="nearly diagonal"):
        LandmarkKernelPCA(2, gamma=1e4).fit(X)


def test_axes_of_some_of_the_samples(digits, monkeypatch):
    X = digits[0]
    exact = LandmarkKernelPCA(5, n_landmarks=50, random_state=0).fit(X)
    monkeypatch.setattr("skgeom._kernel.kernel_pca._LEAST_SAMPLES", 200)
    some = LandmarkKernelPCA(5, n_landmarks=50, random_state=0).fit(X)
    assert_allclose(some.eigenvalues_, exact.eigenvalues_, rtol=0.2)
    assert not np.array_equal(some.eigenvalues_, exact.eigenvalues_)


def test_more_components_than_there_are(digits):
    X = digits[0]
    pca = LandmarkKernelPCA(500, n_landmarks=20, random_state=0).fit(X)
    assert pca.transform(X).shape == (len(X), 20)
    assert len(pca.get_feature_names_out()) == 20
