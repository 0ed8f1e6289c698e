"""Kernel discriminant analysis with a cross-validated regularisation."""

from numbers import Integral

import numpy as np
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_array

from skgeom._kernel.base import (
    ATTRIBUTES,
    CLASS_PARAMETERS,
    PARAMETERS,
    BaseKernelDiscriminant,
    candidate_regularizations,
    relative_weights,
    rescaled_to,
    spread_over_classes,
)
from skgeom._kernel.calibration import calibrate, products_and_squares
from skgeom._kernel.device import DeviceKernelProblem, kernel_on_host
from skgeom._kernel.discriminant import MAX_EXACT, KernelDiscriminantAnalysis
from skgeom._kernel.functions import warn_if_alone
from skgeom._kernel.problem import (
    MAX_REGULARIZATION,
    KernelProblem,
    explain_singular,
)
from skgeom.utils._dask import refuse_dask
from skgeom.utils._grid_scores import best_values, check_score, find_splits, score_table
from skgeom.utils.array_api import (
    block,
    in_double,
    move_attributes,
    namespace,
    on_host,
    precision,
)
from skgeom.utils.estimator import (
    CallbackSupportMixin,
    current_progress,
    estimator_method,
    substitute_docs,
)
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import warn_user

# Up to this number of samples, threads of BLAS would wait for each other.
_SMALL = 2000
# Samples of a training part that models of all values are fitted to.
_MAX_PATH = 1600


@substitute_docs(
    parameters=PARAMETERS, class_parameters=CLASS_PARAMETERS, attributes=ATTRIBUTES
)
class KernelDiscriminantAnalysisCV(CallbackSupportMixin, BaseKernelDiscriminant):
    r"""Kernel discriminant analysis that chooses its regularisation.

    The same as :class:`KernelDiscriminantAnalysis`, solved exactly, with the value of
    ``regularization`` that scores best in cross-validation. Each training part needs
    one reduction of its centred kernel matrix to tridiagonal form, which serves all
    values, and the kernel matrix is computed once. Of a training part of more than
    1,600 samples, so many are used, evenly of each class, with the same :math:`\lambda`
    of equation 13; all samples of the test parts are scored. The scores are then below
    those of the model, which is fitted to all samples. With ``temperature="auto"``, the
    samples left out are those of the test parts, and scores are those of calibrated
    probabilities. There are no landmarks: it is for up to about 10,000 samples. For
    more, :class:`KernelDiscriminantAnalysis` chooses its regularisation itself.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, at most ``n_classes - 1``. None is as many as there are.
    {parameters}
    regularizations : int or array-like of shape (n_values,), default=20
        The values to try, positive, or how many, at least 2, evenly spaced in the
        logarithm between 1e-8 and 1, or from 1e-12 on for ``penalty="identity"``.
    penalty : {"identity", "kernel"}, default="kernel"
        The matrix R of equation 13: the kernel matrix, or the identity.
    criterion : {"total", "between"}, default="between"
        The numerator of the ratio.
    center : bool, default=True
        Whether to centre the training samples in the feature space.
    cv : int, cross-validation generator, iterable or None, default=None
        The splits, as :func:`sklearn.model_selection.check_cv` takes them; None is
        five stratified folds. Folds of groups get these from :meth:`fit`.
    scoring : str, callable or None, default=None
        What is best, as in :class:`sklearn.model_selection.GridSearchCV`; a callable is
        called with kernel matrices for X. None is the accuracy; for probabilities,
        ``"neg_log_loss"`` is better.
    {class_parameters}
    verbose : int, default=0
        Whether to print progress: 1 for a line at the end of each stage, and the mean
        score of each value; 2 for every fold.

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
    KernelDiscriminantAnalysis : With a given or an automatic regularisation, and with
        landmarks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom import KernelDiscriminantAnalysisCV
    >>> X, y = load_iris(return_X_y=True)
    >>> kda = KernelDiscriminantAnalysisCV().fit(X, y)
    >>> bool(kda.best_score_ > 0.95)
    True
    """

    _parameter_constraints = {
        **BaseKernelDiscriminant._parameter_constraints,
        "regularizations": [Integral, "array-like"],
        "cv": ["cv_object"],
        "scoring": [None, StrOptions(set(get_scorer_names())), callable],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        regularizations=20,
        penalty="kernel",
        criterion="between",
        center=True,
        cv=None,
        scoring=None,
        temperature="auto",
        priors=None,
        class_weight=None,
        verbose=0,
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
        self.temperature = temperature
        self.priors = priors
        self.class_weight = class_weight
        self.verbose = verbose

    @estimator_method
    def fit(self, X, y, groups=None, sample_weight=None):
        """Choose the regularisation, and learn the discriminant functions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples; for a precomputed kernel, their kernel matrix. Not modified.
            They may be sparse for the kernels "linear", "poly", "rbf", "sigmoid" and
            "cosine".
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.
        groups : array-like of shape (n_samples,) or None, default=None
            Groups of samples that the splits of ``cv`` keep together, such as the
            recordings of one person for :class:`~sklearn.model_selection.GroupKFold`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples, in training and in the scores; None is one for each.
            A ``scoring`` that is a plain function gets none.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            As :meth:`KernelDiscriminantAnalysis.fit`, or if a value to try is not
            positive and finite, if there are no splits, if a training part of them
            lacks a class, if the weights of a test part are all zero, or if no value
            has a score.

        Warns
        -----
        UserWarning
            If there are more than 10,000 samples, which take long; if the best of given
            values is the smallest or the largest, so that there may be better ones
            beyond; or if scores of some values are NaN, which are then not chosen.
        """
        refuse_dask(self, X, "Fit KernelDiscriminantAnalysis(solver='nystroem')")
        X, codes = self._validate(X, y)
        n_samples = len(codes)
        _warn_if_many(n_samples)
        weights, copies, largest_weight = relative_weights(sample_weight, n_samples)
        self._prepare_kernel(X, None if sample_weight is None else weights)
        self.regularizations_ = self._values()
        self.X_fit_ = None
        rounding = precision(X)
        if self.kernel != "precomputed":
            self.X_fit_ = X = in_double(X, copy=True)
            rounding = precision(X)
        kernel = self._kernel_matrix(X)
        warn_if_alone(kernel, self.kernel)
        _, _, self.priors_ = self._weigh(codes, weights)
        splits = self._splits(X, codes, groups, weights)
        progress = current_progress()
        progress.start(X, self.classes_[codes])

        def told(stage, results, said):
            progress.stage(stage, len(splits))
            for result in results:
                progress.step(stage, said(result), name="fold")
                yield result

        with one_blas_thread(n_samples <= _SMALL):
            paths = (
                self._fit_path(kernel, codes, weights, rounding, train)
                for train, _ in splits
            )
            paths = list(told("fits", paths, lambda path: f"{len(path[0])} samples"))
            tests = [test for _, test in splits]
            calibrations = self._calibrate_paths(
                kernel, codes, weights, copies, tests, paths
            )
            weigh_scores = sample_weight is not None and _takes_weights(self.scoring)
            scored = weights if weigh_scores else None
            scores = (
                self._score_path(kernel, codes, scored, test, path)
                for test, path in zip(tests, paths, strict=True)
            )
            scores = list(told("scores", scores, lambda of: f"best {np.max(of):.6f}"))
            self._choose(np.transpose(scores))
            progress.stage("all samples")
            problem, _ = self._problem(kernel, codes, rounding, weights)
            with explain_singular(self.regularization_, rounding):
                found = problem.solve_cholesky(self.regularization_, *self._settings)
        self._set_discriminants(found, float(weights.sum()) * largest_weight)
        chosen = self.regularizations_.tolist().index(self.regularization_)
        move_attributes(self, X)
        if calibrations:
            self._set_calibration(*calibrations[chosen])
        return self

    def _values(self):
        if isinstance(self.regularizations, Integral):
            if self.regularizations < 2:
                raise ValueError(
                    "regularizations must be a number of at least 2 values, or a list "
                    f"of them, got {self.regularizations}; a single value is given as "
                    "[1.0]."
                )
            return candidate_regularizations(self.penalty, self.regularizations)
        values = check_array(
            on_host(self.regularizations),
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

    def _splits(self, X, codes, groups, weights):
        """Training parts that have all classes, and test parts, as indices.

        Samples of weight zero are in neither.
        """
        splits = find_splits(self.cv, X, self.classes_[codes], on_host(groups))
        splits = [[part[weights[part] > 0] for part in split] for split in splits]
        if not splits:
            raise ValueError("cv has no splits; give one at least, or their number.")
        for k, (train, test) in enumerate(splits):
            if not len(test):
                raise ValueError(f"The test part of split {k} of cv has no samples.")
            missing = np.setdiff1d(codes, codes[train])
            if len(missing):
                label = self._label_repr(missing[0])
                raise ValueError(
                    f"The class {label} has no sample in a training part; give it more "
                    "samples, or use fewer or other splits."
                )
        return splits

    def _choose(self, scores):
        """Choose the best value by the scores, (n_values, n_splits)."""
        values = self.regularizations_
        self.cv_results_ = score_table(values, scores)
        means = self.cv_results_["mean_test_score"]
        progress = current_progress()
        progress.end_stage()
        for value, mean in zip(values, means, strict=True):
            progress.print(f"regularization {value:.6g}: mean score {mean:.6f}")
        # Beyond the automatic values, penalties are rounding, or all there is.
        given = not isinstance(self.regularizations, Integral)
        best = best_values(values, scores, name="value", warn=given)
        missing = np.isnan(means)
        if missing.any():
            warn_user(
                f"{missing.sum()} of {len(values)} values of regularizations have a "
                "score that is NaN, and are not chosen.",
                UserWarning,
            )
        self.best_score_ = float(means[best[0]])
        self.regularization_ = float(values[best].max())

    def _fit_path(self, kernel, codes, weights, precision, train):
        """Models of all values for a training part, with one tridiagonal form.

        Returns them, and the samples that they are fitted to: some of a large part.
        """
        kept, values, of_kept = train, self.regularizations_, weights[train]
        if len(train) > _MAX_PATH:
            kept = spread_over_classes(codes, train, _MAX_PATH)
            # They stand for all, of which the small classes are a smaller share.
            shares = np.bincount(codes[train], weights[train])
            shares /= np.bincount(codes[kept], weights[kept])
            of_kept = shares[codes[kept]] * weights[kept]
            ratio = float(weights[train].sum() / weights[kept].sum())
            values = rescaled_to(values, self.penalty, ratio)
        part = kernel_on_host(block(kernel, kept, kept))
        problem, priors = self._problem(part, codes[kept], precision, of_kept)
        return kept, [
            KernelDiscriminantAnalysis(
                self.n_components,
                kernel="precomputed",
                penalty=self.penalty,
                temperature=self.temperature,
            )._with_discriminants(found, self.classes_, priors, len(kept))
            for found in problem.solve_path(values, *self._settings)
        ]

    def _calibrate_paths(self, kernel, codes, weights, copies, tests, paths):
        """Calibrate the models of each value by all test parts together.

        Returns the calibrations of the values, or an empty list with a given
        temperature.
        """
        if self.temperature != "auto":
            return []
        left_out = [[] for _ in self.regularizations_]
        for test, (columns, path) in zip(tests, paths, strict=True):
            K = kernel_on_host(block(kernel, test, columns))
            for products, model in zip(left_out, path, strict=True):
                means, center = model.means_, model._center
                products.append(products_and_squares(model._project(K), means, center))
        tested = np.concatenate(tests)
        # What `calibrate` needs besides.
        others = codes[tested], weights[tested], copies[tested], self.priors_
        sizes = np.bincount(codes, weights)
        calibrations = []
        for parts in left_out:
            products, squares = map(np.concatenate, zip(*parts, strict=True))
            calibrations.append(calibrate(products, squares, *others, sizes))
        for _, path in paths:
            for model, calibration in zip(path, calibrations, strict=True):
                model._set_calibration(*calibration)
        return calibrations

    def _score_path(self, kernel, codes, weights, test, path):
        """Scores of the models of all values on a test part; None is no weights."""
        columns, models = path
        X_test = kernel_on_host(block(kernel, test, columns))
        y_test = self.classes_[codes[test]]
        scorer = check_scoring(self, scoring=self.scoring)
        weighted = {} if weights is None else {"sample_weight": weights[test]}
        return [
            check_score(scorer(model, X_test, y_test, **weighted)) for model in models
        ]

    def _problem(self, kernel, codes, precision, sample_weight):
        """The problem of a kernel matrix, which is overwritten, and the priors."""
        weights, class_weights, priors = self._weigh(codes, sample_weight)
        kind = KernelProblem if namespace(kernel) is np else DeviceKernelProblem
        problem = kind(
            kernel,
            codes,
            weights,
            class_weights,
            identity=self.penalty == "identity",
            center=self.center,
            definite=self._definite,
            precision=precision,
        )
        return problem, priors

    @property
    def _settings(self):
        """Criterion and number of components."""
        return self.criterion, self._n_wanted


def _takes_weights(scoring):
    """Whether a scorer takes weights of samples: one of scikit-learn does."""
    return not callable(scoring) or hasattr(scoring, "_score_func")


def _warn_if_many(n_samples):
    if n_samples > MAX_EXACT:
        gigabytes = 2 * 8e-9 * n_samples**2  # the kernel matrix, and one as large
        warn_user(
            f"The solution is exact: with {n_samples:,} samples it takes up to "
            f"{gigabytes:.1f} GB, and eight times as long for twice as many. For "
            "landmarks, use KernelDiscriminantAnalysis(solver='nystroem').",
            UserWarning,
        )
