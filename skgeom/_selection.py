"""Selection of parameters by held-out samples: one score, one rule, one temperature.

The score of a candidate is the mean log posterior of the classes of held-out samples.
The most regularized candidate whose score is within one standard error of the best
score is selected. ``_held_out.py`` contains the folds.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from skgeom._held_out import least_error_rate, standard_error

# Ratio of the temperatures at which candidates are compared. With the square root of 2,
# the selected values are nearly the same (benchmarks/bench_gaussian.py).
_RATIO = 2.0


@dataclass(frozen=True)
class Selection:
    """Candidates of the parameters, their scores, and the selected candidate.

    Estimators that select parameters by held-out samples store this object as
    ``selection_``. The candidates are ordered from the most to the least regularized.

    Parameters
    ----------
    candidates : dict of ndarray of shape (n_candidates,)
        The values of each parameter.
    scores : ndarray of shape (n_candidates,)
        The mean log posterior of the classes of held-out samples. It is NaN for
        candidates that were not tried, or for which a covariance is singular.
    standard_errors : ndarray of shape (n_candidates,)
        Standard errors of the differences from the best score, by paired differences of
        the held-out samples. The error of the best candidate is zero.
    index : int
        Index of the selected candidate: the first one whose score is at most one
        standard error below the best score.
    temperature : float, default=1.0
        The temperature that calibrates the posteriors of the selected candidate.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skgeom import GaussianClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> selection = GaussianClassifier().fit(X, y).selection_
    >>> sorted(selection.selected)
    ['pooling', 'ridge', 'target']
    """

    candidates: dict
    scores: np.ndarray
    standard_errors: np.ndarray
    index: int
    temperature: float = 1.0

    @property
    def selected(self):
        """The selected value of each parameter, as a dict."""
        return {name: values[self.index] for name, values in self.candidates.items()}


def choose(candidates, scores, weights, groups=None, alternatives=None):
    """Select the first candidate within one standard error of the best score.

    A difference that is smaller than the mean weight of a sample is negligible: the
    likelihood ratio of all samples is then at most e. Means are rounded to six decimal
    places, so that the result does not depend on rounding errors.

    Parameters
    ----------
    candidates : dict of sequences of length n_candidates
        The values of each parameter, from the most to the least regularized.
    scores : ndarray of shape (n_candidates, n_samples)
        Log posteriors of the classes of held-out samples; NaN in a row if the candidate
        has no score.
    weights : ndarray of shape (n_samples,)
        Weights of the held-out samples, which sum to one.
    groups : ndarray of int of shape (n_samples,), default=None
        Only samples of different groups are independent. None for independent samples.
    alternatives : ndarray of shape (n_candidates,), default=None
        If given, a candidate is selected for each value in this array, in the order of
        the first occurrences, and replaces the candidate of the previous values only if
        its score is better by more than two standard errors.

    Returns
    -------
    Selection
    """
    means = np.round(scores @ weights, 6)
    has_score = np.isfinite(means)

    def error(first, second):
        """A loss that is no evidence against a candidate."""
        found = standard_error(scores[first] - scores[second], weights, groups)
        return round(max(found, weights @ weights), 6)

    if alternatives is None:
        alternatives = np.zeros(len(means))
    index = None
    for value in dict.fromkeys(alternatives.tolist()):
        own = np.flatnonzero(has_score & (alternatives == value))
        if len(own):
            best = own[np.argmax(means[own])]
            k = next(k for k in own if means[best] - means[k] <= error(best, k))
            if index is None or means[k] - means[index] > 2 * error(k, index):
                index = k
    errors = np.full(len(means), np.nan)
    if index is not None:
        best = np.nanargmax(means)
        for k in np.flatnonzero(has_score):
            errors[k] = standard_error(scores[best] - scores[k], weights, groups)
    candidates = {name: np.asarray(values) for name, values in candidates.items()}
    means = np.where(has_score, means, np.nan)
    return Selection(candidates, means, errors, int(index or 0))


def label_noise(n_samples):
    """The probability that a label is random: half a sample among the training samples.

    It bounds the influence of single samples on scores and temperatures, and the
    confidence in new samples that are unlike all training samples.
    """
    return 0.5 / n_samples


def tempered_scores(log_densities, log_priors, labels, weights, n_samples):
    r"""Log posteriors of the classes of held-out samples, at the best temperature.

    The posteriors are proportional to :math:`\pi_k \, p(x \mid k)^{1 / T}`. The
    temperature T of a candidate is the power of 2 from 1 upwards with the largest mean
    log posterior. Labels are random with the probability :func:`label_noise`.

    Parameters
    ----------
    log_densities : ndarray of shape (n_candidates, n_held_out, n_classes)
        Logarithms of the densities of the classes, up to a common term; NaN if a
        covariance is singular.
    log_priors : ndarray of shape (n_classes,)
        Logarithms of the prior probabilities.
    labels, weights : ndarray of shape (n_held_out,)
        Encoded labels, and weights that sum to one.
    n_samples : int
        The number n of training samples.

    Returns
    -------
    ndarray of shape (n_candidates, n_held_out)
    """
    scores = np.full(log_densities.shape[:2], np.nan)
    means = np.full(len(scores), -np.inf)
    active = np.flatnonzero(np.isfinite(log_densities).all(axis=(1, 2)))
    temperature = 1.0
    while len(active):
        joint = log_densities[active] / temperature + log_priors
        found = log_posteriors(joint, log_priors, labels[None], n_samples)
        new = found @ weights
        is_better = new > means[active]
        active, found = active[is_better], found[is_better]
        means[active], scores[active] = new[is_better], found
        temperature *= _RATIO
    return scores


def calibrated_temperature(log_densities, log_priors, labels, weights, groups, n):
    r"""The temperature that calibrates the posteriors of held-out samples.

    The posteriors are those of :func:`tempered_scores`. The temperature is a power of
    the square root of 2, and minimizes the log-loss. It is raised until the expected
    error rate is at least :func:`least_error_rate`, because a few samples without
    errors do not prove that posteriors near 1 are correct. A temperature below 1
    sharpens the posteriors. It is used only if the gain exceeds two standard errors,
    and the largest loss of two samples: filters that overfit also separate held-out
    samples, from which they were learned.

    Parameters
    ----------
    log_densities : ndarray of shape (n_held_out, n_classes)
    log_priors, labels, weights, n
        As for :func:`tempered_scores`.
    groups : ndarray of int of shape (n_held_out,) or None
        As for :func:`choose`.
    """
    temperatures = 2.0 ** np.arange(12, -8.5, -0.5)
    rows, n_classes = np.arange(len(labels)), log_densities.shape[1]
    losses, with_random, errors = [], [], []
    for temperature in temperatures:
        joint = log_densities / temperature + log_priors
        with_random.append(-weights @ log_posteriors(joint, log_priors, labels, n))
        found = log_softmax(joint, axis=1)
        losses.append(-found[rows, labels])
        errors.append(weights @ (1 - np.exp(found.max(axis=1))))
    best, one = np.argmin(np.round(with_random, 6)), np.argmin(abs(temperatures - 1))
    if best > one:
        n_effective = min(n / len(rows), 1) / np.square(weights).sum()
        gains = losses[one] - np.array(losses[one : best + 1])
        best = np.argmax(np.round(gains @ weights, 6))
        error = standard_error(gains[best], weights, groups)
        enough = 2 * max(np.log(n_classes / label_noise(n)) / n_effective, error)
        best = one + best if weights @ gains[best] > enough else one
    # Errors descend with the temperatures.
    is_uncertain = np.array(errors) >= least_error_rate(n, n_classes)
    lowest = max(is_uncertain.sum() - 1, 0)
    return float(temperatures[min(best, lowest)])


def log_posteriors(joint, log_priors, labels, n):
    """Log posteriors of the labels, with label noise."""
    own = np.take_along_axis(joint, labels[..., None], axis=-1)
    with np.errstate(over="ignore"):  # the posterior is then zero
        posteriors = 1 / np.exp(joint - own).sum(axis=-1)
    noise = label_noise(n)
    return np.log((1 - noise) * posteriors + noise * np.exp(log_priors[labels]))
