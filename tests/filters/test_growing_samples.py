"""maximize_coarse_to_fine: a few of the pairs or rows first, then more of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom._filters._optimization import growing_rows, maximize_coarse_to_fine
from skgeom.objectives._class_distances import DISTANCES
from skgeom.objectives._objective import Objective
from skgeom.objectives._pairwise import MeanPairwiseDistance
from skgeom.optim._manifolds import CONSTRAINTS

N, K, M = 6, 4, 2
BASIS = np.eye(N, K)


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


def maximize(objective, starts, complete=False, constraint="unit-norm", **options):
    return maximize_coarse_to_fine(
        objective, starts, BASIS, in_basis=complete, constraint=constraint, **options
    )


@pytest.mark.parametrize("n_fixed", [0, 1])
@pytest.mark.parametrize("constraint", ["unit-norm", "orthonormal"])
@pytest.mark.parametrize("complete", [True, False])
def test_all_pairs_in_the_end(complete, constraint, n_fixed, objective, starts, few):
    few(last=1000)
    fixed = np.eye(N)[:, N - n_fixed :]  # outside of the span of the basis
    starts = [CONSTRAINTS[constraint].nearest(start) for start in starts]
    options = {"fixed": fixed, "tol": 1e-9}
    result, values = maximize(objective, starts, complete, constraint, **options)
    assert len(values) == 3
    assert result.converged
    value, gradient = objective(np.hstack([fixed, result.point]))
    assert -result.cost == pytest.approx(value, rel=1e-12)
    manifold, gradient = CONSTRAINTS[constraint](N, M), gradient[:, n_fixed:]
    if complete:
        gradient = BASIS @ BASIS.T @ gradient
        assert not result.point[K:].any()
    riemannian = manifold.euclidean_to_riemannian_gradient(result.point, gradient)
    assert np.linalg.norm(riemannian) < 1e-3 * np.linalg.norm(gradient)


@pytest.mark.parametrize("complete", [True, False])
def test_cost_is_that_of_all_pairs_even_after_a_sample(
    complete, objective, starts, few
):
    few(last=6)
    result, _ = maximize(objective, starts, complete, random_state=0)
    value, _ = objective(result.point)
    assert -result.cost == pytest.approx(value, rel=1e-12)
    best, _ = maximize(objective, starts, complete)
    assert value > -0.97 * best.cost
    again, _ = maximize(objective, starts, complete, random_state=0)
    other, _ = maximize(objective, starts, complete, random_state=1)
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

    maximize(objective, starts[:n_starts], max_iter=2, callback=callback)
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


def by_parts(objective, starts, basis, *, tol=1e-5, **options):
    options |= {"subsets": growing_rows(objective.n_samples, 12), "tol": tol}
    return maximize_coarse_to_fine(objective, starts, basis, **options)


def run(maximize, objective, constraint, **options):
    start = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 2)))[0]
    return maximize(
        objective, [start], np.eye(6), in_basis=True, constraint=constraint, **options
    )


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_optimum_is_that_of_all_samples(constraint, variances):
    result, values = run(by_parts, variances, constraint)
    assert set(variances.sizes) == {200, 800, 5000}
    # One more evaluation of each larger part measures its gain.
    assert result.n_evaluations == len(variances.sizes) - 2
    assert len(values) == 1
    value, _ = variances(result.point)
    assert_allclose(-result.cost, value, rtol=1e-12)
    expected, _ = run(maximize_coarse_to_fine, variances, constraint)
    assert_allclose(result.cost, expected.cost, rtol=1e-5)
    assert_allclose(np.abs(result.point), np.abs(expected.point), atol=1e-2)
    again, _ = run(by_parts, variances, constraint)
    assert_array_equal(again.point, result.point)
