"""Automatic shrinkage and regularization of the class covariances.

The score of a candidate, a pair of shrinkage and sigma^2, is the mean log posterior of
held-out samples. Paths of candidates start from the best one, along either axis, and
end when a candidate is worse by more than one standard error. The most regularized
candidate whose score is within one standard error, or a negligible difference, of the
best score is selected.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.special import log_softmax

from skgeom._filters._basis import (
    discriminant_directions,
    orthonormal,
    principal_axes,
    whitening,
    with_class_directions,
)
from skgeom._filters._problem import Problem, Search
from skgeom._held_out import (
    MOST_SAMPLES,
    distinct_rows,
    folds_of_distinct,
    in_distinct_samples,
    remaining_weights,
    training_statistics,
)
from skgeom._selection import (
    Selection,
    choose,
    class_shares,
    fit_temperature,
    selection_of,
    standard_error,
    warn_if_at_chance,
    warn_of_end,
)
from skgeom._statistics import (
    ClassStatistics,
    means_on_host,
    pooled_matrices,
    warn_if_weights_are_small,
)
from skgeom.optim._minimize import StartError
from skgeom.utils.linalg import project
from skgeom.utils.progress import current_progress
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.warn import warn_if_unscaled, warn_user

# Candidates of the shrinkage in descending order, below 1, and ratio of successive
# values of sigma^2 (page "Constants"). The search starts at the middle shrinkage.
SHRINKAGES = (0.6, 0.3, 0.0)
_STEP = 4.0
# The filters of a fold are optimized with a large tolerance and few iterations, from
# the filters of the previous candidate. Other values lead to one of two selections on
# digits, whose accuracies differ by 1.3 percentage points (page "Constants").
_TOL, _FIRST_ITERATIONS, _NEXT_ITERATIONS = 1e-2, 30, 5
# The weight of a class in the score is this power of its number of samples. With 0.5 or
# less, the few samples of a rare class determine the standard error, and candidates
# with which the other classes are clearly worse are within one standard error of the
# best one. With 1, errors in a rare class would hardly change the score. The accuracies
# with 0.75, 1 and 1.5 are nearly equal (page "Constants").
_POWER = 0.75


@dataclass(frozen=True)
class Regularization:
    """Shrinkage and sigma^2, and the rule that determined them.

    ``shrinkage`` is None if it was not selected on held-out samples, and ``selection``
    is None without held-out samples. ``intensities`` are the shrinkage intensities of
    the classes. ``held_out`` are the log posteriors of the classes for the held-out
    samples with the selected values, and the labels, weights and groups of these
    samples.
    """

    shrinkage: float | None
    sigma2: float
    rule: str
    selection: Selection | None = None
    intensities: np.ndarray | None = None
    held_out: tuple | None = None


def check_regularization(sigma2, statistics):
    """Raise ValueError if the variance of the data is below the rounding of sigma^2."""
    _, total = pooled_matrices(statistics)
    scale = total.trace()
    if statistics.means is not None:
        scale += np.square(means_on_host(statistics)).sum(axis=1).max()
    if 0 < scale < np.finfo(float).eps * sigma2:
        raise ValueError(
            f"regularization={sigma2:.3g} is so much larger than the variance of the "
            f"data, {scale:.3g}, that all class distances are rounding errors. "
            "Decrease regularization, or use 'auto'."
        )


def sampling_noise(within, total, counts):
    r"""Half of the sampling error of a class covariance.

    The sample covariance of n samples has an error of about
    :math:`\operatorname{tr}(W) / n` along some directions, even if the variance along
    these directions is small (Koltchinskii and Lounici, 2017, for an effective rank
    above n). W is the within-class covariance, and n is the mean number of samples of a
    class, at least 1. If the data do not vary within the classes, the total covariance
    replaces W. If the total covariance is zero as well, the value is 1.
    """
    rounding = len(within) * np.finfo(float).eps  # of standard deviations, relative
    within, total = within.trace(), total.trace()
    trace = within if within > rounding**2 * total else total
    return float(trace / (2 * max(counts.mean(), 1))) if trace > 0 else 1.0


def class_intensities(shrinkage, counts, n_dimensions=0):
    r"""Shrinkage intensity of each class with :math:`n_k` samples.

    The within-class covariance W counts like :math:`q_k` additional samples,

    .. math::

       \rho_k = \frac{q_k}{n_k - 1 + q_k}, \qquad
       q = \frac{\rho}{1 - \rho} (\bar n - 1)

    with :math:`q_k = q`, so a class with the mean number :math:`\bar n` of samples has
    the intensity :math:`\rho`. If :math:`\bar n` exceeds ``n_dimensions``, but a class
    has fewer samples, its covariance is singular, and hardly matters for the selection
    of :math:`\rho`. Its :math:`q_k` is then at least that of :math:`\rho = 0.3`, or
    filters along which the class hardly varies by chance would be preferred. A class
    with one sample, or with weights that add up to at most 1, has the covariance W.
    """
    degrees = np.maximum(counts - 1.0, 0)
    rho = np.array([shrinkage, 0.3])
    prior, least = rho / (1 - rho) * degrees.mean()
    is_rare = (degrees < n_dimensions) & (n_dimensions <= degrees.mean())
    prior = np.where(is_rare, max(prior, least), prior)
    total = prior + degrees
    return np.where(total > 0, prior / np.where(total > 0, total, 1), 1.0)


class SelectionSamples(NamedTuple):
    """Samples of positive weight for a selection.

    ``points`` are the samples in the coordinates of the class statistics. ``weights``
    and ``groups``, the indices of groups that are held out together, may be None.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    groups: np.ndarray | None
    points: np.ndarray


class Fold(NamedTuple):
    """Statistics and held-out samples of a fold, in coordinates of a subspace."""

    training: ClassStatistics
    held_out: np.ndarray

    def with_shrinkage(self, shrinkage):
        """The training statistics, not shrunk for None."""
        if shrinkage is None:
            return self.training
        counts, n_dimensions = self.training.counts, self.held_out.shape[1]
        return self.training.shrunk(class_intensities(shrinkage, counts, n_dimensions))


@dataclass(frozen=True)
class Folds:
    """Folds of held-out samples.

    ``labels`` are those of the held-out samples of all folds. ``shares`` are their
    weights in the mean. Samples of different ``groups`` are independent. ``counts`` are
    the sizes of the classes, as numbers of distinct samples unless there is an
    estimator of the class covariances. ``within`` is the within-class covariance of all
    samples.
    """

    folds: list
    labels: np.ndarray
    shares: np.ndarray
    groups: np.ndarray
    counts: np.ndarray
    within: np.ndarray


def folds_of_samples(
    statistics, samples, objective_of, n_components, whiten, estimator
):
    """The folds of some samples.

    Folds that hold out nearly the whole weight of a class are omitted. The result is
    None if the remaining samples do not vary within their classes in any fold.

    Parameters
    ----------
    statistics : ClassStatistics
        Statistics of all data.
    samples : SelectionSamples
        All or some of the samples.
    objective_of : callable
        As for :func:`select`.
    n_components : int
        Number of filters.
    whiten : bool
        Whether the result must not depend on the units of the coordinates.
    estimator : None, str or object
        The estimator of the class covariances.
    """
    X, y, weights, groups, points = samples
    X = X.toarray() if issparse(X) else X
    labels = np.searchsorted(statistics.classes, y)
    rows, weights, groups = distinct_rows(X, labels, weights, groups)
    y, labels, points = y[rows], labels[rows], points[rows]
    numbers = folds_of_distinct(y, groups)
    if estimator is None:
        statistics, weights = in_distinct_samples(statistics, y, weights)
    for number in range(numbers.max() + 1):
        out = numbers == number
        if not remaining_weights(statistics, labels, weights * out).all():
            numbers[out] = -1
    weights_of_folds = np.where(numbers >= 0, weights, 0)
    shares = class_shares(labels, weights_of_folds, power=_POWER)
    within, total = statistics.pooled_covariances()
    common = _basis_of_folds(total, n_components, whiten)

    def remaining(rows):
        """Statistics of the samples that are not held out."""
        if estimator is not None:
            kept = np.delete(np.arange(len(y)), rows)
            return ClassStatistics.from_data(points[kept], y[kept], estimator)
        X = points[rows]
        X = X.toarray() if issparse(X) else X
        return training_statistics(statistics, X, y[rows], weights[rows])

    def basis_of(training):
        if common.complete:
            return common.columns
        classes = objective_of(training, 0.0).classes
        basis = with_class_directions(common, classes, training.counts, n_components)
        return basis.columns

    # If most samples are not held out in any fold, the folds have a common basis.
    rest = remaining_weights(statistics, labels, weights)
    if estimator is None and (2 * rest > statistics.counts).all():
        basis = basis_of(remaining(np.arange(len(y))))
        statistics, points = statistics.project(basis.T), project(points, basis)
        common = orthonormal(np.eye(basis.shape[1]))
    folds, order, varies = [], [], False
    for number in np.unique(numbers[numbers >= 0]):
        out = np.flatnonzero(numbers == number)
        training = remaining(out)
        basis = basis_of(training)
        training = training.project(basis.T)
        own, of_all = training.pooled_covariances()
        varies |= np.trace(own) > len(own) * np.finfo(float).eps * np.trace(of_all)
        folds.append(Fold(training, project(points[out], basis)))
        order.extend(out)
    if not varies:
        return None
    of_samples = labels[order], shares[order], groups[order]
    return Folds(folds, *of_samples, statistics.counts, within)


def folds_of_summaries(parts, total, n_components, whiten):
    """The folds if only statistics are given.

    Each element of ``parts`` is held out in one fold. The score of a held-out class is
    estimated with random samples of the Gaussian with the moments of its samples, about
    ``MOST_SAMPLES`` samples in total.
    """
    if total.means is None:
        raise ValueError(
            "The statistics contain second moments only. Held-out folds need class "
            "means. Pass the sum of the list instead of the list."
        )
    occurrences = sum(np.isin(total.classes, part.classes) for part in parts)
    if (occurrences == 1).any():
        raise ValueError(
            f"Class {total.classes[np.argmin(occurrences)]} has samples in one fold "
            "only. Each class needs samples in at least two folds."
        )
    within, covariance = total.pooled_covariances()
    warn_if_weights_are_small(total)
    basis = _basis_of_folds(covariance, n_components, whiten).columns
    # The draws do not depend on the order of the folds.
    scale = covariance.trace() or 1.0
    parts = sorted(parts, key=partial(_size_and_variance, total=scale))
    rng = np.random.default_rng(0)
    features, labels, weights = [], [], []
    most = max(MOST_SAMPLES // sum(len(part.classes) for part in parts), 1)
    for part in parts:
        own = part.project(basis.T)
        sizes = np.clip(own.counts, 1, most).astype(int)
        # The covariances of the samples themselves, with divisor n.
        scales = np.sqrt(np.maximum(1 - 1 / np.maximum(own.counts, 1), 0))
        draws = [
            mean + scale * rng.standard_normal((size, len(mean))) @ _root(covariance)
            for mean, covariance, scale, size in zip(
                own.means, own.covariances, scales, sizes, strict=True
            )
        ]
        features.append(np.concatenate(draws))
        labels.append(np.searchsorted(total.classes, own.classes).repeat(sizes))
        weights.append((own.counts / sizes).repeat(sizes))
    shares = class_shares(*map(np.concatenate, (labels, weights)), power=_POWER)
    folds = [
        Fold(sum(parts[:k] + parts[k + 1 :]).project(basis.T), held_out)
        for k, held_out in enumerate(features)
    ]
    groups = np.arange(len(shares))
    return Folds(folds, np.concatenate(labels), shares, groups, total.counts, within)


def _size_and_variance(part, total):
    """A key that sorts statistics independently of their units and of rounding."""
    variance = part.pooled_covariances()[1].trace()
    return part.counts.sum(), round(float(variance / total), 9)


def select(folds, objective_of, shrinkages, sigma2, n_components, constraint):
    """Select the shrinkage and sigma^2.

    If the held-out samples are not classified better than by chance with any candidate,
    the log posteriors may be overconfident. The scores are then computed again, with a
    temperature for each candidate.

    Parameters
    ----------
    folds : Folds
    objective_of : callable
        Maps the statistics of a fold and sigma^2 to an objective with ``classes``, see
        :class:`skgeom.objectives.Objective`.
    shrinkages : sequence of float or None
        Candidates of the shrinkage in descending order; None is no shrinkage.
    sigma2 : "auto" or float
        The only candidate, unless it is "auto".
    n_components, constraint : int, str
        The number of filters, and their constraint.

    Returns
    -------
    Regularization
    """
    candidates = [sigma2]
    if sigma2 == "auto":
        candidates = regularizations(folds, shrinkages[-1])
    axes = shrinkages, candidates
    grid = _Grid(folds, objective_of, axes, n_components, constraint)
    for calibrated in (False, True):
        best = grid.climb(calibrated)
        selection = grid.selection(best)
        if grid.above_chance(best):
            break
    best = grid.ordered()[selection.index]
    shrinkage, sigma2 = grid.candidate(best)
    intensities = None
    if shrinkage is not None:
        n_dimensions = folds.folds[0].held_out.shape[1]
        intensities = class_intensities(shrinkage, folds.counts, n_dimensions)
    current_progress().end_stage()
    return Regularization(
        shrinkage,
        sigma2,
        "held-out log posterior",
        selection,
        intensities,
        (grid.posteriors[best], grid.labels, grid.shares, grid.groups),
    )


class _Grid:
    """Scores of candidates, which are identified by their indices in both axes.

    Axis 0 is the shrinkage, and axis 1 is sigma^2, both in descending order.
    """

    def __init__(self, folds, objective_of, axes, n_components, constraint):
        self.n_components, self.constraint = n_components, constraint
        self.folds, self.objective_of, self.axes = folds.folds, objective_of, axes
        self.labels, self.shares, self.groups = folds.labels, folds.shares, folds.groups
        self.posteriors, self.filters, self.scores = {}, {}, {}

    def candidate(self, place):
        return self.axes[0][place[0]], self.axes[1][place[1]]

    def mean(self, place):
        return self.shares @ self.scores[place]

    def exceeds(self, place, scores, n_errors=1):
        """Whether the score of a candidate is larger by more than standard errors.

        The log posteriors of correctly classified samples are nearly equal. A sum of
        differences below one, a likelihood ratio of at most e, is no evidence.
        """
        if not np.isfinite(self.mean(place)):
            return False
        gains, shares = self.scores[place] - scores, self.shares
        if not np.isfinite(shares @ gains):
            return True
        error = n_errors * standard_error(gains, shares, self.groups)
        return shares @ gains > max(error, shares @ shares)

    def above_chance(self, place):
        chance = -np.log(self.posteriors[place].shape[1])
        return self.exceeds(place, chance, n_errors=2)

    def climb(self, calibrated):
        """The best candidate, from a medium shrinkage and the largest sigma^2.

        The scores are computed again, with a temperature for each candidate if they are
        calibrated; the filters of the folds are not.
        """
        self.calibrated = calibrated
        self.scores.clear()
        best, before = (len(self.axes[0]) // 2, 0), None
        self.score(best)
        while best != before:
            before = best
            for step in ((0, 1), (0, -1), (1, 0), (-1, 0)):
                best = self.follow(best, step)
        return best

    def follow(self, best, step):
        """The best candidate of a path, which ends when a candidate is worse."""
        near, worse = best, False
        while not worse:
            place = i, j = near[0] + step[0], near[1] + step[1]
            if not (0 <= i < len(self.axes[0]) and 0 <= j < len(self.axes[1])):
                break
            self.score(place, near)
            best = max(best, place, key=self.mean)
            # Among candidates at chance, differences are random.
            worse = self.exceeds(best, self.scores[place]) and self.above_chance(best)
            near = place
        return best

    def score(self, place, near=None):
        """Score a candidate; its filters are optimized from those of a candidate."""
        if place not in self.posteriors:
            starts = self.filters.get(near, [None] * len(self.folds))
            candidates = [self.candidate(place)] * len(self.folds)
            found = map(self.fit_fold, self.folds, candidates, starts)
            posteriors, self.filters[place] = zip(*found, strict=True)
            self.posteriors[place] = np.concatenate(posteriors)
        if place not in self.scores:
            posteriors = self.posteriors[place]
            if self.calibrated and np.isfinite(posteriors).all():
                temperature = fit_temperature(posteriors, self.labels, self.shares)
                posteriors = log_softmax(posteriors / temperature, axis=1)
            self.scores[place] = posteriors[np.arange(len(posteriors)), self.labels]
        best = max(self.scores, key=self.mean)
        message = "highest score {:.6f} with shrinkage {} and regularization {:.4g}"
        message = message.format(self.mean(best), *self.candidate(best))
        current_progress().step("selection", message, name="candidate")

    def fit_fold(self, fold, candidate, start):
        """Log posteriors of the classes for the held-out samples, and the filters.

        The log posteriors are -inf if the class covariances are singular.
        """
        shrinkage, sigma2 = candidate
        statistics, iterations = fold.with_shrinkage(shrinkage), _NEXT_ITERATIONS
        objective = self.objective_of(statistics, sigma2)
        if subsets := objective.growing_subsets(random_state=0):
            objective = objective.subset(subsets[0])
        if start is None:
            iterations, classes = _FIRST_ITERATIONS, objective.classes
            start = discriminant_directions(classes, sigma2, self.n_components)
        pooled = statistics.pooled_covariances()
        problem = Problem(objective, *pooled, sigma2, self.constraint).up_to_rotations()
        search = Search(max_iter=iterations, tol=_TOL)
        try:
            with one_blas_thread(objective.parallel):
                filters = search.ascend(problem, problem.nearest(start)).point
            return _log_posteriors(statistics, sigma2, filters, fold), filters
        except (StartError, np.linalg.LinAlgError):  # singular covariances
            shape = len(fold.held_out), len(statistics.classes)
            return np.full(shape, -np.inf), start

    def ordered(self):
        """The candidates in descending order of sigma^2, then of the shrinkage."""
        return sorted(self.scores, key=lambda place: place[::-1])

    def selection(self, best):
        """The selected candidate; the best one if it is at chance."""
        places = self.ordered()
        tried = np.array(list(map(self.candidate, places)), dtype=float)
        candidates = dict(zip(("shrinkage", "regularization"), tried.T, strict=True))
        if None in self.axes[0]:  # the covariances are not shrunk
            del candidates["shrinkage"]
        scores = np.array([self.scores[place] for place in places])
        if self.above_chance(best):
            return choose(candidates, scores, self.shares, self.groups)
        index = places.index(best)
        return selection_of(candidates, scores, self.shares, self.groups, index)


def warn_if_not_separated(chosen):
    """Warn if filters do not separate held-out samples, or at the largest sigma^2 only.

    The second warning is raised if the largest candidate was selected and the next one
    has no higher mean log posterior than equal probabilities.
    """
    if chosen.held_out is None:
        return
    if np.isneginf(chosen.held_out[0]).any():
        warn_user(
            "The class covariances of some training folds are singular for all "
            "candidates of shrinkage and regularization, so the candidates have no "
            "score. The most regularized candidate is used: shrinkage "
            f"{chosen.shrinkage} and regularization {chosen.sigma2:.3g}. "
            "Increase regularization, or use 'auto'.",
            UserWarning,
        )
        return
    remedy = ", increase n_components, decrease regularization"
    if not warn_if_at_chance(*chosen.held_out, remedy):
        found = chosen.selection
        tried = found.candidates["regularization"]
        values, first = np.unique(tried, return_index=True)
        if len(values) > 1 and chosen.sigma2 == values[-1]:
            # Calibrated log posteriors are at least those of equal probabilities.
            chance = -np.log(chosen.held_out[0].shape[1])
            if round(found.scores[first[-2]], 3) <= round(chance, 3):
                warn_of_end("regularization", values, -1)


def warn_if_unscaled_filters(total, basis, estimator):
    """Warn if few features have nearly the whole variance of all features."""
    variances = total.diagonal()
    if basis.columns is not None:
        variances = np.square(basis.lift(_root(total).T)).sum(axis=1)
    warn_if_unscaled(
        variances,
        "The filters have unit norm, and the same regularization is added to the "
        "variance of each filter output, so the units of the features matter.",
        estimator,
    )


def _log_posteriors(statistics, sigma2, filters, fold):
    """Log posteriors of the classes, for equal prior probabilities."""
    covariances = filters.T @ statistics.covariances @ filters
    factors = np.linalg.cholesky(covariances + sigma2 * np.eye(filters.shape[1]))
    offsets = fold.held_out @ filters - (statistics.means @ filters)[:, None]
    whitened = np.linalg.solve(factors, offsets.mT)
    joint = -np.square(whitened).sum(axis=1) / 2
    joint -= np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)[:, None]
    return (joint - np.logaddexp.reduce(joint, axis=0)).T


def regularizations(folds, shrinkage):
    """The candidates of sigma^2 in descending order.

    They range from the largest variance within the classes to a fraction of the
    smallest positive variance of a class, along any direction, with the smallest
    shrinkage: smaller values would change nothing.
    """
    within = folds.within
    covariances = [fold.with_shrinkage(shrinkage).covariances for fold in folds.folds]
    variances = list(map(np.ravel, map(np.linalg.eigvalsh, covariances)))
    largest = np.linalg.eigvalsh(within)[-1]
    variances = np.concatenate(variances)
    smallest = variances[variances > len(within) * np.finfo(float).eps * largest].min()
    n_steps = int(np.ceil(np.log(largest / smallest) / np.log(_STEP))) + 1
    # The values are equal in spite of rounding.
    return [float(f"{largest / _STEP**k:.8g}") for k in range(n_steps + 1)]


def _basis_of_folds(total, n_components, whiten):
    """The basis of the subspace in which the filters of folds are optimized."""
    return whitening(total) if whiten else principal_axes(total, n_components)


def _root(covariance):
    """A matrix R with R' R equal to the covariance, which may be singular."""
    variances, axes = np.linalg.eigh(covariance)
    return np.sqrt(np.maximum(variances, 0))[:, None] * axes.T
