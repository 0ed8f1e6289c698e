"""Gaussian classes with a common covariance, whose means vary between domains.

Vectors are in coordinates in which the covariance S is the identity, unless S is yet to
be found.
"""

import numpy as np
from scipy.special import softmax

# Shrinkages to choose from; of equally accurate ones, the first.
_SHRINKAGES = np.array([1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05])
_N_FOLDS = 5


def class_means(V, y):
    """Means of the classes, (n_classes, p)."""
    members = np.arange(y.max() + 1)[:, None] == y
    return members @ V / members.sum(axis=1, keepdims=True)


def shrunk(covariance, shrinkage):
    """Covariance with a weight on the identity of the same trace."""
    size = np.trace(covariance) / len(covariance)
    return (1 - shrinkage) * covariance + shrinkage * size * np.eye(len(covariance))


def log_densities(Z, means, log_priors):
    """Logarithms of prior times density of each class, less what they share."""
    return Z @ means.T - (means**2).sum(axis=1) / 2 + log_priors


def adapted_means(Z, start, log_priors, strength, max_iter, tol):
    r"""Class means of a new domain by expectation maximisation, and the iterations.

    They maximise the logarithm of the posterior of the means,

    .. math::

       \sum_i \log \sum_c \pi_c \, \mathcal{N}(z_i; \mu_c, I)
       - \frac{\kappa}{2} \sum_c \|\mu_c - \bar\mu_c\|^2,

    which no iteration lowers.
    """
    means, n_iter, change = start, 0, np.inf
    while n_iter < max_iter and change > tol:
        shares = softmax(log_densities(Z, means, log_priors), axis=1)
        totals = strength + shares.sum(axis=0)
        moved = (strength * start + shares.T @ Z) / totals[:, None]
        change = np.linalg.norm(moved - means, axis=1).max()
        means, n_iter = moved, n_iter + 1
    return means, n_iter


def chosen_shrinkage(V, y, groups, priors):
    """The shrinkage of the highest accuracy on folds that were left out."""
    correct = np.zeros(len(_SHRINKAGES))
    folds = _folds(y, groups)
    for fold in range(folds.max() + 1):
        train, test = folds != fold, folds == fold
        if len(np.unique(y[train])) < len(priors):  # a class is in this fold only
            continue
        means = class_means(V[train], y[train])
        residuals = V[train] - means[y[train]]
        eigenvalues, axes = np.linalg.eigh(residuals.T @ residuals / train.sum())
        size = eigenvalues.mean()
        if size <= 0:
            continue
        projected, means = V[test] @ axes, means @ axes
        for index, shrinkage in enumerate(_SHRINKAGES):
            scale = np.sqrt((1 - shrinkage) * eigenvalues + shrinkage * size)
            scores = log_densities(projected / scale, means / scale, np.log(priors))
            correct[index] += (scores.argmax(axis=1) == y[test]).sum()
    return float(_SHRINKAGES[correct.argmax()])


def _folds(y, groups):
    """Fold of each sample: whole domains in turn, or the samples of each class."""
    if groups.max() > 0:
        return groups % min(_N_FOLDS, groups.max() + 1)
    folds = np.empty(len(y), dtype=int)
    for label in range(y.max() + 1):
        own = np.flatnonzero(y == label)
        folds[own] = np.arange(len(own)) % _N_FOLDS
    return folds
