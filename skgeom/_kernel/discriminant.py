"""Kernel discriminant analysis."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from skgeom._kernel.base import (
    ATTRIBUTES,
    PARAMETERS,
    BaseKernelDiscriminant,
    candidate_regularizations,
)
from skgeom._kernel.functions import warn_if_alone
from skgeom._kernel.landmarks import (
    LandmarkFeatures,
    kmeans_landmarks,
    leverage_landmarks,
    random_landmarks,
    solve_nystroem,
)
from skgeom._kernel.problem import (
    MAX_REGULARIZATION,
    KernelProblem,
    explain_singular,
)
from skgeom.utils._docs import substitute_docs
from skgeom.utils._undo import all_or_nothing
from skgeom.utils._validation import check_semidefinite

# Up to this number of samples, "auto" solves exactly: a matrix of 800 MB.
MAX_EXACT = 10_000

# Samples, and values, by which "auto" chooses the regularisation. With more, the
# choice would take longer than the fit.
_MAX_LEFT_OUT = 1000
_N_CANDIDATES = 25


@substitute_docs(parameters=PARAMETERS, attributes=ATTRIBUTES)
class KernelDiscriminantAnalysis(BaseKernelDiscriminant):
    r"""Kernel discriminant analysis, exact or with landmarks.

    Finds functions of the form :math:`f(x) = \sum_i \alpha_i k(x, x_i)` that differ
    much between the classes and little within them; with the default criterion, they
    are uncorrelated on the training samples. With the kernel matrix K, its rows
    :math:`K^{(y)}` of class y, and centring matrices C, their coefficients maximise in
    turn

    .. math::

       \frac{\alpha^\top S_t \alpha}{\alpha^\top (S_w + \lambda R) \alpha}, \quad
       S_t = K^\top C_n K, \quad S_w = \sum_y (K^{(y)})^\top C_{n_y} K^{(y)}

    (equation 13 of [1]_), or the same with :math:`S_b = S_t - S_w` in place of
    :math:`S_t`. The functions are the components of :meth:`transform`. To classify,
    a sample is compared with the class means of the components, as in linear
    discriminant analysis (LDA). The regularised within-class covariance is the identity
    there.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, at most ``n_classes - 1``. None is as many as there are.
        The classifier uses these components only. To draw some of them, keep all and
        take the leading columns of :meth:`transform`.
    {parameters}
    regularization : float or "auto", default=1e-3
        :math:`\lambda` over the trace of :math:`S_t` in coordinates in which R is the
        identity, so that it means the same for other data, numbers of samples and
        scales of the kernel. With the centred kernel matrix K, :math:`\lambda` is
        ``regularization`` times :math:`\|K\|_F^2` for ``penalty="identity"``
        (:math:`\|C_n K\|_F^2`, with K as it is, for ``center=False``), and times
        :math:`\operatorname{tr} K` for ``"kernel"``; see ``lambda_``. The default is
        a heavy penalty for more than a few hundred samples, where values like 1e-6
        often predict better. ``"auto"`` chooses a value by the squared errors of kernel
        ridge regression onto the classes when one sample is left out at a time, which
        have a closed form; beyond 1,000 samples, by a part of them.
        :class:`KernelDiscriminantAnalysisCV` chooses by cross-validated scores. Zero
        needs solver "eigen" and a regular :math:`S_w`. The largest value is 1e8. The
        scatter is negligible then, and more would only scale the components.
    penalty : {"identity", "kernel"}, default="identity"
        The matrix R: the identity, or K.
    criterion : {"total", "between"}, default="total"
        The numerator of the ratio: :math:`S_t`, as in [1]_, or :math:`S_b`. They
        differ if ``regularization`` is not zero, see the user guide.
    center : bool, default=True
        Whether to centre the training samples in the feature space, equation 14.
    solver : {"auto", "eigen", "cholesky", "nystroem"}, default="auto"
        ``"eigen"`` solves the dense eigenproblem. ``"cholesky"`` gives the same and
        needs one Cholesky factor. ``"nystroem"`` approximates the kernel with
        landmarks, for many samples. ``"auto"`` is ``"cholesky"`` for up to 10,000
        samples (``"eigen"`` if ``regularization`` is zero), and ``"nystroem"`` above.
    n_landmarks : int, default=1000
        Number of landmarks for solver "nystroem". At most ``n_samples`` are used, and
        with "kmeans" at least one for each class.
    landmarks : {"auto", "kmeans", "leverage", "random"}, default="auto"
        How landmarks are chosen: as cluster centres in each class, or as samples drawn
        by their ridge leverage scores, or uniformly at random. ``"auto"`` is
        ``"kmeans"``, or ``"random"`` for a precomputed kernel.
    priors : None, "empirical", "uniform" or array-like of shape (n_classes,)
        Class probabilities, which weight the classes in training and prediction. None,
        the default, or ``"empirical"`` takes them from the samples and
        ``sample_weight``. Use ``"uniform"`` if rare classes count as much as others.
    random_state : int, RandomState instance or None, default=None
        For the choice of landmarks.

    Attributes
    ----------
    regularization_ : float
        The value of ``regularization`` that was used.
    solver_ : str
        The solver that was used.
    {attributes}

    See Also
    --------
    KernelDiscriminantAnalysisCV : Chooses ``regularization`` by cross-validation.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The same with a linear
        kernel.

    Notes
    -----
    Components are scaled such that the denominator of the ratio, in terms of
    covariances, is one: without regularisation they have a variance of one within the
    classes, as those of scikit-learn's LDA. Their total variance (with "between", that
    of the class means) is in ``eigenvalues_``. The class whose mean is largest in
    magnitude, the last one of equals, has a positive one.

    Sample weights stand for repeated samples. A kernel with negative eigenvalues is an
    error, except for ``penalty="identity"`` with an exact solver, where the scatter
    matrices are semidefinite all the same.

    References
    ----------
    .. [1] "Kernel Discriminant Analysis", a note with equations 1 to 14.

    Examples
    --------
    Two rings, which no line separates:

    >>> from sklearn.datasets import make_circles
    >>> from skgeom import KernelDiscriminantAnalysis
    >>> X, y = make_circles(200, factor=0.5, noise=0.05, random_state=0)
    >>> kda = KernelDiscriminantAnalysis(kernel="rbf", gamma=1).fit(X, y)
    >>> kda.transform(X).shape
    (200, 1)
    >>> kda.score(X, y)
    1.0
    """

    _parameter_constraints = {
        **BaseKernelDiscriminant._parameter_constraints,
        "regularization": [
            StrOptions({"auto"}),
            Interval(Real, 0, MAX_REGULARIZATION, closed="both"),
        ],
        "solver": [StrOptions({"auto", "eigen", "cholesky", "nystroem"})],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "landmarks": [StrOptions({"auto", "kmeans", "leverage", "random"})],
        "random_state": ["random_state"],
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
        regularization=1e-3,
        penalty="identity",
        criterion="total",
        center=True,
        solver="auto",
        n_landmarks=1000,
        landmarks="auto",
        priors=None,
        random_state=None,
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
        self.center = center
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.priors = priors
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Learn the discriminant functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; for a precomputed kernel, their kernel matrix. Not modified.
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; None is one for each.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, if ``n_components`` is
            more than there are, if the kernel is not symmetric, finite or positive
            semidefinite, if to the kernel all samples, or all class means, are the
            same, or if the regularised within-class matrix is singular.
        """
        X, codes = self._validate(X, y)
        copies = np.ones(len(X))
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            copies = np.maximum(sample_weight, 1)
            # Relative to the largest one, weights have a finite sum.
            largest_weight = float(sample_weight.max()) or 1.0
            sample_weight = sample_weight / largest_weight
        weights, class_weights = self._weigh(codes, sample_weight)
        self._prepare_kernel(X, sample_weight)
        self.regularization_ = self.regularization
        if self.regularization == "auto":
            self.regularization_ = self._choose_regularization(
                X, codes, sample_weight, copies
            )
        self.solver_ = self._chosen_solver(len(X))
        solve = self._solve_nystroem if self.solver_ == "nystroem" else self._solve
        settings = {
            "regularization": self.regularization_,
            "criterion": self.criterion,
            "n_components": self.n_components or len(self.classes_) - 1,
        }
        with explain_singular(self.regularization_, np.finfo(X.dtype).eps):
            discriminants = solve(X, codes, weights, class_weights, settings)
        n_samples = len(X)
        if sample_weight is not None:
            n_samples = float(sample_weight.sum()) * largest_weight
        self._set_discriminants(discriminants, n_samples)
        return self

    def _choose_regularization(self, X, codes, sample_weight, copies):
        """The value of the least error in samples that are left out."""
        kept = np.arange(len(X))
        if sample_weight is not None:
            kept = np.flatnonzero(sample_weight)
        # Evenly over the samples of each class, so that nothing is left to chance.
        step = -(-len(kept) // _MAX_LEFT_OUT)
        of_classes = [kept[codes[kept] == c][::step] for c in range(len(self.classes_))]
        kept = np.sort(np.concatenate(of_classes))
        columns = kept if self.kernel == "precomputed" else slice(None)
        part, codes = X[kept][:, columns].astype(np.float64), codes[kept]
        weights = np.ones(len(kept)) if sample_weight is None else sample_weight[kept]
        sums = np.bincount(codes, weights)
        problem = KernelProblem(
            self._kernel_matrix(part),
            codes,
            weights * (self.priors_ / sums)[codes],
            self.priors_,
            identity=self.penalty == "identity",
            center=self.center,
            definite=self._definite,
            precision=np.finfo(X.dtype).eps,
        )
        values = candidate_regularizations(self.penalty, _N_CANDIDATES)
        errors = problem.errors_left_out(values, copies[kept])
        return float(values[np.argmin(errors)])

    def _chosen_solver(self, n_samples):
        solver = self.solver
        if solver == "auto":
            solver = "cholesky" if self.regularization else "eigen"
            solver = solver if n_samples <= MAX_EXACT else "nystroem"
        if solver != "eigen" and not self.regularization:
            raise ValueError(
                "regularization must be positive with "
                f"{self._solver_text(solver)}; use solver='eigen' for regularization=0."
            )
        return solver

    def _solver_text(self, solver):
        """What messages call the solver, with the reason if it was not asked for."""
        if self.solver != "auto":
            return f"solver={solver!r}"
        return f"solver={solver!r}, which 'auto' is for more than {MAX_EXACT:,} samples"

    def _solve(self, X, codes, weights, class_weights, settings):
        """Solve exactly, with the kernel matrix of all samples."""
        self.X_fit_ = None
        if self.kernel != "precomputed":
            self.X_fit_ = X = np.array(X, dtype=np.float64)
        kernel = self._kernel_matrix(X)
        warn_if_alone(kernel, self.kernel)
        problem = KernelProblem(
            kernel,
            codes,
            weights,
            class_weights,
            identity=self.penalty == "identity",
            center=self.center,
            definite=self._definite,
            precision=np.finfo(X.dtype).eps,
        )
        if self.solver_ == "eigen":
            return problem.solve_eigen(**settings)
        return problem.solve_cholesky(**settings)

    def _solve_nystroem(self, X, codes, weights, class_weights, settings):
        """Solve with landmarks, which become ``X_fit_``."""
        points, indices = self._choose_landmarks(X, codes, weights)
        features = self._features(X, points, indices, warn=True)
        means, moment = features.moments(X, codes, weights, class_weights)
        discriminants = solve_nystroem(
            features,
            means,
            moment,
            class_weights,
            identity=self.penalty == "identity",
            center=self.center,
            **settings,
        )
        if self.kernel == "precomputed":
            self.X_fit_ = None
            coefficients = np.zeros((len(X), discriminants.coefficients.shape[1]))
            coefficients[indices[features.kept]] = discriminants.coefficients
            discriminants.coefficients = coefficients
        else:
            self.X_fit_ = points[features.kept]
        return discriminants

    def _choose_landmarks(self, X, codes, weights):
        """Landmarks, and their indices, None if they are not samples."""
        random_state = check_random_state(self.random_state)
        n_landmarks = min(self.n_landmarks, np.count_nonzero(weights))
        method = self.landmarks
        if method == "auto":
            method = "random" if self.kernel == "precomputed" else "kmeans"
        if n_landmarks == np.count_nonzero(weights) or method == "random":
            indices = random_landmarks(n_landmarks, weights, random_state)
        elif method == "leverage":
            indices = leverage_landmarks(
                n_landmarks,
                lambda pilot: self._features(X, X[pilot], pilot),
                X,
                weights,
                random_state,
            )
        elif self.kernel == "precomputed":
            raise ValueError(
                "landmarks='kmeans' needs samples, not kernel='precomputed', with "
                f"{self._solver_text('nystroem')}; use 'leverage' or 'random'."
            )
        else:
            return kmeans_landmarks(n_landmarks, X, codes, weights, random_state), None
        return X[indices], indices

    def _features(self, X, points, indices, warn=False):
        """Features of landmarks, given themselves and their indices."""
        if self.kernel == "precomputed":
            matrix = X[np.ix_(indices, indices)]

            def columns(X, kept):
                return X[:, indices[kept]]

        else:
            matrix = self._kernel(points.astype(np.float64))

            def columns(X, kept):
                return self._kernel(X, points[kept])

        if warn:
            warn_if_alone(matrix, self.kernel)
        if not self._definite:
            solver = self._solver_text("nystroem")
            rounding = np.finfo(matrix.dtype).eps * len(matrix) * np.abs(matrix).max()
            check_semidefinite(
                np.asarray(matrix, dtype=np.float64)[None],
                f"The kernel matrix of the landmarks, of {solver},",
                kind="kernel matrix of a positive semidefinite kernel",
                remedy="Use solver='eigen' or 'cholesky' with penalty='identity', or "
                "another kernel",
                rounding=rounding,
            )
        return LandmarkFeatures(matrix, columns, X.dtype)
