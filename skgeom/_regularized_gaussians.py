r"""Gaussian classes with regularized covariances.

The covariance of class k with :math:`n_k` samples is that of regularized discriminant
analysis (J. H. Friedman, "Regularized discriminant analysis", JASA 84, 1989),

.. math::

   (1 - \lambda) [(1 - \rho_k) S_k + \rho_k W] + \lambda D, \qquad
   \rho_k = \frac{q n}{n_k - 1 + q n},

where :math:`S_k` is the maximum likelihood covariance of the class, W is the pooled
covariance of n features, and D is diagonal. The pooling q is a number of prior samples
per feature, and the ridge :math:`\lambda` is between 0 and 1. In coordinates in which D
is the identity, one eigendecomposition is sufficient for all values of the ridge.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from skgeom._held_out import (
    in_distinct_samples,
    remaining_weights,
    training_statistics,
)
from skgeom._selection import (
    calibrated_temperature,
    choose,
    tempered_scores,
    warn_if_at_chance,
)
from skgeom._statistics import (
    ClassStatistics,
    closed_form_shrinkage,
    projected,
    warn_if_weights_are_small,
)
from skgeom.objectives._covariances import ArrayCovariances, SampleCovariances
from skgeom.utils.linalg import semidefinite_root
from skgeom.utils.memory import require_memory

# A relative variance below this constant times the number of features is a rounding
# error.
ROUNDING = np.finfo(np.float64).resolution
# Candidates of the pooling and of the ridge, from the most to the least regularized. If
# there are fewer samples than features, ridges near 1 differ as much as ridges near 0
# (page "Constants").
TARGETS = "diagonal", "identity"
POOLINGS = (np.inf, 3.0, 0.5, 0.0)
RIDGES = (1, 0.99, 0.95, 0.8, 0.5, 0.25, 0.1, 1e-2, 1e-3, 1e-5, 1e-7)
# A pooling with larger intensities of all classes nearly equals an infinite one.
_NEARLY_POOLED = 0.95


class SingularCovarianceError(ValueError):
    """The covariance of a class or of all samples is singular."""


class Gaussians(NamedTuple):
    """Gaussian classes, with whitening matrices W: W' covariance W is the identity.

    ``whiteners`` has shape (n_classes, n_features, n), or (1, n_features, n) if all
    classes have the same covariance. ``log_scales`` are half of the log-determinants of
    the covariances in the span of the samples. The covariances are shrunk to the pooled
    covariance with ``intensities``, (n_classes,), and to D with the intensity
    ``ridge``.
    """

    whiteners: np.ndarray
    log_scales: np.ndarray
    intensities: np.ndarray
    ridge: float = 0.0


class Coordinates(NamedTuple):
    """Linear coordinates ``X @ basis`` in which D is the identity.

    ``log_volume`` is the logarithm of the factor by which the coordinates decrease
    volumes in the span of the samples. ``statistics`` are those in the coordinates.
    """

    basis: np.ndarray
    log_volume: float
    statistics: ClassStatistics


def maximum_likelihood(statistics):
    """The maximum likelihood covariances of the classes (scatter divided by count)."""
    return statistics.moments.covariances.scaled(_likelihood_factors(statistics))


def _likelihood_factors(statistics):
    """The ratios of maximum likelihood covariances and those of statistics."""
    if statistics.covariance_estimator is not None:
        return np.ones(len(statistics.counts))
    return statistics.moments.degrees / statistics.counts


def pooled_and_total(statistics):
    """The pooled maximum likelihood covariance, and the total covariance.

    A variance that is a rounding error becomes zero: the computed standard deviation of
    equal numbers is a few units in the last place of their mean, or of the total
    standard deviation if the samples were centered before.
    """
    weights = statistics.counts / statistics.counts.sum()
    # No scaled copy of the covariances is formed.
    factors = weights * _likelihood_factors(statistics)
    pooled = statistics.moments.covariances.mean(factors)
    offsets = statistics.means - weights @ statistics.means
    total = pooled + (offsets.T * weights) @ offsets
    sizes = np.abs(statistics.means).max(axis=0)
    deviations = np.sqrt(np.diag(total))
    varies = deviations > ROUNDING * sizes
    total = total * varies * varies[:, None]
    own = np.sqrt(np.diag(pooled))
    varies &= own > ROUNDING * (sizes + deviations)
    return pooled * varies * varies[:, None], total


def without_rounding(statistics, total):
    """Covariances of the classes, in which rounding errors of variances become zero."""
    covariances = maximum_likelihood(statistics).values
    own = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    sizes = np.abs(statistics.means) + np.sqrt(np.diag(total))
    varies = (own > ROUNDING * sizes) & (np.diag(total) > 0)
    return covariances * varies[:, :, None] * varies[:, None]


def pooling_intensities(pooling, counts, n_features):
    r"""The intensities :math:`\rho_k` of classes with given numbers of samples."""
    if pooling == np.inf:
        return np.ones(len(counts))
    prior = pooling * n_features
    total = np.maximum(counts - 1, 0) + prior
    return np.where(total > 0, prior / np.where(total > 0, total, 1), 1.0)


def target_variances(pooled, total, n_distinct):
    """The diagonal of D for each target.

    A feature that is constant within all classes is treated as if it varied in one of
    ``n_distinct`` samples.
    """
    own, totals = np.diag(pooled), np.diag(total)
    own = np.where(own > 0, own, totals / n_distinct)
    mean = own.sum() / max(np.count_nonzero(totals), 1)
    return {"diagonal": own, "identity": np.full_like(own, mean)}


def coordinates_of(statistics, n_distinct, targets=TARGETS):
    """The coordinates for each target, as a dict."""
    few = isinstance(statistics.moments.covariances, SampleCovariances)
    _require_memory(statistics, 1 if few else len(statistics.classes))
    pooled, total = pooled_and_total(statistics)
    found = {}
    for target in targets:
        variances = target_variances(pooled, total, n_distinct.sum())[target]
        basis, log_volume = basis_of(total, variances)
        found[target] = Coordinates(basis, log_volume, projected(statistics, basis))
    return found


def _require_memory(statistics, n_matrices, n_columns=None):
    """Raise MemoryError if matrices, one row per feature, and copies do not fit."""
    n_classes, n_features = statistics.means.shape
    require_memory(
        6 * 8 * n_matrices * n_features * (n_columns or n_features),
        f"The covariances of {n_classes} classes of {n_features} features",
        "Use fewer features, for example the components of SQFA.",
    )


def basis_of(total, variances=None):
    r"""Coordinates of the samples in which D is the identity, and their log-volume.

    The columns of the basis span :math:`D^{-1} T` with the total covariance T, which
    contains all discriminants. If T has full rank, the basis is
    :math:`D^{-1/2}`.

    Parameters
    ----------
    total : ndarray of shape (n_features, n_features)
        The total covariance.
    variances : ndarray of shape (n_features,), default=None
        The diagonal of D; by default, that of T.

    Returns
    -------
    basis : ndarray of shape (n_features, n)
    log_volume : float
    """
    totals = np.diag(total)
    if not totals.max() > np.finfo(np.float64).tiny:
        raise SingularCovarianceError(
            "All features are constant, or their variances are too small for "
            f"floating-point numbers (largest variance {totals.max():.3g}). "
            "Multiply X by a common factor, or use StandardScaler."
        )
    deviations = np.sqrt(np.where(totals > 0, totals, 1))
    scales = deviations if variances is None else np.sqrt(variances)
    scales = np.where(totals > 0, scales, 1)
    # The tolerance is ten times that of `whitener`: otherwise, rounding would decide
    # whether the covariance of a class is singular in the remaining directions.
    tol = 10 * len(total) * ROUNDING
    root = semidefinite_root(total / deviations / deviations[:, None], tol)
    if root.shape[1] == len(total):
        return np.diag(1 / scales), float(np.log(scales).sum())
    axes, _ = np.linalg.qr(root)
    samples, _ = np.linalg.qr(deviations[:, None] * axes)
    axes, _ = np.linalg.qr((deviations / scales)[:, None] * axes)
    basis = axes / scales[:, None]
    return basis, -float(np.linalg.slogdet(basis.T @ samples)[1])


def select_covariances(held_out, coordinates, priors, poolings=POOLINGS):
    """Select the covariances with held-out samples, and calibrate the posteriors.

    Parameters
    ----------
    held_out : HeldOut
        The samples.
    coordinates : dict of Coordinates
        The coordinates for each target, with the statistics of all samples.
    priors : ndarray of shape (n_classes,)
        Prior probabilities of the classes.
    poolings : sequence of float
        Candidates of the pooling in descending order.

    Returns
    -------
    Selection or None
        None if no samples can be held out.
    """
    totals = next(iter(coordinates.values())).statistics
    totals, weights = in_distinct_samples(totals, held_out.y, held_out.weights)
    poolings, folds = _distinct_poolings(poolings, totals), list(held_out.folds())
    labels = np.searchsorted(totals.classes, held_out.y)
    # Without a class that vanishes by rounding, no model can be trained.
    folds = [
        out
        for out in folds
        if remaining_weights(totals, labels[out], weights[out]).all()
    ]
    if not folds:
        return None
    rows = np.concatenate(folds)
    shape = len(coordinates), len(poolings), len(RIDGES), len(rows), len(priors)
    require_memory(
        16 * np.prod(shape, dtype=float),
        f"The densities of {len(priors)} classes for {len(rows)} held-out samples",
        "Use covariance='shared' or a number for regularization.",
    )
    joint = np.empty(shape)
    for found, target in zip(joint, coordinates.values(), strict=True):
        parts = _log_densities_of_folds(held_out, folds, target, poolings)
        np.concatenate(list(parts), axis=2, out=found)
    joint += np.log(priors)
    joint = joint.reshape(-1, *shape[-2:])
    grid = np.meshgrid(list(coordinates), poolings, RIDGES, indexing="ij")
    names = "target", "pooling", "ridge"
    candidates = dict(zip(names, map(np.ravel, grid), strict=True))
    weights = (priors / totals.counts)[labels[rows]] * weights[rows]
    weights, groups = weights / weights.sum(), held_out.groups[rows]
    samples = labels[rows], weights, len(held_out.y)
    scores = tempered_scores(joint, *samples)
    # The diagonal does not depend on the units of the features, the identity does.
    selection = choose(candidates, scores, weights, groups, candidates["target"])
    joint = joint[selection.index]
    warn_if_at_chance(joint - np.log(priors), *samples[:2], groups)
    temperature = calibrated_temperature(joint, *samples, groups)
    return replace(selection, temperature=temperature)


def _log_densities_of_folds(held_out, folds, coordinates, poolings):
    """Log densities of the samples of each fold, from ``log_densities_of``."""
    statistics, y = coordinates.statistics, held_out.y
    shares = statistics.counts / statistics.counts.sum()
    # Large data are represented by some of their samples.
    are_all = np.isclose(held_out.weights.sum(), statistics.counts.sum())
    total, weights = in_distinct_samples(statistics, y, held_out.weights)
    X, labels = held_out.X @ coordinates.basis, np.searchsorted(total.classes, y)
    for out in folds:
        if are_all:
            kept = np.delete(np.arange(len(y)), out)
            training = training_of(X[kept], labels[kept], weights[kept])
        else:
            part = training_statistics(total, X[out], y[out], weights[out])
            training = Training(part.counts, part.means, maximum_likelihood(part))
        yield log_densities_of(training, shares, poolings, X[out])


class Training(NamedTuple):
    """Counts, means and maximum likelihood covariances of classes."""

    counts: np.ndarray
    means: np.ndarray
    covariances: ArrayCovariances | SampleCovariances


def training_of(X, labels, weights):
    """The moments of the classes of distinct samples with weights."""
    order = np.argsort(labels, kind="stable")
    X, labels, weights = X[order], labels[order], weights[order]
    counts = np.bincount(labels)
    shares = (weights / np.bincount(labels, weights)[labels])[:, None]
    means = np.add.reduceat(shares * X, np.cumsum(counts) - counts)
    rows = np.sqrt(shares) * (X - means[labels])
    covariances = SampleCovariances(rows, counts, np.ones(len(counts)))
    return Training(counts, means, covariances)


def _distinct_poolings(poolings, statistics):
    """The candidates without those whose intensities all nearly equal one."""
    n = statistics.n_features
    return [
        pooling
        for pooling in poolings
        if pooling in (np.inf, 0)
        or pooling_intensities(pooling, statistics.counts, n).min() < _NEARLY_POOLED
    ]


def log_densities_of(training, shares, poolings, X):
    """Log densities of shape (n_poolings, n_ridges, n_samples, n_classes).

    They are NaN for candidates with which the covariance of a class is singular.
    """
    counts, means, covariances = training
    pooled, center = covariances.mean(shares), shares @ means
    X, means, n = X - center, means - center, len(pooled)
    (variances_of_all,), (axes,) = _principal_axes(pooled[None], n)
    X_in_axes, means_in_axes = X @ axes, means @ axes
    intensities = np.stack([pooling_intensities(q, counts, n) for q in poolings])
    found = np.empty((len(poolings), len(RIDGES), len(X), len(counts)))
    for k, rho in enumerate(intensities.T):
        offsets, is_own, is_pooled = X - means[k], rho == 0, rho == 1
        lengths = np.square(offsets).sum(axis=1)
        own = pooled if is_pooled.all() else covariances[k]
        for group in (is_own, is_pooled, ~(is_own | is_pooled)):
            if not group.any():
                continue
            if group is is_pooled:
                variances = variances_of_all[None]
                squares = np.square(X_in_axes - means_in_axes[k])[None]
            else:
                share = rho[group, None, None]
                mixed = (1 - share) * own + share * pooled
                rank = counts[k] - 1 if group is is_own else n
                variances, axes = _principal_axes(mixed, rank)
                squares = np.square(offsets @ axes)
            found[group, :, :, k] = _with_ridges(variances, squares, lengths, n)
    return found


def _with_ridges(variances, squares, lengths, n):
    """Log densities of g covariances with each ridge, (g, n_ridges, n_samples).

    Parameters
    ----------
    variances : ndarray of shape (g, r)
        The variances along r principal axes; those along the other axes are zero.
    squares : ndarray of shape (g, n_samples, r)
        The squares of the offsets of the samples from the mean along these axes.
    lengths : ndarray of shape (n_samples,)
        The squared lengths of the offsets.
    n : int
        The number of all axes.
    """
    ridges = np.array(RIDGES)[:, None]
    variances = (1 - ridges) * variances[:, None] + ridges
    found = (1 / variances) @ squares.mT
    found += np.log(variances).sum(axis=2)[..., None]
    if variances.shape[2] < n:
        rest = np.maximum(lengths - squares.sum(axis=2), 0)
        found += rest[:, None] / ridges
        found += (n - variances.shape[2]) * np.log(ridges)
    found *= -0.5
    return found


def _principal_axes(covariances, rank):
    """Variances and principal axes of covariances, (g, n, n), of at most a rank."""
    if rank >= covariances.shape[1] / 2:
        return np.linalg.eigh(covariances)
    (covariance,) = covariances
    root = semidefinite_root(covariance, len(covariance) * ROUNDING)
    left, sizes, _ = np.linalg.svd(root, full_matrices=False)
    return np.square(sizes)[None], left[None]


def gaussians_of(statistics, variance, is_shared):
    """The Gaussians of classes whose covariances are not shrunk.

    Parameters
    ----------
    statistics : ClassStatistics
    variance : float
        The variance that is added to all features.
    is_shared : bool
        Whether all classes have the pooled covariance.

    Raises
    ------
    SingularCovarianceError
        If a covariance is singular in the span of the samples.
    """
    n_classes = len(statistics.classes)
    _require_memory(statistics, 1 if is_shared else n_classes)
    pooled, total = pooled_and_total(statistics)
    basis, log_volume = np.eye(len(total)), 0.0
    if not variance:
        basis, log_volume = basis_of(total)
    added = variance * np.eye(basis.shape[1])
    pooled = basis.T @ pooled @ basis + added
    covariances = pooled[None]
    if not is_shared:
        covariances = basis.T @ without_rounding(statistics, total) @ basis + added
    intensities = np.full(n_classes, 1.0 * is_shared)
    coordinates = Coordinates(basis, log_volume, statistics)
    return _gaussians(coordinates, covariances, pooled, intensities)


def shrunk_gaussians(coordinates, n_distinct, is_shared, pooling=None, ridge=None):
    """The Gaussians of classes with shrunk covariances.

    Parameters
    ----------
    coordinates : Coordinates
    n_distinct : ndarray of shape (n_classes,)
        Numbers of distinct samples of the classes.
    is_shared : bool
        Whether all classes have the pooled covariance.
    pooling, ridge : float, default=None
        The selected parameters. None uses closed forms.

    Raises
    ------
    SingularCovarianceError
        If a covariance is singular in the span of the samples.
    """
    counts = coordinates.statistics.counts
    covariances = maximum_likelihood(coordinates.statistics)
    pooled = covariances.mean(counts / counts.sum())
    if pooling is not None:
        intensities = pooling_intensities(pooling, n_distinct, len(pooled))
        return _gaussians(coordinates, covariances, pooled, intensities, ridge)
    warn_if_weights_are_small(coordinates.statistics)
    ridge = closed_form_ridge(pooled, n_distinct)
    mixed = (1 - ridge) * pooled + ridge * np.eye(len(pooled))
    W, _ = whitener(mixed, "all classes together")
    intensities = np.ones(len(counts))
    if not is_shared:
        intensities = closed_form_shrinkage(W.T @ covariances.values @ W, counts)
    return _gaussians(coordinates, covariances, pooled, intensities, ridge)


def _gaussians(coordinates, covariances, pooled, intensities, ridge=0.0):
    """The Gaussians of covariances, (c, n, n), in coordinates in which D is I."""
    names = [f"class {label}" for label in coordinates.statistics.classes]
    if (intensities == 1).all():
        names = ["all classes together"]
    _require_memory(coordinates.statistics, len(names), len(coordinates.basis))
    found = []
    for k, name in enumerate(names):
        rho = intensities[k]
        mixed = (1 - ridge) * ((1 - rho) * covariances[k] + rho * pooled)
        found.append(whitener(mixed + ridge * np.eye(len(pooled)), name))
    whiteners, log_scales = zip(*found, strict=True)
    return Gaussians(
        coordinates.basis @ np.stack(whiteners),
        np.array(log_scales) + coordinates.log_volume,
        intensities,
        float(ridge),
    )


def closed_form_ridge(pooled, n_distinct):
    """The intensity with which the pooled covariance is shrunk to its diagonal.

    The intensity minimizes the mean square error of the correlations r, whose variance
    is (1 - r^2)^2 / n for Gaussians and n degrees of freedom (Schaefer and Strimmer,
    2005). The diagonal has at least the weight of one sample.
    """
    variances = np.diag(pooled)
    varies = variances > 0
    deviations = np.sqrt(variances[varies])
    correlations = pooled[np.ix_(varies, varies)] / deviations / deviations[:, None]
    squares = np.square(correlations[~np.eye(len(deviations), dtype=bool)])
    degrees = max(n_distinct.sum() - len(n_distinct), 0)
    least, size = 1 / (degrees + 1), degrees * squares.sum()
    errors = np.square(1 - squares).sum()
    return max(least, min(errors / size, 1.0)) if size > 0 else 1.0


def whitener(covariance, name):
    """W with W' covariance W = I, and the log-determinant of the inverse of W."""
    n_features, deviations = len(covariance), np.sqrt(np.diag(covariance))
    try:
        factor = np.linalg.cholesky(covariance)
        found = solve_triangular(factor, np.eye(n_features), lower=True).T
    except np.linalg.LinAlgError:
        found = np.full_like(covariance, np.inf)
    # Squares of ``scales`` are the variances of features given the previous features.
    scales = 1 / np.diag(found)
    if not (scales > np.sqrt(n_features * ROUNDING) * deviations).all():
        rank = np.linalg.matrix_rank(covariance, hermitian=True)
        raise SingularCovarianceError(
            f"The covariance of {name} is singular: its rank is {rank}, but the "
            f'samples span {n_features} dimensions. Use regularization="auto" or a '
            'positive number, a shrinking covariance_estimator such as "oas", fewer '
            "features, or more samples."
        )
    return found, float(np.log(scales).sum())
