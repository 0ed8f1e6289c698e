"""Kernel discriminant analysis with a cross-validated regularisation."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import _fit_context
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_array

from skgeom._kernel.base import (
    ATTRIBUTES,
    PARAMETERS,
    BaseKernelDiscriminant,
)
from skgeom._kernel.discriminant import MAX_EXACT, KernelDiscriminantAnalysis
from skgeom._kernel.functions import warn_if_alone
from skgeom._kernel.problem import MAX_REGULARIZATION, KernelProblem
from skgeom.utils._docs import substitute_docs
from skgeom.utils._warnings import warn_user


@substitute_docs(parameters=PARAMETERS, attributes=ATTRIBUTES)
class KernelDiscriminantAnalysisCV(BaseKernelDiscriminant):
    r"""Kernel discriminant analysis that chooses its regularisation.

    The same as :class:`KernelDiscriminantAnalysis`, solved exactly, with the value of
    ``regularization`` that scores best in cross-validation. Each part of the data needs
    one reduction of its centred kernel matrix to tridiagonal form, which serves all
    values, and the kernel matrix is computed once. There are no landmarks: it is for up
    to about 5,000 samples, and for more there is
    :class:`~sklearn.model_selection.GridSearchCV` with
    :class:`KernelDiscriminantAnalysis` and ``solver="nystroem"``.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, at most ``n_classes - 1``. None is as many as there are.
    {parameters}
    regularizations : int or array-like of shape (n_values,), default=20
        The values to try, positive, or how many, at least 2, evenly spaced in the
        logarithm between 1e-8 and 1, or from 1e-12 on for ``penalty="identity"``.
    penalty : {"identity", "kernel"}, default="identity"
        The matrix R of equation 13: the identity, or the kernel matrix.
    criterion : {"total", "between"}, default="total"
        The numerator of the ratio.
    center : bool, default=True
        Whether to centre the training samples in the feature space.
    cv : int, cross-validation generator, iterable or None, default=None
        The splits, as :func:`sklearn.model_selection.check_cv` takes them; None is
        five stratified folds. Folds that heed groups get them from :meth:`fit`.
    scoring : str, callable or None, default=None
        What is best, as in :class:`sklearn.model_selection.GridSearchCV`; a callable is
        called with kernel matrices for X. None is the accuracy.
    priors : None, "empirical", "uniform" or array-like of shape (n_classes,)
        Class probabilities; None, the default, or ``"empirical"`` takes them from the
        samples.

    Attributes
    ----------
    regularization_ : float
        The value chosen: of those whose mean score is best, the largest.
    regularizations_ : ndarray of shape (n_values,)
        The values tried.
    cv_results_ : dict of ndarrays
        With one entry for each value: ``"regularization"``, ``"mean_test_score"``,
        ``"std_test_score"``, and ``"split0_test_score"`` and so on.
    best_score_ : float
        The mean score of the value chosen.
    {attributes}

    See Also
    --------
    KernelDiscriminantAnalysis : With a given regularisation, and with landmarks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom import KernelDiscriminantAnalysisCV
    >>> X, y = load_iris(return_X_y=True)
    >>> kda = KernelDiscriminantAnalysisCV(gamma="scale").fit(X, y)
    >>> bool(kda.best_score_ > 0.95)
    True
    """

    _parameter_constraints = {
        **BaseKernelDiscriminant._parameter_constraints,
        "regularizations": [Integral, "array-like"],
        "cv": ["cv_object"],
        "scoring": [None, StrOptions(set(get_scorer_names())), callable],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        regularizations=20,
        penalty="identity",
        criterion="total",
        center=True,
        cv=None,
        scoring=None,
        priors=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.regularizations = regularizations
        self.penalty = penalty
        self.criterion = criterion
        self.center = center
        self.cv = cv
        self.scoring = scoring
        self.priors = priors

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, groups=None):
        """Choose the regularisation, and learn the discriminant functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; for a precomputed kernel, their kernel matrix. Not modified.
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
            As :meth:`KernelDiscriminantAnalysis.fit`, or if a value to try is not
            positive and finite, if there are no splits, if a training part of them
            lacks a class, or if no value has a score.

        Warns
        -----
        UserWarning
            If there are more than 10,000 samples, which take long; if the best value is
            the smallest or the largest, so that there may be better ones beyond; or if
            scores of some values are NaN, which are then not chosen.
        """
        X, codes = self._validate(X, y)
        _warn_if_many(len(X))
        self._prepare_kernel(X)
        self.regularizations_ = self._values()
        self.X_fit_ = None
        precision = np.finfo(np.float64).eps
        if self.kernel == "precomputed":
            precision = np.finfo(X.dtype).eps
        if self.kernel != "precomputed":
            self.X_fit_ = X = np.array(X, dtype=np.float64)
        kernel = self._kernel_matrix(X)
        warn_if_alone(kernel, self.kernel)
        scores = [
            self._score_path(kernel, codes, precision, *split)
            for split in self._splits(X, codes, groups)
        ]
        self._choose(np.transpose(scores))
        problem = self._problem(kernel, codes, precision)
        (found,) = problem.solve_path([self.regularization_], *self._settings)
        self._set_discriminants(found, len(X))
        return self

    def _values(self):
        if isinstance(self.regularizations, Integral):
            if self.regularizations < 2:
                raise ValueError(
                    "regularizations must be a number of at least 2 values, or a list "
                    f"of them, got {self.regularizations}; a single value is given as "
                    "[1.0]."
                )
            lowest = -12 if self.penalty == "identity" else -8
            return np.logspace(lowest, 0, self.regularizations)
        values = check_array(
            self.regularizations,
            dtype=np.float64,
            ensure_2d=False,
            copy=True,
            input_name="regularizations",
        )
        if (
            values.ndim != 1
            or not ((values > 0) & (values <= MAX_REGULARIZATION)).all()
        ):
            raise ValueError(
                "regularizations must be a number, or a list of positive values up to "
                f"{MAX_REGULARIZATION:g}, got {self.regularizations!r}."
            )
        return values

    def _splits(self, X, codes, groups):
        """Numbers of the samples of the training and test parts."""
        y, numbers = self.classes_[codes], np.arange(len(codes))
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        if not splits:
            raise ValueError("cv has no splits; give one at least, or their number.")
        splits = [(numbers[train], numbers[test]) for train, test in splits]
        for k, (_, test) in enumerate(splits):
            if not len(test):
                raise ValueError(f"The test part of split {k} of cv has no samples.")
        return splits

    def _choose(self, scores):
        """Choose the best value by the scores, (n_values, n_splits)."""
        values, means = self.regularizations_, scores.mean(axis=1)
        self.cv_results_ = {
            "regularization": values,
            "mean_test_score": means,
            "std_test_score": scores.std(axis=1),
            **{f"split{k}_test_score": column for k, column in enumerate(scores.T)},
        }
        missing = np.isnan(means)
        if missing.all():
            raise ValueError(
                "No value of regularizations has a score that is a number in all "
                f"splits, of scores (values, splits):\n{scores}\nSee that each test "
                "part has what scoring needs, such as samples of each class."
            )
        if missing.any():
            warn_user(
                f"{missing.sum()} of {len(values)} values of regularizations have a "
                "score that is NaN, and are not chosen.",
                UserWarning,
            )
        self.best_score_ = float(np.nanmax(means))
        best = np.flatnonzero(means == self.best_score_)
        self.regularization_ = values[best].max()
        # A plateau of equal scores that reaches an end needs no search beyond.
        valid = values[~missing]
        for name, end in (("smallest", valid.min()), ("largest", valid.max())):
            if len(valid) > 2 and (values[best] == end).all():
                warn_user(
                    f"The best value, {end:.3g}, is the {name} one of regularizations; "
                    "there may be better ones beyond.",
                    UserWarning,
                )

    def _score_path(self, kernel, codes, precision, train, test):
        """Scores of all values on a test part, with one tridiagonal form."""
        missing = np.setdiff1d(codes, codes[train])
        if len(missing):
            raise ValueError(
                f"The class {self._label_repr(missing[0])} has no sample in a training "
                "part; give it more samples, or use fewer or other splits."
            )
        part = kernel[np.ix_(train, train)]
        problem = self._problem(part, codes[train], precision)
        model = KernelDiscriminantAnalysis(
            self.n_components,
            kernel="precomputed",
            penalty=self.penalty,
            priors=self.priors,
        )
        model.classes_, model.priors_ = self.classes_, problem.class_weights
        model.n_features_in_, model.X_fit_ = len(train), None
        scorer = check_scoring(model, scoring=self.scoring)
        X_test, y_test = kernel[np.ix_(test, train)], self.classes_[codes[test]]
        scores = []
        for found in problem.solve_path(self.regularizations_, *self._settings):
            model._set_discriminants(found, len(train))
            score = scorer(model, X_test, y_test)
            if np.ndim(score) or not isinstance(score, Real):
                raise ValueError(
                    f"scoring must return a number, got {score!r}; for several scores, "
                    "use GridSearchCV."
                )
            scores.append(float(score))
        return scores

    def _problem(self, kernel, codes, precision):
        weights, shares = self._weigh(codes, None)
        return KernelProblem(
            kernel,
            codes,
            weights,
            shares,
            identity=self.penalty == "identity",
            center=self.center,
            definite=self._definite,
            precision=precision,
        )

    @property
    def _settings(self):
        """Criterion and number of components."""
        return self.criterion, self.n_components or len(self.classes_) - 1


def _warn_if_many(n_samples):
    if n_samples > MAX_EXACT:
        gigabytes = 3 * 8e-9 * n_samples**2  # the kernel matrix, and two as large
        warn_user(
            f"The solutions are exact: with {n_samples:,} samples they take "
            f"{gigabytes:.1f} GB and many minutes. For landmarks, use GridSearchCV "
            "with KernelDiscriminantAnalysis(solver='nystroem').",
            UserWarning,
        )
