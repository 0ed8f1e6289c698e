"""Gaussian classes with a common covariance, whose means vary between domains.

Vectors are in coordinates in which the covariance S is the identity, unless S is yet to
be found.
"""

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax

from skgeom.utils.linalg import turns

# Shrinkages to choose from; of equally accurate ones, the first.
_SHRINKAGES = np.array([1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05])
_N_FOLDS = 5

# Expectation maximisation ends when no mean moves by more, in standard deviations.
_STILL = 1e-4
_MAX_ITER = 200

# Sinkhorn's iteration ends when the shares are right to this fraction.
_BALANCE = 1e-3
_MAX_SINKHORN = 100
_TINY = 1e-100

# Eigenvalues of the relevance are at least this fraction of the largest. Class means
# are multiplied by the inverse twice: with less, only rounding would be left of them.
_LEAST_RELEVANCE = 1e-5


def class_means(V, y):
    """Means of the classes, (n_classes, p)."""
    members = np.arange(y.max() + 1)[:, None] == y
    return members @ V / members.sum(axis=1, keepdims=True)


def relevance_matrix(logarithms, y, exponent):
    """``(sum_c L_c^2)^exponent`` of the mean logarithms L_c, of norm 1.

    The identity if the classes have equal means.
    """
    means = np.stack([logarithms[y == label].mean(axis=0) for label in np.unique(y)])
    eigenvalues, axes = np.linalg.eigh((means @ means).sum(axis=0))
    largest = eigenvalues[-1] if eigenvalues[-1] > 0 else 1.0
    weights = np.maximum(eigenvalues / largest, _LEAST_RELEVANCE) ** exponent
    return (axes * (weights / weights[-1])) @ axes.T


def shrunk(covariance, shrinkage):
    """Covariance with a weight on the identity of the same trace."""
    size = np.trace(covariance) / len(covariance)
    return (1 - shrinkage) * covariance + shrinkage * size * np.eye(len(covariance))


def log_densities(Z, means, log_priors):
    """Logarithms of prior times density of each class, less what they share."""
    return Z @ means.T - (means**2).sum(axis=1) / 2 + log_priors


def adapted_means(Z, start, log_priors, strength):
    r"""Class means of a new domain, without labels.

    Expectation maximisation of the posterior of the means, whose logarithm is

    .. math::

       \sum_i \log \sum_c \pi_c \, \mathcal{N}(z_i; \mu_c, I)
       - \frac{\kappa}{2} \sum_c \|\mu_c - \bar\mu_c\|^2,

    under the constraint that the expected shares of the classes are the priors: without
    it, a class that is far from its mean loses its samples to others.
    """
    means, offsets = start, np.zeros(len(start))
    for _ in range(_MAX_ITER):
        scores = log_densities(Z, means, log_priors)
        shares, offsets = balanced_shares(scores, log_priors, offsets)
        totals = strength + shares.sum(axis=0)
        before, means = means, (strength * start + shares.T @ Z) / totals[:, None]
        if np.linalg.norm(means - before, axis=1).max() <= _STILL:
            break
    return means


def balanced_shares(scores, log_priors, offsets):
    """Shares of the classes in each sample, whose mean over the samples is the priors.

    They are the softmax of scores and an offset for each class, which Sinkhorn's
    iteration finds, from those given. Returns both.
    """
    for _ in range(_MAX_SINKHORN):
        shares = softmax(scores + offsets, axis=1)
        gaps = np.log(np.maximum(shares.mean(axis=0), _TINY)) - log_priors
        if np.abs(gaps).max() <= _BALANCE:
            break
        offsets = offsets - gaps
    return shares, offsets


def chosen_shrinkage(V, y, groups, priors):
    """The shrinkage of the highest accuracy on folds that were left out."""
    correct = np.zeros(len(_SHRINKAGES))
    folds = _folds(V, y, groups)
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


def _folds(V, y, groups):
    """Fold of each sample: whole domains in turn, or the samples of each class."""
    if groups.max() > 0:
        return groups % min(_N_FOLDS, groups.max() + 1)
    distances = cdist(V, class_means(V, y))
    own = distances[np.arange(len(y)), y]
    distances = np.column_stack([own, distances])
    return turns(y, distances, distances.max() or 1) % _N_FOLDS
