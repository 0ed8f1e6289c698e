"""What L-BFGS remembers: directions beside those of explicit matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom.optim import _manifolds
from skgeom.optim._curvature import CarriedPairs, ProjectedPairs, remembered_pairs

MANIFOLDS = [
    _manifolds.Euclidean(7),
    _manifolds.Euclidean(4, 2),
    _manifolds.Sphere(8),
    _manifolds.Sphere(5, 3),
    _manifolds.Oblique(6, 3),
    _manifolds.Stiefel(6, 2),
]
manifolds = pytest.mark.parametrize(
    "manifold", MANIFOLDS, ids=lambda m: type(m).__name__
)
kinds = pytest.mark.parametrize("kind", [CarriedPairs, ProjectedPairs])


class Walk:
    """Short random steps around the least point of a quadratic cost."""

    def __init__(self, manifold, rng, length=0.1):
        self.manifold, self.rng, self.length = manifold, rng, length
        # A point is what a retraction gives.
        zero = np.zeros(manifold.shape)
        self.least = manifold.retraction(zero, rng.standard_normal(manifold.shape))
        self.point = self.least
        self.scales = rng.uniform(1, 5, manifold.shape)

    def gradient(self, point):
        return self.manifold.projection(point, self.scales * (point - self.least))

    def step(self):
        """(point, new point, step, gradient, new gradient)."""
        before, manifold = self.point, self.manifold
        random = self.rng.standard_normal(manifold.shape)
        step = manifold.projection(before, self.length * random)
        self.point = manifold.retraction(before, step)
        return (
            before,
            self.point,
            step,
            self.gradient(before),
            self.gradient(self.point),
        )


def inverse_hessian(pairs):
    """The matrix of BFGS after some pairs (s, y), from a multiple of the identity."""
    s, y = pairs[-1]
    identity = np.eye(s.size)
    matrix = (s @ y) / (y @ y) * identity
    for s, y in pairs:
        shear = identity - np.outer(s, y) / (s @ y)
        matrix = shear @ matrix @ shear.T + np.outer(s, s) / (s @ y)
    return matrix


@manifolds
@pytest.mark.parametrize(("memory", "n_steps"), [(4, 1), (4, 3), (4, 9), (12, 29)])
def test_directions_are_those_of_projected_pairs(manifold, memory, n_steps, rng):
    walk = Walk(manifold, rng, length=0.03)
    pairs, made = ProjectedPairs(manifold, memory), []
    for _ in range(n_steps):
        taken = walk.step()
        pairs.add(*taken)
        _, _, step, gradient, new_gradient = taken
        made.append((step, new_gradient - gradient))
    point, gradient = walk.point, walk.gradient(walk.point)
    projected = [
        tuple(manifold.projection(point, v).ravel() for v in pair)
        for pair in made[-memory:]
    ]
    expected = -inverse_hessian(projected) @ gradient.ravel()
    found = pairs.direction(point, gradient)
    assert_allclose(found.ravel(), expected, rtol=1e-9, atol=1e-11)
    assert_allclose(manifold.projection(point, found), found, atol=1e-12)


@manifolds
def test_directions_of_carried_pairs(manifold, rng):
    walk = Walk(manifold, rng)
    pairs, carried = CarriedPairs(manifold, 3), []
    for _ in range(5):
        taken = walk.step()
        pairs.add(*taken)
        _, new_point, step, gradient, new_gradient = taken
        carried = [*carried, (step, new_gradient - gradient)]
        carried = [
            tuple(manifold.projection(new_point, v) for v in pair) for pair in carried
        ]
    gradient = walk.gradient(walk.point)
    flat = [(s.ravel(), y.ravel()) for s, y in carried[-3:]]
    expected = -inverse_hessian(flat) @ gradient.ravel()
    assert_allclose(
        pairs.direction(walk.point, gradient).ravel(), expected, rtol=1e-9, atol=1e-11
    )


@kinds
def test_memory_is_limited(kind, rng):
    walk = Walk(_manifolds.Sphere(6), rng)
    for memory in (0, 1, 3):
        pairs = kind(walk.manifold, memory)
        for _ in range(5):
            pairs.add(*walk.step())
            assert len(pairs) <= memory
        assert len(pairs) == memory
        gradient = walk.gradient(walk.point)
        assert (pairs.direction(walk.point, gradient) is None) == (memory == 0)


@kinds
def test_pairs_without_curvature_are_not_kept(kind, rng):
    manifold = _manifolds.Euclidean(3)
    pairs = kind(manifold, 2)
    point, gradient, step = np.zeros(3), np.ones(3), np.eye(3)[0]
    for change in (0.0, -1.0, np.nan, np.inf):
        changed = np.array([1 + change, 1, 1])
        pairs.add(point, point + step, step, gradient, changed)
        assert len(pairs) == 0
    pairs.add(point, point + step, step, gradient, gradient + step)
    assert len(pairs) == 1
    pairs.clear()
    assert len(pairs) == 0 and pairs.direction(point, gradient) is None


def test_a_pair_that_loses_its_curvature_is_left_out():
    # At the pole that its step leads to, it is normal.
    manifold = _manifolds.Sphere(3)
    pairs = ProjectedPairs(manifold, 2)
    point, step = np.eye(3)[0], 1e-3 * np.eye(3)[1]
    near = manifold.retraction(point, step)
    pairs.add(point, near, step, np.zeros(3), manifold.projection(near, step))
    assert len(pairs) == 1
    pole = np.eye(3)[1]
    assert pairs.direction(near, manifold.projection(near, np.ones(3))) is not None
    gradient = np.array([0.0, 0.0, 1.0])
    assert pairs.direction(pole, gradient) is None


def test_clearing_begins_anew(rng):
    walk = Walk(_manifolds.Sphere(6), rng)
    pairs = ProjectedPairs(walk.manifold, 3)
    for _ in range(4):
        pairs.add(*walk.step())
    pairs.clear()
    taken = walk.step()
    pairs.add(*taken)
    alone = ProjectedPairs(walk.manifold, 3)
    alone.add(*taken)
    gradient = walk.gradient(walk.point)
    assert_allclose(
        pairs.direction(walk.point, gradient),
        alone.direction(walk.point, gradient),
        rtol=1e-14,
    )


def test_which_manifold_has_which():
    sphere = _manifolds.Sphere(3)
    assert isinstance(remembered_pairs(sphere, 2), ProjectedPairs)
    assert isinstance(remembered_pairs(sphere, 2, preconditioned=True), CarriedPairs)
    curved = _manifolds.AffineInvariant(1, 3, 3)
    assert isinstance(remembered_pairs(curved, 2), CarriedPairs)
