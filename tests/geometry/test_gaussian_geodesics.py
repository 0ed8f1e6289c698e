"""Exponential map, logarithm and geodesics of Gaussians."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from skgeom.geometry import (
    distance_fisher_rao,
    exp_map_fisher_rao,
    geodesic_fisher_rao,
    log_map_fisher_rao,
)
from skgeom.utils.array_api import to_numpy


def gaussians(rng, *shape, m=3):
    factors = rng.standard_normal((*shape, m, 2 * m))
    return rng.standard_normal((*shape, m)), factors @ factors.mT / m


@pytest.mark.parametrize(("m", "length"), [(2, 9.0), (3, 1e-3), (6, 5.0)])
def test_exponential_map_solves_the_geodesic_equation(m, length, rng):
    """The equations are those of Euler and Lagrange for the metric."""
    (mean, covariance), v = gaussians(rng, m=m), rng.standard_normal(m)
    V = rng.standard_normal((m, m))
    V = V + V.T
    quotient = np.linalg.solve(covariance, V)
    squared = v @ np.linalg.solve(covariance, v) + np.trace(quotient @ quotient) / 2
    v, V = (length / np.sqrt(squared) * vector for vector in (v, V))

    def slope(_, state):
        _, S, v, V = np.split(state, [m, m + m**2, 2 * m + m**2])
        S, V = S.reshape(m, m), V.reshape(m, m)
        product = V @ np.linalg.inv(S)
        acceleration = product @ V - np.outer(v, v)
        return np.concatenate([v, V.ravel(), product @ v, acceleration.ravel()])

    state = np.concatenate([mean, covariance.ravel(), v, V.ravel()])
    end = solve_ivp(slope, (0, 1), state, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    found = exp_map_fisher_rao(mean, covariance, v, V)
    assert_allclose(found[0], end[:m], rtol=1e-8)
    assert_allclose(found[1].ravel(), end[m : m + m**2], rtol=1e-8)
    reached = distance_fisher_rao(mean, covariance, *found)
    assert_allclose(reached, length, rtol=1e-8)


def test_logarithm_is_the_inverse_and_has_the_length_of_the_distance():
    rng = np.random.default_rng(1)
    a, b = gaussians(rng, 20), gaussians(rng, 20)
    v, V = log_map_fisher_rao(*a, *b)
    for found, expected in zip(exp_map_fisher_rao(*a, v, V), b, strict=True):
        assert_allclose(found, expected, atol=1e-8)
    inverse = np.linalg.inv(a[1])
    squares = (v[:, None] @ inverse @ v[..., None])[:, 0, 0]
    squares += np.trace(inverse @ V @ inverse @ V, axis1=1, axis2=2) / 2
    assert_allclose(np.sqrt(squares), distance_fisher_rao(*a, *b), rtol=1e-8)


@pytest.mark.parametrize("m", [1, 4])
def test_points_divide_the_geodesic(m):
    rng = np.random.default_rng(m)
    a, b = gaussians(rng, 5, m=m), gaussians(rng, m=m)
    whole = distance_fisher_rao(*a, *b)
    for t in (0.0, 0.3, 1.0):
        point = geodesic_fisher_rao(*a, *b, t)
        assert_allclose(distance_fisher_rao(*a, *point), t * whole, atol=1e-6)
        assert_allclose(distance_fisher_rao(*point, *b), (1 - t) * whole, atol=1e-6)


def test_vectors_that_are_not_symmetric_are_errors():
    mean, covariance = np.zeros(2), np.eye(2)
    with pytest.raises(ValueError, match="covariance_vectors"):
        exp_map_fisher_rao(mean, covariance, mean, [[0, 1], [0, 0]])


@pytest.mark.parametrize("function", [log_map_fisher_rao, exp_map_fisher_rao])
@pytest.mark.parametrize("number", range(4))
def test_bad_arguments_are_named(function, number):
    arguments = [np.zeros(2), np.eye(2), np.zeros(2), np.eye(2)]
    arguments[number] = np.nan * arguments[number]
    name = list(inspect.signature(function).parameters)[number]
    with pytest.raises(ValueError, match=f"^{name} contains NaN"):
        function(*arguments)


@pytest.mark.parametrize(
    ("v", "V"), [(0.0, 800.0), (0.0, -800.0), (1e3, 0.0), (0.0, 710.0)]
)
def test_vectors_that_leave_the_range_of_floating_point_numbers_are_errors(v, V):
    with pytest.raises(ValueError, match=r"covariance_vectors are too long"):
        exp_map_fisher_rao([0.0], [[1.0]], [v], [[V]])
    with pytest.raises(ValueError, match=r"covariance_vectors are too long"):
        exp_map_fisher_rao([0.0], [[1e300]], [0.0], [[1e302]])


def test_long_vectors_within_the_range_of_floating_point_numbers():
    for length in (700.0, -700.0):
        _, covariance = exp_map_fisher_rao([0.0], [[1.0]], [0.0], [[length]])
        assert_allclose(covariance, np.exp(length), rtol=1e-10)


def test_an_array_of_positions_on_a_geodesic_is_an_error():
    gaussian = [0.0], [[1.0]]
    with pytest.raises(ValueError, match=r"t must be a scalar, .* \(3,\)"):
        geodesic_fisher_rao(*gaussian, *gaussian, [0.0, 0.5, 1.0])


def test_stacks_equal_loops_in_every_precision_and_library(library):
    rng = np.random.default_rng(2)
    a, b = gaussians(rng, 3, 1), gaussians(rng, 2)
    expected = geodesic_fisher_rao(*a, *b, 0.3)
    single = geodesic_fisher_rao(a[0][1, 0], a[1][1, 0], b[0][0], b[1][0], 0.3)
    arrays = [library.array(array.astype(library.dtype)) for array in (*a, *b)]
    found = geodesic_fisher_rao(*arrays, 0.3)
    for i in range(2):
        assert_allclose(expected[i][1, 0], single[i], rtol=1e-12)
        assert library.is_mine(found[i])
        assert found[i].dtype == getattr(library.xp, library.dtype)
        assert_allclose(to_numpy(found[i]), expected[i], rtol=1e-3, atol=1e-3)
