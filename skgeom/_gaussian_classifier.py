"""Discriminant analysis by Gaussian classes, from samples or from their statistics."""

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.special import logsumexp
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    column_or_1d,
    validate_data,
)

from skgeom._held_out import statistics_and_sample
from skgeom._shrinkage import (
    ROUNDING,
    HeldOutSamples,
    closed_form_intensities,
    maximum_likelihood,
    prior_intensities,
    shrunk_to_diagonal,
)
from skgeom._statistics import (
    ClassStatistics,
    checked_statistics,
    make_statistics,
    without_axes,
)
from skgeom.utils._dask import empty_block
from skgeom.utils._mixins import PosteriorClassifierMixin
from skgeom.utils.array_api import (
    ARRAY_API,
    device_of,
    float_dtypes,
    in_double,
    is_dask,
    like,
    namespace,
    on_host,
    to_numpy,
)
from skgeom.utils.estimator import BaseEstimator, estimator_method
from skgeom.utils.validation import (
    check_priors,
    check_two_classes,
    kind_of,
    known_labels,
    union_of_classes,
)

# Variances down to this have all their digits.
_SMALLEST = np.finfo(np.float64).tiny
# Products of two numbers up to this can be computed.
_LARGE = np.sqrt(np.finfo(np.float64).max)
# What is fitted to the statistics, if no covariance is singular.
_OF_GAUSSIANS = (
    "regularization_",
    "shrinkage_",
    "diagonal_shrinkage_",
    "shrinkage_selection_",
)


class GaussianClassifier(PosteriorClassifierMixin, BaseEstimator):
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
        A number is the variance :math:`\sigma^2`, in squared units of X, that is added
        to all variances. ``"auto"`` adds nothing and shrinks the covariances, as
        described in the notes, unless ``covariance_estimator`` is given.
    covariance_estimator : None, str, or object, default=None
        How :meth:`fit` estimates the covariance of a class, as in
        :meth:`ClassStatistics.from_data`; None is the sample covariance.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Probabilities of the classes, in the order of ``classes_``. None: their
        proportions in training.
    verbose : int, default=0
        If positive, the shrinkage that ``regularization="auto"`` selects is printed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    regularization_ : float
        The variance that was added: 0 for ``"auto"``.
    shrinkage_ : ndarray of shape (n_classes,)
        The intensity :math:`\rho_k` with which the covariance of each class of
        ``statistics_`` is shrunk: 0 for a number as ``regularization``, and 1 for
        ``covariance="shared"``.
    diagonal_shrinkage_ : float
        The intensity :math:`\lambda` with which the pooled covariance is shrunk.
    shrinkage_selection_ : {"held-out", "closed-form", "none"}
        How ``shrinkage_`` was selected.
    prior_samples_ : float or None
        The number q of prior samples per feature that :meth:`fit` selected; None if
        nothing was held out.
    selection_scores_ : dict of ndarrays or None
        ``"prior_samples"`` and ``"brier_score"`` of each candidate of that selection:
        the mean of the squared errors of the posteriors, summed over the classes, at
        the best temperature, or NaN if a covariance is singular. None if nothing was
        held out.
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
    With ``regularization="auto"``, the covariance of class k becomes

    .. math::

       (1 - \rho_k) S_k + \rho_k R, \qquad \rho_k = \frac{q n}{n_k - 1 + q n}, \qquad
       R = (1 - \lambda) W + \lambda \operatorname{diag}(W),

    where W is the pooled within-class covariance of n features, or of the span of the
    samples if that has fewer dimensions, as if R came with q n samples more than the
    :math:`n_k` of the class. :math:`\lambda` is the closed-form intensity for
    correlation matrices [2]_, and q is selected from 0, 0.3, 1, 3, 10 and infinity:
    :meth:`fit` computes the posteriors of held-out samples, in five folds or as many as
    hold out 500 samples, and selects the largest q whose Brier score, at the best
    temperature, is within one standard error of the best. Equal samples count once in
    :math:`n_k`. So units of features, the order of samples, and a constant weight do
    not matter. (Of more than 10,000 samples, 10,000 are drawn by their numbers.)
    :meth:`fit_statistics` and :meth:`partial_fit` have no samples to hold out, and use
    the closed form of :meth:`ClassStatistics.shrunk` for :math:`\rho_k`, in coordinates
    in which R is the identity. After :meth:`fit`, :meth:`partial_fit` keeps the
    selected q, and uses the closed form only if a covariance is singular with that q.

    Features that are linear combinations of others in all samples, as constant ones
    are, say nothing about the class: where nothing is added, only the span of the
    samples counts, and :meth:`score_samples` is the logarithm of the density in it. A
    variance within a class that is no larger than the rounding of numbers of the size
    of the class mean or the total standard deviation is zero.

    A feature that is constant within class k and varies within others has the variance
    :math:`\rho_k R_{jj}` in class k. :math:`R_{jj}` is small if the feature rarely
    varies, as a flag that is set in two samples of one class. Then a sample of class k
    in which the flag is set can have a posterior near 1 for the wrong class, and the
    selected q can be larger for all classes. There is no warning, because pixels of
    images have such variances, too. Remove rare flags, or use a positive
    ``regularization``.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, "The Elements of Statistical
       Learning", 2nd edition, Springer, 2009, section 4.3.
    .. [2] J. Schaefer and K. Strimmer, "A shrinkage approach to large-scale covariance
       matrix estimation and implications for functional genomics", Statistical
       Applications in Genetics and Molecular Biology 4(1), 2005.

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
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        covariance="full",
        *,
        regularization="auto",
        covariance_estimator=None,
        priors=None,
        verbose=0,
    ):
        self.covariance = covariance
        self.regularization = regularization
        self.covariance_estimator = covariance_estimator
        self.priors = priors
        self.verbose = verbose

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
        if self.regularization != "auto" or self.covariance_estimator is not None:
            estimator = self.covariance_estimator
            statistics = ClassStatistics.from_data(
                X, y, estimator, sample_weight=sample_weight
            )
            return self._fit(statistics, None)
        if is_dask(X):
            statistics, sample = statistics_and_sample(X, y, sample_weight)
        else:
            statistics = ClassStatistics.from_data(X, y, sample_weight=sample_weight)
            if sample_weight is not None:
                sample_weight = np.asarray(on_host(sample_weight), dtype=np.float64)
            sample = X, y, sample_weight
        return self._fit(statistics, HeldOutSamples(*sample))

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
        # Not the same object: its owner may update it.
        statistics = without_axes(statistics)
        vars(self).pop("feature_names_in_", None)
        if statistics.feature_names_in_ is not None:
            self.feature_names_in_ = statistics.feature_names_in_
        self.n_features_in_ = statistics.n_features
        return self._fit(statistics, None)

    @estimator_method
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Add samples to those that the Gaussians are fitted to.

        After any number of calls, the statistics are those of all samples together, up
        to rounding. The samples of :meth:`fit` and :meth:`fit_statistics` before count,
        too, since the model keeps their statistics. With a number as
        ``regularization``, the Gaussians are equal to those of :meth:`fit` on all
        samples. With ``"auto"``, the shrinkage differs: :meth:`fit` selects it by
        held-out samples, and this method uses ``prior_samples_`` of the last
        :meth:`fit`, or a closed form if there was none.

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
        if first:
            statistics = ClassStatistics.from_data(X, y, sample_weight=sample_weight)
        else:
            statistics = copy(self.statistics_).update(X, y, sample_weight)
        known = statistics.classes
        if classes is not None:
            known = _announced(classes, known)
        if not first:
            known = union_of_classes(known, self.classes_)
        self._store(statistics, known)
        if first:
            self._set_selection(None, None, {})
        # A class that came late may be singular with the selected number.
        for prior in dict.fromkeys([self.prior_samples_, None]):
            # Predictions raise the error.
            with suppress(ValueError):
                self._set_gaussians(self._solve(prior=prior))
                break
        return self

    def _validated(self, X, y, reset):
        if is_dask(X):
            validate_data(self, empty_block(X), ensure_min_samples=0, reset=reset)
            return X, y
        y = on_host(known_labels(y))
        X, y = validate_data(self, X, y, dtype=float_dtypes(X), reset=reset)
        check_classification_targets(y)
        return X, y

    def _fit(self, statistics, sample):
        check_two_classes(statistics.classes, type(self).__name__)
        self._store(statistics, statistics.classes)
        shares = {} if sample is None else sample.distinct_shares()
        self._set_selection(None, None, shares)
        gaussians = self._solve(sample)
        self._set_selection(gaussians.prior, gaussians.scores, shares)
        self._set_gaussians(gaussians)
        return self

    def _set_selection(self, prior, scores, distinct_shares):
        self.prior_samples_ = prior
        self.selection_scores_ = scores
        self._distinct_shares = distinct_shares

    def _store(self, statistics, classes):
        # Statistics of validated samples have no names.
        statistics.feature_names_in_ = getattr(self, "feature_names_in_", None)
        self.statistics_ = statistics
        self.classes_ = classes
        counts = np.zeros(len(classes))
        counts[_positions(classes, statistics)] = statistics.counts
        self.priors_ = like(check_priors(self.priors, counts), statistics.means)
        self._gaussians = None
        for name in _OF_GAUSSIANS:
            vars(self).pop(name, None)

    def _set_gaussians(self, gaussians):
        self._gaussians = gaussians
        self.regularization_ = gaussians.regularization
        self.shrinkage_ = gaussians.intensities
        self.diagonal_shrinkage_ = gaussians.diagonal
        self.shrinkage_selection_ = gaussians.selection
        if self.verbose:
            intensities = to_numpy(self.shrinkage_)
            intensities = np.array2string(intensities, precision=3, threshold=20)
            print(
                f"[GaussianClassifier] shrinkage_ {intensities} of the classes "
                f"({self.shrinkage_selection_}), diagonal_shrinkage_ "
                f"{self.diagonal_shrinkage_:.3g}"
            )

    def _solve(self, sample=None, prior=None):
        """The Gaussians of the statistics, with a given number of prior samples.

        If it is None, HeldOutSamples select it. Without them, a closed form is used.
        """
        # By LAPACK, in double precision.
        statistics = self.statistics_.__sklearn_array_api_convert__(to_numpy)
        gaussians = self._solved(statistics, sample, prior)
        if namespace(self.statistics_.means) is np:
            return gaussians
        return gaussians._moved(partial(like, model=self.statistics_.means))

    def _solved(self, statistics, sample, prior):
        """The Gaussians of statistics in NumPy arrays."""
        statistics, total = _without_rounding(statistics)
        counts, covariances = statistics.counts, _class_covariances(statistics)
        pooled = np.tensordot(counts / counts.sum(), covariances, axes=1)
        selects = self.regularization == "auto"
        noise = 0.0 if selects else float(self.regularization)
        selects = selects and statistics.covariance_estimator is None
        span = _Span.of(statistics, total, noise)
        means, basis = statistics.means, None
        n_distinct, diagonal = counts, 0.0
        if selects:
            n_distinct = counts * self._shares_of(statistics.classes)
            pooled, diagonal = shrunk_to_diagonal(pooled, np.diag(total), n_distinct)
        if span is not None:
            means, basis = span.coordinates(means), span.basis
            covariances = basis.T @ covariances @ basis
            pooled = basis.T @ pooled @ basis
            statistics = statistics.project(basis.T)
        shared = self.covariance == "shared"
        names = [f"class {label}" for label in statistics.classes]
        intensities, selection = np.full(len(counts), float(shared)), "none"
        scores = None
        if shared:
            covariances, names = pooled[None], ["all classes together"]
        elif selects:
            if sample is not None:
                priors = to_numpy(self.priors_)
                prior, scores = sample.select_prior(
                    statistics, basis, pooled, diagonal, n_distinct, priors
                )
            if prior is None:
                selection = "closed-form"
                intensities = closed_form_intensities(covariances, counts, pooled)
            else:
                selection = "held-out"
                intensities = prior_intensities(prior * len(pooled), n_distinct)
            covariances += intensities[:, None, None] * (pooled - covariances)
        whiteners = [
            _whitener(covariance, noise, name)
            for covariance, name in zip(covariances, names, strict=True)
        ]
        selected = intensities, diagonal, selection, prior, scores
        return _Gaussians(noise, span, means, whiteners, shared, *selected)

    def _shares_of(self, classes):
        """The share of samples that are distinct, of each class.

        Classes without held-out samples have the median share of the others.
        """
        shares = self._distinct_shares
        others = np.median(list(shares.values())) if shares else 1.0
        return np.array([shares.get(label, others) for label in classes.tolist()])

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
                    densities.append(-xp.vecdot(Z, Z) / 2 - log_scale)
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
        seen = like(_positions(classes, self.statistics_), densities)
        priors = xp.take(priors, seen)
        joint = densities + xp.log(priors / xp.sum(priors))
        # Those without samples come last.
        unseen = np.setdiff1d(classes, self.statistics_.classes)
        shape = joint.shape[0], len(unseen)
        impossible = xp.full(shape, -xp.inf, dtype=joint.dtype, device=device_of(joint))
        order = np.argsort(np.concatenate([self.statistics_.classes, unseen]))
        joint = xp.concat([joint, impossible], axis=1)
        return xp.take(joint, like(order, joint), axis=1)

    def _joint_log_likelihood(self, X):
        joint, _ = self._log_joint(X)
        return joint

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = ARRAY_API
        return tags

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
    intensities: np.ndarray  # of the shrinkage of each class
    diagonal: float  # that of the pooled covariance
    selection: str
    prior: float | None
    scores: dict | None

    def _moved(self, convert):
        """The same, with arrays that lie elsewhere."""
        return replace(
            self,
            span=self.span and self.span._moved(convert),
            means=convert(self.means),
            whiteners=[(convert(w), scale) for w, scale in self.whiteners],
            intensities=convert(self.intensities),
        )

    # For scikit-learn's move_estimator_to.
    def __sklearn_array_api_convert__(self, converter):
        return self._moved(converter)


def _positions(classes, statistics):
    """Where the classes of the statistics are among all classes, of any dtype."""
    return np.searchsorted(classes, statistics.classes.astype(classes.dtype))


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
    return union_of_classes(classes, labels)


def _without_rounding(statistics):
    """Statistics and total covariance without variances that are rounding errors.

    The computed mean of equal numbers differs from them by rounding, and so does their
    standard deviation from zero: by some units in the last digit of the mean, or of the
    total standard deviation if the samples were centered before.
    """
    sizes, weights = np.abs(statistics.means), statistics.counts
    offsets = statistics.means - np.average(statistics.means, axis=0, weights=weights)
    within = np.average(_class_covariances(statistics), axis=0, weights=weights)
    total = within + (offsets.T * (weights / weights.sum())) @ offsets
    deviations = np.sqrt(np.diag(total))
    varies = deviations > ROUNDING * sizes.max(axis=0)
    total = total * varies * varies[:, None]
    own = np.sqrt(np.diagonal(statistics.covariances, axis1=1, axis2=2))
    varies = (own > ROUNDING * (sizes + deviations)) & varies
    if not varies.all():
        covariances = statistics.covariances * varies[:, :, None] * varies[:, None]
        statistics = make_statistics(
            statistics.classes,
            weights,
            statistics.means,
            covariances,
            covariance_estimator=statistics.covariance_estimator,
        )
    return statistics, total


def _class_covariances(statistics):
    """Maximum-likelihood estimates, as in scikit-learn since 1.8, if of samples."""
    if statistics.covariance_estimator is None:
        return maximum_likelihood(statistics)
    return statistics.covariances


class _Span:
    """The directions in which the samples differ, where these are not all."""

    def __init__(self, center, scales, axes, noise=None):
        # Standardised samples have the coordinates ``axes.T @ (x - center) / scales``.
        self.center = center
        self.basis = axes / scales[:, None]
        self.log_volume = _log_volume(scales[:, None] * axes)
        self.noise = noise  # across the span, where the scales are 1

    @classmethod
    def of(cls, statistics, total, noise):
        """The span of all samples, or None if that is the whole space.

        If a variance is added, all classes have that variance across the span, and it
        is used only if there are fewer samples than features.
        """
        few = statistics.covariance_estimator is None
        few = few and statistics.counts.sum() < statistics.n_features
        if noise and not few:
            return None
        variances = np.diag(total)
        if not noise and not variances.max() > _SMALLEST:
            raise ValueError(
                "All features are constant, or their variances, which are up to "
                f"{variances.max():.3g}, are too small for floating-point numbers. "
                "Multiply X by a common factor, or use StandardScaler."
            )
        scales = np.sqrt(np.where((variances > 0) & (noise == 0), variances, 1))
        correlations = total / scales / scales[:, None]
        eigenvalues, axes = (_leading_eigh if few else np.linalg.eigh)(correlations)
        if not len(eigenvalues):
            return None
        kept = eigenvalues > len(total) * ROUNDING * eigenvalues[-1]
        # Products of extreme numbers leave the range of floating-point numbers.
        extreme = not 1 / _LARGE < variances.max() < _LARGE
        if kept.all() and len(kept) == len(total) and not extreme:
            return None
        return cls(statistics.means.mean(axis=0), scales, axes[:, kept], noise)

    def coordinates(self, X):
        return (X - self.center) @ self.basis

    def log_density_across(self, X):
        """What samples have in common: by the change of units, and across the span."""
        if not self.noise:
            return -self.log_volume
        xp, n_across = namespace(X), self.basis.shape[0] - self.basis.shape[1]
        across = (X - self.center) - self.coordinates(X) @ self.basis.T
        squares = xp.sum(xp.square(across), axis=1) / self.noise
        return -(squares + n_across * float(np.log(2 * np.pi * self.noise))) / 2

    def _moved(self, convert):
        moved = copy(self)
        moved.center, moved.basis = convert(self.center), convert(self.basis)
        return moved


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


def _log_volume(columns):
    """Logarithm of the volume of the parallelepiped of linearly independent columns."""
    return float(np.log(np.abs(np.diag(np.linalg.qr(columns, mode="r")))).sum())


def _whitener(covariance, regularization, name):
    """W with W' (covariance + regularization I) W = I, and log det of W's inverse."""
    n_features = len(covariance)
    if not n_features:
        raise ValueError(
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
        regular = np.diag(factor).min() ** 2 > n_features * ROUNDING
    except np.linalg.LinAlgError:
        regular = False
    if not regular:
        eigenvalues = np.linalg.eigvalsh(correlations)
        rank = (eigenvalues > n_features * ROUNDING * eigenvalues[-1]).sum()
        raise ValueError(
            f"The covariance of {name} is singular: its rank is {rank}, but the "
            f"samples span {n_features} dimensions. Use a positive regularization, a "
            'shrinking covariance_estimator such as "oas", fewer features, or more '
            "samples."
        )
    inverse = solve_triangular(factor, np.eye(n_features), lower=True)
    whitener = (inverse / units).T
    return whitener, float(np.log(np.diag(factor)).sum() + np.log(units).sum())
