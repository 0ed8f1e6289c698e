"""Samples of the pairs of classes, and the mean distance estimated from them."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom.objectives._class_distances import DISTANCES
from skgeom.objectives._pairs import CyclicPairs, growing_subsets, n_weighted_pairs
from skgeom.objectives._pairwise import MeanPairwiseDistance

FISHER_RAO = DISTANCES["fisher-rao"]
WEIGHTS = {
    "equal": np.ones(110),
    "unequal": np.random.default_rng(0).uniform(0.2, 3, 110),
    "some zero": np.r_[np.zeros(5), np.ones(105)],
    "two heavy": np.r_[200.0, 200.0, np.ones(120)],
}


def occurrences(pairs, n_classes):
    return np.bincount(np.r_[pairs.i, pairs.j], minlength=n_classes)


@pytest.mark.parametrize(("n_classes", "complete"), [(101, True), (400, False)])
def test_samples_grow_to_the_largest_that_is_affordable(n_classes, complete):
    samples = growing_subsets(np.ones(n_classes), 0)
    assert [s.complete for s in samples] == [False] * (len(samples) - 1) + [complete]
    sizes = [len(s) for s in samples]
    assert all(2 * a <= b <= 4 * a for a, b in pairwise(sizes))
    assert sizes[0] <= max(2500, 8 * n_classes)
    assert sizes[-1] == (5050 if complete else 100 * n_classes)


@pytest.mark.parametrize("n_classes", [101, 102, 301])
def test_each_class_occurs_equally_often(n_classes):
    for pairs in growing_subsets(np.ones(n_classes), 0):
        assert (pairs.i < pairs.j).all()
        assert len(set(zip(pairs.i, pairs.j, strict=True))) == len(pairs)
        counts = occurrences(pairs, n_classes)
        assert_array_equal(counts, 2 * len(pairs) / n_classes)
        assert_allclose(pairs.weights, 1 / len(pairs))


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_all_classes_with_a_weight_occur(weights):
    for pairs in growing_subsets(weights, 3):
        assert_array_equal(occurrences(pairs, len(weights)) > 0, weights > 0)
        assert pairs.weights.min() > 0
        assert pairs.weights.sum() == pytest.approx(1, abs=0.2)


def test_sizes_of_samples():
    few, (i, j) = np.ones((102, 102)), np.triu_indices(102, 1)
    few[i[5001:], j[5001:]] = few[j[5001:], i[5001:]] = 0
    assert n_weighted_pairs(np.ones(102), few) == 5001
    assert len(growing_subsets(np.ones(102), 0, few)) > 1  # of 5,000, all are used
    for n_pairs in (1000, 4000, 5100):
        sample = CyclicPairs(np.ones(102), 0).sample(n_pairs)
        assert n_pairs - 102 < len(sample) <= n_pairs


# The objective on a sample


@pytest.fixture(params=["classes", "pairs"])
def problem(request, make_gaussians, rng):
    weights, of_pairs = rng.uniform(0.5, 2, size=120), None
    if request.param == "pairs":
        of_pairs = rng.uniform(0, 2, size=(120, 120))
        of_pairs = of_pairs + of_pairs.T
    objective = MeanPairwiseDistance(
        *make_gaussians((120,), 4), 0.1, FISHER_RAO, False, weights, of_pairs
    )
    return objective, rng.normal(size=(4, 2))


def test_objective_on_a_sample(problem):
    objective, filters = problem
    distances = objective.project(filters).matrix()
    whole, _ = objective(filters)
    last = filters
    for pairs in objective.growing_subsets(0):
        part = objective.subset(pairs)
        assert part.n_pairs == len(pairs)
        value, gradient = part(last)
        expected = distances[pairs.i, pairs.j] @ pairs.weights
        assert value == pytest.approx(expected, rel=1e-11)
        assert value == pytest.approx(whole, rel=0.02)
        step = np.random.default_rng(1).normal(size=last.shape)
        numeric = (part(last + 1e-6 * step)[0] - part(last - 1e-6 * step)[0]) / 2e-6
        assert np.sum(gradient * step) == pytest.approx(numeric, rel=1e-6)
        basis = np.linalg.qr(filters)[0]
        inside = basis.T @ last
        assert part.project(basis)(inside)[0] == pytest.approx(part(basis @ inside)[0])
        assert part.mean(last) == pytest.approx(whole, rel=1e-11)
        assert objective(filters)[0] == whole  # that of all pairs stays as it was


def test_mean_of_too_many_pairs_is_an_estimate(problem, monkeypatch):
    objective, filters = problem
    whole, _ = objective(filters)
    monkeypatch.setattr("skgeom.objectives._pairwise._PAIRS_OF_MEAN", 3000)
    estimate = objective.mean(filters)
    assert estimate != whole
    assert type(estimate) is float  # as objective_ of filters
    assert estimate == pytest.approx(whole, rel=0.01)
    assert objective.mean(filters) == estimate
