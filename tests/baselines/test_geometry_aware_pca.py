"""Geometry-aware PCA compared with its definition."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from pyriemann.geometry.mean import mean_riemann
from scipy.linalg import logm, sqrtm, subspace_angles
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skgeom.baselines import GeometryAwarePCA
from skgeom.baselines._geometry_aware_pca import projected_dispersion
from skgeom.geometry import distance_affine_invariant


@pytest.fixture
def matrices(make_spd):
    return make_spd((40,), 6, condition=30)


def dispersion(filters, X, mean):
    """Mean squared distance of reduced matrices from the reduced mean."""
    reduced = filters.T @ X @ filters
    return np.mean(distance_affine_invariant(reduced, filters.T @ mean @ filters) ** 2)


@pytest.mark.parametrize("n_components", [1, 4])
def test_objective_is_the_dispersion_about_the_mean(matrices, n_components):
    model = GeometryAwarePCA(n_components).fit(matrices)
    mean = mean_riemann(matrices, tol=1e-12, maxiter=200)
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-7, atol=1e-9)
    W = model.components_.T
    np.testing.assert_allclose(W.T @ W, np.eye(n_components), atol=1e-12)
    assert model.objective_ == pytest.approx(dispersion(W, matrices, mean), rel=1e-7)
    np.testing.assert_allclose(
        model.transform(matrices), W.T @ matrices @ W, rtol=1e-10, atol=1e-12
    )
    # The basis is that in which the mean is diagonal.
    reduced = W.T @ mean @ W
    np.testing.assert_allclose(reduced, np.diag(np.diag(reduced)), atol=1e-6)
    assert (np.diff(np.diag(reduced)) < 0).all()


def test_more_components_hold_more_of_the_dispersion(matrices):
    reached = [GeometryAwarePCA(m).fit(matrices).objective_ for m in range(1, 7)]
    assert (np.diff(reached) > 0).all()
    mean = mean_riemann(matrices, tol=1e-12, maxiter=200)
    total = np.mean(distance_affine_invariant(matrices, mean) ** 2)
    assert reached[-1] == pytest.approx(total, rel=1e-7)


def test_first_initialization(matrices):
    """A large tolerance stops the optimization at the leading eigenvectors."""
    model = GeometryAwarePCA(2, tol=1e9).fit(matrices)
    inverse_root = np.linalg.inv(sqrtm(model.mean_))
    logarithms = [logm(inverse_root @ X @ inverse_root) for X in matrices]
    _, axes = np.linalg.eigh(np.mean([log @ log for log in logarithms], axis=0))
    span = inverse_root @ axes[:, -2:]
    assert np.sin(subspace_angles(model.components_.T, span)).max() < 1e-6


def test_max_iter_warns(matrices):
    with pytest.warns(ConvergenceWarning, match="max_iter=2 .*Increase max_iter"):
        early = GeometryAwarePCA(2, max_iter=2).fit(matrices)
    assert early.n_iter_ == 2
    assert early.objective_ < GeometryAwarePCA(2).fit(matrices).objective_


def test_linear_maps_move_the_span_alone(matrices, rng):
    mixing = rng.normal(size=(6, 6))
    model = GeometryAwarePCA(2, tol=1e-12).fit(matrices)
    moved = clone(model).fit(mixing @ matrices @ mixing.T)
    assert moved.objective_ == pytest.approx(model.objective_, rel=1e-8)
    expected = np.linalg.solve(mixing.T, model.components_.T)
    assert np.sin(subspace_angles(moved.components_.T, expected)).max() < 1e-3


def test_bad_input_is_named(matrices, rng):
    with pytest.raises(ValueError, match="n_components=7 must not exceed"):
        GeometryAwarePCA(7).fit(matrices)
    with pytest.raises(ValueError, match=r"shape \(n_samples, n, n\).*2 dimensions"):
        GeometryAwarePCA().fit(rng.normal(size=(10, 3)))
    with pytest.raises(ValueError, match="minimum of 2"):
        GeometryAwarePCA().fit(matrices[:1])
    bad = matrices.copy()
    bad[3] = -np.eye(6)
    with pytest.raises(ValueError, match=r"X\[3\] is not positive definite"):
        GeometryAwarePCA().fit(bad)


def test_equal_matrices_do_not_warn(make_spd):
    for matrix in (np.diag([1.0, 2.0, 3.0]), *make_spd((5,), 3)):
        model = GeometryAwarePCA(2).fit(np.tile(matrix, (4, 1, 1)))
        assert model.objective_ == pytest.approx(0, abs=1e-20)
        assert np.isfinite(model.components_).all()


def test_gradient_by_autograd(make_spd, rng):
    matrices, filters = make_spd((7,), 5), np.linalg.qr(rng.normal(size=(5, 2)))[0]

    def value(filters):
        eigenvalues, _ = anp.linalg.eigh(filters.T @ matrices @ filters)
        return anp.sum(anp.log(eigenvalues) ** 2) / len(matrices)

    found, gradient = projected_dispersion(filters, matrices)
    assert found == pytest.approx(value(filters), rel=1e-12)
    np.testing.assert_allclose(gradient, grad(value)(filters), rtol=1e-9, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        projected_dispersion(np.eye(3)[:, :1], np.zeros((1, 3, 3)))
