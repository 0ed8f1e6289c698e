"""RotationQuotient: filters of unit norm up to rotations, as points of a sphere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom.objectives import DISTANCES, SECOND_MOMENT_DISTANCES, MeanPairwiseDistance
from skgeom.optim import maximize_on_samples
from skgeom.optim._manifolds import Oblique, RotationQuotient, rotated_to_unit_norm


def classes(rng, n=12, c=4, noise=0.1, distance="fisher-rao"):
    roots = rng.standard_normal((c, n, 2 * n)) / np.sqrt(np.arange(1, n + 1))[:, None]
    covariances = roots @ roots.mT / (2 * n)
    means = rng.standard_normal((c, n)) / 2
    all_distances = {**SECOND_MOMENT_DISTANCES, **DISTANCES}
    return MeanPairwiseDistance(means, covariances, noise, all_distances[distance])


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


def test_unit_norms_stay_as_they_are():
    filters = np.random.default_rng(0).standard_normal((6, 3))
    filters /= np.linalg.norm(filters, axis=0)
    assert_allclose(rotated_to_unit_norm(2 * filters), filters, rtol=1e-14)
    orthonormal = np.linalg.qr(filters)[0]
    assert_allclose(rotated_to_unit_norm(orthonormal), orthonormal, atol=1e-14)


def test_points_and_filters():
    rng = np.random.default_rng(0)
    space = RotationQuotient(12, 3, metric=metric(rng))
    filters = rng.standard_normal((12, 3))
    point = space.point_of(filters)
    assert np.linalg.norm(point) == pytest.approx(1)
    scale = np.sqrt(3) / np.linalg.norm(filters)
    assert_allclose(space.filters_of(point), scale * filters, rtol=1e-10)


def test_aligned_filters_are_a_rotation_close_to_given_ones():
    rng = np.random.default_rng(0)
    filters = rng.standard_normal((12, 3))
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    space = RotationQuotient(12, 3, metric=metric(rng))
    assert_allclose(space.aligned(filters @ rotation, filters), filters, atol=1e-12)


def test_gradient_at_points():
    rng = np.random.default_rng(1)
    space = RotationQuotient(12, 3, metric=metric(rng))
    objective = classes(rng)
    point, direction = rng.standard_normal((2, 12, 3))
    point /= np.linalg.norm(point)
    _, of_filters = objective(space.filters_of(point))
    gradient = space.euclidean_to_riemannian_gradient(point, of_filters)
    step = 1e-5
    up, down = (
        objective(space.filters_of(point + t * direction))[0] for t in (step, -step)
    )
    assert np.vdot(gradient, direction) == pytest.approx(
        (up - down) / (2 * step), rel=1e-7
    )
    # The norm of a point is free.
    assert abs(np.vdot(gradient, point)) < 1e-12 * np.linalg.norm(gradient)


@pytest.mark.parametrize("distance", sorted({*DISTANCES, *SECOND_MOMENT_DISTANCES}))
def test_distances_that_no_rotation_changes(distance):
    rng = np.random.default_rng(2)
    objective = classes(rng, distance=distance)
    filters = rng.standard_normal((12, 3))
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert objective.rotation_invariant
    value, gradient = objective(filters)
    rotated_value, rotated_gradient = objective(filters @ rotation)
    assert rotated_value == pytest.approx(value, rel=1e-10)
    assert_allclose(rotated_gradient, gradient @ rotation, atol=1e-9)


@pytest.mark.parametrize("complete", [True, False])
def test_an_optimum_is_one_of_filters_of_unit_norm(complete):
    rng = np.random.default_rng(3)
    objective, basis = classes(rng), np.eye(12, 12 if complete else 8)
    start = rng.standard_normal((basis.shape[1], 2))
    options = {"complete": complete, "constraint": "unit-norm", "tol": 1e-12}
    result, _ = maximize_on_samples(
        objective, [start], basis, metric=metric(rng), **options
    )
    assert_allclose(np.linalg.norm(result.point, axis=0), 1, rtol=1e-12)
    value, gradient = objective(result.point)
    assert value == pytest.approx(-result.cost, rel=1e-12)
    along = Oblique(12, 2).euclidean_to_riemannian_gradient(result.point, gradient)
    assert np.linalg.norm(along) < 1e-4 * np.linalg.norm(gradient)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_single_precision(unit):
    rng = np.random.default_rng(4)
    exact = classes(rng)
    moments = exact.classes
    objective = MeanPairwiseDistance(
        unit * moments.means,
        unit**2 * moments.covariances,
        unit**2 * moments.regularization,
        exact.distance,
    )
    filters = rng.standard_normal((12, 3))
    single = objective.in_single_precision()
    assert single is not objective
    value, gradient = objective(filters)
    single_value, single_gradient = single(filters)
    assert single_value != value
    assert single_value == pytest.approx(value, rel=1e-5)
    assert single_gradient.dtype == np.float64
    assert_allclose(single_gradient, gradient, atol=1e-4 * np.abs(gradient).max())
    # Projections as well.
    basis = rng.standard_normal((12, 6))
    projected = single.project(basis)
    assert projected(filters[:6])[0] == pytest.approx(
        objective(basis @ filters[:6])[0], rel=1e-5
    )


def test_no_single_precision_without_noise_to_hide_it():
    objective = classes(np.random.default_rng(5), noise=1e-9)
    assert objective.in_single_precision() is objective
