"""SQFA with the regularisation chosen by cross-validation."""

from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from skgeom._filters.block_folds import BlockFolds
from skgeom._filters.docs import FILTER_DOCS
from skgeom._filters.regularization_cv import RegularizationCV
from skgeom._filters.sqfa import BaseSQFA
from skgeom._gaussian_classifier import GaussianClassifier
from skgeom.utils._dask import empty_block
from skgeom.utils.estimator import substitute_docs
from skgeom.utils.linalg import WholeSpace

# Pairs of classes that the filters of folds are sought for: of so many, or of all.
_LEAST_PAIRS, _PAIRS_PER_CLASS = 1000, 10


@substitute_docs(**FILTER_DOCS)
class SQFACV(RegularizationCV, BaseSQFA):
    r"""SQFA with the regularisation chosen by cross-validation of a classifier.

    For each fold, the statistics of its classes are computed once, and the filters of
    each value of :math:`\sigma^2` are sought from those of the next larger one. The
    classifier is fitted to the features of the training part and scored on those of the
    rest. The value with the best mean score then serves for a fit to all samples, which
    is that of ``SQFA(regularization=...)``.

    Parameters
    ----------
    {n_components}
    {regularizations}
    {cv}
    {classifier}
    {scoring}
    distance : str, StudentT or callable, default="fisher-rao"
        Distance between two classes, as for :class:`SQFA`.
    {squared}
    {constraint}
    {covariance_estimator}
    {class_weight}
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
    {chosen_regularization_}
    {best_score_}
    {cv_results_}
    {components_}
    {objective_}
    {statistics_}
    {classes_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    SQFA : With a given regularisation, or an automatic one.
    sklearn.model_selection.GridSearchCV : For any other parameter.

    Notes
    -----
    The filters of the folds are sought with a tolerance of 1e-3, or ``tol`` if that is
    larger or the distance is ``"hellinger"``, from fewer starts than those of
    :class:`SQFA`, and with more than 45 classes for a sample of their pairs, ten for
    each class and at least 1,000. So their scores may differ a little from those of a
    grid search. Of the held-out samples of a fold, at most 20,000 are scored, drawn at
    random, and one of each class, where the classifier is the default one.

    The folds are spread over threads, except for code of the user: a distance that is a
    function, a ``covariance_estimator``, a classifier other than
    :class:`~sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis`, or a scorer
    that is a function. These run in the thread that calls.

    Of a Dask array or data frame, each fold is every fifth block, or so many as ``cv``
    says. One pass gives the statistics of all folds, and another one the scores of all
    values, which are accuracies of a :class:`GaussianClassifier` of the features. Each
    block must be a fair sample: shuffle sorted data first.

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
        **RegularizationCV._parameter_constraints,
    }
    _parameter_constraints.pop("regularization")

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
        covariance_estimator="auto",
        class_weight=None,
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
        self.class_weight = class_weight
        self.init = init
        self.n_init = n_init
        self.group_size = group_size
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _fit_blocks(self, X, y, groups):
        """Choose and learn by the statistics of the blocks of a Dask array or frame."""
        self._check_in_blocks(groups)
        validate_data(self, empty_block(X), ensure_min_samples=0)
        folds = BlockFolds(X, y, 5 if self.cv is None else self.cv)
        statistics = self._shrunk(folds.all())
        self._check_sizes(statistics.classes)
        scores_of = partial(self._scores_of_blocks, folds)
        return self._fit(statistics, regularization=self._chosen(statistics, scores_of))

    def _check_in_blocks(self, groups):
        """Raise ValueError for what needs the samples of all blocks together."""
        allowed = {
            "cv": (isinstance(self.cv, Integral | None), "None or a number of folds"),
            "groups": (groups is None, "None"),
            "classifier": (
                isinstance(self.classifier, GaussianClassifier | None),
                "None or a GaussianClassifier",
            ),
            "scoring": (self.scoring in (None, "accuracy"), "None or 'accuracy'"),
            "covariance_estimator": (
                self._estimator_of_classes is None,
                "'auto' or None",
            ),
        }
        for name, (is_allowed, what) in allowed.items():
            if not is_allowed:
                raise ValueError(
                    f"SQFACV takes Dask data with {name} of {what} only, as it scores "
                    "each block by the statistics of others."
                )

    @property
    def _least_tol(self):
        # Hellinger distances of far classes are all near 1: only the last digits of
        # their mean tell filters apart.
        return 0.0 if self.distance == "hellinger" else super()._least_tol

    def _problem_of_fold(self, *args):
        """As that of the fit, but on some of many pairs of classes."""
        objective, search = super()._problem_of_fold(*args)
        n_classes = len(objective.weights)
        n_pairs = max(_LEAST_PAIRS, _PAIRS_PER_CLASS * n_classes)
        return objective.small_sample(n_pairs), search

    def _scores_of_blocks(self, folds, values, seen):
        """Accuracies of Gaussian classifiers, (n_values, n_folds); NaN for failures."""
        splits, space = range(len(folds)), WholeSpace()
        paths, converged, statistics = self._paths(space, None, splits, folds, values)
        models = [
            list(map(self._model_of, path, of_features))
            for path, of_features in zip(paths, statistics, strict=True)
        ]
        results = [model for of_fold in models for model in of_fold]
        seen.failures += [r for r in results if isinstance(r, Exception)]
        seen.n_unfinished += len(results) - np.sum(converged)
        seen.n_searches += len(results)
        return folds.accuracies(models).T

    def _model_of(self, filters, statistics):
        """Filters and a classifier of their features, or what is wrong with it."""
        classifier = clone(self.classifier or GaussianClassifier())
        try:
            return filters, classifier.fit_statistics(statistics)
        except ValueError as error:
            return error
