"""What all estimators that learn filters from labelled data have in common."""

from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from skgeom._filters.block_sample import statistics_and_sample
from skgeom._filters.filter_search import (
    DEPENDENT,
    FEW_CLASSES,
    FEW_FEATURES,
    INITS,
    FilterSearch,
    PooledCovariances,
    independent_directions,
    whitening_coordinates,
)
from skgeom._filters.noise import most_informative_noise, sampling_noise
from skgeom._statistics import ClassStatistics
from skgeom.objectives import projected_classes
from skgeom.optim import CONSTRAINTS, OPTIMIZERS, maximize_on_samples
from skgeom.utils._dask import empty_block
from skgeom.utils.array_api import ARRAY_API, float_dtypes, like, on_host, to_numpy
from skgeom.utils.estimator import (
    CallbackSupportMixin,
    current_progress,
    estimator_method,
    with_parameters,
)
from skgeom.utils.linalg import WholeSpace, signs, space_of
from skgeom.utils.validation import check_two_classes, warn_user


@dataclass(frozen=True)
class ClassMoments:
    """What an objective is made of.

    Attributes
    ----------
    means : ndarray of shape (c, n)
    covariances : array of shape (c, n, n)
        Those of the classes; or zeros, and second moments. They alone may be of another
        library than numpy; they remain on its device, as they are the largest.
    pooled : PooledCovariances
        Those of all classes together.
    weights : ndarray of shape (c,) or None
        How much each class counts in a mean over pairs; None, all alike.
    """

    means: np.ndarray
    covariances: Any
    pooled: PooledCovariances
    weights: np.ndarray | None = None

    def project(self, basis):
        """Those of the data in the coordinates ``basis.T @ x``."""
        classes = projected_classes(self.means, self.covariances, 0.0)
        means, covariances, _ = classes.project(basis)
        return ClassMoments(
            means, covariances, self.pooled.project(basis), self.weights
        )


class BaseFilters(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Linear features by filters that maximise an objective of labelled data."""

    _fitted_array = "components_"
    _value_name = "objective"  # of what is printed
    # What warnings say of the regularisation.
    _more_noise, _less_noise = "regularization", "a smaller regularization"

    _parameter_constraints = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "regularization": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="left"),
        ],
        "constraint": [StrOptions(set(CONSTRAINTS))],
        "covariance_estimator": [None, str, HasMethods("fit")],
        "init": [StrOptions(set(INITS)), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "group_size": [None, Interval(Integral, 1, None, closed="left")],
        "optimizer": [StrOptions(set(OPTIMIZERS)), HasMethods("run")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @estimator_method
    def transform(self, X):
        """Apply the filters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The features ``X @ components_.T``.
        """
        X = validate_data(
            self, X, accept_sparse="csr", dtype=float_dtypes(X), reset=False
        )
        return X @ like(self.components_, X, X.dtype).T

    def _validated(self, X, y, *, reset=True):
        """Valid samples, and their labels on the host."""
        X, y = validate_data(
            self,
            X,
            on_host(y),
            accept_sparse="csr",
            dtype=float_dtypes(X),
            reset=reset,
        )
        check_classification_targets(y)
        return X, y

    @estimator_method
    def inverse_transform(self, X):
        """Samples of least norm that have given features.

        Of samples with the features ``Z = transform(X)``, they are the projections of X
        onto the span of the filters: ``Z @ components_`` for orthonormal filters, and
        ``Z @ pinv(components_).T`` in general. Where X was centred before, that is what
        principal component analysis makes of its components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Features, as :meth:`transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The samples.
        """
        Z = check_array(X, dtype=float_dtypes(X))
        if Z.shape[1] != self._n_features_out:
            raise ValueError(
                f"X must have {self._n_features_out} columns, one for each filter, "
                f"got shape {Z.shape}."
            )
        inverse = np.linalg.pinv(to_numpy(self.components_).astype(np.float64))
        return Z @ like(inverse.T, Z, Z.dtype)

    def class_distances(self, *, regularized=True):
        """Distances between the classes in the space of the features.

        They are those of the parameter ``distance``, or Hellinger distances for
        :class:`AMAGauss`, as it was in the fit.

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
            distances = self._objective_of_features(noise).matrix()
        except np.linalg.LinAlgError:
            raise ValueError(
                "The covariance of the features of a class is singular, so that its "
                "distance to others is infinite; use regularized=True."
            ) from None
        return like(distances, self.components_)

    def orthonormalize(self):
        """Replace the filters by an orthonormal basis of their span, in place.

        Of all such bases it is the one nearest to the filters. The features then are
        an invertible linear map of those before, which leaves the decisions of a
        quadratic or linear discriminant analysis as they are, if that is fitted again.
        ``objective_`` and ``statistics_`` follow; the ``objective_`` of
        :class:`AMAGauss` becomes NaN, since it needs the samples.

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
        filters = to_numpy(self.components_).astype(np.float64)
        left, sizes, right = np.linalg.svd(filters, full_matrices=False)
        if sizes[-1] <= DEPENDENT * sizes[0]:
            raise ValueError(
                f"The {len(filters)} filters are linearly dependent, so that no "
                "orthonormal ones have their span. Fit with constraint='orthonormal'."
            )
        self.components_ = like(left @ right, self.components_, self.components_.dtype)
        self.statistics_ = self.statistics_.project((left / sizes) @ left.T)
        self.objective_ = self._objective_reached()
        return self

    def filter_importances(self):
        """By how much the mean distance between the classes falls without each filter.

        The other filters remain as they are. A filter whose information others have as
        well is worth little, however far it separates the classes by itself.

        Returns
        -------
        ndarray of shape (n_components,)
            Differences of the mean, of squares if ``squared``, of what
            :meth:`class_distances` returns.
        """
        check_is_fitted(self)
        objective, axes = self._objective_of_features(), np.eye(self._n_features_out)
        if len(axes) == 1:
            return like(np.array([objective.mean(axes)]), self.components_)
        others = [objective.mean(np.delete(axes, k, axis=1)) for k in range(len(axes))]
        return like(objective.mean(axes) - np.array(others), self.components_)

    def _objective_reached(self):
        """``objective_``, by the statistics of the features."""
        return self._objective_of_features().mean(np.eye(self._n_features_out))

    def _objective_of_features(self, noise=None):
        """The mean distance of the classes of features, as a function of filters.

        It is that of the fit: parameters may have been set since.
        """
        model = with_parameters(self, self._parameters_of_fit)
        noise = self.regularization_ if noise is None else noise
        return model._objective(model._moments(self.statistics_), noise)

    def _set_statistics(self, statistics, filters, space, beside=None):
        """Set the statistics of the features, by filters in the coordinates."""
        self.statistics_ = statistics.project(filters.T)
        if space.origin is not None:
            self.statistics_.means += space.origin @ filters
        beside = space.X if beside is None else beside
        if beside is not None:
            self.statistics_ = self.statistics_._beside(beside)
        self._parameters_of_fit = {
            name: getattr(self, name) for name in self._of_distances
        }

    def _check_sizes(self, classes):
        """Raise ValueError for sizes that do not fit; sets what depends on them."""
        check_two_classes(classes, type(self).__name__)
        n_features, self._n_filters = self.n_features_in_, self.n_components
        self._is_small = n_features <= FEW_FEATURES and len(classes) <= FEW_CLASSES
        if self.n_components is None:
            self._n_filters = min(len(classes) - 1, n_features)
        if self._n_filters > n_features:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the number of "
                f"features: n_features={n_features}."
            )
        self._checked_init()

    def _checked_init(self):
        if isinstance(self.init, str):
            return self.init
        init = check_array(on_host(self.init), dtype=np.float64, input_name="init")
        expected = (self._n_filters, self.n_features_in_)
        if init.shape != expected:
            raise ValueError(
                f"init must have shape (n_components, n_features) = {expected}, "
                f"got {init.shape}."
            )
        return init

    def _n_starts(self):
        if self.n_init != "auto":
            return self.n_init
        if not isinstance(self.init, str):
            return 1
        return {"auto": 8 if self._is_small else 3, "random": 10}.get(self.init, 1)

    @property
    def _estimator_of_classes(self):
        """How covariances are estimated class by class; "auto" needs all of them."""
        estimator = self.covariance_estimator
        return None if estimator == "auto" else estimator

    # Whether an offset of all samples changes no distance and no posterior.
    _translation_invariant = True

    def _space_of(self, X):
        """Where the filters of valid samples are sought."""
        if issparse(X):
            # Only samples that are no more than the covariances are made dense.
            if X.shape[0] > X.shape[1] and self._estimator_of_classes is None:
                return WholeSpace(X)
            X = X.toarray()
        if self._estimator_of_classes is not None:
            # It may give classes a variance outside of the span of their samples.
            return WholeSpace(X)
        return space_of(X, centred=self._translation_invariant, n_least=self._n_filters)

    def _statistics_of(self, X, y, sample_weight=None):
        """The statistics of valid samples."""
        estimator = self._estimator_of_classes
        return self._shrunk(
            ClassStatistics._from_valid_data(X, y, estimator, sample_weight)
        )

    def _statistics_of_blocks(self, X, y, sample_weight):
        """The statistics of a Dask array or frame, and what the noise is scored on.

        The latter are some samples, labels and weights, if it is to be scored at all.
        """
        validate_data(self, empty_block(X), ensure_min_samples=0)
        estimator, sample = self._estimator_of_classes, ()
        if self.regularization == "auto" and estimator is None:
            statistics, sample = statistics_and_sample(X, y, sample_weight)
        else:
            statistics = ClassStatistics.from_data(
                X, y, estimator, sample_weight=sample_weight
            )
        self._check_sizes(statistics.classes)
        return self._shrunk(statistics), sample

    @property
    def _distinct(self):
        """Whether filters must not repeat each other, by no choice of the user's."""
        return self.regularization == "auto"

    # Whether the objective is made of samples, and not of their statistics alone.
    _uses_samples = False

    def _started(self, search, moments):
        """The search with its starts."""
        return search

    def _shrunk(self, statistics):
        """The statistics that the filters are learnt from, given those of samples."""
        if self.covariance_estimator == "auto":
            return statistics.shrunk()
        return statistics

    def _regularization_of(
        self, statistics, moments, samples=None, y=None, sample_weight=None
    ):
        """The value of the regularisation, and filters found for it, or None.

        ``samples`` and y are None if there are statistics alone.
        """
        if self.regularization != "auto":
            return float(self.regularization), None
        least = sampling_noise(moments.pooled, statistics.counts)
        if samples is None:
            return least, None
        search = self._search(least, span_only=False)
        return most_informative_noise(
            search,
            statistics,
            moments,
            self._objective,
            samples,
            y,
            sample_weight,
        )

    def _is_negligible(self, regularization, statistics, moments):
        """Whether the noise is below rounding; then the classes are checked."""
        within = moments.pooled.within
        rounding = len(within) * np.finfo(float).eps * np.trace(within)
        negligible = regularization <= rounding
        if negligible:
            check_regular(statistics, moments, self._n_filters)
        return negligible

    def _search(self, regularization, span_only, space=None):
        """The search that the parameters ask for; a given ``init`` needs the space."""
        init = self._checked_init()
        if space is not None and not isinstance(init, str):
            init = space.restrict(init.T).T
        return FilterSearch(
            n_components=self._n_filters,
            regularization=regularization,
            span_only=span_only,
            constraint=self.constraint,
            init=init,
            n_init=self._n_starts(),
            group_size=self.group_size,
            distinct=self._distinct,
            random_state=self.random_state,
            maximize=partial(
                maximize_on_samples,
                optimizer=self.optimizer,
                max_iter=self.max_iter,
                tol=self.tol,
                random_state=self.random_state,
            ),
        )

    def _maximize(
        self, objective, search, pooled, space, y=None, *, beside=None, quiet=False
    ):
        """Run the search, and set the attributes of its result.

        Returns the filters in the coordinates of the space. Those of the estimator lie
        ``beside`` an array: the samples, unless it is given.
        """
        dtype = None if space.X is None else space.X.dtype
        beside = space.X if beside is None else beside

        def placed(filters):
            return like(np.ascontiguousarray(filters.T), beside, dtype)

        def attributes(filters):
            return {"components_": placed(space.lift(filters))}

        report = self._reporter(self._value_name, attributes)
        filters, groups = search.run(objective, pooled, report)
        self._print_end(groups)
        if isinstance(self.init, str):
            # Any order within a group is as good: let it be that of the variances of
            # the features, not of rounding.
            variances = (filters * (pooled.total @ filters)).sum(axis=0)
            group = np.repeat(np.arange(len(groups)), search.group_sizes)
            filters = filters[:, np.lexsort((-variances, group))]
        lifted = space.lift(filters)
        flips = signs(lifted.T)
        filters = filters * flips
        last, _ = groups[-1]
        self.regularization_ = search.regularization
        self.components_ = placed(lifted * flips)
        self.objective_ = -last.cost
        # At least one, as scikit-learn asks for: filters may be found with the noise.
        self.n_iter_ = max(sum(result.n_iter for result, _ in groups), 1)
        if not quiet:
            self._warn(groups, filters)
        return filters

    def _reporter(self, name, attributes):
        """The callback of a search, whose values have a name; None if nobody listens.

        ``attributes`` maps filters in the space of the search to those of a fit.
        """
        progress = current_progress()

        def report(stage, filters, value):
            return progress.step(
                stage,
                f"{name} {value:.6f}",
                partial(attributes, filters),
                n_steps=self.max_iter,
            )

        return report if progress.active else None

    def _print_end(self, groups):
        progress = current_progress()
        progress.end_stage()
        result, _ = groups[-1]
        n_iter = sum(result.n_iter for result, _ in groups)
        progress.print(
            f"end: {self._value_name} {-result.cost:.6f} after {n_iter} iterations"
        )

    def _warn(self, groups, filters):
        """Warn if a search did not end, or if filters repeat each other."""
        for result, _ in groups:
            if not result.converged:
                remedy = "max_iter or tol" if "max_iter" in result.reason else "tol"
                warn_user(
                    f"{type(self).__name__} did not converge: {result.reason} The "
                    f"filters found so far can be used. Increase {self._more_noise}, "
                    f"as little noise makes long searches, or {remedy}.",
                    ConvergenceWarning,
                )
        rank = independent_directions(filters)
        if rank < self._n_filters and abs(self.objective_) > DEPENDENT:
            warn_user(
                f"The {self._n_filters} filters span {rank} directions only: with "
                f"regularization_={self.regularization_:.3g}, repeating a filter is "
                "worth more to this objective than another direction. Use "
                f"constraint='orthonormal', or {self._less_noise}, or fewer "
                "components.",
                UserWarning,
            )

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = ARRAY_API
        return tags


def check_regular(statistics, moments, n_components):
    """Raise unless all class covariances are regular on the span of the data.

    Otherwise filters exist for which a distance is infinite, and the objective has no
    maximum. The ranks do not depend on the units of the features.
    """
    total = moments.pooled.total
    basis = whitening_coordinates(total).basis
    rank = basis.shape[1]
    if n_components > rank:
        raise ValueError(
            f"The data vary in {rank} directions only, so n_components={n_components} "
            "filters need regularization > 0."
        )
    for k, (label, count) in enumerate(
        zip(statistics.classes, statistics.counts, strict=True)
    ):
        covariance = to_numpy(moments.covariances[k, ...])
        variances = np.linalg.eigvalsh(basis.T @ covariance @ basis)
        precision = 100 * len(total) * np.finfo(float).eps * max(variances[-1], 1)
        class_rank = np.count_nonzero(variances > precision)
        if class_rank < rank:
            raise ValueError(
                f"The covariance of class {label}, which has {count} samples, "
                f"is singular: its rank is {class_rank}, but the data vary in {rank} "
                "directions. Without regularization its distance to other classes has "
                "no bound: set regularization to 'auto' or to a positive number, or "
                "reduce the features by PCA first, or shrink the covariances by "
                "covariance_estimator='auto'."
            )
