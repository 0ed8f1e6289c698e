"""Stochastic ascent: it finds the optimum of a mean, stops, and says why."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pymanopt.manifolds import Oblique, Sphere, Stiefel

from skgeom.optim._batches import minimize_in_batches
from skgeom.optim._minimize import StartError


class Quadratic:
    """The mean of <x, S x> over samples of symmetric matrices S."""

    def __init__(self, matrices):
        self.matrices = matrices
        self.n_samples = len(matrices)

    def cost(self, x, matrices=None):
        value, gradient = (self if matrices is None else Quadratic(matrices))(x)
        return -value, -gradient

    def __call__(self, x):
        mean = self.matrices.mean(axis=0)
        return np.vdot(x, mean @ x), 2 * mean @ x


@pytest.fixture
def objective(rng):
    factors = rng.normal(size=(500, 6)) * np.sqrt([9, 4, 1, 0.5, 0.2, 0.1])
    return Quadratic(factors[:, :, None] * factors[:, None])


def run(objective, manifold, n_batches=10, n_columns=1, **options):
    start = np.linalg.qr(np.random.default_rng(1).normal(size=(6, n_columns)))[0]
    batches = np.array_split(objective.matrices, n_batches)
    options = {"max_iter": 3000, **options}

    def cost(x, batch=None):
        return objective.cost(x, None if batch is None else batches[batch])

    rng = np.random.RandomState(0)
    return minimize_in_batches(cost, n_batches, manifold, start, rng, **options)


@pytest.mark.parametrize("n_batches", [25, 1])
@pytest.mark.parametrize(
    ("manifold", "n_columns"),
    [(Sphere(6, 1), 1), (Stiefel(6, 2), 2), (Oblique(6, 2), 2)],
)
def test_optimum(manifold, n_columns, n_batches, objective):
    eigenvalues = np.linalg.eigvalsh(objective.matrices.mean(axis=0))[::-1]
    if isinstance(manifold, Oblique):  # both columns go to the first axis
        best = 2 * eigenvalues[0]
    else:
        best = eigenvalues[:n_columns].sum()
    result = run(objective, manifold, n_batches, n_columns)
    assert result.converged
    assert -result.cost == pytest.approx(best, rel=2e-3)
    assert_allclose(np.linalg.norm(result.point, axis=0), 1, atol=1e-12)


def test_counts(objective):
    result = run(objective, Sphere(6, 1), n_batches=4, max_iter=3)
    assert result.n_iter == 3
    # Four batches, and the objective of all samples at the end.
    assert result.n_evaluations == 3 * 4 + 1
    assert not result.converged
    assert "max_iter=3 epochs" in result.reason
    value, _ = objective(result.point)
    assert -result.cost == value


def test_callback_hears_of_each_epoch_and_can_stop(objective):
    heard = []

    def callback(point, cost):
        heard.append(cost)
        return len(heard) == 4

    result = run(objective, Sphere(6, 1), callback=callback)
    assert len(heard) == result.n_iter == 4
    assert heard[-1] < heard[0]
    assert result.reason == "The callback stopped the optimization."


@pytest.mark.parametrize("failure", [np.nan, np.linalg.LinAlgError])
def test_values_that_are_not_finite_shorten_the_steps(failure):
    """The cost -x_1 of unit vectors, which fails for x_1 above 0.9."""

    def cost(point, batch=None):
        if point[0, 0] > 0.9:
            if failure is np.linalg.LinAlgError:
                raise failure
            return failure, np.full_like(point, failure)
        return -point[0, 0], -np.eye(3, 1)

    start = np.array([[0.1], [0.7], [np.sqrt(0.5)]])
    start /= np.linalg.norm(start)
    rng = np.random.RandomState(0)
    result = minimize_in_batches(cost, 10, Sphere(3, 1), start, rng, max_iter=200)
    assert -0.9 <= result.cost < -0.85
    assert not result.converged
    assert "not finite" in result.reason


def test_objective_that_is_finite_for_some_batches(objective):
    """The optimization is stopped, but the point is no solution."""
    objective.matrices[0] = np.nan
    result = run(objective, Sphere(6, 1), callback=lambda point, cost: True)
    assert np.isnan(result.cost)
    assert not result.converged
    assert "of all samples is not finite" in result.reason


def test_objective_that_is_not_finite():
    with pytest.raises(StartError, match="not finite"):
        run(Quadratic(np.full((10, 6, 6), np.nan)), Sphere(6, 1))
