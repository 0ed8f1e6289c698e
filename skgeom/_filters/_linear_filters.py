"""Base class of the estimators of linear filters, and the steps of a fit.

1. Data: ``_training_data`` validates the samples and computes the class statistics, in
   the span of the samples if these are few (:class:`TrainingData`).
2. Selection: ``_select`` determines the shrinkage and sigma^2, with the folds of
   ``_auto.py`` or in closed form, and shrinks the covariances. The candidates of the
   shrinkage are ``SHRINKAGES``, and those of sigma^2 are ``regularizations``, both in
   ``_auto.py``.
3. Objective: ``_distance_objective`` of SQFA and ``_information`` of AMAGauss create an
   objective of ``skgeom.objectives``.
4. Filters: ``_problem`` states the problem (``_problem.py``), and ``optimize_filters``
   solves it (``_optimization.py``), first in a subspace (``_basis.py``).
5. Results: ``_store`` sets the fitted attributes.

``_learn`` of an estimator performs steps 3 to 5.
"""

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from skgeom._filters._auto import (
    SHRINKAGES,
    Regularization,
    SelectionSamples,
    check_regularization,
    folds_of_samples,
    sampling_noise,
    select,
    warn_if_not_separated,
    warn_if_unscaled_filters,
)
from skgeom._filters._basis import FEW_FEATURES, Basis, span_of_samples, whitening
from skgeom._filters._optimization import (
    DEPENDENT,
    FEW_CLASSES,
    INITIALIZATIONS,
    Starts,
    group_sizes,
    independent_directions,
    optimize_filters,
)
from skgeom._filters._problem import Problem, Search
from skgeom._held_out import sample_rows, statistics_and_sample
from skgeom._statistics import (
    ClassStatistics,
    closed_form_shrinkage,
    in_host_memory,
    pooled_matrices,
    statistics_of_samples,
    translated,
    warn_if_weights_are_small,
)
from skgeom.objectives._covariances import covariances_of
from skgeom.optim._manifolds import CONSTRAINTS
from skgeom.optim._minimize import OPTIMIZERS
from skgeom.utils._dask import is_dask
from skgeom.utils._mixins import LinearProjection
from skgeom.utils._sklearn import CallbackSupportMixin, HasMethods, Interval, StrOptions
from skgeom.utils.array_api import (
    like,
    on_cpu,
    precision,
    take,
    to_numpy,
)
from skgeom.utils.linalg import signs
from skgeom.utils.methods import check_fitted, predict_method
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import (
    check_array,
    check_order_of_features,
    check_samples,
    check_two_classes,
    validated_samples,
)
from skgeom.utils.warn import warn_if_outlier, warn_user

_FIT_ORTHONORMAL = "Fit with constraint='orthonormal'"


@dataclass(frozen=True)
class TrainingData:
    """Class statistics, and samples if the training data are in memory.

    Attributes
    ----------
    statistics : ClassStatistics
        Statistics of all samples, in the coordinates of ``basis``.
    basis : Basis
        The coordinates in which the filters are optimized.
    X, y, weights : array of shape (N, n), ndarray of shape (N,), or None
        The samples, their labels, and their weights or None, if they are in memory.
    samples : array of shape (N, k) or None
        Coordinates of the samples, relative to ``origin``.
    origin : ndarray of shape (k,) or None
        Coordinates of the mean of the samples, if they were centered.
    for_selection : SelectionSamples or None
        Samples for an automatic selection; None without an automatic selection.
    """

    statistics: ClassStatistics
    basis: Basis = field(default_factory=Basis)
    X: object = None
    y: np.ndarray | None = None
    weights: np.ndarray | None = None
    samples: object = None
    origin: np.ndarray | None = None
    for_selection: SelectionSamples | None = None

    def in_rows(self, filters):
        """Filters of all features in rows, in the precision of the samples."""
        filters = np.ascontiguousarray(self.basis.lift(filters).T)
        single = self.X is not None and precision(self.X) > np.finfo(float).eps
        return filters.astype(np.float32 if single else np.float64, copy=False)


class BaseFilters(CallbackSupportMixin, LinearProjection):
    """Base class of linear filters that maximize an objective of labeled data.

    A subclass defines ``fit`` and two attributes. The method
    ``_distance_objective(statistics, sigma2)`` returns the mean class distance as an
    objective of filters. ``_distance_parameters`` contains the names of the estimator's
    parameters that this method uses. The method also accepts these parameters as
    keyword arguments, which replace the values of the estimator.
    """

    _accepts_sparse = _accepts_libraries = True
    _value_name = "objective"  # in printed lines
    # Whether distances and posteriors do not depend on an offset of all samples.
    _translation_invariant = True
    # Whether classes are compared by their second moments.
    _second_moments = False

    _parameter_constraints = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "regularization": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="left"),
        ],
        "constraint": [StrOptions(set(CONSTRAINTS))],
        "covariance_estimator": [None, str, HasMethods("fit")],
        "init": [StrOptions(set(INITIALIZATIONS)), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, 10_000, closed="both")],
        "group_size": [None, Interval(Integral, 1, None, closed="left")],
        "optimizer": [StrOptions(set(OPTIMIZERS)), HasMethods("run")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @predict_method
    def inverse_transform(self, X):
        """Compute the samples of smallest norm that have the given features.

        For the features ``Z = transform(X)``, the result is the projection of X onto
        the span of the filters: ``Z @ components_`` for orthonormal filters, and
        ``Z @ pinv(components_).T`` in general. For centered X and principal axes as
        filters, the result equals the inverse transform of principal component
        analysis.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Features, as :meth:`transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The samples.

        Raises
        ------
        ValueError
            If X does not have one column for each filter.
        """
        Z = check_samples(X)
        if Z.shape[1] != self._n_features_out:
            raise ValueError(
                f"X must have {self._n_features_out} columns, one for each filter, "
                f"got shape {Z.shape}."
            )
        return Z @ like(np.linalg.pinv(self._filters()).T, Z, Z.dtype)

    def _filters(self):
        """The filters in rows, as a NumPy array in double precision."""
        return to_numpy(self.components_).astype(np.float64)

    def class_distances(self, *, regularized=True):
        """Compute the distances between the classes, from the filter outputs.

        The parameter ``distance`` of the fitted estimator defines the distances. For
        :class:`AMAGauss`, the distances are Hellinger distances.

        Parameters
        ----------
        regularized : bool, default=True
            Whether to add ``regularization_`` to the variances of the filter outputs,
            as in the objective.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
            Symmetric matrix of the distances (not squared), in the order of
            ``classes_``, with a zero diagonal.

        Raises
        ------
        ValueError
            If the distance requires nonsingular covariances, and the covariance of the
            filter outputs of a class is singular.
        """
        check_fitted(self)
        sigma2 = self.regularization_ if regularized else 0.0
        is_smaller = sigma2 < self.regularization_
        remedy = "Use regularized=True" if is_smaller else _FIT_ORTHONORMAL
        with _errors_of_singular_classes(remedy):
            distances = self._objective_of_features(sigma2).matrix()
        return like(distances, self.components_)

    def orthonormalize(self):
        """Replace the filters by an orthonormal basis of their span, in place.

        The result is the orthonormal basis nearest to the filters. The new features are
        an invertible linear map of the old features, so a quadratic or linear
        discriminant analysis that is fitted to the new features makes the same
        predictions, unless it shrinks or regularizes its covariances. ``objective_``
        and ``statistics_`` are updated. The ``objective_`` of :class:`AMAGauss` becomes
        NaN, because its computation requires the samples.

        Returns
        -------
        self
            This object.

        Raises
        ------
        ValueError
            If the filters are linearly dependent.
        """
        check_fitted(self)
        filters = self._filters()
        left, sizes, right = np.linalg.svd(filters, full_matrices=False)
        if sizes[-1] <= DEPENDENT * sizes[0]:
            raise ValueError(
                f"The {len(filters)} filters are linearly dependent, so their span has "
                f"fewer dimensions. {_FIT_ORTHONORMAL}."
            )
        self.components_ = like(left @ right, self.components_, self.components_.dtype)
        self.statistics_ = self.statistics_.project((left / sizes) @ left.T)
        self.objective_ = self._objective_reached()
        return self

    def filter_importances(self):
        """Compute how much the mean class distance decreases without each filter.

        Each filter is removed in turn, and the remaining filters are not changed. If
        several filters extract similar information, their importances are small, even
        if each of these filters separates the classes well.

        Returns
        -------
        ndarray of shape (n_components,)
            Decreases of the mean of :meth:`class_distances` (of the mean of their
            squares if ``squared`` is True), with the weights of the pairs of classes.
            For a single filter, the mean itself.

        Raises
        ------
        ValueError
            As for :meth:`class_distances`.
        """
        check_fitted(self)
        objective, axes = self._objective_of_features(), np.eye(self._n_features_out)
        subsets = [np.delete(axes, k, axis=1) for k in range(len(axes))]
        subsets = subsets if len(axes) > 1 else []
        with _errors_of_singular_classes(_FIT_ORTHONORMAL):
            without = [objective.mean(subset) for subset in subsets] or [0.0]
            importances = objective.mean(axes) - np.array(without)
        return like(importances, self.components_)

    def _objective_reached(self):
        """``objective_``, computed from the class statistics of the features."""
        return self._objective_of_features().mean(np.eye(self._n_features_out))

    def _objective_of_features(self, sigma2=None):
        """The mean class distance as a function of filters of the learned features.

        The method uses the parameters of the last fit, not the current parameters.
        """
        sigma2 = self.regularization_ if sigma2 is None else sigma2
        return self._distance_objective(
            self.statistics_, sigma2, **self._parameters_of_fit
        )

    # Validation and estimation

    def _training_data(self, X, y, sample_weight=None, groups=None):
        """Validate the data, and compute the statistics of the classes."""
        estimator = self._class_estimator
        is_auto = "auto" in (self.covariance_estimator, self.regularization)
        X, y, sample_weight, groups, positions = validated_samples(
            self, X, y, sample_weight, groups, dask=True, accept_sparse="csr"
        )
        if is_dask(X):
            samples = None
            if is_auto and estimator is None:
                statistics, rows = statistics_and_sample(X, y, sample_weight)
                samples = SelectionSamples(*rows, groups=None, points=rows[0])
            else:
                statistics = ClassStatistics.from_data(
                    X, y, estimator, sample_weight=sample_weight
                )
            self._set_sizes(statistics.classes)
            current_progress().start(None, None)
            return TrainingData(statistics, for_selection=samples)
        warn_if_outlier(X, sample_weight, positions)
        self._set_sizes(np.unique(y))
        if issparse(X) and (X.shape[0] <= X.shape[1] or estimator is not None):
            # Sparse samples are converted if they are no larger than a covariance.
            X = X.toarray()
        basis, samples, origin = Basis(), X, None
        if not issparse(X) and estimator is None:
            # Other estimators may have variance outside of the span of the samples.
            centered, least = self._translation_invariant, self._n_filters
            basis, samples, origin = span_of_samples(
                X, centered=centered, n_least=least
            )
        statistics = statistics_of_samples(samples, y, sample_weight, estimator)
        selected = None
        if is_auto:
            rows, weights = sample_rows(X, y, sample_weight, groups)
            some, points = (on_cpu(take(x, rows)) for x in (X, samples))
            selected = SelectionSamples(some, y[rows], weights, groups, points)
        current_progress().start(X, y)
        given = X, y, sample_weight
        return TrainingData(statistics, basis, *given, samples, origin, selected)

    def _set_sizes(self, classes, argument="y"):
        """Check the numbers of classes and features, and set the number of filters."""
        check_two_classes(classes, type(self).__name__, argument)
        n_features, most = self.n_features_in_, len(classes) - 1
        self._n_filters = int(self.n_components or min(most, n_features))
        self._is_small = n_features <= FEW_FEATURES and len(classes) <= FEW_CLASSES
        if self._n_filters > n_features:
            raise ValueError(
                f"n_components={self.n_components} exceeds the number of features, "
                f"{n_features}. Use at most {n_features}."
            )
        self._checked_init()

    def _checked_init(self):
        if isinstance(self.init, str):
            return self.init
        check_order_of_features(self.init, "init", self)
        init = check_array(self.init, dtype=np.float64, input_name="init")
        expected = (self._n_filters, self.n_features_in_)
        if init.shape != expected:
            raise ValueError(
                f"init must have shape (n_components, n_features) = {expected}, "
                f"got {init.shape}."
            )
        return init

    @property
    def _class_estimator(self):
        """The estimator of each class covariance; None for sample covariances."""
        estimator = self.covariance_estimator
        return None if estimator == "auto" else estimator

    def _folds(self, data):
        """The folds of the samples for the selection, or None."""
        if data.for_selection is None:
            return None
        return folds_of_samples(
            in_host_memory(data.statistics),
            data.for_selection,
            self._distance_objective,
            self._n_filters,
            whiten=self.regularization == 0,
            estimator=self._class_estimator,
        )

    def _select(self, data, folds=None, may_shrink=True):
        """Select the shrinkage and sigma^2, on held-out samples if there are folds.

        Returns the :class:`Regularization`, and the data with shrunk covariances.
        """
        statistics, sigma2 = data.statistics, self.regularization
        shrinks = may_shrink and self.covariance_estimator == "auto"
        if sigma2 != "auto":
            check_regularization(sigma2, statistics)
        if not shrinks and sigma2 != "auto":
            chosen = Regularization(None, float(sigma2), "given")
        elif folds is None:
            chosen = self._closed_form(statistics, shrinks)
        else:
            shrinkages = SHRINKAGES if shrinks else (None,)
            of_filters = self._n_filters, self.constraint
            objective_of = self._distance_objective
            chosen = select(folds, objective_of, shrinkages, sigma2, *of_filters)
        current_progress().print(
            f"shrinkage {chosen.shrinkage} and regularization "
            f"{chosen.sigma2:.6g} ({chosen.rule})"
        )
        if chosen.intensities is not None:
            statistics = statistics.shrunk(chosen.intensities)
        return chosen, replace(data, statistics=statistics)

    def _closed_form(self, statistics, shrinks):
        """The shrinkage and sigma^2 without held-out samples."""
        warn_if_weights_are_small(statistics)
        sigma2, rule, intensities = self.regularization, "sampling noise", None
        if shrinks:
            rule = "closed form"
            intensities = closed_form_shrinkage(
                statistics.covariances, statistics.counts
            )
        if sigma2 == "auto":
            estimated = statistics.shrunk(intensities) if shrinks else statistics
            sigma2 = sampling_noise(*pooled_matrices(estimated), statistics.counts)
        return Regularization(None, float(sigma2), rule, intensities=intensities)

    # Optimization

    def _problem(self, objective, within, total, chosen, statistics, distance=None):
        """The problem of all filters.

        ``distance`` is the mean distance of the classes, by default the objective.
        """
        classes = (distance or objective).classes
        sigma2 = chosen.sigma2
        span_only = objective.affine_invariant and is_negligible(sigma2, within)
        if span_only:
            covariances = classes.on_host().covariances
            check_regular(statistics, covariances, total, self._n_filters)
        return Problem(
            objective,
            within,
            total,
            sigma2,
            self.constraint,
            span_only,
            # The scores were computed with these directions in the subspaces.
            classes=classes if chosen.held_out else None,
            counts=statistics.counts,
        )

    def _warn_of_data(self, data, chosen):
        """Warn of classes that are not separated, and of features in other units."""
        warn_if_not_separated(chosen)
        if self.regularization == "auto":
            total = pooled_matrices(data.statistics)[1]
            warn_if_unscaled_filters(total, data.basis, self)

    def _starts(self, data):
        """The initializations of the parameters ``init`` and ``n_init``."""
        init, n_init = self._checked_init(), self.n_init
        if not isinstance(init, str):
            init = data.basis.restrict(init.T)
        if n_init == "auto":
            defaults = {"auto": 8 if self._is_small else 3, "random": 10}
            n_init = defaults.get(init, 1) if isinstance(init, str) else 1
        return Starts(init, n_init)

    def _search(self, data, value_name=None):
        """The parameters of the optimization, and the callback of its progress."""
        progress, name = current_progress(), value_name or self._value_name

        def report(stage, filters, value):
            return progress.step(
                stage,
                f"{name} {value:.6f}",
                lambda: {"components_": data.in_rows(filters)},
                n_steps=self.max_iter,
            )

        return Search(
            self.optimizer,
            self.max_iter,
            self.tol,
            report if progress.active else None,
            random_state=self.random_state,
        )

    def _optimize(self, problem, chosen, starts, search):
        """The filters, and the results of their groups."""
        sizes = group_sizes(self._n_filters, self.group_size)
        refits = chosen.rule != "given"
        filters, groups = optimize_filters(problem, sizes, starts, search, refits)
        if isinstance(self.init, str):
            # Sort the filters of a group, whose order would depend on rounding errors.
            variances = (filters * (problem.total @ filters)).sum(axis=0)
            group = np.repeat(np.arange(len(groups)), sizes)
            filters = filters[:, np.lexsort((-variances, group))]
        return filters, groups

    # Results

    def _store(self, found, data, chosen):
        """Store the selection, the filters, and the statistics of the features."""
        filters, groups = found
        self.shrinkage_ = chosen.shrinkage
        self.class_shrinkages_ = chosen.intensities
        self.regularization_ = chosen.sigma2
        self.selection_ = chosen.selection
        last = groups[-1][0]
        # At least one, as scikit-learn requires.
        self.n_iter_ = max(sum(result.n_iter for result, _ in groups), 1)
        progress = current_progress()
        progress.end_stage()
        progress.print(
            f"end: {self._value_name} {-last.cost:.6f} after {self.n_iter_} iterations"
        )
        filters = filters * signs(data.basis.lift(filters).T)
        self.components_ = data.in_rows(filters)
        self.objective_ = -last.cost
        self.restart_objectives_ = np.concatenate([values for _, values in groups])
        self.classes_ = data.statistics.classes
        self.statistics_ = data.statistics.project(filters.T)
        if data.origin is not None:
            self.statistics_ = translated(self.statistics_, data.origin @ filters)
        self._parameters_of_fit = {
            name: getattr(self, name) for name in self._distance_parameters
        }
        return self

    def _warn_of_filters(self, filters, groups, sigma2):
        """Warn if the optimization did not converge or if filters are dependent."""
        for result, _ in groups:
            if not result.converged:
                remedy = "max_iter or tol" if "max_iter" in result.reason else "tol"
                # Optimizations in batches ignore tol.
                remedy = "max_iter" if "epochs" in result.reason else remedy
                warn_user(
                    f"{type(self).__name__} did not converge: {result.reason} The "
                    f"estimator keeps the best filters. Increase {remedy}, or increase "
                    "regularization, which shortens the optimization.",
                    ConvergenceWarning,
                )
        rank = independent_directions(filters)
        if rank < self._n_filters and abs(groups[-1][0].cost) > DEPENDENT:
            warn_user(
                f"The {self._n_filters} filters span {rank} directions only: with "
                f"regularization_={sigma2:.3g}, repeating a filter "
                "increases the objective more than adding a filter in a new direction. "
                "Use constraint='orthonormal', a smaller regularization, or fewer "
                "components.",
                UserWarning,
            )


@contextmanager
def _errors_of_singular_classes(remedy):
    """Convert the error of a singular class to a ValueError with a remedy."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise ValueError(
            "The covariance of the features of a class is singular, so its distances "
            f"cannot be computed. {remedy}."
        ) from None


def is_negligible(sigma2, within):
    """Whether sigma^2 is below the rounding error of the within-class covariance."""
    return sigma2 <= len(within) * np.finfo(float).eps * within.trace()


def check_regular(statistics, covariances, total, n_components):
    """Raise ValueError if a class covariance is singular on the span of the data.

    With a singular covariance, a class distance is infinite for some filters, and the
    objective has no maximum. The ranks do not depend on the units of the features.
    """
    basis = whitening(total).columns
    rank = basis.shape[1]
    if n_components > rank:
        raise ValueError(
            f"The data vary in {rank} directions only, so n_components={n_components} "
            "filters need regularization > 0."
        )
    covariances = covariances_of(covariances)
    for k, (label, count) in enumerate(
        zip(statistics.classes, statistics.counts, strict=True)
    ):
        variances = np.linalg.eigvalsh(basis.T @ (covariances[k] @ basis))
        precision = 100 * len(total) * np.finfo(float).eps * max(variances[-1], 1)
        class_rank = np.count_nonzero(variances > precision)
        if class_rank < rank:
            raise ValueError(
                f"The covariance of class {label}, which has {count} samples, "
                f"is singular: its rank is {class_rank}, but the data vary in {rank} "
                "directions. Without regularization, the distance of this class from "
                "other classes is unbounded. Set regularization to 'auto' or to a "
                "positive number, apply PCA first, or use covariance_estimator='auto' "
                "with more samples."
            )
