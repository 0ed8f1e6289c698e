"""Inverses of many small SPD matrices, entry by entry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom.geometry._small_matrices import inverses_and_log_dets, log_dets
from skgeom.utils.array_api import to_numpy


@pytest.mark.parametrize("size", [1, 2, 5, 24, 30])
@pytest.mark.parametrize("shape", [(3,), (200,), (4, 50)])
def test_inverses_and_log_dets_are_those_of_lapack(size, shape):
    roots = np.random.default_rng(0).normal(size=(*shape, size, 2 * size))
    matrices = roots @ roots.mT
    entries = np.moveaxis(matrices, (-2, -1), (0, 1)).copy()
    expected = np.linalg.slogdet(matrices)[1]
    assert_allclose(log_dets(entries.copy()), expected, atol=1e-12)
    inverses, found_log_dets = inverses_and_log_dets(entries)
    found = np.tril(np.moveaxis(inverses, (0, 1), (-2, -1)))
    assert_allclose(found, np.tril(np.linalg.inv(matrices)), atol=1e-10)
    assert_allclose(found_log_dets, expected, atol=1e-12)


def test_matrices_of_other_libraries_stay_there(library):
    roots = np.random.default_rng(0).normal(size=(200, 3, 6))
    matrices = roots @ roots.mT
    entries = library.array(np.moveaxis(matrices, (-2, -1), (0, 1)))
    inverses, found = inverses_and_log_dets(entries)
    assert library.is_mine(inverses) and library.is_mine(found)
    lower = np.tril(np.moveaxis(to_numpy(inverses), (0, 1), (-2, -1)))
    tolerance = library.tolerance
    assert_allclose(lower, np.tril(np.linalg.inv(matrices)), tolerance, tolerance)
    expected = np.linalg.slogdet(matrices)[1]
    assert_allclose(to_numpy(found), expected, tolerance, tolerance)


@pytest.mark.parametrize("count", [10, 1000])
def test_a_matrix_that_is_not_definite(count):
    entries = np.eye(3)[..., None] * np.ones(count)
    entries[1, 1, 7] = 0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        inverses_and_log_dets(entries)
