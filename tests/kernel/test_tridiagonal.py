"""Tridiagonal forms against numpy's eigendecompositions and solutions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import LinAlgError

from skgeom._kernel.tridiagonal import Tridiagonal


def semidefinite(n, rank, seed=0):
    factor = np.random.default_rng(seed).standard_normal((n, rank))
    return factor @ factor.T


@pytest.mark.parametrize("n", [2, 3, 4, 70])
def test_is_similar_to_the_matrix(n):
    matrix = semidefinite(n, n)
    block = np.random.default_rng(1).standard_normal((n, 3))
    given = matrix.copy(), block.copy()
    reduced = Tridiagonal(matrix)

    assert_array_equal(matrix, given[0])
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert_allclose(reduced.eigenvalues, eigenvalues, atol=1e-13 * eigenvalues[-1])
    turned = reduced.to_basis(block)
    assert_array_equal(block, given[1])
    assert_allclose(turned.T @ turned, block.T @ block, atol=1e-12)
    assert_allclose(reduced.from_basis(turned), block, atol=1e-13)
    product = reduced.from_basis(reduced.multiply(turned))
    assert_allclose(product, matrix @ block, atol=1e-13 * eigenvalues[-1])


@pytest.mark.parametrize("n", [2, 3, 70])
@pytest.mark.parametrize("shift", [1e-3, 1.0, 1e4])
def test_solves_shifted_systems(n, shift):
    matrix = semidefinite(n, n - 1)
    reduced = Tridiagonal(matrix.copy(), overwrite=True)
    block = np.random.default_rng(1).standard_normal((n, 3))
    turned = reduced.to_basis(block)

    for solve, regularised in (
        (reduced.inverse(shift), matrix + shift * np.eye(n)),
        (reduced.inverse_of_square(shift), matrix @ matrix + shift * np.eye(n)),
    ):
        solution = reduced.from_basis(solve(turned))
        expected = np.linalg.solve(regularised, block)
        assert_allclose(solution, expected, atol=1e-9 * np.abs(expected).max())
        assert_allclose(solve(turned[:, 0]), solve(turned)[:, 0], rtol=1e-12)


def test_solves_with_the_square_below_the_rounding_of_the_square():
    # Eigenvalues of 1 and 1e-10: the square of the latter is lost beside that of 1.
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 20)))[0]
    eigenvalues = np.where(np.arange(20) < 10, 1.0, 1e-10)
    reduced = Tridiagonal((turn * eigenvalues) @ turn.T)
    vector = turn[:, 15:16]  # of the small eigenvalue
    solution = reduced.from_basis(
        reduced.inverse_of_square(1e-20)(reduced.to_basis(vector))
    )
    assert_allclose(vector.T @ solution, [[0.5e20]], rtol=1e-4)


@pytest.mark.parametrize("shift", [0.0, 1e-18])
def test_a_shift_in_the_rounding_is_singular(shift):
    reduced = Tridiagonal(semidefinite(30, 10))
    with pytest.raises(LinAlgError, match="singular to rounding"):
        reduced.inverse(shift)
    with pytest.raises(LinAlgError, match="singular to rounding"):
        reduced.inverse_of_square(shift**2)
