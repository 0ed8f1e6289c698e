"""Shrinkage of class covariances, selected with posteriors of held-out samples."""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import log_softmax

from skgeom._held_out import (
    distinct_rows,
    folds_of_distinct,
    in_distinct_samples,
    least_error_rate,
    sample_rows,
    standard_error,
    training_statistics,
    warn_if_at_chance,
    within_standard_error,
)
from skgeom.utils.array_api import take, to_numpy
from skgeom.utils.validation import weighted_samples

# Number of held-out samples after which no further fold is held out, and largest number
# of partitions into folds; weights of the priors, of which the best one determines the
# score of a candidate; temperatures relative to this weight, in descending order.
# benchmarks/bench_gaussian.py compares different values.
_ENOUGH, _MOST_PARTITIONS = 500, 5
_PRIOR_WEIGHTS = (1, 4, 16, 64)
_TEMPERATURES = 2.0 ** np.arange(12, -8.5, -0.5)
# A relative variance below this constant times the number of features is a rounding
# error.
ROUNDING = np.finfo(np.float64).resolution


class HeldOutSamples:
    """Samples that are held out in folds, at most ``MOST_SAMPLES`` of positive weight.

    Equal samples are treated as one sample with the sum of their weights.

    Parameters
    ----------
    X, y, sample_weight : array of shape (n_samples, n_features), ndarray, ndarray
        Validated samples, their labels, and their weights or None.
    groups : ndarray of int or None
        Indices of the groups of samples of positive weight.
    """

    def __init__(self, X, y, sample_weight=None, groups=None):
        if sample_weight is not None:
            X, y, sample_weight = weighted_samples(X, y, sample_weight)
        rows, weights = sample_rows(X, y, sample_weight, groups)
        self._has_groups = groups is not None
        X, y = to_numpy(take(X, rows)).astype(np.float64, copy=False), y[rows]
        distinct, self.weights, self.groups = distinct_rows(X, y, weights, groups)
        self.X, self.y = X[distinct], y[distinct]

    def _folds(self):
        """The rows of each fold, until ``_ENOUGH`` samples are held out.

        Folds of large data end early, once the rarest class also has its share of the
        held-out samples, but not with groups: one fold can contain few groups. Few
        samples are divided into folds several times: with one partition of 30 samples,
        the selection depends on chance.
        """
        labels = np.unique(self.y, return_inverse=True)[1]
        held_out = np.zeros(labels.max() + 1)
        for seed in range(_MOST_PARTITIONS):
            folds = folds_of_distinct(self.y, self.groups, seed=seed)
            classes = np.unique(labels[folds >= 0])
            for fold in range(folds.max() + 1):
                rows = np.flatnonzero(folds == fold)
                if len(rows):
                    yield rows
                held_out += np.bincount(labels[rows], minlength=len(held_out))
                enough = held_out[classes].min() * len(classes) >= _ENOUGH
                if enough and not self._has_groups:
                    return
            if held_out.sum() >= _ENOUGH:
                return

    def select_prior(self, total, basis, targets, priors, candidates):
        """Select a target and a number of prior samples, and calibrate the posteriors.

        Warns if held-out samples are not classified better than by chance. The number
        is then infinite, and the weight of the priors is 1. If in addition most of the
        held-out samples equal samples of other classes, the temperature is 1.

        Returns the index of the target, the number, the weight of the priors, the
        temperature, and the Brier scores of all candidates. If no samples can be held
        out, the index is 0, the weight and the temperature are 1, and the others are
        None.

        The score of a candidate is the Brier score of the posteriors of held-out
        samples, with the best weight of the priors. The largest candidate whose score
        is within one standard error of the best score, by paired differences, is
        selected. The Brier score is bounded, so a single sample far from all classes
        has little influence. The second target is selected if its score is better than
        that of the first one by more than one standard error.

        Parameters
        ----------
        total : ClassStatistics
            Statistics of all samples.
        basis : ndarray of shape (n_features, n) or None
            If given, the coordinates ``X @ basis`` are used.
        targets : list of (ndarray of shape (n, n), float)
            Two targets of the shrinkage of the class covariances: the pooled covariance
            and the intensity with which it was shrunk towards its diagonal.
        priors : array of shape (n_classes,)
            Prior probabilities of the classes.
        candidates : ndarray
            Candidates of the number of prior samples in ascending order.
        """
        X, priors = self.X, to_numpy(priors)
        if basis is not None:
            X, total = X @ basis, total.project(basis.T)
        shares = total.counts / total.counts.sum()
        within = _within(total, shares)
        offsets = [(target - (1 - rho) * within, rho) for target, rho in targets]
        total, sample_weights = in_distinct_samples(total, self.y, self.weights)
        rows, densities = [], [[] for _ in targets]
        for out in self._folds():
            sums = X[out], self.y[out], sample_weights[out]
            training = training_statistics(total, *sums, distinct=True)
            if len(training.classes) < len(total.classes):  # because of rounding
                continue
            n_prior = candidates[:, None] * X.shape[1]
            intensities = prior_intensities(n_prior, training.counts)
            within = _within(training, shares)
            for found, (offset, rho) in zip(densities, offsets, strict=True):
                target = offset + (1 - rho) * within
                found.append(_log_densities(training, target, intensities, X[out]))
            rows.append(out)
        if not rows:
            return 0, None, 1.0, 1.0, None
        rows = np.concatenate(rows)
        labels = np.searchsorted(total.classes, self.y[rows])
        weights = (priors / total.counts)[labels] * sample_weights[rows]
        weights, groups = weights / weights.sum(), self.groups[rows]
        results, log_priors = [], np.log(priors)
        for found in map(np.concatenate, densities):
            scores, prior_weights = _scores(found, log_priors, labels, weights)
            finite = np.nan_to_num(scores, nan=-np.inf).T[::-1]
            rank = within_standard_error(finite, weights, groups=groups)
            number = len(candidates) - 1 - rank
            results.append((number, prior_weights, scores))
        first, second = (scores[:, number] for number, _, scores in results)
        gains = second - first
        error = standard_error(gains, weights, groups)
        k = int(round(weights @ gains, 6) > round(error, 6))
        number, prior_weights, scores = results[k]
        of_candidates = {
            "prior_samples": candidates.copy(),
            "brier_score": 1 - weights @ scores,
        }
        found, prior_weight = np.concatenate(densities[k]), prior_weights[number]
        is_at_chance = warn_if_at_chance(found[:, :, number], labels, weights, groups)
        if is_at_chance:
            number, prior_weight = -1, 1.0
        joint = found[:, :, number] / prior_weight + log_priors
        samples = labels, weights, groups
        temperature = _calibrated_temperature(joint, *samples, len(self.y))
        temperature *= prior_weight
        if is_at_chance and not self._has_groups:
            in_classes = np.bincount(self.groups[np.unique(rows)]) > 1
            if weights @ in_classes[groups] > 0.5:
                temperature = 1.0
        prior = candidates[number]
        return k, float(prior), float(prior_weight), float(temperature), of_candidates


def _scores(densities, log_priors, labels, weights):
    """Scores of samples (rows) for each candidate (column), and best prior weights."""
    densities = densities - densities.max(axis=1, keepdims=True)
    scores = []
    for weight in _PRIOR_WEIGHTS:
        posteriors = np.exp(densities / weight + log_priors[:, None])
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        own = posteriors[np.arange(len(labels)), labels]
        scores.append(2 * own - np.square(posteriors).sum(axis=1))
    scores = np.array(scores)
    best = np.argmax(np.round(weights @ scores, 6), axis=0)
    return scores[best, :, np.arange(len(best))].T, np.take(_PRIOR_WEIGHTS, best)


def _calibrated_temperature(joint, labels, weights, groups, n_samples):
    """The temperature of the posteriors of held-out samples.

    It has the smallest log-loss if labels are random with probability
    ``1 / (2 * n_samples)``, so the influence of a single sample is bounded. The
    temperature is raised until the expected error rate is at least
    :func:`least_error_rate`. It is below 1 only if this decreases the log-loss of the
    given labels by more than two standard errors, and the sum of the losses by more
    than the largest loss of two samples with random labels: posteriors of filters that
    overfit their samples, and of outliers, would otherwise become more overconfident.
    """
    n_classes, rows = joint.shape[1], np.arange(len(labels))
    random, losses, with_random, errors = 0.5 / n_samples, [], [], []
    for temperature in _TEMPERATURES:
        log_posteriors = log_softmax(joint / temperature, axis=1)
        own = log_posteriors[rows, labels]
        losses.append(-own)
        own = (1 - random) * np.exp(own) + random / n_classes
        with_random.append(-weights @ np.log(own))
        errors.append(weights @ (1 - np.exp(log_posteriors.max(axis=1))))
    best, one = np.argmin(np.round(with_random, 6)), np.argmin(abs(_TEMPERATURES - 1))
    if best > one:
        n_effective = min(n_samples / len(rows), 1) / np.square(weights).sum()
        gains = losses[one] - np.array(losses[one : best + 1])
        best = np.argmax(np.round(gains @ weights, 6))
        error = standard_error(gains[best], weights, groups)
        enough = 2 * max(np.log(n_classes / random) / n_effective, error)
        best = one + best if weights @ gains[best] > enough else one
    # Errors descend with the temperatures.
    is_uncertain = np.array(errors) >= least_error_rate(n_samples, n_classes)
    lowest = max(is_uncertain.sum() - 1, 0)
    return float(_TEMPERATURES[min(best, lowest)])


def prior_intensities(n_prior, counts):
    """Weight of a pooled covariance that counts like ``n_prior`` additional samples."""
    with np.errstate(divide="ignore", invalid="ignore"):
        intensities = 1 / (1 + np.maximum(counts - 1, 0) / n_prior)
    return np.nan_to_num(intensities, nan=1.0)  # 0 / 0 for a single sample


def maximum_likelihood(statistics):
    """The maximum likelihood covariances of the classes (scatter divided by count)."""
    factors = np.maximum(1 - 1 / statistics.counts, 0)
    return statistics.covariances * factors[:, None, None]


def without_rounding(statistics):
    """Covariances of the classes and of all samples; rounding errors become zero.

    The computed standard deviation of equal numbers is not exactly zero, because their
    computed mean is rounded. It is a few units in the last place of the mean, or of the
    total standard deviation if the samples were centered before.
    """
    covariances, sizes = statistics.covariances, np.abs(statistics.means)
    if statistics.covariance_estimator is None:
        covariances = maximum_likelihood(statistics)
    weights = statistics.counts / statistics.counts.sum()
    offsets = statistics.means - weights @ statistics.means
    total = np.tensordot(weights, covariances, axes=1) + (offsets.T * weights) @ offsets
    deviations = np.sqrt(np.diag(total))
    varies = deviations > ROUNDING * sizes.max(axis=0)
    total = total * varies * varies[:, None]
    own = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    varies = (own > ROUNDING * (sizes + deviations)) & varies
    return covariances * varies[:, :, None] * varies[:, None], total


def shrunk_to_diagonal(within, total_variances, n_distinct):
    """The pooled covariance, shrunk towards its diagonal, and the intensity.

    The intensity minimizes the mean square error of the correlations r, whose variance
    is (1 - r^2)^2 / n for Gaussians and n degrees of freedom (Schaefer and Strimmer,
    2005). The diagonal has at least the weight of one sample. A feature that is
    constant within all classes is treated as if it varied in one sample.
    """
    constant = np.diag(within) == 0
    covariance = within + np.diag(constant * total_variances / n_distinct.sum())
    variances = np.diag(covariance)
    varies = variances > 0
    deviations = np.sqrt(variances[varies])
    correlations = covariance[np.ix_(varies, varies)] / deviations / deviations[:, None]
    squares = np.square(correlations[~np.eye(len(deviations), dtype=bool)])
    degrees = max(n_distinct.sum() - len(n_distinct), 0)
    least, size = 1 / (degrees + 1), degrees * squares.sum()
    errors = np.square(1 - squares).sum()
    intensity = max(least, min(errors / size, 1.0)) if size > 0 else 1.0
    return (1 - intensity) * covariance + intensity * np.diag(variances), intensity


def _within(statistics, shares):
    """The within-class covariance, with given weights of the classes."""
    return np.tensordot(shares, maximum_likelihood(statistics), axes=1)


def whitener(covariance):
    """A matrix W such that W' covariance W is the identity."""
    factor = np.linalg.cholesky(covariance)
    return solve_triangular(factor, np.eye(len(factor)), lower=True).T


def _log_densities(training, pooled, intensities, X):
    """Log densities of shape (n_samples, n_classes, n_priors).

    They are NaN for priors with which the covariance of a class is singular.
    """
    W = whitener(pooled)
    X, means = X @ W, training.means @ W
    if (intensities == 1).all():  # all covariances are the identity
        squares = cdist(X, means, "sqeuclidean")
        return np.repeat(-squares[:, :, None] / 2, len(intensities), axis=2)
    covariances = W.T @ maximum_likelihood(training) @ W
    densities = np.empty((len(X), len(means), len(intensities)))
    for k, covariance in enumerate(covariances):
        variances, axes = np.linalg.eigh(covariance)
        intensity = intensities[:, [k]]
        variances = (1 - intensity) * variances + intensity
        variances[(variances <= len(axes) * ROUNDING).any(axis=1)] = np.nan
        squares = np.square((X - means[k]) @ axes)
        logs = np.log(variances).sum(axis=1)
        densities[:, k] = -(squares @ (1 / variances).T + logs) / 2
    return densities
