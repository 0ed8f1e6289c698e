"""Dispersion of projected matrices, and its gradient."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad

from skgeom.baselines._geometry_aware_pca import ProjectedDispersion
from skgeom.geometry import distance_affine_invariant


@pytest.fixture
def filters(rng):
    return np.linalg.qr(rng.normal(size=(5, 2)))[0]


def test_value_is_the_mean_squared_distance_from_the_identity(make_spd, filters):
    matrices = make_spd((7,), 5)
    reduced = filters.T @ matrices @ filters
    expected = np.mean(distance_affine_invariant(reduced, np.eye(2)) ** 2)
    assert ProjectedDispersion(matrices)(filters)[0] == pytest.approx(expected)


def test_gradient_by_autograd(make_spd, filters):
    """The eigenvalues of 2 x 2 matrices are written out, for autograd."""
    matrices = make_spd((7,), 5)

    def value(filters):
        total = 0.0
        for matrix in matrices:
            reduced = anp.dot(filters.T, anp.dot(matrix, filters))
            half = (reduced[0, 0] + reduced[1, 1]) / 2
            determinant = reduced[0, 0] * reduced[1, 1] - reduced[0, 1] * reduced[1, 0]
            root = anp.sqrt(half**2 - determinant)
            total = total + anp.log(half + root) ** 2 + anp.log(half - root) ** 2
        return total / len(matrices)

    objective = ProjectedDispersion(matrices)
    assert objective(filters)[0] == pytest.approx(value(filters), rel=1e-12)
    np.testing.assert_allclose(
        objective(filters)[1], grad(value)(filters), rtol=1e-9, atol=1e-12
    )


def test_gradient_by_central_differences(make_spd, rng):
    matrices = make_spd((4,), 6, condition=100)
    objective = ProjectedDispersion(matrices)
    filters, step = np.linalg.qr(rng.normal(size=(6, 4)))[0], 1e-6
    direction = rng.normal(size=(6, 4))
    ahead, behind = (objective(filters + s * direction)[0] for s in (step, -step))
    slope = np.sum(objective(filters)[1] * direction)
    assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-7)


def test_singular_matrix():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ProjectedDispersion(np.zeros((1, 3, 3)))(np.eye(3)[:, :1])
