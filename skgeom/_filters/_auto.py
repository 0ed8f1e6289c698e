"""Automatic shrinkage and regularization of the class covariances.

The score of a candidate, a pair of shrinkage and sigma^2, is the mean log posterior of
held-out samples. The most regularized candidate whose score is within one standard
error, or a negligible difference, of the best score is selected. First sigma^2 is
selected at a medium shrinkage, then the shrinkage. Each of the two selections ends when
the score of a candidate is below the best score so far by more.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skgeom._filters._optimization import (
    principal_coordinates,
    rotation_metric,
    whitening_coordinates,
)
from skgeom._held_out import (
    MOST_SAMPLES,
    distinct_rows,
    folds_of_distinct,
    in_distinct_samples,
    remaining_weights,
    training_statistics,
)
from skgeom._selection import (
    class_shares,
    standard_error,
    warn_if_at_chance,
    warn_of_end,
    within_standard_error,
)
from skgeom._statistics import ClassStatistics, with_noise
from skgeom.optim._manifolds import filter_manifold
from skgeom.optim._minimize import StartError, minimize
from skgeom.utils.array_api import on_cpu, take, to_numpy
from skgeom.utils.estimator import current_progress
from skgeom.utils.linalg import FeatureSpace, project
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import warn_if_unscaled, warn_user

# Candidates of the shrinkage, in addition to a small one (see _shrinkages). Compared
# with finer grids in benchmarks/bench_constants.py.
_SHRINKAGES = (0.6, 0.3)
# Ratio of successive values of sigma^2 (benchmarks/bench_constants.py).
_STEP = 4.0
# The filters of a fold are optimized with a large tolerance and few iterations, from
# the filters of the previous candidate. The accuracy on digits is the same with ten
# times or a tenth of the tolerance, and with fewer or more iterations
# (benchmarks/bench_constants.py).
_TOL, _FIRST_ITERATIONS, _NEXT_ITERATIONS = 1e-2, 30, 5
# The weight of a class in the score is this power of its number of samples. With equal
# weights (0), the samples of a small class would determine the standard error, and
# nearly all candidates would be within one standard error of the best one. With weights
# in proportion to the numbers (1), errors in a small class would hardly change the
# score (benchmarks/bench_constants.py).
_POWER = 0.5


@dataclass(frozen=True)
class Selection:
    """Selected shrinkage and sigma^2, the selection rule and all scores.

    ``shrinkage`` is None if it was not selected on held-out samples, and ``scores`` is
    None without held-out samples. ``intensities`` are the shrinkage intensities of the
    classes. ``held_out`` are the log posteriors of the classes for the held-out samples
    with the selected values, and the labels, weights and groups of these samples.
    """

    shrinkage: float | None
    regularization: float
    rule: str
    scores: dict | None = None
    intensities: np.ndarray | None = None
    held_out: tuple | None = None


def check_regularization(sigma2, statistics):
    """Raise ValueError if the variance of the data is below the rounding of sigma^2."""
    _, total = map(on_cpu, statistics.pooled_covariances())
    scale = total.trace()
    if statistics.means is not None:
        scale += np.square(to_numpy(statistics.means)).sum(axis=1).max()
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
    class. If the data do not vary within the classes, the total covariance replaces W.
    If the total covariance is zero as well, the value is 1.
    """
    rounding = len(within) * np.finfo(float).eps  # of standard deviations, relative
    within, total = within.trace(), total.trace()
    trace = within if within > rounding**2 * total else total
    return float(trace / (2 * counts.mean())) if trace > 0 else 1.0


def class_intensities(shrinkage, counts, n_dimensions=0):
    r"""Shrinkage intensity of each class with :math:`n_k` samples.

    The within-class covariance W counts like :math:`q_k` additional samples,

    .. math::

       \rho_k = \frac{q_k}{n_k - 1 + q_k}, \qquad
       q = \frac{\rho}{1 - \rho} (\bar n - 1)

    with :math:`q_k = q`, so a class with the mean number :math:`\bar n` of samples has
    the intensity :math:`\rho`. The covariance of a class with at most as many samples
    as ``n_dimensions`` is singular. Its :math:`q_k` is at least that of the smallest of
    ``_SHRINKAGES``, or filters along which the class hardly varies by chance would be
    preferred. A class with one sample has the covariance W.
    """
    degrees = np.maximum(counts - 1.0, 0)
    prior, least = (
        rho / (1 - rho) * degrees.mean() for rho in (shrinkage, _SHRINKAGES[-1])
    )
    prior = np.where(degrees < n_dimensions, max(prior, least), prior)
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


@dataclass(frozen=True)
class Fold:
    """Held-out samples, and class statistics of the remaining samples.

    Both have the coordinates of a subspace. ``shares`` are the weights of the held-out
    samples in the mean over all folds. Samples of different ``groups`` are independent.
    ``noise`` is the covariance that is added to the covariances of the classes.
    """

    training: ClassStatistics
    held_out: np.ndarray
    labels: np.ndarray
    shares: np.ndarray
    groups: np.ndarray
    noise: np.ndarray | None


def folds_of_samples(statistics, samples, n_components, whiten, estimator, noise):
    """The folds of some samples, the class sizes, and the candidates of sigma^2.

    Folds that hold out nearly the whole weight of a class are omitted. Both lists are
    empty if the remaining samples do not vary within their classes in any fold. The
    sizes are numbers of distinct samples, unless there is an estimator.

    Parameters
    ----------
    statistics : ClassStatistics
        Statistics of all data.
    samples : SelectionSamples
        All or some of the samples.
    n_components : int
        Number of filters.
    whiten : bool
        Whether the result must not depend on the units of the coordinates.
    estimator : None, str or object
        The estimator of the class covariances.
    noise : ndarray of shape (n_coordinates, n_coordinates) or None
        Covariance that is added to the class covariances.
    """
    X, y, weights, groups, points = samples
    X = X.toarray() if hasattr(X, "toarray") else to_numpy(X)
    labels = np.searchsorted(statistics.classes, y)
    rows, weights, groups = distinct_rows(X, labels, weights, groups)
    y, labels, points = y[rows], labels[rows], take(points, rows)
    numbers = folds_of_distinct(y, groups)
    if estimator is None:
        statistics, weights = in_distinct_samples(statistics, y, weights)
    for number in range(numbers.max() + 1):
        out = numbers == number
        if not remaining_weights(statistics, labels, weights * out).all():
            numbers[out] = -1
    weights_of_folds = np.where(numbers >= 0, weights, 0)
    shares = class_shares(labels, weights_of_folds, power=_POWER)
    within, total = map(to_numpy, statistics.pooled_covariances())
    coordinates = _coordinates(within, total, n_components, whiten)
    folds = []
    for number in np.unique(numbers[numbers >= 0]):
        out, basis = numbers == number, coordinates.basis
        if estimator is not None:
            kept = to_numpy(take(points, np.flatnonzero(~out)))
            training = ClassStatistics.from_data(kept, y[~out], estimator)
            training = training.project(basis.T)
        else:
            if not coordinates.complete:
                directions = _training_discriminants(
                    statistics, within, points, labels, weights * out, n_components
                )
                basis, _ = np.linalg.qr(np.hstack([basis, directions]))
            training = statistics.project(basis.T)
            training = training.__sklearn_array_api_convert__(to_numpy)
        features = project(points, basis)
        if estimator is None:
            training = training_statistics(
                training, features[out], y[out], weights[out], distinct=True
            )
        parts = features[out], labels[out], shares[out], groups[out]
        folds.append(Fold(training, *parts, _noise_of_features(noise, basis)))
    if not any(map(_varies, folds)):
        return [], statistics.counts, []
    # The basis of the last fold contains its discriminants. The variance along them can
    # be far below the variance along the leading principal axes.
    counts = statistics.counts
    return folds, counts, _regularizations(basis, within, counts)


def _noise_of_features(noise, basis):
    return None if noise is None else basis.T @ noise @ basis


def _varies(fold):
    """Whether the samples that are not held out vary within their classes."""
    within, total = fold.training.pooled_covariances()
    return np.trace(within) > len(within) * np.finfo(float).eps * np.trace(total)


def folds_of_summaries(parts, total, n_components, whiten, noise):
    """The folds, class sizes and candidates of sigma^2 if only statistics are given.

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
    within, total_covariance = map(to_numpy, total.pooled_covariances())
    basis = _coordinates(within, total_covariance, n_components, whiten).basis
    features, labels, weights = [], [], []
    most = max(MOST_SAMPLES // sum(len(part.classes) for part in parts), 1)
    for part in parts:
        # Independent of the order of the folds.
        own, rng = part.project(basis.T), np.random.default_rng(0)
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
    ends = np.cumsum([len(part) for part in labels])[:-1]
    shares = class_shares(*map(np.concatenate, (labels, weights)), power=_POWER)
    groups = np.split(np.arange(len(shares)), ends)
    shares = np.split(shares, ends)
    folds = []
    for number, part in enumerate(zip(features, labels, shares, groups, strict=True)):
        remaining = [other for k, other in enumerate(parts) if k != number]
        training = sum(remaining).project(basis.T)
        folds.append(Fold(training, *part, _noise_of_features(noise, basis)))
    return folds, total.counts, _regularizations(basis, within, total.counts)


def select(
    folds, counts, objective_of, shrinks, regularizations, n_components, constraint
):
    """Select the shrinkage and sigma^2.

    Parameters
    ----------
    folds : list of Fold
    counts : ndarray of shape (n_classes,)
        Number of distinct samples of each class.
    objective_of : callable
        Maps the statistics of a fold and sigma^2 to an objective with ``classes``, see
        :class:`skgeom.objectives.Objective`.
    shrinks : bool
        Whether to select a shrinkage. Otherwise, covariances are not shrunk.
    regularizations : sequence of float
        Candidates of sigma^2 in descending order.
    n_components, constraint : int, str
        The number of filters, and their constraint.

    Returns
    -------
    Selection
    """
    shrinkages = _shrinkages(folds) if shrinks else [None]
    labels = np.concatenate([fold.labels for fold in folds])
    shares = np.concatenate([fold.shares for fold in folds])
    groups = np.concatenate([fold.groups for fold in folds])
    of_classes, posteriors, scores, filters = {}, {}, {}, {}

    def follow(path, best, starts=None):
        """Score candidates until a score is below the best one by a standard error.

        The first optimization starts from ``starts``, if given, and each later one from
        the filters of the previous candidate.
        """
        found = [None] * len(folds)
        for candidate in path:
            of_folds, filters[candidate] = [], []
            for fold, start in zip(folds, starts or found, strict=True):
                of_fold, own = _held_out(
                    fold, objective_of, candidate, n_components, constraint, start
                )
                of_folds.append(of_fold)
                filters[candidate].append(own)
            found = filters[candidate]
            of_classes[candidate] = of_all = np.concatenate(of_folds)
            posteriors[candidate] = of_all[np.arange(len(labels)), labels]
            scores[candidate] = score = shares @ posteriors[candidate]
            highest = max(scores, key=scores.get)
            message = "highest score {:.6f} with shrinkage {} and regularization {:.4g}"
            message = message.format(scores[highest], *highest)
            current_progress().step("selection", message, name="candidate")
            if np.isfinite([scores[best], score]).all():
                losses = posteriors[best] - posteriors[candidate]
                error = standard_error(losses, shares, groups)
                if shares @ losses > max(error, _negligible(shares)):
                    return
            best = max(best, candidate, key=scores.get)

    middle = (len(shrinkages) - 1) // 2
    path = [(shrinkages[middle], float(sigma2)) for sigma2 in regularizations]
    follow(reversed(path), path[-1])
    chosen = _most_regularized(path, posteriors, shares, groups)
    path = [(shrinkage, chosen[1]) for shrinkage in shrinkages]
    follow(path[:middle][::-1], chosen, filters[chosen])
    follow(path[middle + 1 :], chosen, filters[chosen])
    chosen = _most_regularized(path, posteriors, shares, groups)
    intensities = None
    if shrinks:
        n_dimensions = folds[0].held_out.shape[1]
        intensities = class_intensities(chosen[0], counts, n_dimensions)
    current_progress().end_stage()
    tried = np.array(list(scores), dtype=float)  # None becomes NaN
    results = {
        "shrinkage": tried[:, 0],
        "regularization": tried[:, 1],
        "mean_log_posterior": np.array(list(scores.values())),
    }
    held_out = of_classes[chosen], labels, shares, groups
    rule = "held-out log posterior"
    return Selection(*chosen, rule, results, intensities, held_out)


def warn_if_not_separated(selection):
    """Warn if filters do not separate held-out samples, or at the largest sigma^2 only.

    The second warning is raised if the largest candidate was selected and the next one
    has a lower mean log posterior than equal probabilities.
    """
    if selection.held_out is None:
        return
    if np.isneginf(selection.held_out[0]).any():
        warn_user(
            "The class covariances of some training folds are singular for all "
            "candidates of shrinkage and regularization, so the candidates have no "
            "score. The most regularized candidate is used: shrinkage "
            f"{selection.shrinkage} and regularization {selection.regularization:.3g}. "
            "Increase regularization, or use 'auto'.",
            UserWarning,
        )
        return
    remedy = ", increase n_components, decrease regularization"
    if not warn_if_at_chance(*selection.held_out, remedy):
        values, first = np.unique(selection.scores["regularization"], return_index=True)
        if len(values) > 1 and selection.regularization == values[-1]:
            of_next = selection.scores["mean_log_posterior"][first[-2]]
            if of_next < -np.log(selection.held_out[0].shape[1]):
                warn_of_end("regularization", values, -1)


def warn_if_unscaled_filters(total, space, estimator):
    """Warn if few features have nearly the whole variance of all features."""
    variances = total.diagonal()
    if type(space) is not FeatureSpace:
        variances = np.square(space.lift(_root(total).T)).sum(axis=1)
    warn_if_unscaled(
        variances,
        "The filters have unit norm, and the same regularization is added to the "
        "variance of each filter output, so the units of the features matter.",
        estimator,
    )


def _held_out(fold, objective_of, candidate, n_components, constraint, start):
    """Log posteriors of the classes for the held-out samples, and the filters.

    The log posteriors are -inf if the class covariances are singular.
    """
    shrinkage, sigma2 = candidate
    statistics, iterations = fold.training, _NEXT_ITERATIONS
    if shrinkage is not None:
        n_dimensions = fold.held_out.shape[1]
        intensities = class_intensities(shrinkage, statistics.counts, n_dimensions)
        statistics = statistics.shrunk(intensities)
    statistics = with_noise(statistics, fold.noise)
    objective = objective_of(statistics, sigma2)
    if subsets := objective.growing_subsets(random_state=0):
        objective = objective.subset(subsets[0])
    if start is None:
        iterations, classes = _FIRST_ITERATIONS, objective.classes
        start = discriminant_directions(
            classes.means, classes.covariances, sigma2, n_components
        )
    pooled = statistics.pooled_covariances()
    metric = rotation_metric(objective, constraint, *pooled, sigma2)
    options = {"max_iter": iterations, "tol": _TOL}
    try:
        manifold = filter_manifold(constraint, metric, *start.shape)

        def cost(point):
            value, gradient = objective(manifold.filters_of(point))
            return -value, -gradient

        with one_blas_thread(objective.parallel):
            point = manifold.point_of(manifold.nearest(start))
            result = minimize(cost, manifold, point, **options)
        filters = manifold.filters_of(result.point)
        return _log_posteriors(statistics, sigma2, filters, fold), filters
    except (StartError, np.linalg.LinAlgError):  # singular covariances
        return np.full((len(fold.labels), len(statistics.classes)), -np.inf), start


def discriminant_directions(means, covariances, sigma2, n_components):
    r"""Leading directions in which classes differ, in columns of norm one.

    W is the mean class covariance. In coordinates in which :math:`W + \sigma^2 I` is
    the identity, the directions are eigenvectors of the mean of
    :math:`m_k m_k^\top + \tfrac12 D_k^2`, the second-order expansion of squared class
    distances. The mean and the covariance of class k differ from their averages over
    the classes by :math:`m_k` and :math:`D_k`.
    """
    within = covariances.mean(axis=0)
    variances, axes = np.linalg.eigh(within + sigma2 * np.eye(len(within)))
    variances = np.maximum(variances, _rounding(variances))
    whitener = axes / np.sqrt(variances)
    offsets = (means - means.mean(axis=0)) @ whitener
    differences = whitener.T @ (covariances - within) @ whitener
    total = offsets.T @ offsets + (differences @ differences).sum(axis=0) / 2
    _, directions = np.linalg.eigh(total)
    found = whitener @ directions[:, ::-1][:, :n_components]
    return found / np.linalg.norm(found, axis=0)


def _log_posteriors(statistics, sigma2, filters, fold):
    """Log posteriors of the classes, for equal prior probabilities."""
    covariances = filters.T @ statistics.covariances @ filters
    factors = np.linalg.cholesky(covariances + sigma2 * np.eye(filters.shape[1]))
    offsets = fold.held_out @ filters - (statistics.means @ filters)[:, None]
    whitened = np.linalg.solve(factors, offsets.mT)
    joint = -np.square(whitened).sum(axis=1) / 2
    joint -= np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)[:, None]
    return (joint - logsumexp(joint, axis=0)).T


def _most_regularized(candidates, posteriors, shares, groups):
    """The most regularized candidate within one standard error of the best one."""
    candidates = [candidate for candidate in candidates if candidate in posteriors]
    scores = [posteriors[candidate] for candidate in candidates]
    options = {"groups": groups, "negligible": _negligible(shares)}
    return candidates[within_standard_error(scores, shares, **options)]


def _negligible(shares):
    """A difference of mean log posteriors that is no evidence.

    The likelihood ratio of all held-out samples is then at most e. If all samples are
    correctly classified with probabilities near one, standard errors are smaller.
    """
    return float(shares @ shares)


def _shrinkages(folds):
    """The candidates of the shrinkage in descending order.

    With the smallest candidate, the within-class covariance counts like one additional
    sample. It is omitted if all intensities would be those of the next one.
    """
    n_samples = np.mean([fold.training.counts.mean() for fold in folds])
    least = float(f"{1 / max(n_samples, 2):.8g}")  # equal in spite of rounding
    for fold in folds:
        counts, d = fold.training.counts, fold.held_out.shape[1]
        next_ones = class_intensities(_SHRINKAGES[-1], counts)
        if (class_intensities(least, counts, d) < next_ones).any():
            return [*_SHRINKAGES, least]
    return list(_SHRINKAGES)


def _regularizations(basis, within, counts):
    """The candidates of sigma^2 in descending order.

    The largest candidate is the largest of the d principal variances within the
    classes. The smallest candidate is about the geometric mean of the d variances, or
    with N > d samples, the geometric mean times (d / N)^2 or the smallest variance
    times d / N, whichever is smaller: irrelevant features can raise the geometric mean
    far above the relevant variances. N is the mean number of samples of a class if it
    exceeds d, and otherwise the number of all samples.
    """
    variances = np.linalg.eigvalsh(basis.T @ within @ basis)
    variances = variances[variances > _rounding(variances)]
    n_dimensions, end = len(variances), np.exp(np.log(variances).mean())
    n_samples = counts.mean() if n_dimensions < counts.mean() else counts.sum()
    ratio = n_dimensions / n_samples
    if ratio < 1:
        end = min(end * ratio**2, variances[0] * ratio)
    n_steps = int(np.log(variances[-1] / end) / np.log(_STEP))
    values = variances[-1] / _STEP ** np.arange(n_steps + 1)
    return [float(f"{value:.8g}") for value in values]  # equal in spite of rounding


def _rounding(variances):
    """The largest rounding error of variances, which are in ascending order."""
    return len(variances) * np.finfo(float).eps * variances[-1]


def _coordinates(within, total, n_components, whiten):
    """The coordinates in which filters are optimized."""
    if whiten:
        return whitening_coordinates(total)
    return principal_coordinates(total, np.inf, n_components)


def _training_discriminants(statistics, within, points, labels, out, n_components):
    """Linear discriminants of the samples that are not held out, in columns.

    The discriminants need not be in the span of the leading principal axes. ``out``
    contains the weights of the held-out samples, and zeros for all other samples.
    """
    rows = np.flatnonzero(out)
    points, labels, out = take(points, rows), labels[rows], out[rows]
    points = points.toarray() if hasattr(points, "toarray") else to_numpy(points)
    counts, means = statistics.counts, to_numpy(statistics.means)
    n_out = np.bincount(labels, out, len(counts))
    sums = np.zeros_like(means)
    np.add.at(sums, labels, out[:, None] * points)
    offsets = sums / np.maximum(n_out, 1e-300)[:, None] - means
    remaining = counts - n_out
    centered = np.sqrt(out)[:, None] * (points - (means + offsets)[labels])
    covariances = to_numpy(statistics.covariances)
    scatter = np.tensordot(counts - 1, covariances, axes=1) - centered.T @ centered
    scatter -= (offsets.T * (n_out * counts / remaining)) @ offsets
    means = means - offsets * (n_out / remaining)[:, None]
    means -= means.mean(axis=0)
    scatter, n = scatter / remaining.sum(), len(scatter)
    # The more samples per feature, the smaller is the ridge. Otherwise, irrelevant
    # features of large variance would hide small features that separate the classes.
    noise = sampling_noise(within, within, counts) * min(n / counts.sum(), 1) ** 2
    directions = np.linalg.solve(scatter + noise * np.eye(n), means.T)
    left, sizes, _ = np.linalg.svd(directions, full_matrices=False)
    return left[:, sizes > 1e-10 * sizes[0]][:, :n_components]


def _root(covariance):
    """A matrix R with R' R equal to the covariance, which may be singular."""
    variances, axes = np.linalg.eigh(covariance)
    return np.sqrt(np.maximum(variances, 0))[:, None] * axes.T
