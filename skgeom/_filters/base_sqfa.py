"""What SQFA and its variants have in common."""

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skgeom._filters.base import DEPENDENT, BaseFilters
from skgeom._filters.learning import PooledCovariances
from skgeom._statistics import ClassStatistics
from skgeom.objectives import MeanPairwiseDistance, find_distance
from skgeom.utils._sklearn import with_callbacks
from skgeom.utils._warnings import warn_user


class BaseSQFA(BaseFilters):
    """Filters that maximise the mean distance between classes.

    A subclass has ``_distances``, a registry.
    """

    _parameter_constraints = {
        **BaseFilters._parameter_constraints,
        "squared": ["boolean"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        distance="fisher-rao",
        squared=False,
        regularization="auto",
        constraint="unit-norm",
        covariance_estimator=None,
        init="auto",
        n_init="auto",
        group_size=None,
        optimizer="lbfgs",
        max_iter=500,
        tol=1e-6,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.distance = distance
        self.squared = squared
        self.regularization = regularization
        self.constraint = constraint
        self.covariance_estimator = covariance_estimator
        self.init = init
        self.n_init = n_init
        self.group_size = group_size
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def class_distances(self, *, regularized=True):
        """Distances between the classes in the space of the features.

        Parameters
        ----------
        regularized : bool, default=True
            Whether the features have the noise of variance ``regularization_``, as in
            the objective.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
            Distances, not squared, in the order of ``classes_``; symmetric, with a
            zero diagonal.

        Raises
        ------
        ValueError
            If a class covariance of the features is singular, without regularisation.
        """
        check_is_fitted(self)
        noise = self.regularization_ if regularized else 0.0
        try:
            return self._objective(self._compared(self.statistics_), noise).matrix()
        except np.linalg.LinAlgError:
            raise ValueError(
                "The covariance of the features of a class is singular, so that its "
                "distance to others is infinite; use regularized=True."
            ) from None

    def orthonormalize(self):
        """Replace the filters by an orthonormal basis of their span, in place.

        Of all such bases it is the one nearest to the filters. The features then are
        an invertible linear map of those before, which leaves the decisions of a
        quadratic or linear discriminant analysis as they are, if that is fitted again.
        ``objective_`` and ``statistics_`` follow.

        Returns
        -------
        self
            This object.

        Raises
        ------
        ValueError
            If the filters are linearly dependent.
        """
        check_is_fitted(self)
        filters = self.components_.astype(np.float64)
        left, sizes, right = np.linalg.svd(filters, full_matrices=False)
        if sizes[-1] <= DEPENDENT * sizes[0]:
            raise ValueError(
                f"The {len(filters)} filters are linearly dependent, so that no "
                "orthonormal ones have their span. Fit with constraint='orthonormal'."
            )
        self.components_ = (left @ right).astype(self.components_.dtype)
        self.statistics_ = self.statistics_.project((left / sizes) @ left.T)
        compared = self._compared(self.statistics_)
        objective = self._objective(compared, self.regularization_)
        self.objective_ = objective(np.eye(len(filters)))[0]
        return self

    def _compared(self, statistics):
        """What is compared: means, covariances; and PooledCovariances of the data."""
        if statistics.means is None:
            raise ValueError(
                "SQFA compares means and covariances, but these statistics hold second "
                "moments only: use SecondMomentSQFA, or make the statistics with "
                "ClassStatistics(classes, counts, means, covariances)."
            )
        pooled = PooledCovariances(*statistics.pooled_covariances())
        means = statistics.means
        if find_distance(self.distance, self._distances).translation_invariant:
            means = means - means.mean(axis=0)
        return means, statistics.covariances, pooled

    def _objective(self, compared, regularization):
        """The mean distance of what ``_compared`` returns."""
        means, covariances, _ = compared
        distance = find_distance(self.distance, self._distances)
        return MeanPairwiseDistance(
            means, covariances, regularization, distance, self.squared
        )

    def _problem(self, statistics, compared, regularization, **changes):
        """The search and the objective, given what ``_compared`` returns."""
        objective = self._objective(compared, regularization)
        negligible = self._check_noise(regularization, statistics, *compared[1:])
        span_only = negligible and objective.distance.affine_invariant
        return self._search(regularization, span_only, **changes), objective

    def _fit(self, statistics, X=None, y=None, regularization=None):
        compared = self._compared(statistics)
        pooled = compared[-1]
        if regularization is None:
            regularization = self._noise(pooled)
        search, objective = self._problem(statistics, compared, regularization)
        self.classes_ = statistics.classes
        coincide = _coincide(*compared)
        if coincide:
            warn_user(
                "The classes do not differ in what is compared: their distances are "
                "zero, and the filters mean nothing.",
                UserWarning,
            )
        else:
            _warn_of_lone_samples(statistics, compared[1])
        filters = self._learn(search, objective, pooled, X, y, quiet=coincide)
        self.statistics_ = statistics.project(filters.T)
        return self


def _warn_of_lone_samples(statistics, covariances):
    lone = [
        label
        for label, count, covariance in zip(
            statistics.classes, statistics.counts, covariances, strict=True
        )
        if count == 1 and not covariance.any()
    ]
    if lone:
        warn_user(
            f"{len(lone)} of the classes, the first one {lone[0]}, have a single "
            "sample. Without variance they are far from all others, and draw the "
            "filters to themselves: leave them out, or give them more samples.",
            UserWarning,
        )


def _coincide(means, covariances, pooled):
    """Whether all classes are the same but for rounding, in units of each feature."""
    deviations = np.sqrt(np.diag(pooled.total))
    of_means = 1e-8 * deviations
    of_covariances = 1e-10 * np.outer(deviations, deviations)
    return all(
        (np.abs(mean - means[0]) <= of_means).all()
        and (np.abs(covariance - covariances[0]) <= of_covariances).all()
        for mean, covariance in zip(means, covariances, strict=True)
    )


class FitsStatistics:
    """The methods that fit an SQFA estimator to data, or to their statistics alone."""

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn the filters from samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, if ``n_components``
            exceeds the number of features, if ``init`` has a wrong shape, if, without
            regularisation, a class covariance is singular, or if the objective is not
            finite at any start.

        Warns
        -----
        ConvergenceWarning
            If a search does not end within ``max_iter`` iterations.
        UserWarning
            If the filters found are linearly dependent, or if the classes do not
            differ.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self._check_sizes(np.unique(y))
        statistics = ClassStatistics._from_valid_data(X, y, self.covariance_estimator)
        return self._fit(statistics, X, y)

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit_statistics(self, statistics):
        """Learn the filters from the statistics of the classes.

        Parameters
        ----------
        statistics : ClassStatistics
            Counts, means and covariances of at least two classes.
            ``covariance_estimator`` is not used.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        TypeError
            If ``statistics`` is no :class:`ClassStatistics`.
        ValueError
            As :meth:`fit`.
        """
        if not isinstance(statistics, ClassStatistics):
            raise TypeError(
                "statistics must be a ClassStatistics, made for example by "
                "ClassStatistics.from_data(X, y), got "
                f"{type(statistics).__name__}."
            )
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = statistics.n_features
        self._check_sizes(statistics.classes)
        return self._fit(statistics)
