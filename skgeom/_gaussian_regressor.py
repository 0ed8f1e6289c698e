"""Regression with Gaussian features whose moments depend on a continuous target."""

from dataclasses import dataclass
from itertools import pairwise, product
from numbers import Integral

import numpy as np
from scipy.linalg import eigh
from scipy.special import logsumexp
from sklearn.base import RegressorMixin
from sklearn.utils import gen_batches

from skgeom._held_out import (
    MOST_SAMPLES,
    distinct_rows,
    folds_of_distinct,
    held_out_folds,
)
from skgeom._regularized_gaussians import (
    closed_form_ridge,
    pooled_and_total,
    pooling_intensities,
    target_variances,
    without_rounding,
)
from skgeom._selection import fit_temperature, selection_of, standard_error
from skgeom._statistics import statistics_of_samples
from skgeom.utils._sklearn import CallbackSupportMixin, Interval, StrOptions, positive
from skgeom.utils.docs import SAMPLE_WEIGHT, substitute_docs
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.linalg import ENTRIES_AT_ONCE
from skgeom.utils.memory import ROWS_PER_BLOCK, require_memory
from skgeom.utils.methods import fit_method, predict_method
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import (
    raise_too_large,
    validate_data,
    validated_samples,
)
from skgeom.utils.warn import warn_if_outlier, warn_user

# In descending order. Small values are best for the videos of
# examples/filters/plot_speed_regression.py, large values if the target changes the
# means only: with 10 instead of 100, 30 features explain up to 0.009 less variance.
_PRIOR_SAMPLES = (100.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
# Few levels are best for few samples per feature, if the target changes the
# covariances: 300 samples of 10 features whose covariance rotates explain 58 instead
# of 38 % of the variance.
_N_LEVELS = (20, 8, 4, 2)


class GaussianRegressor(CallbackSupportMixin, RegressorMixin, BaseEstimator):
    r"""Regression by Bayes' rule with Gaussian features.

    The features x of samples with the target y are Gaussian with the mean
    :math:`\mu(y)` and the covariance :math:`\Sigma(y)`. Both are estimated at several
    values of the target, called levels, and interpolated linearly between neighboring
    levels. The prediction is the mean of the posterior
    :math:`p(y \mid x) \propto p(y) \, \mathcal N(x; \mu(y), \Sigma(y))`, which is
    computed on a grid of targets. Use the regressor if the covariances of the features
    contain most of the information about the target, for example to estimate speed,
    disparity or orientation from the features of :class:`AMAGauss` or :class:`SQFA`
    [1]_. If the target is nearly a linear function of the features, use a linear model
    such as scikit-learn's ``Ridge`` instead: it is more accurate, and it extrapolates.

    Parameters
    ----------
    n_levels : int or "auto", default="auto"
        Maximum number of levels. If the target has at most ``n_levels`` distinct
        values, these values are the levels. Otherwise the levels are the mean targets
        of ``n_levels`` bins with about equal numbers of samples. If the bins would have
        fewer samples than features, fewer bins are used, but at least two. ``"auto"``
        starts with 20, and changes to 8, 4 or 2 if this decreases the squared error of
        held-out targets by more than one standard error. It is 20 if ``prior_samples``
        is a number.
    n_points : int, default=400
        Number of quantiles of the training targets, including the smallest and the
        largest target, that form the grid on which the posterior is evaluated.
    prior_samples : float or "auto", default="auto"
        Weight of the pooled covariance of all levels in the covariance of each level,
        as a number of samples per feature. Larger values regularize more. ``"auto"``
        selects the value with the largest mean log posterior of held-out targets in
        five folds, from seven values between 0.03 and 100.
    verbose : int, default=0
        If 1, ``fit`` prints at most one line per second during the selection, and the
        selected values. Larger values print one line for each fold.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels_found,)
        Levels of the target, in ascending order.
    level_means_ : ndarray of shape (n_levels_found, n_features)
        Means of the features at the levels.
    covariances_ : ndarray of shape (n_levels_found, n_features, n_features)
        Covariances of the features at the levels; zero for features that are constant
        up to rounding. Predictions do not depend on constant features.
    prior_samples_ : float
        The given or selected value of ``prior_samples``.
    selection_ : Selection or None
        The candidates of ``n_levels`` and ``prior_samples`` with their mean log
        posteriors; None if ``prior_samples`` is a number. Unlike other estimators, the
        regressor selects the best score, and fewer levels only if they decrease the
        squared error.
    interval_temperature_ : float
        Temperature of :meth:`predict_interval`, which divides the log-likelihoods of
        the targets: the temperature of at least 1 that minimizes the log-loss of
        held-out targets, or 1 if ``prior_samples`` is a number or if no target can be
        held out. It does not change :meth:`predict` and :meth:`predict_density`.
    level_shrinkage_ : ndarray of shape (n_levels_found,)
        Weight of the pooled covariance in the covariance of each level, from 0 to 1.
    grid_ : ndarray of shape (n_grid,)
        Targets at which the posterior is evaluated, in ascending order: the distinct
        values of ``n_points`` quantiles. The distribution function is interpolated
        linearly between the targets, so the grid has points between two levels even if
        all targets are levels. Beyond the outer levels, the Gaussian is constant.
    prior_ : ndarray of shape (n_grid,)
        Prior probabilities of the points of ``grid_``: the fractions of the quantiles
        that are equal to the point.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    GaussianClassifier : The same model for classes.

    References
    ----------
    .. [1] J. Burge and P. Jaini, "Accuracy Maximization Analysis for sensory-perceptual
       tasks: computational improvements, filter robustness, and coding advantages for
       scaled additive noise", PLoS Computational Biology 13(2), 2017.

    Examples
    --------
    The target is the standard deviation of the features:

    >>> import numpy as np
    >>> from skgeom import GaussianRegressor
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(1, 5, size=2000)
    >>> X = rng.normal(size=(2000, 8)) * y[:, None]
    >>> model = GaussianRegressor().fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.5
    True
    >>> low, high = model.predict_interval(X[1000:], coverage=0.9)
    >>> round(float(((low <= y[1000:]) & (y[1000:] <= high)).mean()), 1)
    0.9
    """

    _parameter_constraints = {
        "n_levels": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_points": [Interval(Integral, 2, None, closed="left")],
        "prior_samples": [
            positive,
            StrOptions({"auto"}),
        ],
        "verbose": ["verbose"],
    }

    def __init__(
        self, n_levels="auto", *, n_points=400, prior_samples="auto", verbose=0
    ):
        self.n_levels = n_levels
        self.n_points = n_points
        self.prior_samples = prior_samples
        self.verbose = verbose

    @fit_method
    @substitute_docs(sample_weight=SAMPLE_WEIGHT)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Estimate the Gaussians at the levels of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Targets.
        {sample_weight}
        groups : array-like of shape (n_samples,), default=None
            Labels of groups of dependent samples, such as the recordings of one
            subject. The samples of a group are held out together. With None, each set
            of equal samples is one group.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X, y, ``sample_weight`` or ``groups`` is malformed, if the squares of X
            overflow, if ``prior_samples`` is so small that a covariance is singular, or
            if ``prior_samples="auto"`` and there is only one group.
        MemoryError
            If the grid with ``n_points`` points does not fit into memory.

        Warns
        -----
        UserWarning
            With ``prior_samples="auto"``, if one sample causes more than 99 % of the
            variance of all features, or if neither the absolute nor the squared
            errors of held-out samples are significantly smaller than those of the mean
            of the targets, or if no sample can be held out.
        """
        samples = validated_samples(
            self, X, y, sample_weight, groups, numeric=True, dtype=np.float64
        )
        X, y, weights, groups, _ = samples
        current_progress().start(X, y)
        weights = np.ones(len(y)) if weights is None else weights / weights.mean()
        _check_range(X, weights)
        n_levels = _N_LEVELS[0] if self.n_levels == "auto" else self.n_levels
        self.prior_samples_, self.interval_temperature_ = self.prior_samples, 1.0
        self.selection_ = None
        if self.prior_samples == "auto":
            warn_if_outlier(samples.X, samples.weights, samples.rows)
            # Constant features must change neither the folds nor the number of levels.
            varying = X[:, _varying(X, weights)]
            n_levels, self.prior_samples_, self.interval_temperature_ = self._select(
                varying, y, weights, groups
            )
        levels = _levels_of(X, y, weights, n_levels)
        self.grid_, self.prior_ = _grid(y, weights, self.n_points)
        self._posterior = levels.posterior(self.prior_samples_, self.grid_, self.prior_)
        self.level_shrinkage_ = levels.shrinkages(self.prior_samples_)
        self.levels_, varies = levels.targets, levels.varies
        self.level_means_ = np.tile(
            np.average(X, axis=0, weights=weights), (len(self.levels_), 1)
        )
        self.level_means_[:, varies] = levels.means
        self.covariances_ = np.zeros((*self.level_means_.shape, X.shape[1]))
        self.covariances_[np.ix_(range(len(self.levels_)), varies, varies)] = (
            levels.shrunk_covariances(self.prior_samples_)
        )
        current_progress().print(
            f"n_levels={len(self.levels_)}, prior_samples={self.prior_samples_:.6g}, "
            f"interval_temperature={self.interval_temperature_:.6g}"
        )
        return self

    def _select(self, X, y, weights, groups):
        """Number of levels, prior samples, temperature; sets ``selection_``."""
        numbers = _N_LEVELS if self.n_levels == "auto" else [self.n_levels]
        labels = {number: _labels(X, y, weights, number) for number in numbers}
        if groups is None:
            folds = held_out_folds(np.column_stack([X, y]), labels[numbers[0]])
        else:
            folds = _folds_of_groups(X, y, weights, groups)
        # Different values of ``n_levels`` may lead to the same levels.
        numbers = {labels[number].max(): number for number in numbers[::-1]}.values()
        numbers = sorted(numbers, reverse=True)
        parameters = list(product(numbers, _PRIOR_SAMPLES))
        scores, predicted = np.zeros((2, len(parameters), len(y)))
        means = np.zeros(len(y))
        progress, held_out = current_progress(), np.unique(folds[folds >= 0])
        for fold in held_out:
            out = folds == fold
            kept = X[~out], y[~out], weights[~out]
            means[out] = np.average(kept[1], weights=kept[2])
            levels = {number: _levels_of(*kept, number) for number in numbers}
            grid, prior = _grid(*kept[1:], self.n_points)
            for k, (number, prior_samples) in enumerate(parameters):
                posterior = levels[number].posterior(prior_samples, grid, prior)
                density = posterior.density(X[out])
                own = density[np.arange(len(density)), posterior.nearest(y[out])]
                scores[k, out] = np.log(np.maximum(own, np.finfo(float).tiny))
                predicted[k, out] = density @ grid
            message = f"{len(parameters)} candidates"
            progress.step("selection", message, n_steps=len(held_out), name="fold")
        progress.end_stage()
        # The best score is used without a tolerance of one standard error, which would
        # reduce the explained variance by a tenth with 100 to 300 samples. The scores
        # are rounded, so that the selection does not depend on rounding errors.
        shares, squares = weights / len(y) * (folds >= 0), np.square(y - predicted)
        means_of_models = np.round(scores @ shares, 6).reshape(-1, len(_PRIOR_SAMPLES))
        candidates = means_of_models.argmax(axis=1)  # by number of levels
        candidates += len(_PRIOR_SAMPLES) * np.arange(len(candidates))
        # The posterior of skewed targets prefers too few levels.
        best, is_better = candidates[0], []
        for fewer_levels in candidates[1:]:
            gains = squares[best] - squares[fewer_levels]
            if shares @ gains > standard_error(gains, shares, groups):
                best = fewer_levels
        # A few extreme targets can dominate squared errors.
        for power in (1, 2):
            gains = np.abs(y - means) ** power - np.abs(y - predicted[best]) ** power
            is_better += [shares @ gains > 2 * standard_error(gains, shares, groups)]
        if np.ptp(y) > 0 and shares.any() and not any(is_better):
            warn_user(
                "The predictions of held-out samples are not significantly better than "
                "the mean of the targets. Scale or select features, use more samples, "
                "or use a different regressor.",
                UserWarning,
            )
        values = {
            name: [pair[k] for pair in parameters[::-1]]
            for k, name in enumerate(("n_levels", "prior_samples"))
        }
        index = len(parameters) - 1 - best
        self.selection_ = selection_of(values, scores[::-1], shares, groups, index)
        temperature = self._fit_temperature(X, y, weights, folds, *parameters[best])
        return *parameters[best], temperature

    def _fit_temperature(self, X, y, weights, folds, n_levels, prior_samples):
        """The temperature of the intervals, from at most ``MOST_SAMPLES`` targets."""
        rows, sums, _ = distinct_rows(np.column_stack([X, y]), folds, weights)
        is_held_out = folds[rows] >= 0
        step = -(-len(rows) // MOST_SAMPLES)
        chosen, sums = rows[is_held_out][::step], sums[is_held_out][::step]
        if not len(chosen):
            warn_user(
                "prior_samples is not selected, and intervals are not calibrated, "
                "because no sample can be held out. Use more samples or a "
                "smaller n_levels.",
                UserWarning,
            )
            return 1.0
        _check_memory(self.n_points, len(chosen))
        scores = np.empty((len(chosen), self.n_points))
        codes = np.empty(len(chosen), dtype=int)
        for fold in np.unique(folds[chosen]):
            kept, out = folds != fold, folds[chosen] == fold
            levels = _levels_of(X[kept], y[kept], weights[kept], n_levels)
            grid, prior = _grid(y[kept], weights[kept], self.n_points)
            posterior = levels.posterior(prior_samples, grid, prior)
            density = posterior.density(X[chosen[out]])
            ratios = np.maximum(density, np.finfo(float).tiny) / prior
            # Each of the ``n_points`` quantiles is a class, so all priors are equal.
            counts = np.rint(prior * self.n_points).astype(int)
            scores[out] = np.log(ratios).repeat(counts, axis=1)
            codes[out] = counts.cumsum()[posterior.nearest(y[chosen[out]])] - 1
        # With a temperature below 1, 90 % of the speeds are in the 95 % intervals of
        # examples/filters/plot_speed_regression.py.
        return max(fit_temperature(scores, codes, sums), 1.0)

    @predict_method
    def predict_density(self, X):
        """Compute the posterior probabilities of the targets in ``grid_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_grid)
            Posterior probabilities, which sum to one over the grid.

        Raises
        ------
        ValueError
            If X is malformed, if its features differ from the features in :meth:`fit`,
            or if its samples are so far from the means that squared distances overflow.
        MemoryError
            If the probabilities do not fit into memory.
        """
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._posterior.density(X)

    @predict_method
    def predict(self, X):
        """Predict the targets by their posterior means.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Posterior means.

        Raises
        ------
        ValueError
            As in :meth:`predict_density`.
        """
        return self.predict_density(X) @ self.grid_

    def predict_interval(self, X, coverage=0.95):
        """Compute central credible intervals of the targets.

        The power ``1 / interval_temperature_`` of the likelihood corrects the
        overconfidence of Gaussians that are estimated from few samples. With fewer than
        about 100 samples, fewer targets than ``coverage`` can be in their intervals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        coverage : float, default=0.95
            Probability of the intervals, between 0 and 1 (both excluded).

        Returns
        -------
        low : ndarray of shape (n_samples,)
            Lower ends, at the quantile (1 - coverage) / 2.
        high : ndarray of shape (n_samples,)
            Upper ends, at the quantile (1 + coverage) / 2.

        Raises
        ------
        ValueError
            If ``coverage`` is not between 0 and 1, or as in :meth:`predict_density`.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        ratios = self.predict_density(X) / self.prior_
        powers = ratios ** (1 / self.interval_temperature_)
        cumulative = (powers * self.prior_).cumsum(axis=1)
        cumulative /= cumulative[:, -1:]
        low, high = (
            self.grid_[np.argmax(cumulative >= level, axis=1)]
            for level in ((1 - coverage) / 2, (1 + coverage) / 2 - 1e-12)
        )
        return low, high


@dataclass(frozen=True)
class _Levels:
    """Moments of the features that vary, at the levels of the target.

    Attributes
    ----------
    targets : ndarray of shape (n_levels,)
        Mean target of each level.
    n_distinct : ndarray of shape (n_levels,)
        Numbers of distinct samples.
    varies : ndarray of bool of shape (n_features,)
        Whether a feature varies by more than rounding errors.
    means, covariances : ndarray of shape (n_levels, n), (n_levels, n, n)
        Unbiased estimates for the n features that vary.
    pooled : ndarray of shape (n, n)
        The mean covariance of the levels, regularized.
    """

    targets: np.ndarray
    n_distinct: np.ndarray
    varies: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    pooled: np.ndarray

    def shrinkages(self, prior_samples):
        """Weight of the pooled covariance at each level."""
        return pooling_intensities(prior_samples, self.n_distinct, len(self.pooled))

    def shrunk_covariances(self, prior_samples):
        """Means of the covariances and the pooled covariance, with these weights."""
        weights = self.shrinkages(prior_samples)[:, None, None]
        return (1 - weights) * self.covariances + weights * self.pooled

    def posterior(self, prior_samples, grid, prior):
        """The posterior of the targets of a grid with prior probabilities."""
        covariances = self.shrunk_covariances(prior_samples)
        gaussians = list(zip(self.targets, self.means, covariances, strict=True))
        pairs = pairwise(gaussians if len(gaussians) > 1 else 2 * gaussians)
        pencils = [_pencil(*pair) for pair in pairs]
        return _Posterior(self.targets, self.varies, pencils, grid, prior)


def _levels_of(X, y, weights, n_levels):
    """Levels of the target, at most ``n_levels`` if there are more targets."""
    weights = weights / weights.mean()
    varies = _varying(X, weights)
    X = X[:, varies]
    labels = _labels(X, y, weights, n_levels)
    rows, _, _ = distinct_rows(np.column_stack([X, y]), labels)
    n_distinct, sums = np.bincount(labels[rows]), np.bincount(labels, weights)
    # The unbiased covariance of a level needs a sum of weights above one.
    factor = (np.bincount(labels) / sums).max()
    statistics = statistics_of_samples(X, labels, factor * weights)
    _, total = pooled_and_total(statistics)
    covariances = without_rounding(statistics, total)
    total[total == 0] = 1.0  # no feature varies
    within = np.tensordot(sums / sums.sum(), covariances, axes=1)
    variances = target_variances(within, total, n_distinct.sum())["diagonal"]
    ridge = closed_form_ridge(within + np.diag(variances - np.diag(within)), n_distinct)
    pooled = (1 - ridge) * within
    pooled[np.diag_indices_from(pooled)] = variances
    targets = np.bincount(labels, weights * y) / sums
    return _Levels(targets, n_distinct, varies, statistics.means, covariances, pooled)


@dataclass(frozen=True)
class _Posterior:
    """Posterior of the targets of a grid, from Gaussians between neighboring levels.

    ``pencils`` contains the results of ``_pencil`` for each pair of neighboring levels
    with the targets ``levels``. Features for which ``varies`` is False are ignored.
    """

    levels: np.ndarray
    varies: np.ndarray
    pencils: list
    grid: np.ndarray
    prior: np.ndarray

    def nearest(self, y):
        """Indices of the points of the grid that are nearest to targets."""
        return np.abs(self.grid - y[:, None]).argmin(axis=1)

    def density(self, X):
        """Posterior probabilities of shape (n_samples, n_grid)."""
        _check_memory(len(self.grid), len(X))
        X = X[:, self.varies]
        log_posterior = np.empty((len(X), len(self.grid)))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in gen_batches(len(X), ROWS_PER_BLOCK):
                self._fill(log_posterior[rows], X[rows])
        if not np.isfinite(log_posterior).all():
            raise ValueError(
                f"The values of X are too large (largest {np.abs(X).max():.3g}): their "
                "squared distances from the means overflow. Remove such samples."
            )
        return np.exp(log_posterior - logsumexp(log_posterior, axis=1, keepdims=True))

    def _fill(self, log_posterior, X):
        """Fill an array with the log posteriors of X, up to a constant of each row."""
        positions = np.interp(self.grid, self.levels, np.arange(len(self.levels)))
        pairs = np.minimum(positions.astype(int), len(self.pencils) - 1)
        for k, (mean, axes, step, ratios, log_volume) in enumerate(self.pencils):
            Z = (X - mean) @ axes
            own = np.flatnonzero(pairs == k)
            for part in gen_batches(len(own), max(1, ENTRIES_AT_ONCE // Z.size)):
                t = (positions[own[part]] - k)[:, None]
                variances = 1 - t + t * ratios
                squares = np.square(Z[:, None] - t * step)
                distances = np.einsum("ijk,jk->ij", squares, 1 / variances)
                log_volumes = log_volume + np.log(variances).sum(axis=1) / 2
                log_posterior[:, own[part]] = -distances / 2 - log_volumes
        log_posterior += np.log(self.prior)


def _check_range(X, weights):
    largest = float(np.abs(X).max())
    with np.errstate(over="ignore"):
        bound = weights.sum() * X.shape[1] * np.square(largest)
    if bound > np.finfo(np.float64).eps * np.finfo(np.float64).max:
        raise_too_large(largest)


def _varying(X, weights):
    """Which features vary by more than rounding errors; all if none varies."""
    statistics = statistics_of_samples(X, np.zeros(len(X), int), weights)
    varies = np.diag(pooled_and_total(statistics)[1]) > 0
    return varies if varies.any() else ~varies


def _pencil(first, second):
    """Coordinates in which all Gaussians between two levels are diagonal.

    The interpolated covariance between the covariances A and B is
    ``(1 - t) A + t B`` with t between 0 and 1. It is diagonal in the axes V with
    V' A V = I and V' B V = diag(d), and has the variances 1 - t + t d in these axes.

    Parameters
    ----------
    first, second : tuple of float, ndarray of shape (n,), ndarray of shape (n, n)
        Level, mean and covariance.

    Returns
    -------
    mean : ndarray of shape (n,)
        The first mean, which is the origin of the coordinates ``(X - mean) @ axes``.
    axes : ndarray of shape (n, n)
        The axes V in columns.
    step : ndarray of shape (n,)
        The second mean, in these coordinates.
    ratios : ndarray of shape (n,)
        The variances d.
    log_volume : float
        Half of the log-determinant of A.
    """
    (level, mean, covariance), (_, next_mean, next_covariance) = first, second
    try:
        ratios, axes = eigh(next_covariance, covariance)
    except np.linalg.LinAlgError:
        ratios = np.zeros(1)
    if not (ratios > 0).all():
        raise ValueError(
            f"The covariance at level {level:.6g} or at the next level is singular. "
            "Use a larger prior_samples, fewer features, or more samples."
        )
    step = (next_mean - mean) @ axes
    return mean, axes, step, ratios, -np.linalg.slogdet(axes)[1]


def _check_memory(n_points, n_samples):
    """Raise MemoryError if the densities on the grid do not fit into memory."""
    require_memory(
        24 * n_points * n_samples,
        f"The densities of X at {n_points} targets",
        "Reduce n_points, or pass fewer samples.",
    )


def _grid(y, weights, n_points):
    """Distinct quantiles of the targets, and their prior probabilities."""
    _check_memory(n_points, 8)
    values, _, ranks = _ranks(y, weights)
    quantiles = np.interp(np.linspace(0, 1, n_points), ranks, values)
    grid, counts = np.unique(quantiles, return_counts=True)
    return grid, counts / n_points


def _ranks(y, weights):
    """Distinct targets, their indices, and their relative ranks between 0 and 1.

    The rank is the share of smaller targets plus half of the share of equal targets.
    """
    values, labels = np.unique(y, return_inverse=True)
    shares = np.bincount(labels, weights) / weights.sum()
    return values, labels, shares.cumsum() - shares / 2


def _folds_of_groups(X, y, weights, groups):
    """The fold of each sample: whole groups, sorted by their mean targets.

    Groups with equal mean targets are sorted by their features, not by their labels.
    """
    sums = np.bincount(groups, weights)
    ranges = np.ptp(X, axis=0)
    positions = ((X - X.min(axis=0)) / np.where(ranges > 0, ranges, 1)).sum(axis=1)
    scaled = (y - y.min()) / (np.ptp(y) or 1)
    means = [np.bincount(groups, weights * v) / sums for v in (positions, scaled)]
    if len(sums) == 1:
        raise ValueError(
            "groups contains one group, so no group can be held out. Use at least two "
            "groups, set prior_samples to a number, or use groups=None."
        )
    order = np.lexsort(np.round(means, 9))
    folds = np.empty(len(order), dtype=int)
    one_class, own = np.zeros(len(order), dtype=int), np.arange(len(order))
    folds[order] = folds_of_distinct(one_class, own)
    return folds[groups]


def _labels(X, y, weights, n_levels):
    """The index of the level of each sample; the levels are in ascending order."""
    values, labels, ranks = _ranks(y, weights)
    if len(values) <= n_levels:
        return labels
    varies = (X != X[0]).any()  # otherwise, X says nothing about the level
    n_distinct = varies * len(np.unique(np.column_stack([X, y]), axis=0))
    n_levels = min(n_levels, max(n_distinct // (X.shape[1] + 1), 2))
    bins = np.floor(np.round(ranks * n_levels, 9))  # equal in spite of rounding
    return np.unique(bins[labels], return_inverse=True)[1]
