"""The Nystroem approximation: landmarks, their features, and the solution.

For landmarks l_1, ..., l_m with the kernel matrix L L^T, the features of a sample x are
z(x) = L^-1 (k(l_1, x), ..., k(l_m, x)). The inner product of two feature vectors is the
inner product of the projections of the samples onto the span of the landmarks in the
feature space. The system of these features has the order m and requires only first and
second moments. Samples are processed in blocks, so the memory does not grow with the
number of samples.
"""

from functools import partial

import numpy as np
from scipy.linalg import cho_factor, solve_triangular
from scipy.sparse import issparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import gen_batches

from skgeom._kernel._eigenproblems import (
    class_contrasts,
    rank_tolerance,
    solve_primal,
)
from skgeom._kernel._held_out_errors import complement_of
from skgeom._kernel._kernels import check_definite, warn_if_nearly_diagonal
from skgeom._kernel._system import (
    ALL_SAMPLES_EQUAL,
    LastSamples,
    check_finite_kernel,
    discriminants_of,
)
from skgeom._kernel._training_data import BlockedRows
from skgeom.utils.array_api import (
    in_double,
    like,
    namespace,
    on_cpu,
    precision,
    take,
    to_numpy,
)
from skgeom.utils.linalg import pivoted_cholesky, semidefinite_root
from skgeom.utils.memory import ROWS_PER_BLOCK, require_memory

# Largest number of samples for k-means. With all samples of a million, k-means would
# take longer than the moments (`bench_kernel_discriminant.py million`).
_MANY = 100_000


def n_landmarks_of(parameter, n_samples):
    """Number of landmarks, at most the number of samples.

    "auto" is 200 times the fourth root of the number of samples: 2,000 landmarks for
    10,000 samples, and 6,300 landmarks for a million samples. The time of the fit is
    then proportional to the power 3/2 of the number of samples. Raises MemoryError if
    the kernel matrix of the landmarks does not fit into memory.
    """
    if parameter == "auto":
        parameter = round(200 * n_samples**0.25)
    n_landmarks = int(min(parameter, n_samples))  # products of int8 would overflow
    require_memory(
        16 * n_landmarks**2,
        f"The kernel matrix of {n_landmarks} landmarks and its factor",
        "Reduce n_landmarks.",
    )
    return n_landmarks


class LandmarkFeatures:
    """The features z(x) of a set of landmarks, for a kernel with the maximum one.

    Linearly dependent landmarks are removed by the pivoted Cholesky factorization, so
    the kernel matrix may be nearly singular.

    Parameters
    ----------
    matrix : ndarray of shape (n_landmarks, n_landmarks)
        The kernel matrix of the landmarks.
    columns : callable
        ``columns(X, kept)`` returns the kernel matrix of samples and some landmarks.
    dtype : dtype
        The precision of the features. The factor is computed in double precision.

    Attributes
    ----------
    kept : ndarray of shape (rank,)
        Indices of the landmarks that were not removed.
    factor : ndarray of shape (rank, rank)
        The lower triangular matrix L.
    dtype : dtype
        The precision of the features.
    kernel_max : float
        The largest magnitude of the kernel matrix of the landmarks, by which the kernel
        is divided.
    """

    def __init__(self, matrix, columns, dtype):
        # Division by L amplifies rounding errors by the inverse of the smallest pivot.
        # The factorization therefore ends before pivots are as small as rounding.
        self.kernel_max = check_finite_kernel(matrix) or 1.0
        factor, pivots = pivoted_cholesky(
            to_numpy(matrix) / self.kernel_max, np.finfo(dtype).eps ** 0.75
        )
        rank = factor.shape[1]
        if not rank:
            raise ValueError(
                "The kernel matrix of the landmarks is zero. Increase n_landmarks, or "
                "change random_state or the kernel."
            )
        self.kept, self.factor = pivots[:rank], factor[:rank]
        self._columns = columns
        self.dtype = np.dtype(dtype)
        self._rounded = self.factor.astype(dtype)
        if namespace(matrix) is not np:
            # The array API standard has no solver for triangular systems.
            inverse = solve_triangular(self.factor, np.eye(rank), lower=True)
            self._rounded = like(inverse.astype(dtype), matrix)

    def __call__(self, X):
        """Features of samples, (n_samples, rank), in the namespace of the samples."""
        block = self._columns(X, self.kept) / self.kernel_max
        if namespace(X) is not np:
            return block @ self._rounded.T
        block = block.astype(self.dtype, copy=False)
        return solve_triangular(
            self._rounded, block.T, lower=True, check_finite=False
        ).T

    def to_coefficients(self, vectors):
        """Convert coefficients of the features to coefficients of the kernels."""
        coefficients = solve_triangular(self.factor, vectors, lower=True, trans="T")
        return coefficients / self.kernel_max

    def moments(self, data):
        """Class means of z, and the weighted sum of z z^T, in one pass."""
        X, columns = data.X, (data.codes, data.weights)
        sum_up = partial(self._sums, n_classes=len(data.class_weights))
        blocked = isinstance(X, BlockedRows)
        sums, moment = X.total(sum_up, *columns) if blocked else sum_up(X, *columns)
        return sums / data.class_weights[:, None], moment

    def _sums(self, X, codes, weights, n_classes):
        """Weighted sums of z for each class, and the weighted sum of all z z^T."""
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
    kernel : Kernel
        The kernel.
    data : TrainingData
        The training samples.
    identity : bool
        As for :class:`~skgeom._kernel._system.KernelSystem`.
    landmarks : ndarray
        Landmarks in double precision, or their indices for a precomputed kernel.
    warn : bool, default=False
        Whether to warn if the kernel matrix of the landmarks is nearly diagonal.

    Attributes
    ----------
    points : ndarray
        The linearly independent landmarks.
    n_landmarks : int
        Their number.
    same_means : bool
        Whether the class means are equal up to rounding.
    """

    def __init__(self, kernel, data, identity, landmarks, warn=False):
        self.data, self.identity = data, identity
        self.features = features = _features_of(kernel, data.X, landmarks, warn)
        self.points = take(landmarks, features.kept)
        self.n_landmarks = len(features.kept)
        self.kernel_max = features.kernel_max
        self.means, moment = features.moments(data)
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
            # The penalty is the squared norm of the coefficients a of all samples, but
            # the unknown is v = Z^T a. With M M^T = Z^T Z, the centered moment, and v =
            # M x, the smallest a with this v has the norm of x. In the coordinates x,
            # the penalty is therefore the identity.
            self.root = semidefinite_root(total, 10 * np.finfo(features.dtype).eps)
            total, between = self.root.T @ total @ self.root, self.root.T @ between
        self.total, self.between = total, between

    def solve(self, regularization, criterion, n_components, n_last=0):
        """See :meth:`~skgeom._kernel._system.KernelSystem.solve`."""
        penalty = regularization * np.trace(self.total)
        settings = penalty, criterion, n_components, rank_tolerance(regularization)
        ratios, vectors = solve_primal(self.total, self.between, *settings)
        last = self._last(n_last, penalty, vectors) if n_last else None
        vectors = vectors if self.root is None else self.root @ vectors
        offset = self.mean @ vectors
        coefficients = self.features.to_coefficients(vectors)
        means = self.means @ vectors - offset
        return discriminants_of(
            self, penalty, ratios, coefficients, offset, means, last
        )

    def _last(self, n_last, penalty, vectors):
        """The last samples, given the vectors of the components."""
        last = np.arange(len(self.data.codes))[-n_last:]
        centered = to_numpy(self.features(take(self.data.X, last))) - self.mean
        if self.root is not None:
            centered = centered @ self.root
        regularized = self.total + penalty * np.eye(len(self.total))
        factor, lower = cho_factor(regularized, lower=True, check_finite=False)
        whitened = solve_triangular(
            factor, centered.astype(np.float64).T, lower=lower, check_finite=False
        ).T
        roots = np.sqrt(self.data.weights[last])
        rows, shrinkage = roots[:, None] * whitened, np.ones(whitened.shape[1])
        complement = complement_of(rows, np.square(rows), shrinkage, roots)
        return LastSamples(centered @ vectors, complement)


def _features_of(kernel, X, landmarks, warn):
    """The features of landmarks, or of samples with the given indices."""
    indices = landmarks if kernel.precomputed else None
    own = take(X, landmarks) if kernel.precomputed else landmarks
    matrix = kernel(own, indices)
    if warn:
        warn_if_nearly_diagonal(matrix, kernel)
    if not kernel.definite:
        name = "The kernel matrix of the landmarks, of solver='nystroem',"
        rounding = precision(matrix) * matrix.shape[0] * check_finite_kernel(matrix)
        check_definite(matrix, name, rounding)

    def columns(X, kept):
        return kernel(X if kernel.precomputed else in_double(X), take(landmarks, kept))

    is_double = precision(matrix) == np.finfo(np.float64).eps
    return LandmarkFeatures(matrix, columns, np.float64 if is_double else np.float32)


def landmarks_of(kernel, data, n_landmarks, random_state):
    """Landmarks in double precision, or their indices for a precomputed kernel."""
    X, n_samples = data.X, len(data.codes)
    n_landmarks = n_landmarks_of(n_landmarks, n_samples)
    if kernel.precomputed:
        return random_landmarks(n_landmarks, n_samples, random_state)
    if issparse(X) and X.shape[1] <= n_landmarks:
        X = X.toarray()  # no larger than the kernels
    if issparse(X) or n_landmarks == n_samples:
        points = take(X, random_landmarks(n_landmarks, n_samples, random_state))
    else:
        settings = data.codes, data.weights, random_state
        points = kmeans_landmarks(n_landmarks, X, *settings)
    return in_double(points)


def random_landmarks(n_landmarks, n_samples, random_state):
    """Indices of samples, drawn without replacement."""
    if n_landmarks >= n_samples:
        return np.arange(n_samples)
    return np.sort(random_state.choice(n_samples, n_landmarks, replace=False))


def kmeans_landmarks(n_landmarks, X, codes, weights, random_state):
    """Centers of clusters within each class.

    The number of clusters of a class is proportional to its number of samples. If there
    are many samples, the clusters are computed from a random subset. The clusters are
    computed in CPU memory.
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
