"""Kernel discriminant analysis."""

from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from skgeom._kernel.base import (
    ATTRIBUTES,
    CLASS_PARAMETERS,
    PARAMETERS,
    BaseKernelDiscriminant,
    candidate_regularizations,
    heaviest_of_the_best,
    relative_weights,
    rescaled_to,
    spread_over_classes,
)
from skgeom._kernel.blocks import BlockedRows
from skgeom._kernel.calibration import (
    calibrate,
    left_out_components,
    products_and_squares,
)
from skgeom._kernel.device import DeviceKernelProblem, kernel_on_host
from skgeom._kernel.functions import warn_if_alone
from skgeom._kernel.landmarks import (
    LandmarkFeatures,
    LandmarkProblem,
    kmeans_landmarks,
    leverage_landmarks,
    random_landmarks,
)
from skgeom._kernel.problem import (
    MAX_REGULARIZATION,
    KernelProblem,
    explain_singular,
)
from skgeom.utils._dask import empty_block, refuse_dask
from skgeom.utils.array_api import (
    block,
    dtype_name,
    in_double,
    is_dask,
    move_attributes,
    namespace,
    precision,
    take,
    to_numpy,
)
from skgeom.utils.estimator import estimator_method, substitute_docs
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import check_semidefinite

# Up to this number of samples, "auto" solves exactly: a matrix of 800 MB.
MAX_EXACT = 10_000

# Samples that are left out to choose the temperature, and the regularisation, and its
# values to choose from. With more, the choices would take longer than the fit.
_MAX_LEFT_OUT = 1000
_MAX_CHOOSING = 700
_N_CANDIDATES = 25
# The lightest penalty of landmarks that is chosen, over the precision of X.
_LIGHTEST = 2


@dataclass
class Samples:
    """Training samples, with classes and weights."""

    X: np.ndarray  # or an array of another library
    codes: np.ndarray
    weights: np.ndarray  # in training, of sum one
    class_weights: np.ndarray  # their sums over the classes
    sample_weight: np.ndarray  # as given, relative to the largest
    copies: np.ndarray  # the number of samples that each one stands for

    def part(self, rows, precomputed):
        """Some of the samples, with the same weights of the classes."""
        X = block(self.X, rows, rows) if precomputed else take(self.X, rows)
        codes, weights = self.codes[rows], self.weights[rows]
        weights = weights * (self.class_weights / np.bincount(codes, weights))[codes]
        return Samples(
            X,
            codes,
            weights,
            self.class_weights,
            self.sample_weight[rows],
            self.copies[rows],
        )


@substitute_docs(
    parameters=PARAMETERS, class_parameters=CLASS_PARAMETERS, attributes=ATTRIBUTES
)
class KernelDiscriminantAnalysis(BaseKernelDiscriminant):
    r"""Kernel discriminant analysis, exact or with landmarks.

    Finds functions of the form :math:`f(x) = \sum_i \alpha_i k(x, x_i)` that differ
    much between the classes and little within them. With the kernel matrix K, its rows
    :math:`K^{(y)}` of class y, and centring matrices C, their coefficients maximise in
    turn

    .. math::

       \frac{\alpha^\top S_b \alpha}{\alpha^\top (S_w + \lambda R) \alpha}, \quad
       S_b = S_t - S_w, \quad S_t = K^\top C_n K, \quad
       S_w = \sum_y (K^{(y)})^\top C_{n_y} K^{(y)},

    or the same with :math:`S_t` in place of :math:`S_b` (equation 13; numbers are those
    of an unpublished note). The method is that of [1]_ and [2]_. The functions are the
    components of :meth:`transform`. To classify, a sample is compared with the class
    means of the components, as in linear discriminant analysis (LDA).
    Samples that are left out of training choose the penalty :math:`\lambda`, and
    calibrate the probabilities, see :meth:`decision_function`.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, at most ``n_classes - 1``. None is as many as there are.
        The classifier uses these components only. To draw some of them, keep all and
        take the leading columns of :meth:`transform`.
    {parameters}
    regularization : float or "auto", default="auto"
        :math:`\lambda` over the trace of :math:`S_t` in coordinates in which R is the
        identity, so that it means the same for other data and scales of the kernel.
        With the centred kernel matrix K, :math:`\lambda` is ``regularization`` times
        :math:`\operatorname{tr} K` for ``penalty="kernel"``, and times
        :math:`\|K\|_F^2` for ``"identity"`` (:math:`\|C_n K\|_F^2`, with K as it is,
        for ``center=False``); see ``lambda_``. ``"auto"`` chooses a value by the
        squared errors of kernel ridge regression onto the classes when one sample is
        left out at a time, which have a closed form. About 700 samples predict each
        other at most, or two of each class if there are more than 350.
        :class:`KernelDiscriminantAnalysisCV` chooses by cross-validated scores. Zero
        needs solver "eigen" and a regular :math:`S_w`. The largest value is 1e8. The
        scatter is negligible then, and more would only scale the components.
    penalty : {"identity", "kernel"}, default="kernel"
        The matrix R: K, or the identity, which allows kernels that are not positive
        semidefinite.
    criterion : {"total", "between"}, default="between"
        The numerator of the ratio: :math:`S_t` of equation 13, or :math:`S_b`. They
        differ if ``regularization`` is not zero, see the user guide. With "total", the
        components are uncorrelated on the training samples.
    center : bool, default=True
        Whether to centre the training samples in the feature space, equation 14.
    solver : {"auto", "eigen", "cholesky", "nystroem"}, default="auto"
        ``"eigen"`` solves the dense eigenproblem. ``"cholesky"`` gives the same and
        needs one Cholesky factor. ``"nystroem"`` approximates the kernel with
        landmarks, for many samples. ``"auto"`` is ``"cholesky"`` for up to 10,000
        samples (``"eigen"`` if ``regularization`` is zero), and ``"nystroem"`` above,
        where the exact solution takes several times as long; see ``solver_``.
    n_landmarks : int, default=2000
        Number of landmarks for solver "nystroem". At most ``n_samples`` are used, and
        with "kmeans" at least one for each class.
    landmarks : {"auto", "kmeans", "leverage", "random"}, default="auto"
        How landmarks are chosen: as cluster centres in each class, or as samples drawn
        by their ridge leverage scores, or uniformly at random. ``"auto"`` is
        ``"kmeans"``, or ``"random"`` for a precomputed kernel and for sparse samples,
        whose cluster centres would be dense.
    {class_parameters}
    random_state : int, RandomState instance or None, default=None
        For the choice of landmarks.

    Attributes
    ----------
    regularization_ : float
        The value of ``regularization`` that was used.
    solver_ : str
        The solver that was used: "nystroem" if there are landmarks.
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
    classes, as those of scikit-learn's LDA. The variance of their class means (with
    "total", their own) is in ``eigenvalues_``. The class whose mean is largest in
    magnitude, the last one of equals, has a positive one.

    Sample weights stand for repeated samples, of which one is left out at a time. A
    kernel with negative eigenvalues is an
    error, except for ``penalty="identity"`` with an exact solver, where the scatter
    matrices are semidefinite all the same.

    References
    ----------
    .. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf and K.-R. Müller, "Fisher
       discriminant analysis with kernels", Neural Networks for Signal Processing IX,
       1999.
    .. [2] G. Baudat and F. Anouar, "Generalized discriminant analysis using a kernel
       approach", Neural Computation 12(10), 2000.

    Examples
    --------
    Two rings, which no line separates:

    >>> from sklearn.datasets import make_circles
    >>> from skgeom import KernelDiscriminantAnalysis
    >>> X, y = make_circles(200, factor=0.5, noise=0.05, random_state=0)
    >>> kda = KernelDiscriminantAnalysis().fit(X, y)
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
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        regularization="auto",
        penalty="kernel",
        criterion="between",
        center=True,
        solver="auto",
        n_landmarks=2000,
        landmarks="auto",
        temperature="auto",
        priors=None,
        class_weight=None,
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
        self.temperature = temperature
        self.priors = priors
        self.class_weight = class_weight
        self.random_state = random_state

    @estimator_method
    def fit(self, X, y, sample_weight=None):
        """Learn the discriminant functions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples; for a precomputed kernel, their kernel matrix. Not modified.
            They may be sparse for the kernels "linear", "poly", "rbf", "sigmoid" and
            "cosine".
            With landmarks that are not chosen by leverage, a Dask array or data frame,
            which is read four times, block by block; of so few samples that ``"auto"``
            solves exactly, into memory.
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
        TypeError
            If X is of Dask, and ``solver`` asks for an exact solution; if X is sparse,
            and the kernel takes no sparse samples.
        """
        if is_dask(X):
            X, codes, sample_weight = self._validate_blocks(X, y, sample_weight)
        else:
            X, codes = self._validate(X, y)
        n_samples = len(codes)
        given = sample_weight is not None
        sample_weight, copies, largest_weight = relative_weights(
            sample_weight, n_samples
        )
        weights, class_weights, self.priors_ = self._weigh(codes, sample_weight)
        self._prepare_kernel(X, sample_weight if given else None)
        self.solver_ = self._chosen_solver(n_samples)
        samples = Samples(X, codes, weights, class_weights, sample_weight, copies)
        left_out = self._left_out(samples, _MAX_LEFT_OUT)
        if isinstance(X, BlockedRows):
            choosing = self._left_out(samples, _MAX_CHOOSING)
            X.keep(np.concatenate([left_out, choosing]))
        solve = self._solve_nystroem if self.solver_ == "nystroem" else self._solve
        # Threads of BLAS would wait for each other longer than small matrices take.
        with one_blas_thread(n_samples <= _MAX_LEFT_OUT):
            found, leverages = solve(samples, left_out)
        self._set_discriminants(found, float(sample_weight.sum()) * largest_weight)
        move_attributes(self, X)
        if self.temperature == "auto":
            self._calibrate(samples, left_out, leverages, found)
        return self

    def _validate_blocks(self, X, y, sample_weight):
        """Rows in blocks, class numbers and weights; sets the classes."""
        remedy = "Use solver='nystroem'"
        if self.kernel == "precomputed":
            refuse_dask(self, X, f"{remedy} with samples and another kernel")
        if self.solver not in ("auto", "nystroem"):
            refuse_dask(self, X, remedy)
        if self.landmarks == "leverage":
            raise ValueError(
                "landmarks='leverage' needs scores of all samples, but X is in blocks "
                "of Dask; use 'kmeans' or 'random'."
            )
        empty = validate_data(
            self,
            empty_block(X),
            dtype=[np.float64, np.float32],
            ensure_min_samples=0,
        )
        rows = BlockedRows(X, y, sample_weight, empty.dtype)
        codes = self._encode(rows.y)
        if self._chosen_solver(len(rows)) != "nystroem":
            # Few samples, which the exact solver needs in memory.
            return rows[np.arange(len(rows))], codes, rows.sample_weight
        return rows, codes, rows.sample_weight

    def _calibrate(self, samples, left_out, leverages, found):
        """Set temperature, class means and offsets by samples that are left out."""
        codes, copies = samples.codes[left_out], samples.copies[left_out]
        components = left_out_components(
            to_numpy(self._project(take(samples.X, left_out))),
            codes,
            leverages / copies,
            found,
            self.criterion,
        )
        calibration = calibrate(
            *products_and_squares(components, found.means, found.center),
            codes,
            samples.sample_weight[left_out],
            copies,
            to_numpy(self.priors_),
            np.bincount(samples.codes, samples.sample_weight),
        )
        self._set_calibration(*calibration)

    def _left_out(self, samples, most):
        """Samples to leave out: two of each class at least.

        The one sample of a class would tell nothing about it.
        """
        return spread_over_classes(samples.codes, np.flatnonzero(samples.weights), most)

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

    def _solve(self, samples, left_out):
        """Solve exactly, with the kernel matrix of all samples.

        Returns the discriminants, and the leverages of the samples ``left_out``.
        """
        self.X_fit_ = None
        if self.kernel != "precomputed":
            self.X_fit_ = in_double(samples.X, copy=True)
        rounding = precision(samples.X)
        # The leverages of the last samples are those that take little time.
        order = np.delete(np.arange(len(samples.codes)), left_out)
        order = np.concatenate([order, left_out])
        precomputed = self.kernel == "precomputed"
        problem = self._problem(samples.part(order, precomputed), rounding, warn=True)
        self.regularization_ = self.regularization
        if self.regularization == "auto":
            self.regularization_ = self._chosen_regularization(samples, problem)
        options = {"criterion": self.criterion, "n_components": self._n_wanted}
        with explain_singular(self.regularization_, rounding):
            if self.solver_ == "eigen":
                found = problem.solve_eigen(self.regularization_, **options)
            else:
                found = problem.solve_cholesky(
                    self.regularization_, **options, iterate=self.temperature != "auto"
                )
        leverages = None
        if self.temperature == "auto":
            leverages = problem.leverages(self.regularization_, len(left_out))
        coefficients = np.empty_like(found.coefficients)
        coefficients[order] = found.coefficients
        return replace(found, coefficients=coefficients), leverages

    def _chosen_regularization(self, samples, problem=None):
        """The penalty for which some of the samples predict each other best.

        ``problem`` is that of all samples, if there is one.
        """
        rows, part = self._left_out(samples, _MAX_CHOOSING), samples
        there = namespace(samples.X) is not np
        if problem is None or there or len(rows) < len(samples.codes):
            part = samples.part(rows, self.kernel == "precomputed")
            rounding = precision(part.X)
            problem = self._problem(part, rounding, host=True)
        values = candidate_regularizations(self.penalty, _N_CANDIDATES)
        with one_blas_thread():
            errors = problem.errors_left_out(values, part.copies)
        n_part, n_samples = part.sample_weight.sum(), samples.sample_weight.sum()
        rescaled = rescaled_to(values, self.penalty, float(n_part / n_samples))
        return heaviest_of_the_best(rescaled, errors)

    def _problem(self, samples, precision, warn=False, host=False):
        """The problem of samples; on the host if asked, or if its solver needs that."""
        kernel = self._kernel_matrix(in_double(samples.X))
        if warn:
            warn_if_alone(kernel, self.kernel)
        if host or self.solver_ == "eigen":
            kernel = kernel_on_host(kernel)
        kind = KernelProblem if namespace(kernel) is np else DeviceKernelProblem
        return kind(
            kernel,
            samples.codes,
            samples.weights,
            samples.class_weights,
            identity=self.penalty == "identity",
            center=self.center,
            definite=self._definite,
            precision=precision,
        )

    def _solve_nystroem(self, samples, left_out):
        """Solve with landmarks, which become ``X_fit_``; returns as :meth:`_solve`."""
        X, codes, weights = samples.X, samples.codes, samples.weights
        points, indices = self._choose_landmarks(X, codes, weights)
        features = self._features(X, points, indices, warn=True)
        problem = LandmarkProblem(
            features,
            *features.moments(X, codes, weights, samples.class_weights),
            samples.class_weights,
            identity=self.penalty == "identity",
            center=self.center,
        )
        self.regularization_ = self.regularization
        if self.regularization == "auto":
            lightest = _LIGHTEST * precision(X)
            self.regularization_ = max(self._chosen_regularization(samples), lightest)
        with explain_singular(self.regularization_, precision(X)):
            found = problem.solve(self.regularization_, self.criterion, self._n_wanted)
            leverages = None
            if self.temperature == "auto":
                leverages = problem.leverages(
                    self.regularization_, take(X, left_out), weights[left_out]
                )
        if self.kernel == "precomputed":
            self.X_fit_ = None
            coefficients = np.zeros((len(codes), found.coefficients.shape[1]))
            coefficients[indices[features.kept]] = found.coefficients
            found.coefficients = coefficients
        else:
            self.X_fit_ = take(points, features.kept)
        return found, leverages

    def _choose_landmarks(self, X, codes, weights):
        """Landmarks, and their indices, None if they are not samples."""
        random_state = check_random_state(self.random_state)
        n_landmarks = min(self.n_landmarks, np.count_nonzero(weights))
        method = self.landmarks
        if method == "auto":
            drawn = self.kernel == "precomputed" or issparse(X)
            method = "random" if drawn else "kmeans"
        if n_landmarks == np.count_nonzero(weights) or method == "random":
            indices = random_landmarks(n_landmarks, weights, random_state)
        elif method == "leverage":
            indices = leverage_landmarks(
                n_landmarks,
                lambda pilot: self._features(X, take(X, pilot), pilot),
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
        return take(X, indices), indices

    def _features(self, X, points, indices, warn=False):
        """Features of landmarks, given themselves and their indices."""
        if self.kernel == "precomputed":
            matrix = block(X, indices, indices)

            def columns(X, kept):
                return take(X, indices[kept], axis=1)

        else:
            matrix = self._kernel(in_double(points))

            def columns(X, kept):
                return self._kernel(X, take(points, kept))

        if warn:
            warn_if_alone(matrix, self.kernel)
        if not self._definite:
            solver = self._solver_text("nystroem")
            values = to_numpy(matrix)
            rounding = np.finfo(values.dtype).eps * len(values) * np.abs(values).max()
            check_semidefinite(
                values.astype(np.float64, copy=False)[None],
                f"The kernel matrix of the landmarks, of {solver},",
                kind="kernel matrix of a positive semidefinite kernel",
                remedy="Use solver='eigen' or 'cholesky' with penalty='identity', or "
                "another kernel",
                rounding=rounding,
            )
        return LandmarkFeatures(matrix, columns, dtype_name(X))
