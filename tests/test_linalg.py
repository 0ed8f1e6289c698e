"""Inverses that are made of products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom.utils.linalg import inverse_of_triangle


@pytest.mark.parametrize("size", [1, 65, 300])
def test_inverse_of_triangle(size, rng):
    lower = np.tril(rng.normal(size=(size, size))) / size + np.eye(size)
    inverse = inverse_of_triangle(lower)
    assert_allclose(inverse @ lower, np.eye(size), atol=1e-12)
    assert (np.triu(inverse, 1) == 0).all()
