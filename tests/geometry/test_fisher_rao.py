"""Fisher-Rao distances against closed forms, geodesic equations and other software."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from skgeom.geometry import (
    _fisher_rao,
    distance_calvo_oller,
    distance_fisher_rao,
    distance_fisher_rao_diagonal,
    distance_fisher_rao_equal_covariance,
)
from skgeom.geometry._fibres import shortest_on_fibres, squared_distance_gradients

# Far Gaussians have upper bounds of their distances only, which is a warning.
UPPER_BOUND = pytest.mark.filterwarnings(
    "ignore:.*Beyond 11.7 it is an upper bound:sklearn.exceptions.ConvergenceWarning"
)

# Numbers of dimensions, conditions of the covariances and sizes of the means.
KINDS = [(1, 10.0, 1.0), (2, 1e3, 1.0), (5, 1e3, 3.0), (9, 10.0, 1.0)]


@pytest.fixture(params=KINDS, ids=str)
def gaussians(request, make_gaussians):
    """Six Gaussians: means, covariances."""
    m, condition, size = request.param
    means, covariances = make_gaussians((6,), m, condition)
    return size * means, covariances


def all_pairs(distance, *parameters, **options):
    """Table of the distances from each element to each."""
    first = [array[:, None] for array in parameters]
    second = [array[None] for array in parameters]
    return distance(*first, *second, **options)


def between(distance, means, spreads):
    """Distances between the first and the second half of the Gaussians."""
    return distance(means[0], spreads[0], means[1], spreads[1])


def jeffreys(means_a, covariances_a, means_b, covariances_b):
    """Jeffreys divergence, the sum of both Kullback-Leibler divergences."""
    inverse_a, inverse_b = np.linalg.inv(covariances_a), np.linalg.inv(covariances_b)
    offset = means_b - means_a
    traces = np.trace(
        inverse_a @ covariances_b + inverse_b @ covariances_a, axis1=-2, axis2=-1
    )
    spread = np.einsum("...i,...ij,...j", offset, inverse_a + inverse_b, offset)
    return (traces + spread) / 2 - means_a.shape[-1]


# Closed forms


def test_one_dimension_is_a_hyperbolic_plane(rng):
    """The metric is (dmu^2 + 2 dsigma^2) / sigma^2."""
    means = rng.normal(size=(2, 200)) * np.logspace(-6, 3, 200)
    sigmas = np.exp(2 * rng.normal(size=(2, 200)))
    squared = (means[0] - means[1]) ** 2 / 2 + (sigmas[0] - sigmas[1]) ** 2
    expected = np.sqrt(2) * np.arccosh(1 + squared / (2 * sigmas[0] * sigmas[1]))
    means, variances = means[..., None], sigmas[..., None] ** 2
    planes = between(distance_fisher_rao_diagonal, means, variances)
    assert_allclose(planes, expected, rtol=1e-9)
    covariances = variances[..., None]
    calculated = between(distance_fisher_rao, means, covariances)
    assert_allclose(calculated, planes, rtol=1e-11)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_equal_covariances(size, rng, make_spd):
    covariance = make_spd((), 4)
    mean, offset = rng.normal(size=(2, 4))
    squared = size**2 * offset @ np.linalg.solve(covariance, offset)
    expected = np.sqrt(2) * np.log1p(
        squared / 4 + np.sqrt(squared / 2 + squared**2 / 16)
    )
    pair = mean, mean + size * offset
    closed = distance_fisher_rao_equal_covariance(*pair, covariance)
    assert_allclose(closed, expected, rtol=1e-9)
    calculated = distance_fisher_rao(pair[0], covariance, pair[1], covariance)
    assert_allclose(calculated, closed, rtol=1e-11)
    bound = distance_calvo_oller(pair[0], covariance, pair[1], covariance)
    assert bound < calculated or size < 1e-3


def test_means_that_differ_in_one_of_the_independent_variables(rng):
    """A reflection of the other variables fixes these Gaussians and their geodesic."""
    variances = np.exp(rng.normal(size=(2, 50, 5)))
    means = np.zeros((2, 50, 5))
    means[1, :, 2] = 3 * rng.normal(size=50)
    expected = between(distance_fisher_rao_diagonal, means, variances)
    covariances = variances[..., None] * np.eye(5)
    calculated = between(distance_fisher_rao, means, covariances)
    assert_allclose(calculated, expected, rtol=1e-12)


# General position


def geodesic(mean_velocity, velocity, time):
    """Where a geodesic from the standard Gaussian arrives, by integration.

    The equations are those of Euler and Lagrange for the metric.
    """
    m = len(mean_velocity)

    def unpack(state):
        parts = np.split(state, [m, 2 * m, 2 * m + m * m])
        return *parts[:2], *(part.reshape(m, m) for part in parts[2:])

    def derivative(_, state):
        _, mean_velocity, covariance, velocity = unpack(state)
        quotient = velocity @ np.linalg.inv(covariance)
        outer = np.outer(mean_velocity, mean_velocity)
        parts = mean_velocity, quotient @ mean_velocity, velocity
        return np.concatenate(
            [np.ravel(p) for p in (*parts, quotient @ velocity - outer)]
        )

    start = np.zeros(m), mean_velocity, np.eye(m), velocity
    start = np.concatenate([np.ravel(part) for part in start])
    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    mean, _, covariance, _ = unpack(
        solve_ivp(derivative, (0, time), start, **options).y[:, -1]
    )
    return mean, (covariance + covariance.T) / 2


@pytest.mark.parametrize(("m", "length"), [(2, 9.0), (3, 1e-3), (6, 5.0)])
def test_length_of_an_integrated_geodesic(m, length, rng, make_symmetric):
    mean_velocity, velocity = rng.normal(size=m), make_symmetric((), m)
    speed = np.sqrt(mean_velocity @ mean_velocity + np.trace(velocity @ velocity) / 2)
    mean, covariance = geodesic(mean_velocity / speed, velocity / speed, length)
    calculated = distance_fisher_rao(np.zeros(m), np.eye(m), mean, covariance)
    assert_allclose(calculated, length, rtol=1e-8)


def least_distance_of_fibres(offset, scale):
    """The distance for m = 2, by a scan of the one fibre coordinate.

    Factors of the matrices of order 5, their logarithms from the singular values.
    """

    def length(coordinate):
        lower = np.eye(5)
        lower[2, :2], lower[3:, 2] = offset, -offset
        lower[3:, :2] = -np.outer(offset, offset) / 2
        lower[3, 1] += coordinate
        lower[4, 0] -= coordinate
        factor = lower * np.concatenate([1 / scale, [1], scale])
        logs = 2 * np.log(np.linalg.svd(factor, compute_uv=False)[:2])
        return np.sqrt((logs**2).sum() / 2)

    extent = 1 + np.abs(np.prod(offset))
    grid = extent * np.sinh(np.linspace(-8, 8, 2001)) / np.sinh(8)
    lengths = [length(coordinate) for coordinate in grid]
    brackets = [
        (grid[k - 1], grid[k + 1])
        for k in range(1, len(grid) - 1)
        if lengths[k] < lengths[k - 1] and lengths[k] <= lengths[k + 1]
    ]
    minima = [
        minimize_scalar(length, bounds=bracket, method="bounded").fun
        for bracket in brackets
    ]
    return sorted(minima)


def test_distance_is_the_least_of_fibres(rng):
    for _ in range(2):
        offset, scale = rng.normal(size=2) * 3, np.exp(rng.normal(size=2))
        (expected,) = least_distance_of_fibres(offset, scale)
        calculated = distance_fisher_rao(
            np.zeros(2), np.eye(2), offset, np.diag(scale**2)
        )
        assert_allclose(calculated, expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("offset", "scale"), [((-10.0, 50.0), (4e-4, 2.4)), ((310.0, 60.0), (50.0, 0.02))]
)
@UPPER_BOUND
def test_shorter_of_two_geodesics(offset, scale):
    """The searches from the two starts find one geodesic each."""
    offset, scale = np.array(offset), np.array(scale)
    shorter, longer = least_distance_of_fibres(offset, scale)
    assert longer - shorter > 0.01
    calculated = distance_fisher_rao(np.zeros(2), np.eye(2), offset, np.diag(scale**2))
    assert_allclose(calculated, shorter, rtol=1e-8)


@UPPER_BOUND
@pytest.mark.parametrize(
    ("m", "n_pairs"),
    [(3, 20), pytest.param(6, 20, marks=pytest.mark.exhaustive)],
)
def test_far_distances_do_not_depend_on_the_order(m, n_pairs):
    """Several geodesics join such Gaussians; each end alone misses some short ones."""

    def gaussians():
        axes, _ = np.linalg.qr(rng.normal(size=(n_pairs, m, m)))
        logs = rng.uniform(-0.5, 0.5, size=(n_pairs, m)) * np.log(1e6)
        covariances = (axes * np.exp(logs)[:, None]) @ axes.mT
        means = 30 * rng.normal(size=(n_pairs, m))
        return means, (covariances + covariances.mT) / 2

    rng = np.random.default_rng(7)
    a, b = gaussians(), gaussians()
    forth = distance_fisher_rao(*a, *b, return_bounds=True)
    back = distance_fisher_rao(*b, *a, return_bounds=True)
    assert (forth[0] > 11.7).mean() > 0.5
    assert_allclose(forth[0], back[0], rtol=1e-7)
    assert (np.maximum(forth[1], back[1]) <= np.minimum(forth[2], back[2])).all()


@pytest.mark.parametrize("size", [1.0, 30.0])
@UPPER_BOUND
def test_slopes_of_squared_distances_are_differences(size, rng, make_symmetric):
    """Far Gaussians are searched from both ends, in coordinates of each."""
    offsets = size * rng.normal(size=(20, 3))
    scales = np.exp(np.log(1 + size) * rng.uniform(-1, 1, size=(20, 3)))
    found, fibres = shortest_on_fibres(offsets, scales, 1e-12)
    assert (found[0] > 11.7).any() == (size > 1)

    of_offset, of_covariance = squared_distance_gradients(offsets, scales, fibres)
    step = 1e-5 * scales * rng.normal(size=(20, 3))
    spread = 1e-5 * scales[:, :, None] * make_symmetric((20,), 3) * scales[:, None]
    slopes = (of_offset * step).sum(axis=-1), (of_covariance * spread).sum((-2, -1))
    covariances = scales[:, :, None] ** 2 * np.eye(3)
    for slope, there in zip(slopes, [(step, 0), (0, spread)], strict=True):
        ends = [
            distance_fisher_rao(
                np.zeros(3),
                np.eye(3),
                offsets + sign * there[0],
                covariances + sign * there[1],
                tol=1e-10,
            )
            for sign in (1, -1)
        ]
        assert_allclose(slope, (ends[0] ** 2 - ends[1] ** 2) / 2, rtol=1e-5, atol=1e-10)


# Properties of a distance


# Bounds and tolerance


def test_bounds_refine_those_in_closed_form(gaussians):
    distances, lower, upper = all_pairs(
        distance_fisher_rao, *gaussians, return_bounds=True
    )
    assert (all_pairs(distance_calvo_oller, *gaussians) <= lower + 1e-11).all()
    assert (lower <= distances).all()
    assert (distances <= upper).all()
    assert (upper - lower <= 1e-6)[distances < 10].all()
    others = ~np.eye(6, dtype=bool)
    divergences = all_pairs(jeffreys, *gaussians)
    assert (upper[others] < np.sqrt(divergences[others])).all()


@pytest.mark.parametrize("mahalanobis", [0.1, 30.0, 1e6])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bounds_hold_the_closed_form(mahalanobis):
    mean = np.zeros(3), mahalanobis * np.array([0.6, 0, 0.8])
    exact = distance_fisher_rao_equal_covariance(*mean, np.eye(3))
    distance, lower, upper = distance_fisher_rao(
        mean[0], np.eye(3), mean[1], np.eye(3), return_bounds=True
    )
    assert lower - 1e-14 * exact <= exact <= upper
    assert_allclose(lower, exact, rtol=1e-7)
    assert_allclose(distance, exact, rtol=1e-7)


@pytest.mark.parametrize("tol", [1e-2])
def test_tolerance_is_kept(tol, make_gaussians):
    means, covariances = make_gaussians((8,), 6, 100.0)
    exact = all_pairs(distance_fisher_rao, means, covariances, tol=1e-10)
    rough = all_pairs(distance_fisher_rao, means, covariances, tol=tol)
    assert (np.abs(rough - exact) <= tol * np.maximum(1, exact)).all()


def test_tolerance_that_rounding_does_not_allow_warns():
    pair = np.zeros(2), np.eye(2), np.array([1e6, 2e6]), np.diag([1.0, 3.0])
    with pytest.warns(ConvergenceWarning, match=r"1 of 1 .* miss tol=1e-08.* return_b"):
        distance = distance_fisher_rao(*pair)
    assert distance_fisher_rao(*pair, tol=1e-2) == distance


def test_search_that_does_not_end_warns(monkeypatch, make_gaussians):
    means, covariances = make_gaussians((4,), 5, 1e3)
    exact = all_pairs(distance_fisher_rao, means, covariances)
    monkeypatch.setattr("skgeom.geometry._fibres.MAX_ITERATIONS", 1)
    with pytest.warns(ConvergenceWarning, match="12 of 16 Fisher-Rao distances miss"):
        distances, lower, upper = all_pairs(
            distance_fisher_rao, means, covariances, return_bounds=True
        )
    assert ((lower <= exact + 1e-12) & (exact <= upper)).all()
    assert (distances > exact + 1e-4).any()


@pytest.mark.parametrize("tol", [0, np.nan, "a", [1e-3, 1e-4]])
def test_tolerance_must_be_positive(tol):
    with pytest.raises(ValueError, match="tol must be a positive number, got"):
        distance_fisher_rao([0], [[1]], [1], [[1]], tol=tol)


def test_gaussians_beyond_floating_point_are_refused():
    with pytest.raises(
        ValueError, match=r"means_b or covariances_b are too far .*1e\+90"
    ):
        distance_fisher_rao([0, 0], np.eye(2), [1e90, 0], np.eye(2))


@pytest.mark.parametrize("condition", [1e6, 1e9])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_brackets_of_nearly_singular_gaussians_meet(condition, rng):
    """The whitening of a Gaussian costs digits, which the bracket must allow for."""
    spectrum = np.array([1, condition**-0.5, 1 / condition])
    for _ in range(5):
        axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        covariance = (axes * spectrum) @ axes.T
        a = np.zeros(3), (covariance + covariance.T) / 2
        b = np.zeros(3), 4 * np.eye(3)
        forth = distance_fisher_rao(*a, *b, return_bounds=True)
        back = distance_fisher_rao(*b, *a, return_bounds=True)
        assert max(forth[1], back[1]) <= min(forth[2], back[2])
        exact = np.linalg.norm(np.log(spectrum / 4)) / np.sqrt(2)
        assert forth[1] <= exact <= forth[2]


def test_bounds_of_float32_are_rounded_outward(make_gaussians):
    means, covariances = (a.astype(np.float32) for a in make_gaussians((8,), 3))
    single = all_pairs(distance_fisher_rao, means, covariances, return_bounds=True)
    arrays = means.astype(np.float64), covariances.astype(np.float64)
    double = all_pairs(distance_fisher_rao, *arrays, return_bounds=True)
    assert single.dtype == np.float32
    assert (single[1] <= double[1]).all()
    assert (single[2] >= double[2]).all()
    assert_allclose(single, double, rtol=3e-7, atol=1e-12)


# Stacks


def test_table_of_pairs_equals_single_pairs(make_gaussians, monkeypatch):
    means, covariances = make_gaussians((5,), 3)
    table = all_pairs(distance_fisher_rao, means, covariances, return_bounds=True)
    monkeypatch.setattr(_fisher_rao, "ENTRIES_AT_ONCE", 4 * 9)  # four pairs at once
    pieces = all_pairs(distance_fisher_rao, means, covariances, return_bounds=True)
    assert table.shape == pieces.shape == (3, 5, 5)
    assert_allclose(pieces, table, rtol=1e-7, atol=1e-12)
    for i, j in np.ndindex(5, 5):
        single = distance_fisher_rao(means[i], covariances[i], means[j], covariances[j])
        assert np.ndim(single) == 0 and not isinstance(single, np.ndarray)
        assert_allclose(table[0, i, j], single, rtol=1e-12, atol=1e-14)


# Other software


def test_pybregman_agrees_unless_its_curve_is_no_geodesic():
    """Figures of pyBregMan 0.1.1, GaussianFisherRaoDistance with eps=1e-3.

    It adds up bounds along a curve, so that its distances, to eps, are lengths of paths
    and never too short. It was run with numpy 1.26 on random pairs for each m from 2 to
    9: covariances A A' / 2m with normal A of shape (m, 2m); three pairs with equal
    means, three with means at Mahalanobis distance 0.3 and three with normal means.

    Its curve is not the geodesic where means differ: in one dimension it gives 1.8954
    for N(0, 1) and N(2, 1), whose distance is sqrt(2) arcosh(2) = 1.8625. The general
    pairs can hence be compared from one side only.
    """
    fixture = np.load(Path(__file__).with_name("fisher_rao_pybregman.npz"))
    for m in range(2, 10):
        means, covariances = fixture[f"means_{m}"], fixture[f"covariances_{m}"]
        distances = between(distance_fisher_rao, means, covariances)
        ratios = fixture[f"distances_{m}"] / distances
        assert (ratios >= 1).all()
        assert (ratios[:6] <= 1.0011).all()
        assert (ratios[6:] <= 1.06).all()
