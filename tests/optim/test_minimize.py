"""minimize: one set of rules for all optimisers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pymanopt.manifolds import Euclidean, Product, Sphere, Stiefel
from pymanopt.optimizers import ConjugateGradient, SteepestDescent, TrustRegions

from skgeom.optim import RiemannianLBFGS, _manifolds, minimize
from skgeom.optim._minimize import OPTIMIZERS


def instances(**limits):
    silent = {"verbosity": 0, **limits}
    return [
        RiemannianLBFGS(memory=3, **limits),
        ConjugateGradient(beta_rule="PolakRibiere", **silent),
        SteepestDescent(**silent),
        TrustRegions(**silent),
    ]


EIGENVALUES = np.array([5.0, 4, 2, 1.5, 1, 0.5])


def identify(optimizer):
    return optimizer if isinstance(optimizer, str) else f"{optimizer}()"


@pytest.fixture(params=list(OPTIMIZERS))
def optimizer(request):
    return request.param


class Subspace:
    """The trace of a projected matrix, on a Stiefel manifold; counts its calls."""

    manifold = Stiefel(6, 2)
    least = -9.0

    def __init__(self, factor=1.0):
        axes = np.linalg.qr(np.vander(np.linspace(0, 1, 6)))[0]
        self.matrix = factor * (axes * EIGENVALUES) @ axes.T
        self.projector = axes[:, :2] @ axes[:, :2].T
        self.points = []

    def __call__(self, f):
        self.points.append(f)
        return -np.sum(f * (self.matrix @ f)), -2 * self.matrix @ f

    @property
    def start(self):
        return np.linalg.qr(np.random.default_rng(0).standard_normal((6, 2)))[0]


def quadratic(scales, center):
    return lambda x: ((scales * (x - center) ** 2).sum() / 2, scales * (x - center))


@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, *instances()], ids=identify)
def test_same_optimum(optimizer):
    cost = Subspace()
    result = minimize(cost, cost.manifold, cost.start, optimizer=optimizer, tol=1e-9)
    assert_allclose(result.cost, cost.least, rtol=1e-8)
    assert_allclose(result.point @ result.point.T, cost.projector, atol=1e-3)
    assert result.converged
    assert result.n_evaluations == len(cost.points)
    assert result.cost == Subspace()(result.point)[0]


@pytest.mark.parametrize("optimizer", ["lbfgs", "conjugate-gradient"])
def test_a_point_is_evaluated_once(optimizer):
    # Rough enough for trials to fail, so that the search returns to its iterate.
    def cost(x):
        points.append(x.tobytes())
        value = (x**4).sum() + np.cos(40 * x).sum() / 40
        return value, 4 * x**3 - np.sin(40 * x)

    points = []
    start = np.linspace(-2, 3, 5)
    result = minimize(cost, Euclidean(5), start, optimizer=optimizer, tol=0)
    assert len(set(points)) == len(points) == result.n_evaluations
    assert result.n_evaluations > result.n_iter + 1


def test_unit_of_cost(optimizer):
    # A power of two does not even change the rounding.
    runs = []
    for factor in (1.0, 2.0**-27, 2.0**27):
        cost = Subspace(factor)
        runs.append(minimize(cost, cost.manifold, cost.start, optimizer=optimizer))
        assert_array_equal(runs[-1].point, runs[0].point)
        assert runs[-1].cost == factor * runs[0].cost
        assert runs[-1].gradient_norm == factor * runs[0].gradient_norm
    assert len({(run.n_iter, run.n_evaluations, run.reason) for run in runs}) == 1


@pytest.mark.parametrize("max_iter", [0, 1, 4])
def test_max_iter(optimizer, max_iter):
    cost = Subspace()
    options = {"optimizer": optimizer, "max_iter": max_iter, "tol": 1e-12}
    result = minimize(cost, cost.manifold, cost.start, **options)
    assert result.n_iter == max_iter
    assert not result.converged
    assert f"max_iter={max_iter}" in result.reason


def test_no_tolerance(optimizer):
    cost = Subspace()
    options = {"optimizer": optimizer, "tol": 0, "max_iter": 2000}
    result = minimize(cost, cost.manifold, cost.start, **options)
    assert_allclose(result.cost, cost.least, rtol=1e-14)
    assert result.n_iter < 500
    assert result.converged


def test_tolerance_by_gradient(optimizer):
    # No part of the cost's decrease is small beside the cost, which ends at zero.
    cost = quadratic(np.array([1.0, 2, 4]), center=np.array([1.0, -1, 3]))
    result = minimize(cost, Euclidean(3), np.zeros(3), optimizer=optimizer, tol=1e-3)
    first = np.linalg.norm([1.0, 2, 12])
    assert result.gradient_norm <= 1e-3 * first
    assert "gradient" in result.reason
    assert_allclose(result.gradient_norm, np.linalg.norm(cost(result.point)[1]))


def test_start_at_the_optimum(optimizer):
    cost = quadratic(np.ones(3), center=2.0)
    start = np.full(3, 2.0)
    result = minimize(cost, Euclidean(3), start, optimizer=optimizer)
    assert (result.n_iter, result.n_evaluations, result.converged) == (0, 1, True)
    assert_array_equal(result.point, start)


def test_callback(optimizer):
    cost, reports = Subspace(), []
    manifold = cost.manifold
    result = minimize(
        cost,
        manifold,
        cost.start,
        optimizer=optimizer,
        callback=lambda point, value: reports.append((point, value)),
    )
    assert len(reports) == result.n_iter
    values = [value for _, value in reports]
    assert_allclose(values, np.minimum.accumulate(values), rtol=1e-14)
    assert_array_equal(reports[-1][0], result.point)
    assert all(value == Subspace()(point)[0] for point, value in reports)


def test_callback_stops(optimizer):
    cost, reports = Subspace(), []

    def stop_at_third(point, value):
        reports.append(value)
        return len(reports) == 3

    options = {"optimizer": optimizer, "callback": stop_at_third}
    result = minimize(cost, cost.manifold, cost.start, **options)
    assert len(reports) == result.n_iter == 3
    assert result.cost == reports[-1]
    assert "callback" in result.reason


def test_unknown_optimizer():
    with pytest.raises(ValueError, match=r"'conjugate-gradient', 'lbfgs', .*'newton'"):
        minimize(quadratic(1, 0), Euclidean(2), np.ones(2), optimizer="newton")


@pytest.mark.parametrize(
    "outcome",
    [(np.inf, np.zeros(2)), (np.nan, np.zeros(2)), (0.0, np.array([1, np.nan]))],
)
def test_start_that_is_not_finite(outcome, optimizer):
    with pytest.raises(ValueError, match="start is not finite"):
        minimize(lambda x: outcome, Euclidean(2), np.ones(2), optimizer=optimizer)


UNBOUNDED = {
    "-exp(x)": lambda x: (-np.exp(x).sum(), -np.exp(x)),
    "-x^2": lambda x: (-(x**2).sum(), -2 * x),
    "-x^4": lambda x: (-(x**4).sum(), -4 * x**3),
}


@pytest.mark.parametrize("cost", UNBOUNDED.values(), ids=UNBOUNDED)
def test_unbounded_cost(optimizer, cost):
    with np.errstate(over="ignore", invalid="ignore"):
        result = minimize(cost, Euclidean(2), np.ones(2), optimizer=optimizer)
    assert result.cost < cost(np.full(2, 2.0))[0]
    assert not result.converged


def test_unbounded_cost_of_spd_matrices():
    # The logarithm of the determinant, until the matrix underflows.
    def cost(point):
        return np.linalg.slogdet(point)[1].sum(), np.linalg.inv(point)

    manifold = _manifolds.AffineInvariant(1, 2, 2)
    result = minimize(cost, manifold, np.eye(2)[None])
    assert result.cost < -1000
    assert not result.converged


def test_minimum_after_a_barrier(optimizer):
    # Early steps are shortened, but steps close to the minimum are not. The constant
    # makes the rule of the relative decrease apply.
    def cost(x):
        if (x <= 0).any():
            return np.inf, x
        return 1000 + (x - np.log(x)).sum(), 1 - 1 / x

    start = np.array([1e-3, 5.0])
    result = minimize(cost, Euclidean(2), start, optimizer=optimizer, tol=1e-7)
    assert_allclose(result.point, 1, atol=0.01)
    assert result.converged


def test_start_at_the_minimum_of_a_narrow_domain(optimizer):
    # Early steps leave the domain, but no step can decrease the cost.
    def cost(x):
        inside = 1 - 1e4 * x @ x
        if inside <= 0:
            return np.inf, x
        return 100 - np.log(inside), 2e4 * x / inside

    start = np.full(3, 1e-12)
    assert minimize(cost, Euclidean(3), start, optimizer=optimizer).converged


@pytest.mark.parametrize("failure", ["error", np.inf, np.nan])
def test_barrier(optimizer, failure):
    rates, n_failures = np.array([10.0, 20, 40]), 0

    def cost(x):
        nonlocal n_failures
        if (x <= 0).any():
            n_failures += 1
            if failure == "error":
                np.linalg.cholesky(-np.eye(2))
            return failure, np.full(3, np.nan)
        return rates @ x - np.log(x).sum(), rates - 1 / x

    options = {"optimizer": optimizer, "tol": 1e-10}
    result = minimize(cost, Euclidean(3), np.ones(3), **options)
    assert n_failures > 0
    assert_allclose(result.cost, cost(1 / rates)[0], rtol=1e-9)


def test_product_manifold(optimizer):
    matrix = np.array([[3.0, 1.0], [1.0, 0.0], [0.0, 2.0]])

    def cost(point):
        u, v = point
        residual = np.outer(u, v) - matrix
        return (residual**2).sum() / 2, [residual @ v, residual.T @ u]

    manifold = Product([Sphere(3), Euclidean(2)])
    start = [np.eye(3)[2], np.ones(2)]
    result = minimize(cost, manifold, start, optimizer=optimizer, tol=1e-10)
    singular = np.linalg.svd(matrix, compute_uv=False)
    assert_allclose(result.cost, singular[1] ** 2 / 2, rtol=1e-9)
    assert_allclose(np.linalg.norm(result.point[1]), singular[0], rtol=1e-4)
    assert_array_equal(start[0], np.eye(3)[2])
    assert result.converged


@pytest.mark.parametrize(
    ("manifold", "start"),
    [
        (Euclidean(2), [10, 10]),
        (Euclidean(2), np.array([10, 10])),
        (Euclidean(2, 1), [np.array([10]), np.array([10])]),
        (Product([Euclidean(1), Euclidean(1)]), ([10], [10])),
    ],
)
def test_start_of_integers_and_lists(optimizer, manifold, start):
    def cost(x):
        u, v = np.ravel(x)
        gradient = [2 * (u - 0.5), 2 * v]
        return (u - 0.5) ** 2 + v**2, np.reshape(gradient, np.shape(x))

    result = minimize(cost, manifold, start, optimizer=optimizer)
    assert_allclose(np.ravel(result.point), [0.5, 0], atol=1e-4)


@pytest.mark.parametrize(
    ("manifold", "start"),
    [
        (Euclidean(2), [1, [2, 3]]),
        (Euclidean(2), ["one", "two"]),
        (Euclidean(2), None),
        (Product([Euclidean(1), Euclidean(1)]), [[1.0]]),
        (Product([Euclidean(1), Euclidean(1)]), 1.0),
    ],
)
def test_malformed_start(manifold, start):
    with pytest.raises(ValueError, match=r"start(:| must be a)"):
        minimize(lambda x: (0.0, x), manifold, start)


@pytest.mark.parametrize("name", ["lbfgs", "conjugate-gradient", "steepest-descent"])
def test_stuck_optimizer_is_not_called_converged(name):
    def cost(x):
        return x @ x, -2 * x  # a gradient of the wrong sign

    result = minimize(cost, Euclidean(2), np.ones(2), optimizer=name)
    assert not result.converged
    assert_array_equal(result.point, np.ones(2))


# From an approximation of the inverse Hessian


RATES = np.logspace(-4, 4, 30)


def ill_conditioned(x):
    return (RATES * (x - 1) ** 2).sum() / 2, RATES * (x - 1)


def test_the_exact_inverse_takes_one_step():
    result = minimize(
        ill_conditioned,
        Euclidean(30),
        np.zeros(30),
        preconditioner=lambda point, vector: vector / RATES,
        tol=0,
    )
    assert result.n_evaluations <= 4
    assert_allclose(result.point, 1, rtol=1e-12)


@pytest.mark.parametrize("factor", [0.3, 100.0])
@pytest.mark.parametrize("optimizer", ["lbfgs", "conjugate-gradient"])
def test_a_wrong_scale_is_survived(optimizer, factor):
    """Not only the direction, but also the unit of the cost is taken care of."""
    result = minimize(
        lambda x: tuple(1e6 * part for part in ill_conditioned(x)),
        Euclidean(30),
        np.zeros(30),
        optimizer=optimizer,
        preconditioner=lambda point, vector: factor * vector / (1e6 * RATES),
        tol=1e-12,
    )
    assert_allclose(result.point, 1, rtol=1e-4)


def test_large_parts_of_a_product():
    """NumPy overwrote arrays of 256 KiB and more within arrays of objects."""
    shape = 200, 200
    manifold = _manifolds.Product([_manifolds.Euclidean(*shape)] * 2)
    target = np.random.default_rng(0).standard_normal((2, *shape))
    weights = np.linspace(1, 10, shape[1])

    def cost(point):
        difference = point - target
        return (weights * difference**2).sum() / 2, list(weights * difference)

    result = minimize(cost, manifold, list(np.zeros_like(target)), tol=1e-12)
    assert_allclose(result.point, target, atol=1e-3)
