"""The few functions that know of arrays of other libraries."""

import numpy as np
import pytest
from sklearn import config_context

from skgeom.utils._arrays import has_float64, is_dispatched, like, namespace, to_numpy


def test_lists_and_numbers_are_for_numpy():
    assert namespace(np.ones(2), [1.0], 2, None) is np
    assert not is_dispatched([1.0])
    assert has_float64(np.ones(2))


def test_there_and_back(library, rng):
    values = rng.normal(size=(3, 4))
    there = like(values[::-1].T, library.array([0.0]))
    assert library.is_mine(there)
    np.testing.assert_array_equal(to_numpy(there), values[::-1].T)
    assert "float32" in str(like(values, there, "float32").dtype)
    assert library.is_mine(like(there, there))


def test_the_switch_decides(library):
    array = library.array([1.0])
    assert namespace(array, [2.0]) is library.xp
    assert is_dispatched(array)
    with config_context(array_api_dispatch=False):
        assert not is_dispatched(array)


def test_two_libraries_are_refused(library):
    with pytest.raises(TypeError, match="namespace"):
        namespace(library.array([1.0]), np.ones(1))
