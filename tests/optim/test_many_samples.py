"""Searches that begin with a part of the samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom.optim import CONSTRAINTS, _coarse_to_fine, growing_rows, maximize_on_samples


class WeightedVariances:
    """Mean squares of the outputs of two filters, of which the first counts twice."""

    terms = "samples"
    complete = True

    def __init__(self, X):
        self.X = X
        self.n_samples = len(X)
        self.sizes = []

    def growing_samples(self, random_state):
        return []

    def project(self, basis):
        projected = WeightedVariances(self.X @ basis)
        projected.sizes = self.sizes
        return projected

    def sample(self, rows):
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
def objective(rng, monkeypatch):
    monkeypatch.setattr(_coarse_to_fine, "_LEAST_SAMPLES", 200)
    monkeypatch.setattr(_coarse_to_fine, "_SAMPLES_PER_ENTRY", 10)
    return WeightedVariances(rng.normal(size=(5000, 6)) * [3, 2.7, 2.4, 2, 1, 0.1])


def by_parts(objective, starts, basis, *, tol=1e-5, **options):
    options |= {"samples": growing_rows(objective.n_samples, 12), "tol": tol}
    return maximize_on_samples(objective, starts, basis, **options)


def run(maximize, objective, constraint, **options):
    start = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 2)))[0]
    return maximize(
        objective, [start], np.eye(6), complete=True, constraint=constraint, **options
    )


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_optimum_is_that_of_all_samples(constraint, objective):
    result, values = run(by_parts, objective, constraint)
    assert set(objective.sizes) == {200, 800, 5000}
    # One more evaluation of each larger part measures its gain.
    assert result.n_evaluations == len(objective.sizes) - 2
    assert len(values) == 1
    value, _ = objective(result.point)
    assert_allclose(-result.cost, value, rtol=1e-12)
    expected, _ = run(maximize_on_samples, objective, constraint)
    assert_allclose(result.cost, expected.cost, rtol=1e-5)
    assert_allclose(np.abs(result.point), np.abs(expected.point), atol=1e-2)
    again, _ = run(by_parts, objective, constraint)
    assert_array_equal(again.point, result.point)
