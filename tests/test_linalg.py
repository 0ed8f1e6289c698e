"""Bases and inverses that are made of products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom.utils.linalg import inverse_of_triangle, orthonormal


@pytest.mark.parametrize("size", [1, 2, 64, 65, 150, 300])
def test_inverse_of_triangle(size, rng):
    lower = np.tril(rng.normal(size=(size, size))) / size + np.eye(size)
    inverse = inverse_of_triangle(lower)
    assert_allclose(inverse @ lower, np.eye(size), atol=1e-12)
    assert (np.triu(inverse, 1) == 0).all()


@pytest.mark.parametrize("scale", [1e-300, 1, 1e300])
@pytest.mark.parametrize("condition", [1, 1e3, 1e6, 1e7, 1e9, 1e14])
def test_orthonormal_columns_span_the_same_one_by_one(condition, scale, rng):
    left = np.linalg.qr(rng.normal(size=(50, 8)))[0]
    right = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    columns = left * np.geomspace(1, 1 / condition, 8) @ right.T
    before = (scale * columns).copy()
    basis = orthonormal(before)
    assert_allclose(before, scale * columns)
    assert_allclose(basis.T @ basis, np.eye(8), atol=1e-14)
    beyond = basis.T @ columns
    assert_allclose(np.tril(beyond, -1), 0, atol=1e-15)
    assert_allclose(basis @ beyond, columns, atol=1e-14)


def test_dependent_columns_are_completed(rng):
    columns = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 6))
    for singular in (columns, np.zeros((20, 6))):
        basis = orthonormal(singular)
        assert_allclose(basis.T @ basis, np.eye(6), atol=1e-14)
        assert_allclose(basis @ (basis.T @ singular), singular, atol=1e-13)
