"""Samples of the pairs of classes, and the mean distance estimated from them."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom.objectives import DISTANCES, MeanPairwiseDistance
from skgeom.objectives import _pairwise as pair_samples
from skgeom.objectives._pairwise import (
    all_pairs,
    growing_samples,
    large_sample,
    n_first_pairs,
)

FISHER_RAO = DISTANCES["fisher-rao"]
WEIGHTS = {
    "equal": np.ones(110),
    "unequal": np.random.default_rng(0).uniform(0.2, 3, 110),
    "some zero": np.r_[np.zeros(5), np.ones(105)],
    "two heavy": np.r_[200.0, 200.0, np.ones(120)],
}


def occurrences(pairs, n_classes):
    return np.bincount(np.r_[pairs.i, pairs.j], minlength=n_classes)


def test_few_pairs_are_not_sampled():
    assert growing_samples(np.ones(100), 0) == []
    assert growing_samples(np.r_[np.ones(100), np.zeros(50)], 0) == []
    assert n_first_pairs(np.ones(100)) == 4950


@pytest.mark.parametrize(("n_classes", "complete"), [(101, True), (400, False)])
def test_samples_grow_to_the_largest_that_is_affordable(n_classes, complete):
    samples = growing_samples(np.ones(n_classes), 0)
    assert [s.complete for s in samples] == [False] * (len(samples) - 1) + [complete]
    sizes = [len(s) for s in samples]
    assert all(2 * a <= b for a, b in pairwise(sizes))
    assert sizes[0] <= n_first_pairs(np.ones(n_classes))
    assert sizes[-1] == (5050 if complete else 100 * n_classes)


@pytest.mark.parametrize("n_classes", [101, 102, 301])
def test_each_class_occurs_equally_often(n_classes):
    for pairs in growing_samples(np.ones(n_classes), 0):
        assert (pairs.i < pairs.j).all()
        assert len(set(zip(pairs.i, pairs.j, strict=True))) == len(pairs)
        counts = occurrences(pairs, n_classes)
        assert_array_equal(counts, 2 * len(pairs) / n_classes)
        assert_allclose(pairs.weights, 1 / len(pairs))


@pytest.mark.parametrize("n_classes", [7, 8])
def test_all_distances_on_the_circle_make_each_pair_once(n_classes):
    """But for those of classes opposite to each other, if their number is even."""
    draw = pair_samples._CyclicPairs(np.ones(n_classes), 0)
    pairs = draw.sample(n_classes**2)
    assert_array_equal(occurrences(pairs, n_classes), 6)
    assert_allclose(pairs.weights, 1 / (3 * n_classes))


def test_classes_of_small_weight_occur_no_more_often():
    weights = np.r_[np.full(5, 0.1), np.ones(120)]
    for pairs in growing_samples(weights, 0)[:-1]:
        counts = occurrences(pairs, 125)
        assert (counts == counts[-1]).all()


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_each_sample_is_part_of_the_next(weights):
    samples = [set(zip(s.i, s.j, strict=True)) for s in growing_samples(weights, 0)]
    assert all(a < b for a, b in pairwise(samples))


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_all_classes_with_a_weight_occur(weights):
    for pairs in growing_samples(weights, 3):
        assert_array_equal(occurrences(pairs, len(weights)) > 0, weights > 0)
        assert pairs.weights.min() > 0
        assert pairs.weights.sum() == pytest.approx(1, abs=0.2)


def test_samples_are_those_of_the_random_state():
    first, again, other = (growing_samples(np.ones(150), k)[0] for k in (0, 0, 1))
    assert_array_equal(first.j, again.j)
    assert not np.array_equal(first.j, other.j)


class Given(np.random.RandomState):
    """Draws the circle that it is given, and leaves the distances in order."""

    def __init__(self, circle):
        super().__init__()
        self.draws = [circle]

    def permutation(self, values):
        return np.array(self.draws.pop()) if self.draws else values


@pytest.mark.parametrize("n_pairs", [6, 12])
@pytest.mark.parametrize("weights", [[1.0] * 6, [2.0, 1.2, 0.4, 0.9, 0.0]])
def test_estimate_is_unbiased(weights, n_pairs):
    """Over all circles, the mean weight of each pair is its own in the mean."""
    weights = np.array(weights)
    draw = pair_samples._CyclicPairs(weights, 0)
    found, circles = np.zeros((len(weights), len(weights))), 0
    for circle in permutations(np.sort(draw.circle)):
        pairs = pair_samples._CyclicPairs(weights, Given(circle)).sample(n_pairs)
        found[pairs.i, pairs.j] += pairs.weights
        circles += 1
    expected = np.triu(np.outer(weights, weights), 1)
    assert_allclose(found / circles, expected / expected.sum(), rtol=1e-12)


def test_large_sample_is_of_all_pairs_if_they_suffice():
    weights = WEIGHTS["unequal"]
    assert large_sample(weights, 5995, 0).complete
    assert not large_sample(weights, 5994, 0).complete
    assert_array_equal(
        large_sample(weights, 9999, 0).weights, all_pairs(weights).weights
    )


# The objective on a sample


@pytest.fixture
def problem(make_gaussians, rng):
    weights = rng.uniform(0.5, 2, size=120)
    objective = MeanPairwiseDistance(
        *make_gaussians((120,), 4), 0.1, FISHER_RAO, weights=weights
    )
    return objective, rng.normal(size=(4, 2))


def test_objective_on_a_sample(problem):
    objective, filters = problem
    distances = objective.project(filters).matrix()
    whole, _ = objective(filters)
    last = filters
    for pairs in objective.growing_samples(0):
        part = objective.sample(pairs)
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


def test_mean_of_too_many_pairs_is_an_estimate(problem, monkeypatch):
    objective, filters = problem
    whole, _ = objective(filters)
    monkeypatch.setattr("skgeom.objectives._pairwise._PAIRS_OF_MEAN", 3000)
    estimate = objective.mean(filters)
    assert estimate != whole
    assert type(estimate) is float  # as objective_ of filters
    assert estimate == pytest.approx(whole, rel=0.01)
    assert objective.mean(filters) == estimate


def test_many_blocks_are_added_up(problem, monkeypatch):
    objective, filters = problem
    value, gradient = objective(filters)
    monkeypatch.setattr("skgeom.objectives._pairwise._MOST_BLOCKS", 3)
    added, added_gradient = objective(filters)
    assert added == pytest.approx(value, rel=1e-13)
    assert_allclose(added_gradient, gradient, rtol=1e-11)


def test_classes_without_weight_take_no_place():
    """They neither are in a sample nor change how many pairs it has."""
    weights = np.r_[np.ones(150), np.zeros(350)]
    sizes = [len(pairs) for pairs in growing_samples(np.ones(150), 0)]
    found = growing_samples(weights, 0)
    assert [len(pairs) for pairs in found] == sizes
    assert all(max(pairs.i.max(), pairs.j.max()) < 150 for pairs in found)
