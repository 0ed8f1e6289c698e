"""SQFA with the regularisation chosen by cross-validation of a classifier."""

from numbers import Integral

import numpy as np
from sklearn.base import _fit_context, is_classifier
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from skgeom._filters.base import independent_directions
from skgeom._filters.base_sqfa import BaseSQFA
from skgeom._filters.docs import FILTER_DOCS
from skgeom._filters.folds import FoldStatistics, checked_splits, fit_and_score, project
from skgeom._filters.learning import (
    FEW_FEATURES,
    automatic_regularization,
    n_named_starts,
)
from skgeom.objectives import DISTANCES, find_distance
from skgeom.utils._docs import substitute_docs
from skgeom.utils._sklearn import with_callbacks
from skgeom.utils._threads import map_threads, one_blas_thread
from skgeom.utils._warnings import warn_user

# Scores need filters that are good to this tolerance only.
_PATH_TOL = 1e-3


@substitute_docs(**FILTER_DOCS)
class SQFACV(BaseSQFA):
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
        How folds are made, as in scikit-learn: None for 5 stratified folds. Folds that
        heed groups get them from :meth:`fit`.
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
    The filters of the folds are sought with a tolerance of 1e-4, or ``tol`` if that is
    larger, and from fewer starts than those of :class:`SQFA`, so that their scores may
    differ a little from those of a grid search. The searches of the folds are spread
    over threads; the classifier is fitted and scored in the thread that calls.

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
        **BaseSQFA._parameter_constraints,
        "distance": [StrOptions(set(DISTANCES)), callable],
        "regularizations": [
            Interval(Integral, 2, None, closed="left"),
            "array-like",
        ],
        "cv": ["cv_object"],
        "classifier": [None, HasMethods(["fit", "predict"])],
        "scoring": [None, str, callable],
    }
    _parameter_constraints.pop("regularization")
    _distances = DISTANCES
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
            As :meth:`SQFA.fit`; or if ``regularizations`` holds anything but
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
        # One seed for all folds: threads must not share a source of random numbers.
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        scores = self._scores(X, y, splits, folds, values, seed)
        means = scores.mean(axis=1)
        if np.isnan(means).all():
            raise ValueError(
                "No value has a score for each fold, of scores (values, folds):\n"
                f"{scores}"
            )
        best = np.nanargmax(means)
        if self.verbose:
            for value, mean in zip(values, means, strict=True):
                print(f"[SQFACV] regularization {value:.6g}: mean score {mean:.6f}")
        _warn_of_end(values, means, best)
        self.best_score_ = float(means[best])
        self.cv_results_ = {
            "regularization": values,
            "mean_test_score": means,
            "std_test_score": scores.std(axis=1),
            **{f"split{k}_test_score": column for k, column in enumerate(scores.T)},
        }
        return self._fit(statistics, X, y, regularization=float(values[best]))

    def _values(self, statistics):
        """The values to try, in the user's order."""
        if isinstance(self.regularizations, Integral):
            _, _, pooled = self._compared(statistics)
            automatic = automatic_regularization(pooled, self.n_components)
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

    def _scores(self, X, y, splits, folds, values, seed):
        """Scores of the classifier, (n_values, n_splits); NaN where it fails."""
        classifier = self._checked_classifier()
        scorer = check_scoring(classifier, scoring=self.scoring)
        paths, converged = zip(*self._paths(folds, values, seed), strict=True)

        def score(fold):
            # One pass over X serves all values.
            features = project(X, np.hstack(paths[fold]))
            return [
                fit_and_score(classifier, scorer, Z, y, splits[fold])
                for Z in np.split(features, len(values), axis=1)
            ]

        # What is the user's may not be made for threads.
        known = type(classifier) is QuadraticDiscriminantAnalysis
        known &= classifier.get_params().get("covariance_estimator") is None
        parallel = known and not callable(self.scoring)
        with one_blas_thread(parallel):
            results = map_threads(score, range(len(splits)), parallel)
        results = [result for fold in zip(*results, strict=True) for result in fold]
        failures = [result for result in results if isinstance(result, Exception)]
        scores = [np.nan if isinstance(r, Exception) else r for r in results]
        self._warn_of(failures, len(results) - np.sum(converged), len(results))
        return np.reshape(scores, (len(values), len(splits)))

    def _checked_classifier(self):
        if self.classifier is None:
            # Whatever the units of X: scikit-learn compares tol with absolute sizes.
            return QuadraticDiscriminantAnalysis(tol=0)
        if not is_classifier(self.classifier):
            raise ValueError(
                f"classifier must be a classifier, got {self.classifier!r}."
            )
        return self.classifier

    def _paths(self, folds, values, seed):
        """What ``_path`` returns for each split, found by threads."""
        # autograd and estimators of the user's are not made for threads.
        distance = find_distance(self.distance, self._distances)
        parallel = distance.parallel and self.covariance_estimator is None
        # Each core has a fold of its own; threads within products would compete.
        with one_blas_thread(parallel):
            return map_threads(
                lambda index: self._path(folds.training(index), values, seed),
                range(len(folds)),
                parallel,
            )

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

    def _path(self, statistics, values, seed):
        """Filters for each value, and whether their searches converged."""
        compared = self._compared(statistics)
        filters, path, converged = None, [None] * len(values), [None] * len(values)
        for k in np.argsort(-values, kind="stable"):
            changes = {"random_state": seed, "tol": max(self.tol, _PATH_TOL)}
            if filters is not None:
                # Filters that repeat each other would do so along the whole path, and
                # with few features other starts cost little.
                dependent = independent_directions(filters) < len(filters.T)
                others = dependent or len(filters) <= FEW_FEATURES
                n_init = min(self._n_starts(), n_named_starts(self.init) * others)
                changes |= {"n_init": n_init, "warm_start": filters}
                if n_init == 0:
                    changes["init"] = "random"
            search, objective = self._problem(
                statistics, compared, float(values[k]), **changes
            )
            filters, groups = search.run(objective, compared[-1])
            path[k] = filters
            converged[k] = all(result.converged for result, _ in groups)
        return path, converged


def _warn_of_end(values, means, best):
    """Warn if the scores still rise where the values end."""
    others = np.delete(means, best)
    if len(values) < 3 or values[best] == 0 or np.nanmax(others) == means[best]:
        return
    for end, extreme in (("smallest", values.min()), ("largest", values.max())):
        if values[best] == extreme:
            warn_user(
                f"The best regularization, {extreme:.3g}, is the {end} one of those "
                "that were tried: one beyond it may be better. Give regularizations "
                "that reach further.",
                UserWarning,
            )
