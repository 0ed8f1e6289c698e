"""What SQFA and its variants have in common."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from skgeom._filters import (
    INITS,
    FilterSearch,
    automatic_regularization,
    check_regular,
)
from skgeom._statistics import ClassStatistics
from skgeom.objectives import MeanPairwiseDistance
from skgeom.optim import CONSTRAINTS, OPTIMIZERS
from skgeom.utils._sklearn import CallbackSupportMixin, FitCallbacks, with_callbacks
from skgeom.utils._warnings import warn_user

# Filters of unit norm are taken for dependent below this smallest singular value.
_DEPENDENT = 1e-3

PARAMETERS = r"""
squared : bool, default=False
    Whether to average the squares of the distances.
regularization : "auto" or float, default="auto"
    The variance :math:`\sigma^2`, in squared units of X, that is added to that of
    each filter's output. Directions of a smaller variance count for little.
    ``"auto"`` is a quarter of the variance within the classes along the principal
    axis of rank ``n_components``, so that a common factor on X changes nothing; a
    heuristic of this package, not of the paper. With 0, all class covariances must
    be regular.
constraint : {"unit-norm", "orthonormal"}, default="unit-norm"
    What holds for the filters.
covariance_estimator : None, str or object, default=None
    How the class covariances are estimated: None for the sample covariance, one of
    the names ``"cov"``, ``"lwf"``, ``"mcd"``, ``"oas"``, ``"sch"``, ``"scm"`` of
    ``pyriemann.geometry.covariance``, or an object whose ``fit`` sets
    ``covariance_``. The means are sample means in any case.
init : str or array-like of shape (n_components, n_features), default="auto"
    Where to start: ``"pca"``, the leading principal axes; ``"lda"``, the linear
    discriminants, completed by principal axes; ``"random"``; or given filters.
    ``"auto"`` tries ``"lda"``, ``"pca"`` and random ones.
n_init : "auto" or int, default="auto"
    Number of starts, of which the best is followed to the end. Those that ``init``
    does not name are random. ``"auto"`` is, for ``init="auto"``, 8 with up to 100
    features and 4 with more, 10 for ``init="random"``, and otherwise 1.
group_size : int or None, default=None
    If given, filters are learnt in groups of this size, the last group being
    smaller if need be, each with the earlier ones fixed: the groups are then ordered
    by usefulness.
optimizer : str or pymanopt optimizer, default="lbfgs"
    What maximises the objective: ``"lbfgs"``, ``"conjugate-gradient"``,
    ``"trust-regions"``, ``"steepest-descent"``, or an instance of a pymanopt
    optimizer; see :func:`skgeom.optim.minimize`.
max_iter : int, default=500
    Largest number of iterations of each run of the optimizer.
tol : float, default=1e-6
    The search ends when ten iterations together raise the objective by no more than
    this fraction of it.
random_state : int, RandomState instance or None, default=None
    For random starts.
verbose : int, default=0
    If positive, a line is printed for each start and for the end of the search.
"""

ATTRIBUTES = r"""
components_ : ndarray of shape (n_components, n_features)
    The filters.
objective_ : float
    The mean pairwise distance (or squared distance) of the classes that they reach.
regularization_ : float
    The value of :math:`\sigma^2` that was used.
classes_ : ndarray of shape (n_classes,)
    The class labels.
n_iter_ : int
    Number of iterations from the chosen start to the end, over all stages and
    groups, each of which may take ``max_iter``.
n_features_in_ : int
    Number of features seen during fit.
feature_names_in_ : ndarray of shape (n_features,)
    Names of the features, if X had names that are all strings.
"""


class BaseSQFA(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Filters that maximise the mean distance between classes.

    A subclass has ``_distances``, a registry, and ``_compared(statistics)``, which
    returns what is compared, means and covariances, and the covariance within the
    classes and the total one, which says in which directions the data vary.
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "squared": ["boolean"],
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
            If the filters found are linearly dependent.
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

    def transform(self, X):
        """Apply the filters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The features ``X @ components_.T``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return X @ self.components_.T

    def _check_sizes(self, classes):
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} compares classes, so it needs at least 2 "
                f"classes, but there is one class only: {classes[0]}."
            )
        if self.n_components > self.n_features_in_:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the number of "
                f"features: n_features={self.n_features_in_}."
            )
        self._checked_init()

    def _checked_init(self):
        if isinstance(self.init, str):
            return self.init
        init = check_array(self.init, dtype=np.float64, input_name="init")
        expected = (self.n_components, self.n_features_in_)
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
        few = 8 if self.n_features_in_ <= 100 else 4
        return {"auto": few, "random": 10}.get(self.init, 1)

    def _fit(self, statistics, X=None, y=None):
        means, covariances, within, total = self._compared(statistics)
        regularization = self.regularization
        if regularization == "auto":
            regularization = automatic_regularization(within, total, self.n_components)
        distance = self._distances[self.distance]
        # Below rounding, the regularisation regularises nothing.
        rounding = len(within) * np.finfo(float).eps * np.trace(within)
        negligible = regularization <= rounding
        if negligible:
            check_regular(statistics, covariances, total, self.n_components)
        search = FilterSearch(
            n_components=self.n_components,
            regularization=float(regularization),
            span_only=negligible and distance.affine_invariant,
            constraint=self.constraint,
            init=self._checked_init(),
            n_init=self._n_starts(),
            group_size=self.group_size,
            optimizer=self.optimizer,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        )
        objective = MeanPairwiseDistance(
            means, covariances, float(regularization), distance, self.squared
        )
        callbacks = FitCallbacks(self, search.n_stages(), self.max_iter, X, y)
        dtype = np.float64 if X is None else X.dtype

        def report(stage, filters, value):
            attributes = {"components_": np.asarray(filters.T, dtype=dtype)}
            return callbacks.iteration(stage, attributes)

        filters, groups = search.run(
            objective, within, total, report if callbacks.active else None
        )
        self._print(groups)
        largest = np.abs(filters).argmax(axis=0), range(filters.shape[1])
        filters = filters * np.sign(filters[largest])
        self.regularization_ = float(regularization)
        self.classes_ = statistics.classes
        self.components_ = np.ascontiguousarray(filters.T, dtype=dtype)
        self.objective_ = -groups[-1][0].cost
        self.n_iter_ = sum(result.n_iter for result, _ in groups)
        callbacks.end()
        self._warn(groups, filters)
        return self

    def _print(self, groups):
        if self.verbose:
            for number, (result, values) in enumerate(groups, start=1):
                group = f"group {number}, " if len(groups) > 1 else ""
                prefix = f"[{type(self).__name__}] {group}"
                for start, value in enumerate(values, start=1):
                    print(f"{prefix}start {start}: objective {value:.6f}")
                print(
                    f"{prefix}end: objective {-result.cost:.6f} after "
                    f"{result.n_iter} iterations"
                )

    def _warn(self, groups, filters):
        """Warn if a search did not end, or if filters repeat each other."""
        for result, _ in groups:
            if not result.converged:
                cure = "max_iter or tol" if "max_iter" in result.reason else "tol"
                warn_user(
                    f"{type(self).__name__} did not converge: {result.reason} The "
                    f"filters found so far can be used. Increase {cure}, or "
                    "regularization.",
                    ConvergenceWarning,
                )
        rank = np.linalg.matrix_rank(filters, tol=_DEPENDENT)
        if rank < self.n_components and self.objective_ > _DEPENDENT:
            warn_user(
                f"The {self.n_components} filters span {rank} directions only: with "
                f"distance={self.distance!r} and regularization_="
                f"{self.regularization_:.3g}, repeating a filter is worth more than "
                "another direction. Use constraint='orthonormal', or a smaller "
                "regularization, or fewer components.",
                UserWarning,
            )

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
