"""Supervised quadratic feature analysis (SQFA)."""

import warnings
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
    whitening_coordinates,
)
from skgeom._statistics import ClassStatistics
from skgeom.objectives import DISTANCES, MeanPairwiseDistance
from skgeom.optim import CONSTRAINTS, OPTIMIZERS
from skgeom.utils._sklearn import CallbackSupportMixin, FitCallbacks, with_callbacks


class SQFA(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    r"""Supervised quadratic feature analysis.

    Learns linear filters for which the classes, taken as Gaussians, are far from each
    other: the columns of F maximise the mean distance between all pairs of classes

    .. math::

       \max_F \; \tfrac{2}{c (c - 1)} \sum_{i < j} d(\theta_i, \theta_j), \quad
       \theta_i = (F^\top \gamma_i,\; F^\top \Phi_i F + \sigma^2 I)

    with the class means :math:`\gamma_i` and covariances :math:`\Phi_i` (equation 1 and
    section 4 of [1]_). Unlike linear discriminant analysis, it uses differences of the
    covariances as well as of the means, so it can give more than ``n_classes - 1``
    useful features. They are made for quadratic discriminant analysis.

    Parameters
    ----------
    n_components : int, default=2
        Number m of filters, at most ``n_features``.
    distance : {"fisher-rao"}, default="fisher-rao"
        Distance between two classes. ``"fisher-rao"`` is the Calvo-Oller lower bound of
        the Fisher-Rao distance, see :func:`skgeom.geometry.distance_calvo_oller`.
    squared : bool, default=False
        Whether to average the squares of the distances.
    regularization : "auto" or float, default="auto"
        The variance :math:`\sigma^2`, in squared units of X, that is added to that of
        each filter's output. Directions of a smaller variance count for little.
        ``"auto"`` is half of the mean of the eigenvalues of the within-class
        covariance, each weighted by itself, so that a common factor on X changes
        nothing. With 0 only the span of the filters matters, and an invertible linear
        map of X changes nothing; all class covariances must then be regular.
    constraint : {"unit-norm", "orthonormal"}, default="unit-norm"
        What holds for the filters.
    covariance_estimator : None, str or object, default=None
        How the class covariances are estimated: None for the sample covariance, a name
        from ``pyriemann.geometry.covariance`` such as ``"oas"``, or an object whose
        ``fit`` sets ``covariance_``.
    init : str or array-like of shape (n_components, n_features), default="auto"
        Where to start: ``"pca"``, the leading principal axes; ``"lda"``, the linear
        discriminants, completed by principal axes; ``"random"``; or given filters.
        ``"auto"`` tries ``"lda"``, ``"pca"`` and random ones.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is followed to the end. Those that ``init``
        does not name are random. ``"auto"`` is 4 for ``init="auto"``, 10 for
        ``init="random"``, and otherwise 1.
    group_size : int or None, default=None
        If given, filters are learnt in groups of this size, the last group being
        smaller if need be, each with the earlier ones fixed: the components are then
        ordered by usefulness.
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

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The filters.
    objective_ : float
        The mean pairwise distance (or squared distance) of the classes that they reach.
    regularization_ : float
        The value of :math:`\sigma^2` that was used.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_iter_ : int
        Number of iterations from the chosen start to the end, over all groups.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : The classifier that
        these features are made for.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Uses the class means and
        one common covariance.

    Notes
    -----
    ``transform`` is ``X @ components_.T``, without centring. Each filter's sign is
    chosen so that its entry of largest magnitude is positive.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025.

    Examples
    --------
    Two classes that differ in the direction of their spread only, beside a feature of
    larger variance that is no use:

    >>> import numpy as np
    >>> from skgeom import SQFA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 3))
    >>> y = np.repeat([0, 1], 200)
    >>> X[:, 0] *= 2
    >>> X[y == 0, 1] *= 0.2
    >>> X[y == 1, 2] *= 0.2
    >>> sqfa = SQFA(n_components=2, random_state=0).fit(X, y)
    >>> bool(np.linalg.norm(sqfa.components_[:, 1:]) > 1.4)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "distance": [StrOptions(set(DISTANCES))],
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
        SQFA
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, if ``n_components``
            exceeds the number of features, if ``init`` has a wrong shape, or, without
            regularisation, if a class covariance is singular.
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
        SQFA
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
                f"{type(self).__name__} compares classes, so it needs samples of at "
                f"least 2 classes, but y has one class only: {classes[0]}."
            )
        if self.n_components > self.n_features_in_:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the number of "
                f"features: n_features={self.n_features_in_}."
            )

    def _fit(self, statistics, X=None, y=None):
        within, total = statistics.pooled_covariances()
        self.regularization_ = (
            automatic_regularization(within if within.any() else total)
            if self.regularization == "auto"
            else float(self.regularization)
        )
        if self.regularization_ == 0:
            _check_regular(statistics, total, self.n_components)
        objective = MeanPairwiseDistance(
            statistics.means - statistics.means.mean(axis=0),
            statistics.covariances,
            self.regularization_,
            DISTANCES[self.distance],
            self.squared,
        )
        search = self._search()
        callbacks = FitCallbacks(self, search.n_stages(), self.max_iter, X, y)
        dtype = np.float64 if X is None else X.dtype

        def report(stage, filters, value):
            attributes = {"components_": np.asarray(filters.T, dtype=dtype)}
            return callbacks.iteration(stage, attributes)

        filters, groups = search.run(
            objective, within, total, report if callbacks.active else None
        )
        self._say(groups)
        self.classes_ = statistics.classes
        signs = np.sign(
            filters[np.abs(filters).argmax(axis=0), range(filters.shape[1])]
        )
        self.components_ = np.ascontiguousarray((filters * signs).T, dtype=dtype)
        self.objective_ = -groups[-1][0].cost
        self.n_iter_ = sum(result.n_iter for result, _ in groups)
        callbacks.end()
        return self

    def _search(self):
        init = self.init
        if not isinstance(init, str):
            init = check_array(init, dtype=np.float64, input_name="init")
            expected = (self.n_components, self.n_features_in_)
            if init.shape != expected:
                raise ValueError(
                    f"init must have shape (n_components, n_features) = {expected}, "
                    f"got {init.shape}."
                )
        return FilterSearch(
            n_components=self.n_components,
            regularization=self.regularization_,
            constraint=self.constraint,
            init=init,
            n_init=self.n_init,
            group_size=self.group_size,
            optimizer=self.optimizer,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        )

    def _say(self, groups):
        """Print what happened if that is wanted; warn if the search did not end."""
        name = type(self).__name__
        for number, (result, values) in enumerate(groups, start=1):
            if self.verbose:
                for start, value in enumerate(values, start=1):
                    print(f"[{name}] group {number}, start {start}: {value:.6f}")
                print(
                    f"[{name}] group {number}: {-result.cost:.6f} after "
                    f"{result.n_iter} iterations. {result.reason}"
                )
            if not result.converged:
                warnings.warn(
                    f"{name} did not converge: {result.reason} The filters found so "
                    "far can be used. Increase max_iter or tol, or regularization.",
                    ConvergenceWarning,
                    stacklevel=5,
                )

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check_regular(statistics, total, n_components):
    """Raise unless all class covariances are regular on the span of the data.

    Otherwise filters exist for which a distance is infinite, and the objective has no
    maximum. The ranks do not depend on the units of the features.
    """
    basis = whitening_coordinates(total).basis
    rank = basis.shape[1]
    if n_components > rank:
        raise ValueError(
            f"The data vary in {rank} directions only, so n_components={n_components} "
            "filters need regularization > 0."
        )
    for label, count, covariance in zip(
        statistics.classes, statistics.counts, statistics.covariances, strict=True
    ):
        variances = np.linalg.eigvalsh(basis.T @ covariance @ basis)
        precision = 100 * len(total) * np.finfo(float).eps * max(variances[-1], 1)
        class_rank = np.count_nonzero(variances > precision)
        if class_rank < rank:
            raise ValueError(
                f"The covariance of class {label}, estimated from {count} samples, "
                f"is singular: its rank is {class_rank}, but the data vary in {rank} "
                "directions. Without regularization its distance to other classes has "
                "no bound: set regularization to 'auto' or to a positive number, or "
                "use covariance_estimator='oas', or reduce the features by PCA first."
            )
