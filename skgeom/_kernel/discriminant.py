"""Kernel discriminant analysis."""

from dataclasses import replace
from numbers import Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot

from skgeom._held_out import merge_equal
from skgeom._kernel._held_out_errors import (
    calibrate,
    held_out_components,
    remaining_shares,
    spread_over_classes,
    uniform,
    whole_groups,
)
from skgeom._kernel._kernels import (
    accepts_sparse,
    check_definite,
    kernel_constraints,
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
    gamma_scale,
)
from skgeom._selection import (
    PRECISION,
    choose,
    label_noise,
    tempered_scores,
    warn_if_at_chance,
    warn_of_end,
)
from skgeom.utils._dask import empty_block
from skgeom.utils._mixins import PosteriorClassifierMixin, noisy_log_posteriors
from skgeom.utils.array_api import (
    astype,
    block,
    check_library,
    check_not_dask,
    float_dtype,
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
    current_progress,
    estimator_method,
    positive,
    validate_data,
)
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import (
    check_priors,
    check_sample_weight,
    check_two_classes,
    checked_groups,
    checked_labels,
    class_factors,
    require_memory,
    warn_if_outlier,
    warn_if_unscaled,
    weighted_classes,
)

# Up to this number of samples, solver="auto" uses an exact solver. At this number, the
# kernel matrix has 800 MB, and the exact solution takes three times the time of
# landmarks (`bench_kernel_discriminant.py small mnist`).
MAX_EXACT = 10_000
# Number of held-out samples of the calibration, and of samples of the selection of
# gamma and regularization. With more samples, these steps would take longer than the
# fit of 2,000 samples (`bench_kernel_discriminant.py sizes`).
_MAX_HELD_OUT = 1000
_MAX_SELECTION = 500
# Candidates of regularization, and of gamma relative to "scale". Each candidate of
# gamma halves the width of the kernel. `bench_kernel_discriminant.py auto` compares the
# accuracy with the accuracy of the best value of a grid.
_REGULARIZATIONS = np.logspace(0, -8, 17)
_GAMMA_FACTORS = 4.0 ** np.arange(-3, 5)
# Predicted class indicators are probabilities, not their logarithms. Their softmax has
# temperatures from one over this number.
_SHARPEST = 32.0


class KernelDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    PosteriorClassifierMixin,
    BaseEstimator,
):
    r"""Kernel discriminant analysis, exact or with landmarks.

    The estimator computes discriminant functions
    :math:`f(x) = \sum_i \alpha_i k(x, x_i)` with a large variance between the classes
    and a small variance within the classes. K is the kernel matrix of the n training
    samples, :math:`K^{(y)}` contains the rows of the :math:`n_y` samples of class y,
    and :math:`C_n = I - 1 1^\top / n` is the centering matrix. The coefficients
    :math:`\alpha` of the functions successively maximize

    .. math::

       \frac{\alpha^\top S_b \alpha}{\alpha^\top (S_w + \lambda R) \alpha}, \quad
       S_b = S_t - S_w, \quad S_t = K^\top C_n K, \quad
       S_w = \sum_y (K^{(y)})^\top C_{n_y} K^{(y)},

    or, with ``criterion="total"``, the same ratio with the numerator
    :math:`\alpha^\top S_t \alpha` (see also [1]_ and [2]_). The penalty
    :math:`\lambda R` regularizes the functions.

    :meth:`transform` returns the values of the functions, the components. ``predict``
    compares the components of a sample with the class means of the components, as in
    linear discriminant analysis (LDA). By default, the kernel coefficient ``gamma`` and
    the penalty :math:`\lambda` are selected by leave-one-out errors, and the
    probabilities are calibrated on held-out samples.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, at most ``n_classes - 1``. None keeps all components. The
        predictions use only these components. To plot two components, keep all
        components and plot the first two columns of :meth:`transform`.
    kernel : str or callable, default="rbf"
        A name of :func:`sklearn.metrics.pairwise.pairwise_kernels`, or a symmetric
        function of two matrices of samples that returns their kernel matrix, as in
        :class:`sklearn.svm.SVC`, or ``"precomputed"``. For ``"precomputed"``, X is the
        kernel matrix of the training samples, of shape (n_samples, n_samples), in
        :meth:`fit`, and the kernel matrix between the new samples and the training
        samples in the other methods.
    gamma : float, "auto", "scale" or None, default="auto"
        Coefficient of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
        ``"scale"`` is one over the sum of the variances of the features (the square
        root of this value divided by ``n_features`` for "laplacian" and "chi2", whose
        exponents are proportional to the scale of X). ``"auto"`` selects ``"scale"``
        times a power of 4 from 1/64 to 256; with ``regularization=0``, it is
        ``"scale"``. None is the default of the kernel, which is 1 for "chi2" and
        ``1 / n_features`` for all other kernels.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Arguments of a callable kernel, in addition to the two matrices.
    regularization : float or "auto", default="auto"
        The penalty :math:`\lambda`, relative to the scale of the kernel: with the
        centered kernel matrix :math:`\tilde K = C_n K C_n`, :math:`\lambda` is
        ``regularization`` times :math:`\operatorname{tr} \tilde K` for
        ``penalty="kernel"``, and ``regularization`` times
        :math:`\|\tilde K\|_F^2` for ``penalty="identity"``. The value is therefore
        comparable across data sets and kernels.

        ``"auto"`` selects one of 17 values. They are between 1 and 1e-8 (between 1 and
        1e-12 for ``penalty="identity"``) for the samples of the selection, and smaller
        for all samples, because :math:`\lambda` is the same.

        With 0, the solver must be ``"eigen"``, which ``"auto"`` selects for up to
        10,000 samples, and :math:`S_w` must be nonsingular. The largest allowed value
        is 6.7e7, for which the scatter is negligible compared with the penalty.
    penalty : {"identity", "kernel"}, default="kernel"
        The matrix R: K, or the identity matrix. The identity allows kernels that are
        not positive semidefinite.
    criterion : {"total", "between"}, default="between"
        The matrix in the numerator of the ratio: :math:`S_t` or :math:`S_b`. The two
        criteria are equivalent only for ``regularization=0`` (see the user guide). With
        "total", the components are uncorrelated on the training samples.
    solver : {"auto", "eigen", "cholesky", "nystroem"}, default="auto"
        ``"eigen"`` solves the dense eigenproblem. ``"cholesky"`` computes the same
        components with one Cholesky factor. ``"nystroem"`` approximates the kernel with
        landmarks; use it for many samples. ``"auto"`` is ``"cholesky"`` for up to
        10,000 distinct samples (``"eigen"`` if ``regularization`` is 0), and
        ``"nystroem"`` for more samples, which requires less time and memory than the
        exact solution.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks for the solver "nystroem", at most the number of samples.
        ``"auto"`` is 200 times the fourth root of the number of distinct samples, for
        example 2,000 landmarks for 10,000 samples. Landmarks are the centers of
        clusters within each class, with at least one landmark per class. For
        precomputed kernels, and for sparse samples with more features than landmarks,
        landmarks are random samples.
    temperature : float or "auto", default="auto"
        The divisor T of the class scores in the notes. With ``"auto"``, the temperature
        and the class means used in predictions are estimated on held-out samples. With
        a number, predictions use the class means of the training samples. With 1, the
        probabilities are the probabilities of LDA in the feature space, which are
        overconfident if the penalty is small.
    priors : None, "uniform" or array-like, default=None
        Prior probabilities of the classes, which weight the classes in training and
        prediction. None is the proportions of the classes, weighted with
        ``sample_weight`` and ``class_weight``. An array has the shape (n_classes,). Use
        ``"uniform"`` if rare classes are as important as frequent classes.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, which multiply the weights of the samples in training.
        With ``"balanced"``, all classes have the same total weight. Classes that are
        missing in a dictionary have weight one. Unless ``priors`` is given, the weights
        also change the prior probabilities in predictions.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks.
    verbose : int, default=0
        If positive, ``fit`` prints one line with the selected values.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities of the classes.
    eigenvalues_ : ndarray of shape (n_components,)
        The maximized ratios of the components, in descending order.
    dual_coef_ : ndarray of shape (n_fit, n_components)
        Coefficients of the kernels with the samples in ``X_fit_``, or with all training
        samples for a precomputed kernel.
    offset_ : ndarray of shape (n_components,)
        Offsets that are subtracted from the components to center them.
    kernel_center_ : ndarray of shape (n_features,) or None
        The mean of the training samples, which is subtracted from samples and from
        ``X_fit_`` before the kernel "rbf" or "linear" is computed. None for other
        kernels and for sparse samples.
    means_ : ndarray of shape (n_classes, n_components)
        The class means of the components of the training samples.
    decision_means_ : ndarray of shape (n_classes, n_components)
        The class means used in predictions. If ``temperature`` is a number, they are
        equal to ``means_``. Otherwise they are ``means_`` shrunk towards zero, because
        the classes are usually closer together in held-out samples than in training
        samples. Small classes are shrunk more: the factor for a class of n samples is
        1 / (1 + c / n), with c estimated on held-out samples.
    prior_weight_ : float
        The weight v of the priors in the notes; 1 if ``temperature`` is a number or if
        no sample can be held out.
    temperature_ : float
        The temperature T in the notes.
    label_noise_ : float
        The probability that the label of a sample is random, which bounds the predicted
        probabilities; 0 if ``temperature`` is a number or if no sample can be held out.
    regularization_ : float
        The given or selected value of ``regularization``.
    selection_ : Selection or None
        The candidates of ``gamma`` (if the kernel has this parameter) and of
        ``regularization``, from the smallest ``gamma`` and the largest
        ``regularization`` to the opposite, with their leave-one-out scores (see
        :ref:`selection`). None if nothing was selected.
    lambda_ : float
        The penalty :math:`\lambda` in the ratio above, in which the scatter matrices
        are sums over the samples.
    gamma_ : float or None
        The given or selected value of ``gamma``. None if the kernel has no ``gamma``,
        or if the default of the kernel was used.
    solver_ : str
        The solver that was used.
    n_landmarks_ : int or None
        The number of linearly independent landmarks; None for the exact solvers.
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
        with linear functions.
    LandmarkKernelPCA : Kernel principal components as features for nonlinear filters.

    Notes
    -----
    The components are scaled such that the denominator of the ratio, computed with
    covariances instead of scatter matrices, is one. Without regularization, the
    within-class variance of each component is one, as in scikit-learn's LDA.
    ``eigenvalues_`` contains the variances of the class means of the components or, for
    ``criterion="total"``, the variances of the components. The sign of each component
    is chosen such that the class mean of largest magnitude is positive (the last of
    these means if several have the same magnitude).

    Sample weights are frequency weights. Equal samples are treated as one sample with
    the sum of their weights, and are held out together. The result does not depend on
    the order of the samples or on a common factor of the weights.

    With the components z of a sample, the rows :math:`m_k` of ``decision_means_``, the
    temperature T and the priors :math:`\pi_k`, the logarithms of the class posteriors
    are, up to a common term,

    .. math:: (z^\top m_k - \|m_k\|^2 / 2 + v \log \pi_k) / T .

    The weight v of the priors, ``prior_weight_``, is the variance of held-out samples
    within the classes, in the directions of the decision means, but at most one. It
    replaces the variance in the denominator of the ratio, which is one and includes the
    penalty. It is doubled, up to seven times, if this increases the log posterior of
    held-out samples by more than two standard errors. The temperature does not change
    the predicted classes. A label is drawn from the priors with the probability
    :math:`\epsilon`, ``label_noise_``, which is one half divided by the number of
    distinct samples: the probabilities are :math:`(1 - \epsilon) p_k + \epsilon \pi_k`.

    ``gamma`` and ``regularization`` are selected before the fit, by leave-one-out
    predictions of the class indicators with kernel ridge regression and the same
    penalty, for about 500 samples, among which each class has at least two samples if
    it has two distinct samples. The squared error selects ``regularization`` for each
    candidate of ``gamma``, and the log posterior of the softmax of the predictions, at
    the best temperature, selects ``gamma`` (see :ref:`selection`). The decision means,
    v and T are estimated after the fit, on up to 1,000 held-out samples.

    For the kernels "rbf" and "linear", the means of the features are subtracted from
    dense samples, which reduces rounding errors for samples far from zero.

    Kernel matrices with negative eigenvalues raise an error, except for
    ``penalty="identity"`` with an exact solver, because the scatter matrices are then
    positive semidefinite for any kernel.

    References
    ----------
    .. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf and K.-R. Müller, "Fisher
       discriminant analysis with kernels", Neural Networks for Signal Processing IX,
       1999.
    .. [2] G. Baudat and F. Anouar, "Generalized discriminant analysis using a kernel
       approach", Neural Computation 12(10), 2000.

    Examples
    --------
    Separate two concentric rings, which are not linearly separable:

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
    _accepts_libraries = True
    _parameter_constraints = {
        **kernel_constraints,
        "kernel": [StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}), callable],
        "gamma": [None, StrOptions({"auto", "scale"}), positive],
        "regularization": [
            StrOptions({"auto"}),
            Interval(Real, 0, 1 / LIGHT, closed="both"),
        ],
        "penalty": [StrOptions({"identity", "kernel"})],
        "criterion": [StrOptions({"total", "between"})],
        "solver": [StrOptions({"auto", "eigen", "cholesky", "nystroem"})],
        "temperature": [StrOptions({"auto"}), positive],
        "priors": [None, StrOptions({"uniform"}), "array-like"],
        "class_weight": [None, StrOptions({"balanced"}), dict],
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
            The samples, or the kernel matrix of the samples for
            ``kernel="precomputed"``; not modified. Samples may be sparse for the
            kernels "linear", "poly", "rbf", "sigmoid" and "cosine". With the solver
            "auto" or "nystroem", X may be a Dask array or data frame. It is read block
            by block, four times, for landmarks, and into memory if "auto" selects an
            exact solver.
        y : array-like of shape (n_samples,)
            Class labels of the samples, of at least two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; None weights all samples equally. Samples of weight
            zero, and classes without samples of positive weight, are omitted.
        groups : array-like of shape (n_samples,), default=None
            Labels of groups of dependent samples, such as the recordings of one
            subject. The samples of a group are held out together when parameters are
            selected and probabilities are calibrated. With None, each set of equal
            samples is one group.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X, y, ``sample_weight`` or ``groups`` is malformed; if there is only one
            class; if parameters are selected and each group contains all samples of a
            class; if ``n_components`` exceeds the number of components; if the kernel
            matrix is not symmetric, has infinite or NaN values or is not positive
            semidefinite; if all samples or all class means are equal in the feature
            space of the kernel; or if the regularized within-class matrix is singular.
        MemoryError
            If the kernel matrix does not fit into memory.
        TypeError
            If X is a Dask array or data frame and ``solver`` is "eigen" or "cholesky"
            or the kernel is precomputed, or if X is sparse and the kernel does not
            accept sparse samples.

        Warns
        -----
        UserWarning
            If ``gamma`` is selected and one feature or a tenth of the features have
            more than 99 % of the variance within the classes, if the selected ``gamma``
            is the largest candidate, if the selected ``regularization`` is the largest
            candidate, or the smallest candidate with more than 1 % of held-out errors,
            if the predictions of held-out samples with the selected values are not
            significantly better than chance, if ``gamma`` is not a number and one
            sample causes more than 99 % of the variance of the features, or if
            ``gamma`` is not selected and the kernel matrix is nearly diagonal.
        """
        # Validate.
        X, codes, sample_weight, summary = self._validate(X, y, sample_weight)
        kernel = make_kernel(self, X, summary.center)
        data = self._training_data(X, codes, sample_weight, groups, summary)
        n_components = self.n_components or len(self.classes_) - 1
        calibrated = self.temperature == "auto"

        # For small matrices, the synchronization of BLAS threads would take longer than
        # the computation.
        with one_blas_thread(len(data.codes) <= _MAX_HELD_OUT):
            # Select.
            kernel, self.regularization_ = self._select(kernel, data, summary)

            # Solve.
            system, points = self._system(kernel, data)
            if self.criterion == "between" and system.same_means:
                raise ValueError(ALL_MEANS_EQUAL)
            solve = getattr(system, f"solve_{self.solver_}")
            with explain_singular(self.regularization_):
                found = solve(self.regularization_, self.criterion, n_components)
            if calibrated:
                complement = system.complement(self.regularization_, data.n_held_out)

        # Store and calibrate.
        self._set_discriminants(kernel, found, points, data)
        move_attributes(self, X)
        if calibrated:
            self._calibrate(data, points, complement, found, groups is not None)
        if kernel.precomputed:
            self._set_all_coefficients(data, points)
        names = "gamma", "regularization", "solver", "n_landmarks", "prior_weight"
        values = [(name, getattr(self, f"{name}_")) for name in (*names, "temperature")]
        texts = (
            f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in values
        )
        current_progress().print(", ".join(texts))
        return self

    def _validate(self, X, y, sample_weight):
        """Validated X, encoded labels, weights and row summary; sets ``classes_``."""
        if is_dask(X):
            if self.kernel == "precomputed" or self.solver in ("eigen", "cholesky"):
                remedy = "Use solver='nystroem' with samples, not a precomputed kernel"
                check_not_dask(self, X, remedy)
            options = {"dtype": [np.float64, np.float32], "ensure_min_samples": 0}
            empty = validate_data(self, empty_block(X), **options)
            X = BlockedRows(X, y, sample_weight, empty.dtype)
            return X, self._encode(X.y, X.sample_weight), X.sample_weight, X.summary
        check_library(X, self)
        X = validate_data(self, X, **self._accepted(X))
        y = checked_labels(y, X)
        weights = check_sample_weight(sample_weight, y)
        codes = self._encode(y, weights)
        if isinstance(self.gamma, str) and self.kernel not in ("cosine", "precomputed"):
            warn_if_outlier(X, weights)
        return X, codes, weights, RowSummary.of(on_cpu(X), weights / weights.max())

    def _accepted(self, X):
        """Types of X that the validation accepts."""
        sparse = "csr" if accepts_sparse(self.kernel) else False
        return {"dtype": float_dtypes(X), "accept_sparse": sparse}

    def _encode(self, y, sample_weight):
        """Encode valid labels as integers, and set ``classes_``.

        The code of a sample of weight zero, which may be of no class, is not used.
        """
        # Relative weights, as in training, in which tiny weights underflow.
        relative = sample_weight / (sample_weight.max() or 1.0)
        self.classes_ = weighted_classes(y, relative)
        codes = np.searchsorted(self.classes_, y)
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
        """Distinct samples of positive weight; sets ``priors_`` and ``solver_``.

        The held-out samples are last, as the method ``complement`` of a kernel system
        with a Cholesky factor requires.
        """
        groups = checked_groups(groups, codes)
        largest = float(sample_weight.max()) or 1.0
        rows, weights, groups = merge_equal(summary.equal, codes, sample_weight, groups)
        codes, relative = codes[rows], weights / largest
        weights, class_weights, self.priors_ = self._weigh(codes, relative)
        selection = spread_over_classes(codes, _MAX_SELECTION)
        held_out = spread_over_classes(codes, _MAX_HELD_OUT)
        held_out = whole_groups(held_out, codes, groups)
        order = np.delete(np.arange(len(rows)), held_out)
        order = np.concatenate([order, held_out])
        selection = np.flatnonzero(np.isin(order, selection))
        rows = rows[order]
        self.solver_ = self._chosen_solver(len(rows))
        # An exact solver needs X in memory.
        if isinstance(X, BlockedRows) and self.solver_ == "nystroem":
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
        """Training weights of the samples and of the classes, and the priors.

        The weights of the classes are proportional to the priors times
        ``class_weight``, and add up to one. The weights of the samples of a class add
        up to the weight of the class.
        """
        sums = np.bincount(codes, sample_weight, minlength=len(self.classes_))
        priors = check_priors(self.priors, sums)
        factors = class_factors(self.class_weight, self.classes_, priors)
        class_weights = priors * (factors / factors.max())
        class_weights = class_weights / class_weights.sum()
        # Without given priors, weights of classes act like frequencies of classes.
        priors = class_weights if self.priors is None else priors
        return sample_weight * (class_weights / sums)[codes], class_weights, priors

    def _chosen_solver(self, n_samples):
        solver = self.solver
        if solver == "auto":
            solver = "cholesky" if self.regularization else "eigen"
            solver = solver if n_samples <= MAX_EXACT else "nystroem"
        if solver != "eigen" and not self.regularization:
            raise ValueError(
                f"regularization must be positive with solver={solver!r}. Use "
                "solver='eigen' for regularization=0."
            )
        return solver

    def _selects_gamma(self, kernel):
        """Whether gamma is selected; without regularization, gamma is "scale"."""
        return kernel.uses_gamma and self.gamma == "auto" and self.regularization != 0

    def _candidates(self, kernel, data, summary):
        """Candidates of gamma, candidates of the regularization, and a factor.

        The regularization divided by the factor is that of the subsample.
        """
        gammas = [self.gamma]
        if kernel.uses_gamma and isinstance(self.gamma, str):
            factors = _GAMMA_FACTORS if self._selects_gamma(kernel) else np.ones(1)
            scale = gamma_scale(summary)
            if kernel.function in ("laplacian", "chi2"):  # exponents of degree one
                scale = np.sqrt(scale / data.X.shape[1])
            gammas = (factors * scale).tolist()
        # lambda is the same for all samples and for the subsample of the selection: it
        # corresponds to the noise variance of ridge regression, which does not depend
        # on the number of samples. The regularization does, because the trace of K is
        # proportional to the number, and the squared norm of K to its square.
        power = 2 if self.penalty == "identity" else 1
        ratio = data.sample_weight[data.selection].sum() / data.sample_weight.sum()
        ratio = float(ratio) ** power
        values = np.array([self.regularization])
        if self.regularization == "auto":
            # With the identity, the penalty is compared with squared eigenvalues of K.
            exponent = 1.5 if self.penalty == "identity" else 1
            values = ratio * _REGULARIZATIONS**exponent
            if self.solver_ == "nystroem":
                # Kernels are computed in double precision if the device supports it.
                dtype = data.X.dtype if kernel.precomputed else float_dtype(data.X)
                values = np.maximum(values, float(namespace(data.X).finfo(dtype).eps))
        return gammas, values, ratio

    def _select(self, kernel, data, summary):
        """Select gamma and the regularization; returns the kernel with its gamma."""
        self.selection_ = None
        gammas, values, ratio = self._candidates(kernel, data, summary)
        kernels = [kernel.with_gamma(gamma) for gamma in gammas]
        if len(kernels) == len(values) == 1:
            return kernels[0], float(values[0])
        part = data.part(data.selection, kernel.precomputed)
        if self._selects_gamma(kernel):
            consequence = "Features of large variance determine the kernel."
            warn_if_unscaled(_variances_within(part), consequence, self)
        columns = part.codes, part.groups, part.weights
        remaining = remaining_shares(*columns, part.class_weights)
        # Only groups that can be held out without removing a whole class.
        kept = (remaining > 0).all(axis=1)
        codes, groups, weights = (column[kept] for column in columns)
        weights = weights / weights.sum()
        shares = remaining[kept] * data.class_weights
        members, equal_priors = np.eye(len(self.priors_)), uniform(self.priors_)
        scores, selected, usable, classes = [], [], [], []
        with one_blas_thread():
            for each in kernels:
                system = self._kernel_system(each, part, as_numpy=True)
                # Equal samples have already raised a more specific error.
                if not kept.any():
                    raise ValueError(
                        "gamma and regularization cannot be selected by leave-one-out "
                        "errors, because each group contains all samples of a class. "
                        "Set both parameters to numbers, use more distinct samples, or "
                        "use groups that share classes."
                    )
                predicted = system.held_out_indicators(values / ratio, part.groups)
                predicted = predicted[:, kept]
                joint, samples = _SHARPEST * predicted, (codes, weights, len(codes))
                scores.append(tempered_scores(joint, equal_priors, *samples))
                # For each gamma, the squared error selects the regularization, in units
                # in which it is the log-likelihood of Gaussian residuals. The scores
                # would select too large values for few samples of many classes.
                errors = np.square(predicted - members[codes]).sum(axis=2)
                errors /= 2 * (errors @ weights).min()
                selected.append(choose({}, -errors, weights, groups).index)
                # A kernel with equal class means has no discriminants.
                usable.append(not system.same_means)
                # Relative to the remaining samples of the classes, predictions do not
                # prefer large classes, nor the classes without held-out samples.
                classes.append((predicted[selected[-1]] / shares).argmax(axis=1))
        candidates = {"regularization": np.tile(values, len(kernels))}
        if kernel.uses_gamma:
            candidates = {"gamma": np.repeat(gammas, len(values)), **candidates}
        compared = np.arange(len(values)) == np.array(selected)[:, None]
        compared &= np.array(usable)[:, None]
        scores = np.concatenate(scores)
        tried = np.where(compared.reshape(-1, 1), scores, np.nan)
        found = choose(candidates, tried, weights, groups)
        self.selection_ = replace(found, scores=scores @ weights)
        i, j = divmod(found.index, len(values))
        warn_if_at_chance(members[classes[i]], codes, weights, groups)
        wrong = weights @ (classes[i] != codes)
        # No warning for the smallest gamma: the kernel is nearly linear, and would be
        # similar with a smaller gamma.
        if i and i == len(gammas) - 1:
            warn_of_end("gamma", gammas, i)
        # Nor for the smallest regularization if hardly any prediction is wrong.
        smallest = j == len(values) - 1 and wrong > PRECISION
        if len(values) > 1 and (smallest or j == 0):
            warn_of_end("regularization", values[::-1], len(values) - 1 - j)
        return kernels[i], float(values[j])

    def _system(self, kernel, data):
        """The system to solve, and the samples (or indices) of its kernel functions."""
        if self.solver_ == "nystroem":
            system, points = self._landmark_system(kernel, data)
            self.n_landmarks_ = points.shape[0]
            return system, points
        self.n_landmarks_ = None
        as_numpy, warn = self.solver_ == "eigen", not self._selects_gamma(kernel)
        system = self._kernel_system(kernel, data, as_numpy, warn)
        return system, None if kernel.precomputed else in_double(data.X)

    def _kernel_system(self, kernel, data, as_numpy=False, warn=False):
        """The kernel system of the samples, with NumPy arrays if ``as_numpy``."""
        n_samples = data.X.shape[0]
        require_memory(
            16 * n_samples**2,  # the matrix and its factors
            f"The kernel matrix of {n_samples} samples and its factors",
            'Use solver="nystroem".',
        )
        matrix = in_double(kernel(in_double(data.X)), copy=callable(kernel.function))
        rounding = precision(data.X if kernel.precomputed else matrix)
        if kernel.precomputed:
            # Symmetric entries may differ by rounding. LAPACK reads only one of them,
            # and which entry depends on the solver.
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
            precision=rounding,
            # The calibration needs a Cholesky factor. Without the calibration, an
            # iterative solution takes half of the time
            # (`bench_kernel_discriminant.py solvers`).
            iterate=self.temperature != "auto" and n_samples > _MAX_HELD_OUT,
        )

    def _landmark_system(self, kernel, data):
        """The system of landmarks, and the landmarks (or indices if precomputed)."""
        X, n_samples = data.X, len(data.codes)
        n_landmarks = n_landmarks_of(self.n_landmarks, n_samples)
        random_state = check_random_state(self.random_state)
        if issparse(X) and X.shape[1] <= n_landmarks:
            X = X.toarray()  # no larger than the kernels
        if kernel.precomputed or issparse(X) or n_landmarks == n_samples:
            points = random_landmarks(n_landmarks, n_samples, random_state)
            points = points if kernel.precomputed else take(X, points)
        else:
            settings = data.codes, data.weights, random_state
            points = kmeans_landmarks(n_landmarks, X, *settings)
        points = points if kernel.precomputed else in_double(points)
        own = take(X, points) if kernel.precomputed else points
        matrix = kernel(own, points if kernel.precomputed else None)
        if not self._selects_gamma(kernel):
            warn_if_nearly_diagonal(matrix, kernel)
        if not kernel.definite:
            name = "The kernel matrix of the landmarks, of solver='nystroem',"
            rounding = precision(matrix) * n_landmarks * check_finite_kernel(matrix)
            check_definite(matrix, name, rounding)

        def columns(X, kept):
            return kernel(X if kernel.precomputed else in_double(X), take(points, kept))

        is_double = precision(matrix) == np.finfo(np.float64).eps
        dtype = np.float64 if is_double else np.float32
        features = LandmarkFeatures(matrix, columns, dtype)
        system = LandmarkSystem(features, data, identity=self.penalty == "identity")
        return system, take(points, features.kept)

    def _set_discriminants(self, kernel, found, points, data):
        """Set the fitted attributes of the kernel and the discriminant functions."""
        n_found = len(found.eigenvalues)
        if not n_found:
            raise ValueError(ALL_MEANS_EQUAL)
        if self.n_components is not None and n_found < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} exceeds the number of components "
                f"with a positive ratio in the feature space of the kernel, {n_found}. "
                f"Use at most {n_found}, or n_components=None."
            )
        self._kernel, self.kernel_center_ = kernel, kernel.center
        self.gamma_ = kernel.parameters.get("gamma") if kernel.uses_gamma else None
        self.X_fit_ = None if kernel.precomputed else points
        self.eigenvalues_ = found.eigenvalues
        self.dual_coef_ = found.coefficients
        self.offset_, self.means_ = found.offset, found.means
        # In the solvers, the weights of the samples sum to one. In the ratio, each
        # weight is one, so the scatter matrices are larger by the factor n_samples. For
        # R = I, there is a second factor n_samples, because the coefficients of the
        # solvers are divided by its square root.
        power = 2 if self.penalty == "identity" else 1
        self.lambda_ = float(found.penalty) * data.total_weight**power
        self.decision_means_, self.prior_weight_ = self.means_, 1.0
        self.temperature_ = 1.0 if self.temperature == "auto" else self.temperature
        self.label_noise_ = 0.0

    def _calibrate(self, data, points, complement, found, has_groups):
        """Estimate the parameters of the decisions on held-out samples.

        If a group contains a whole class, its held-out samples would be assigned to the
        other classes. Such groups are omitted if they are given by the user. Of copies
        of one sample, only one copy is held out, because new samples may equal them as
        well; a single sample is omitted. The number of copies is the weight divided by
        the median of all weights, rounded, and at least 1.
        """
        held_out = np.arange(len(data.codes))[-data.n_held_out :]
        columns = data.codes, data.groups, data.weights
        codes, groups, weights = (column[held_out] for column in columns)
        components = to_numpy(self._project(take(data.X, held_out), points))
        predicted = held_out_components(
            components, (codes, groups, weights), complement, found, self.criterion
        )
        remaining = remaining_shares(codes, groups, weights, data.class_weights)
        shares = 1 - remaining[np.arange(len(codes)), codes]
        is_whole = (remaining == 0).any(axis=1)
        relative = data.sample_weight[held_out] / np.median(data.sample_weight)
        copies = np.maximum(np.round(relative[is_whole]), 1)
        shares[is_whole] = 1 if has_groups else 1 / copies
        predicted[is_whole] = components[is_whole]
        # If a sample determines its own prediction, which is possible without
        # regularization, its held-out components are rounding errors.
        shares = np.where(complement[0] > 1e-8, shares, 1)
        if (shares == 1).all():
            return
        means, self.prior_weight_, self.temperature_ = calibrate(
            components,
            predicted,
            (codes, groups, data.sample_weight[held_out]),
            shares,
            found.means,
            to_numpy(self.priors_),
        )
        self.decision_means_ = like(means, self.means_)
        self.label_noise_ = label_noise(len(data.codes))
        if self.selection_ is not None:
            self.selection_ = replace(self.selection_, temperature=self.temperature_)

    def _set_all_coefficients(self, data, points):
        """Expand the coefficients to all columns of a precomputed kernel matrix."""
        used = data.rows if points is None else data.rows[points]
        coefficients = np.zeros((self.n_features_in_, self.dual_coef_.shape[1]))
        coefficients[used] = to_numpy(self.dual_coef_)
        self.dual_coef_ = like(coefficients, self.dual_coef_)

    @estimator_method
    def transform(self, X):
        """Compute the discriminant components of samples.

        Kernels are computed in blocks of rows, so the additional memory does not grow
        with the number of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, or the kernel matrix between the samples and the training
            samples for ``kernel="precomputed"``.

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
                    f"be the kernel matrix between samples and the {n_samples} "
                    f"training samples, of shape (n_samples, {n_samples})."
                )
        X = validate_data(self, X, **self._accepted(X), reset=False)
        return self._project(X, self.X_fit_)

    def _project(self, X, points):
        """The components of validated samples, from their kernels with ``points``."""
        return self._kernel.project(X, points, self.dual_coef_, self.offset_)

    def _joint_log_likelihood(self, X):
        """Logarithms of the posteriors, up to a term that is common to all classes."""
        # LDA with a within-class covariance in proportion to the identity matrix. |z|^2
        # is common to all classes.
        Z, means = self._components(X), self.decision_means_
        xp = namespace(Z)
        scores = astype(Z, means.dtype) @ means.T - xp.sum(means**2, axis=1) / 2
        log_priors = self.prior_weight_ * xp.log(self.priors_)
        return (scores + log_priors) / self.temperature_

    def _log_posteriors(self, joint):
        return noisy_log_posteriors(joint, self.label_noise_, self.priors_)

    @property
    def _needs_library(self):
        """Whether a callable kernel expects arrays of the library of X."""
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
        return tags


def _variances_within(part):
    """Variances of the features within the classes."""
    X = part.X if issparse(part.X) else to_numpy(part.X)
    if not issparse(X):
        X = X - part.weights @ X
    shares = np.bincount(part.codes, part.weights)
    weights = np.zeros((len(shares), len(part.codes)))
    weights[part.codes, np.arange(len(part.codes))] = part.weights / shares[part.codes]
    means = safe_sparse_dot(weights, X, dense_output=True)
    squares = X.multiply(X) if issparse(X) else X * X
    return np.maximum(part.weights @ squares - shares @ np.square(means), 0)
