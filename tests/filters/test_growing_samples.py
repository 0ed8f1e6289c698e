"""The optimization of filters: a few of the pairs or rows first, then more of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom._filters._basis import orthonormal
from skgeom._filters._optimization import growing_rows, maximize, problem_of_more
from skgeom._filters._problem import Problem, Search
from skgeom.objectives._class_distances import DISTANCES
from skgeom.objectives._objective import Objective
from skgeom.objectives._pairwise import MeanPairwiseDistance
from skgeom.optim._manifolds import CONSTRAINTS

N, K, M = 6, 4, 2


@pytest.fixture
def few(monkeypatch):
    """Sizes of samples for a problem of 20 classes: 40 pairs, then 190 or 120."""

    def set_sizes(last):
        sizes = {"FEW_PAIRS": 100, "_LEAST": 40, "_FIRST": 2, "_GROWTH": 3}
        for name, value in {**sizes, "_LAST": last}.items():
            monkeypatch.setattr(f"skgeom.objectives._pairs.{name}", value)

    return set_sizes


@pytest.fixture
def objective(make_gaussians):
    return MeanPairwiseDistance(*make_gaussians((20,), N), 0.3, DISTANCES["fisher-rao"])


@pytest.fixture
def starts(rng):
    nearest = CONSTRAINTS["unit-norm"].nearest
    return [nearest(rng.normal(size=(K, M))) for _ in range(3)]


def maximize_from(starts, objective, complete=False, constraint="unit-norm", **options):
    fixed = options.pop("fixed", np.empty((N, 0)))
    problem = Problem(objective, np.eye(N), np.eye(N), 0.3, constraint)
    problem = problem_of_more(problem, fixed)
    axes = problem.coordinates(np.eye(N, len(starts[0])))
    coarse = problem.restrict(orthonormal(axes, complete))
    return maximize(coarse, starts, Search(**options))


@pytest.mark.parametrize("n_fixed", [0, 1])
@pytest.mark.parametrize("constraint", ["unit-norm", "orthonormal"])
@pytest.mark.parametrize("complete", [True, False])
def test_all_pairs_in_the_end(complete, constraint, n_fixed, objective, starts, few):
    few(last=1000)
    fixed = np.eye(N)[:, N - n_fixed :]  # outside of the span of the basis
    starts = [CONSTRAINTS[constraint].nearest(start) for start in starts]
    options = {"fixed": fixed, "tol": 1e-9}
    result, values = maximize_from(starts, objective, complete, constraint, **options)
    assert len(values) == 3
    assert result.converged
    value, gradient = objective(result.point)
    assert -result.cost == pytest.approx(value, rel=1e-12)
    manifold, new = CONSTRAINTS[constraint](N, M), result.point[:, n_fixed:]
    gradient = gradient[:, n_fixed:]
    if constraint == "orthonormal":
        gradient = gradient - fixed @ (fixed.T @ gradient)
    if complete:
        gradient[K:] = 0
        assert not new[K:].any()
    riemannian = manifold.euclidean_to_riemannian_gradient(new, gradient)
    assert np.linalg.norm(riemannian) < 1e-3 * np.linalg.norm(gradient)


@pytest.mark.parametrize("complete", [True, False])
def test_cost_is_that_of_all_pairs_even_after_a_sample(
    complete, objective, starts, few
):
    few(last=6)
    result, _ = maximize_from(starts, objective, complete, random_state=0)
    value, _ = objective(result.point)
    assert -result.cost == pytest.approx(value, rel=1e-12)
    best, _ = maximize_from(starts, objective, complete)
    assert value > -0.97 * best.cost
    again, _ = maximize_from(starts, objective, complete, random_state=0)
    other, _ = maximize_from(starts, objective, complete, random_state=1)
    assert_array_equal(again.point, result.point)
    assert not np.array_equal(other.point, result.point)


@pytest.mark.parametrize("n_starts", [1, 3])
def test_callback(n_starts, objective, starts, few):
    few(last=6)
    stages = []

    def callback(stage, filters, value):
        stages.append(stage)
        assert filters.shape == (N, M)
        assert_allclose(np.linalg.norm(filters, axis=0), 1)
        assert value == pytest.approx(objective(filters)[0], rel=0.5)

    maximize_from(starts[:n_starts], objective, max_iter=2, callback=callback)
    seen = list(dict.fromkeys(stages))
    assert stages == sorted(stages, key=seen.index)  # one after another
    # Each start on the first sample of pairs, larger ones, and then the whole space.
    samples, searches = zip(*(stage.split(" pairs, ") for stage in seen), strict=True)
    sizes = [int(size.replace(",", "")) for size in samples]
    assert sizes == sorted(sizes) and len(set(sizes)) > 1
    starts = [f"start {k + 1}" for k in range(n_starts)] if n_starts > 1 else ["search"]
    assert list(searches[:n_starts]) == starts
    assert searches[-1] == "all features"


# Rows.


class WeightedVariances(Objective):
    """Mean squares of the outputs of two filters, of which the first counts twice."""

    def __init__(self, X):
        self.X = X
        self.n_samples = len(X)
        self.sizes = []

    def project(self, basis):
        projected = WeightedVariances(self.X @ basis)
        projected.sizes = self.sizes
        return projected

    def subset(self, rows):
        part = WeightedVariances(self.X[rows])
        part.complete = len(rows) == self.n_samples
        part.sizes = self.sizes
        return part

    def __call__(self, filters):
        self.sizes.append(self.n_samples)
        outputs = self.X @ filters
        value = (outputs**2).mean(axis=0) @ [2, 1]
        return value, self.X.T @ (outputs * [4, 2]) / len(outputs)


@pytest.fixture
def variances(rng, monkeypatch):
    for name, value in {"_LEAST_SAMPLES": 200, "_SAMPLES_PER_ENTRY": 10}.items():
        monkeypatch.setattr(f"skgeom._filters._optimization.{name}", value)
    return WeightedVariances(rng.normal(size=(5000, 6)) * [3, 2.7, 2.4, 2, 1, 0.1])


def run(objective, constraint, **options):
    start = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 2)))[0]
    return maximize_from([start], objective, True, constraint, **options)


def by_parts(objective, constraint):
    subsets = growing_rows(objective.n_samples, 12)
    return run(objective, constraint, subsets=subsets, tol=1e-5)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_optimum_is_that_of_all_samples(constraint, variances):
    result, values = by_parts(variances, constraint)
    assert set(variances.sizes) == {200, 800, 5000}
    # One more evaluation of each larger part measures its gain.
    assert result.n_evaluations == len(variances.sizes) - 2
    assert len(values) == 1
    value, _ = variances(result.point)
    assert_allclose(-result.cost, value, rtol=1e-12)
    expected, _ = run(variances, constraint)
    assert_allclose(result.cost, expected.cost, rtol=1e-5)
    assert_allclose(np.abs(result.point), np.abs(expected.point), atol=1e-2)
    again, _ = by_parts(variances, constraint)
    assert_array_equal(again.point, result.point)
