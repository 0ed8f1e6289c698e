"""RotationQuotient: filters of unit norm up to rotations, as points of a sphere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom._filters._basis import orthonormal
from skgeom._filters._optimization import maximize
from skgeom._filters._problem import Problem, Search
from skgeom.objectives._class_distances import DISTANCES
from skgeom.objectives._pairwise import MeanPairwiseDistance
from skgeom.optim._manifolds import Oblique, rotated_to_unit_norm


def classes(rng, n=12, c=4, noise=0.1):
    roots = rng.standard_normal((c, n, 2 * n)) / np.sqrt(np.arange(1, n + 1))[:, None]
    covariances = roots @ roots.mT / (2 * n)
    means = rng.standard_normal((c, n)) / 2
    return MeanPairwiseDistance(means, covariances, noise, DISTANCES["fisher-rao"])


def metric(rng, n=12):
    root = rng.standard_normal((n, 2 * n))
    return root @ root.T / n + 0.1 * np.eye(n)


@pytest.mark.parametrize("shape", [(5, 1), (5, 2), (9, 5), (4, 4)])
@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
def test_rotation_to_unit_norms(shape, spread):
    rng = np.random.default_rng(0)
    filters = rng.standard_normal(shape) * np.exp(
        spread * rng.standard_normal(shape[1])
    )
    rotated = rotated_to_unit_norm(filters)
    assert_allclose(np.linalg.norm(rotated, axis=0), 1, rtol=1e-14)
    # Equal products F F' mean that one is a rotation of the other.
    gram = filters @ filters.T * shape[1] / np.square(filters).sum()
    assert_allclose(rotated @ rotated.T, gram, atol=1e-12)


@pytest.mark.parametrize("complete", [True, False])
def test_an_optimum_is_one_of_filters_of_unit_norm(complete):
    rng = np.random.default_rng(3)
    objective, basis = classes(rng), np.eye(12, 12 if complete else 8)
    start = rng.standard_normal((basis.shape[1], 2))
    covariances = np.eye(12), np.eye(12)
    problem = Problem(objective, *covariances, 0.1, "unit-norm", metric=metric(rng))
    coarse = problem.restrict(orthonormal(basis, complete))
    result, _ = maximize(coarse, [start], Search(tol=1e-12))
    assert_allclose(np.linalg.norm(result.point, axis=0), 1, rtol=1e-12)
    value, gradient = objective(result.point)
    assert value == pytest.approx(-result.cost, rel=1e-12)
    along = Oblique(12, 2).euclidean_to_riemannian_gradient(result.point, gradient)
    assert np.linalg.norm(along) < 1e-4 * np.linalg.norm(gradient)
