"""The Nystroem approximation: landmarks, the features they give, and the solution.

Landmarks l_1, ..., l_m with the kernel matrix L L^T give each sample the features z(x)
= L^-1 (k(l_1, x), ..., k(l_m, x)), whose inner products approximate the kernel. Samples
are taken in blocks, so that memory does not grow with their number.
"""

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import gen_batches

from skgeom._kernel.problem import (
    SAME,
    SAME_MEANS,
    Discriminants,
    check_finite_kernel,
)
from skgeom._kernel.solvers import class_contrasts, pivoted_cholesky, solve_primal

# Samples of a block: enough for fast products, and small beside the landmarks.
_BLOCK = 4096
# Largest number of random landmarks by which leverage scores are estimated.
_PILOT = 1000


class LandmarkFeatures:
    """The features z(x) of a set of landmarks, for a kernel of size one.

    Landmarks that the others determine, to rounding, are left out: the factor L is
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
        Numbers of the landmarks that were not left out.
    factor : ndarray of shape (rank, rank)
        The lower triangular matrix L.
    dtype : dtype
        The precision of the features.
    size : float
        What the kernel is divided by, its largest value among the landmarks.
    """

    def __init__(self, matrix, columns, dtype):
        # The rounding of the kernel, which dividing by L enlarges, is to stay below
        # what is left out.
        self.size = float(check_finite_kernel(matrix)) or 1.0
        factor, pivots = pivoted_cholesky(
            matrix / self.size, np.finfo(dtype).eps ** 0.75
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
        self._rounded = self.factor.astype(dtype)
        self.dtype = np.dtype(dtype)

    def __call__(self, X):
        """Features of samples, (n_samples, rank)."""
        block = self._columns(X, self.kept)
        if self.size != 1:
            block = block / self.size
        block = block.astype(self.dtype, copy=False)
        return solve_triangular(
            self._rounded, block.T, lower=True, check_finite=False
        ).T

    def to_coefficients(self, vectors):
        """What multiplies kernels instead of vectors that multiply features."""
        coefficients = solve_triangular(self.factor, vectors, lower=True, trans="T")
        return coefficients / self.size

    def moments(self, X, codes, weights, shares):
        """Class means, and sum of the weights times z z^T, with a pass over X."""
        rank, dtype = len(self.kept), self.dtype
        sums, moment = np.zeros((len(shares), rank)), np.zeros((rank, rank))
        root = np.sqrt(weights)
        for batch in gen_batches(len(X), _BLOCK):
            z = self(X[batch]) * root[batch, None].astype(dtype)
            members = np.zeros((len(z), len(shares)), dtype)
            members[np.arange(len(z)), codes[batch]] = root[batch]
            sums += members.T @ z
            moment += z.T @ z
        return sums / shares[:, None], moment


def solve_nystroem(
    features, means, moment, shares, *, identity, center, regularization, **settings
):
    """Discriminants from the moments of landmark features.

    Parameters
    ----------
    features : LandmarkFeatures
        The features.
    means, moment : ndarray
        What ``features.moments`` returned.
    shares : ndarray of shape (n_classes,)
        Weights of the classes, of sum one.
    identity, center : bool
        As for :class:`KernelProblem`.
    regularization : float
        Lambda over the trace of the total scatter matrix.
    **settings : dict
        ``criterion`` and ``n_components``.

    Returns
    -------
    discriminants : Discriminants
        With coefficients of the landmarks kept.
    """
    mean = shares @ means
    check_finite_kernel(moment)
    total = moment - np.outer(mean, mean)
    if np.trace(total) <= 10 * np.finfo(features.dtype).eps * np.trace(moment):
        raise ValueError(SAME)
    between = (means.T * np.sqrt(shares)) @ class_contrasts(shares)
    rounding = 100 * np.finfo(features.dtype).eps * np.sqrt(np.trace(moment))
    if settings["criterion"] == "between" and np.linalg.norm(between) <= rounding:
        raise ValueError(SAME_MEANS)
    if identity:
        # The vectors M x, with M M^T the (centred) moment, are those whose smallest
        # coefficients of the samples have the length of x.
        factor, pivots = pivoted_cholesky(
            total if center else moment, 10 * np.finfo(features.dtype).eps
        )
        root = np.empty_like(factor)
        root[pivots] = factor
        total, between = root.T @ total @ root, root.T @ between
    penalty = regularization * np.trace(total)
    ratios, vectors = solve_primal(total, between, penalty, **settings)
    if identity:
        vectors = root @ vectors
    offset = mean @ vectors if center else np.zeros(vectors.shape[1])
    return Discriminants(
        ratios,
        features.to_coefficients(vectors),
        offset,
        means @ vectors - offset,
        float(penalty) * features.size * (features.size if identity else 1),
    ).turned()


def random_landmarks(n_landmarks, weights, random_state):
    """Numbers of samples of positive weight, drawn without replacement."""
    candidates = np.flatnonzero(weights)
    if n_landmarks >= len(candidates):
        return candidates
    return np.sort(random_state.choice(candidates, n_landmarks, replace=False))


def leverage_landmarks(n_landmarks, make_features, X, weights, random_state):
    """Numbers of samples drawn by their ridge leverage scores.

    The score of a sample is how far it determines a kernel ridge regression itself, as
    found with features of random landmarks, which ``make_features(numbers)`` gives.
    """
    pilot = random_landmarks(min(n_landmarks, _PILOT), weights, random_state)
    features = make_features(pilot)
    codes = np.zeros(len(X), dtype=int)
    _, moment = features.moments(X, codes, weights, np.ones(1))
    moment.flat[:: len(moment) + 1] += np.trace(moment) / n_landmarks
    factor = np.linalg.cholesky(moment)
    scores = np.empty(len(X))
    for batch in gen_batches(len(X), _BLOCK):
        whitened = solve_triangular(factor, features(X[batch]).T, lower=True)
        scores[batch] = np.einsum("ij,ij->j", whitened, whitened)
    # Some samples may be orthogonal to all of the pilot.
    scores = np.maximum(scores, 1e-6 * scores.max()) * weights
    return np.sort(
        random_state.choice(len(X), n_landmarks, replace=False, p=scores / scores.sum())
    )


def kmeans_landmarks(n_landmarks, X, codes, weights, random_state):
    """Centres of clusters within each class, in numbers that follow the class sizes."""
    used = weights > 0
    counts = np.bincount(codes[used])
    edges = np.round(np.cumsum(counts) / counts.sum() * n_landmarks).astype(int)
    centers = []
    for code, size in enumerate(np.diff(edges, prepend=0)):
        members = used & (codes == code)
        size = max(size, 1)
        if size >= counts[code]:
            centers.append(X[members])
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
        kmeans.fit(X[members], sample_weight=weights[members])
        centers.append(kmeans.cluster_centers_)
    return np.vstack(centers)
