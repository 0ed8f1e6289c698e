r"""The kernel system: the weighted and centered kernel matrix, and its solutions.

The weights w of the samples are frequency weights that sum to one. With
:math:`D = \operatorname{diag} w`, the total scatter matrix is
:math:`K^\top (I - 1 w^\top)^\top D (I - 1 w^\top) K`. All solvers therefore use the
matrix

.. math:: D^{1/2} (I - 1 w^\top) K (I - w 1^\top) D^{1/2}.

If all weights are 1 / n, this matrix is :math:`C_n K C_n / n` with the centering matrix
:math:`C_n`. A vector of coefficients for this matrix, multiplied by :math:`D^{1/2}`, is
a vector of coefficients for K.

The matrix may be an array of a library other than NumPy. The matrix, its inverse and
all products with it then remain on its device. Vectors with one entry per sample are
NumPy arrays.
"""

from contextlib import contextmanager, suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dtrtri

from skgeom._kernel._eigenproblems import (
    class_contrasts,
    rank_tolerance,
    solve_dual,
    solve_iteratively,
    solve_primal,
)
from skgeom._kernel._held_out_errors import complement_of, held_out_residuals
from skgeom._kernel._kernels import check_definite
from skgeom.utils.array_api import (
    astype,
    cholesky_factors,
    device_and_dtype,
    like,
    namespace,
    to_numpy,
)
from skgeom.utils.linalg import signs

_EPS = np.finfo(np.float64).eps

ALL_SAMPLES_EQUAL = (
    "All samples are equal in the feature space of the kernel: the centered kernel "
    "matrix is zero. Check that the features of X vary. Use StandardScaler, which also "
    "centers features far from zero, and increase gamma (decrease it for "
    "kernel='sigmoid')."
)
ALL_MEANS_EQUAL = (
    "The classes have equal means in the feature space of the kernel, so no component "
    "separates the classes. Change the kernel or its parameters."
)
# With R = K and a smaller regularization, the coefficients must be restricted to the
# range of K, because rounding errors in the null space of K are amplified by
# 1 / lambda. With zero regularization, a smaller fraction of within-class variance is
# a rounding error. With a regularization above 1 / LIGHT, the scatter is smaller than
# the rounding errors of the penalty.
LIGHT = np.sqrt(_EPS)


def max_abs(matrix):
    """Largest magnitude of the entries of a matrix, without a copy of the matrix."""
    xp = namespace(matrix)
    return max(float(xp.max(matrix)), -float(xp.min(matrix)))


def check_finite_kernel(kernel):
    """Largest magnitude of a kernel matrix; raises ValueError for NaN or infinity."""
    largest = max_abs(kernel)
    if not np.isfinite(largest):
        raise ValueError(
            "The kernel matrix contains NaN or infinite values. Scale X, or change the "
            "kernel or its parameters."
        )
    return largest


@contextmanager
def explain_singular(regularization):
    """Convert the error of a factorization to a ValueError with cause and remedy."""
    try:
        yield
    except LinAlgError as error:
        raise ValueError(
            "The regularized within-class matrix is singular with regularization="
            f"{regularization:g}: the variance of some functions within the classes is "
            "zero up to rounding. Increase regularization, for example to "
            f"{10 * regularization or 1e-3:g}."
        ) from error


class Discriminants(NamedTuple):
    """Discriminant functions f(x) = k(x, X) @ coefficients - offset."""

    eigenvalues: np.ndarray
    coefficients: np.ndarray
    offset: np.ndarray
    means: np.ndarray  # of the classes, (n_classes, n_components)
    penalty: float  # lambda for sample weights that sum to one


def discriminants_of(system, ratios, coefficients, offset, means, penalty):
    """Discriminants of a system, for the kernel before scaling, and with fixed signs.

    ``means`` are the class means of the centered components. In each component, the
    class mean of largest magnitude is positive (the last of these means if several have
    the same magnitude).
    """
    penalty = float(penalty) * system.kernel_max
    if system.identity:
        penalty *= system.kernel_max
    sign = signs(means.T)
    return Discriminants(
        ratios, coefficients * sign, offset * sign, means * sign, penalty
    )


class KernelSystem:
    """A weighted and centered kernel matrix with its classes.

    Parameters
    ----------
    matrix : array of shape (n_samples, n_samples)
        The kernel matrix, in double precision if the device supports it; overwritten.
    data : TrainingData
        Encoded labels and weights of the samples.
    identity : bool
        Whether the penalty is the squared norm of the coefficients (R = I). If False,
        the penalty is the squared norm of the function (R = K).
    definite : bool
        Whether the kernel is known to be positive semidefinite.
    precision : float
        The relative precision of the kernel matrix.
    iterate : bool
        Whether an iterative solution, without the square of the matrix, may be used for
        R = I. There is then no factor for :meth:`complement`.
    """

    def __init__(
        self, matrix, data, *, identity, definite=False, precision=_EPS, iterate=False
    ):
        # The kernel is divided by its largest magnitude, so that squares neither
        # overflow nor underflow.
        self.kernel_max = float(check_finite_kernel(matrix))
        if self.kernel_max < np.finfo(np.float64).tiny:
            raise ValueError(ALL_SAMPLES_EQUAL)
        self.codes, self.weights = data.codes, data.weights
        self.class_weights, self.precision = data.class_weights, precision
        self.identity, self.definite, self.iterate = identity, definite, iterate
        self.root_weights = np.sqrt(self.weights)
        self.kernel_mean = to_numpy(like(self.weights, matrix) @ matrix)
        # K is symmetric, so row means equal column means.
        row_means = self.kernel_mean - self.kernel_mean @ self.weights
        mean, row_means, roots = (
            like(vector, matrix)
            for vector in (self.kernel_mean, row_means, self.root_weights)
        )
        matrix -= mean
        matrix -= row_means[:, None]
        matrix *= roots / self.kernel_max
        matrix *= roots[:, None]
        self.centered = matrix
        # A centered matrix or class means are zero up to rounding below this fraction
        # of the kernel.
        self._rounding = max(len(self.codes) * _EPS, precision)
        if max_abs(matrix) <= self._rounding * self.weights.max():
            raise ValueError(ALL_SAMPLES_EQUAL)
        levels = class_contrasts(self.class_weights)
        levels = levels / np.sqrt(self.class_weights)[:, None]
        self.indicators = self.root_weights[:, None] * levels[self.codes]
        # The Cholesky factor of F F^T + lambda I, or the inverse of this matrix for
        # arrays of other libraries: the array API standard has no triangular solver.
        self._factor = self._inverse = None

    def _times(self, block):
        """The centered matrix times the columns of a matrix."""
        return to_numpy(self.centered @ like(block, self.centered))

    @cached_property
    def total_trace(self):
        """Trace of S_t in coordinates in which the penalty matrix is the identity."""
        xp = namespace(self.centered)
        if self.identity:
            return float(xp.tensordot(self.centered, self.centered))
        return float(xp.linalg.trace(self.centered))

    def check_definite(self):
        """Raise ValueError if the centered kernel has a negative eigenvalue."""
        if self.definite:
            return
        name, rounding = "The centered kernel matrix", 10 * self.precision
        check_definite(self.centered, name, rounding)

    # Leave-one-out.

    def held_out_indicators(self, regularizations, groups):
        """Class indicators of held-out groups, predicted by kernel ridge regression.

        All samples and all penalties use the same eigendecomposition.

        Parameters
        ----------
        regularizations : ndarray of shape (n_values,)
            The values to compare.
        groups : ndarray of shape (n_samples,)
            Encoded groups.

        Returns
        -------
        ndarray of shape (n_values, n_samples, n_classes)
        """
        left, eigenvalues = self._gram_eigenvectors
        members = np.eye(len(self.class_weights))[self.codes]
        roots = self.root_weights[:, None]
        targets = roots * (members - self.class_weights)
        inside = left.T @ targets
        penalties = np.multiply(regularizations, self.total_trace)
        shrinks = eigenvalues / (eigenvalues + penalties[:, None])
        predicted, squares = [], np.square(left)
        for shrink in shrinks:
            residuals = targets - left @ (shrink[:, None] * inside)
            complement = complement_of(left, squares, shrink, self.root_weights)
            residuals = held_out_residuals(residuals, complement, groups)
            predicted.append(members - residuals / roots)
        return np.array(predicted)

    def complement(self, regularization, n_last):
        """Diagonal and blocks of I - H for the last samples, with an intercept.

        With a Cholesky factor, only the last block of the factor is needed.
        """
        roots = self.root_weights[-n_last:]
        penalty = regularization * self.total_trace
        if self._factor is None and self._inverse is None:
            left, eigenvalues = self._gram_eigenvectors
            shrink = eigenvalues / (eigenvalues + penalty)
            left = left[-n_last:]
            return complement_of(left, np.square(left), shrink, roots)
        # I - H = lambda (F F^T + lambda I)^-1
        diagonal, inverse = self._last_of_inverse(n_last)

        def block(rows):
            return penalty * inverse(rows) - np.outer(roots[rows], roots[rows])

        return penalty * diagonal - roots**2, block

    @cached_property
    def _gram_eigenvectors(self):
        """Eigenvectors and eigenvalues of the Gram matrix F F^T."""
        left, sizes, _ = self._singular_vectors
        return left, sizes**2 if self.identity else sizes

    @cached_property
    def _singular_vectors(self):
        """Singular values above rounding of the centered kernel, with both vectors."""
        if not self.identity:
            self.check_definite()
        sizes, left = eigh(to_numpy(self.centered), driver="evd", check_finite=False)
        right = left * np.where(sizes < 0, -1, 1)
        sizes = sizes if not self.identity else np.abs(sizes)
        kept = sizes > max(len(sizes) * _EPS * sizes.max(), self.precision)
        return left[:, kept], sizes[kept], right[:, kept]

    # Solutions.

    def solve_eigen(self, regularization, criterion, n_components):
        """Solve with all eigenvectors of the centered matrix."""
        # Coefficients are in the span of the right singular vectors. Without a penalty,
        # all coordinates are equivalent. With the penalty R = I, the coordinates are
        # the coefficients. For coefficients in the range of K, the penalty does not
        # amplify rounding errors.
        penalty = regularization * self.total_trace
        settings = penalty, criterion, n_components, rank_tolerance(1)
        left, sizes, right = self._singular_vectors
        if not len(sizes):
            raise ValueError(ALL_SAMPLES_EQUAL)
        scale = sizes if self.identity and regularization else np.sqrt(sizes)
        means = left.T @ self.indicators
        # The largest share of the variance that is between the classes.
        if not regularization and np.linalg.norm(means, 2) ** 2 > 1 - LIGHT:
            raise LinAlgError("the within-class matrix is singular")
        ratios, x = solve_primal(np.diag(scale**2), scale[:, None] * means, *settings)
        coefficients, scores = right @ ((scale / sizes)[:, None] * x), left * scale @ x
        return self._discriminants(ratios, coefficients, scores, penalty)

    def solve_cholesky(self, regularization, criterion, n_components):
        """Solve with one Cholesky factor."""
        if not self.identity and regularization < LIGHT:
            return self.solve_eigen(regularization, criterion, n_components)
        penalty = regularization * self.total_trace
        settings = penalty, criterion, n_components, rank_tolerance(regularization)
        if self.iterate and self.identity and namespace(self.centered) is np:
            with suppress(LinAlgError):
                found = solve_iteratively(self.centered, self.indicators, *settings)
                return self._discriminants(*found, penalty)
        if self.identity:
            gram = self.centered @ self.centered.T
            images = self._times(self._means)
        else:
            self.check_definite()
            gram, images = self.centered, self._means
        self._factorize(gram, penalty)
        ratios, duals, scores = solve_dual(
            self._solve, self.indicators, images, *settings
        )
        coefficients = self._times(duals) if self.identity else duals
        return self._discriminants(ratios, coefficients, scores, penalty)

    def _factorize(self, gram, penalty):
        """Factor G + lambda I; overwrites G if it is a NumPy array."""
        if namespace(gram) is np:
            gram.flat[:: len(gram) + 1] += penalty
            # The transpose is in Fortran order, so LAPACK needs no copy.
            self._factor, _ = cho_factor(
                gram.T, lower=True, overwrite_a=True, check_finite=False
            )
        else:
            identity = namespace(gram).eye(len(self.codes), **device_and_dtype(gram))
            gram = gram + penalty * identity
            cholesky_factors(gram)  # raises if the matrix is not definite
            self._inverse = namespace(gram).linalg.inv(gram)

    def _solve(self, block):
        """(G + lambda I)^-1 times the columns of a matrix."""
        if self._inverse is None:
            return cho_solve((self._factor, True), block, check_finite=False)
        columns = like(block.reshape(len(block), -1), self._inverse)
        columns = astype(columns, self._inverse.dtype)
        return to_numpy(self._inverse @ columns).reshape(block.shape)

    def _last_of_inverse(self, n_last):
        """Last block of (G + lambda I)^-1: its diagonal, and a function for blocks."""
        if self._inverse is not None:
            inverse = to_numpy(self._inverse[-n_last:, -n_last:])
            return inverse.diagonal(), lambda rows: inverse[np.ix_(rows, rows)]
        # L is triangular, so the last block of (L L^T)^-1 is R^T R, where R is the
        # inverse of the last block of L.
        root, _ = dtrtri(np.tril(self._factor[-n_last:, -n_last:]), lower=True)
        diagonal = np.einsum("ij,ij->j", root, root)
        return diagonal, lambda rows: root[:, rows].T @ root[:, rows]

    @property
    def same_means(self):
        """Whether the class means are equal up to rounding."""
        return np.linalg.norm(self._means) <= self._rounding

    @cached_property
    def _means(self):
        """Products of the centered matrix with the class indicators."""
        return self._times(self.indicators)

    def _discriminants(self, ratios, coefficients, scores, penalty):
        """Discriminants for the kernel, from the solution for the centered matrix."""
        averages = self.root_weights / self.class_weights[self.codes]
        means = np.eye(len(self.class_weights))[self.codes].T @ (
            averages[:, None] * scores
        )
        coefficients = coefficients * (self.root_weights[:, None] / self.kernel_max)
        # Apply the centering factor (I - w 1^T) to the coefficients.
        coefficients -= np.outer(self.weights, coefficients.sum(axis=0))
        offset = self.kernel_mean @ coefficients
        return discriminants_of(self, ratios, coefficients, offset, means, penalty)
