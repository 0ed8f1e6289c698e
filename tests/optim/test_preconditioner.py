"""A search that starts from an approximation of the inverse Hessian."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pymanopt.manifolds import Euclidean

from skgeom.optim import minimize

SCALES = np.logspace(-4, 4, 30)


def quadratic(x):
    return (SCALES * (x - 1) ** 2).sum() / 2, SCALES * (x - 1)


def rosenbrock(x):
    a, b = 1 - x[0], x[1] - x[0] ** 2
    gradient = np.array([-2 * a - 400 * x[0] * b, 200 * b])
    return a**2 + 100 * b**2, gradient


def test_the_exact_inverse_takes_one_step():
    result = minimize(
        quadratic,
        Euclidean(30),
        np.zeros(30),
        preconditioner=lambda point, vector: vector / SCALES,
        tol=0,
    )
    assert result.n_evaluations <= 4
    assert_allclose(result.point, 1, rtol=1e-12)


@pytest.mark.parametrize("factor", [0.3, 100.0])
@pytest.mark.parametrize("optimizer", ["lbfgs", "conjugate-gradient"])
def test_a_wrong_scale_is_survived(optimizer, factor):
    """Not only the direction, but also the unit of the cost is taken care of."""
    result = minimize(
        lambda x: tuple(1e6 * part for part in quadratic(x)),
        Euclidean(30),
        np.zeros(30),
        optimizer=optimizer,
        preconditioner=lambda point, vector: factor * vector / (1e6 * SCALES),
        tol=1e-12,
    )
    assert_allclose(result.point, 1, rtol=1e-4)


@pytest.mark.exhaustive
def test_a_rough_inverse_saves_evaluations():
    rough = SCALES * np.random.default_rng(0).uniform(0.5, 2, 30)

    def run(**options):
        return minimize(
            quadratic, Euclidean(30), np.zeros(30), max_iter=10_000, tol=1e-8, **options
        )

    with_it = run(preconditioner=lambda point, vector: vector / rough)
    assert with_it.cost < 1e-9 * quadratic(np.zeros(30))[0]
    assert with_it.n_evaluations < run().n_evaluations / 2


def test_damped_gauss_newton_steps():
    def gauss_newton(x, vector):
        J = np.array([[-1, 0], [-20 * x[0], 10]])
        return np.linalg.solve(2 * J.T @ J + 0.1 * np.eye(2), vector)

    start = np.array([-1.2, 1.0])
    result = minimize(
        rosenbrock, Euclidean(2), start, preconditioner=gauss_newton, tol=1e-12
    )
    assert_allclose(result.point, 1, rtol=1e-5)
    without = minimize(rosenbrock, Euclidean(2), start, tol=1e-12)
    assert result.n_iter < without.n_iter
