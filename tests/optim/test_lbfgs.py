"""RiemannianLBFGS on problems whose solution is known, and at its limits."""

from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np
import pymanopt
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pymanopt.manifolds import (
    Euclidean,
    Oblique,
    Product,
    Sphere,
    Stiefel,
    SymmetricPositiveDefinite,
)
from pyriemann.geometry.mean import mean_riemann

from skgeom.geometry import logm, whiten
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
    invariant: Any = lambda point: point  # what the solution determines of a point


def dominant_subspace(rng, n=20, p=3):
    axes = np.linalg.qr(rng.standard_normal((n, n)))[0]
    eigenvalues = 1 / np.arange(1, n + 1)
    matrix = (axes * eigenvalues) @ axes.T
    return Known(
        Stiefel(n, p),
        lambda f: -np.sum(f * (matrix @ f)),
        lambda f: -2 * matrix @ f,
        np.linalg.qr(rng.standard_normal((n, p)))[0],
        -np.linalg.eigvalsh(matrix)[-p:].sum(),
        axes[:, :p] @ axes[:, :p].T,
        lambda f: f @ f.T,
    )


def unit_columns(rng, n=10, m=6):
    target = rng.standard_normal((n, m)) * np.logspace(0, 1.5, m)
    norms = np.linalg.norm(target, axis=0)
    start = rng.standard_normal((n, m))
    return Known(
        Oblique(n, m),
        lambda f: ((f - target) ** 2).sum() / 2,
        lambda f: f - target,
        start / np.linalg.norm(start, axis=0),
        ((norms - 1) ** 2).sum() / 2,
        target / norms,
    )


def karcher_mean(rng, n=5, k=6):
    axes = np.linalg.qr(rng.standard_normal((k, n, n)))[0]
    matrices = (axes * np.exp(2 * rng.standard_normal((k, 1, n)))) @ axes.mT

    def cost(p):
        return (logm(whiten(matrices, p)) ** 2).sum() / 2 / k

    def gradient(p):
        inverse = np.linalg.inv(np.linalg.cholesky(p))
        return -inverse.T @ logm(whiten(matrices, p)).mean(axis=0) @ inverse

    mean = mean_riemann(matrices, tol=1e-13, maxiter=500)
    manifold = SymmetricPositiveDefinite(n)
    return Known(manifold, cost, gradient, np.eye(n), cost(mean), mean)


def rank_one(rng, m=12, n=8):
    matrix = rng.standard_normal((m, n))
    left, values, right = np.linalg.svd(matrix)
    start = rng.standard_normal(m)

    def gradient(u, v):
        residual = np.outer(u, v) - matrix
        return [residual @ v, residual.T @ u]

    return Known(
        Product([Sphere(m), Euclidean(n)]),
        lambda u, v: ((np.outer(u, v) - matrix) ** 2).sum() / 2,
        gradient,
        [start / np.linalg.norm(start), rng.standard_normal(n)],
        (values[1:] ** 2).sum() / 2,
        values[0] * np.outer(left[:, 0], right[0]),
        lambda point: np.outer(*point),
    )


def minor_gaussian(rng, n=10, p=2):
    """Orthonormal filters and the covariance of what they see, of least entropy."""
    matrix = np.diag(np.arange(1.0, n + 1))

    def gradient(f, s):
        inverse = np.linalg.inv(s)
        seen = f.T @ matrix @ f
        return [2 * matrix @ f @ inverse, inverse - inverse @ seen @ inverse]

    return Known(
        Product([Stiefel(n, p), SymmetricPositiveDefinite(p)]),
        lambda f, s: (
            anp.log(anp.linalg.det(s)) + anp.trace(anp.linalg.inv(s) @ f.T @ matrix @ f)
        ),
        gradient,
        [np.linalg.qr(rng.standard_normal((n, p)))[0], np.eye(p)],
        np.log(np.diag(matrix)[:p]).sum() + p,
        np.diag(np.diag(matrix) * (np.arange(n) < p)),
        lambda point: point[0] @ point[1] @ point[0].T,
    )


KNOWN = [dominant_subspace, unit_columns, karcher_mean, rank_one, minor_gaussian]


@pytest.fixture(params=KNOWN, ids=lambda make: make.__name__)
def known(request):
    return request.param(np.random.default_rng(0))


def arrays(point):
    """The arrays of a point or vector, also of a product."""
    return point if isinstance(point, list) else [point]


class GoalReached(Exception):
    """Raised when a cost is as low as asked for."""


class Counted:
    """A pymanopt problem that counts its calls and the points it was asked for."""

    def __init__(self, manifold, cost, gradient, goal=-np.inf):
        self.goal = goal
        self.points = set()
        self.iterates = []
        self.n_costs = self.n_gradients = 0

        @pymanopt.function.numpy(manifold)
        def counted_cost(*point):
            self.n_costs += 1
            self.points.add(b"".join(array.tobytes() for array in point))
            value = cost(*point)
            if value <= self.goal:
                raise GoalReached
            return value

        @pymanopt.function.numpy(manifold)
        def counted_gradient(*point):
            self.n_gradients += 1
            self.iterates.append(point[0])
            self.points.add(b"".join(array.tobytes() for array in point))
            return gradient(*point)

        self.problem = pymanopt.Problem(
            manifold, counted_cost, euclidean_gradient=counted_gradient
        )

    @classmethod
    def of(cls, known, goal=-np.inf):
        return cls(known.manifold, known.cost, known.gradient, goal)

    def run(self, optimizer, start):
        return optimizer.run(self.problem, initial_point=start)


def quadratic(scales, center=0.0):
    scales = np.asarray(scales)
    return Counted(
        Euclidean(len(scales)),
        lambda x: (scales * (x - center) ** 2).sum() / 2,
        lambda x: scales * (x - center),
    )


def test_optimum_and_honest_counts(known):
    counted = Counted.of(known)
    result = counted.run(RiemannianLBFGS(min_gradient_norm=1e-8), known.start)
    assert_allclose(result.cost, known.least_cost, rtol=1e-8)
    scale = np.abs(known.solution).max()
    assert_allclose(
        known.invariant(result.point), known.solution, rtol=0, atol=1e-6 * scale
    )
    assert result.cost == known.cost(*arrays(result.point))
    assert result.cost_evaluations == counted.n_costs == len(counted.points)
    assert counted.n_gradients == result.iterations + 1


def test_problem_with_automatic_derivatives():
    known = minor_gaussian(np.random.default_rng(0))
    cost = pymanopt.function.autograd(known.manifold)(known.cost)
    problem = pymanopt.Problem(known.manifold, cost)
    result = RiemannianLBFGS().run(problem, initial_point=known.start)
    assert_allclose(result.cost, known.least_cost, rtol=1e-10)


@pytest.mark.parametrize("offset", [1e-8, 1e-3])
def test_leaves_a_saddle(offset):
    matrix = np.diag([1.0, 2, 3, 4])
    manifold = Sphere(4)
    counted = Counted(manifold, lambda x: -x @ matrix @ x, lambda x: -2 * matrix @ x)
    start = np.array([1.0, 0, offset, offset])
    start /= np.linalg.norm(start)
    result = counted.run(RiemannianLBFGS(min_gradient_norm=1e-10), start)
    assert_allclose(result.cost, -4, rtol=1e-10)


@pytest.mark.parametrize("limits", [{}, NO_LIMITS])
def test_start_at_the_optimum(limits):
    counted = quadratic([1.0, 2.0], center=3.0)
    start = np.full(2, 3.0)
    result = counted.run(RiemannianLBFGS(**limits), start)
    assert result.iterations == 0
    assert counted.n_costs == counted.n_gradients == 1
    assert_array_equal(result.point, start)


@pytest.mark.parametrize("outside", [np.inf, np.nan])
def test_barrier(outside):
    rates, n_outside = np.array([0.1, 1.0, 30.0]), 0

    def cost(x):
        nonlocal n_outside
        if (x <= 0).any():
            n_outside += 1
            return outside
        return rates @ x - np.log(x).sum()

    counted = Counted(Euclidean(3), cost, lambda x: rates - 1 / x)
    result = counted.run(RiemannianLBFGS(), np.array([1.0, 1.0, 0.05]))
    assert n_outside > 0
    assert_allclose(result.point, 1 / rates, rtol=1e-6)


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


def test_gradient_that_is_not_a_number():
    counted = Counted(Euclidean(2), lambda x: x @ x, lambda x: np.full(2, np.nan))
    result = counted.run(RiemannianLBFGS(), np.ones(2))
    assert (result.iterations, result.cost_evaluations) == (0, 1)


def test_wrong_gradient_is_noticed():
    counted = Counted(Euclidean(3), lambda x: x @ x, lambda x: -2 * x)
    optimizer = RiemannianLBFGS(max_line_search=7)
    result = counted.run(optimizer, np.ones(3))
    assert result.iterations == 0
    assert result.cost_evaluations == counted.n_costs == 8
    assert result.stopping_criterion == (
        "Terminated - no step along the gradient lowers the cost."
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


def test_unknown_limit():
    with pytest.raises(TypeError, match="'max_iter'"):
        RiemannianLBFGS(max_iter=3)


def test_global_random_state():
    known = rank_one(np.random.default_rng(0))
    before = np.random.get_state()  # noqa: NPY002
    Counted.of(known).run(RiemannianLBFGS(), known.start)
    assert str(np.random.get_state()) == str(before)  # noqa: NPY002
    result = RiemannianLBFGS().run(Counted.of(known).problem)
    assert_allclose(result.cost, known.least_cost, rtol=1e-8)
    assert str(np.random.get_state()) != str(before)  # noqa: NPY002
