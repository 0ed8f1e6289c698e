"""Kernel principal components of many samples, by landmarks."""

from numbers import Integral

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
    gen_batches,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_is_fitted,
    validate_data,
)

from skgeom._kernel.functions import warn_if_alone
from skgeom._kernel.landmarks import LandmarkFeatures, kmeans_landmarks
from skgeom._kernel.parameters import KERNEL_CONSTRAINTS, KernelMixin
from skgeom.utils._dask import refuse_dask
from skgeom.utils.array_api import check_library
from skgeom.utils.estimator import estimator_method
from skgeom.utils.linalg import signs

# Samples of a block: enough for fast products, at little memory.
_BLOCK = 4096
# The axes are found from this many samples for each of them, or so many altogether.
_SAMPLES_PER_AXIS, _LEAST_SAMPLES = 4, 5000
# The part of the axes up to which leading ones are found by iterations.
_FEW_AXES = 1 / 3
_MOST_ITERATIONS = 1000


class LandmarkKernelPCA(
    KernelMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    r"""Kernel principal components by landmarks: features for nonlinear filters.

    A kernel k is the inner product of samples in a feature space. Of its functions,
    those in the span of landmarks :math:`l_1, \dots, l_q` are kept, and of these the
    leading principal components,

    .. math:: z(x) = A^\top \big( L^{-1} (k(l_1, x), \dots, k(l_q, x))^\top - \mu \big)

    where :math:`L L^\top` is the kernel matrix of the landmarks, :math:`\mu` the mean,
    and the columns of A are the leading eigenvectors of the covariance [1]_ [2]_. The
    coordinates are orthonormal: a filter of unit norm on z is a function of unit norm
    in the feature space. So :class:`~skgeom.SQFA` and
    :class:`~skgeom.AMAGauss` on these features are their nonlinear versions. Unlike
    :class:`sklearn.decomposition.KernelPCA`, it never has the kernel matrix of all
    samples.

    Parameters
    ----------
    n_components : int or None, default=500
        Number of components; None, or a number above that of independent landmarks,
        is all of them.
    n_landmarks : int, default=2000
        Number of landmarks, at most that of samples: the more, the finer the functions
        that are found.
    kernel : str or callable, default="rbf"
        A name that :func:`sklearn.metrics.pairwise.pairwise_kernels` knows, or a
        symmetric positive semidefinite function of two samples that returns a number.
    gamma : float, "scale" or None, default="scale"
        Coefficient of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
        ``"scale"`` is ``1 / (n_features * X.var())``. None is the kernel's own default.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : dict or None, default=None
        Arguments of a callable kernel, besides the two samples.
    random_state : int, RandomState instance or None, default=None
        For the landmarks, and for the samples that the axes are found from.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks: centres of clusters, within each class if labels are given, in
        numbers that follow the class sizes. Those that depend on others are left out.
    dual_coef_ : ndarray of shape (n_landmarks, n_components)
        Coefficients of the kernels with the landmarks.
    offset_ : ndarray of shape (n_components,)
        What is subtracted to centre the components.
    eigenvalues_ : ndarray of shape (n_components,)
        Variances of the components, in falling order.
    gamma_ : float or None
        The value of ``gamma`` that was used; None if the kernel has none, or uses its
        own default.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    KernelDiscriminantAnalysis : Discriminants in the feature space, at most one less
        than there are classes.
    sklearn.kernel_approximation.Nystroem : All features of random landmarks.

    Notes
    -----
    The axes are those of four samples for each component and at least 5,000, drawn at
    random, or of all samples if there are fewer: they need not be exact.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola and K.-R. Müller, "Nonlinear component analysis as a
       kernel eigenvalue problem", Neural Computation 10(5), 1998.
    .. [2] C. Williams and M. Seeger, "Using the Nyström method to speed up kernel
       machines", NIPS 13, 2001.

    Examples
    --------
    Two rings, which no quadratic function of one linear feature separates:

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
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS)), callable],
        **KERNEL_CONSTRAINTS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=500,
        *,
        n_landmarks=2000,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.random_state = random_state

    @estimator_method
    def fit(self, X, y=None):
        """Choose the landmarks, and find the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,), default=None
            Their class labels: if given, landmarks are chosen within each class.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, or if the kernel is not finite, or zero.

        Warns
        -----
        UserWarning
            If to the kernel most landmarks resemble only themselves.
        """
        refuse_dask(self, X, "Fit to a sample of it, and transform it in blocks")
        check_library(X, self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        codes = np.zeros(len(X), dtype=int)
        if y is not None:
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            assert_all_finite(y, input_name="y")
            check_classification_targets(y)
            _, codes = np.unique(y, return_inverse=True)
        rng = check_random_state(self.random_state)
        self._prepare_kernel(X)
        landmarks = X
        if self.n_landmarks < len(X):
            weights = np.ones(len(X))
            landmarks = kmeans_landmarks(self.n_landmarks, X, codes, weights, rng)
            landmarks = landmarks.astype(X.dtype, copy=False)
        features = self._features(landmarks)
        self.landmarks_ = np.array(landmarks[features.kept])
        rank = len(self.landmarks_)
        n_components = min(self.n_components or rank, rank)
        n_samples = max(_SAMPLES_PER_AXIS * n_components, _LEAST_SAMPLES)
        mean, covariance = _moments(features, X, n_samples, rng)
        variances, axes = _leading_axes(covariance, n_components, rng)
        axes = axes * signs(axes.T)
        # The coordinates are those of the kernel as it is, not of one of size one.
        scale = np.sqrt(features.kernel_max)
        self.eigenvalues_ = np.maximum(variances, 0) * features.kernel_max
        coefficients = features.to_coefficients(axes) * scale
        self.dual_coef_ = np.ascontiguousarray(coefficients, dtype=X.dtype)
        self.offset_ = (mean @ axes * scale).astype(X.dtype)
        return self

    def _features(self, landmarks):
        matrix = self._kernel(landmarks.astype(np.float64))
        warn_if_alone(matrix, self.kernel)
        return LandmarkFeatures(
            matrix, lambda X, kept: self._kernel(X, landmarks[kept]), landmarks.dtype
        )

    @estimator_method
    def transform(self, X):
        """Kernel principal components of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The components.
        """
        check_library(X, self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        dtype = np.result_type(X.dtype, self.dual_coef_.dtype)
        kernel_of = self._with_kernel_of_fit()._kernel
        Z = np.empty((len(X), len(self.offset_)), X.dtype)
        for batch in gen_batches(len(X), _BLOCK):
            kernel = kernel_of(X[batch].astype(dtype, copy=False), self.landmarks_)
            Z[batch] = kernel @ self.dual_coef_ - self.offset_
        return Z

    def preimages(self, filters):
        r"""Inputs at which functions of the feature space are largest.

        For a filter w on the components, they are the inputs x with the largest
        :math:`w^\top z(x)`, found for the kernel "rbf" by the iteration below:
        with the coefficients :math:`\alpha_l` of the kernels,

        .. math:: x \leftarrow \frac{\sum_l \alpha_l \, k(l, x) \, l}
           {\sum_l \alpha_l \, k(l, x)}

        from the landmark at which it is largest (S. Mika and others, "Kernel PCA and
        de-noising in feature spaces", NIPS 11, 1999). Where it is smallest are the
        preimages of ``-filters``.

        Parameters
        ----------
        filters : array-like of shape (n_filters, n_components)
            The filters, such as the ``components_`` of :class:`~skgeom.SQFA`.

        Returns
        -------
        ndarray of shape (n_filters, n_features)
            A local maximum for each filter.

        Raises
        ------
        ValueError
            If the kernel is not "rbf", or if the filters do not fit.
        """
        check_is_fitted(self)
        self = self._with_kernel_of_fit()
        if self.kernel != "rbf":
            raise ValueError(
                f"Preimages are found for kernel='rbf' only, not {self.kernel!r}."
            )
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
        """The iteration of preimages, halving steps that do not rise."""

        def terms(x):
            return coefficients * self._kernel(x[None], landmarks)[0]

        weights = terms(x)
        value, step = weights.sum(), 1.0
        tol = 1e-8 * max(abs(value), np.finfo(float).tiny)
        for _ in range(_MOST_ITERATIONS):
            # The gradient, in units of the fixed point where the sum is positive.
            change = (weights @ landmarks) / weights.sum() - x if value > 0 else 0 * x
            trial = terms(x + step * change)
            if trial.sum() > value + tol:
                x, weights, value = x + step * change, trial, trial.sum()
                step = min(2 * step, 1.0)
            elif step < 1e-3:
                break
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


def _moments(features, X, n_samples, rng):
    """Mean and covariance of the features of some samples, in double precision."""
    rows = np.arange(len(X))
    if n_samples < len(X):
        rows = np.sort(rng.choice(len(X), n_samples, replace=False))
    rank = len(features.kept)
    total, moment = np.zeros(rank), np.zeros((rank, rank))
    for batch in gen_batches(len(rows), _BLOCK):
        Z = features(X[rows[batch]])
        total += Z.sum(axis=0, dtype=np.float64)
        moment += Z.T @ Z
    mean = total / len(rows)
    return mean, moment / len(rows) - np.outer(mean, mean)


def _leading_axes(covariance, n_components, rng):
    """Leading eigenvalues, falling, and eigenvectors, in columns.

    Few of many are found by iterations of a random subspace, all products of matrices.
    """
    if n_components > _FEW_AXES * len(covariance):
        variances, axes = np.linalg.eigh(covariance)
        return variances[: -n_components - 1 : -1], axes[:, : -n_components - 1 : -1]
    axes, variances, _ = randomized_svd(
        covariance, n_components, n_iter=1, random_state=rng
    )
    return variances, axes
