"""Kernel discriminant analysis of a kernel matrix: its centring, solvers and results.

Throughout, the weights of the samples sum to one, and stand for repeated samples: a
sample's coefficient a_i is that of all its copies, each with a_i times their share.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, eigh, svd
from sklearn.utils import gen_batches

from skgeom._kernel.solvers import (
    class_contrasts,
    factorize,
    pivoted_cholesky,
    solve_davidson,
    solve_dense,
    solve_dual,
)
from skgeom._kernel.tridiagonal import Tridiagonal
from skgeom.utils._signs import signs
from skgeom.utils._threads import one_blas_thread
from skgeom.utils._validation import check_semidefinite

_EPS = np.finfo(np.float64).eps

SAME = (
    "All samples are the same to the kernel: its centred matrix is zero. X must have a "
    "feature that is not constant, gamma must not be too small, nor too large for "
    "kernel='sigmoid', and the features must not be far from zero beside their spread; "
    "StandardScaler mends the latter."
)
SAME_MEANS = (
    "The classes have the same mean to the kernel, so that no component separates "
    "them; change the kernel or its parameters."
)
# Far heavier penalties than all scatter cancel it to rounding.
MAX_REGULARIZATION = 1e8
# A centred kernel matrix, or class means, this small beside the kernel are rounding.
_CONSTANT = 1e-13
# From this number of samples on, squaring the kernel matrix takes most of the time.
_LARGE = 3000
# Lighter penalties on the norm of a function need coefficients in the range of K.
_LIGHT = 1e-8
# Columns of several results that are transformed together.
_COLUMNS = 200
# Rows that are centred at once, few enough to stay in the cache.
_ROWS = 16
# Classes are separated perfectly if the share of the variance within them is smaller.
_SINGULAR = 1e-10


def largest(matrix):
    """Largest magnitude of a matrix, without a copy of it."""
    return max(matrix.max(), -matrix.min())


def check_finite_kernel(kernel):
    """Largest magnitude of a kernel matrix; ValueError if it is not finite."""
    size = largest(kernel)
    if not np.isfinite(size):
        raise ValueError(
            "The kernel has values that are NaN or infinite; scale X, or change the "
            "kernel or its parameters."
        )
    return size


@contextmanager
def explain_singular(regularization, precision=_EPS):
    """Turn the error of a factorisation into one that names cause and remedy."""
    other = ", or give X in double precision instead of float32"
    other = other if precision > _EPS else ""
    try:
        yield
    except LinAlgError as error:
        raise ValueError(
            "The regularised within-class matrix is singular with regularization="
            f"{regularization:g}: some functions do not vary within the classes, to "
            "rounding. Increase regularization, for example to "
            f"{10 * regularization or 1e-3:g}{other}."
        ) from error


@dataclass
class Discriminants:
    """Discriminant functions f(x) = k(x, X) @ coefficients - offset."""

    eigenvalues: np.ndarray
    coefficients: np.ndarray
    offset: np.ndarray
    means: np.ndarray  # of the classes, (n_classes, n_components)
    penalty: float  # lambda, for weights of sum one

    def turned(self):
        """With signs that the order of the samples does not decide.

        The class whose mean is largest in magnitude, the last one of equals, is on the
        positive side.
        """
        sign = signs(self.means.T)
        self.coefficients = self.coefficients * sign
        self.offset = self.offset * sign
        self.means = self.means * sign
        return self


class KernelProblem:
    """A weighted and centred kernel matrix with its classes.

    Parameters
    ----------
    kernel : ndarray of shape (n_samples, n_samples)
        The kernel matrix, in double precision; it is overwritten.
    codes, weights : ndarray of shape (n_samples,)
        Class numbers, and weights of sum one.
    shares : ndarray of shape (n_classes,)
        Sums of the weights of the classes.
    identity : bool
        Whether the penalty is the squared length of the coefficients, and not the
        squared norm of the function.
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
        shares,
        *,
        identity,
        center,
        definite=False,
        precision=_EPS,
    ):
        # The problem is solved for a kernel of size one, so that no square of a very
        # large or small one overflows or vanishes.
        self.size = float(check_finite_kernel(kernel))
        if self.size < np.finfo(np.float64).tiny:
            raise ValueError(SAME)
        self.precision = precision
        self.codes, self.weights, self.shares = codes, weights, shares
        self.identity, self.center, self.definite = identity, center, definite
        self.root = np.sqrt(weights)
        self.mean = weights @ kernel
        # A penalty on the norm of a function leaves it in the span of the centred
        # samples. One on its coefficients does so only if they are centred.
        self.symmetric = center or not identity
        self.centered = self._center(kernel)
        if largest(self.centered) <= max(_CONSTANT, precision) * weights.max():
            raise ValueError(SAME)
        levels = class_contrasts(shares) / np.sqrt(shares)[:, None]
        self.indicators = self.root[:, None] * levels[codes]

    def _center(self, kernel):
        """Centre, weight and scale the kernel matrix in place, some rows at a time."""
        rows = self.mean - self.mean @ self.weights if self.symmetric else 0 * self.mean
        for batch in gen_batches(len(kernel), _ROWS):
            block = kernel[batch]
            block -= self.mean
            block -= rows[batch, None]
            block *= self.root
            block *= self.root[batch, None] / self.size
        return kernel

    @cached_property
    def scale(self):
        """Trace of the total scatter matrix where the penalty is the identity."""
        if self.identity:
            return np.vdot(self.centered, self.centered)
        return np.trace(self.centered)

    def _penalty(self, regularization, criterion):
        """Lambda for the scaled kernel; ValueError if "between" has no solution."""
        if criterion == "between" and self._same_means:
            raise ValueError(SAME_MEANS)
        return regularization * self.scale

    @cached_property
    def _same_means(self):
        means = np.linalg.norm(self.centered.T @ self.indicators)
        return means <= max(_CONSTANT, self.precision)

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

    def solve_eigen(self, regularization, criterion, n_components):
        """Solve the generalised eigenproblem of dense matrices."""
        penalty = self._penalty(regularization, criterion)
        if self.identity and penalty:
            features = self.centered
            found = solve_dense(
                features, self.indicators, penalty, criterion, n_components
            )
            return self._discriminants(*found, features @ found[1], penalty)
        left, sizes, right = self._singular_vectors()
        if not penalty:
            inside = left.T @ self.indicators
            if np.linalg.norm(inside, 2) ** 2 > 1 - _SINGULAR:
                raise LinAlgError("the within-class matrix is singular")
        return self._solve_in_range(
            left, sizes, right, penalty, criterion, n_components
        )

    def _solve_in_range(self, left, sizes, right, penalty, criterion, n_components):
        """Solve in the coordinates of singular vectors, with coefficients in these."""
        root = np.sqrt(sizes)
        features = left * root
        ratios, x = solve_dense(
            features, self.indicators, penalty, criterion, n_components
        )
        return self._discriminants(ratios, (right / root) @ x, features @ x, penalty)

    def _low_rank_eigenvectors(self):
        """Eigenvectors and eigenvalues of a kernel matrix of low rank, or None.

        The rank is low if it is at most a fifth of the number of samples.
        """
        rounding = len(self.centered) * _EPS
        # A fifth of the samples shows at 1/125 of the cost that the rank is higher.
        fifth = self.centered[::5, ::5]
        factor, _ = pivoted_cholesky(fifth, rounding)
        if factor.shape[1] == len(fifth):
            return None
        factor, pivots = pivoted_cholesky(self.centered, rounding)
        if factor.shape[1] > len(fifth):
            return None
        features = np.empty_like(factor)
        features[pivots] = factor
        vectors, roots, _ = svd(features, full_matrices=False, check_finite=False)
        return vectors, roots**2

    def _singular_vectors(self):
        """Singular values of the centred kernel above rounding, and their vectors."""
        if self.symmetric:
            if not self.identity:
                self.check_definite()
            sizes, left = eigh(self.centered, check_finite=False)
            right = left * np.where(sizes < 0, -1, 1)
            sizes = sizes if not self.identity else np.abs(sizes)
        else:
            left, sizes, right = svd(
                self.centered, full_matrices=False, check_finite=False
            )
            right = right.T
        rounding = len(sizes) * _EPS * sizes.max()
        kept = sizes > max(rounding, self.precision)
        return left[:, kept], sizes[kept], right[:, kept]

    def solve_cholesky(self, regularization, criterion, n_components):
        """Solve by one Cholesky factor; overwrites the matrix where it can."""
        penalty = self._penalty(regularization, criterion)
        # The subspace of Davidson's method would soon be too large for many classes.
        few = self.indicators.shape[1] + 2 * n_components < len(self.centered) // 4
        large = few and len(self.centered) > _LARGE
        if self.identity and self.symmetric and large:
            found = solve_davidson(
                self.centered, self.indicators, penalty, criterion, n_components
            )
            if found:
                return self._discriminants(*found, penalty)
        if self.identity:
            gram = self.centered @ self.centered.T
        else:
            self.check_definite()
            gram = self.centered
            if regularization < _LIGHT and self.precision <= _EPS:
                # The duals (K + lambda I)^-1 u have a part u / lambda in the null space
                # of K. The kernel of any sample is orthogonal to it, but only up to
                # rounding, which 1 / lambda enlarges. So a light penalty needs the
                # coefficients without that part.
                found = self._low_rank_eigenvectors()
                if found:
                    vectors, sizes = found
                    return self._solve_in_range(
                        vectors, sizes, vectors, penalty, criterion, n_components
                    )
        images = gram @ self.indicators
        gram.flat[:: len(gram) + 1] += penalty
        solve = factorize(gram, overwrite=True)
        ratios, duals, scores = solve_dual(
            solve, self.indicators, images, penalty, criterion, n_components
        )
        coefficients = self.centered.T @ duals if self.identity else duals
        return self._discriminants(ratios, coefficients, scores, penalty)

    def _tridiagonal(self):
        """The Gram matrix, or the kernel matrix that it is the square of, reduced."""
        if self.identity and not self.symmetric:
            return Tridiagonal(self.centered @ self.centered.T, overwrite=True)
        if not self.identity:
            self.check_definite()
        return Tridiagonal(self.centered)

    def solve_path(self, regularizations, criterion, n_components):
        """Solve for several values by one tridiagonal form; yields in their order."""
        reduced, squared = self._tridiagonal(), self.identity and self.symmetric
        indicators = reduced.to_basis(self.indicators)
        members = reduced.to_basis(self._members)
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

        # One product turns the results for several values back.
        size = max(1, _COLUMNS // n_components)
        for batch in gen_batches(len(regularizations), size):
            with one_blas_thread():
                found = [solve_one(value) for value in regularizations[batch]]
            penalties, ratios, duals, scores = zip(*found, strict=True)
            ends = np.cumsum([len(found) for found in ratios])[:-1]
            coefficients = reduced.from_basis(np.hstack(duals))
            if self.identity and not squared:
                coefficients = self.centered.T @ coefficients
            coefficients = np.split(coefficients, ends, axis=1)
            parts = zip(ratios, coefficients, scores, penalties, strict=True)
            yield from (self._discriminants(*part, members) for part in parts)

    @cached_property
    def _members(self):
        """Matrix that takes scores, weighted by roots, to their class means."""
        members = np.zeros((len(self.codes), len(self.shares)))
        rows = np.arange(len(self.codes))
        members[rows, self.codes] = self.root / self.shares[self.codes]
        return members

    def _discriminants(self, ratios, coefficients, scores, penalty, members=None):
        """Results for the kernel from those for the weighted and centred one.

        Scores in another basis than that of the samples come with the members in it.
        """
        means = (self._members if members is None else members).T @ scores
        coefficients = coefficients * (self.root[:, None] / self.size)
        penalty = float(penalty) * self.size * (self.size if self.identity else 1)
        if self.symmetric:
            coefficients -= np.outer(self.weights, coefficients.sum(axis=0))
        offset = self.mean @ coefficients
        if not self.center:
            means, offset = means + offset, np.zeros_like(offset)
        return Discriminants(ratios, coefficients, offset, means, penalty).turned()
