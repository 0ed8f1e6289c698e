"""Regression by Gaussians whose means and covariances follow a continuous target."""

from numbers import Integral, Real

import numpy as np
from scipy.special import logsumexp
from sklearn.base import RegressorMixin, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from skgeom._held_out import distinct_rows, held_out_folds
from skgeom._shrinkage import maximum_likelihood, prior_intensities, shrunk_to_diagonal
from skgeom._statistics import statistics_of_samples
from skgeom.utils.estimator import BaseEstimator, estimator_method

# From the most regularization to the least, in factors of about three. Speed videos
# need little (examples/filters/plot_speed_regression.py), a few hundred samples much.
_PRIOR_SAMPLES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)


class GaussianRegressor(RegressorMixin, BaseEstimator):
    r"""Regression by Bayes' rule with Gaussian features.

    Given the target y, the features are Gaussian with the mean :math:`\mu(y)` and the
    covariance :math:`\Sigma(y)`. Both are estimated at levels of the target and
    interpolated linearly between neighboring levels. The prediction is the mean of the
    posterior :math:`p(y \mid x) \propto p(y) \, \mathcal N(x; \mu(y), \Sigma(y))` on a
    grid. This is how filters learned by :class:`AMAGauss` and :class:`SQFA` estimate
    speed, disparity or orientation, where the covariances of the features hold most of
    the information [1]_.

    Parameters
    ----------
    n_levels : int, default=20
        Largest number of levels. A target with at most so many distinct values has
        these as levels. Otherwise the levels are the mean targets of as many bins with
        equal numbers of samples, or fewer: each bin has more samples than features.
    n_points : int, default=400
        Number of points of the grid from the lowest to the highest level.
    prior_samples : float or "auto", default="auto"
        The pooled covariance of all levels counts as so many samples per feature in the
        covariance of each level. Larger values regularize more. "auto" selects
        one of six values from 0.03 to 10, by the log posterior of the targets of
        held-out samples in five folds.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels_found,)
        Levels of the target, ascending.
    means_ : ndarray of shape (n_levels_found, n_features)
        Means of the features at the levels.
    covariances_ : ndarray of shape (n_levels_found, n_features, n_features)
        Covariances of the features at the levels.
    prior_samples_ : float
        The number of prior samples that was given or selected.
    shrinkage_ : ndarray of shape (n_levels_found,)
        Weights of the pooled covariance in the covariances.
    grid_ : ndarray of shape (n_points,)
        Targets at which the posterior is evaluated.
    prior_ : ndarray of shape (n_points,)
        Prior probabilities of the grid: interpolated frequencies of the levels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has any that are strings.

    See Also
    --------
    GaussianClassifier : The same for classes.

    References
    ----------
    .. [1] J. Burge and P. Jaini, "Accuracy Maximization Analysis for sensory-perceptual
       tasks: computational improvements, filter robustness, and coding advantages for
       scaled additive noise", PLoS Computational Biology 13(2), 2017.

    Examples
    --------
    The variance of a feature determines the target:

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
        "n_levels": [Interval(Integral, 1, None, closed="left")],
        "n_points": [Interval(Integral, 2, None, closed="left")],
        "prior_samples": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
    }

    def __init__(self, n_levels=20, *, n_points=400, prior_samples="auto"):
        self.n_levels = n_levels
        self.n_points = n_points
        self.prior_samples = prior_samples

    @estimator_method
    def fit(self, X, y, sample_weight=None):
        """Estimate the Gaussians at the levels of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed.
        """
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        labels = _levels(X, y, weights, self.n_levels)
        self.prior_samples_ = self.prior_samples
        if self.prior_samples == "auto":
            self.prior_samples_ = self._select_prior(X, y, weights, labels)
        statistics = statistics_of_samples(X, labels, weights)
        self.levels_ = np.bincount(labels, weights * y) / statistics.counts
        self.means_ = statistics.means
        covariances = maximum_likelihood(statistics)
        rows, _ = distinct_rows(_rows(X, y), labels)
        n_distinct = np.bincount(labels[rows])
        shares = statistics.counts / statistics.counts.sum()
        total = np.average((X - shares @ self.means_) ** 2, axis=0, weights=weights)
        total[total == 0] = 1.0  # a constant feature
        within = np.tensordot(shares, covariances, axes=1)
        pooled, _ = shrunk_to_diagonal(within, total, n_distinct)
        n_prior = self.prior_samples_ * X.shape[1]
        self.shrinkage_ = prior_intensities(n_prior, n_distinct)
        rates = self.shrinkage_[:, None, None]
        self.covariances_ = (1 - rates) * covariances + rates * pooled
        self.grid_ = np.linspace(self.levels_[0], self.levels_[-1], self.n_points)
        if len(self.levels_) > 1:
            shares = shares / np.gradient(self.levels_)
        self.prior_ = np.interp(self.grid_, self.levels_, shares)
        self.prior_ /= self.prior_.sum()
        return self

    def _select_prior(self, X, y, weights, labels):
        folds = held_out_folds(_rows(X, y), labels)
        scores = np.zeros((len(_PRIOR_SAMPLES), len(y)))
        for fold in np.unique(folds[folds >= 0]):
            out = folds == fold
            for row, prior_samples in zip(scores, _PRIOR_SAMPLES, strict=True):
                model = clone(self).set_params(prior_samples=prior_samples)
                model.fit(X[~out], y[~out], weights[~out])
                nearest = np.abs(model.grid_ - y[out, None]).argmin(axis=1)
                posterior = model.predict_density(X[out])
                own = posterior[np.arange(len(nearest)), nearest]
                row[out] = np.log(np.maximum(own, np.finfo(float).tiny))
        # Rounded, so that rounding errors decide nothing.
        means = np.round(scores @ weights / weights.sum(), 6)
        return _PRIOR_SAMPLES[np.argmax(means)]

    @estimator_method
    def predict_density(self, X):
        """Compute the posterior probabilities of the targets ``grid_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_points)
            Posterior probabilities, which sum to one over the grid.

        Raises
        ------
        ValueError
            If X is malformed or does not have the features of :meth:`fit`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        positions = np.interp(self.grid_, self.levels_, np.arange(len(self.levels_)))
        below = positions.astype(int)
        above = np.minimum(below + 1, len(self.levels_) - 1)
        part = positions - below
        means, covariances = (
            (1 - t) * values[below] + t * values[above]
            for values, t in [
                (self.means_, part[:, None]),
                (self.covariances_, part[:, None, None]),
            ]
        )
        factors = np.linalg.cholesky(covariances)
        whiteners = np.linalg.inv(factors)
        log_volumes = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        log_posterior = np.empty((len(X), len(self.grid_)))
        for j, (mean, whitener) in enumerate(zip(means, whiteners, strict=True)):
            squares = np.square((X - mean) @ whitener.T).sum(axis=1)
            log_posterior[:, j] = -squares / 2
        log_posterior += np.log(self.prior_) - log_volumes
        return np.exp(log_posterior - logsumexp(log_posterior, axis=1, keepdims=True))

    @estimator_method
    def predict(self, X):
        """Predict the posterior means of the targets.

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
            If X is malformed or does not have the features of :meth:`fit`.
        """
        return self.predict_density(X) @ self.grid_

    def predict_interval(self, X, coverage=0.95):
        """Compute central credible intervals of the targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        coverage : float, default=0.95
            Posterior probability of the intervals, in the open interval (0, 1).

        Returns
        -------
        low : ndarray of shape (n_samples,)
            Lower ends, at the quantile (1 - coverage) / 2 of the posterior.
        high : ndarray of shape (n_samples,)
            Upper ends, at the quantile (1 + coverage) / 2.

        Raises
        ------
        ValueError
            If ``coverage`` is not between 0 and 1, or X is malformed.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        cumulative = self.predict_density(X).cumsum(axis=1)
        low, high = (
            self.grid_[np.argmax(cumulative >= level, axis=1)]
            for level in ((1 - coverage) / 2, (1 + coverage) / 2 - 1e-12)
        )
        return low, high


def _rows(X, y):
    return np.column_stack([X, y])


def _levels(X, y, weights, n_levels):
    """The number of the level of each sample, in the order of the targets."""
    values, labels = np.unique(y, return_inverse=True)
    if len(values) <= n_levels:
        return labels
    n_levels = min(n_levels, max(len(np.unique(X, axis=0)) // (X.shape[1] + 1), 2))
    quantiles = np.linspace(0, 1, n_levels + 1)[1:-1]
    edges = np.quantile(y, quantiles, weights=weights, method="inverted_cdf")
    return np.unique(np.searchsorted(edges, y), return_inverse=True)[1]
