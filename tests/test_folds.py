"""Turns of samples, from which folds are made."""

import numpy as np
from numpy.testing import assert_array_equal

from skgeom.utils.linalg import fold_order


def test_turns_count_the_samples_before_in_the_class():
    y = np.array([1, 0, 1, 1, 0, 1])
    own = np.array([3.0, 9.0, 1.0, 2.0, 4.0, 2.0])
    assert_array_equal(fold_order(y, own[:, None], 1.0), [2, 1, 0, 1, 0, 1])


def test_copies_have_one_turn_though_rounding_differs(rng):
    distances = 1e-8 * rng.uniform(1, 2, size=(50, 2))
    y = rng.integers(3, size=50)
    expected = fold_order(y, distances, distances.max())
    copies = np.concatenate([distances, distances * (1 + 1e-14)])
    order = rng.permutation(100)
    found = fold_order(np.tile(y, 2)[order], copies[order], distances.max())
    assert_array_equal(found, np.tile(expected, 2)[order])
