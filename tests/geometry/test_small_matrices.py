"""Inverses of many small SPD matrices, entry by entry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom.geometry._small_matrices import inverses_and_log_dets, log_dets


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


@pytest.mark.parametrize("count", [10, 1000])
def test_a_matrix_that_is_not_definite(count):
    entries = np.eye(3)[..., None] * np.ones(count)
    entries[1, 1, 7] = 0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        inverses_and_log_dets(entries)
