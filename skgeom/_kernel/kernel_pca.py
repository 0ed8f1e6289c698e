"""Kernel principal components of many samples, approximated with landmarks."""

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skgeom._kernel._kernels import (
    check_definite,
    kernel_constraints,
    make_kernel,
    warn_if_nearly_diagonal,
)
from skgeom._kernel._nystroem import (
    LandmarkFeatures,
    kmeans_landmarks,
    n_landmarks_of,
    random_landmarks,
)
from skgeom._kernel._system import check_finite_kernel
from skgeom._kernel._training_data import RowSummary, TrainingData, gamma_scale
from skgeom.utils._dask import check_not_dask
from skgeom.utils._sklearn import CallbackSupportMixin, StrOptions, positive
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.linalg import signs
from skgeom.utils.methods import fit_method, predict_method
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import check_array, check_labels, validate_data
from skgeom.utils.warn import warn_if_unscaled

# Minimum number of samples from which the principal axes are computed. With this number
# instead of all 30,000 images of MNIST, the fit is 1.5 times as fast
# (`bench_kernel_features.py`).
_LEAST_SAMPLES = 5000


class LandmarkKernelPCA(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    r"""Kernel principal components with landmarks, as features for nonlinear filters.

    A kernel k is the inner product of samples in a feature space. The features z(x) of
    a sample x are the leading principal components in the span of the landmarks
    :math:`l_1, \dots, l_q` in the feature space,

    .. math:: z(x) = A^\top \big( L^{-1} (k(l_1, x), \dots, k(l_q, x))^\top - \mu \big)

    where :math:`L L^\top` is the kernel matrix of the landmarks. The mean :math:`\mu`
    and the covariance of the vectors
    :math:`L^{-1} (k(l_1, x), \dots, k(l_q, x))^\top` are computed from the samples. The
    columns of A are the leading eigenvectors of this covariance [1]_ [2]_. The
    principal axes are orthonormal: a filter of unit norm for z is a function of unit
    norm in the feature space.

    Use :class:`~skgeom.SQFA` or :class:`~skgeom.AMAGauss` with these features to learn
    nonlinear filters. Unlike :class:`sklearn.decomposition.KernelPCA`,
    LandmarkKernelPCA does not require the kernel matrix of all samples: it computes the
    kernel matrix of the landmarks, and the kernels between samples and landmarks.

    Parameters
    ----------
    n_components : int or None, default=500
        Number of components, at most the number of linearly independent landmarks; a
        larger number is reduced. None keeps all components.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks, at most the number of samples. More landmarks approximate
        the kernel more precisely. ``"auto"`` is 200 times the fourth root of the number
        of samples, for example 2,000 landmarks for 10,000 samples.
    kernel : str or callable, default="rbf"
        A name of :func:`sklearn.metrics.pairwise.pairwise_kernels`, or a symmetric
        positive semidefinite function of two matrices of samples that returns their
        kernel matrix. Set further arguments of a function by
        :class:`functools.partial`.
    gamma : float, "scale" or None, default="scale"
        Coefficient of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
        ``"scale"`` is one over the sum of the variances of the features. None is the
        default of the kernel, which is 1 for "chi2" and ``1 / n_features`` for all
        other kernels.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks, and of the random samples from which the principal axes
        are computed.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks: the centers of clusters, or all samples if ``n_landmarks`` is not
        smaller than the number of samples. Landmarks are removed if their kernels are
        linearly dependent.
    dual_coef_ : ndarray of shape (n_landmarks, n_components)
        Coefficients of the kernels with the landmarks.
    offset_ : ndarray of shape (n_components,)
        Offsets that are subtracted to center the components.
    kernel_center_ : ndarray of shape (n_features,) or None
        The mean of the training samples, which is subtracted from samples and landmarks
        before the kernel "rbf" or "linear" is computed. None for other kernels.
    eigenvalues_ : ndarray of shape (n_components,)
        Variances of the components, in descending order.
    gamma_ : float or None
        The value of ``gamma`` that was used. None if the kernel has no ``gamma``, or if
        the default of the kernel was used.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    KernelDiscriminantAnalysis : Learns at most ``n_classes - 1`` discriminant functions
        in the feature space.
    sklearn.kernel_approximation.Nystroem : Kernel features with random landmarks.

    Notes
    -----
    The mean and the principal axes are computed from a random subset of the samples,
    because approximate axes are sufficient. The subset contains as many samples as
    there are landmarks, but at least 5,000 samples, or all samples if there are fewer.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola and K.-R. Müller, "Nonlinear component analysis as a
       kernel eigenvalue problem", Neural Computation 10(5), 1998.
    .. [2] C. Williams and M. Seeger, "Using the Nyström method to speed up kernel
       machines", NIPS 13, 2001.

    Examples
    --------
    Separate two concentric rings. Quadratic functions of one linear feature cannot
    separate the rings, but quadratic functions of one nonlinear feature can:

    >>> from sklearn.datasets import make_circles
    >>> from sklearn.pipeline import make_pipeline
    >>> from skgeom import SQFA, GaussianClassifier, LandmarkKernelPCA
    >>> X, y = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    >>> model = make_pipeline(
    ...     LandmarkKernelPCA(20, n_landmarks=50, random_state=0),
    ...     SQFA(1, distance="hellinger", random_state=0),
    ...     GaussianClassifier(),
    ... )
    >>> model.fit(X, y).score(X, y)
    1.0
    """

    _fitted_array = "landmarks_"
    _parameter_constraints = {
        **kernel_constraints,
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS)), callable],
        "gamma": [None, StrOptions({"scale"}), positive],
    }

    def __init__(
        self,
        n_components=500,
        *,
        n_landmarks="auto",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    @fit_method
    def fit(self, X, y=None):
        """Select the landmarks, and compute the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : None
            Ignored, so that the estimator can be a step of any pipeline.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X is malformed, or if the kernel matrix of the landmarks is zero,
            is not positive semidefinite, or contains infinite or NaN values.
        TypeError
            If X is a Dask array or data frame.
        MemoryError
            If the kernel matrix of the landmarks does not fit into memory.

        Warns
        -----
        UserWarning
            If the kernel matrix of the landmarks is nearly diagonal, or if ``gamma`` is
            "scale" and one feature or a tenth of the features have more than 99 % of
            the variance of all features.
        """
        check_not_dask(self, X, "Fit to a sample of it, and transform it in blocks")
        options = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2}
        X = validate_data(self, X, **options)
        progress = current_progress()
        progress.start(X, y)
        rng, weights = check_random_state(self.random_state), np.ones(len(X))
        summary = RowSummary.of(X, weights)
        kernel = make_kernel(self, X, summary.center)
        gamma = gamma_scale(summary) if self.gamma == "scale" else self.gamma
        if self.gamma == "scale" and kernel.uses_gamma:
            consequence = "Features of large variance determine the kernel."
            warn_if_unscaled(X.var(axis=0, dtype=float), consequence, self)
        self._kernel = kernel = kernel.with_gamma(gamma)
        self.gamma_, self.kernel_center_ = kernel.parameters.get("gamma"), kernel.center
        progress.stage("landmarks")
        n_landmarks, landmarks = n_landmarks_of(self.n_landmarks, len(X)), X
        if n_landmarks < len(X):
            one_class = np.zeros(len(X), dtype=int)
            landmarks = kmeans_landmarks(n_landmarks, X, one_class, weights, rng)
            landmarks = landmarks.astype(X.dtype, copy=False)
        progress.stage("kernel matrix")
        matrix = kernel(landmarks.astype(np.float64))
        warn_if_nearly_diagonal(matrix, kernel)
        if not kernel.definite:
            # A callable kernel may be computed in single precision.
            size = len(matrix) * check_finite_kernel(matrix)
            rounding = np.finfo(np.float32).eps * size
            name = "The kernel matrix of the landmarks"
            check_definite(matrix, name, rounding, "Use a different kernel")
        features = LandmarkFeatures(
            matrix, lambda X, kept: kernel(X, landmarks[kept]), landmarks.dtype
        )
        self.landmarks_ = np.array(landmarks[features.kept])
        rank = len(self.landmarks_)
        n_components = min(self.n_components or rank, rank)
        progress.stage("principal axes")
        rows = random_landmarks(max(n_landmarks, _LEAST_SAMPLES), len(X), rng)
        weights, one = np.full(len(rows), 1 / len(rows)), np.ones(1)
        codes = np.zeros(len(rows), dtype=int)
        sample = TrainingData(X[rows], codes, codes, weights, weights, one)
        (mean,), moment = features.moments(sample)
        covariance = moment - np.outer(mean, mean)
        subset = [rank - n_components, rank - 1]
        variances, axes = eigh(covariance, subset_by_index=subset, check_finite=False)
        variances, axes = variances[::-1], axes[:, ::-1] * signs(axes[:, ::-1].T)
        # The features were computed from the kernel divided by its maximum.
        scale = np.sqrt(features.kernel_max)
        self.eigenvalues_ = np.maximum(variances, 0) * features.kernel_max
        coefficients = features.to_coefficients(axes) * scale
        self.dual_coef_ = np.ascontiguousarray(coefficients, dtype=X.dtype)
        self.offset_ = (mean @ axes * scale).astype(X.dtype)
        return self

    @predict_method
    def transform(self, X):
        """Compute the kernel principal components of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The components.
        """
        X = validate_data(self, X, reset=False)
        points = self.landmarks_
        return self._kernel.project(X, points, self.dual_coef_, self.offset_)

    def preimages(self, filters):
        r"""Compute inputs that maximize the outputs of filters on the components.

        For a filter w, the preimage is an input x at which the output
        :math:`w^\top z(x)` has a local maximum. The method requires the kernel "rbf".
        It starts from the landmark with the largest output and iterates (S. Mika and
        others, "Kernel PCA and de-noising in feature spaces", NIPS 11, 1999)

        .. math:: x \leftarrow \frac{\sum_l \alpha_l \, k(l, x) \, l}
           {\sum_l \alpha_l \, k(l, x)}

        where the sums are over the landmarks l, and :math:`\alpha_l` are the
        coefficients of the output, ``dual_coef_ @ w``. If the denominator is not
        positive at the first landmark, this landmark is the result. Pass ``-filters``
        to compute inputs that minimize the outputs.

        Parameters
        ----------
        filters : array-like of shape (n_filters, n_components)
            The filters, such as the ``components_`` of :class:`~skgeom.SQFA`.

        Returns
        -------
        ndarray of shape (n_filters, n_features)
            The preimage of each filter.

        Raises
        ------
        ValueError
            If the kernel is not "rbf", or if the filters do not have one column per
            component.
        """
        check_is_fitted(self)
        if self._kernel.function != "rbf":
            raise ValueError(
                "Preimages can be computed only for kernel='rbf', not for "
                f"{self._kernel.function!r}."
            )
        names = self.get_feature_names_out()
        check_labels(filters, -1, names, "filters", "the output")
        filters = check_array(filters, dtype=np.float64, input_name="filters")
        if filters.shape[1] != len(self.offset_):
            raise ValueError(
                f"filters must have {len(self.offset_)} columns, one for each "
                f"component, got shape {filters.shape}."
            )
        landmarks = self.landmarks_.astype(np.float64)
        all_coefficients = self.dual_coef_.astype(np.float64) @ filters.T
        starts = (self._kernel(landmarks) @ all_coefficients).argmax(axis=0)
        return np.stack(
            [
                self._ascent(landmarks[start], landmarks, coefficients)
                for start, coefficients in zip(starts, all_coefficients.T, strict=True)
            ]
        )

    def _ascent(self, x, landmarks, coefficients):
        """The iteration of preimages; halves steps that do not increase the output."""

        def terms(x):
            return coefficients * self._kernel(x[None], landmarks)[0]

        weights = terms(x)
        value, step = weights.sum(), 1.0
        tol = 1e-8 * max(abs(value), np.finfo(float).tiny)
        while step > 1e-3:
            # The step to the fixed point, which is parallel to the gradient.
            change = (weights @ landmarks) / weights.sum() - x if value > 0 else 0 * x
            trial = terms(x + step * change)
            if trial.sum() > value + tol:
                x, weights, value = x + step * change, trial, trial.sum()
                step = min(2 * step, 1.0)
            else:
                step /= 2
        return x

    @property
    def _n_features_out(self):
        return len(self.offset_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.kernel in ("chi2", "additive_chi2")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
