"""Symmetric matrices in tridiagonal form, which serves all shifts of them."""

from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, eigvalsh_tridiagonal, lapack

_EPS = np.finfo(np.float64).eps
_SINGULAR = "the shifted matrix is singular to rounding"


class Tridiagonal:
    """A symmetric matrix A as Q T Q^T, T tridiagonal and Q orthogonal.

    It takes a third of the time of an eigendecomposition, and serves all A + lambda I,
    or A^2 + lambda I, as that does: in the basis Q, a system with one of them takes a
    time that is linear in the order of A.

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
        reduced, self.diagonal, self.beside, self._tau, _ = lapack.dsytrd(
            matrix.T, lower=1, lwork=int(work), overwrite_a=overwrite
        )
        # The reflections of Q leave the first coordinate as it is.
        self._reflections = np.asfortranarray(reduced[1:, :-1])

    @cached_property
    def eigenvalues(self):
        """Eigenvalues of A, in rising order."""
        return eigvalsh_tridiagonal(
            self.diagonal, self.beside, lapack_driver="sterf", check_finite=False
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
        beside = self.beside[:, None]
        product = self.diagonal[:, None] * block
        product[:-1] += beside * block[1:]
        product[1:] += beside * block[:-1]
        return product

    def inverse(self, shift):
        """What multiplies vectors by (T + shift I)^-1, for A semidefinite.

        Negative eigenvalues, as the rounding of A may give, are lifted to zero, and all
        others by as much.
        """
        lift = max(-self.eigenvalues[0], 0.0)
        self._check_shift(self.eigenvalues + lift, shift, 10 * _EPS)
        lifted = self.diagonal + (lift + shift)
        diagonal, beside, _ = lapack.dpttrf(lifted, self.beside)

        def solve(block):
            return lapack.dpttrs(diagonal, beside, block)[0].reshape(block.shape)

        return solve

    def inverse_of_square(self, shift):
        """What multiplies vectors by (T^2 + shift I)^-1, for a positive shift.

        For the root s of the shift it is the imaginary part of (T + i s I)^-1, over -s.
        So nothing is squared, and s need be above the rounding of T only.
        """
        self._check_shift(self.eigenvalues**2, shift, _EPS**2)
        root, beside = np.sqrt(shift), self.beside.astype(np.complex128)
        diagonal = self.diagonal + 1j * root

        def solve(block):
            block = block.astype(np.complex128)
            solved = lapack.zgtsv(beside, diagonal, beside, block)[-2]
            return solved.imag.reshape(block.shape) / -root

        return solve

    @staticmethod
    def _check_shift(eigenvalues, shift, rounding):
        shifted = eigenvalues + shift
        if not shift or shifted.min() <= rounding * shifted.max():
            raise LinAlgError(_SINGULAR)
