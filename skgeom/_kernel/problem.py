r"""Kernel discriminant analysis of a kernel matrix: its centring, solvers and results.

The weights w of the samples sum to one, and stand for repeated samples. Equations 5 to
8 average over samples, and weights enter there: with :math:`D = \operatorname{diag} w`,
the total scatter matrix is :math:`K^\top (I - 1 w^\top)^\top D (I - 1 w^\top) K`. All
solvers therefore work on the matrix

.. math:: D^{1/2} (I - 1 w^\top) K (I - w 1^\top) D^{1/2}.

If all weights are 1 / n, it is :math:`C_n K C_n / n`, with the centring of equation 14.
A vector of coefficients for it, times :math:`D^{1/2}`, is one for K: copies of a sample
share its coefficient in proportion to their weights.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, eigh, svd
from sklearn.utils import gen_batches

from skgeom._kernel.solvers import (
    Inverse,
    class_contrasts,
    semidefinite_root,
    solve_davidson,
    solve_dense,
    solve_dual,
)
from skgeom._kernel.tridiagonal import Tridiagonal
from skgeom.utils.array_api import namespace, to_numpy
from skgeom.utils.linalg import signs
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import check_semidefinite

_EPS = np.finfo(np.float64).eps

ALL_SAMPLES_EQUAL = (
    "All samples are the same to the kernel: its centred matrix is zero. X must have a "
    "feature that is not constant, gamma must not be too small, nor too large for "
    "kernel='sigmoid', and the features must not be far from zero beside their spread; "
    "StandardScaler mends the latter."
)
ALL_MEANS_EQUAL = (
    "The classes have the same mean to the kernel, so that no component separates "
    "them; change the kernel or its parameters."
)
# Penalties that are heavier than all scatter by more than this cancel it to rounding.
MAX_REGULARIZATION = 1e8
# A centred kernel matrix, or class means, are rounding below this part of the kernel.
_CONSTANT = 1e-13
# From this number of samples on, squaring the kernel matrix takes most of the time.
_LARGE = 3000
# Lighter penalties on the norm of a function need coefficients in the range of K.
_LIGHT = 1e-8
# Columns of coefficients that one product transforms back to the samples.
_COLUMNS = 200
# Rows that are centred together, few enough to stay in the cache.
_ROWS = 16
# The classes are separated perfectly if less of the variance is within them.
_SINGULAR = 1e-10


def max_abs(matrix):
    """Largest magnitude of a matrix, without a copy of it."""
    xp = namespace(matrix)
    return max(float(xp.max(matrix)), -float(xp.min(matrix)))


def check_finite_kernel(kernel):
    """Largest magnitude of a kernel matrix; ValueError if it is not finite."""
    largest = max_abs(kernel)
    if not np.isfinite(largest):
        raise ValueError(
            "The kernel has values that are NaN or infinite; scale X, or change the "
            "kernel or its parameters."
        )
    return largest


@contextmanager
def explain_singular(regularization, precision=_EPS):
    """Turn the error of a factorisation into one that names cause and remedy."""
    alternative = ""
    if precision > _EPS:
        alternative = ", or give X in double precision instead of float32"
    try:
        yield
    except LinAlgError as error:
        raise ValueError(
            "The regularised within-class matrix is singular with regularization="
            f"{regularization:g}: some functions do not vary within the classes, to "
            "rounding. Increase regularization, for example to "
            f"{10 * regularization or 1e-3:g}{alternative}."
        ) from error


@dataclass
class Discriminants:
    """Discriminant functions f(x) = k(x, X) @ coefficients - offset."""

    eigenvalues: np.ndarray
    coefficients: np.ndarray
    offset: np.ndarray
    means: np.ndarray  # of the classes, (n_classes, n_components)
    center: np.ndarray  # the mean of the components in training
    penalty: float  # lambda, for weights of sum one

    def with_fixed_signs(self):
        """The same functions, with signs that do not depend on the order of samples.

        The class whose mean is largest in magnitude has a positive mean; of several
        that are equal, the last one has.
        """
        sign = signs(self.means.T)
        return replace(
            self,
            coefficients=self.coefficients * sign,
            offset=self.offset * sign,
            means=self.means * sign,
            center=self.center * sign,
        )


class KernelProblem:
    """A weighted and centred kernel matrix with its classes.

    Parameters
    ----------
    kernel : ndarray of shape (n_samples, n_samples)
        The kernel matrix, in double precision; it is overwritten.
    codes, weights : ndarray of shape (n_samples,)
        Class numbers, and weights of sum one.
    class_weights : ndarray of shape (n_classes,)
        Sums of the weights of each class.
    identity : bool
        Whether the penalty is the squared length of the coefficients (R = I). If not,
        it is the squared norm of the function (R = K).
    center : bool
        Whether the samples are centred in the feature space.
    definite : bool
        Whether the kernel is known to be positive semidefinite.
    precision : float
        The relative precision of the kernel matrix.
    """

    def __init__(
        self,
        kernel,
        codes,
        weights,
        class_weights,
        *,
        identity,
        center,
        definite=False,
        precision=_EPS,
    ):
        # The problem is solved for a kernel of size one, so that no square of a very
        # large or small one overflows or vanishes.
        self.kernel_max = float(check_finite_kernel(kernel))
        if self.kernel_max < np.finfo(np.float64).tiny:
            raise ValueError(ALL_SAMPLES_EQUAL)
        self.precision = precision
        self.codes, self.weights, self.class_weights = codes, weights, class_weights
        self.identity, self.center, self.definite = identity, center, definite
        self.root_weights = np.sqrt(weights)
        self.kernel_mean = self._mean(kernel)
        # A penalty on the norm of a function keeps it in the span of the centred
        # samples, so that K may be centred from both sides. A penalty on the
        # coefficients does so only if the samples are centred; if not, only the values
        # of the functions are, and the matrix is not symmetric.
        self.symmetric = center or not identity
        self.centered = self._center(kernel)
        if max_abs(self.centered) <= max(_CONSTANT, precision) * weights.max():
            raise ValueError(ALL_SAMPLES_EQUAL)
        self._solve = None  # multiplies by the inverse of F F^T + lambda I
        levels = class_contrasts(class_weights) / np.sqrt(class_weights)[:, None]
        self.indicators = self.root_weights[:, None] * levels[codes]

    def _mean(self, kernel):
        """The weighted mean of the rows of the kernel matrix."""
        return self.weights @ kernel

    def _center(self, kernel):
        """Centre, weight and scale the kernel matrix in place, by blocks of rows."""
        row_means = self._row_means
        for batch in gen_batches(len(kernel), _ROWS):
            block = kernel[batch]
            block -= self.kernel_mean
            block -= row_means[batch, None]
            block *= self.root_weights
            block *= self.root_weights[batch, None] / self.kernel_max
        return kernel

    @property
    def _row_means(self):
        """What is subtracted from the rows, after the mean of all rows."""
        # K is symmetric, so the means of its rows are those of its columns.
        if self.symmetric:
            return self.kernel_mean - self.kernel_mean @ self.weights
        return np.zeros_like(self.kernel_mean)

    def _times(self, block):
        """The centred matrix times the columns of a matrix."""
        return self.centered @ block

    def _transposed_times(self, block):
        """Its transpose times the columns of a matrix."""
        return self.centered.T @ block

    def _inverse(self, gram, penalty):
        """Function that multiplies by (G + lambda I)^-1; G may be overwritten."""
        gram.flat[:: len(gram) + 1] += penalty
        return Inverse(gram, overwrite=True)

    @cached_property
    def total_trace(self):
        """Trace of the total scatter matrix where the penalty is the identity."""
        if self.identity:
            return np.vdot(self.centered, self.centered)
        return np.trace(self.centered)

    def _penalty(self, regularization, criterion):
        """Lambda for the scaled kernel; ValueError if "between" has no solution."""
        if criterion == "between" and self._same_means:
            raise ValueError(ALL_MEANS_EQUAL)
        return regularization * self.total_trace

    @cached_property
    def _same_means(self):
        return np.linalg.norm(self._means) <= max(_CONSTANT, self.precision)

    @cached_property
    def _means(self):
        """Products of the centred matrix with the class indicators."""
        return self._transposed_times(self.indicators)

    def check_definite(self):
        """Raise ValueError if the centred kernel has a negative eigenvalue."""
        if not self.definite:
            check_semidefinite(
                self.centered[None],
                "The centred kernel matrix",
                kind="kernel matrix of a positive semidefinite kernel",
                remedy="Use penalty='identity', which allows it where the solution is "
                "exact, or another kernel",
                rounding=10 * self.precision,
            )

    def errors_left_out(self, regularizations, copies):
        """Squared errors of ridge regression in samples that are left out, one by one.

        Up to scale, the discriminant functions are those that predict the classes best
        by kernel ridge regression with the same penalty (optimal scoring; Hastie, Buja
        and Tibshirani, 1995). With its hat matrix H, a sample with the residual r has
        the residual r / (1 - h) if it is left out (Allen's PRESS): one decomposition
        serves all samples and all penalties.

        Parameters
        ----------
        regularizations : iterable of float
            The values to compare.
        copies : ndarray of shape (n_samples,)
            The number of samples that each one stands for, of which one is left out.

        Returns
        -------
        list of float
            For each value, the weighted sum over samples and classes.
        """
        left, eigenvalues = self._gram_eigenvectors
        members = np.eye(len(self.class_weights))[self.codes] - self.class_weights
        targets = self.root_weights[:, None] * members
        inside = left.T @ targets
        penalties = np.multiply(regularizations, self.total_trace)
        shrinks = eigenvalues / (eigenvalues + penalties[:, None])
        leverages = (left**2 @ shrinks.T + self.weights[:, None]) / copies[:, None]
        rest = np.maximum(1 - leverages, _EPS)
        errors = []
        for shrink, scale in zip(shrinks, rest.T, strict=True):
            residuals = targets - left @ (shrink[:, None] * inside)
            errors.append(np.square(residuals / scale[:, None]).sum())
        return errors

    def leverages(self, regularization, n_last):
        """Diagonal entries of the hat matrix H of ridge regression, and an intercept.

        Of the last samples, for which a Cholesky factor needs its last block only. The
        intercept, a constant function, has the leverages w.
        """
        last = slice(-n_last, None)
        penalty = regularization * self.total_trace
        if self._solve is None:
            left, eigenvalues = self._gram_eigenvectors
            shrink = eigenvalues / (eigenvalues + penalty)
            return left[last] ** 2 @ shrink + self.weights[last]
        # H = I - lambda (F F^T + lambda I)^-1
        inverse = self._solve.last_of_diagonal(n_last)
        return 1 - penalty * inverse + self.weights[last]

    @cached_property
    def _gram_eigenvectors(self):
        """Eigenvectors of the Gram matrix F F^T of the penalty, and its eigenvalues."""
        left, sizes, _ = self._singular_vectors
        return left, sizes**2 if self.identity else sizes

    def solve_eigen(self, regularization, criterion, n_components):
        """Solve the generalised eigenproblem of dense matrices."""
        penalty = self._penalty(regularization, criterion)
        settings = penalty, criterion, n_components
        if self.identity and penalty:
            features = self.centered
            ratios, x = solve_dense(features, self.indicators, *settings)
            return self._discriminants(ratios, x, features @ x, penalty)
        left, sizes, right = self._singular_vectors
        if not penalty:
            # The largest share of the variance that is between the classes.
            between = np.linalg.norm(left.T @ self.indicators, 2) ** 2
            if between > 1 - _SINGULAR:
                raise LinAlgError("the within-class matrix is singular")
        return self._solve_in_range(left, sizes, right, *settings)

    @cached_property
    def _singular_vectors(self):
        """Singular values of the centred kernel above rounding, and their vectors."""
        if self.symmetric:
            if not self.identity:
                self.check_definite()
            sizes, left = eigh(self.centered, driver="evd", check_finite=False)
            right = left * np.where(sizes < 0, -1, 1)
            sizes = sizes if not self.identity else np.abs(sizes)
        else:
            left, sizes, right = svd(
                self.centered, full_matrices=False, check_finite=False
            )
            right = right.T
        return self._above_rounding(left, sizes, right)

    def _above_rounding(self, left, sizes, right):
        """Those of some singular values that are above rounding, and their vectors."""
        rounding = len(self.codes) * _EPS * sizes.max()
        kept = sizes > max(rounding, self.precision)
        return left[:, kept], sizes[kept], right[:, kept]

    def _solve_in_range(self, left, sizes, right, penalty, criterion, n_components):
        """Solve with coefficients in the span of right singular vectors only.

        The features F = U s^(1/2) of K = U s V^T are those of R = K. Without a penalty,
        any coordinates do.
        """
        root = np.sqrt(sizes)
        features = left * root
        ratios, x = solve_dense(
            features, self.indicators, penalty, criterion, n_components
        )
        return self._discriminants(ratios, (right / root) @ x, features @ x, penalty)

    def solve_cholesky(self, regularization, criterion, n_components, iterate=True):
        """Solve by one Cholesky factor; overwrites the matrix where it can.

        With ``iterate``, large problems are solved by Davidson's method, which leaves
        no factor for :meth:`leverages`.
        """
        penalty = self._penalty(regularization, criterion)
        settings = penalty, criterion, n_components
        if iterate and self._suits_davidson(n_components):
            found = solve_davidson(self.centered, self.indicators, *settings)
            if found:
                return self._discriminants(*found, penalty)
        if self.identity:
            gram = self.centered @ self.centered.T
            images = self._times(self._means)
        else:
            self.check_definite()
            # The duals (K + lambda I)^-1 u have a part u / lambda in the null space of
            # K. The kernel of any sample is orthogonal to it, but only up to rounding,
            # which 1 / lambda enlarges. So a light penalty needs coefficients without
            # that part.
            if regularization < _LIGHT and self.precision <= _EPS:
                eigenvectors = self._low_rank_eigenvectors()
                if eigenvectors:
                    self._singular_vectors = eigenvectors
                    return self._solve_in_range(*eigenvectors, *settings)
            gram, images = self.centered, self._means
        self._solve = solve = self._inverse(gram, penalty)
        ratios, duals, scores = solve_dual(solve, self.indicators, images, *settings)
        coefficients = self._transposed_times(duals) if self.identity else duals
        return self._discriminants(ratios, coefficients, scores, penalty)

    def _suits_davidson(self, n_components):
        """Whether the problem is large, and has few classes for its size."""
        n_samples = len(self.centered)
        few = self.indicators.shape[1] + 2 * n_components < n_samples // 4
        return self.identity and self.symmetric and few and n_samples > _LARGE

    def _low_rank_eigenvectors(self):
        """As :meth:`_singular_vectors`, of a matrix of low rank; None for others.

        The rank is low if it is at most a fifth of the number of samples.
        """
        rounding = len(self.codes) * _EPS
        # A fifth of the samples shows at 1/125 of the cost that the rank is higher.
        fifth = to_numpy(self.centered[::5, ::5])
        if semidefinite_root(fifth, rounding).shape[1] == len(fifth):
            return None
        root = semidefinite_root(to_numpy(self.centered), rounding)
        if root.shape[1] > len(fifth):
            return None
        # The eigenvectors of M M^T are the left singular vectors of M.
        vectors, roots, _ = svd(root, full_matrices=False, check_finite=False)
        return self._above_rounding(vectors, roots**2, vectors)

    def _tridiagonal(self):
        """Tridiagonal form of the Gram matrix F F^T, or of K if that is its square."""
        if self.identity and not self.symmetric:
            return Tridiagonal(self.centered @ self.centered.T, overwrite=True)
        if not self.identity:
            self.check_definite()
        return Tridiagonal(self.centered)

    def solve_path(self, regularizations, criterion, n_components):
        """Solve for several values by one tridiagonal form; yields in their order."""
        # With K = Q T Q^T, each K + lambda I is Q (T + lambda I) Q^T. Q does not depend
        # on lambda, so the reduction, of order n^3, is done once, and each value takes
        # systems in T + lambda I, of order n. An orthogonal basis changes no inner
        # product, so that the dual problem can be solved in the basis Q as it is.
        reduced = self._tridiagonal()
        # For R = I the Gram matrix is K^2 = Q T^2 Q^T, which is never formed: squaring
        # would lose the eigenvalues of K below the root of the rounding.
        squared = self.identity and self.symmetric
        indicators = reduced.to_basis(self.indicators)
        class_averages = reduced.to_basis(self._class_averages)
        images = reduced.multiply(indicators)
        images = reduced.multiply(images) if squared else images
        invert = reduced.inverse_of_square if squared else reduced.inverse

        def solve_one(regularization):
            penalty = self._penalty(regularization, criterion)
            with explain_singular(regularization, self.precision):
                ratios, duals, scores = solve_dual(
                    invert(penalty),
                    indicators,
                    images,
                    penalty,
                    criterion,
                    n_components,
                )
            duals = reduced.multiply(duals) if squared else duals
            return penalty, ratios, duals, scores

        # Only the coefficients go back to the samples, those of several values by one
        # product, which is faster. Of the scores, the class means are all that is
        # needed, and these are inner products, which the basis leaves as they are.
        n_values = max(1, _COLUMNS // n_components)
        for batch in gen_batches(len(regularizations), n_values):
            with one_blas_thread():
                found = [solve_one(value) for value in regularizations[batch]]
            penalties, ratios, duals, scores = zip(*found, strict=True)
            ends = np.cumsum([len(values) for values in ratios])[:-1]
            coefficients = reduced.from_basis(np.hstack(duals))
            if self.identity and not squared:
                coefficients = self.centered.T @ coefficients
            coefficients = np.split(coefficients, ends, axis=1)
            parts = zip(ratios, coefficients, scores, penalties, strict=True)
            yield from (self._discriminants(*part, class_averages) for part in parts)

    @cached_property
    def _class_averages(self):
        """Matrix whose transpose takes scores, times root weights, to class means."""
        averages = np.zeros((len(self.codes), len(self.class_weights)))
        rows = np.arange(len(self.codes))
        averages[rows, self.codes] = self.root_weights / self.class_weights[self.codes]
        return averages

    def _discriminants(
        self, ratios, coefficients, scores, penalty, class_averages=None
    ):
        """Discriminants of the kernel from those of the weighted and centred matrix.

        Scores in another basis than that of the samples come with the matrix of class
        averages in that basis.
        """
        if class_averages is None:
            class_averages = self._class_averages
        means = class_averages.T @ scores
        coefficients = coefficients * (self.root_weights[:, None] / self.kernel_max)
        penalty = float(penalty) * self.kernel_max
        if self.identity:
            penalty *= self.kernel_max
        if self.symmetric:
            # The right factor of the centred matrix, (I - w 1^T), for its vectors.
            coefficients -= np.outer(self.weights, coefficients.sum(axis=0))
        offset = self.kernel_mean @ coefficients
        if not self.center:
            means, offset = means + offset, np.zeros_like(offset)
        center = self.class_weights @ means
        found = Discriminants(ratios, coefficients, offset, means, center, penalty)
        return found.with_fixed_signs()
