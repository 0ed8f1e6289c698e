"""Discriminant analysis by Gaussian classes, from samples or from their statistics."""

from copy import copy
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    column_or_1d,
    validate_data,
)

from skgeom._moments import kind_of
from skgeom._statistics import ClassStatistics, checked_statistics
from skgeom.utils._dask import empty_block
from skgeom.utils.array_api import (
    ARRAY_API,
    device_of,
    float_dtypes,
    in_double,
    is_dask,
    like,
    namespace,
    on_host,
    take_labels,
    to_numpy,
)
from skgeom.utils.estimator import estimator_method
from skgeom.utils.validation import check_priors, check_two_classes

# A variance below this multiple of the number of features, relative to the feature's
# own variance, is rounding.
_ROUNDING = 10 * np.finfo(np.float64).eps
# Variances down to this have all their digits.
_SMALLEST = 1e-306


class GaussianClassifier(ClassifierMixin, BaseEstimator):
    r"""Quadratic or linear discriminant analysis, from samples or statistics alone.

    The classes are Gaussian [1]_. With ``covariance="full"``, each has a covariance
    :math:`\Phi_k` of its own, and the decisions are those of quadratic discriminant
    analysis; with ``"shared"``, all have the pooled within-class covariance, and the
    decisions are those of linear discriminant analysis:

    .. math::

       \log p(k \mid x) = \log \pi_k - \tfrac12 \log \det (\Phi_k + \sigma^2 I)
       - \tfrac12 (x - \gamma_k)^\top (\Phi_k + \sigma^2 I)^{-1} (x - \gamma_k)
       + \mathrm{const}.

    All that it needs are the counts, means and covariances of the classes, so that it
    is fitted from samples, from weighted samples, from batches that come one after
    another, or from a :class:`ClassStatistics`. Whether a covariance is singular is
    decided in units of the standard deviations of the features, so that units and
    scales of X do not matter, unless a variance is added.

    Parameters
    ----------
    covariance : {"full", "shared"}, default="full"
        Whether each class has its own covariance, or all have one.
    regularization : "auto" or float, default="auto"
        The variance :math:`\sigma^2`, in squared units of X, that is added to all
        variances. ``"auto"`` adds nothing if all covariances are regular, and the mean
        variance of the features within the classes if one is singular. It drowns
        features of small numbers: where features have different units, standardise them
        first, as by ``StandardScaler``.
    covariance_estimator : None, str, or object, default=None
        How :meth:`fit` estimates the covariance of a class, as in
        :meth:`ClassStatistics.from_data`; None is the sample covariance.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Probabilities of the classes, in the order of ``classes_``. None: their
        proportions in training.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    regularization_ : float
        The variance that was added.
    statistics_ : ClassStatistics
        Counts, means and covariances of the classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X has names that are all strings.

    See Also
    --------
    SQFA : Filters on which such classes differ most.
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : From samples only.

    Notes
    -----
    Features that are linear combinations of others in all samples, as constant ones
    are, say nothing about the class: where nothing is added, only the span of the
    samples counts, and :meth:`score_samples` is the logarithm of the density in it.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, "The Elements of Statistical
       Learning", 2nd edition, Springer, 2009, section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from skgeom import SQFA, GaussianClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(SQFA(9), GaussianClassifier()).fit(X, y)
    >>> bool(model.score(X, y) > 0.96)
    True

    A whole classifier that never holds the samples:

    >>> from skgeom import ClassStatistics
    >>> blocks = ((X[i : i + 300], y[i : i + 300]) for i in range(0, len(X), 300))
    >>> statistics = ClassStatistics.from_blocks(blocks)
    >>> sqfa = SQFA(9).fit_statistics(statistics)
    >>> classifier = GaussianClassifier().fit_statistics(
    ...     statistics.project(sqfa.components_)
    ... )
    >>> classifier.predict(sqfa.transform(X[:5]))
    array([0, 1, 2, 3, 4])
    """

    _fitted_array = "priors_"
    _parameter_constraints = {
        "covariance": [StrOptions({"full", "shared"})],
        "regularization": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="left"),
        ],
        "covariance_estimator": [None, str, HasMethods("fit")],
        "priors": [None, StrOptions({"uniform"}), "array-like"],
    }

    def __init__(
        self,
        covariance="full",
        *,
        regularization="auto",
        covariance_estimator=None,
        priors=None,
    ):
        self.covariance = covariance
        self.regularization = regularization
        self.covariance_estimator = covariance_estimator
        self.priors = priors

    @estimator_method
    def fit(self, X, y, sample_weight=None):
        """Fit the Gaussians to labelled samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, at least two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; a weight of 2 counts a sample twice. Those of a
            class must add up to at least 1.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If the data are malformed, if there is one class only, if no feature varies,
            or if a covariance is singular and ``regularization`` is zero; the message
            names the class.
        """
        X, y = self._validated(X, y, reset=True)
        return self._fit(_statistics(X, y, self.covariance_estimator, sample_weight))

    @estimator_method
    def fit_statistics(self, statistics):
        """Fit the Gaussians to the statistics of the classes.

        Parameters
        ----------
        statistics : ClassStatistics
            Counts, means and covariances. If they have ``axes``, the features are
            ``X @ statistics.axes.T``; those of filters are in
            ``statistics.project(sqfa.components_)``.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        TypeError
            If ``statistics`` is something else.
        ValueError
            If there is one class only, if ``statistics`` has second moments only, if no
            feature varies, or if a covariance is singular and ``regularization`` is
            zero; the message names the class.
        """
        statistics = checked_statistics(statistics)
        if statistics.means is None:
            raise ValueError(
                "statistics holds second moments only, but GaussianClassifier needs "
                "means and covariances: ClassStatistics(classes, counts, means, "
                "covariances)."
            )
        vars(self).pop("feature_names_in_", None)
        self.n_features_in_ = statistics.n_features
        # Not the same object: its owner may update it.
        return self._fit(statistics._of_coordinates())

    @estimator_method
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Add samples to those that the Gaussians are fitted to.

        After any number of calls, the Gaussians are those of :meth:`fit` on all samples
        together, up to rounding. Those of :meth:`fit` and :meth:`fit_statistics` before
        count, too, since the model keeps their statistics.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,), default=None
            Classes that will come; they have the probability zero until there are
            samples of them. Others are added when they come.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in :meth:`fit`; those of a class must add up to
            at least 1, with those before.

        Returns
        -------
        self
            This object. As long as a covariance has no inverse, predictions raise the
            error of :meth:`fit`. A single class is predicted for all samples.

        Raises
        ------
        ValueError
            If the data are malformed, or if ``covariance_estimator`` is given: only
            sample covariances add up.
        """
        if self.covariance_estimator is not None:
            raise ValueError(
                "partial_fit needs sample covariances, covariance_estimator=None, but "
                f"covariance_estimator={self.covariance_estimator!r}."
            )
        first = not hasattr(self, "statistics_")
        X, y = self._validated(X, y, reset=first)
        before = None if first else self.statistics_
        statistics = _statistics(X, y, None, sample_weight, before)
        known = statistics.classes
        if classes is not None:
            known = _announced(classes, known)
        if not first:
            known = np.union1d(known, self.classes_)
        self._store(statistics, known)
        try:
            self._gaussians = self._solve()
            self.regularization_ = self._gaussians.regularization
        except _Singular:
            self._gaussians = None
        return self

    def _validated(self, X, y, reset):
        if is_dask(X):
            validate_data(self, empty_block(X), ensure_min_samples=0, reset=reset)
            return X, y
        X, y = validate_data(self, X, on_host(y), dtype=float_dtypes(X), reset=reset)
        check_classification_targets(y)
        return X, y

    def _fit(self, statistics):
        check_two_classes(statistics.classes, type(self).__name__)
        self._store(statistics, statistics.classes)
        self._gaussians = self._solve()
        self.regularization_ = self._gaussians.regularization
        return self

    def _store(self, statistics, classes):
        self.statistics_ = statistics
        self.classes_ = classes
        counts = np.zeros(len(classes))
        counts[np.searchsorted(classes, statistics.classes)] = statistics.counts
        self.priors_ = like(check_priors(self.priors, counts), statistics.means)

    def _solve(self):
        """The Gaussians of the statistics, with the regularisation that they need."""
        # By LAPACK, in double precision.
        statistics = self.statistics_._moved(to_numpy)
        gaussians = self._solved(statistics)
        if namespace(self.statistics_.means) is np:
            return gaussians
        return gaussians._moved(partial(like, model=self.statistics_.means))

    def _solved(self, statistics):
        if self.regularization != "auto":
            return self._regularized(statistics, float(self.regularization))
        try:
            return self._regularized(statistics, 0.0)
        except _Singular:
            within, total = statistics.pooled_covariances()
            variance = np.diag(within).mean() or np.diag(total).mean()
            if not variance > _SMALLEST:
                raise
            return self._regularized(statistics, float(variance))

    def _regularized(self, statistics, regularization):
        covariances, counts = statistics.covariances, statistics.counts
        if statistics._covariance_estimator is None:
            # The maximum-likelihood estimate, as scikit-learn takes it since 1.8.
            covariances = covariances * (1 - 1 / counts)[:, None, None]
        names = [f"class {label}" for label in statistics.classes]
        if self.covariance == "shared":
            pooled = np.tensordot(counts / counts.sum(), covariances, axes=1)
            covariances, names = pooled[None], ["all classes together"]
        means = statistics.means
        if regularization == 0:
            span = _Span.of(statistics)
        else:
            span = _Span.beside_noise(statistics, regularization)
        if span is not None:
            means = span.coordinates(means)
            covariances = span.basis.T @ covariances @ span.basis
        whiteners = [
            _whitener(covariance, regularization, name)
            for covariance, name in zip(covariances, names, strict=True)
        ]
        shared = self.covariance == "shared"
        return _Gaussians(regularization, span, means, whiteners, shared)

    # Prediction

    def _log_joint(self, X):
        """Logarithms of prior times density, (n_samples, n_classes), up to a summand.

        Also the summand, (n_samples,): what the classes have in common, which would
        cost the digits of their differences far from the means.
        """
        X = validate_data(self, X, dtype=float_dtypes(X), reset=False)
        xp, X = namespace(X), in_double(X)
        gaussians = self._gaussians or self._solve()
        span, means = gaussians.span, gaussians.means
        constant = 0.0
        if span is not None:
            X, constant = span.coordinates(X), span.log_density_across(X)
        constant = constant - X.shape[1] * float(np.log(2 * np.pi)) / 2
        with np.errstate(over="ignore", divide="ignore"):
            if gaussians.shared:
                ((whitener, log_scale),) = gaussians.whiteners
                center = xp.mean(means, axis=0)
                Z, M = (X - center) @ whitener, (means - center) @ whitener
                densities = Z @ M.T - xp.sum(xp.square(M), axis=1) / 2
                common = constant - log_scale - xp.sum(xp.square(Z), axis=1) / 2
            else:
                densities = []
                for k, (whitener, log_scale) in enumerate(gaussians.whiteners):
                    Z = (X - means[k, :]) @ whitener
                    densities.append(-_square_norms(Z) / 2 - log_scale)
                densities = xp.stack(densities, axis=1)
                # A finite bound keeps the classes comparable where squares overflow.
                lowest = float(xp.finfo(densities.dtype).min) / 4
                densities = xp.maximum(densities, xp.full_like(densities, lowest))
                largest = xp.max(densities, axis=1)
                densities = densities - largest[:, None]
                common = constant + largest
            return self._with_priors(densities), common

    def _with_priors(self, densities):
        """Densities of the classes with samples, times priors, for all classes."""
        xp, priors = namespace(densities), self.priors_
        if priors.shape[0] == densities.shape[1]:
            return densities + xp.log(priors / xp.sum(priors))
        classes = to_numpy(self.classes_)
        seen = like(np.searchsorted(classes, self.statistics_.classes), densities)
        priors = xp.take(priors, seen)
        joint = densities + xp.log(priors / xp.sum(priors))
        # Those without samples come last.
        unseen = np.setdiff1d(classes, self.statistics_.classes)
        shape = joint.shape[0], len(unseen)
        impossible = xp.full(shape, -xp.inf, dtype=joint.dtype, device=device_of(joint))
        order = np.argsort(np.concatenate([self.statistics_.classes, unseen]))
        joint = xp.concat([joint, impossible], axis=1)
        return xp.take(joint, like(order, joint), axis=1)

    @estimator_method
    def decision_function(self, X):
        """Logarithms of prior times density, up to a summand that classes share.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, the log-odds of ``classes_[1]``.
        """
        joint, _ = self._log_joint(X)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint

    @estimator_method
    def predict(self, X):
        """The most probable class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        joint, _ = self._log_joint(X)
        return take_labels(self.classes_, namespace(joint).argmax(joint, axis=1))

    @estimator_method
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._log_proba(X)

    def _log_proba(self, X):
        joint, _ = self._log_joint(X)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    @estimator_method
    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        probabilities = self._log_proba(X)
        return namespace(probabilities).exp(probabilities)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = ARRAY_API
        return tags

    @estimator_method
    def score(self, X, y, sample_weight=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        float
            The share of the samples whose class is predicted correctly.
        """
        return super().score(X, y, sample_weight)

    @estimator_method
    def score_samples(self, X):
        """Logarithm of the density of each sample, to find those that fit no class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log-density of the mixture of the classes, weighted by ``priors_``.
        """
        joint, common = self._log_joint(X)
        return logsumexp(joint, axis=1) + common


@dataclass(frozen=True)
class _Gaussians:
    """The densities, in coordinates of the span of the samples if that is not None."""

    regularization: float
    span: "_Span | None"
    means: Any  # arrays
    whiteners: list  # of each class, or one that all share; with its log-scale
    shared: bool  # as in the fit: the parameter may have been set since

    def _moved(self, convert):
        """The same, with arrays that lie elsewhere."""
        return _Gaussians(
            self.regularization,
            self.span and self.span._moved(convert),
            convert(self.means),
            [(convert(whitener), scale) for whitener, scale in self.whiteners],
            self.shared,
        )

    # For scikit-learn's move_estimator_to.
    def __sklearn_array_api_convert__(self, converter):
        return self._moved(converter)


class _Singular(ValueError):
    """A covariance without an inverse."""


def _statistics(X, y, covariance_estimator, sample_weight, before=None):
    """Statistics of samples, and of those before.

    These are up to 1e150, and their squares would overflow in sums.
    """
    size = 0.0
    if not is_dask(X):
        xp = namespace(X)
        size = float(max(xp.max(X), -xp.min(X)))
    scale = 2.0 ** np.frexp(size)[1] if size > 1e100 else 1.0
    if scale == 1 and before is not None:
        return before._with_samples(X, y, sample_weight)
    statistics = ClassStatistics.from_data(
        X if scale == 1 else X / scale,
        y,
        covariance_estimator,
        sample_weight=sample_weight,
    )
    if scale == 1:
        return statistics
    with np.errstate(over="ignore", invalid="ignore"):
        covariances = statistics.covariances * scale**2
    if not xp.all(xp.isfinite(covariances)):
        raise ValueError(
            f"The squares of the numbers of X, which are up to {size:.3g}, are too "
            "large for floating-point numbers. Divide X by a common factor."
        )
    statistics = ClassStatistics._make(
        statistics.classes,
        statistics.counts,
        statistics.means * scale,
        covariances,
        covariance_estimator,
    )
    return statistics if before is None else before + statistics


def _announced(classes, labels):
    """Classes that will come, with those of the labels."""
    classes = check_array(
        on_host(classes), ensure_2d=False, dtype=None, input_name="classes"
    )
    classes = column_or_1d(classes)
    if kind_of(classes) != kind_of(labels):
        raise ValueError(
            f"classes and y must be labels of one kind, got {classes} and {labels}."
        )
    return np.union1d(classes, labels)


class _Span:
    """The directions in which the samples differ, where these are not all."""

    def __init__(self, center, scales, axes, noise=None):
        # Standardised samples have the coordinates ``axes.T @ (x - center) / scales``.
        self.center = center
        self.basis = axes / scales[:, None]
        self.log_volume = _log_volume(scales[:, None] * axes)
        self.noise = noise  # across the span, where the scales are 1

    @classmethod
    def of(cls, statistics):
        """The span of all samples, or None if that is the whole space."""
        _, total = statistics.pooled_covariances()
        variances = np.diag(total)
        # The mean of equal numbers is off by its last digits, and so is their variance.
        offsets = _ROUNDING * np.abs(statistics.means).max(axis=0)
        varies = np.sqrt(variances) > offsets
        if not variances.max() > _SMALLEST:
            raise _Singular(
                "All features are constant, or their variances, which are up to "
                f"{variances.max():.3g}, are too small for floating-point numbers. "
                "Multiply X by a common factor, or use StandardScaler."
            )
        scales = np.sqrt(np.where(varies, variances, 1))
        correlations = total / scales / scales[:, None] * varies * varies[:, None]
        few = _are_few(statistics)
        eigenvalues, axes = (_leading_eigh if few else np.linalg.eigh)(correlations)
        kept = eigenvalues > len(total) * _ROUNDING * eigenvalues[-1]
        if np.count_nonzero(kept) == len(total):
            return None
        return cls(statistics.means.mean(axis=0), scales, axes[:, kept])

    @classmethod
    def beside_noise(cls, statistics, noise):
        """The span of samples fewer than features, or None.

        Across it, all classes have the variance of the noise alone.
        """
        if not _are_few(statistics):
            return None
        _, total = statistics.pooled_covariances()
        variances, axes = _leading_eigh(total)
        if not len(variances):
            return None
        axes = axes[:, variances > len(total) * _ROUNDING * variances[-1]]
        scales = np.ones(len(total))
        return cls(statistics.means.mean(axis=0), scales, axes, noise)

    def coordinates(self, X):
        return (X - self.center) @ self.basis

    def log_density_across(self, X):
        """What samples have in common: by the change of units, and across the span."""
        if self.noise is None:
            return -self.log_volume
        xp, n_across = namespace(X), self.basis.shape[0] - self.basis.shape[1]
        across = (X - self.center) - self.coordinates(X) @ self.basis.T
        squares = xp.sum(xp.square(across), axis=1) / self.noise
        return -(squares + n_across * float(np.log(2 * np.pi * self.noise))) / 2

    def _moved(self, convert):
        moved = copy(self)
        moved.center, moved.basis = convert(self.center), convert(self.basis)
        return moved


def _are_few(statistics):
    """Whether the samples span fewer dimensions than there are features."""
    is_of_samples = statistics._covariance_estimator is None
    return is_of_samples and statistics.counts.sum() < statistics.n_features


def _leading_eigh(matrix):
    """Rising eigenvalues that are not zero, and eigenvectors, of a matrix of low rank.

    By a Cholesky decomposition with pivots, which ends when nothing but rounding is
    left: for rank r in n r^2 steps instead of n^3.
    """
    tol = np.finfo(np.float64).eps * np.diag(matrix).max()
    factor, pivots, rank, _ = dpstrf(matrix, tol=tol, lower=True)
    rows = np.empty((len(matrix), rank))
    rows[pivots - 1] = np.tril(factor[:, :rank])
    axes, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    return sizes[::-1] ** 2, axes[:, ::-1]


def _square_norms(Z):
    """Squared norms of the rows."""
    if namespace(Z) is np:
        return np.einsum("ij,ij->i", Z, Z)
    return namespace(Z).vecdot(Z, Z)


def _log_volume(columns):
    """Logarithm of the volume of the parallelepiped of linearly independent columns."""
    return float(np.log(np.abs(np.diag(np.linalg.qr(columns, mode="r")))).sum())


def _whitener(covariance, regularization, name):
    """W with W' (covariance + regularization I) W = I, and log det of W's inverse."""
    n_features = len(covariance)
    if not n_features:
        raise _Singular(
            "The samples vary in no direction, or by no more than the rounding of "
            "numbers of their size. Subtract the mean of X before it is rounded, or "
            "use a positive regularization."
        )
    covariance = covariance + regularization * np.eye(n_features)
    # In units of the class's own deviations, no scale of X is near under- or overflow.
    deviations = np.sqrt(np.diag(covariance))
    positive = deviations > 0
    units = np.where(positive, deviations, 1)
    correlations = covariance / units / units[:, None]
    try:
        factor = np.linalg.cholesky(correlations)
        regular = np.diag(factor).min() ** 2 > n_features * _ROUNDING
    except np.linalg.LinAlgError:
        regular = False
    if not regular:
        eigenvalues = np.linalg.eigvalsh(correlations)
        rank = (eigenvalues > n_features * _ROUNDING * eigenvalues[-1]).sum()
        raise _Singular(
            f"The covariance of {name} is singular: its rank is {rank}, but the "
            f"samples span {n_features} dimensions. Use a positive regularization, a "
            'shrinking covariance_estimator such as "oas", fewer features, or more '
            "samples."
        )
    inverse = solve_triangular(factor, np.eye(n_features), lower=True)
    whitener = (inverse / units).T
    return whitener, float(np.log(np.diag(factor)).sum() + np.log(units).sum())
