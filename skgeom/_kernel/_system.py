r"""The kernel system: the weighted and centered kernel matrix, and its solutions.

The weights w of the samples sum to one, and stand for repeated samples. Equations 5 to
8 average over samples, and weights enter there: with :math:`D = \operatorname{diag} w`,
the total scatter matrix is :math:`K^\top (I - 1 w^\top)^\top D (I - 1 w^\top) K`. All
solvers therefore use the matrix

.. math:: D^{1/2} (I - 1 w^\top) K (I - w 1^\top) D^{1/2}.

If all weights are 1 / n, it is :math:`C_n K C_n / n`, with the centering of equation
14. A vector of coefficients for it, times :math:`D^{1/2}`, is one for K.

The matrix may be an array of a library other than NumPy: then it stays on its device,
and so do its inverse and all products with it. Vectors with one entry a sample are
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
    device_of,
    like,
    namespace,
    to_numpy,
)
from skgeom.utils.linalg import signs

_EPS = np.finfo(np.float64).eps

ALL_SAMPLES_EQUAL = (
    "All samples are equal to the kernel: its centered matrix is zero. X must have a "
    "feature that is not constant, gamma must not be too small, nor too large for "
    "kernel='sigmoid', and the features must not be far from zero compared with their "
    "standard deviation. Use StandardScaler."
)
ALL_MEANS_EQUAL = (
    "The classes have equal means in the feature space of the kernel, so that no "
    "component separates them. Change the kernel or its parameters."
)
# With lighter penalties on the norm of a function, coefficients in the null space of K
# are rounding that 1 / lambda enlarges: coefficients must be in the range of K. Without
# a penalty, less of the variance within the classes is rounding. Penalties that are
# heavier than all scatter by more than its inverse cancel the scatter to rounding.
LIGHT = np.sqrt(_EPS)


def max_abs(matrix):
    """Largest magnitude of a matrix, without a copy of it."""
    xp = namespace(matrix)
    return max(float(xp.max(matrix)), -float(xp.min(matrix)))


def check_finite_kernel(kernel):
    """Largest magnitude of a kernel matrix; ValueError if it is not finite."""
    largest = max_abs(kernel)
    if not np.isfinite(largest):
        raise ValueError(
            "The kernel has values that are NaN or infinite. Scale X, or change the "
            "kernel or its parameters."
        )
    return largest


@contextmanager
def explain_singular(regularization):
    """Turn the error of a factorization into one that names cause and remedy."""
    try:
        yield
    except LinAlgError as error:
        raise ValueError(
            "The regularized within-class matrix is singular with regularization="
            f"{regularization:g}: some functions do not vary within the classes, to "
            "rounding. Increase regularization, for example to "
            f"{10 * regularization or 1e-3:g}."
        ) from error


class Discriminants(NamedTuple):
    """Discriminant functions f(x) = k(x, X) @ coefficients - offset."""

    eigenvalues: np.ndarray
    coefficients: np.ndarray
    offset: np.ndarray
    means: np.ndarray  # of the classes, (n_classes, n_components)
    penalty: float  # lambda, for weights of sum one


def discriminants_of(system, ratios, coefficients, offset, means, penalty):
    """Discriminants of a system, of kernels as they are and with fixed signs.

    ``means`` are the means of the centered classes. The class whose mean is largest in
    magnitude has a positive mean; of several that are equal, the last one has.
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
        The kernel matrix, in double precision where its device has that; it is
        overwritten.
    data : TrainingData
        Class numbers and weights of the samples.
    identity : bool
        Whether the penalty is the squared length of the coefficients (R = I). If not,
        it is the squared norm of the function (R = K).
    definite : bool
        Whether the kernel is known to be positive semidefinite.
    precision : float
        The relative precision of the kernel matrix.
    iterate : bool
        Whether an iteration may replace the square of the matrix, for a penalty R = I.
        Then there is no factor for :meth:`complement`.
    """

    def __init__(
        self,
        matrix,
        data,
        *,
        identity,
        definite=False,
        precision=_EPS,
        iterate=False,
    ):
        # The system is solved for a kernel of size one, so that no square of a very
        # large or small one overflows or vanishes.
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
        centered = matrix
        centered -= mean
        centered -= row_means[:, None]
        centered *= roots / self.kernel_max
        centered *= roots[:, None]
        self.centered = centered
        # A centered matrix, or class means, are rounding below this part of the kernel.
        self._rounding = max(len(self.codes) * _EPS, precision)
        if max_abs(centered) <= self._rounding * self.weights.max():
            raise ValueError(ALL_SAMPLES_EQUAL)
        levels = class_contrasts(self.class_weights)
        levels = levels / np.sqrt(self.class_weights)[:, None]
        self.indicators = self.root_weights[:, None] * levels[self.codes]
        # The Cholesky factor of F F^T + lambda I, or on a device its inverse: the array
        # API standard has no triangular solution.
        self._factor = self._inverse = None

    def _times(self, block):
        """The centered matrix times the columns of a matrix."""
        return to_numpy(self.centered @ like(block, self.centered))

    @cached_property
    def total_trace(self):
        """Trace of the total scatter matrix where the penalty is the identity."""
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

    def held_out_errors(self, regularizations, groups):
        """Squared errors of ridge regression in groups of held-out samples.

        One decomposition serves all samples and all penalties.

        Parameters
        ----------
        regularizations : ndarray of shape (n_values,)
            The values to compare.
        groups : ndarray of shape (n_samples,)
            Group numbers.

        Returns
        -------
        errors : ndarray of shape (n_values, n_groups)
            The weighted sums over the samples of each group, and over the classes.
        n_parameters : ndarray of shape (n_values,)
            The traces of the hat matrices.
        """
        left, eigenvalues = self._gram_eigenvectors
        members = np.eye(len(self.class_weights))[self.codes] - self.class_weights
        targets = self.root_weights[:, None] * members
        inside = left.T @ targets
        penalties = np.multiply(regularizations, self.total_trace)
        shrinks = eigenvalues / (eigenvalues + penalties[:, None])
        errors = []
        for shrink in shrinks:
            residuals = targets - left @ (shrink[:, None] * inside)
            complement = complement_of(left * np.sqrt(shrink), self.root_weights)
            held_out = held_out_residuals(residuals, complement, groups)
            errors.append(np.bincount(groups, np.square(held_out).sum(axis=1)))
        return np.array(errors), shrinks.sum(axis=1)

    def complement(self, regularization, n_last):
        """Diagonal and blocks of I - H for the last samples, with an intercept.

        A Cholesky factor needs its last block only.
        """
        roots = self.root_weights[-n_last:]
        penalty = regularization * self.total_trace
        if self._factor is None and self._inverse is None:
            left, eigenvalues = self._gram_eigenvectors
            shrink = eigenvalues / (eigenvalues + penalty)
            return complement_of(left[-n_last:] * np.sqrt(shrink), roots)
        # I - H = lambda (F F^T + lambda I)^-1
        diagonal, inverse = self._last_of_inverse(n_last)

        def block(rows):
            return penalty * inverse(rows) - np.outer(roots[rows], roots[rows])

        return penalty * diagonal - roots**2, block

    @cached_property
    def _gram_eigenvectors(self):
        """Eigenvectors of the Gram matrix F F^T of the penalty, and its eigenvalues."""
        left, sizes, _ = self._singular_vectors
        return left, sizes**2 if self.identity else sizes

    @cached_property
    def _singular_vectors(self):
        """Singular values of the centered kernel above rounding, and their vectors."""
        if not self.identity:
            self.check_definite()
        sizes, left = eigh(to_numpy(self.centered), driver="evd", check_finite=False)
        right = left * np.where(sizes < 0, -1, 1)
        sizes = sizes if not self.identity else np.abs(sizes)
        kept = sizes > max(len(sizes) * _EPS * sizes.max(), self.precision)
        return left[:, kept], sizes[kept], right[:, kept]

    # Solutions.

    def solve_eigen(self, regularization, criterion, n_components):
        """Solve by all eigenvectors of the centered matrix."""
        # Coefficients are in the span of right singular vectors. Without a penalty, any
        # coordinates do, and with the penalty R = I, the coefficients themselves. Of
        # coefficients in the range of K, the penalty does not enlarge the rounding.
        tol = rank_tolerance(1)
        settings = self._settings(regularization, criterion, n_components, tol)
        left, sizes, right = self._singular_vectors
        scale = sizes if self.identity and regularization else np.sqrt(sizes)
        means = left.T @ self.indicators
        # The largest share of the variance that is between the classes.
        if not regularization and np.linalg.norm(means, 2) ** 2 > 1 - LIGHT:
            raise LinAlgError("the within-class matrix is singular")
        ratios, x = solve_primal(np.diag(scale**2), scale[:, None] * means, **settings)
        coefficients, scores = right @ ((scale / sizes)[:, None] * x), left * scale @ x
        return self._discriminants(ratios, coefficients, scores, settings["penalty"])

    def solve_cholesky(self, regularization, criterion, n_components):
        """Solve by one Cholesky factor."""
        if not self.identity and regularization < LIGHT:
            return self.solve_eigen(regularization, criterion, n_components)
        tol = rank_tolerance(regularization)
        settings = self._settings(regularization, criterion, n_components, tol)
        penalty = settings["penalty"]
        if self.iterate and self.identity and namespace(self.centered) is np:
            with suppress(LinAlgError):
                found = solve_iteratively(self.centered, self.indicators, **settings)
                return self._discriminants(*found, penalty)
        if self.identity:
            gram = self.centered @ self.centered.T
            images = self._times(self._means)
        else:
            self.check_definite()
            gram, images = self.centered, self._means
        self._factorize(gram, penalty)
        ratios, duals, scores = solve_dual(
            self._solve, self.indicators, images, **settings
        )
        coefficients = self._times(duals) if self.identity else duals
        return self._discriminants(ratios, coefficients, scores, penalty)

    def _factorize(self, gram, penalty):
        """Factor G + lambda I; overwrites G where it is an array of NumPy."""
        if namespace(gram) is np:
            gram.flat[:: len(gram) + 1] += penalty
            # The transpose is in Fortran order, so that LAPACK needs no copy.
            self._factor, _ = cho_factor(
                gram.T, lower=True, overwrite_a=True, check_finite=False
            )
        else:
            options = {"dtype": gram.dtype, "device": device_of(gram)}
            gram = gram + penalty * namespace(gram).eye(len(self.codes), **options)
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
        """The end of (G + lambda I)^-1: its diagonal, and a function for blocks."""
        if self._inverse is not None:
            inverse = to_numpy(self._inverse[-n_last:, -n_last:])
            return inverse.diagonal(), lambda rows: inverse[np.ix_(rows, rows)]
        # L is triangular, so the last block of (L L^T)^-1 is R^T R, where R is the
        # inverse of the last block of L.
        root, _ = dtrtri(np.tril(self._factor[-n_last:, -n_last:]), lower=True)
        diagonal = np.einsum("ij,ij->j", root, root)
        return diagonal, lambda rows: root[:, rows].T @ root[:, rows]

    def _settings(self, regularization, criterion, n_components, tol):
        """Arguments of all solvers; ValueError if "between" has no solution."""
        same_means = np.linalg.norm(self._means) <= self._rounding
        if criterion == "between" and same_means:
            raise ValueError(ALL_MEANS_EQUAL)
        return {
            "penalty": regularization * self.total_trace,
            "criterion": criterion,
            "n_components": n_components,
            "tol": tol,
        }

    @cached_property
    def _means(self):
        """Products of the centered matrix with the class indicators."""
        return self._times(self.indicators)

    def _discriminants(self, ratios, coefficients, scores, penalty):
        """Discriminants of the kernel, from discriminants of the centered matrix."""
        averages = self.root_weights / self.class_weights[self.codes]
        means = np.eye(len(self.class_weights))[self.codes].T @ (
            averages[:, None] * scores
        )
        coefficients = coefficients * (self.root_weights[:, None] / self.kernel_max)
        # The right factor of the centered matrix, (I - w 1^T), for its vectors.
        coefficients -= np.outer(self.weights, coefficients.sum(axis=0))
        offset = self.kernel_mean @ coefficients
        return discriminants_of(self, ratios, coefficients, offset, means, penalty)
