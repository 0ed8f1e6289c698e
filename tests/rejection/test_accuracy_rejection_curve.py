"""The accuracy-rejection curve against its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom import accuracy_rejection_curve


@pytest.fixture
def scores(rng):
    """Labels of four classes, and scores with many ties."""
    return rng.integers(4, size=200), rng.integers(8, size=(200, 4)) / 8


def by_definition(y, score, weights):
    """Points of the curve, one threshold after the other."""
    confidence = score.max(axis=1)
    correct = score.argmax(axis=1) == y
    for threshold in sorted(set(confidence[weights > 0])):
        kept = confidence >= threshold
        yield (
            np.average(correct[kept], weights=weights[kept]),
            weights[~kept].sum() / weights.sum(),
            threshold,
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_definition(weighted, scores, rng):
    y, score = scores
    weights = rng.integers(3, size=len(y)) * rng.uniform() if weighted else None
    found = accuracy_rejection_curve(y, score, sample_weight=weights)
    weights = np.ones(len(y)) if weights is None else weights
    expected = np.transpose(list(by_definition(y, score, weights)))
    assert_allclose(found, expected, rtol=1e-12)
    assert found[1][0] == 0 and (np.diff(found[1]) > 0).all()


def test_sample_without_weight_is_absent():
    """Also where it is the surest of all, and nothing else would be left."""
    y, score = [0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.9, 0.1]]
    found = accuracy_rejection_curve(y, score, sample_weight=[1, 1, 0])
    assert_array_equal(found, accuracy_rejection_curve(y[:2], score[:2]))


@pytest.mark.parametrize(
    ("y", "score", "options", "message"),
    [
        ([0, 1], [[0.1, 0.9, 0.0]] * 2, {}, r"3 columns, but the labels are \[0, 1\]"),
        ([0, 1], [[0.1, 0.9]] * 2, {"labels": [1, 1]}, r"the labels are \[1, 1\]"),
        (
            [0, 1],
            [[0.1, 0.9]] * 2,
            {"labels": ["0", "1"]},
            r"y_true contains \[0, 1\], which are not",
        ),
        (np.array([0, np.nan]), [[0.1, 0.9]] * 2, {}, "y_true contains NaN"),
        (["a", None], [[0.1, 0.9]] * 2, {}, "y_true contains 1 missing label"),
        ([0, 1], [[0.1, 0.9]] * 3, {}, "inconsistent numbers of samples"),
        ([0, 1], [[0.1, 0.9], [np.nan, 0]], {}, "y_score contains NaN"),
        ([0, 1], [[0.3, np.inf]] * 2, {}, "y_score contains infinity"),
        ([0, 1], [0.3, 0.6], {}, "Expected 2D array"),
        ([0, 1], [["a", "b"]] * 2, {}, "could not convert string"),
        ([0, 1], np.ones((2, 2, 2)), {}, "Found array with dim 3"),
        ([0, 1], np.eye(2), {"sample_weight": [0, 0]}, "zero for all|non-zero"),
        ([0, 1], np.eye(2), {"sample_weight": [1, -1]}, "[Nn]egative"),
    ],
)
def test_bad_input(y, score, options, message):
    with pytest.raises(ValueError, match=message):
        accuracy_rejection_curve(y, score, **options)
