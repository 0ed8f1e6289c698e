"""Symmetric matrices in tridiagonal form, which serves all their shifts."""

from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, eigvalsh_tridiagonal, lapack

_EPS = np.finfo(np.float64).eps
_SINGULAR = "the shifted matrix is singular to rounding"


class Tridiagonal:
    """A symmetric matrix A as Q T Q^T, T tridiagonal and Q orthogonal.

    The shifted matrices A + lambda I are Q (T + lambda I) Q^T, and A^2 + lambda I are
    Q (T^2 + lambda I) Q^T, with the same Q for all lambda. So one reduction, of order
    n^3, serves all systems with such matrices, and each of these is of order n in the
    basis Q. An eigendecomposition does that, too, but takes three times as long.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The matrix A, of order 2 at least, in C order.
    overwrite : bool, default=False
        Whether its memory may be used.
    """

    def __init__(self, matrix, overwrite=False):
        work, _ = lapack.dsytrd_lwork(len(matrix), lower=1)
        # The transpose of an array in C order is one in Fortran order.
        reduced, self.diagonal, self.off_diagonal, self._tau, _ = lapack.dsytrd(
            matrix.T, lower=1, lwork=int(work), overwrite_a=overwrite
        )
        # Q is a product of Householder reflections, none of which changes the first
        # coordinate. LAPACK stores their vectors below the first subdiagonal.
        self._reflections = np.asfortranarray(reduced[1:, :-1])

    @cached_property
    def eigenvalues(self):
        """Eigenvalues of A, in rising order."""
        return eigvalsh_tridiagonal(
            self.diagonal, self.off_diagonal, lapack_driver="sterf", check_finite=False
        )

    def to_basis(self, block):
        """Q^T times the columns of a matrix."""
        return self._reflect(block, "T")

    def from_basis(self, block):
        """Q times the columns of a matrix."""
        return self._reflect(block, "N")

    def _reflect(self, block, trans):
        block = np.array(block, order="F")
        settings = "L", trans, self._reflections, self._tau, block[1:]
        _, work, _ = lapack.dormqr(*settings, -1)
        block[1:], _, _ = lapack.dormqr(*settings, int(work[0]))
        return block

    def multiply(self, block):
        """T times the columns of a matrix."""
        off_diagonal = self.off_diagonal[:, None]
        product = self.diagonal[:, None] * block
        product[:-1] += off_diagonal * block[1:]
        product[1:] += off_diagonal * block[:-1]
        return product

    def inverse(self, shift):
        """Function that multiplies by (T + shift I)^-1, for A semidefinite."""
        # Rounding may make eigenvalues negative. The lowest is raised to zero, and all
        # others by as much, which keeps T tridiagonal and T + shift I definite.
        lift = max(-self.eigenvalues[0], 0.0)
        self._check_shift(self.eigenvalues + lift, shift, 10 * _EPS)
        lifted = self.diagonal + (lift + shift)
        diagonal, off_diagonal, _ = lapack.dpttrf(lifted, self.off_diagonal)

        def solve(block):
            return lapack.dpttrs(diagonal, off_diagonal, block)[0].reshape(block.shape)

        return solve

    def inverse_of_square(self, shift):
        """Function that multiplies by (T^2 + shift I)^-1, for a positive shift.

        With the root s of the shift, (T + i s I)^-1 = (T - i s I) (T^2 + s^2 I)^-1. So
        the inverse is the imaginary part of a complex tridiagonal one, over -s. T^2 is
        never formed, and s need only be above the rounding of T, not its root.
        """
        self._check_shift(self.eigenvalues**2, shift, _EPS**2)
        root = np.sqrt(shift)
        off_diagonal = self.off_diagonal.astype(np.complex128)
        diagonal = self.diagonal + 1j * root

        def solve(block):
            block = block.astype(np.complex128)
            solved = lapack.zgtsv(off_diagonal, diagonal, off_diagonal, block)[-2]
            return solved.imag.reshape(block.shape) / -root

        return solve

    @staticmethod
    def _check_shift(eigenvalues, shift, rounding):
        shifted = eigenvalues + shift
        if not shift or shifted.min() <= rounding * shifted.max():
            raise LinAlgError(_SINGULAR)
