"""The Nystroem approximation: landmarks, their features, and the solution.

Landmarks l_1, ..., l_m with the kernel matrix L L^T give each sample the features z(x)
= L^-1 (k(l_1, x), ..., k(l_m, x)). Their inner products are the kernel of the samples'
projections onto the span of the landmarks in the feature space. With them, the system
has the order m and needs first and second moments only. Samples are processed in
blocks, so that memory does not grow with their number.
"""

from functools import partial

import numpy as np
from scipy.linalg import cho_factor, solve_triangular
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import gen_batches

from skgeom._kernel._eigenproblems import (
    class_contrasts,
    pivoted_cholesky,
    rank_tolerance,
    semidefinite_root,
    solve_primal,
)
from skgeom._kernel._held_out_errors import complement_of
from skgeom._kernel._system import (
    ALL_MEANS_EQUAL,
    ALL_SAMPLES_EQUAL,
    check_finite_kernel,
    discriminants_of,
)
from skgeom._kernel._training_data import BlockedRows
from skgeom._statistics import ROWS_PER_BLOCK
from skgeom.utils.array_api import in_double, like, namespace, on_cpu, take, to_numpy
from skgeom.utils.validation import require_memory

# Largest number of samples for k-means: with all of a million samples, it would take
# longer than the moments (`bench_kernel_discriminant.py million`).
_MANY = 100_000


def n_landmarks_of(parameter, n_samples):
    """Number of landmarks, at most the number of samples.

    Raises MemoryError if their kernel matrix needs more memory than there is.

    "auto" is 200 times the fourth root of the number of samples: 2,000 for 10,000, and
    6,300 for a million, so that the time of the fit grows with the power 3/2.
    """
    if parameter == "auto":
        parameter = round(200 * n_samples**0.25)
    n_landmarks = int(min(parameter, n_samples))  # of int8, products overflow
    require_memory(
        16 * n_landmarks**2,
        f"The kernel matrix of {n_landmarks} landmarks and its factor",
        "Reduce n_landmarks.",
    )
    return n_landmarks


class LandmarkFeatures:
    """The features z(x) of a set of landmarks, for a kernel of size one.

    Landmarks that depend on the others, up to rounding, are removed. The factor L is
    found with pivoting and ends there, so a nearly singular kernel matrix is allowed.

    Parameters
    ----------
    matrix : ndarray of shape (n_landmarks, n_landmarks)
        The kernel matrix of the landmarks.
    columns : callable
        ``columns(X, kept)`` is the kernel matrix of samples and some landmarks.
    dtype : dtype
        The precision of the features; the factor is found in double precision.

    Attributes
    ----------
    kept : ndarray of shape (rank,)
        Indices of the landmarks that were not removed.
    factor : ndarray of shape (rank, rank)
        The lower triangular matrix L.
    dtype : dtype
        The precision of the features.
    kernel_max : float
        The largest value of the kernel among the landmarks, which it is divided by.
    """

    def __init__(self, matrix, columns, dtype):
        # Dividing by L enlarges the rounding of the kernel by one over the smallest
        # pivot. So the factor ends before pivots get as small as rounding.
        self.kernel_max = float(check_finite_kernel(matrix)) or 1.0
        factor, pivots = pivoted_cholesky(
            to_numpy(matrix) / self.kernel_max, np.finfo(dtype).eps ** 0.75
        )
        rank = factor.shape[1]
        if not rank:
            raise ValueError(
                "The kernel of the landmarks with themselves is zero. Increase "
                "n_landmarks, or change random_state or the kernel."
            )
        self.kept, self.factor = pivots[:rank], factor[:rank]
        self._columns = columns
        self.dtype = np.dtype(dtype)
        self._rounded = self.factor.astype(dtype)
        if namespace(matrix) is not np:
            # The array API standard has no triangular solution.
            inverse = solve_triangular(self.factor, np.eye(rank), lower=True)
            self._rounded = like(inverse.astype(dtype), matrix)

    def __call__(self, X):
        """Features of samples, (n_samples, rank), in the namespace of the samples."""
        block = self._columns(X, self.kept)
        if self.kernel_max != 1:
            block = block / self.kernel_max
        if namespace(X) is not np:
            return namespace(X).astype(block, X.dtype) @ self._rounded.T
        block = block.astype(self.dtype, copy=False)
        return solve_triangular(
            self._rounded, block.T, lower=True, check_finite=False
        ).T

    def to_coefficients(self, vectors):
        """Coefficients of the kernels, from coefficients of the features."""
        coefficients = solve_triangular(self.factor, vectors, lower=True, trans="T")
        return coefficients / self.kernel_max

    def moments(self, data):
        """Class means of z, and the sum of the weights times z z^T, in one pass."""
        X, columns = data.X, (data.codes, data.weights)
        sum_up = partial(self._sums, n_classes=len(data.class_weights))
        blocked = isinstance(X, BlockedRows)
        sums, moment = X.total(sum_up, *columns) if blocked else sum_up(X, *columns)
        return sums / data.class_weights[:, None], moment

    def _sums(self, X, codes, weights, n_classes):
        """Sums of weights times z, over the classes, and times z z^T, over all."""
        rank = len(self.kept)
        sums, moment = np.zeros((n_classes, rank)), 0.0
        members = np.eye(n_classes, dtype=self.dtype)
        roots = np.sqrt(weights).astype(self.dtype)
        for batch in gen_batches(X.shape[0], ROWS_PER_BLOCK):
            rows = X[batch] if namespace(X) is np else X[batch, ...]
            root = roots[batch, None]
            z = self(rows) * like(root, rows)
            sums += to_numpy(like(members[codes[batch]] * root, rows).T @ z)
            moment = moment + in_double(z.T @ z)
        return sums, to_numpy(moment)


class LandmarkSystem:
    """The scatter matrices of landmark features.

    Parameters
    ----------
    features : LandmarkFeatures
        The features.
    data : TrainingData
        The training samples.
    identity : bool
        As for :class:`KernelSystem`.
    """

    def __init__(self, features, data, *, identity):
        self.features, self.data = features, data
        self.kernel_max, self.class_weights = features.kernel_max, data.class_weights
        self.means, moment = features.moments(data)
        self.identity = identity
        self.mean = data.class_weights @ self.means
        check_finite_kernel(moment)
        total = moment - np.outer(self.mean, self.mean)
        if np.trace(total) <= 10 * np.finfo(features.dtype).eps * np.trace(moment):
            raise ValueError(ALL_SAMPLES_EQUAL)
        contrasts = class_contrasts(data.class_weights)
        between = (self.means.T * np.sqrt(data.class_weights)) @ contrasts
        rounding = 100 * np.finfo(features.dtype).eps * np.sqrt(np.trace(moment))
        self.same_means = np.linalg.norm(between) <= rounding
        self.root = None
        if identity:
            # The penalty is on coefficients a of all samples, of which the vector v =
            # Z^T a is wanted. The smallest such a for v = M x, with M M^T = Z^T Z, the
            # centered moment, is as long as x. So in the coordinates x the penalty is
            # the identity.
            self.root = semidefinite_root(total, 10 * np.finfo(features.dtype).eps)
            total, between = self.root.T @ total @ self.root, self.root.T @ between
        self.total, self.between = total, between

    def complement(self, regularization, n_last):
        """As :meth:`KernelSystem.complement`."""
        regularized = self.total.copy()
        penalty = regularization * np.trace(self.total)
        regularized.flat[:: len(regularized) + 1] += penalty
        last = np.arange(len(self.data.codes))[-n_last:]
        centered = to_numpy(self.features(take(self.data.X, last))) - self.mean
        if self.root is not None:
            centered = centered @ self.root
        factor, lower = cho_factor(regularized, lower=True, check_finite=False)
        whitened = solve_triangular(
            factor, centered.astype(np.float64).T, lower=lower, check_finite=False
        ).T
        roots = np.sqrt(self.data.weights[last])
        return complement_of(roots[:, None] * whitened, roots)

    def solve_nystroem(self, regularization, criterion, n_components):
        """Discriminants with coefficients of the landmarks kept."""
        if criterion == "between" and self.same_means:
            raise ValueError(ALL_MEANS_EQUAL)
        penalty = regularization * np.trace(self.total)
        ratios, vectors = solve_primal(
            self.total,
            self.between,
            penalty,
            criterion,
            n_components,
            rank_tolerance(regularization),
        )
        vectors = vectors if self.root is None else self.root @ vectors
        offset = self.mean @ vectors
        coefficients = self.features.to_coefficients(vectors)
        means = self.means @ vectors - offset
        return discriminants_of(self, ratios, coefficients, offset, means, penalty)


def random_landmarks(n_landmarks, n_samples, random_state):
    """Numbers of samples, drawn without replacement."""
    if n_landmarks >= n_samples:
        return np.arange(n_samples)
    return np.sort(random_state.choice(n_samples, n_landmarks, replace=False))


def kmeans_landmarks(n_landmarks, X, codes, weights, random_state):
    """Centers of clusters within each class, in numbers that follow the class sizes.

    Of many samples, some are drawn at random, which are enough to find the clusters.
    The clusters are found in CPU memory.
    """
    counts = np.bincount(codes)
    edges = np.round(np.cumsum(counts) / counts.sum() * n_landmarks).astype(int)
    sizes = np.maximum(np.diff(edges, prepend=0), 1)
    enough, drawn = max(_MANY // n_landmarks, 1), []  # samples for each center
    for code, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        members = np.flatnonzero(codes == code)
        if count > enough * size:
            members = random_state.choice(members, enough * size, replace=False)
        drawn.append(np.sort(members))
    samples, start, centers = on_cpu(take(X, np.concatenate(drawn))), 0, []
    for size, rows in zip(sizes, drawn, strict=True):
        points = samples[start : start + len(rows)]
        start += len(rows)
        if size >= len(rows):
            centers.append(points)
            continue
        kmeans = MiniBatchKMeans(
            size,
            init="random",
            n_init=1,
            max_iter=3,
            batch_size=2048,
            reassignment_ratio=0,
            random_state=random_state,
        )
        kmeans.fit(points, sample_weight=weights[rows])
        centers.append(kmeans.cluster_centers_)
    return like(np.vstack(centers), X)
