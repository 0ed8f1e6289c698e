"""The Nystroem approximation: landmarks, the features they give, and the solution.

Landmarks l_1, ..., l_m with the kernel matrix L L^T give each sample the features z(x)
= L^-1 (k(l_1, x), ..., k(l_m, x)). Their inner products are the kernel of the samples'
projections onto the span of the landmarks in the feature space. With them, the problem
has the order m and needs first and second moments only. Samples are taken in blocks, so
that memory does not grow with their number.
"""

from functools import partial

import numpy as np
from scipy.linalg import cho_factor, solve_triangular
from scipy.sparse import issparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import gen_batches

from skgeom._kernel.blocks import BlockedRows
from skgeom._kernel.device import LowerTriangle
from skgeom._kernel.problem import (
    ALL_MEANS_EQUAL,
    ALL_SAMPLES_EQUAL,
    Discriminants,
    check_finite_kernel,
)
from skgeom._kernel.solvers import (
    class_contrasts,
    pivoted_cholesky,
    semidefinite_root,
    solve_primal,
)
from skgeom.utils.array_api import in_double, like, namespace, on_host, take, to_numpy

# Samples of a block: enough for fast products, at little memory.
_BLOCK = 4096
# Largest number of random landmarks by which leverage scores are estimated.
_PILOT = 1000
# Samples that cluster centres are found from, at most.
_MANY = 100_000
_EPS = np.finfo(np.float64).eps


class LandmarkFeatures:
    """The features z(x) of a set of landmarks, for a kernel of size one.

    Landmarks that depend on the others, up to rounding, are left out. The factor L is
    found with pivoting and ends there, so a nearly singular kernel matrix does no harm.

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
        Indices of the landmarks that were not left out.
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
                "The kernel of the landmarks with themselves is zero, so that they "
                "tell nothing about the samples; increase n_landmarks, choose others "
                "by landmarks or random_state, or use another kernel."
            )
        self.kept, self.factor = pivots[:rank], factor[:rank]
        self._columns = columns
        self.dtype = np.dtype(dtype)
        self._rounded = self.factor.astype(dtype)
        if namespace(matrix) is not np:
            self._rounded = LowerTriangle(like(self._rounded, matrix))

    def __call__(self, X):
        """Features of samples, (n_samples, rank), in the library of these."""
        block = self._columns(X, self.kept)
        if self.kernel_max != 1:
            block = block / self.kernel_max
        if namespace(X) is not np:
            return self._rounded.solve(namespace(X).astype(block, X.dtype).T).T
        block = block.astype(self.dtype, copy=False)
        return solve_triangular(
            self._rounded, block.T, lower=True, check_finite=False
        ).T

    def to_coefficients(self, vectors):
        """Coefficients of the kernels, from those of the features."""
        coefficients = solve_triangular(self.factor, vectors, lower=True, trans="T")
        return coefficients / self.kernel_max

    def moments(self, X, codes, weights, class_weights):
        """Class means of z, and the sum of the weights times z z^T, in one pass."""
        sum_up = partial(self._sums, n_classes=len(class_weights))
        if isinstance(X, BlockedRows):
            sums, moment = X.total(sum_up, codes, weights)
        elif namespace(X) is not np:
            sums, moment = self._sums_there(X, codes, weights, len(class_weights))
        else:
            sums, moment = sum_up(X, codes, weights)
        return sums / class_weights[:, None], moment

    def _sums(self, X, codes, weights, n_classes):
        """Sums of weights times z, over the classes, and times z z^T, over all."""
        rank, dtype = len(self.kept), self.dtype
        sums, moment = np.zeros((n_classes, rank)), np.zeros((rank, rank))
        root = np.sqrt(weights)
        for batch in gen_batches(X.shape[0], _BLOCK):
            z = self(X[batch]) * root[batch, None].astype(dtype)
            members = np.zeros((len(z), n_classes), dtype)
            members[np.arange(len(z)), codes[batch]] = root[batch]
            sums += members.T @ z
            moment += z.T @ z
        return sums, moment

    def _sums_there(self, X, codes, weights, n_classes):
        """As :meth:`_sums`, where the samples are of another library than numpy."""
        xp, sums, moment = namespace(X), 0.0, 0.0
        classes = like(np.arange(n_classes), X)
        codes, root = like(codes, X), like(np.sqrt(weights), X, self.dtype.name)
        for batch in gen_batches(X.shape[0], _BLOCK):
            z = self(X[batch, ...]) * root[batch, None]
            members = xp.astype(codes[batch, None] == classes, X.dtype)
            sums = sums + in_double((members * root[batch, None]).T @ z)
            moment = moment + in_double(z.T @ z)
        return to_numpy(sums), to_numpy(moment)


class LandmarkProblem:
    """The scatter matrices of landmark features.

    Parameters
    ----------
    features : LandmarkFeatures
        The features.
    means, moment : ndarray
        The results of ``features.moments``.
    class_weights : ndarray of shape (n_classes,)
        Weights of the classes, of sum one.
    identity, center : bool
        As for :class:`KernelProblem`.
    """

    def __init__(self, features, means, moment, class_weights, *, identity, center):
        self.features, self.means, self.class_weights = features, means, class_weights
        self.identity, self.center = identity, center
        self.mean = class_weights @ means
        check_finite_kernel(moment)
        total = moment - np.outer(self.mean, self.mean)
        if np.trace(total) <= 10 * np.finfo(features.dtype).eps * np.trace(moment):
            raise ValueError(ALL_SAMPLES_EQUAL)
        between = (means.T * np.sqrt(class_weights)) @ class_contrasts(class_weights)
        rounding = 100 * np.finfo(features.dtype).eps * np.sqrt(np.trace(moment))
        self._same_means = np.linalg.norm(between) <= rounding
        self.root = None
        if identity:
            # The penalty is on coefficients a of all samples, of which the vector v =
            # Z^T a is wanted. The smallest such a for v = M x, with M M^T = Z^T Z, the
            # (centred) moment, is as long as x. So in the coordinates x the penalty is
            # the identity.
            self.root = semidefinite_root(
                total if center else moment, 10 * np.finfo(features.dtype).eps
            )
            total, between = self.root.T @ total @ self.root, self.root.T @ between
        self.total, self.between = total, between

    def _coordinates(self, z):
        """Coordinates in which the penalty is the identity, from those of features."""
        return z if self.root is None else z @ self.root

    def _penalty(self, regularization):
        return regularization * np.trace(self.total)

    def leverages(self, regularization, X, weights):
        """As :meth:`KernelProblem.leverages`, for some samples and their weights."""
        regularized = self.total.copy()
        regularized.flat[:: len(regularized) + 1] += self._penalty(regularization)
        features = to_numpy(self.features(X))
        centered = self._coordinates(features - self.mean).astype(np.float64)
        factor, lower = cho_factor(regularized, lower=True, check_finite=False)
        whitened = solve_triangular(factor, centered.T, lower=lower, check_finite=False)
        return weights * (np.einsum("ij,ij->j", whitened, whitened) + 1)

    def solve(self, regularization, criterion, n_components):
        """Discriminants with coefficients of the landmarks kept."""
        if criterion == "between" and self._same_means:
            raise ValueError(ALL_MEANS_EQUAL)
        penalty = self._penalty(regularization)
        ratios, vectors = solve_primal(
            self.total, self.between, penalty, criterion, n_components
        )
        vectors = vectors if self.root is None else self.root @ vectors
        offset = self.mean @ vectors if self.center else np.zeros(vectors.shape[1])
        kernel_max = self.features.kernel_max
        penalty = float(penalty) * kernel_max
        if self.identity:
            penalty *= kernel_max
        coefficients = self.features.to_coefficients(vectors)
        means = self.means @ vectors - offset
        center = self.class_weights @ means
        found = Discriminants(ratios, coefficients, offset, means, center, penalty)
        return found.with_fixed_signs()


def random_landmarks(n_landmarks, weights, random_state):
    """Indices of samples of positive weight, drawn without replacement."""
    candidates = np.flatnonzero(weights)
    if n_landmarks >= len(candidates):
        return candidates
    return np.sort(random_state.choice(candidates, n_landmarks, replace=False))


def leverage_landmarks(n_landmarks, make_features, X, weights, random_state):
    """Indices of samples drawn by their ridge leverage scores.

    The score of a sample with the features z is z^T (Z^T W Z + lambda I)^-1 z, times
    its weight: how much its own label counts in its prediction by kernel ridge
    regression. It is large for samples that resemble no others. Exact scores would need
    the whole kernel matrix, so the features are those of random landmarks, which
    ``make_features(indices)`` gives.
    """
    pilot = random_landmarks(min(n_landmarks, _PILOT), weights, random_state)
    features = make_features(pilot)
    codes = np.zeros(X.shape[0], dtype=int)
    _, moment = features.moments(X, codes, weights, np.ones(1))
    # This lambda is the mean of n_landmarks eigenvalues that have the whole trace: the
    # scores then sum to less than n_landmarks.
    moment.flat[:: len(moment) + 1] += np.trace(moment) / n_landmarks
    factor = np.linalg.cholesky(moment)
    scores = _squared_norms(features, factor, X)
    # A sample that is orthogonal to all pilot landmarks has a score of zero.
    scores = np.maximum(scores, 1e-6 * scores.max()) * weights
    return np.sort(
        random_state.choice(
            X.shape[0], n_landmarks, replace=False, p=scores / scores.sum()
        )
    )


def _squared_norms(features, factor, X):
    """Those of L^-1 z(x) for samples x, given z and L."""
    norms = np.empty(X.shape[0])
    xp, triangle = namespace(X), None
    if xp is not np:
        triangle = LowerTriangle(like(factor, X))
    for batch in gen_batches(X.shape[0], _BLOCK):
        if triangle:
            whitened = triangle.solve(in_double(features(X[batch, ...])).T)
            norms[batch] = to_numpy(xp.sum(whitened**2, axis=0))
        else:
            whitened = solve_triangular(factor, features(X[batch]).T, lower=True)
            norms[batch] = np.einsum("ij,ij->j", whitened, whitened)
    return norms


def kmeans_landmarks(n_landmarks, X, codes, weights, random_state):
    """Centres of clusters within each class, in numbers that follow the class sizes.

    Of many samples, some are drawn at random, which are enough to find the clusters.
    The clusters are found on the host.
    """
    used = weights > 0
    counts = np.bincount(codes[used])
    edges = np.round(np.cumsum(counts) / counts.sum() * n_landmarks).astype(int)
    sizes = np.maximum(np.diff(edges, prepend=0), 1)
    enough, drawn = max(_MANY // n_landmarks, 1), []  # samples for each centre
    for code, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        members = np.flatnonzero(used & (codes == code))
        if count > enough * size:
            members = random_state.choice(members, enough * size, replace=False)
        drawn.append(np.sort(members))
    samples, start, centers = on_host(take(X, np.concatenate(drawn))), 0, []
    for size, rows in zip(sizes, drawn, strict=True):
        points = samples[start : start + len(rows)]
        start += len(rows)
        if size >= len(rows):
            centers.append(points.toarray() if issparse(points) else points)
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
