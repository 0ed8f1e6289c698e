"""Selection of the shrinkage on held-out domains or samples."""

from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from skgeom._selection import (
    PRECISION,
    calibrated_temperature,
    choose,
    class_shares,
    tempered_scores,
    warn_if_at_chance,
    warn_of_end,
)
from skgeom._transfer._tangent_gaussians import (
    Within,
    class_means,
    log_joint,
    relevance_matrix,
    weighted_vectors,
)
from skgeom.utils.linalg import fold_order
from skgeom.utils.warn import warn_user

# Candidates in order of preference, and number of folds (page "Constants").
_SHRINKAGES = [1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05]
_SHRINKAGES += [0.02, 0.01, 0.005, 0.002, 0.001]
_N_FOLDS = 5


def select_shrinkage(logarithms, y, sample_weight, folds, exponent, priors):
    """The selection of the shrinkage; None if fewer than two folds can be held out."""
    held_out = [
        test
        for test in (np.flatnonzero(folds == fold) for fold in np.unique(folds))
        if _can_train(np.delete(logarithms, test, 0), np.delete(y, test), priors)
    ]
    if len(held_out) < 2:
        warn_user(
            "shrinkage='auto' uses 1, and the probabilities are not calibrated, "
            "because fewer than two folds can be held out: the remaining matrices must "
            "contain all classes, and several different matrices of a class. Pass more "
            "matrices of each class, and domains that contain all classes.",
            UserWarning,
        )
        return None
    rows = np.concatenate(held_out)
    densities = np.concatenate(
        [
            _held_out_scores(logarithms, y, sample_weight, test, exponent)
            for test in held_out
        ],
        axis=1,
    )
    codes = y[rows]
    weights = priors[codes] * class_shares(codes, sample_weight[rows])
    weights /= weights.sum()
    joint = densities + np.log(priors)
    scores = tempered_scores(joint, codes, weights, len(y))
    # Few domains would determine their standard error imprecisely.
    selection = choose({"shrinkage": _SHRINKAGES}, scores, weights)
    found = densities[selection.index]
    at_chance = warn_if_at_chance(
        found, codes, weights, np.arange(len(codes)), of_matrices=True
    )
    wrong = weights @ (found.argmax(axis=1) != codes)
    is_last = selection.index == len(_SHRINKAGES) - 1
    if not at_chance and is_last and wrong > PRECISION:
        remedy = "If the amplitude of trials varies, divide each matrix by its trace"
        warn_of_end("shrinkage", _SHRINKAGES[::-1], 0, remedy)
    joint = joint[selection.index]
    temperature = calibrated_temperature(joint, codes, weights, len(y))
    return replace(selection, temperature=temperature)


def folds_of(V, y, weights, groups):
    """Fold of each sample. Folds are whole domains, unless one domain is too large.

    Domains are assigned to folds cyclically, in the order of their dispersions. If a
    domain has at least half of the samples, samples are assigned to folds class by
    class: without this domain, too few samples would remain for training.
    """
    if 2 * np.bincount(groups).max() < len(groups):
        sizes = np.bincount(groups, weights * (V**2).sum(axis=1))
        sizes /= np.bincount(groups, weights)
        return sizes.argsort().argsort()[groups] % _N_FOLDS
    distances = cdist(V, class_means(V, y, weights))
    own = distances[np.arange(len(y)), y]
    distances = np.column_stack([own, distances])
    return fold_order(y, distances, distances.max() or 1) % _N_FOLDS


def _can_train(X, y, priors):
    """Whether X contains all classes, and different samples of a class."""
    classes, first, codes = np.unique(y, return_index=True, return_inverse=True)
    return len(classes) == len(priors) and (X != X[first[codes]]).any()


def _held_out_scores(logarithms, y, weights, test, exponent):
    """Log densities of held-out samples, (n_candidates, n_held_out, n_classes)."""
    rest = np.delete(np.arange(len(y)), test)
    weights = weights[rest]
    relevance = relevance_matrix(logarithms[rest], y[rest], weights, exponent)
    V = weighted_vectors(logarithms, relevance)
    means = class_means(V[rest], y[rest], weights)
    residuals = V[rest] - means[y[rest]]
    within = Within.of(residuals, weights)
    scores = []
    for shrinkage in _SHRINKAGES:
        shrunk = within.shrunk(shrinkage)
        whitened = (shrunk.multiply(each, -0.5) for each in (V[test], means))
        scores.append(log_joint(*whitened, 1.0))
    return np.array(scores)
