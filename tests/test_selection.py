"""The rule that selects parameters, and the temperature of the posteriors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from skgeom._selection import (
    calibrated_temperature,
    choose,
    label_noise,
    tempered_scores,
)


def drawn_scores(rng, losses, n=400, spread=0.1):
    """Scores of candidates whose means are lower than those of the first one."""
    common = rng.normal(size=n)
    own = spread * rng.normal(size=(len(losses), n))
    own -= own.mean(axis=1, keepdims=True)
    return common + own - np.array(losses)[:, None], np.full(n, 1 / n)


def test_the_first_candidate_within_one_standard_error_is_selected(rng):
    """The standard error of a paired difference is .1 * sqrt(2 / 400) = .007 here."""
    scores, weights = drawn_scores(rng, [0.02, 0.005, 0, 0.001])
    found = choose({"x": [4, 3, 2, 1]}, scores, weights)
    assert found.selected == {"x": 3} and found.index == 1
    assert_allclose(found.scores, scores.mean(axis=1), atol=1e-6)
    differences = scores[2] - scores
    expected = differences.std(axis=1) / np.sqrt(400)
    assert_allclose(found.standard_errors, expected)
    # A candidate without a score, such as with a singular covariance, is not selected.
    scores[1] = np.nan
    assert choose({"x": [4, 3, 2, 1]}, scores, weights).selected == {"x": 2}
    scores[:] = np.nan
    assert choose({"x": [4, 3, 2, 1]}, scores, weights).selected == {"x": 4}


def test_dependent_samples_have_larger_standard_errors(rng):
    scores, weights = drawn_scores(rng, [0.02, 0], n=20)
    scores, weights = scores.repeat(20, axis=1), np.full(400, 1 / 400)
    groups = np.arange(400) // 20
    assert choose({"x": [1, 0]}, scores, weights).index == 1
    assert choose({"x": [1, 0]}, scores, weights, groups).index == 0


def test_alternatives_must_be_better(rng):
    """The selected candidates differ by two standard errors, the best ones by one."""
    for loss, expected in ((0.004, 1), (-0.004, 1), (-0.03, 3)):
        scores, weights = drawn_scores(rng, [0.05, 0, loss + 0.05, loss])
        found = choose({}, scores, weights, alternatives=np.array([0, 0, 1, 1]))
        assert found.index == expected
    # The more regularized candidates of both values do not matter.
    scores, weights = drawn_scores(rng, [0.006, 0, 0, -0.001])
    assert choose({}, scores, weights, alternatives=np.array([0, 0, 1, 1])).index == 0


@pytest.mark.parametrize("factor", [0.2, 1, 5, 60])
def test_temperature_minimizes_the_log_loss(factor, rng):
    """Also below 1, if many samples are evidence."""
    n, priors = 3000, np.array([0.2, 0.5, 0.3])
    joint = 2 * rng.normal(size=(n, 3)) + np.log(priors)
    posteriors = np.exp(log_softmax(joint, axis=1))
    y = (posteriors.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    weights = np.full(n, 1 / n)
    given = factor * joint, y, weights

    def loss(log_temperature):
        scores = given[0] / np.exp(log_temperature)
        return -log_softmax(scores, axis=1)[np.arange(n), y].mean()

    best = np.exp(minimize_scalar(loss, (-2, 0)).x)
    found = calibrated_temperature(*given, n)
    assert abs(np.log2(found / best)) < 0.5
    (scores,) = tempered_scores(given[0][None], *given[1:], n)
    if factor >= 1:  # powers of two from 1 upwards
        assert -scores.mean() < loss(np.log(best)) + 0.01


def test_one_wrong_label_has_little_influence(rng):
    n = 1000
    y = rng.integers(2, size=n)
    joint = np.where(np.eye(2, dtype=bool)[y], 0, -8.0 + rng.normal(size=(n, 2)))
    weights = np.full(n, 1 / n)
    joint[0] = np.where(np.arange(2) == y[0], -1e6, 0)
    assert calibrated_temperature(joint, y, weights, n) < 4
    (scores,) = tempered_scores(joint[None], y, weights, n)
    assert_allclose(scores[0], np.log(label_noise(n) * 0.5))


def test_repr_names_the_selected_candidate(rng):
    scores, weights = drawn_scores(rng, [0.02, 0.005, 0, 0.001])
    found = choose({"x": [4, 3, 2, 1], "y": ["a"] * 4}, scores, weights)
    assert repr(found).startswith("<Selection: x=3, y='a', score ")
    assert f"(best {found.scores.max():.4g}), temperature 1, 4 cand" in repr(found)


def test_candidates_with_infinite_scores_are_not_selected():
    rng = np.random.default_rng(0)
    weights, groups = np.full(8, 1 / 8), np.arange(8) // 2
    scores = np.stack([np.full(8, -np.inf), rng.normal(size=8) - 5, rng.normal(size=8)])
    selection = choose({"penalty": [3, 2, 1]}, scores, weights, groups)
    assert selection.selected == {"penalty": 1}
    assert_allclose(selection.scores, [np.nan, *scores[1:].mean(axis=1)], atol=1e-6)
    losses = (scores[2] - scores[1]) / 8
    parts = (losses - losses.mean()).reshape(4, 2).sum(axis=1)
    assert_allclose(selection.standard_errors, [np.nan, np.linalg.norm(parts), 0])
    joint = rng.normal(size=(2, 8, 3))
    joint[0, :, 1] = -np.inf
    labels = np.arange(8) % 3
    (first, second) = tempered_scores(joint, labels, weights, 8)
    assert np.isnan(first).all()
    assert np.isfinite(second).all()
