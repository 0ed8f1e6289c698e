"""The choice of a regularisation by its scores, for all estimators that make one."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold

from skgeom.utils._grid_scores import best_values, check_score, find_splits, score_table

VALUES = np.array([0.1, 1.0, 10.0, 100.0])


def scores_of(*means):
    """Scores of two splits with these means."""
    return np.array(means)[:, None] + [-0.1, 0.1]


def test_table():
    scores = scores_of(0.5, 0.9, 0.8, 0.7)
    table = score_table(VALUES, scores)
    assert_array_equal(table["regularization"], VALUES)
    assert_array_equal(table["mean_test_score"], scores.mean(axis=1))
    assert_array_equal(table["std_test_score"], scores.std(axis=1))
    assert_array_equal(table["split1_test_score"], scores[:, 1])


@pytest.mark.parametrize(
    ("means", "best"),
    [
        ((0.5, 0.9, 0.8, 0.7), [1]),
        ((0.5, 0.9, 0.8, 0.9), [1, 3]),
        ((0.9, 0.9, 0.8, 0.7), [0, 1]),
        ((np.nan, 0.9, 0.8, 0.7), [1]),
    ],
)
def test_best_values(means, best):
    """Without a warning, which would be an error here."""
    assert_array_equal(best_values(VALUES, scores_of(*means)), best)


@pytest.mark.parametrize(
    ("means", "end"),
    [
        ((0.9, 0.8, 0.7, 0.6), "0.1, is the smallest"),
        ((1, 2, 3, 4), "100, is the larg"),
    ],
)
def test_best_value_at_an_end(means, end):
    with pytest.warns(UserWarning, match=f"The best value, {end}"):
        best_values(VALUES, scores_of(*means), name="value")


def test_nothing_is_below_zero_nor_beyond_two_values():
    best_values(VALUES - 0.1, scores_of(4, 3, 2, 1))
    best_values(VALUES[:2], scores_of(1, 2))


def test_no_score():
    with pytest.raises(ValueError, match="No value of regularizations has a score"):
        best_values(VALUES, np.full((4, 2), np.nan))


@pytest.mark.parametrize("score", [0.5, np.float32(0.5), np.array([0.5])])
def test_numbers_are_scores(score):
    assert check_score(score) == 0.5


@pytest.mark.parametrize("score", ["good", [0.5], np.array([0.5, 0.5]), None])
def test_what_is_no_score(score):
    with pytest.raises(ValueError, match=r"scoring must return a number, got .* type"):
        check_score(score)


def test_splits():
    X, y = np.zeros((6, 1)), np.array([0, 1] * 3)
    expected = list(KFold(3).split(X, y))
    masks = [tuple(np.isin(np.arange(6), part) for part in s) for s in expected]
    for cv in (KFold(3), expected, masks):
        for found, split in zip(find_splits(cv, X, y), expected, strict=True):
            assert_array_equal(found[0], split[0])
            assert_array_equal(found[1], split[1])
    ((train, test),) = find_splits([([], [1])], X, y)
    assert train.size == 0 and test.tolist() == [1]
    with pytest.raises(ValueError, match=r"test part of split 1 of cv .* 0 to 5, got"):
        find_splits([([0], [1]), ([0], [6])], X, y)
