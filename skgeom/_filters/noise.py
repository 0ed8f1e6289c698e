"""The automatic regularisation: the noise that few samples, or other shapes, leave."""

from dataclasses import replace
from functools import partial

import numpy as np

from skgeom._filters.filter_search import independent_directions, principal_coordinates
from skgeom.objectives import MeanInformation
from skgeom.optim import maximize_coarse_to_fine
from skgeom.utils.array_api import take
from skgeom.utils.estimator import current_progress
from skgeom.utils.threads import one_blas_thread

# Each noise is this many times as large as the one before.
_STEP = 3.0
# Filters that are good to this tolerance tell which noise is best.
_TOL = 1e-4
_MAX_ITER = 100
# Scores, in nats, that differ by no more are as good, if classes are of one size.
_SAME = 3e-4
# Starts of the search with the least noise, from whose filters the others go on.
_N_STARTS = 4
# A variance within the classes that is so small, relative to the total, is rounding.
_ROUNDING = 1e-24
# Samples that are scored.
MOST_SAMPLES = 10_000


def sampling_noise(pooled, counts):
    r"""Half of the variance that the samples of a class leave in doubt.

    Where n samples have many features, their covariance is wrong by about
    :math:`\operatorname{tr}(W) / n` along some directions, however little the class
    varies there (Koltchinskii and Lounici, 2017, where the effective rank is above n);
    W is the covariance within the classes, and n their mean number of samples. Half of
    that did best, by trial, beside shrunken covariances. If the data do not vary within
    the classes, the total covariance takes its place; without any variance, this is 1.
    """
    within, total = np.trace(pooled.within), np.trace(pooled.total)
    trace = within if within > _ROUNDING * total else total
    return float(trace / (2 * counts.mean())) if trace > 0 else 1.0


def most_informative_noise(
    search, statistics, moments, make_objective, X, y, sample_weight=None
):
    """The noise whose filters tell most about the classes of samples, and the filters.

    Where classes are no Gaussians, directions of small variance separate their
    covariances more than their samples, and more noise keeps filters away from them. So
    it rises from the sampling noise, to where the mean log posterior of the correct
    class is highest, of the samples that the filters are learnt from: the sampling
    noise keeps that from being too hopeful. Of noises that are as good, the largest
    makes the easiest search. Filters are sought in the span of the leading principal
    axes and of the linear discriminants, which need not be along these.

    Parameters
    ----------
    search : FilterSearch
        That of the final filters, with the sampling noise.
    statistics : ClassStatistics
        Those of the samples; its Gaussians give the posterior.
    moments : ClassMoments
        What the objective is made of.
    make_objective : callable
        Maps moments and a noise to an objective of filters.
    X, y : ndarray of shape (N, n), (N,)
        The samples and their labels.
    sample_weight : ndarray of shape (N,), default=None
        Their weights.
    """
    least, pooled = search.regularization, moments.pooled
    basis = principal_coordinates(pooled, np.inf, search.n_components).basis
    if basis.shape[1] < len(basis):
        discriminants = linear_discriminants(moments, least, search.n_components)
        basis, _ = np.linalg.qr(np.hstack([basis, discriminants]))
    moments = moments.project(basis)
    search = replace(
        search,
        init="auto",
        n_init=_N_STARTS,
        group_size=None,
        free_rotation=False,  # loose searches of both kinds differ
        random_state=0,  # the noise is a matter of the data alone
        maximize=partial(maximize_coarse_to_fine, max_iter=_MAX_ITER, tol=_TOL),
    )

    progress = current_progress()

    def find(noise, **starts):
        at_noise = replace(search, regularization=noise, **starts)
        objective = make_objective(moments, noise)
        for pairs in objective.growing_samples(random_state=0)[:1]:
            objective = objective.sample(pairs)  # enough of many pairs

        def report(stage, filters, value):
            progress.note(f"noise, {noise:.4g}, {stage}: objective {value:.6f}")

        filters, _ = at_noise.run(
            objective, moments.pooled, report if progress.active else None
        )
        return filters

    def score_of(noise, filters):
        with one_blas_thread(information.parallel):
            score = information.value(filters)
        said = f"{noise:.4g} tells {score:.6f} nats about the class"
        progress.step("noise", said, name="value", print_each=True)
        return score

    filters = find(least)
    information = _information(statistics, X, y, sample_weight, least)
    information = information.project(basis)
    best_score, chosen = score_of(least, filters), (least, filters)
    # Else a rare class, of little weight in the score, could lose much.
    shares = statistics.counts / statistics.counts.sum()
    same = _SAME * len(shares) * shares.min()
    largest = np.linalg.eigvalsh(pooled.within)[-1]
    noise = least
    while _STEP * noise <= largest:
        noise *= _STEP
        filters = find(noise, init="random", n_init=0, warm_start=filters)
        score = score_of(noise, filters)
        distinct = independent_directions(filters) == search.n_components
        if score >= best_score - same and distinct:
            best_score, chosen = max(best_score, score), (noise, filters)
    noise, filters = chosen
    progress.end_stage()
    progress.print(f"regularization {noise:.6g} is taken")
    return noise, basis @ filters


def linear_discriminants(moments, noise, n_components):
    """The leading linear discriminants, in columns, with a noise added to features."""
    means = moments.means - moments.means.mean(axis=0)
    within = moments.pooled.within + noise * np.eye(means.shape[1])
    directions = np.linalg.solve(within, means.T)
    # Ratios of the scatters between and within, as eigenvalues of order c.
    ratios, rotation = np.linalg.eigh(means @ directions)
    n_least = max(len(ratios) - n_components, 0)
    kept = np.arange(len(ratios)) >= n_least
    kept &= ratios > len(means) * np.finfo(float).eps * ratios[-1]
    found = directions @ rotation[:, kept]
    return found / np.linalg.norm(found, axis=0)


def rows_to_score(n_samples):
    """Which samples are scored: at random, as they may be sorted, but always alike."""
    n_rows = min(n_samples, MOST_SAMPLES)
    return np.random.default_rng(0).choice(n_samples, n_rows, replace=False)


def _information(statistics, X, y, sample_weight, noise):
    """What features tell about the classes of some of the samples."""
    rows = slice(None)
    if X.shape[0] > MOST_SAMPLES:
        rows = rows_to_score(X.shape[0])
    labels = np.searchsorted(statistics.classes, y[rows])
    return MeanInformation(
        take(X, rows),
        labels,
        statistics.means,
        statistics.covariances,
        noise,
        np.log(statistics.counts / statistics.counts.sum()),
        weights=None if sample_weight is None else sample_weight[rows],
    )
