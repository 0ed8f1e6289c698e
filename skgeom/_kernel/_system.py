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
from skgeom._kernel._kernels import check_definite, warn_if_nearly_diagonal
from skgeom.utils.array_api import (
    astype,
    cholesky_factors,
    device_and_dtype,
    in_double,
    like,
    namespace,
    precision,
    to_numpy,
)
from skgeom.utils.linalg import signs
from skgeom.utils.memory import require_memory

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
# Up to this number of samples, a Cholesky factor takes little time.
_LEAST_ITERATED = 1000


def check_finite_kernel(kernel):
    """Largest magnitude of a kernel matrix; raises ValueError for NaN or infinity."""
    xp = namespace(kernel)
    largest = max(float(xp.max(kernel)), -float(xp.min(kernel)))  # without a copy
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


class LastSamples(NamedTuple):
    """The last training samples, and how they determine their own predictions.

    H is the hat matrix of kernel ridge regression with an intercept.
    """

    components: np.ndarray  # (n_last, n_components)
    complement: tuple  # the diagonal of I - H, and a function for blocks of I - H


class Discriminants(NamedTuple):
    """Discriminant functions f(x) = k(x, points) @ coefficients - offset."""

    eigenvalues: np.ndarray
    coefficients: np.ndarray
    offset: np.ndarray
    means: np.ndarray  # of the classes, (n_classes, n_components)
    penalty: float  # lambda for sample weights that sum to one
    last: LastSamples | None


def discriminants_of(system, penalty, ratios, coefficients, offset, means, last):
    """Discriminants of a system, for the kernel before scaling, and with fixed signs.

    ``means`` are the class means of the centered components. In each component, the
    class mean of largest magnitude is positive (the last of these means if several have
    the same magnitude).
    """
    penalty = float(penalty) * system.kernel_max
    if system.identity:
        penalty *= system.kernel_max
    sign = signs(means.T)
    if last is not None:
        last = LastSamples(last.components * sign, last.complement)
    return Discriminants(
        ratios, coefficients * sign, offset * sign, means * sign, penalty, last
    )


class KernelSystem:
    """The weighted and centered kernel matrix of the samples, solved by eigenvectors.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    data : TrainingData
        The samples, with encoded labels and weights.
    identity : bool
        Whether the penalty is the squared norm of the coefficients (R = I). If False,
        the penalty is the squared norm of the function (R = K).
    warn : bool, default=False
        Whether to warn if the kernel matrix is nearly diagonal.

    Attributes
    ----------
    points : array
        The samples of the kernel functions, or their indices for a precomputed kernel.
    n_landmarks : None
        There are no landmarks.
    same_means : bool
        Whether the class means are equal up to rounding.
    total_trace : float
        Trace of S_t in coordinates in which the penalty matrix is the identity.
    """

    n_landmarks = None
    # Whether the matrix remains on the device of the samples.
    _on_device = False

    def __init__(self, kernel, data, identity, warn=False):
        self.codes, self.weights = data.codes, data.weights
        self.class_weights, self.identity = data.class_weights, identity
        X = in_double(data.X)
        self.points = np.arange(len(self.codes)) if kernel.precomputed else X
        matrix = _kernel_matrix(kernel, X)
        self.precision = precision(data.X if kernel.precomputed else matrix)
        if warn:
            warn_if_nearly_diagonal(matrix, kernel)
        if not self._on_device or namespace(matrix) is np:
            matrix = np.require(to_numpy(matrix), np.float64, ["C", "W"])
        self._is_definite = kernel.definite
        # The kernel is divided by its largest magnitude, so that squares neither
        # overflow nor underflow.
        self.kernel_max = check_finite_kernel(matrix)
        if self.kernel_max < np.finfo(np.float64).tiny:
            raise ValueError(ALL_SAMPLES_EQUAL)
        self.root_weights = np.sqrt(self.weights)
        self.kernel_mean = to_numpy(like(self.weights, matrix) @ matrix)
        # K is symmetric, so row means equal column means.
        row_means = self.kernel_mean - self.kernel_mean @ self.weights
        matrix -= like(self.kernel_mean, matrix)
        matrix -= like(row_means, matrix)[:, None]
        roots = like(self.root_weights, matrix)
        matrix *= roots / self.kernel_max
        matrix *= roots[:, None]
        self.centered = matrix
        # A centered matrix or class means are zero up to rounding below this fraction
        # of the kernel.
        rounding = max(len(self.codes) * _EPS, self.precision)
        if check_finite_kernel(matrix) <= rounding * self.weights.max():
            raise ValueError(ALL_SAMPLES_EQUAL)
        levels = class_contrasts(self.class_weights)
        levels = levels / np.sqrt(self.class_weights)[:, None]
        self.indicators = self.root_weights[:, None] * levels[self.codes]
        self.images = self._times(self.indicators)
        self.same_means = np.linalg.norm(self.images) <= rounding
        xp = namespace(matrix)
        trace = xp.tensordot(matrix, matrix) if identity else xp.linalg.trace(matrix)
        self.total_trace = float(trace)

    def _times(self, block):
        """The centered matrix times the columns of a matrix."""
        return to_numpy(self.centered @ like(block, self.centered))

    def _check_definite(self):
        """Raise ValueError if R = K has a negative eigenvalue."""
        if not self.identity and not self._is_definite:
            name, rounding = "The centered kernel matrix", 10 * self.precision
            check_definite(self.centered, name, rounding)

    @cached_property
    def _singular_vectors(self):
        """Singular values above rounding of the centered kernel, with both vectors."""
        self._check_definite()
        sizes, left = eigh(to_numpy(self.centered), driver="evd", check_finite=False)
        right = left * np.where(sizes < 0, -1, 1)
        sizes = sizes if not self.identity else np.abs(sizes)
        kept = sizes > max(len(sizes) * _EPS * sizes.max(), self.precision)
        return left[:, kept], sizes[kept], right[:, kept]

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
        left, sizes, _ = self._singular_vectors
        eigenvalues = sizes**2 if self.identity else sizes
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

    def solve(self, regularization, criterion, n_components, n_last=0):
        """Compute the discriminants.

        Parameters
        ----------
        regularization : float
            The penalty, relative to the scale of the kernel.
        criterion : {"total", "between"}
            The numerator of the ratio.
        n_components : int
            Largest number of discriminants.
        n_last : int, default=0
            Number of samples in ``last`` of the result, which is None with 0.

        Returns
        -------
        Discriminants
        """
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
        complement = None
        if n_last:
            eigenvalues = sizes**2 if self.identity else sizes
            shrink, left = eigenvalues / (eigenvalues + penalty), left[-n_last:]
            roots = self.root_weights[-n_last:]
            complement = complement_of(left, np.square(left), shrink, roots)
        return self._discriminants(penalty, ratios, coefficients, scores, complement)

    def _discriminants(self, penalty, ratios, coefficients, scores, complement=None):
        """Discriminants for the kernel, from the solution for the centered matrix."""
        averages = self.root_weights / self.class_weights[self.codes]
        means = np.eye(len(self.class_weights))[self.codes].T @ (
            averages[:, None] * scores
        )
        coefficients = coefficients * (self.root_weights[:, None] / self.kernel_max)
        # Apply the centering factor (I - w 1^T) to the coefficients.
        coefficients -= np.outer(self.weights, coefficients.sum(axis=0))
        offset, last = self.kernel_mean @ coefficients, None
        if complement is not None:
            rows = slice(-len(complement[0]), None)
            components = scores[rows] / self.root_weights[rows, None]
            last = LastSamples(components, complement)
        return discriminants_of(
            self, penalty, ratios, coefficients, offset, means, last
        )


class CholeskySystem(KernelSystem):
    """A kernel system that is solved with one Cholesky factor.

    Without the last samples, R = I is solved iteratively if possible, which takes half
    of the time (`bench_kernel_discriminant.py solvers`).
    """

    _on_device = True

    def solve(self, regularization, criterion, n_components, n_last=0):
        """See :meth:`KernelSystem.solve`."""
        if not self.identity and regularization < LIGHT:
            return super().solve(regularization, criterion, n_components, n_last)
        penalty = regularization * self.total_trace
        settings = penalty, criterion, n_components, rank_tolerance(regularization)
        gram, images = self.centered, self.images
        if self.identity:
            if not n_last and len(gram) > _LEAST_ITERATED and namespace(gram) is np:
                with suppress(LinAlgError):
                    found = solve_iteratively(gram, self.indicators, *settings)
                    return self._discriminants(penalty, *found)
            gram, images = gram @ gram.T, self._times(images)
        self._check_definite()
        inverse = RegularizedInverse(gram, penalty)
        ratios, duals, scores = solve_dual(
            inverse.times, self.indicators, images, *settings
        )
        coefficients = self._times(duals) if self.identity else duals
        complement = None
        if n_last:
            # I - H = lambda (F F^T + lambda I)^-1, with an intercept.
            roots = self.root_weights[-n_last:]
            diagonal, block = inverse.last(n_last)
            complement = (
                penalty * diagonal - roots**2,
                lambda rows: penalty * block(rows) - np.outer(roots[rows], roots[rows]),
            )
        return self._discriminants(penalty, ratios, coefficients, scores, complement)


class RegularizedInverse:
    """The inverse of G + lambda I, as a Cholesky factor; overwrites a NumPy array G.

    For arrays of other libraries, the inverse is computed: the array API standard has
    no triangular solver.
    """

    def __init__(self, gram, penalty):
        self._factor = self._inverse = None
        if namespace(gram) is np:
            gram.flat[:: len(gram) + 1] += penalty
            # The transpose is in Fortran order, so LAPACK needs no copy.
            self._factor, _ = cho_factor(
                gram.T, lower=True, overwrite_a=True, check_finite=False
            )
        else:
            identity = namespace(gram).eye(gram.shape[0], **device_and_dtype(gram))
            gram = gram + penalty * identity
            cholesky_factors(gram)  # raises if the matrix is not definite
            self._inverse = namespace(gram).linalg.inv(gram)

    def times(self, block):
        """The inverse times the columns of a matrix."""
        if self._inverse is None:
            return cho_solve((self._factor, True), block, check_finite=False)
        columns = like(block.reshape(len(block), -1), self._inverse)
        columns = astype(columns, self._inverse.dtype)
        return to_numpy(self._inverse @ columns).reshape(block.shape)

    def last(self, n_last):
        """Last block of the inverse: its diagonal, and a function for blocks."""
        if self._inverse is not None:
            inverse = to_numpy(self._inverse[-n_last:, -n_last:])
            return inverse.diagonal(), lambda rows: inverse[np.ix_(rows, rows)]
        # L is triangular, so the last block of (L L^T)^-1 is R^T R, where R is the
        # inverse of the last block of L.
        root, _ = dtrtri(np.tril(self._factor[-n_last:, -n_last:]), lower=True)
        diagonal = np.einsum("ij,ij->j", root, root)
        return diagonal, lambda rows: root[:, rows].T @ root[:, rows]


def _kernel_matrix(kernel, X):
    """The kernel matrix of samples, in double precision; a copy."""
    n_samples = X.shape[0]
    require_memory(
        16 * n_samples**2,  # the matrix and its factors
        f"The kernel matrix of {n_samples} samples and its factors",
        'Use solver="nystroem".',
    )
    if kernel.precomputed:
        # Symmetric entries may differ by rounding. LAPACK reads only one of them, and
        # which entry depends on the solver.
        return (X + X.T) / 2
    return in_double(kernel(X), copy=callable(kernel.function))
