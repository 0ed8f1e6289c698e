"""Fisher-Rao distances against closed forms, and their bounds and tolerance."""

import re

import numpy as np
import pytest
from comparisons import all_pairs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skgeom.geometry import (
    _fisher_rao,
    distance_calvo_oller,
    distance_fisher_rao,
    distance_fisher_rao_diagonal,
    distance_fisher_rao_equal_covariance,
)

# Numbers of dimensions, conditions of the covariances and sizes of the means.
KINDS = [(1, 10.0, 1.0), (2, 1e3, 1.0), (5, 1e3, 3.0), (9, 10.0, 1.0)]


@pytest.fixture(params=KINDS, ids=str)
def gaussians(request, make_gaussians):
    """Six Gaussians: means, covariances."""
    m, condition, size = request.param
    means, covariances = make_gaussians((6,), m, condition)
    return size * means, covariances


def between(distance, means, spreads):
    """Distances between the first and the second half of the Gaussians."""
    return distance(means[0], spreads[0], means[1], spreads[1])


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


# Bounds and tolerance


def test_bounds_refine_those_in_closed_form(gaussians):
    distances, lower, upper = all_pairs(
        distance_fisher_rao, *gaussians, return_bounds=True
    )
    assert (all_pairs(distance_calvo_oller, *gaussians) <= lower + 1e-11).all()
    assert (lower <= distances).all()
    assert (distances <= upper).all()
    assert (upper - lower <= 1e-6)[distances < 10].all()


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


def test_tolerance_is_kept(make_gaussians):
    means, covariances = make_gaussians((8,), 6, 100.0)
    exact = all_pairs(distance_fisher_rao, means, covariances, tol=1e-10)
    rough = all_pairs(distance_fisher_rao, means, covariances, tol=1e-2)
    assert (np.abs(rough - exact) <= 1e-2 * np.maximum(1, exact)).all()


def test_tolerance_that_rounding_does_not_allow_warns():
    pair = np.zeros(2), np.eye(2), np.array([1e6, 2e6]), np.diag([1.0, 3.0])
    with pytest.warns(ConvergenceWarning, match=r"1 of 1 .* miss tol=1e-08.* return_b"):
        distance = distance_fisher_rao(*pair)
    assert distance_fisher_rao(*pair, tol=1e-2) == distance
    near = np.zeros(2), np.eye(2), np.array([0.1, 0.2]), np.diag([1.0, 1.1])
    with pytest.warns(ConvergenceWarning, match="Rounding limits the acc") as record:
        distance_fisher_rao(*near, tol=1e-16)
    error = float(re.search(r"may be (\S+)\. ", str(record[0].message))[1])
    with pytest.warns(ConvergenceWarning, match="Rounding limits the accuracy"):
        distance_fisher_rao(*near, tol=0.7 * error)
    distance_fisher_rao(*near, tol=1.4 * error)  # a warning would be an error


@pytest.mark.parametrize("tol", [0, np.nan, "a", [1e-3, 1e-4]])
def test_tolerance_must_be_positive(tol):
    with pytest.raises(ValueError, match="tol must be a positive number, got"):
        distance_fisher_rao([0], [[1]], [1], [[1]], tol=tol)


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
    first, second = zip(means[:2], covariances[:2], strict=True)
    one = distance_fisher_rao(*first, *second, return_bounds=True)
    assert_array_equal(one, np.stack(single)[:, 0, 1])


def test_far_distance_is_said_to_be_an_upper_bound(monkeypatch):
    pair = [0, 0], np.eye(2), [43, 690], np.diag([4.57e-3, 67.9]) ** 2
    with pytest.warns(ConvergenceWarning, match=r"Beyond 11.7 it is an upper bound"):
        distance, lower, _ = distance_fisher_rao(*pair, return_bounds=True)
        other_way = distance_fisher_rao(*pair[2:], *pair[:2])
        monkeypatch.setattr(_fisher_rao, "INJECTIVITY_RADIUS", distance)
    with pytest.warns(ConvergenceWarning, match="Rounding limits"):  # not beyond it
        distance_fisher_rao(*pair)
    # This lower bound is larger than the distance of the marginals.
    assert lower == pytest.approx(distance_calvo_oller(*pair), rel=1e-12)
    assert other_way == pytest.approx(distance)
    # The triangle inequality excludes a second geodesic, which is longer.
    middle = [43, 21], [[4.3, 3.2], [3.2, 3500]]
    halves = (
        distance_fisher_rao(*pair[:2], *middle),
        distance_fisher_rao(*middle, *pair[2:]),
    )
    assert lower + 0.1 < distance <= sum(halves)


def test_gaussians_beyond_floating_point_are_refused():
    with pytest.raises(ValueError, match=r"covariances_b are too far .*1e\+90"):
        distance_fisher_rao([0, 0], np.eye(2), [1e90, 0], np.eye(2))
    with pytest.raises(ValueError, match="are too far"):
        distance_fisher_rao([0], [[1]], [1e20], [[1e-60]])
    far = distance_fisher_rao([0], [[1]], [1e40], [[1]])  # within the limit
    assert far == pytest.approx(np.sqrt(2) * np.arccosh(1e80 / 4))


def test_units_of_the_variables_cost_no_accuracy(make_gaussians):
    """No warning, which would be an error here."""
    means, covariances = make_gaussians((2,), 3)
    units = 10.0 ** np.array([-8, 0, 8])
    expected = between(distance_fisher_rao, means, covariances)
    scaled = units * means, units[:, None] * covariances * units
    assert_allclose(between(distance_fisher_rao, *scaled), expected, rtol=1e-9)
