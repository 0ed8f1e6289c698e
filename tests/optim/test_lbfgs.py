"""RiemannianLBFGS on problems whose solution is known, and at its limits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymanopt
import pytest
from numpy.testing import assert_allclose
from pymanopt.manifolds import Euclidean, Oblique, Sphere

from skgeom.optim import RiemannianLBFGS

NO_LIMITS = {
    "min_gradient_norm": 0,
    "min_step_size": 0,
    "max_iterations": 10**6,
    "max_cost_evaluations": 10**6,
}


@dataclass
class Known:
    """A problem with a known solution; cost and gradient as pymanopt expects them."""

    manifold: Any
    cost: Any
    gradient: Any
    start: Any
    least_cost: float
    solution: Any


@pytest.fixture
def known():
    """Columns of unit norm that are as close as possible to given ones."""
    rng, shape = np.random.default_rng(0), (10, 6)
    target = rng.standard_normal(shape) * np.logspace(0, 1.5, 6)
    norms = np.linalg.norm(target, axis=0)
    start = rng.standard_normal(shape)
    return Known(
        Oblique(*shape),
        lambda f: ((f - target) ** 2).sum() / 2,
        lambda f: f - target,
        start / np.linalg.norm(start, axis=0),
        ((norms - 1) ** 2).sum() / 2,
        target / norms,
    )


class Counted:
    """A pymanopt problem that counts its calls and the points it was asked for."""

    def __init__(self, manifold, cost, gradient):
        self.points = set()
        self.n_costs = self.n_gradients = 0

        @pymanopt.function.numpy(manifold)
        def counted_cost(point):
            self.n_costs += 1
            self.points.add(point.tobytes())
            return cost(point)

        @pymanopt.function.numpy(manifold)
        def counted_gradient(point):
            self.n_gradients += 1
            self.points.add(point.tobytes())
            return gradient(point)

        self.problem = pymanopt.Problem(
            manifold, counted_cost, euclidean_gradient=counted_gradient
        )

    @classmethod
    def of(cls, known):
        return cls(known.manifold, known.cost, known.gradient)

    def run(self, optimizer, start):
        return optimizer.run(self.problem, initial_point=start)


def quadratic(scales):
    scales = np.asarray(scales)
    return Counted(
        Euclidean(len(scales)),
        lambda x: (scales * x**2).sum() / 2,
        lambda x: scales * x,
    )


def test_optimum_and_honest_counts(known):
    counted = Counted.of(known)
    result = counted.run(RiemannianLBFGS(min_gradient_norm=1e-8), known.start)
    assert_allclose(result.cost, known.least_cost, rtol=1e-8)
    scale = np.abs(known.solution).max()
    assert_allclose(result.point, known.solution, rtol=0, atol=1e-6 * scale)
    assert result.cost == known.cost(result.point)
    assert result.cost_evaluations == counted.n_costs == len(counted.points)
    assert counted.n_gradients == result.iterations + 1


@pytest.mark.parametrize("offset", [1e-8, 1e-3])
def test_leaves_a_saddle(offset):
    matrix = np.diag([1.0, 2, 3, 4])
    manifold = Sphere(4)
    counted = Counted(manifold, lambda x: -x @ matrix @ x, lambda x: -2 * matrix @ x)
    start = np.array([1.0, 0, offset, offset])
    start /= np.linalg.norm(start)
    result = counted.run(RiemannianLBFGS(min_gradient_norm=1e-10), start)
    assert_allclose(result.cost, -4, rtol=1e-10)


def test_ends_at_the_rounding_floor(known):
    result = Counted.of(known).run(RiemannianLBFGS(**NO_LIMITS), known.start)
    assert result.iterations < 200
    # Few of them are wasted on steps whose effect nobody can see.
    assert result.cost_evaluations < 1.5 * result.iterations + 5
    assert_allclose(result.cost, known.least_cost, rtol=1e-11)
    # Which of the two it is, is a matter of chance.
    assert result.stopping_criterion in (
        "Terminated - cost and gradient have reached the rounding floor.",
        "Terminated - no step along the gradient lowers the cost.",
    )


@pytest.mark.parametrize(
    ("limit", "value", "attribute"),
    [
        ("max_iterations", 0, "iterations"),
        ("max_iterations", 4, "iterations"),
        ("max_cost_evaluations", 1, "cost_evaluations"),
        ("max_time", 0, "iterations"),
    ],
)
def test_limits(limit, value, attribute):
    counted = quadratic(np.logspace(0, 3, 20))
    result = counted.run(RiemannianLBFGS(**{limit: value}), np.ones(20))
    assert getattr(result, attribute) == value
    assert "max" in result.stopping_criterion


def test_global_random_state(known):
    before = np.random.get_state()  # noqa: NPY002
    Counted.of(known).run(RiemannianLBFGS(), known.start)
    assert str(np.random.get_state()) == str(before)  # noqa: NPY002
    result = RiemannianLBFGS().run(Counted.of(known).problem)
    assert_allclose(result.cost, known.least_cost, rtol=1e-8)
    assert str(np.random.get_state()) != str(before)  # noqa: NPY002
