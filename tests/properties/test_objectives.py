"""Every distance and objective of filters by its properties, for any condition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skgeom import objectives
from skgeom.objectives import StudentT
from skgeom.objectives._class_distances import DISTANCES, SECOND_MOMENT_DISTANCES
from skgeom.objectives._pairwise import MeanPairwiseDistance

EVERY = {**SECOND_MOMENT_DISTANCES, **DISTANCES, "StudentT": StudentT(3)}
# The others are divergences, or compare each pair in units of its own.
TRIANGLE = {
    "fisher-rao",
    "StudentT",
    "hellinger",
    "wasserstein",
    "affine-invariant",
    "log-euclidean",
    "euclidean",
}


class Problem:
    """Class moments of n features, filters, and samples with labels and weights."""

    def __init__(self, seed, n, power):
        self.arguments = seed, n, power
        self.rng = rng = np.random.default_rng(seed)
        self.n, self.condition = n, 10.0**power
        self.n_classes = int(rng.integers(3, 6))
        vectors = np.linalg.qr(rng.normal(size=(self.n_classes, n, n)))[0]
        # The directions of large and small variance differ from class to class.
        eigenvalues = self.condition ** rng.uniform(-0.5, 0.5, (self.n_classes, 1, n))
        self.covariances = symmetrised((vectors * eigenvalues) @ vectors.mT)
        self.means = rng.normal(size=(self.n_classes, n))
        filters = rng.normal(size=(n, int(rng.integers(1, n + 1))))
        self.filters = filters / np.linalg.norm(filters, axis=0)

    def __repr__(self):
        return f"Problem{self.arguments}"

    def distance_of_classes(self, distance, means=None, covariances=None):
        """Table of the distances of all pairs, both ways round."""
        means = self.means if means is None else means
        covariances = self.covariances if covariances is None else covariances
        i, j = np.indices((len(means), len(means))).reshape(2, -1)
        values, _ = distance(means, covariances).pairs(i, j)
        values = np.sqrt(values) if distance.returns_square else values
        return values.reshape(len(means), -1)

    def mean_distance(self, distance, squared=False):
        return MeanPairwiseDistance(
            self.means, self.covariances, 0.1, distance, squared, None
        )


def symmetrised(A):
    return (A + A.mT) / 2


@st.composite
def problems(draw, powers=(0, 1, 3)):
    seed = draw(st.integers(0, 2**32 - 1))
    return Problem(seed, draw(st.integers(1, 4)), draw(st.sampled_from(powers)))


@pytest.mark.parametrize("name", EVERY)
@given(problem=problems())
def test_distance_is_one(name, problem):
    table = problem.distance_of_classes(EVERY[name])
    atol = 1e-6 * (1 + problem.condition**0.5)  # roots of what rounding leaves
    assert_allclose(np.diag(table), 0, atol=atol)
    assert (table >= 0).all()
    assert_allclose(table, table.T, rtol=1e-7, atol=atol)
    if name in TRIANGLE:
        detours = (table[:, :, None] + table[None]).min(axis=1)
        assert (table <= detours + atol).all()


@pytest.mark.parametrize("name", EVERY)
@given(problem=problems(powers=(6, 9, 12)))
def test_any_condition_gives_numbers(name, problem):
    value, gradient = problem.mean_distance(EVERY[name])(problem.filters)
    assert np.isfinite(value) and np.isfinite(gradient).all()
    table = problem.distance_of_classes(EVERY[name])
    assert np.isfinite(table).all()


def test_every_distance_has_its_properties():
    assert set(objectives.__all__) == {"StudentT"}
    assert TRIANGLE <= set(EVERY) == {*DISTANCES, *SECOND_MOMENT_DISTANCES, "StudentT"}


@pytest.mark.parametrize("name", EVERY)
@given(problem=problems())
def test_invariances_are_those_that_are_declared(name, problem):
    distance = EVERY[name]
    table = problem.distance_of_classes(distance)
    n, rng = problem.n, problem.rng
    rotation = np.linalg.qr(rng.normal(size=(n, n)))[0]
    maps = {
        "translation_invariant": (np.eye(n), rng.normal(size=n)),
        "rotation_invariant": (rotation, np.zeros(n)),
        "affine_invariant": (rotation * 3 ** rng.uniform(-1, 1, size=n), np.zeros(n)),
    }
    for flag, (G, t) in maps.items():
        if getattr(distance, flag):
            moved = problem.distance_of_classes(
                distance,
                problem.means @ G.T + t,
                symmetrised(G @ problem.covariances @ G.T),
            )
            atol = 1e-6 + 1e-12 * problem.condition * table.max()
            assert_allclose(moved, table, rtol=1e-6, atol=atol)
