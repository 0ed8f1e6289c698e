"""Kernel discriminant analysis."""

from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import check_random_state

from skgeom._held_out import merge_equal
from skgeom._kernel._calibration import (
    Calibration,
    calibration_of,
    check_factors,
    class_scores,
)
from skgeom._kernel._held_out_errors import spread_over_classes, whole_groups
from skgeom._kernel._kernels import accepts_sparse, kernel_constraints, make_kernel
from skgeom._kernel._metric import learn_metric
from skgeom._kernel._nystroem import LandmarkSystem, landmarks_of
from skgeom._kernel._parameter_selection import select
from skgeom._kernel._system import (
    ALL_MEANS_EQUAL,
    LIGHT,
    CholeskySystem,
    KernelSystem,
    explain_singular,
)
from skgeom._kernel._training_data import (
    BlockedRows,
    RowSummary,
    TrainingData,
    gamma_scale,
    some_rows,
)
from skgeom.utils._dask import check_not_dask, empty_block, is_dask
from skgeom.utils._mixins import PosteriorClassifierMixin, noisy_log_posteriors
from skgeom.utils._sklearn import CallbackSupportMixin, Interval, StrOptions, positive
from skgeom.utils.array_api import astype, in_double, like, take
from skgeom.utils.docs import SAMPLE_WEIGHT, substitute_docs
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.methods import fit_method, predict_method
from skgeom.utils.progress import current_progress
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import (
    check_priors,
    check_sample_weight,
    check_two_classes,
    checked_groups,
    checked_labels,
    scaled_weights,
    validate_data,
    weighted_classes,
)
from skgeom.utils.warn import warn_if_outlier, warn_if_unscaled

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


class KernelDiscriminantAnalysis(
    CallbackSupportMixin,
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
        :class:`sklearn.svm.SVC`, or ``"precomputed"``. Set further arguments of a
        function by :class:`functools.partial`. For ``"precomputed"``, X is the kernel
        matrix of the training samples, of shape (n_samples, n_samples), in :meth:`fit`,
        and the kernel matrix between the new samples and the training samples in the
        other methods.
    gamma : float, "select", "scale" or None, default="select"
        Coefficient of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
        ``"scale"`` is one over the sum of the variances of the features (the square
        root of this value divided by ``n_features`` for "laplacian" and "chi2", whose
        exponents are proportional to the scale of X). ``"select"`` selects ``"scale"``
        times a power of 4 from 1/64 to 256 by leave-one-out errors; with
        ``regularization=0``, it is ``"scale"``. None is the default of the kernel,
        which is 1 for "chi2" and ``1 / n_features`` for all other kernels.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    regularization : float or "auto", default="auto"
        The penalty :math:`\lambda`, relative to the scale of the kernel: with the
        centered kernel matrix :math:`\tilde K = C_n K C_n`, :math:`\lambda` is
        ``regularization`` times :math:`\operatorname{tr} \tilde K` for
        ``penalty="kernel"``, and ``regularization`` times
        :math:`\|\tilde K\|_F^2` for ``penalty="identity"``. The value is therefore
        comparable across data sets and kernels.

        ``"auto"`` selects one of 17 values, from 1 to 1e-8 (to 1e-12 for
        ``penalty="identity"``), on about 500 samples. ``regularization_`` is smaller if
        there are more samples: :math:`\lambda` is the same, but the trace of
        :math:`\tilde K` grows with the number of samples.

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
    metric : {"learned"} or None, default=None
        The metric of the kernel "rbf": None is the Euclidean metric. ``"learned"``
        learns the linear map ``omega_`` with the labels (see the notes), which is more
        accurate if few features, or few directions, separate the classes. A fit then
        takes about ten times as long from 400 samples on, and longer relative to the
        default for fewer samples or for many features.
    calibration : "auto", None or Calibration, default="auto"
        Parameters of the probabilities. ``"auto"`` estimates them on held-out samples.
        With None, the probabilities are those of LDA in the feature space, which are
        overconfident if the penalty is small. Pass ``calibration_`` of a different fit,
        or a :class:`Calibration` with other values, to use them without an estimation.
    priors : None, "uniform" or array-like, default=None
        Prior probabilities of the classes, which weight the classes in training and
        prediction. None is the proportions of the classes, weighted with
        ``sample_weight``. ``"uniform"`` weights all classes equally; use it if rare
        classes are as important as frequent classes. An array has the shape
        (n_classes,).
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks.
    verbose : int, default=0
        If 1, ``fit`` prints at most one line per second during the selection, and the
        selected values. Larger values print one line for each candidate of ``gamma``.

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
    omega_ : ndarray of shape (n_features, n_features)
        The learned map; only if ``metric="learned"``. The kernel compares the samples
        ``X @ omega_.T``, and ``gamma_``, ``kernel_center_`` and ``X_fit_`` refer
        to these samples. The rows are orthogonal and in descending order of their
        norms, so ``X @ omega_[:2].T`` is a projection onto the two directions in
        which the class probabilities change most.
    metric_selection_ : Selection or None
        The candidates of a learned metric, ``diagonal`` and ``n_rounds``, with their
        scores on held-out samples; None without a learned metric.
    kernel_center_ : ndarray of shape (n_features,) or None
        The mean of the training samples, which is subtracted from samples and from
        ``X_fit_`` before the kernel "rbf" or "linear" is computed. None for other
        kernels and for sparse samples.
    means_ : ndarray of shape (n_classes, n_components)
        The class means of the components of the training samples.
    calibration_ : Calibration
        The given or estimated parameters of the probabilities.
    temperature_ : float
        The temperature of ``calibration_``.
    label_noise_ : float
        The label noise of ``calibration_``.
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

    :class:`Calibration` describes the class probabilities. The weight v of the priors
    is the variance of held-out samples within the classes, in the directions of the
    decision means :math:`m_k`, but at most one. It replaces the variance in the
    denominator of the ratio, which is one and includes the penalty. It is doubled, up
    to seven times, if this increases the log posterior of held-out samples by more than
    two standard errors. The label noise is one half divided by the number of distinct
    samples. If no sample can be held out, the calibration has its default values.

    ``gamma`` and ``regularization`` are selected before the fit, by leave-one-out
    predictions of the class indicators with kernel ridge regression and the same
    penalty, for about 500 samples, among which each class has at least two samples if
    it has two distinct samples. The squared error selects ``regularization`` for each
    candidate of ``gamma``, and the log posterior of the softmax of the predictions, at
    the best temperature, selects ``gamma`` (see :ref:`selection`). The calibration is
    estimated after the fit, on up to 1,000 held-out samples.

    For the kernels "rbf" and "linear", the means of the features are subtracted from
    dense samples, which reduces rounding errors for samples far from zero.

    ``metric="learned"`` is a variant of recursive feature machines [3]_, whose matrix
    is the unweighted mean of the products of the gradients of the outputs of a
    regression. In each round, the discriminants of the samples M x are computed, first
    with M = I. With the vector :math:`p_i` of the probabilities of sample i without
    random labels, the Jacobian :math:`J_i` of its logarithms and the sample weight :math:`w_i`, the
    next M is

    .. math::

       M^\top M \propto G, \quad
       G = \sum_i w_i J_i^\top (\operatorname{diag} p_i - p_i p_i^\top) J_i .

    G is the matrix of :func:`input_hessian` with ``curvature="gauss-newton"``, without
    random labels. The factor does not change the sum of the variances of the features.
    The candidates are, in this order, no round, one to three rounds with the diagonal
    of G, and one or two rounds with G. They are compared on folds of held-out samples,
    because a leave-one-out error of a metric that was learned with all labels is too
    small. Only the metric and the fits are without the labels of the held-out samples:
    ``gamma`` and ``regularization`` are those of the fits to all samples, so the scores
    of ``metric_selection_`` are slightly too large. The calibration of the selected fit
    is estimated by leave-one-out predictions with the metric of all samples. At most
    10,000 samples are used.

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
    .. [3] A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, "Mechanism for
       feature learning in neural networks and backpropagation-free machine learning
       models", Science 383, 2024.

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
        "gamma": [None, StrOptions({"select", "scale"}), positive],
        "regularization": [
            StrOptions({"auto"}),
            Interval(Real, 0, 1 / LIGHT, closed="both"),
        ],
        "penalty": [StrOptions({"identity", "kernel"})],
        "criterion": [StrOptions({"total", "between"})],
        "solver": [StrOptions({"auto", "eigen", "cholesky", "nystroem"})],
        "metric": [None, StrOptions({"learned"})],
        "calibration": [StrOptions({"auto"}), None, Calibration],
        "priors": [None, StrOptions({"uniform"}), "array-like"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        gamma="select",
        degree=3,
        coef0=1,
        regularization="auto",
        penalty="kernel",
        criterion="between",
        solver="auto",
        n_landmarks="auto",
        metric=None,
        calibration="auto",
        priors=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.regularization = regularization
        self.penalty = penalty
        self.criterion = criterion
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.metric = metric
        self.calibration = calibration
        self.priors = priors
        self.random_state = random_state
        self.verbose = verbose

    @fit_method
    @substitute_docs(sample_weight=SAMPLE_WEIGHT)
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
        {sample_weight}
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
            If X, y, ``sample_weight`` or ``groups`` is malformed; if the metric is
            learned for a kernel other than "rbf"; if there is only one
            class; if parameters are selected and each group contains all samples of a
            class; if ``n_components`` exceeds the number of components; if the kernel
            matrix is not symmetric, has infinite or NaN values or is not positive
            semidefinite; if all samples or all class means are equal in the feature
            space of the kernel; or if the regularized within-class matrix is singular.
        MemoryError
            If the kernel matrix does not fit into memory.
        TypeError
            If X is a Dask array or data frame and ``solver`` is "eigen" or "cholesky"
            or the kernel is precomputed or the metric is learned, or if X is sparse and
            the kernel does not accept sparse samples or the metric is learned.

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
        X, y, sample_weight, summary = self._validate(X, y, sample_weight)
        self.classes_, codes = self._encoded(y, sample_weight)
        progress, is_read = current_progress(), not isinstance(X, BlockedRows)
        progress.start(*((X, y) if is_read else (None, None)))
        kernel = make_kernel(self, X, summary.center)
        data = self._training_data(X, codes, sample_weight, groups, summary)
        if self._selects_gamma(kernel):
            variances = data.part(data.selection).variances_within()
            consequence = "Features of large variance determine the kernel."
            warn_if_unscaled(variances, consequence, self)
        vars(self).pop("omega_", None)
        self.metric_selection_ = None
        if self.metric == "learned":
            self._learn_metric(X, codes, sample_weight, groups)
            data = replace(data, X=self._mapped(data.X))
            summary = RowSummary.of(data.X, data.sample_weight)
            kernel = replace(kernel, center=summary.center)
        # For small matrices, the synchronization of BLAS threads would take longer than
        # the computation.
        with one_blas_thread(len(data.codes) <= _MAX_HELD_OUT):
            kernel, self.regularization_ = self._select(kernel, data, summary)
            progress.stage("kernel matrix")
            system = self._system(kernel, data)
            progress.stage("discriminants")
            if self.calibration == "auto":
                found = self._solve(system, data.n_held_out)
                has_groups = groups is not None
                calibration = calibration_of(found, data, self.criterion, has_groups)
            else:
                found = self._solve(system, 0)
                calibration = self.calibration or Calibration()
        self._store(kernel, data, system, found, calibration)
        texts = []
        for name in ("gamma", "regularization", "solver", "n_landmarks", "temperature"):
            value = getattr(self, f"{name}_")
            value = f"{value:.6g}" if isinstance(value, float) else value
            texts.append(f"{name}={value}")
        progress.end_stage()
        progress.print(", ".join(texts))
        return self

    def _validate(self, X, y, sample_weight):
        """Validated X, labels, weights and row summary."""
        if self.metric == "learned":
            if self.kernel != "rbf":
                raise ValueError(
                    f"metric='learned' requires kernel='rbf', got {self.kernel!r}, "
                    "because the metric is learned from the gradients of the kernel. "
                    "Use kernel='rbf', or metric=None."
                )
            check_not_dask(self, X, "Use metric=None")
        if is_dask(X):
            if self.kernel == "precomputed" or self.solver in ("eigen", "cholesky"):
                remedy = "Use solver='nystroem' with samples, not a precomputed kernel"
                check_not_dask(self, X, remedy)
            empty = validate_data(self, empty_block(X), ensure_min_samples=0)
            X = BlockedRows(X, y, sample_weight, empty.dtype)
            return X, X.y, scaled_weights(X.sample_weight), X.summary
        X = validate_data(self, X, accept_sparse=self._accepts_sparse)
        y = checked_labels(y, X)
        weights = scaled_weights(check_sample_weight(sample_weight, y))
        if isinstance(self.gamma, str) and self.kernel not in ("cosine", "precomputed"):
            warn_if_outlier(X, weights)
        return X, y, weights, RowSummary.of(X, weights / weights.max())

    def _encoded(self, y, sample_weight):
        """The classes, and valid labels encoded as integers.

        The code of a sample of weight zero, which may be of no class, is not used.
        """
        # Relative weights, as in training, in which tiny weights underflow.
        relative = sample_weight / (sample_weight.max() or 1.0)
        classes = weighted_classes(y, relative)
        check_two_classes(classes, type(self).__name__)
        n_classes = len(classes)
        if self.n_components is not None and self.n_components > n_classes - 1:
            raise ValueError(
                f"n_components={self.n_components} exceeds n_classes - 1 = "
                f"{n_classes - 1}, the number of discriminants of {n_classes} classes. "
                f"Use at most {n_classes - 1}."
            )
        return classes, np.searchsorted(classes, y)

    def _training_data(self, X, codes, sample_weight, groups, summary):
        """Distinct samples of positive weight; sets ``solver_``.

        The held-out samples are last, because the last block of an inverse requires
        only the last block of a Cholesky factor.
        """
        if isinstance(self.calibration, Calibration):
            check_factors(self.calibration, len(self.classes_))
        groups = checked_groups(groups, codes)
        largest = float(sample_weight.max()) or 1.0
        rows, weights, groups = merge_equal(summary.equal, codes, sample_weight, groups)
        codes, relative = codes[rows], weights / largest
        sums = np.bincount(codes, relative, minlength=len(self.classes_))
        # The weights of the samples of a class add up to the prior of the class.
        priors = check_priors(self.priors, sums)
        weights = relative * (priors / sums)[codes]
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
            X = some_rows(X, rows, self.kernel == "precomputed")
        return TrainingData(
            X,
            codes[order],
            groups[order],
            relative[order],
            weights[order],
            priors,
            rows=rows,
            selection=selection,
            n_held_out=len(held_out),
            total_weight=float(relative.sum()) * largest,
        )

    def _learn_metric(self, X, codes, sample_weight, groups):
        """Set the map of the samples before the kernel, and its selection."""
        relative = sample_weight / (sample_weight.max() or 1.0)
        used = np.flatnonzero(relative)
        samples = take(X, used), codes[used], relative[used]
        groups = checked_groups(groups, codes, used)
        current_progress().stage("metric")
        with one_blas_thread(len(samples[1]) <= _MAX_HELD_OUT):
            found = learn_metric(self, *samples, groups)
        self.omega_, self.metric_selection_ = found

    def _mapped(self, X):
        """Samples in the coordinates of the kernel.

        In single precision, the products of samples far from zero would be inaccurate.
        """
        if not hasattr(self, "omega_"):
            return X
        X = in_double(X)
        return X @ like(self.omega_, X, X.dtype).T

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
        return kernel.uses_gamma and self.gamma == "select" and self.regularization != 0

    def _candidates(self, kernel, data, summary):
        """Candidates of gamma, candidates of the regularization, and a factor.

        The regularization divided by the factor is that of the subsample.
        """
        gammas = [self.gamma if kernel.uses_gamma else None]
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
        ratio = data.sample_weight[data.selection].sum() / data.sample_weight.sum()
        ratio = float(ratio) ** (2 if self.penalty == "identity" else 1)
        values = np.array([self.regularization])
        if self.regularization == "auto":
            # With the identity, the penalty is compared with squared eigenvalues of K.
            exponent = 1.5 if self.penalty == "identity" else 1
            values = ratio * _REGULARIZATIONS**exponent
            if self.solver_ == "nystroem":
                values = np.maximum(values, kernel.precision(data.X))
        return gammas, values, ratio

    def _select(self, kernel, data, summary):
        """The kernel with its gamma, and the regularization; sets ``selection_``."""
        self.selection_ = None
        gammas, values, ratio = self._candidates(kernel, data, summary)
        if len(gammas) == len(values) == 1:
            return kernel.with_gamma(gammas[0]), float(values[0])
        part = data.part(data.selection, kernel.precomputed)
        candidates, identity = (gammas, values, ratio), self.penalty == "identity"
        with one_blas_thread():
            self.selection_ = select(kernel, *candidates, part, identity)
        i, j = divmod(self.selection_.index, len(values))
        return kernel.with_gamma(gammas[i]), float(values[j])

    def _system(self, kernel, data):
        """The system to solve."""
        identity, warn = self.penalty == "identity", not self._selects_gamma(kernel)
        if self.solver_ == "nystroem":
            random_state = check_random_state(self.random_state)
            points = landmarks_of(kernel, data, self.n_landmarks, random_state)
            return LandmarkSystem(kernel, data, identity, points, warn)
        kind = CholeskySystem if self.solver_ == "cholesky" else KernelSystem
        return kind(kernel, data, identity, warn)

    def _solve(self, system, n_last):
        """The discriminants, with the last samples if ``n_last`` is positive."""
        if self.criterion == "between" and system.same_means:
            raise ValueError(ALL_MEANS_EQUAL)
        n_components = self.n_components or len(self.classes_) - 1
        settings = self.regularization_, self.criterion, n_components, n_last
        with explain_singular(self.regularization_):
            found = system.solve(*settings)
        n_found = len(found.eigenvalues)
        if not n_found:
            raise ValueError(ALL_MEANS_EQUAL)
        if self.n_components is not None and n_found < n_components:
            raise ValueError(
                f"n_components={n_components} exceeds the number of components with a "
                f"positive ratio in the feature space of the kernel, {n_found}. Use at "
                f"most {n_found}, or n_components=None."
            )
        return found

    def _store(self, kernel, data, system, found, calibration):
        """Set the fitted attributes."""
        self._kernel, self.kernel_center_ = kernel, kernel.center
        self.gamma_ = kernel.parameters.get("gamma") if kernel.uses_gamma else None
        self.n_landmarks_, self.priors_ = system.n_landmarks, data.class_weights
        self.eigenvalues_, self.offset_ = found.eigenvalues, found.offset
        self.means_, self.dual_coef_ = found.means, found.coefficients
        self.X_fit_ = None if kernel.precomputed else system.points
        if kernel.precomputed:  # one coefficient for each column of the kernel matrix
            self.dual_coef_ = np.zeros((self.n_features_in_, len(found.eigenvalues)))
            self.dual_coef_[data.rows[system.points]] = found.coefficients
        # In the solvers, the weights of the samples sum to one. In the ratio, each
        # weight is one, so the scatter matrices are larger by the factor n_samples. For
        # R = I, there is a second factor n_samples, because the coefficients of the
        # solvers are divided by its square root.
        power = 2 if self.penalty == "identity" else 1
        self.lambda_ = float(found.penalty) * data.total_weight**power
        self.calibration_ = calibration
        if self.selection_ is not None:
            temperature = calibration.temperature
            self.selection_ = replace(self.selection_, temperature=temperature)

    @predict_method
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
        X = validate_data(self, X, accept_sparse=self._accepts_sparse, reset=False)
        samples = self._mapped(X), self.X_fit_
        components = self._kernel.project(*samples, self.dual_coef_, self.offset_)
        return astype(components, X.dtype)

    def _joint_log_likelihood(self, X):
        """Logarithms of the posteriors, up to a term that is common to all classes."""
        components = self._components(X)
        return class_scores(self.calibration_, components, self.means_, self.priors_)

    def _log_posteriors(self, joint):
        return noisy_log_posteriors(joint, self.label_noise_, self.priors_)

    @property
    def temperature_(self):
        """The temperature of the calibration."""
        return self.calibration_.temperature

    @property
    def label_noise_(self):
        """The label noise of the calibration."""
        return self.calibration_.label_noise

    @property
    def _accepts_sparse(self):
        return accepts_sparse(self.kernel) and self.metric is None

    @property
    def _needs_library(self):
        """Whether a callable kernel expects arrays of the library of X."""
        return callable(self.kernel)

    @property
    def _n_features_out(self):
        return self.dual_coef_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in ("chi2", "additive_chi2")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
