"""Annealed PLRSQ (PLRSQ-AN) and RSLVQ: the variance decreases, as in Seo and Obermayer.

``AlgorithmOne`` is algorithm 1 of the paper without the bounds of ``PLRSQ``.
"""

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from skgeom import PLRSQ, RSLVQ
from skgeom.geometry import expm, mean_affine_invariant


def annealed(sigma2, n_epochs, power=1.1):
    """Variances that decrease in each epoch, increasingly fast, to a minimum.

    The constants are those of section 6 of the paper. With ``power=1``, the variances
    decrease by a fixed factor, as in figure 4.
    """
    scales, factor, floor = [sigma2], 0.99, 0.01
    last = max(sigma2 - 0.4, floor)
    while len(scales) < n_epochs:
        factor **= power
        falls = scales[-1] >= last
        scales.append(max(scales[-1] * factor, floor) if falls else scales[-1])
    return scales


def epochs(model, X, y, scales):
    """Train a model with a variance for each epoch, and yield the cost of the epoch.

    ``partial_fit`` keeps the order of the samples, so they are shuffled here.
    """
    for sigma2 in scales:
        order = model.random_state.permutation(len(X))
        model.set_params(sigma2=sigma2).partial_fit(X[order], y[order])
        yield model.loss_curve_[-1]


class Annealed:
    """Epochs with the variances of ``annealed``."""

    def fit(self, X, y):
        first, seed = self.sigma2, self.random_state
        self.set_params(random_state=check_random_state(seed))
        for _ in epochs(self, X, y, annealed(first, self.max_iter)):
            pass
        return self.set_params(sigma2=first, random_state=seed)


class AnnealedPLRSQ(Annealed, PLRSQ):
    pass


class AnnealedRSLVQ(Annealed, RSLVQ):
    pass


class AlgorithmOne(ClassifierMixin, BaseEstimator):
    """Algorithm 1 of the paper: equal priors of all prototypes, unbounded steps.

    ``PLRSQ(solver="sgd")`` differs in two points: it uses the class proportions of the
    training samples, and bounds the steps. ``sigma2`` is a number for all epochs, or a
    list with a number for each epoch.
    """

    def __init__(self, n_prototypes=1, sigma2=1.0, max_iter=100, random_state=None):
        self.n_prototypes = n_prototypes
        self.sigma2 = sigma2
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y):
        for _ in self.epochs(X, y):
            pass
        return self

    def epochs(self, X, y):
        """Train, and yield the cost that the samples meet in each epoch."""
        rng, n = check_random_state(self.random_state), X.shape[-1]
        self.classes_, y = np.unique(y, return_inverse=True)
        self.labels_ = np.repeat(np.arange(len(self.classes_)), self.n_prototypes)
        means = [mean_affine_invariant(X[y == k]) for k in range(len(self.classes_))]
        moves = rng.uniform(-1e-3, 1e-3, (len(self.labels_), n, n))
        roots = np.linalg.cholesky(np.array(means)[self.labels_])
        self.prototypes_ = roots @ expm((moves + moves.mT) / 2) @ roots.mT
        scales = np.broadcast_to(self.sigma2, self.max_iter)
        for epoch, scale in enumerate(scales, 1):
            rate = n * self.n_prototypes / 100 * 0.01 ** (epoch / self.max_iter)
            order = rng.permutation(len(X))
            yield sum(self.step(X[i], y[i], rate, scale) for i in order)

    def step(self, x, label, rate, sigma2):
        """Move all prototypes for a sample; the cost of the sample before the move."""
        squared, values, vectors = self._compare(x)
        own = self.labels_ == label
        log_p = log_softmax(-squared / (2 * sigma2))
        log_own = log_softmax(np.where(own, -squared / (2 * sigma2), -np.inf))
        powers = rate / sigma2 * (np.exp(log_own) - np.exp(log_p))
        moved = values ** powers[:, None]
        self.prototypes_ = (vectors * moved[:, None, :]) @ vectors.mT
        return -np.logaddexp.reduce(log_p[own])

    def _compare(self, x):
        """Squared distances to x; values and V with W = V V', x = V diag(values) V'."""
        roots = np.linalg.cholesky(self.prototypes_)
        whitened = np.linalg.solve(roots, np.linalg.solve(roots, x[None]).mT)
        values, vectors = np.linalg.eigh(whitened)
        return (np.log(values) ** 2).sum(axis=1), values, roots @ vectors

    def predict(self, X):
        """The class of the nearest prototype, as in the authors' code."""
        nearest = [self._compare(x)[0].argmin() for x in X]
        return self.classes_[self.labels_[nearest]]
