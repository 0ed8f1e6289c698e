"""Kernel discriminant analysis with a cross-validated regularisation."""

from numbers import Integral

import numpy as np
from sklearn.base import _fit_context
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._base_kernel_discriminant import (
    ATTRIBUTES,
    PARAMETERS,
    BaseKernelDiscriminant,
)
from skgeom._kernel_discriminant import KernelDiscriminantAnalysis
from skgeom._kernel_problem import KernelProblem, explain_singular
from skgeom.utils._docs import shares as shares_paragraphs


@shares_paragraphs(parameters=PARAMETERS, attributes=ATTRIBUTES)
class KernelDiscriminantAnalysisCV(BaseKernelDiscriminant):
    r"""Kernel discriminant analysis that chooses its regularisation.

    The same as :class:`KernelDiscriminantAnalysis`, solved exactly, with the value of
    ``regularization`` that scores best in cross-validation. Each part of the data needs
    one eigendecomposition of its centred kernel matrix, which serves all values, and
    the kernel matrix is computed once.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, at most ``n_classes - 1``. None is as many as there are.
    {parameters}
    regularizations : int or array-like of shape (n_values,), default=20
        The values to try, positive, or how many, evenly spaced in the logarithm
        between 1e-8 and 1.
    penalty : {"identity", "kernel"}, default="identity"
        The matrix R of equation 13: the identity, or the kernel matrix.
    criterion : {"total", "between"}, default="total"
        The numerator of the ratio.
    center : bool, default=True
        Whether to centre the training samples in the feature space.
    cv : int, cross-validation generator, iterable or None, default=None
        The splits, as :func:`sklearn.model_selection.check_cv` takes them; None is
        five stratified folds.
    scoring : str, callable or None, default=None
        What is best, as in :class:`sklearn.model_selection.GridSearchCV`; a callable is
        called with kernel matrices for X. None is the accuracy.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class probabilities; None takes them from the samples.

    Attributes
    ----------
    regularization_ : float
        The value chosen: of those whose mean score is best, the largest.
    regularizations_ : ndarray of shape (n_values,)
        The values tried.
    scores_ : ndarray of shape (n_values, n_splits)
        Their scores.
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
        "regularizations": [Interval(Integral, 1, None, closed="left"), "array-like"],
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
    def fit(self, X, y):
        """Choose the regularisation, and learn the discriminant functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; for a precomputed kernel, their kernel matrix. Not modified.
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            As :meth:`KernelDiscriminantAnalysis.fit`, or if a value to try is not
            positive, or if a training part of the splits lacks a class.
        """
        X, codes = self._validate(X, y)
        self._prepare_kernel(X)
        self.regularizations_ = self._values()
        self.X_fit_ = None
        if self.kernel != "precomputed":
            self.X_fit_ = X = np.array(X, dtype=np.float64)
        kernel = self._kernel_matrix(X)
        splits = check_cv(self.cv, codes, classifier=True).split(X, codes)
        scores = [self._score_path(kernel, codes, *split) for split in splits]
        self.scores_ = np.transpose(scores)
        means = self.scores_.mean(axis=1)
        self.best_score_ = means.max()
        self.regularization_ = self.regularizations_[means == means.max()].max()
        problem = self._problem(kernel, codes)
        self._store(self._solve(problem.solve_cholesky, self.regularization_), len(X))
        return self

    def _values(self):
        if isinstance(self.regularizations, Integral):
            return np.logspace(-8, 0, self.regularizations)
        values = np.array(self.regularizations, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not (values > 0).all():
            raise ValueError(
                "regularizations must be a number, or a list of positive values, got "
                f"{self.regularizations!r}."
            )
        return values

    def _score_path(self, kernel, codes, train, test):
        """Scores of all values on a test part, with one decomposition."""
        missing = np.setdiff1d(codes, codes[train])
        if len(missing):
            raise ValueError(
                f"The class {self._label(missing[0])} has no sample in a training "
                "part; give it more samples, or use fewer or other splits."
            )
        problem = self._problem(kernel[np.ix_(train, train)], codes[train])
        model = KernelDiscriminantAnalysis(
            self.n_components,
            kernel="precomputed",
            penalty=self.penalty,
            priors=self.priors,
        )
        model.classes_, model.priors_ = self.classes_, problem.shares
        model.n_features_in_, model.X_fit_ = len(train), None
        scorer = check_scoring(model, scoring=self.scoring)
        X_test, y_test = kernel[np.ix_(test, train)], self.classes_[codes[test]]
        scores = []
        for value in self.regularizations_:
            model._store(self._solve(problem.solve_path, value), len(train))
            scores.append(scorer(model, X_test, y_test))
        return scores

    def _problem(self, kernel, codes):
        weights, shares = self._weigh(codes, None)
        return KernelProblem(
            kernel,
            codes,
            weights,
            shares,
            identity=self.penalty == "identity",
            center=self.center,
            definite=self._definite,
        )

    def _solve(self, solver, regularization):
        n_components = self.n_components or len(self.classes_) - 1
        with explain_singular(regularization):
            return solver(regularization, self.criterion, n_components)
