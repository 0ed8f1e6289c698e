"""Discriminant analysis by Gaussian classes, from samples or from their statistics."""

from copy import copy
from numbers import Real

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.special import logsumexp
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import unique_labels

from skgeom._held_out import statistics_and_sample
from skgeom._shrinkage import (
    ROUNDING,
    HeldOutSamples,
    closed_form_intensities,
    prior_intensities,
    shrunk_to_diagonal,
    whitener,
    without_rounding,
)
from skgeom._statistics import ClassStatistics, checked_statistics, without_axes
from skgeom.utils._dask import empty_block
from skgeom.utils._mixins import PosteriorClassifierMixin
from skgeom.utils.array_api import (
    ARRAY_API,
    float_dtypes,
    in_double,
    is_dask,
    like,
    move_attributes,
    namespace,
    on_cpu,
    to_numpy,
)
from skgeom.utils.estimator import (
    BaseEstimator,
    current_progress,
    estimator_method,
    naming,
    validate_data,
)
from skgeom.utils.validation import (
    check_array,
    check_priors,
    check_two_classes,
    checked_labels,
    union_of_classes,
)


class GaussianClassifier(PosteriorClassifierMixin, BaseEstimator):
    r"""Quadratic or linear discriminant analysis, from samples or class statistics.

    The classes are Gaussian [1]_. With ``covariance="full"``, each class has its own
    covariance :math:`\Phi_k`, as in quadratic discriminant analysis (QDA); with
    ``"shared"``, all classes have the pooled within-class covariance, as in linear
    discriminant analysis (LDA):

    .. math::

       \log p(k \mid x) = \log \pi_k - \tfrac12 \log \det (\Phi_k + \sigma^2 I)
       - \tfrac12 (x - \gamma_k)^\top (\Phi_k + \sigma^2 I)^{-1} (x - \gamma_k)
       + \mathrm{const}.

    The classifier requires only the counts, means and covariances of the classes. It
    can be fitted to samples, to weighted samples, to a sequence of batches, or to a
    :class:`ClassStatistics`. The test for singular covariances uses features in units
    of their standard deviations, so the units of X do not matter, unless a variance is
    added.

    Parameters
    ----------
    covariance : {"full", "shared"}, default="full"
        Whether each class has its own covariance, or all classes share one covariance.
    regularization : "auto" or float, default="auto"
        A number is the variance :math:`\sigma^2`, in squared units of X, that is added
        to all variances. ``"auto"`` adds nothing and shrinks the covariances, as
        described in the notes, unless ``covariance_estimator`` is given.
    covariance_estimator : None, str, or object, default=None
        How :meth:`fit` estimates the covariance of a class, as in
        :meth:`ClassStatistics.from_data`; None is the sample covariance.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Probabilities of the classes, in the order of ``classes_``. None uses the
        proportions of the classes in training.
    verbose : int, default=0
        If positive, a fit prints ``shrinkage_``, ``prior_samples_`` and
        ``diagonal_shrinkage_``.

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
        Method that selected ``shrinkage_``.
    prior_samples_ : float or None
        The number q of prior samples per feature that :meth:`fit` selected; None if
        nothing was held out.
    selection_scores_ : dict of ndarrays or None
        ``"prior_samples"`` and ``"brier_score"`` of each candidate for q. The Brier
        score is the mean of the squared errors of the posteriors, summed over the
        classes, at the best temperature, or NaN if a covariance is singular. None if
        nothing was held out.
    statistics_ : ClassStatistics
        Counts, means and covariances of the classes.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    SQFA : Filters for which the class distributions differ most.
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : Quadratic discriminant
        analysis from samples.

    Notes
    -----
    With ``regularization="auto"``, the covariance of class k becomes

    .. math::

       (1 - \rho_k) S_k + \rho_k R, \qquad \rho_k = \frac{q n}{n_k - 1 + q n}, \qquad
       R = (1 - \lambda) W + \lambda \operatorname{diag}(W),

    where W is the pooled within-class covariance of n features, or of the span of the
    samples if the span has fewer dimensions. R counts as q n samples in addition to the
    :math:`n_k` samples of the class. :math:`\lambda` is the closed-form intensity for
    correlation matrices [2]_, and q is selected from 0, 0.3, 1, 3, 10 and infinity:
    :meth:`fit` computes the posteriors of held-out samples in five folds, or in fewer
    folds if these hold out 500 samples, and selects the largest q whose Brier score, at
    the best temperature, is within one standard error of the best score. Equal samples
    count once in :math:`n_k`. The result does not depend on the units of the features,
    the order of the samples, or a common factor of all sample weights. (For more than
    10,000 samples, a subset of 10,000 samples is used. It depends on the values of X
    and not on the order of the samples.) :meth:`fit_statistics` and :meth:`partial_fit`
    use the closed form of :meth:`ClassStatistics.shrunk` for :math:`\rho_k`, in
    coordinates in which R is the identity, because there are no held-out samples.
    After :meth:`fit`, :meth:`partial_fit` keeps the selected q, and uses the closed
    form only if a covariance is singular with the selected q.

    Features that are constant, or linear combinations of other features in all
    samples, contain no additional information about the class. If no variance is added,
    the Gaussians are defined in the span of the samples, and :meth:`score_samples`
    returns the logarithm of the density in this span. A within-class variance is
    treated as zero if it is not larger than the rounding error of numbers of the size
    of the class mean or of the total standard deviation.

    A feature that is constant within class k and varies in other classes has variance
    :math:`\rho_k R_{jj}` in class k. :math:`R_{jj}` is small if the feature rarely
    varies, for example a flag that is set in two samples of one class. Then a sample of
    class k in which the flag is set can have a posterior near 1 for the wrong class,
    and the selected q can be larger for all classes. There is no warning, because some
    pixels of images also have small variances. Remove rare flags, or use a positive
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

    A classifier that is fitted without all samples in memory:

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
        """Fit the Gaussians to labeled samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Classes of the samples, at least two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; a weight of 2 counts a sample twice. The weights
            of each class must add up to more than 1 if its samples differ.

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
        estimator = self.covariance_estimator
        selects = self.regularization == "auto" and estimator is None
        if selects and is_dask(X):
            statistics, sample = statistics_and_sample(X, y, sample_weight)
        else:
            sample = X, y, sample_weight
            statistics = ClassStatistics.from_data(
                X, y, estimator, sample_weight=sample_weight
            )
        return self._fit(statistics, HeldOutSamples(*sample) if selects else None)

    @estimator_method
    def fit_statistics(self, statistics):
        """Fit the Gaussians to the statistics of the classes.

        Parameters
        ----------
        statistics : ClassStatistics
            Counts, means and covariances. If they have ``axes``, the features are
            ``X @ statistics.axes.T``; ``statistics.project(sqfa.components_)``
            returns statistics of filter outputs.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        TypeError
            If ``statistics`` is not a :class:`ClassStatistics`.
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
        return self._fit(statistics, argument="statistics")

    @estimator_method
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Update the Gaussians with more samples.

        After any number of calls, ``statistics_`` equals the statistics of all samples
        up to rounding, including the samples of earlier calls of :meth:`fit` and
        :meth:`fit_statistics`. With a number as ``regularization``, the fitted model
        equals the result of :meth:`fit` on all samples. With ``"auto"``, the shrinkage
        differs: :meth:`fit` selects the shrinkage on held-out samples, and
        :meth:`partial_fit` uses ``prior_samples_`` of the last :meth:`fit` or, if
        :meth:`fit` was not called, a closed form.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        y : array-like of shape (n_samples,)
            Classes of the samples.
        classes : array-like of shape (n_classes,), default=None
            Classes that later calls may contain. The probability of a class is zero
            until its first sample is passed. Further classes are added when their first
            samples are passed.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in :meth:`fit`. The sum of the weights of a class
            includes earlier calls.

        Returns
        -------
        self
            This object. While a covariance is singular, predictions raise the error of
            :meth:`fit`. If there is a single class, it is predicted for all samples.

        Raises
        ------
        ValueError
            If the data are malformed, or if ``covariance_estimator`` is given, because
            only sample covariances can be added.
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
            classes = check_array(
                on_cpu(classes), ensure_2d=False, dtype=None, input_name="classes"
            )
            with naming("classes"):
                unique_labels(classes, known)  # raises unless they are of one kind
                known = union_of_classes(classes, known)
        if first:
            self.prior_samples_ = self.selection_scores_ = None
            self._distinct_shares = {}
        else:
            known = union_of_classes(known, self.classes_)
        self._store(statistics, known)
        # A class that was added later may be singular with the selected number.
        for prior in dict.fromkeys([self.prior_samples_, None]):
            try:
                return self._fit_gaussians(prior=prior)
            except ValueError as error:
                self._fault = str(error)
        return self

    def _validated(self, X, y, reset):
        if is_dask(X):
            validate_data(self, empty_block(X), ensure_min_samples=0, reset=reset)
            return X, y
        X = validate_data(self, X, dtype=float_dtypes(X), reset=reset)
        return X, checked_labels(y, X)

    def _fit(self, statistics, held_out=None, argument="y"):
        check_two_classes(statistics.classes, type(self).__name__, argument)
        self._store(statistics, statistics.classes)
        self._distinct_shares = held_out.distinct_shares() if held_out else {}
        self.prior_samples_ = self.selection_scores_ = None
        return self._fit_gaussians(held_out)

    def _store(self, statistics, classes):
        # Statistics of validated samples have no names.
        statistics.feature_names_in_ = getattr(self, "feature_names_in_", None)
        self.statistics_, self.classes_ = statistics, classes
        seen, counts = statistics.classes.astype(classes.dtype), np.zeros(len(classes))
        counts[np.searchsorted(classes, seen)] = statistics.counts
        priors = check_priors(self.priors, counts) * (counts > 0)
        self.priors_ = like(priors / priors.sum(), statistics.means)

    def _fit_gaussians(self, held_out=None, prior=None):
        """Fit the Gaussians to the statistics.

        Held-out samples select the number of prior samples, unless it is given. Without
        either, a closed form computes the shrinkage.
        """
        # By LAPACK, in double precision.
        statistics = self.statistics_.__sklearn_array_api_convert__(to_numpy)
        counts = statistics.counts
        covariances, total = without_rounding(statistics)
        pooled = np.tensordot(counts / counts.sum(), covariances, axes=1)
        shrinks = self.regularization == "auto"
        self.regularization_ = 0.0 if shrinks else float(self.regularization)
        shrinks = shrinks and statistics.covariance_estimator is None
        self.diagonal_shrinkage_, self.shrinkage_selection_ = 0.0, "none"
        if shrinks:
            n_distinct = counts * self._shares_of(statistics.classes)
            pooled, self.diagonal_shrinkage_ = shrunk_to_diagonal(
                pooled, np.diag(total), n_distinct
            )
        basis, log_volume = (None, 0.0) if self.regularization_ else _span(total)
        if basis is not None:
            covariances = basis.T @ covariances @ basis
            pooled = basis.T @ pooled @ basis
        names = [f"class {label}" for label in statistics.classes]
        self.shrinkage_ = np.zeros(len(counts))
        if self.covariance == "shared":
            self.shrinkage_ = np.ones(len(counts))
            covariances, names = pooled[None], ["all classes together"]
        elif shrinks:
            if held_out is not None:
                prior, self.selection_scores_ = held_out.select_prior(
                    statistics, basis, pooled, self.diagonal_shrinkage_, self.priors_
                )
                self.prior_samples_ = prior
            if prior is None:
                self.shrinkage_selection_ = "closed-form"
                self.shrinkage_ = closed_form_intensities(covariances, counts, pooled)
            else:
                self.shrinkage_selection_ = "held-out"
                self.shrinkage_ = prior_intensities(prior * len(pooled), n_distinct)
            covariances += self.shrinkage_[:, None, None] * (pooled - covariances)
        covariances = covariances + self.regularization_ * np.eye(len(pooled))
        whiteners, log_scales = zip(*map(_whitener, covariances, names), strict=True)
        if basis is not None:
            whiteners = [basis @ whitener for whitener in whiteners]
        # A class without samples has the prior zero, so that any Gaussian will do.
        seen = statistics.classes.astype(self.classes_.dtype)
        rows = np.minimum(np.searchsorted(seen, self.classes_), len(seen) - 1)
        self._means = statistics.means[rows]
        rows = rows if len(whiteners) > 1 else [0]
        self._whiteners = np.stack(whiteners)[rows]
        self._log_scales = np.array(log_scales)[rows] + log_volume
        self._fault = None
        move_attributes(self, self.statistics_.means)
        intensities = np.array2string(
            to_numpy(self.shrinkage_), precision=3, threshold=20, max_line_width=np.inf
        )
        current_progress().print(
            f"shrinkage_ {intensities} ({self.shrinkage_selection_}), prior_samples_ "
            f"{self.prior_samples_}, diagonal_shrinkage_ {self.diagonal_shrinkage_:.3g}"
        )
        return self

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

        Also returns the summand, (n_samples,), which is common to all classes: far from
        the means, adding it would cancel the digits of the differences.
        """
        X = validate_data(self, X, dtype=float_dtypes(X), reset=False)
        xp, X = namespace(X), in_double(X)
        if self._fault is not None:
            raise ValueError(self._fault)
        means, whiteners, log_scales = self._means, self._whiteners, self._log_scales
        constant = -whiteners.shape[2] * float(np.log(2 * np.pi)) / 2
        with np.errstate(over="ignore", divide="ignore"):
            if whiteners.shape[0] == 1:
                whitener, center = whiteners[0, ...], xp.mean(means, axis=0)
                Z, M = (X - center) @ whitener, (means - center) @ whitener
                densities = Z @ M.T - xp.sum(xp.square(M), axis=1) / 2
                common = constant - log_scales[0] - xp.sum(xp.square(Z), axis=1) / 2
            else:
                densities = []
                for k in range(whiteners.shape[0]):
                    Z = (X - means[k, :]) @ whiteners[k, ...]
                    densities.append(-xp.vecdot(Z, Z) / 2 - log_scales[k])
                densities = xp.stack(densities, axis=1)
                # A finite bound keeps the classes comparable where squares overflow.
                lowest = float(xp.finfo(densities.dtype).min) / 4
                densities = xp.maximum(densities, xp.full_like(densities, lowest))
                largest = xp.max(densities, axis=1)
                densities = densities - largest[:, None]
                common = constant + largest
            return densities + xp.log(self.priors_), common

    def _joint_log_likelihood(self, X):
        joint, _ = self._log_joint(X)
        return joint

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = ARRAY_API
        return tags

    @estimator_method
    def score_samples(self, X):
        """Logarithm of the density of each sample; outliers have low values.

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


def _span(total):
    """The directions in which the samples differ, if these are not all directions.

    Returns
    -------
    basis : ndarray of shape (n_features, rank) or None
        The columns are orthonormal for features of variance one.
    log_volume : float
        The logarithm of the factor by which ``X @ basis`` decreases volumes.
    """
    variances = np.diag(total)
    if not variances.max() > np.finfo(np.float64).tiny:
        raise ValueError(
            "All features are constant, or their variances, which are up to "
            f"{variances.max():.3g}, are too small for floating-point numbers. "
            "Multiply X by a common factor, or use StandardScaler."
        )
    scales = np.sqrt(np.where(variances > 0, variances, 1))
    correlations = total / scales / scales[:, None]
    # Ends when rounding is left: for rank r, in n r^2 steps.
    tol = len(total) * ROUNDING
    factor, pivots, rank, _ = dpstrf(correlations, tol=tol, lower=True)
    if rank == len(total):
        return None, 0.0
    columns = np.empty((len(total), rank))
    columns[pivots - 1] = np.tril(factor[:, :rank])
    axes, _ = np.linalg.qr(columns)
    volumes = np.abs(np.diag(np.linalg.qr(scales[:, None] * axes, mode="r")))
    return axes / scales[:, None], float(np.log(volumes).sum())


def _whitener(covariance, name):
    """W with W' covariance W = I, and the log-determinant of its inverse."""
    n_features, deviations = len(covariance), np.sqrt(np.diag(covariance))
    try:
        found = whitener(covariance)
    except np.linalg.LinAlgError:
        found = np.full_like(covariance, np.inf)
    # Squares of ``scales`` are variances that do not depend on previous features.
    scales = 1 / np.diag(found)
    if not (scales > np.sqrt(n_features * ROUNDING) * deviations).all():
        rank = np.linalg.matrix_rank(covariance, hermitian=True)
        raise ValueError(
            f"The covariance of {name} is singular: its rank is {rank}, but the "
            f"samples span {n_features} dimensions. Use a positive regularization, a "
            'shrinking covariance_estimator such as "oas", fewer features, or more '
            "samples."
        )
    return found, float(np.log(scales).sum())
