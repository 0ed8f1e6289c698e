"""Kernel discriminant analysis."""

from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import (
    assert_all_finite,
    check_consistent_length,
    check_random_state,
    column_or_1d,
    gen_batches,
)
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._kernel._held_out_errors import (
    calibrate,
    classes_remain,
    fewest_parameters,
    held_out_components,
    spread_over_classes,
    whole_groups,
)
from skgeom._kernel._kernels import (
    accepts_sparse,
    check_definite,
    make_kernel,
    warn_if_nearly_diagonal,
)
from skgeom._kernel._nystroem import (
    LandmarkFeatures,
    LandmarkSystem,
    kmeans_landmarks,
    n_landmarks_of,
    random_landmarks,
)
from skgeom._kernel._system import (
    ALL_MEANS_EQUAL,
    LIGHT,
    KernelSystem,
    check_finite_kernel,
    explain_singular,
)
from skgeom._kernel._training_data import (
    BlockedRows,
    RowSummary,
    TrainingData,
    distinct_rows,
    gamma_scale,
)
from skgeom.utils._dask import check_not_dask, empty_block
from skgeom.utils._mixins import PosteriorClassifierMixin
from skgeom.utils.array_api import (
    ARRAY_API,
    astype,
    block,
    check_library,
    dtype_name,
    float_dtypes,
    in_double,
    is_dask,
    like,
    move_attributes,
    namespace,
    on_cpu,
    precision,
    take,
    to_numpy,
)
from skgeom.utils.estimator import (
    BaseEstimator,
    estimator_method,
    naming,
    validate_data,
)
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import (
    check_priors,
    check_sample_weight,
    check_two_classes,
    checked_labels,
    class_factors,
    require_memory,
    warn_user,
)

# Up to this number of samples, "auto" solves exactly: a matrix of 800 MB, and three
# times the time of landmarks (`bench_kernel_discriminant.py small mnist`).
MAX_EXACT = 10_000
# Held-out samples of the calibration, and samples of the selection of gamma and
# regularization: with more, they would take longer than the fit of 2,000 samples
# (`bench_kernel_discriminant.py sizes`).
_MAX_HELD_OUT = 1000
_MAX_SELECTION = 500
# Candidates of regularization, and of gamma relative to "scale", each of which halves
# the width of the kernel: `bench_kernel_discriminant.py auto` compares the accuracy
# with that of the best value of a grid.
_REGULARIZATIONS = np.logspace(-8, 0, 25)
_GAMMA_FACTORS = 4.0 ** np.arange(-3, 3)


class KernelDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    PosteriorClassifierMixin,
    BaseEstimator,
):
    r"""Kernel discriminant analysis, exact or with landmarks.

    The estimator computes discriminant functions
    :math:`f(x) = \sum_i \alpha_i k(x, x_i)` with a large variance between the classes
    and a small variance within the classes. With the kernel matrix K, its rows
    :math:`K^{(y)}` of class y, and centering matrices C, the coefficients of the
    functions successively maximize

    .. math::

       \frac{\alpha^\top S_b \alpha}{\alpha^\top (S_w + \lambda R) \alpha}, \quad
       S_b = S_t - S_w, \quad S_t = K^\top C_n K, \quad
       S_w = \sum_y (K^{(y)})^\top C_{n_y} K^{(y)},

    or the ratio with :math:`S_t` in place of :math:`S_b` (equation 13 of an unpublished
    note; see also [1]_ and [2]_). The functions are the components of
    :meth:`transform`. ``predict`` compares the components of a sample with the class
    means of the components, as in linear discriminant analysis (LDA). By default, the
    leave-one-out error selects the width of the kernel and the penalty
    :math:`\lambda`, and held-out samples calibrate the probabilities, see Notes.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, at most ``n_classes - 1``. None keeps all components. The
        classifier uses these components only. To plot two of them, keep all components
        and use the leading columns of :meth:`transform`.
    kernel : str or callable, default="rbf"
        A name of :func:`sklearn.metrics.pairwise.pairwise_kernels`, or a symmetric
        function of two matrices of samples that returns their kernel matrix, as in
        :class:`sklearn.svm.SVC`, or ``"precomputed"``. For ``"precomputed"``, X is the
        kernel matrix of the training samples, (n_samples, n_samples), and for
        prediction the kernel matrix between the new samples and the training samples.
    gamma : float, "auto", "scale" or None, default="auto"
        Coefficient of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
        ``"scale"`` is one over the sum of the variances of the features. ``"auto"``
        selects ``"scale"`` times 1/64, 1/16, 1/4, 1, 4 or 16, together with
        ``regularization``; with ``regularization=0``, it is ``"scale"``. None is the
        kernel's own default, ``1 / n_features`` or, for "chi2", 1.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : dict or None, default=None
        Arguments of a callable kernel, in addition to the two matrices.
    regularization : float or "auto", default="auto"
        :math:`\lambda` divided by the trace of :math:`S_t` in coordinates in which R is
        the identity. The value is therefore comparable across data and scales of the
        kernel. With the centered kernel matrix K, :math:`\lambda` is
        ``regularization`` times
        :math:`\operatorname{tr} K` for ``penalty="kernel"``, and times
        :math:`\|K\|_F^2` for ``"identity"``; see ``lambda_``. ``"auto"`` selects one of
        25 values between 1e-8 and 1 (1e-12 and 1 for the identity) by the squared
        leave-one-out errors of kernel ridge regression onto the classes: among all
        candidates of ``gamma`` and ``regularization`` within one standard error or 1 %
        of the smallest error, it selects the candidate with the fewest effective
        parameters. The errors are computed on at most about 500 samples, or two of each
        class if there are more than 250 classes. Zero requires ``solver="eigen"`` and a
        nonsingular :math:`S_w`. The largest value is 6.7e7, for which the scatter is
        negligible; a larger value would only scale the components.
    penalty : {"identity", "kernel"}, default="kernel"
        The matrix R: K, or the identity, which allows kernels that are not positive
        semidefinite.
    criterion : {"total", "between"}, default="between"
        The numerator of the ratio: :math:`S_t` of equation 13, or :math:`S_b`. The
        criteria are equivalent for ``regularization=0`` only (see the user guide). With
        "total", the components are uncorrelated on the training samples.
    solver : {"auto", "eigen", "cholesky", "nystroem"}, default="auto"
        ``"eigen"`` solves the dense eigenproblem. ``"cholesky"`` computes the same
        components with one Cholesky factor. ``"nystroem"`` approximates the kernel with
        landmarks, for many samples. ``"auto"`` is ``"cholesky"`` for up to 10,000
        distinct samples (``"eigen"`` if ``regularization`` is zero), and ``"nystroem"``
        for more samples, for which the exact solution is several times as slow; see
        ``solver_``.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks for solver "nystroem". ``"auto"`` is 200 times the fourth
        root of the number of distinct samples: 2,000 landmarks for 10,000 samples. The
        number is at most the number of samples. Landmarks are cluster centers in each
        class, at least one per class. For a precomputed kernel and for sparse samples,
        whose cluster centers would be dense, landmarks are random samples.
    temperature : float or "auto", default="auto"
        The divisor of the scores, see Notes. With ``"auto"``, held-out samples
        determine the temperature and the class means used in predictions. With a
        number, predictions use the class means of training: 1 returns the probabilities
        of LDA in the feature space, which are overconfident if the penalty is small.
    priors : None, {"empirical", "uniform"} or array-like, default=None
        Class probabilities, of shape (n_classes,), which weight the classes in training
        and prediction. ``"empirical"`` uses the class proportions with
        ``sample_weight``, and None the proportions with ``sample_weight`` and
        ``class_weight``. Use ``"uniform"`` if rare classes are as important as frequent
        classes.
    class_weight : None, "balanced" or dict, default=None
        Factors of the weights of the samples in training, by class label; 1 for labels
        that are missing in a dict. With ``"balanced"``, all classes have the same
        weight. Unless ``priors`` are given, the factors also change the class
        probabilities in predictions, as sample weights do.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of landmarks.
    verbose : int, default=0
        If positive, ``fit`` prints one line with the selected values.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        The class probabilities.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratios of the components, in descending order.
    dual_coef_ : ndarray of shape (n_fit, n_components)
        Coefficients of the kernels with the samples in ``X_fit_``, or with all training
        samples for a precomputed kernel: the transpose of C_n A^T in equation 14.
    offset_ : ndarray of shape (n_components,)
        Offsets that are subtracted from the components to center them.
    means_ : ndarray of shape (n_classes, n_components)
        The class means of the components.
    decision_means_ : ndarray of shape (n_classes, n_components)
        The class means used in predictions: ``means_``, shrunk towards the center as
        the components of held-out samples are; or ``means_`` if ``temperature`` is a
        number.
    temperature_ : float
        The divisor of the scores, T in Notes.
    regularization_ : float
        The value of ``regularization`` that was used.
    selection_results_ : dict or None
        The candidates of the selection, one entry each: ``"gamma"`` (None if the kernel
        has no ``gamma``), ``"regularization"``, ``"error"``, the weighted sum of
        squared leave-one-out errors, and ``"n_parameters"``, the effective parameters.
        None if both parameters are given as numbers.
    lambda_ : float
        The factor :math:`\lambda` of equation 13, in which the scatter matrices are
        sums over the samples.
    gamma_ : float or None
        The value of ``gamma`` that was used; None if the kernel has no ``gamma``, or
        uses its own default.
    solver_ : str
        The solver that was used: "nystroem" if there are landmarks.
    n_landmarks_ : int or None
        The number of linearly independent landmarks; None for an exact solution.
    X_fit_ : ndarray of shape (n_fit, n_features) or None
        The distinct training samples of positive weight, or the landmarks; None for a
        precomputed kernel.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Discriminant analysis
        with a linear kernel.
    LandmarkKernelPCA : Kernel principal components, for nonlinear filters.

    Notes
    -----
    Components are scaled such that the denominator of the ratio, in terms of
    covariances, is one: without regularization their within-class variance is one, as
    in scikit-learn's LDA. ``eigenvalues_`` contains the variances of the class means of
    the components (with "total", the variances of the components). The sign of each
    component is chosen so that the class mean of largest magnitude (the last one if
    several are equal) is positive.

    Sample weights are frequency weights: equal samples are treated as one sample with
    the sum of their weights, which is held out as a whole. The result does not depend
    on the order of the samples or on a common factor of the weights.

    With the components z of a sample, the means :math:`m_k` in ``decision_means_``, the
    temperature T and the priors :math:`\pi_k`, the logarithms of the class posteriors
    are, up to a common term,

    .. math:: (z^\top m_k - \|m_k\|^2 / 2 + \log \pi_k) / T .

    The temperature does not change the predicted classes.

    For the kernels "rbf" and "linear", the means of the features are subtracted from
    dense samples, so samples far from zero do not lose digits.

    A kernel with negative eigenvalues raises an error, except for
    ``penalty="identity"`` with an exact solver, for which the scatter matrices are
    semidefinite nevertheless.

    References
    ----------
    .. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf and K.-R. Müller, "Fisher
       discriminant analysis with kernels", Neural Networks for Signal Processing IX,
       1999.
    .. [2] G. Baudat and F. Anouar, "Generalized discriminant analysis using a kernel
       approach", Neural Computation 12(10), 2000.

    Examples
    --------
    Two concentric rings, which are not linearly separable:

    >>> from sklearn.datasets import make_circles
    >>> from skgeom import KernelDiscriminantAnalysis
    >>> X, y = make_circles(200, factor=0.5, noise=0.05, random_state=0)
    >>> kda = KernelDiscriminantAnalysis().fit(X, y)
    >>> kda.transform(X).shape
    (200, 1)
    >>> kda.score(X, y)
    1.0
    """

    _fitted_array = "dual_coef_"
    _parameter_constraints = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "kernel": [
            StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}),
            callable,
        ],
        "gamma": [
            None,
            StrOptions({"auto", "scale"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [None, dict],
        "regularization": [
            StrOptions({"auto"}),
            Interval(Real, 0, 1 / LIGHT, closed="both"),
        ],
        "penalty": [StrOptions({"identity", "kernel"})],
        "criterion": [StrOptions({"total", "between"})],
        "solver": [StrOptions({"auto", "eigen", "cholesky", "nystroem"})],
        "n_landmarks": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
        ],
        "temperature": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "priors": [None, StrOptions({"empirical", "uniform"}), "array-like"],
        "class_weight": [None, StrOptions({"balanced"}), dict],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        gamma="auto",
        degree=3,
        coef0=1,
        kernel_params=None,
        regularization="auto",
        penalty="kernel",
        criterion="between",
        solver="auto",
        n_landmarks="auto",
        temperature="auto",
        priors=None,
        class_weight=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.regularization = regularization
        self.penalty = penalty
        self.criterion = criterion
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.temperature = temperature
        self.priors = priors
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    @estimator_method
    def fit(self, X, y, sample_weight=None, groups=None):
        """Learn the discriminant functions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples; for a precomputed kernel, their kernel matrix. Not modified.
            Samples may be sparse for the kernels "linear", "poly", "rbf", "sigmoid" and
            "cosine". With landmarks, X may be a Dask array or data frame, which is read
            four times, block by block. If ``"auto"`` selects an exact solver, the Dask
            data are read into memory.
        y : array-like of shape (n_samples,)
            Class labels of the samples, of at least two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; None weights all samples equally.
        groups : array-like of shape (n_samples,) or None, default=None
            Groups of samples that are held out together, for the selection of
            parameters and the calibration, such as the recordings of one subject. With
            None, each set of equal samples is one group.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X, y or groups are malformed, if there is only one class or group, if
            parameters are selected and each group contains all samples of a class, if
            ``n_components`` exceeds the number of components, if the kernel is not
            symmetric, finite or positive semidefinite, if all samples, or all class
            means, are equal in the feature space of the kernel, or if the regularized
            within-class matrix is singular.
        MemoryError
            If the kernel matrix does not fit into memory.
        TypeError
            If X is a Dask array or frame, and ``solver`` is exact; if X is sparse, and
            the kernel does not accept sparse samples.

        Warns
        -----
        UserWarning
            If the selected ``gamma`` is the largest candidate, or ``regularization``
            the smallest or largest candidate, or if the kernel matrix is nearly
            diagonal and ``gamma`` is not selected.
        """
        # Validate.
        X, codes, sample_weight, summary = self._validate(X, y, sample_weight)
        kernel = make_kernel(self, X, summary.center)
        data = self._training_data(X, codes, sample_weight, groups, summary)
        self.solver_ = self._chosen_solver(len(data.codes))
        n_components = self.n_components or len(self.classes_) - 1
        calibrated = self.temperature == "auto"

        # Threads of BLAS would wait for each other longer than small matrices take.
        with one_blas_thread(len(data.codes) <= _MAX_HELD_OUT):
            # Select.
            kernel, self.regularization_ = self._select(kernel, data, summary)

            # Solve.
            system, points = self._system(kernel, data)
            solve = getattr(system, f"solve_{self.solver_}")
            with explain_singular(self.regularization_):
                found = solve(self.regularization_, self.criterion, n_components)
            if calibrated:
                complement = system.complement(self.regularization_, data.n_held_out)

        # Store and calibrate.
        self._set_discriminants(kernel, found, points, data)
        move_attributes(self, X)
        if calibrated:
            self._calibrate(data, points, complement, found)
        if kernel.precomputed:
            self._set_all_coefficients(data, points)
        if self.verbose:
            names = "gamma", "regularization", "solver", "n_landmarks", "temperature"
            values = (f"{name}={getattr(self, f'{name}_')}" for name in names)
            print(f"[{type(self).__name__}] {', '.join(values)}")
        return self

    def _validate(self, X, y, sample_weight):
        """Valid X, class numbers, weights and a summary of rows; sets the classes."""
        if is_dask(X):
            if self.kernel == "precomputed" or self.solver in ("eigen", "cholesky"):
                remedy = "Use solver='nystroem' with samples, not a precomputed kernel"
                check_not_dask(self, X, remedy)
            empty = validate_data(
                self,
                empty_block(X),
                dtype=[np.float64, np.float32],
                ensure_min_samples=0,
            )
            X = BlockedRows(X, y, sample_weight, empty.dtype)
            codes, weights, summary = self._encode(X.y), X.sample_weight, X.summary
            if self._chosen_solver(len(codes)) != "nystroem":
                X = X[np.arange(len(codes))]  # which the exact solver needs in memory
            return X, codes, weights, summary
        check_library(X, self)
        X = validate_data(self, X, **self._accepted(X))
        codes = self._encode(checked_labels(y, X))
        weights = np.ones(len(codes))
        if sample_weight is not None:
            weights = check_sample_weight(
                on_cpu(sample_weight),
                weights,
                dtype=np.float64,
                ensure_non_negative=True,
            )
        relative = weights / (weights.max() or 1.0)
        return X, codes, weights, RowSummary.of(on_cpu(X), relative)

    def _accepted(self, X):
        """Types of X that the validation accepts."""
        sparse = "csr" if accepts_sparse(self.kernel) else False
        return {"dtype": float_dtypes(X), "accept_sparse": sparse}

    def _encode(self, y):
        """Class numbers of valid labels; sets the classes."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        check_two_classes(self.classes_, type(self).__name__)
        if self.n_components is not None and self.n_components > n_classes - 1:
            raise ValueError(
                f"n_components={self.n_components} exceeds n_classes - 1 = "
                f"{n_classes - 1}, the number of discriminants of {n_classes} classes. "
                f"Use at most {n_classes - 1}."
            )
        return codes

    def _training_data(self, X, codes, sample_weight, groups, summary):
        """Distinct samples of positive weight; sets the priors.

        Held-out samples come last, as a Cholesky factor needs them.
        """
        if groups is not None:
            groups = _check_groups(groups, codes)
        largest = float(sample_weight.max()) or 1.0
        rows, relative, groups = distinct_rows(
            summary, codes, sample_weight / largest, groups
        )
        codes = codes[rows]
        weights, class_weights, self.priors_ = self._weigh(codes, relative)
        selection = spread_over_classes(codes, _MAX_SELECTION)
        held_out = spread_over_classes(codes, _MAX_HELD_OUT)
        held_out = whole_groups(held_out, codes, groups)
        order = np.delete(np.arange(len(rows)), held_out)
        order = np.concatenate([order, held_out])
        selection = np.flatnonzero(np.isin(order, selection))
        rows = rows[order]
        if isinstance(X, BlockedRows):
            X = X.select(rows)
            X.cache(np.union1d(selection, np.arange(len(rows))[-len(held_out) :]))
        else:
            pairs = self.kernel == "precomputed"
            X = block(X, rows, rows) if pairs else take(X, rows)
        return TrainingData(
            X,
            codes[order],
            groups[order],
            relative[order],
            weights[order],
            class_weights,
            rows=rows,
            selection=selection,
            n_held_out=len(held_out),
            total_weight=float(relative.sum()) * largest,
        )

    def _weigh(self, codes, sample_weight):
        """Training weights of sum one, of samples and classes; and the priors.

        The weights of the classes are the priors times ``class_weight``; the weights of
        the samples add up to them.
        """
        sums = np.bincount(codes, sample_weight, minlength=len(self.classes_))
        if not sums.all():
            label = repr(self.classes_.tolist()[sums.argmin()])
            raise ValueError(
                f"The class {label} of y has no sample of positive weight: remove it, "
                "or change its sample_weight."
            )
        priors = check_priors(self.priors, sums)
        if self.class_weight == "balanced":
            class_weights = np.full(len(priors), 1 / len(priors))
        else:
            factors = class_factors(self.class_weight, self.classes_)
            class_weights = priors * (factors / factors.max())
            class_weights = class_weights / class_weights.sum()
        # Without priors, a class of twice the weight is one of twice the samples.
        priors = class_weights if self.priors is None else priors
        return sample_weight * (class_weights / sums)[codes], class_weights, priors

    def _chosen_solver(self, n_samples):
        solver = self.solver
        if solver == "auto":
            solver = "cholesky" if self.regularization else "eigen"
            solver = solver if n_samples <= MAX_EXACT else "nystroem"
        if solver != "eigen" and not self.regularization:
            raise ValueError(
                f"regularization must be positive with solver={solver!r}; use "
                "solver='eigen' for regularization=0."
            )
        return solver

    def _selects_gamma(self, kernel):
        """Whether gamma is selected: for zero regularization, it is "scale"."""
        return kernel.uses_gamma and self.gamma == "auto" and self.regularization != 0

    def _select(self, kernel, data, summary):
        """The kernel with its gamma, and the regularization."""
        rows, self.selection_results_ = data.selection, None
        gammas = [self.gamma]
        if kernel.uses_gamma and isinstance(self.gamma, str):
            factors = _GAMMA_FACTORS if self._selects_gamma(kernel) else np.ones(1)
            gammas = (factors * gamma_scale(summary)).tolist()
        # The same lambda of equation 13 for all samples as for the selected ones: it
        # stands for the variance of the noise of ridge regression, which does not grow
        # with the number of samples. But the trace of K does, and the squared norm of K
        # with its square.
        power = 2 if self.penalty == "identity" else 1
        ratio = data.sample_weight[rows].sum() / data.sample_weight.sum()
        ratio = float(ratio) ** power
        values = np.array([self.regularization])
        if self.regularization == "auto":
            # For the identity, the squares of the eigenvalues of K count.
            exponent = 1.5 if self.penalty == "identity" else 1
            values = ratio * _REGULARIZATIONS**exponent
            if self.solver_ == "nystroem":
                values = np.maximum(values, precision(data.X))
        kernels = [kernel.with_gamma(gamma) for gamma in gammas]
        if len(kernels) == len(values) == 1:
            return kernels[0], float(values[0])
        part, errors, n_parameters = data.part(rows, kernel.precomputed), [], []
        with one_blas_thread():
            for each in kernels:
                system = self._kernel_system(each, part, as_numpy=True)
                of_kernel = system.held_out_errors(values / ratio, part.groups)
                errors.extend(of_kernel[0])
                n_parameters.extend(of_kernel[1])
        errors = np.array(errors)[:, _comparable_groups(part)]
        best = fewest_parameters(errors, np.array(n_parameters))
        i, j = divmod(best, len(values))
        self.selection_results_ = {
            "gamma": np.repeat(gammas, len(values)) if kernel.uses_gamma else None,
            "regularization": np.tile(values, len(kernels)),
            "error": errors.sum(axis=1),
            "n_parameters": np.array(n_parameters),
        }
        # With the smallest gamma, the kernel is nearly linear, as with smaller ones.
        _warn_of_ends("gamma", gammas, i, len(gammas) - 1)
        _warn_of_ends("regularization", values, j, 0, len(values) - 1)
        return kernels[i], float(values[j])

    def _system(self, kernel, data):
        """The system of equations, and the samples of its kernels, or their numbers."""
        if self.solver_ == "nystroem":
            system, points = self._landmark_system(kernel, data)
            self.n_landmarks_ = points.shape[0]
            return system, points
        self.n_landmarks_ = None
        as_numpy, warn = self.solver_ == "eigen", not self._selects_gamma(kernel)
        system = self._kernel_system(kernel, data, as_numpy, warn)
        return system, None if kernel.precomputed else in_double(data.X)

    def _kernel_system(self, kernel, data, as_numpy=False, warn=False):
        """The kernel system of samples, optionally in CPU memory."""
        n_samples = data.X.shape[0]
        require_memory(
            16 * n_samples**2,  # the matrix and its factors
            f"The kernel matrix of {n_samples} samples and its factors",
            'Use solver="nystroem".',
        )
        matrix = in_double(kernel(in_double(data.X)), copy=callable(kernel.function))
        if kernel.precomputed:
            # Rounding may leave two entries that are not equal. LAPACK reads one of
            # them, and which one depends on the solver.
            matrix = matrix + matrix.T
            matrix /= 2
        if warn:
            warn_if_nearly_diagonal(matrix, kernel)
        if as_numpy or namespace(matrix) is np:
            matrix = np.require(to_numpy(matrix), np.float64, ["C", "W"])
        return KernelSystem(
            matrix,
            data,
            identity=self.penalty == "identity",
            definite=kernel.definite,
            precision=precision(data.X),
            # The calibration needs a factor. Without it, an iteration takes half of the
            # time (`bench_kernel_discriminant.py solvers`).
            iterate=self.temperature != "auto" and n_samples > _MAX_HELD_OUT,
        )

    def _landmark_system(self, kernel, data):
        """The system of landmarks, and the landmarks (or indices if precomputed)."""
        X, n_samples = data.X, len(data.codes)
        n_landmarks = n_landmarks_of(self.n_landmarks, n_samples)
        random_state = check_random_state(self.random_state)
        if kernel.precomputed or issparse(X) or n_landmarks == n_samples:
            points = random_landmarks(n_landmarks, n_samples, random_state)
            points = points if kernel.precomputed else take(X, points)
        else:
            settings = data.codes, data.weights, random_state
            points = kmeans_landmarks(n_landmarks, X, *settings)
        own = take(X, points) if kernel.precomputed else in_double(points)
        matrix = kernel(own, points if kernel.precomputed else None)
        if not self._selects_gamma(kernel):
            warn_if_nearly_diagonal(matrix, kernel)
        if not kernel.definite:
            name = "The kernel matrix of the landmarks, of solver='nystroem',"
            rounding = precision(matrix) * n_landmarks * check_finite_kernel(matrix)
            check_definite(matrix, name, rounding)
        features = LandmarkFeatures(
            matrix, lambda X, kept: kernel(X, take(points, kept)), dtype_name(X)
        )
        system = LandmarkSystem(features, data, identity=self.penalty == "identity")
        return system, take(points, features.kept)

    def _set_discriminants(self, kernel, found, points, data):
        """Set the fitted attributes of the kernel and the discriminant functions."""
        n_found = len(found.eigenvalues)
        if not n_found:
            raise ValueError(ALL_MEANS_EQUAL)
        if self.n_components is not None and n_found < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} exceeds the number {n_found} of "
                "components with a ratio above zero in the feature space of this "
                f"kernel. Use at most {n_found}, or n_components=None."
            )
        self._kernel = kernel
        self.gamma_ = kernel.parameters.get("gamma") if kernel.uses_gamma else None
        self.X_fit_ = None if kernel.precomputed else points
        self.eigenvalues_ = found.eigenvalues
        self.dual_coef_ = found.coefficients
        self.offset_, self.means_ = found.offset, found.means
        # Weights of samples sum to one in the solvers and are one each in equation 13,
        # so that its scatter matrices are n_samples times as large. For R = I, another
        # n_samples is due to the coefficients, which are divided by the root of it.
        power = 2 if self.penalty == "identity" else 1
        self.lambda_ = float(found.penalty) * data.total_weight**power
        self.decision_means_ = self.means_
        self.temperature_ = 1.0 if self.temperature == "auto" else self.temperature

    def _calibrate(self, data, points, complement, found):
        """Set temperature and decision means by held-out samples."""
        held_out = np.arange(len(data.codes))[-data.n_held_out :]
        columns = data.codes, data.groups, data.weights
        codes, groups, weights = (column[held_out] for column in columns)
        components = to_numpy(self._project(take(data.X, held_out), points))
        predicted = held_out_components(
            components, (codes, groups, weights), complement, found, self.criterion
        )
        kept = classes_remain(codes, groups, weights, data.class_weights)
        if not kept.any():
            return
        means, self.temperature_ = calibrate(
            components[kept],
            predicted[kept],
            codes[kept],
            data.sample_weight[held_out][kept],
            found.means,
            to_numpy(self.priors_),
        )
        self.decision_means_ = like(means, self.means_)

    def _set_all_coefficients(self, data, points):
        """Set coefficients of all columns of a precomputed kernel."""
        used = data.rows if points is None else data.rows[points]
        coefficients = np.zeros((self.n_features_in_, self.dual_coef_.shape[1]))
        coefficients[used] = to_numpy(self.dual_coef_)
        self.dual_coef_ = like(coefficients, self.dual_coef_)

    @estimator_method
    def transform(self, X):
        """Compute the discriminant components of samples, equation 14.

        Kernels are computed in blocks of rows, so the additional memory does not grow
        with the number of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples; for a precomputed kernel, their kernel matrix with the training
            samples.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            The components.
        """
        return self._components(X)

    def _components(self, X):
        """The components as an array, also if ``transform`` returns a data frame."""
        if self._kernel.precomputed and np.ndim(X) == 2:
            n_columns, n_samples = np.shape(X)[1], self.n_features_in_
            if n_columns != n_samples:
                raise ValueError(
                    f"X has {n_columns} columns, but for kernel='precomputed' it must "
                    f"be the kernel matrix of samples and the {n_samples} training "
                    f"samples, of shape (n_samples, {n_samples})."
                )
        X = validate_data(self, X, **self._accepted(X), reset=False)
        return self._project(X, self.X_fit_)

    def _project(self, X, points):
        """The components of valid samples, by their kernels with some points."""
        row_bytes = self.dual_coef_.shape[0] * np.dtype(np.float64).itemsize
        rows = max(int(get_config()["working_memory"] * 2**20 / row_bytes), 1)
        xp, dtype = namespace(X), self.dual_coef_.dtype
        parts = []
        for batch in gen_batches(X.shape[0], rows):
            samples = X[batch] if xp is np else X[batch, ...]
            kernel = astype(self._kernel(samples, points), dtype)
            components = kernel @ self.dual_coef_ - self.offset_
            parts.append(astype(components, X.dtype))
        return xp.concat(parts)

    def _joint_log_likelihood(self, X):
        """Logarithms of the posteriors, divided by the temperature, up to a term."""
        # As in LDA, with a within-class covariance of T times the identity: by the
        # scaling of the components, it is the identity in training, with the penalty.
        # |z|^2 is common to all classes.
        Z, means = self._components(X), self.decision_means_
        xp = namespace(Z)
        scores = astype(Z, means.dtype) @ means.T - xp.sum(means**2, axis=1) / 2
        return (scores + xp.log(self.priors_)) / self.temperature_

    @property
    def _needs_library(self):
        """Whether a function of the user expects samples of the library of X."""
        return callable(self.kernel)

    @property
    def _n_features_out(self):
        return self.dual_coef_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(self.kernel)
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in ("chi2", "additive_chi2")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = ARRAY_API
        return tags


def _warn_of_ends(name, candidates, selected, *ends):
    """Warn if a value is selected that is at an end of the candidates."""
    if len(candidates) > 1 and selected in ends:
        end = "largest" if selected else "smallest"
        warn_user(
            f"The selected {name}, {candidates[selected]:.3g}, is the {end} of "
            f"{len(candidates)} candidates: a better value may be outside. Scale the "
            f"features, for example with StandardScaler, or compare values of {name} "
            "by cross-validation, for example with GridSearchCV.",
            UserWarning,
        )


def _comparable_groups(part):
    """Which groups have a sample whose class remains in training without the group."""
    remain = classes_remain(part.codes, part.groups, part.weights, part.class_weights)
    compared = np.bincount(part.groups, ~remain) == 0
    if not compared.any():
        raise ValueError(
            "gamma and regularization cannot be selected by leave-one-out errors: "
            "each group contains all samples of a class, so no training sample of the "
            "class remains. Set both to numbers, or use more distinct samples, or "
            "groups that share classes."
        )
    return compared


def _check_groups(groups, codes):
    """Valid groups of samples, as an array."""
    groups = np.asarray(on_cpu(groups.compute() if is_dask(groups) else groups))
    with naming("groups"):
        groups = column_or_1d(groups)
        assert_all_finite(groups, input_name="groups")
        check_consistent_length(codes, groups)
        n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise ValueError(
            "groups has one group only, so no training samples remain without it. "
            "Use at least two groups, or groups=None."
        )
    return groups
