"""Selection of parameters by held-out samples: one score, one rule, one temperature.

The score of a candidate is the mean log posterior of the classes of held-out samples.
The most regularized candidate whose score is within one standard error of the best
score is selected. ``_held_out.py`` contains the folds.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax
from sklearn.utils import gen_batches

from skgeom.utils.html import html_table
from skgeom.utils.linalg import ENTRIES_AT_ONCE
from skgeom.utils.warn import warn_user

# Ratio of the temperatures at which candidates are compared. With the square root of 2,
# the selected values are nearly the same (page "Constants").
_RATIO = 2.0
# Least number of expected errors among the held-out samples: new samples can be
# misclassified even if no held-out sample is. With half or double of the value, the
# log-loss of 30 samples is larger (page "Constants").
_LEAST_ERRORS = 1.0
# Fraction of held-out errors that is negligible.
PRECISION = 0.01
# The lowest temperature of densities of unknown scale: the temperatures of prototypes
# of matrices are between 0.04 and 1. With 1 as the lowest temperature, the accuracy of
# PLRSQ on 20 data sets is 3.2 percentage points lower, and the log-loss 0.04 larger.
_LOWEST = 1 / 64
# Logarithms of ratios of posteriors outside of this range have no influence.
_LOG_RANGE = 600.0


@dataclass(frozen=True, eq=False)
class Selection:
    """Candidates of the parameters, their scores, and the selected candidate.

    Estimators that select parameters by held-out samples store this object as
    ``selection_``. The candidates are ordered from the most to the least regularized.

    Attributes
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
        Index of the selected candidate: the first one whose score is below the best
        score by at most one standard error, or by at most 1 / N for N held-out samples
        of equal weights. GaussianClassifier applies this rule to each target. The user
        guide describes the exceptions of KernelDiscriminantAnalysis and
        GaussianRegressor.
    temperature : float
        The temperature that calibrates the posteriors of the selected candidate; 1 for
        filters, which have no probabilities.

    See Also
    --------
    skgeom.plotting.SelectionDisplay : Draws the scores.

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
        return self._candidate(self.index)

    def _candidate(self, k):
        return {name: values[k].item() for name, values in self.candidates.items()}

    def __repr__(self):
        values = ", ".join(f"{name}={v!r}" for name, v in self.selected.items())
        score = "no score"
        if np.isfinite(self.scores[self.index]):
            score = f"score {self.scores[self.index]:.4g}"
            score += f" (best {np.nanmax(self.scores):.4g})"
        return (
            f"<Selection: {values}, {score}, temperature {self.temperature:.3g}, "
            f"{len(self.scores)} candidates>"
        )

    def _repr_html_(self):
        """The ten best candidates and the selected one, in the order of preference."""
        best = np.argsort(-self.scores, kind="stable")[:10]  # NaN is last
        shown = sorted({*best[np.isfinite(self.scores[best])].tolist(), self.index})
        rows = [
            [*self._candidate(k).values(), self.scores[k], self.standard_errors[k]]
            for k in shown
        ]
        title = (
            f"The best of {len(self.scores)} candidates, and the selected one in bold "
            f"(temperature {self.temperature:.3g})"
        )
        header = [*self.candidates, "score", "standard error"]
        return html_table(title, header, rows, shown.index(self.index))


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
        the first occurrences. It replaces the candidate of the previous values only if
        its score is better by more than two standard errors, and the best score of its
        value by more than one.

    Returns
    -------
    Selection
    """
    means = np.round(scores @ weights, 6)
    has_score = np.isfinite(means)

    def errors(first, others):
        """Losses that are no evidence against candidates, compared with the first."""
        found = standard_error(scores[first] - scores[others], weights, groups)
        return np.round(np.maximum(found, weights @ weights), 6)

    if alternatives is None:
        alternatives = np.zeros(len(means))
    leader = index = None
    for value in dict.fromkeys(alternatives.tolist()):
        own = np.flatnonzero(has_score & (alternatives == value))
        if not len(own):
            continue
        best = own[np.argmax(means[own])]
        k = own[np.argmax(means[best] - means[own] <= errors(best, own))]
        is_better = index is not None and (
            means[k] - means[index] > 2 * errors(k, index)
            and means[best] - means[leader] > errors(best, leader)
        )
        if index is None or is_better:
            leader, index = best, k
    index = 0 if index is None else index
    return selection_of(candidates, scores, weights, groups, index)


def selection_of(candidates, scores, weights, groups, index):
    """The :class:`Selection` of a given candidate; parameters as for :func:`choose`."""
    means = np.round(scores @ weights, 6)
    has_score, errors = np.isfinite(means), np.full(len(means), np.nan)
    means = np.where(has_score, means, np.nan)
    if has_score.any():
        losses = scores[np.nanargmax(means)] - scores[has_score]
        errors[has_score] = standard_error(losses, weights, groups)
    candidates = {name: np.asarray(values) for name, values in candidates.items()}
    return Selection(candidates, means, errors, int(index))


def label_noise(n_samples):
    """The probability that a label is random: half a sample among the training samples.

    It bounds the influence of single samples on scores and temperatures, and the
    confidence in new samples that are unlike all training samples.
    """
    return 0.5 / n_samples


def tempered_scores(scores, labels, weights, n_samples, priors=None):
    r"""Log posteriors of the classes of held-out samples, at the best temperature.

    Without ``priors``, the posteriors are ``softmax(scores / T)``, so the temperature T
    does not change the predicted classes, and T is at least 1. T of a candidate is the
    power of 2 with the largest mean log posterior. Labels are random with the
    probability :func:`label_noise`.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_held_out, n_classes)
        Logarithms of prior times density, up to a common term; NaN if a covariance is
        singular.
    labels, weights : ndarray of shape (n_held_out,)
        Encoded labels, and weights that sum to one.
    n_samples : int
        The number n of training samples.
    priors : ndarray of shape (n_classes,), default=None
        If given, the scores are log densities: the logarithms of the priors are added
        to ``scores / T``, so T changes the influence of the priors, and T is at least
        1/64.

    Returns
    -------
    ndarray of shape (n_candidates, n_held_out)
    """
    lowest, offsets = _scale_of(priors, scores.shape[2])
    found = np.full(scores.shape[:2], np.nan)
    for batch in gen_batches(len(scores), max(1, ENTRIES_AT_ONCE // scores[0].size)):
        with np.errstate(invalid="ignore"):  # infinite scores
            ratios, best = _ratios(scores[batch], labels), found[batch]
        active = np.flatnonzero(np.isfinite(ratios).all(axis=(1, 2)))
        means, temperature = np.full(len(ratios), -np.inf), lowest
        while len(active):
            logs = ratios[active]
            logs /= temperature
            logs += offsets - offsets[labels, None]
            logs = _log_posteriors(logs, n_samples)
            new = logs @ weights
            is_better = np.round(new - means[active], 6) > 0
            active, logs = active[is_better], logs[is_better]
            means[active], best[active] = new[is_better], logs
            temperature *= _RATIO
    return found


def calibrated_temperature(
    scores, labels, weights, n_samples, groups=None, priors=None
):
    r"""The temperature that calibrates the posteriors of held-out samples.

    The posteriors are those of :func:`tempered_scores`. The temperature is a power of
    the square root of 2, and minimizes the log-loss. It is raised if the expected error
    rate is below :func:`least_error_rate`, until they are equal, because a few samples
    without errors do not prove that posteriors near 1 are correct. A temperature below
    the lowest one of :func:`tempered_scores` sharpens the posteriors. It is used only
    if the gain exceeds two standard errors, and the largest loss of two samples:
    filters that overfit also separate held-out samples, from which they were learned.

    Parameters
    ----------
    scores : ndarray of shape (n_held_out, n_classes)
    labels, weights, n_samples, priors
        As for :func:`tempered_scores`.
    groups : ndarray of int of shape (n_held_out,) or None
        As for :func:`choose`.
    """
    highest = np.ceil(np.log2(4096 + np.ptp(scores, axis=1).max()))
    temperatures = 2.0 ** np.arange(highest, -8.5, -0.5)
    rows, n_classes = np.arange(len(labels)), scores.shape[1]
    lowest, offsets = _scale_of(priors, n_classes)
    ratios, constants = _ratios(scores, labels), offsets - offsets[labels, None]
    losses = [
        -weights @ _log_posteriors(ratios / temperature + constants, n_samples)
        for temperature in temperatures
    ]
    best = np.argmin(np.round(losses, 6))
    free = np.argmin(abs(temperatures - lowest))
    if best > free:
        n_effective = min(n_samples / len(rows), 1) / np.square(weights).sum()
        fits = [
            log_softmax(scores / temperature + offsets, axis=1)[rows, labels]
            for temperature in temperatures[free : best + 1]
        ]
        gains = np.array(fits) - fits[0]
        best = np.argmax(np.round(gains @ weights, 6))
        error = standard_error(gains[best], weights, groups)
        enough = 2 * max(
            np.log(n_classes / label_noise(n_samples)) / n_effective, error
        )
        best = free + best if weights @ gains[best] > enough else free
    least = least_error_rate(n_samples, n_classes)

    def missing_errors(log_temperature):
        p = softmax(scores / np.exp(log_temperature) + offsets, axis=1)
        return least - weights @ (1 - p.max(axis=1))

    ends = np.log(temperatures[best]), np.log(temperatures[0])
    if missing_errors(ends[0]) <= 0 or missing_errors(ends[1]) >= 0:
        return float(temperatures[best])
    return float(np.exp(brentq(missing_errors, *ends, xtol=1e-3)))


def _scale_of(priors, n_classes):
    """The lowest temperature of scores, and a term that it does not divide."""
    return (1.0, np.zeros(n_classes)) if priors is None else (_LOWEST, np.log(priors))


def _ratios(scores, labels):
    """Scores of all classes, (..., n_samples, n_classes), minus those of the labels."""
    return scores - scores[..., np.arange(len(labels)), labels][..., None]


def _log_posteriors(ratios, n):
    """Log posteriors of the labels, with label noise; overwrites the log ratios."""
    # Smaller posteriors do not matter, but exponentials that underflow take three times
    # as long.
    np.exp(np.clip(ratios, -_LOG_RANGE, _LOG_RANGE, out=ratios), out=ratios)
    posteriors = 1 / (ratios @ np.ones(ratios.shape[-1]))
    noise = label_noise(n)
    return np.log((1 - noise) * posteriors + noise / ratios.shape[-1])


def class_shares(labels, weights, power=0):
    """Weights of samples in a mean over classes; they sum to one.

    The weight of a class is the sum of the weights of its samples to the power
    ``power``, so all classes have equal weights by default.
    """
    totals = np.bincount(labels, weights)
    factors = np.where(totals > 0, totals, 1) ** (power - 1)
    shares = weights * factors[labels]
    return shares / max(shares.sum(), np.finfo(float).tiny)


def standard_error(values, weights, groups=None):
    """The standard errors of weighted means of values along the last axis.

    If groups are given, only values of different groups are independent.
    """
    parts = weights * (values - (values @ weights)[..., None])
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        parts = np.add.reduceat(parts[..., order], starts, axis=-1)
    return np.linalg.norm(parts, axis=-1)


def warn_if_at_chance(scores, codes, weights, groups, remedy="", of_matrices=False):
    """Warn if predictions of held-out samples are not significantly better than chance.

    The accuracy with equal weights of the classes has to exceed one over the number of
    classes by more than two standard errors. ``scores`` contains the scores of the
    classes, of shape (n_samples, n_classes). Only samples of different groups are
    independent. ``remedy`` names further remedies; the first ones depend on whether the
    samples are SPD matrices. Returns whether there was a warning.
    """
    shares, chance = class_shares(codes, weights), 1 / scores.shape[1]
    correct = scores.argmax(axis=1) == codes
    accuracy = shares @ correct
    error = standard_error(correct, shares, groups)
    is_at_chance = accuracy - 2 * error <= chance
    if is_at_chance:
        first = (
            "Scale, transform (for example with QuantileTransformer) or select features"
        )
        if of_matrices:
            first = (
                "Check the labels and domains, re-center the matrices of each domain"
            )
        warn_user(
            "The predictions of held-out samples are not significantly better than "
            f"chance: their balanced accuracy is {accuracy:.3f} (standard error "
            f"{error:.3f}), compared with {chance:.3f} for random guesses. {first}, "
            f"use more samples{remedy}, or use a different classifier.",
            UserWarning,
        )
    return is_at_chance


def warn_of_end(
    name,
    candidates,
    selected,
    remedy="Scale the features, for example with StandardScaler",
):
    """Warn that the first or the last of the ascending candidates is selected."""
    end, reason = "smallest", ""
    if selected:
        end, reason = "largest", ", or the features may not separate the classes"
    warn_user(
        f"The selected {name}, {candidates[selected]:.3g}, is the {end} of "
        f"{len(candidates)} candidates, so a better value may be outside of their "
        f"range{reason}. {remedy}, or compare values of {name} with GridSearchCV.",
        UserWarning,
    )


def least_error_rate(n_samples, n_classes):
    """The smallest expected error rate of calibrated probabilities.

    It corresponds to ``_LEAST_ERRORS`` errors in the held-out samples, but is at most
    half of the error rate of random guesses.
    """
    return min(_LEAST_ERRORS / n_samples, (1 - 1 / n_classes) / 2)


def fit_temperature(scores, codes, weights):
    r"""Estimate the temperature of the scores of held-out samples.

    The temperature T minimizes the weighted log-loss of ``softmax(scores / T)``. T is
    larger than this minimizer if the expected number of errors, according to the
    probabilities, would be smaller than ``_LEAST_ERRORS`` and than half of the expected
    number of errors of guesses.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        The scores of the classes.
    codes, weights : ndarray of shape (n_samples,)
        Encoded labels and weights.

    Returns
    -------
    float
        The temperature; 1 if all scores of each sample are equal.
    """
    scores = scores - scores.mean(axis=1, keepdims=True)
    weights = weights / weights.sum()
    scale = weights @ np.abs(scores).mean(axis=1)
    if not scale > 0:
        return 1.0
    scores = scores / scale
    own = scores[np.arange(len(codes)), codes]
    least = least_error_rate(*scores.shape)

    def slope(log_inverse):
        p = softmax(np.exp(log_inverse) * scores, axis=1)
        return weights @ ((p * scores).sum(axis=1) - own)

    def missing_errors(log_inverse):
        p = softmax(np.exp(log_inverse) * scores, axis=1)
        return least - weights @ (1 - p.max(axis=1))

    # Both functions increase with the inverse temperature. For scores of magnitude one,
    # the logarithm of the inverse temperature is within these limits.
    limit = -np.log(np.finfo(np.float64).eps) / 3
    log_inverse = _root(slope, -limit, limit)
    if missing_errors(log_inverse) > 0:
        log_inverse = _root(missing_errors, -limit, log_inverse)
    return float(scale / np.exp(log_inverse))


def _root(function, low, high):
    """Root of an increasing function, or the end of the range nearest to the root."""
    if function(low) >= 0:
        return low
    return high if function(high) <= 0 else brentq(function, low, high)
