"""Exact kernel discriminants with a kernel matrix in another library than numpy.

The matrix stays on its device, as do its Cholesky factor and all products with it.
Vectors with one entry a sample are numpy's, so that the solvers do not know the
difference. Two things need LAPACK, and take the matrix to the host, once: the dense
eigenproblem of ``solver="eigen"``, and a matrix of low rank with a light penalty.
"""

from copy import copy
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError
from sklearn.utils import gen_batches

from skgeom._kernel.problem import KernelProblem
from skgeom.utils.array_api import (
    cholesky_factors,
    device_of,
    dtype_name,
    like,
    namespace,
    to_numpy,
)

# Order of the blocks on the diagonal of a triangular matrix that are inverted.
_BLOCK = 256


def identity(order, model):
    """The identity matrix, beside an array and of its dtype."""
    return namespace(model).eye(order, dtype=model.dtype, device=device_of(model))


def kernel_on_host(kernel):
    """A kernel matrix as one of numpy that may be overwritten."""
    if namespace(kernel) is np:
        return kernel
    return np.require(to_numpy(kernel), np.float64, ["C", "W"])


class LowerTriangle:
    """Solves systems with a lower triangular matrix L of another library, by blocks.

    The array API standard has no triangular solution. So blocks on the diagonal are
    inverted, and the rest is products, of which a GPU does most in a second.

    Parameters
    ----------
    factor : array of shape (n, n)
        The matrix; entries above the diagonal are not read.
    """

    def __init__(self, factor):
        xp = namespace(factor)
        self._factor, self._concat = factor, xp.concat
        self._inverses = [
            (batch, xp.linalg.inv(xp.tril(factor[batch, batch])))
            for batch in gen_batches(factor.shape[0], _BLOCK)
        ]

    def solve(self, block):
        """L^-1 times the columns of a matrix."""
        solved = block[:0, :]
        for batch, inverse in self._inverses:
            rest = block[batch, :] - self._factor[batch, : batch.start] @ solved
            solved = self._concat([solved, inverse @ rest])
        return solved

    def solve_transposed(self, block):
        """L^-T times the columns of a matrix."""
        solved = block[:0, :]
        for batch, inverse in self._inverses[::-1]:
            rest = block[batch, :] - self._factor[batch.stop :, batch].T @ solved
            solved = self._concat([inverse.T @ rest, solved])
        return solved


class DeviceInverse:
    """Multiplies vectors of numpy by the inverse of a matrix on a device."""

    def __init__(self, matrix):
        self._factor = cholesky_factors(matrix)
        self._triangle = LowerTriangle(self._factor)

    def __call__(self, block):
        columns = block.reshape(len(block), -1)
        columns = like(columns, self._factor, dtype_name(self._factor))
        solved = self._triangle.solve_transposed(self._triangle.solve(columns))
        return to_numpy(solved).reshape(block.shape)

    def last_of_diagonal(self, n_last):
        """The last diagonal entries of the inverse."""
        # As by `Inverse` in solvers.py.
        xp = namespace(self._factor)
        last = LowerTriangle(self._factor[-n_last:, -n_last:])
        inverse = last.solve(identity(n_last, self._factor))
        return to_numpy(xp.sum(inverse**2, axis=0))


class DeviceKernelProblem(KernelProblem):
    """As :class:`KernelProblem`, of a kernel matrix of another library than numpy."""

    def _mean(self, kernel):
        return to_numpy(like(self.weights, kernel) @ kernel)

    def _center(self, kernel):
        mean, rows, roots = (
            like(vector, kernel)
            for vector in (self.kernel_mean, self._row_means, self.root_weights)
        )
        centered = kernel - mean
        centered -= rows[:, None]
        centered *= roots / self.kernel_max
        centered *= roots[:, None]
        return centered

    @cached_property
    def total_trace(self):
        xp = namespace(self.centered)
        if self.identity:
            return float(xp.sum(self.centered**2))
        return float(xp.linalg.trace(self.centered))

    def _times(self, block):
        return to_numpy(self.centered @ like(block, self.centered))

    def _transposed_times(self, block):
        return to_numpy(self.centered.T @ like(block, self.centered))

    def _inverse(self, gram, penalty):
        return DeviceInverse(_plus_diagonal(gram, penalty))

    def check_definite(self):
        if self.definite:
            return
        rounding = max(1e-8 * abs(self.total_trace), 10 * self.precision)
        try:
            cholesky_factors(_plus_diagonal(self.centered, rounding))
        except LinAlgError:  # the host says what is wrong
            host = copy(self)
            host.centered = to_numpy(self.centered)
            KernelProblem.check_definite(host)

    def _suits_davidson(self, n_components):
        # It saves products of large matrices, at which a GPU is fast.
        return False


def _plus_diagonal(matrix, value):
    """A matrix with a number added to its diagonal."""
    order = matrix.shape[0]
    return matrix + value * identity(order, matrix)
