"""The choice of the regularisation of filters by cross-validation of a classifier."""

from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_array

from skgeom._filters.filter_search import (
    FEW_FEATURES,
    independent_directions,
    n_named_starts,
)
from skgeom._filters.folds import (
    FoldStatistics,
    checked_splits,
    fit_and_score,
    score_gaussians,
)
from skgeom._filters.noise import sampling_noise
from skgeom.utils._dask import refuse_dask
from skgeom.utils._grid_scores import best_values, score_table
from skgeom.utils.array_api import is_dask, on_host, take, to_numpy
from skgeom.utils.estimator import FitProgress, current_progress, estimator_method
from skgeom.utils.linalg import project
from skgeom.utils.threads import map_threads, one_blas_thread
from skgeom.utils.validation import warn_user

# Held-out samples of a fold that are scored: the standard error of an accuracy of .9 is
# .002 then, and that of a difference of two values, scored on the same samples, less.
_MOST_SCORED = 20_000
# Filters are better than others if they reach more than this, relatively.
_SAME = 1e-4
# The decades around the sampling noise that are tried first.
_LOWEST, _HIGHEST = -1.0, 2.0
# Values by which a grid is extended at a time.
_N_MORE = 3
# Part of the sampling noise below which nothing is tried.
_LEAST = 1e-3


class RegularizationCV:
    """Adds the parameters and the search of a cross-validation to filters."""

    _parameter_constraints = {
        "regularizations": [
            Interval(Integral, 2, None, closed="left"),
            "array-like",
        ],
        "cv": ["cv_object"],
        "classifier": [None, HasMethods(["fit", "predict"])],
        "scoring": [None, str, callable],
    }
    _least_tol = 1e-3  # of the searches in the folds: scores need no more
    _more_noise, _less_noise = "the regularizations", "smaller regularizations"

    @estimator_method(nested_validation=True)
    def fit(self, X, y, groups=None):
        """Choose the regularisation and learn the filters from samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; not modified. Sparse ones are made dense in blocks of rows.
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
            As the ``fit`` of the filters with a given regularisation; or if
            ``regularizations`` has anything but non-negative numbers, if a split of
            ``cv`` is not usable, if a class has fewer samples than there are folds and
            than three, if ``classifier`` is none, if ``scoring`` returns no number, or
            if no value has a score.

        Warns
        -----
        FitFailedWarning
            If the classifier cannot be fitted or scored for some values, or if a score
            is not finite; these values are then not chosen.
        ConvergenceWarning
            If a search does not end within ``max_iter`` iterations.
        UserWarning
            If the best of three or more given values is the smallest or the largest
            one, and no other has its score; or if the filters found are linearly
            dependent.
        """
        if is_dask(X):
            return self._fit_blocks(X, y, groups)
        X, y = self._validated(X, y)
        self._check_sizes(np.unique(y))
        splits = checked_splits(self.cv, X, y, on_host(groups))
        space = self._space_of(X)
        current_progress().start(space.X, y)
        statistics, regularization = self._cross_validate(space, y, splits)
        return self._fit(statistics, space, y, regularization)

    def _fit_blocks(self, X, y, groups):
        refuse_dask(self, X, "SQFACV takes it in blocks; or fit this to a sample")

    @property
    def _distinct(self):
        return isinstance(self.regularizations, Integral)

    def _cross_validate(self, space, y, splits):
        """Statistics of all samples, and the best value; sets what was seen."""
        folds = FoldStatistics(space.samples, y, splits, self._estimator_of_classes)
        statistics = self._shrunk(folds.all())
        scores_of = partial(self._scores, space, y, splits, folds)
        return statistics, self._chosen(statistics, scores_of)

    def _chosen(self, statistics, scores_of):
        """The value whose scores are best; sets what was seen.

        ``scores_of(values, seen)`` are the scores, (n_values, n_splits).
        """
        is_grid = isinstance(self.regularizations, Integral)
        values = self._grid(statistics) if is_grid else self._given_values()
        seen = Outcomes()
        scores = self._told(values, scores_of(values, seen))
        while is_grid and len(more := self._beyond(values, scores, statistics)):
            values = np.concatenate([values, more])
            scores = np.concatenate([scores, self._told(more, scores_of(more, seen))])
            order = np.argsort(values)
            values, scores = values[order], scores[order]
        # Once, and after all: values beyond the grid may fail where others do not.
        seen.warn()
        self.cv_results_ = score_table(values, scores)
        means = self.cv_results_["mean_test_score"]
        best = best_values(values, scores, warn=not is_grid)[0]
        self.best_score_ = float(means[best])
        return float(values[best])

    def _told(self, values, scores):
        """The scores, which are printed on demand."""
        progress = current_progress()
        progress.end_stage()
        for value, mean in zip(values, scores.mean(axis=1), strict=True):
            progress.print(f"regularization {value:.6g}: mean score {mean:.6f}")
        return scores

    def _grid(self, statistics):
        pooled = self._moments(statistics).pooled
        noise = sampling_noise(pooled, statistics.counts)
        return noise * np.logspace(_LOWEST, _HIGHEST, self.regularizations)

    def _beyond(self, values, scores, statistics):
        """Values beyond the end of a rising grid at which the best score is, if any.

        None are above the variance of the data, where only principal axes count, or
        far below the sampling noise, where nothing changes.
        """
        means = scores.mean(axis=1)
        best = np.flatnonzero(means == np.nanmax(means, initial=-np.inf))
        if len(best) != 1 or best[0] not in (0, len(values) - 1):
            return np.empty(0)
        steps = (values[1] / values[0]) ** np.arange(1, _N_MORE + 1)
        more = values[0] / steps if best[0] == 0 else values[-1] * steps
        pooled = self._moments(statistics).pooled
        least = _LEAST * sampling_noise(pooled, statistics.counts)
        return more[(more < np.trace(pooled.total)) & (more > least)]

    def _given_values(self):
        values = check_array(
            on_host(self.regularizations),
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

    def _scores(self, space, y, splits, folds, values, seen):
        """Scores of the classifier, (n_values, n_splits); NaN where it fails.

        What went wrong is added to the outcomes ``seen``.
        """
        paths, converged, statistics = self._paths(space, y, splits, folds, values)
        classifier = self._checked_classifier()
        scorer = check_scoring(classifier, scoring=self.scoring)

        # What is the user's may not be made for threads.
        known = type(classifier) is QuadraticDiscriminantAnalysis
        known &= classifier.get_params().get("covariance_estimator") is None
        parallel = known and not callable(self.scoring)
        # A scorer of the user's may expect the class of scikit-learn.
        by_statistics = parallel and self.classifier is None
        by_statistics &= self._estimator_of_classes is None

        progress = current_progress()

        def score(fold):
            scores = scores_of(fold)
            said = f"fold {fold + 1} scored"
            progress.step("scores", said, n_steps=len(splits), name="fold")
            return scores

        def scores_of(fold):
            # One pass over the samples serves all values.
            path, stacked = paths[fold], np.hstack(paths[fold])
            if by_statistics:
                test = _at_most(_MOST_SCORED, splits[fold][1], y)
                features = project(take(space.samples, test), stacked)
                scores = score_gaussians(
                    statistics[fold], self.scoring and scorer, features, y[test]
                )
                if scores is not None:
                    return scores
            return [
                fit_and_score(classifier, scorer, Z, y, splits[fold])
                for Z in np.split(space.features(stacked), len(path), axis=1)
            ]

        with one_blas_thread(parallel):
            results = map_threads(score, range(len(splits)), parallel)
        # From rows of folds to rows of values.
        results = [result for value in zip(*results, strict=True) for result in value]
        scores = [np.nan if isinstance(r, Exception) else r for r in results]
        seen.failures += [r for r in results if isinstance(r, Exception)]
        seen.n_unfinished += len(results) - np.sum(converged)
        seen.n_searches += len(results)
        return np.reshape(scores, (-1, len(splits)))

    def _paths(self, space, y, splits, folds, values):
        """Filters of each split, what converged, and statistics of their features."""
        # One seed for all folds: threads must not share a source of random numbers.
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        filters = copy(self)
        filters.random_state, filters.tol = seed, max(self.tol, self._least_tol)

        progress, n_steps = current_progress(), len(splits) * len(values)

        def path(fold):
            statistics = folds.training(fold)
            told = Told(progress, f"fold {fold + 1}", n_steps)
            samples = space, y
            if self._uses_samples:
                rows = splits[fold][0]
                samples = space.rows(rows), y[rows]
            found, converged = _path(
                filters, self._shrunk(statistics), values, *samples, told=told
            )
            # The features are scored on the host.
            of_features = [statistics.project(f.T)._moved(to_numpy) for f in found]
            return found, converged, of_features

        # autograd and estimators of the user's are not made for threads.
        parallel = self._parallel and self._estimator_of_classes is None
        # Each core has a fold of its own; threads within products would compete.
        with one_blas_thread(parallel):
            paths = map_threads(path, range(len(splits)), parallel)
        return zip(*paths, strict=True)

    def _problem_of_fold(self, *args):
        """The objective, and the search for its maximum, for the sake of scores."""
        return self._problem(*args)

    def _checked_classifier(self):
        if self.classifier is None:
            # Whatever the units of X: scikit-learn compares tol with absolute sizes.
            return QuadraticDiscriminantAnalysis(tol=0)
        if not is_classifier(self.classifier):
            raise ValueError(
                f"classifier must be a classifier, got {self.classifier!r}."
            )
        return self.classifier


@dataclass
class Outcomes:
    """What went wrong in the searches of a cross-validation."""

    failures: list = field(default_factory=list)  # the errors of fits and scores
    n_unfinished: int = 0
    n_searches: int = 0

    def warn(self):
        """Warn of failures and unfinished searches; raise if nothing has a score."""
        failures, n_searches = self.failures, self.n_searches
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
        if self.n_unfinished:
            warn_user(
                f"{self.n_unfinished} of the {n_searches} searches of the "
                "cross-validation did not converge. Increase max_iter, tol or the "
                "regularizations.",
                ConvergenceWarning,
            )


@dataclass
class Told:
    """What the progress is told of the searches of a fold."""

    progress: FitProgress
    fold: str
    n_steps: int  # of all folds

    def reporter(self, value):
        """The callback of the search with a value."""
        if not self.progress.active:
            return None
        where = f"{self.fold}, regularization {value:.4g}"

        def report(stage, filters, value):
            self.progress.note(f"{where}, {stage}: objective {value:.6f}")

        return report

    def end(self, value, objective):
        """Tell of the end of the search with a value."""
        said = f"{self.fold}, regularization {value:.4g}, objective {objective:.6f}"
        self.progress.step("folds", said, n_steps=self.n_steps, name="fit")


def _at_most(n_samples, rows, y):
    """So many of some rows, at random, but always the same ones; or all of them.

    Besides, one of each class: some scores exist only where all classes occur.
    """
    if len(rows) <= n_samples:
        return rows
    drawn = np.random.default_rng(0).choice(rows, n_samples, replace=False)
    _, firsts = np.unique(y[rows], return_index=True)
    return np.union1d(drawn, rows[firsts])


def _path(estimator, statistics, values, *samples, told):
    """Filters for each value, and whether their searches converged.

    From the largest value to the smallest: with much noise there are few optima, and
    those of a value are a good start for the next one. With few features, where other
    starts cost little, those for the smallest value are then sought from all of them.
    If there are better ones, they are followed upwards for as long as they are better.
    """
    moments = estimator._moments(statistics)
    falling = np.argsort(-values, kind="stable")
    found = [None] * len(values)

    def search_at(k, start):
        objective, search = estimator._problem_of_fold(
            statistics, moments, float(values[k]), *samples
        )
        if start is None:
            search = estimator._started(search, moments)
        else:
            search = _from(search, start)
        report = told.reporter(values[k])
        filters, groups = search.run(objective, moments.pooled, report)
        converged = all(result.converged for result, _ in groups)
        return Found(filters, -groups[-1][0].cost, converged)

    start = None
    for k in falling:
        found[k] = search_at(k, start)
        start = found[k].filters
        told.end(values[k], found[k].objective)
    if len(values) > 1 and estimator.n_features_in_ <= FEW_FEATURES:
        start = None
        for k in falling[::-1]:
            other, before = search_at(k, start), found[k]
            if other.objective <= before.objective + _SAME * abs(before.objective):
                break
            found[k], start = other, other.filters
    return [f.filters for f in found], [f.converged for f in found]


@dataclass
class Found:
    """Filters, what they reach, and whether their search converged."""

    filters: np.ndarray
    objective: float
    converged: bool


def _from(search, filters):
    """The search from filters for another value."""
    # Filters that repeat each other would do so along the whole path.
    dependent = independent_directions(filters) < len(filters.T)
    n_init = min(search.n_init, n_named_starts(search.init) * dependent)
    search = replace(search, n_init=n_init, warm_start=filters)
    # Without given filters, the search may be a coarse one first.
    return search if n_init else replace(search, init="random")
