"""SQFA with the regularisation chosen by cross-validation of a classifier."""

from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.base import _fit_context, is_classifier
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from skgeom._filters.base import BaseFilters, independent_directions
from skgeom._filters.docs import FILTER_DOCS
from skgeom._filters.filter_search import FEW_FEATURES, n_named_starts
from skgeom._filters.folds import FoldStatistics, checked_splits, fit_and_score, project
from skgeom._filters.sqfa import SQFA
from skgeom.objectives import DISTANCES, find_distance
from skgeom.utils._docs import substitute_docs
from skgeom.utils._grid_scores import best_values, score_table
from skgeom.utils._sklearn import with_callbacks
from skgeom.utils._threads import map_threads, one_blas_thread
from skgeom.utils._undo import all_or_nothing
from skgeom.utils._warnings import warn_user

# Scores need filters that are good to this tolerance only.
_PATH_TOL = 1e-3

# What makes an SQFA a fitted one.
_FITTED = (
    "classes_",
    "components_",
    "feature_names_in_",
    "n_features_in_",
    "objective_",
    "regularization_",
    "statistics_",
)


@substitute_docs(**FILTER_DOCS)
class SQFACV(BaseFilters):
    r"""SQFA with the regularisation chosen by cross-validation of a classifier.

    For each fold, the statistics of its classes are computed once, and the filters of
    each value of :math:`\sigma^2` are sought from those of the next larger one. The
    classifier is fitted to the features of the training part and scored on those of the
    rest. The value with the best mean score then serves for a fit to all samples, which
    is that of ``SQFA(regularization=...)``.

    Parameters
    ----------
    n_components : int, default=2
        Number m of filters, at most ``n_features``.
    regularizations : int or array-like of shape (n_values,), default=10
        The values of :math:`\sigma^2` to try, or their number: they are then spread
        evenly, on a logarithmic scale, from a hundredth of to ten times the automatic
        value of :class:`SQFA` for all samples.
    cv : int, cross-validation generator or iterable, default=None
        How folds are made, as in scikit-learn: None for 5 stratified folds. Folds of
        groups get these from :meth:`fit`.
    classifier : classifier or None, default=None
        What the features are for; None is a
        :class:`~sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis`.
    scoring : str, callable or None, default=None
        A scorer of classifiers, as in scikit-learn; None is the classifier's ``score``.
    distance : str, StudentT or callable, default="fisher-rao"
        Distance between two classes, as for :class:`SQFA`.
    {squared}
    {constraint}
    {covariance_estimator}
    {init}
    {n_init}
    {group_size}
    {optimizer}
    {max_iter}
    {tol}
    {random_state}
    {verbose}

    Attributes
    ----------
    regularization_ : float
        The chosen value of :math:`\sigma^2`; of equal ones, the first.
    best_score_ : float
        Its mean score.
    cv_results_ : dict of ndarrays
        With one entry for each value: ``"regularization"``, ``"mean_test_score"``,
        ``"std_test_score"``, and ``"split0_test_score"`` and so on.
    {components_}
    {objective_}
    {statistics_}
    {classes_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    SQFA : With a given regularisation.
    sklearn.model_selection.GridSearchCV : For any other parameter.

    Notes
    -----
    The filters of the folds are sought with a tolerance of 1e-3, or ``tol`` if that is
    larger, and from fewer starts than those of :class:`SQFA`, so that their scores may
    differ a little from those of a grid search.

    The folds are spread over threads, except for code of the user: a distance that is a
    function, a ``covariance_estimator``, a classifier other than
    :class:`~sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis`, or a scorer
    that is a function. These run in the thread that calls.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import SQFACV
    >>> X, y = load_wine(return_X_y=True)
    >>> sqfa = SQFACV(2, random_state=0).fit(StandardScaler().fit_transform(X), y)
    >>> bool(sqfa.best_score_ > 0.97)
    True
    """

    _parameter_constraints = {
        **SQFA._parameter_constraints,
        "regularizations": [
            Interval(Integral, 2, None, closed="left"),
            "array-like",
        ],
        "cv": ["cv_object"],
        "classifier": [None, HasMethods(["fit", "predict"])],
        "scoring": [None, str, callable],
    }
    _parameter_constraints.pop("regularization")
    _more_noise, _less_noise = "the regularizations", "smaller regularizations"

    def __init__(
        self,
        n_components=2,
        *,
        regularizations=10,
        cv=None,
        classifier=None,
        scoring=None,
        distance="fisher-rao",
        squared=False,
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
        self.regularizations = regularizations
        self.cv = cv
        self.classifier = classifier
        self.scoring = scoring
        self.distance = distance
        self.squared = squared
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
    @_fit_context(prefer_skip_nested_validation=False)
    @all_or_nothing
    def fit(self, X, y, groups=None):
        """Choose the regularisation and learn the filters from samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.
        groups : array-like of shape (n_samples,) or None, default=None
            Groups of samples that the splits of ``cv`` keep together, such as the
            recordings of one person for :class:`~sklearn.model_selection.GroupKFold`.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            As :meth:`SQFA.fit`; or if ``regularizations`` has anything but
            non-negative numbers, if a split of ``cv`` is not usable, if a class has
            fewer samples than there are folds and than three, if ``classifier`` is
            none, if ``scoring`` returns no number, or if no value has a score.

        Warns
        -----
        FitFailedWarning
            If the classifier cannot be fitted or scored for some values, or if a score
            is not finite; these values are then not chosen.
        ConvergenceWarning
            If a search does not end within ``max_iter`` iterations.
        UserWarning
            If the best of three or more values is the smallest or the largest one, and
            no other has its score; or if the filters found are linearly dependent.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self._check_sizes(np.unique(y))
        splits = checked_splits(self.cv, X, y, groups)
        folds = FoldStatistics(X, y, splits, self.covariance_estimator)
        statistics = folds.all()
        values = self._values(statistics)
        scores = self._scores(X, y, splits, *self._paths(folds, values))
        self.cv_results_ = score_table(values, scores)
        means = self.cv_results_["mean_test_score"]
        if self.verbose:
            for value, mean in zip(values, means, strict=True):
                print(f"[SQFACV] regularization {value:.6g}: mean score {mean:.6f}")
        best = best_values(values, scores)[0]
        self.best_score_ = float(means[best])
        sqfa = self._sqfa(regularization=float(values[best]))
        return sqfa._fit(statistics, X, y, owner=self)

    def class_distances(self, *, regularized=True):
        check_is_fitted(self)
        return self._sqfa().class_distances(regularized=regularized)

    def orthonormalize(self):
        check_is_fitted(self)
        sqfa = self._sqfa().orthonormalize()
        for name in ("components_", "statistics_", "objective_"):
            setattr(self, name, getattr(sqfa, name))
        return self

    class_distances.__doc__ = SQFA.class_distances.__doc__
    orthonormalize.__doc__ = SQFA.orthonormalize.__doc__

    def _sqfa(self, **parameters):
        """SQFA with the parameters of this object, and others, as fitted as it is."""
        own = self.get_params(deep=False)
        common = {name: own[name] for name in SQFA().get_params() if name in own}
        sqfa = SQFA(**common | parameters)
        for name in _FITTED:
            if hasattr(self, name):
                setattr(sqfa, name, getattr(self, name))
        return sqfa

    def _values(self, statistics):
        """The values to try, in the user's order."""
        if isinstance(self.regularizations, Integral):
            sqfa = self._sqfa(regularization="auto")
            automatic = sqfa._regularization_of(sqfa._moments(statistics).pooled)
            return automatic * np.logspace(-2, 1, self.regularizations)
        values = check_array(
            self.regularizations,
            dtype=np.float64,
            ensure_2d=False,
            input_name="regularizations",
        )
        if values.ndim != 1 or (values < 0).any():
            raise ValueError(
                "regularizations must be a number of values, or a list of non-negative "
                f"numbers, got {self.regularizations!r}."
            )
        return values

    def _paths(self, folds, values):
        """What ``_path`` returns for each split: filters, and what converged."""
        # One seed for all folds: threads must not share a source of random numbers.
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        sqfa = self._sqfa(random_state=seed, tol=max(self.tol, _PATH_TOL))
        # autograd and estimators of the user's are not made for threads.
        distance = find_distance(self.distance, DISTANCES)
        parallel = distance.parallel and self.covariance_estimator is None
        # Each core has a fold of its own; threads within products would compete.
        with one_blas_thread(parallel):
            paths = map_threads(
                lambda index: _path(sqfa, folds.training(index), values),
                range(len(folds)),
                parallel,
            )
        return zip(*paths, strict=True)

    def _scores(self, X, y, splits, paths, converged):
        """Scores of the classifier, (n_values, n_splits); NaN where it fails."""
        classifier = self._checked_classifier()
        scorer = check_scoring(classifier, scoring=self.scoring)

        def score(fold):
            # One pass over X serves all values.
            features = project(X, np.hstack(paths[fold]))
            return [
                fit_and_score(classifier, scorer, Z, y, splits[fold])
                for Z in np.split(features, len(paths[fold]), axis=1)
            ]

        # What is the user's may not be made for threads.
        known = type(classifier) is QuadraticDiscriminantAnalysis
        known &= classifier.get_params().get("covariance_estimator") is None
        parallel = known and not callable(self.scoring)
        with one_blas_thread(parallel):
            results = map_threads(score, range(len(splits)), parallel)
        # From rows of folds to rows of values.
        results = [result for value in zip(*results, strict=True) for result in value]
        failures = [result for result in results if isinstance(result, Exception)]
        scores = [np.nan if isinstance(r, Exception) else r for r in results]
        self._warn_of(failures, len(results) - np.sum(converged), len(results))
        return np.reshape(scores, (-1, len(splits)))

    def _checked_classifier(self):
        if self.classifier is None:
            # Whatever the units of X: scikit-learn compares tol with absolute sizes.
            return QuadraticDiscriminantAnalysis(tol=0)
        if not is_classifier(self.classifier):
            raise ValueError(
                f"classifier must be a classifier, got {self.classifier!r}."
            )
        return self.classifier

    def _warn_of(self, failures, n_unfinished, n_searches):
        if len(failures) == n_searches:
            raise ValueError(
                "The classifier or scorer fails for every value and fold. The first "
                f"error is: {failures[0]}"
            ) from failures[0]
        if failures:
            warn_user(
                f"The classifier or scorer fails in {len(failures)} of {n_searches} "
                "fits, whose values are not chosen. The first error is: "
                f"{failures[0]}",
                FitFailedWarning,
            )
        if n_unfinished:
            warn_user(
                f"{n_unfinished} of the {n_searches} searches of the cross-validation "
                "did not converge. Increase max_iter, tol or the regularizations.",
                ConvergenceWarning,
            )


def _path(sqfa, statistics, values):
    """Filters of an SQFA for each value, and whether their searches converged.

    From the largest value to the smallest: with much noise there are few optima, and
    those of a value are a good start for the next one.
    """
    moments = sqfa._moments(statistics)
    filters, path, converged = None, [None] * len(values), [None] * len(values)
    for k in np.argsort(-values, kind="stable"):
        objective, search = sqfa._problem(statistics, moments, float(values[k]))
        if filters is not None:
            # Filters that repeat each other would do so along the whole path, and with
            # few features other starts cost little.
            dependent = independent_directions(filters) < len(filters.T)
            others = dependent or len(filters) <= FEW_FEATURES
            n_init = min(search.n_init, n_named_starts(search.init) * others)
            search = replace(search, n_init=n_init, warm_start=filters)
            if n_init == 0:
                # Without given filters, the search may be a coarse one first.
                search = replace(search, init="random")
        filters, groups = search.run(objective, moments.pooled)
        path[k] = filters
        converged[k] = all(result.converged for result, _ in groups)
    return path, converged
