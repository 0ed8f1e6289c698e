"""Distances and means of skgeom.geometry by their properties, for any condition.

Tolerances are in units of rounding: results of well-conditioned problems keep twelve
digits, and an eigenvalue of a matrix of condition number k has a relative error of
about k times 1e-16. A distance of logarithms then has that as absolute error.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skgeom import geometry

SEEDS = st.integers(0, 2**32 - 1)
EPS = np.finfo(float).eps


class Draw:
    """Random points of the spaces, of one order and up to one condition number."""

    def __init__(self, seed, n, power):
        self.rng = np.random.default_rng(seed)
        self.n = n
        self.condition = 10.0**power
        self.arguments = seed, n, power

    def __repr__(self):
        return f"Draw{self.arguments}"

    def rotation(self):
        return np.linalg.qr(self.rng.normal(size=(self.n, self.n)))[0]

    def spectrum(self):
        """Eigenvalues about one, the extreme ones as far apart as allowed."""
        logs = self.rng.uniform(-0.5, 0.5, size=self.n)
        if self.n > 1:
            logs[:2] = -0.5, 0.5
        return self.condition**logs

    def spd(self):
        rotation = self.rotation()
        return symmetrised((rotation * self.spectrum()) @ rotation.T)

    def symmetric(self):
        return symmetrised(self.rng.normal(size=(self.n, self.n)))

    def linear(self):
        """A linear map of condition at most 10."""
        scales = 10 ** self.rng.uniform(-0.5, 0.5, size=self.n)
        return (self.rotation() * scales) @ self.rotation()

    def mean(self):
        return 2 * self.rng.normal(size=self.n)


@st.composite
def draws(draw, most=12.0, n=5):
    return Draw(
        draw(SEEDS), draw(st.integers(1, n)), draw(st.sampled_from([0, 1, most]))
    )


MILD = draws(most=3.0)
ANY = draws(most=12.0)


# Each distance as a function of two points, how to draw one, and the maps of points
# that change no distance, drawn for all points at once.


def congruence(draw):
    G = draw.linear()
    return lambda A: G @ A @ G.T


def inversion(draw):
    return lambda A: symmetrised(np.linalg.inv(A))


def affine(draw):
    G, t = draw.linear(), draw.mean()
    return lambda point: (G @ point[0] + t, G @ point[1] @ G.T)


def diagonal(draw):
    scale, t = np.exp(draw.rng.normal(size=draw.n)), draw.mean()
    order = draw.rng.permutation(draw.n)
    return lambda point: ((scale * point[0] + t)[order], (scale**2 * point[1])[order])


def symmetrised(A):
    return (A + A.mT) / 2


def gaussian(draw):
    return draw.mean(), draw.spd()


def equal_covariance(points_a, points_b):
    """Of two Gaussians, with the covariance of the identity in their own units."""
    return geometry.distance_fisher_rao_equal_covariance(
        points_a[0], points_b[0], points_a[1]
    )


def of_one_covariance(draw):
    shared = draw.spd()
    return lambda: (draw.mean(), shared)


DISTANCES = {
    "distance_affine_invariant": (
        geometry.distance_affine_invariant,
        lambda draw: draw.spd,
        [congruence, inversion],
    ),
    "distance_calvo_oller": (
        lambda a, b: geometry.distance_calvo_oller(*a, *b),
        lambda draw: lambda: gaussian(draw),
        [affine],
    ),
    "distance_fisher_rao": (
        lambda a, b: geometry.distance_fisher_rao(*a, *b),
        lambda draw: lambda: gaussian(draw),
        [affine],
    ),
    "distance_fisher_rao_diagonal": (
        lambda a, b: geometry.distance_fisher_rao_diagonal(*a, *b),
        lambda draw: lambda: (draw.mean(), draw.spectrum()),
        [diagonal],
    ),
    "distance_fisher_rao_equal_covariance": (
        equal_covariance,
        of_one_covariance,
        [affine],
    ),
}


def tolerance(draw):
    return 1e-10 + 100 * draw.n * EPS * draw.condition


def points_of(name, draw, count):
    _, maker, _ = DISTANCES[name]
    make = maker(draw)
    return [make() for _ in range(count)]


@pytest.mark.parametrize("name", DISTANCES)
@given(draw=MILD)
def test_distance_is_one(name, draw):
    """Zero for equal points, else positive; symmetric; of three points, a triangle."""
    distance = DISTANCES[name][0]
    a, b, c = points_of(name, draw, 3)
    atol = tolerance(draw)
    ab, bc, ac = distance(a, b), distance(b, c), distance(a, c)
    assert_allclose(distance(a, a), 0, atol=atol)
    assert min(ab, bc, ac) >= 0
    assume(draw.condition > 1 or "affine" not in name)  # all are the identity
    assert ab > 0
    assert_allclose(distance(b, a), ab, rtol=1e-8, atol=atol)
    assert ac <= ab + bc + 1e-8 + atol


@pytest.mark.parametrize(
    "name, invariance",
    [(name, maps) for name in DISTANCES for maps in DISTANCES[name][2]],
)
@given(draw=MILD)
def test_invariance(name, invariance, draw):
    distance = DISTANCES[name][0]
    a, b = points_of(name, draw, 2)
    change = invariance(draw)
    moved = distance(*(symmetric_point(change(point)) for point in (a, b)))
    assert_allclose(moved, distance(a, b), rtol=1e-7, atol=1e3 * tolerance(draw))


def symmetric_point(point):
    if isinstance(point, tuple):
        mean, spread = point
        return (mean, symmetrised(spread)) if spread.ndim == 2 else point
    return symmetrised(point)


@pytest.mark.filterwarnings(
    "ignore:.*:sklearn.exceptions.ConvergenceWarning"  # says how exact the result is
)
@pytest.mark.parametrize("name", DISTANCES)
@given(draw=ANY, power=st.sampled_from([-100, -8, 0, 8, 100]))
def test_distance_of_any_condition_and_scale_is_a_number(name, draw, power):
    """Of units of any size too: a common factor changes no distance."""
    distance = DISTANCES[name][0]
    a, b = points_of(name, draw, 2)
    factor = 2.0**power

    def scaled(point):
        if isinstance(point, tuple):
            return factor * point[0], factor**2 * point[1]
        return factor * point

    value = distance(a, b)
    assert np.isfinite(value) and value >= 0
    assert_allclose(distance(scaled(a), scaled(b)), value, rtol=1e-6, atol=1e-6)


# What defines each function.


def check_embedding(draw):
    mean, covariance = gaussian(draw)
    embedded = geometry.calvo_oller_embedding(mean, covariance)
    assert_close(embedded[:-1, :-1] - np.outer(mean, mean), covariance, 1e-12)
    assert_close(embedded[:-1, -1], mean)
    G = np.eye(draw.n + 1)
    G[:-1, :-1], G[:-1, -1] = draw.linear(), draw.mean()
    moved = geometry.calvo_oller_embedding(
        G[:-1, :-1] @ mean + G[:-1, -1],
        symmetrised(G[:-1, :-1] @ covariance @ G[:-1, :-1].T),
    )
    assert_close(moved, G @ embedded @ G.T, 1e-12)


def check_mean(draw):
    matrices = np.array([draw.spd() for _ in range(4)])
    weights = draw.rng.integers(1, 4, size=4)
    mean = geometry.mean_affine_invariant(matrices, weights)
    rtol = 1e-8 + 10 * tolerance(draw)
    assert_close(geometry.mean_affine_invariant(np.repeat(matrices, weights, 0)), mean)
    order = draw.rng.permutation(4)
    again = geometry.mean_affine_invariant(matrices[order], 7 * weights[order])
    assert_close(again, mean, rtol)
    G = draw.linear()
    found = geometry.mean_affine_invariant(symmetrised(G @ matrices @ G.T), weights)
    assert_close(found, G @ mean @ G.T, rtol)
    inverses = symmetrised(np.linalg.inv(matrices))
    found = geometry.mean_affine_invariant(inverses, weights)
    assert_close(found @ mean, np.eye(draw.n), rtol * draw.condition)


def assert_close(found, expected, rtol=1e-10, unit=0.0):
    """Compare matrices relative to their largest entry, or the unit if that is less."""
    size = max(np.abs(expected).max(), unit)
    assert_allclose(found, expected, rtol=0, atol=rtol * size)


@pytest.mark.parametrize("check", [check_embedding, check_mean])
@given(draw=MILD)
def test_what_defines_it(check, draw):
    check(draw)


@given(draw=MILD)
def test_distances_of_gaussians_agree_where_they_must(draw):
    """Bounds, equal means and independent variables."""
    (mean_a, cov_a), (mean_b, cov_b) = gaussian(draw), gaussian(draw)
    bound = geometry.distance_calvo_oller(mean_a, cov_a, mean_b, cov_b)
    exact = geometry.distance_fisher_rao(mean_a, cov_a, mean_b, cov_b)
    atol = 1e-7 + tolerance(draw)
    assert bound <= exact + atol
    matrices = geometry.distance_affine_invariant(cov_a, cov_b) / np.sqrt(2)
    same = geometry.distance_fisher_rao(mean_a, cov_a, mean_a, cov_b)
    assert_allclose(same, matrices, rtol=1e-7, atol=atol)
    a, b = draw.spectrum(), draw.spectrum()
    apart = geometry.distance_fisher_rao_diagonal(mean_a, a, mean_b, b)
    full = geometry.distance_fisher_rao(mean_a, np.diag(a), mean_b, np.diag(b))
    assert full <= apart + atol + 1e-7 * apart


def test_every_distance_has_its_properties():
    names = {name for name in geometry.__all__ if name.startswith("distance_")}
    assert set(DISTANCES) == names
