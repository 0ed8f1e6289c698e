"""Discriminant analysis with Gaussian classes, from samples or class statistics."""

from copy import copy
from numbers import Real

import numpy as np
from scipy.linalg import solve
from scipy.special import logsumexp
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import unique_labels

from skgeom._held_out import distinct_shares, shares_of, statistics_and_sample
from skgeom._shrinkage import (
    ROUNDING,
    HeldOutSamples,
    prior_intensities,
    shrunk_to_diagonal,
    whitener,
    without_rounding,
)
from skgeom._statistics import (
    ClassStatistics,
    check_means,
    checked_statistics,
    closed_form_shrinkage,
    without_axes,
)
from skgeom.utils._mixins import PosteriorClassifierMixin
from skgeom.utils.array_api import (
    check_not_dask,
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
from skgeom.utils.linalg import semidefinite_root
from skgeom.utils.validation import (
    check_array,
    check_priors,
    check_two_classes,
    checked_groups,
    labelled_samples,
    union_of_classes,
    warn_if_outlier,
)

# Candidates of the number of samples per feature that corresponds to the weight of the
# pooled covariance (benchmarks/bench_gaussian.py compares different candidates).
_PRIOR_SAMPLES = np.array([0.0, 0.3, 1.0, 3.0, 10.0, np.inf])


class GaussianClassifier(PosteriorClassifierMixin, BaseEstimator):
    r"""Quadratic or linear discriminant analysis, from samples or class statistics.

    The model describes each class as a Gaussian [1]_. With ``covariance="full"``, class
    k has its own covariance :math:`\Phi_k`, as in quadratic discriminant analysis
    (QDA). With ``"shared"``, all classes have the pooled within-class covariance, as in
    linear discriminant analysis (LDA). With the class means :math:`\gamma_k` and the
    prior probabilities :math:`\pi_k`, the logarithms of the posterior probabilities
    before the calibration (see the notes) are

    .. math::

       \log p(k \mid x) = \log \pi_k - \tfrac12 \log \det (\Phi_k + \sigma^2 I)
       - \tfrac12 (x - \gamma_k)^\top (\Phi_k + \sigma^2 I)^{-1} (x - \gamma_k)
       + \mathrm{const}.

    The classifier requires only the counts, means and covariances of the classes. It
    can be fitted to samples, to weighted samples, to a sequence of batches, or to a
    :class:`ClassStatistics`.

    Parameters
    ----------
    covariance : {"full", "shared"}, default="full"
        Whether each class has its own covariance, or all classes share one covariance.
    regularization : "auto" or float, default="auto"
        A number is the variance :math:`\sigma^2`, in squared units of X, that is added
        to the variances of all features; the covariances are not shrunk. With
        ``"auto"``, :math:`\sigma^2` is 0, and the covariances are shrunk as described
        in the notes, unless ``covariance_estimator`` is given.
    covariance_estimator : None, str, or object, default=None
        Estimator of the class covariances in :meth:`fit`, as in
        :meth:`ClassStatistics.from_data`. None uses the maximum likelihood covariances,
        which are divided by the number of samples of the class. The unbiased
        covariances of ``statistics_`` are divided by this number minus one.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Prior probabilities of the classes, in the order of ``classes_``. None uses the
        proportions of the classes in the training data.
    verbose : int, default=0
        If positive, the fit methods print ``shrinkage_``, ``prior_samples_``,
        ``diagonal_shrinkage_``, ``prior_weight_`` and ``temperature_``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities of the classes.
    regularization_ : float
        The variance :math:`\sigma^2` that is added: 0 for ``"auto"``.
    shrinkage_ : ndarray of shape (n_classes,)
        The intensity :math:`\rho_k` with which the covariance of each class of
        ``statistics_`` is shrunk towards the pooled covariance: 1 for
        ``covariance="shared"``, and 0 if the covariances are not shrunk.
    diagonal_shrinkage_ : float
        The intensity :math:`\lambda` with which the pooled covariance is shrunk towards
        its diagonal; 1 if :meth:`fit` selected the diagonal.
    shrinkage_selection_ : {"held-out", "closed-form", "none"}
        Method that selected ``shrinkage_``; "none" for ``covariance="shared"``.
    prior_samples_ : float or None
        The number q of prior samples per feature that :meth:`fit` selected on held-out
        samples; None without held-out samples.
    prior_weight_ : float
        The weight v of the logarithms of the priors in the decisions: 1, or 4, 16 or 64
        if the densities are overconfident on held-out samples (see the notes). 1
        without held-out samples.
    temperature_ : float
        The temperature T, which calibrates the posteriors with held-out samples without
        changing the predicted classes (see the notes). 1 without held-out samples.
        :meth:`score_samples` uses neither T nor v.
    selection_scores_ : dict of ndarrays or None
        ``"prior_samples"`` and ``"brier_score"`` of each candidate for q. The Brier
        score is the mean over samples of the squared errors of the posteriors, summed
        over the classes, with the best weight of the priors. It is NaN if a covariance
        is singular. None without held-out samples.
    statistics_ : ClassStatistics
        Counts, means and covariances of the classes, before shrinkage.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    SQFA : Learns filters that maximize the distances between Gaussian classes.
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : Quadratic discriminant
        analysis in scikit-learn, fitted to samples only.

    Notes
    -----
    With ``regularization="auto"``, the covariance of class k becomes

    .. math::

       (1 - \rho_k) S_k + \rho_k R, \qquad \rho_k = \frac{q n}{n_k - 1 + q n}, \qquad
       R = (1 - \lambda) W + \lambda \operatorname{diag}(W),

    where :math:`S_k` is the maximum likelihood covariance of the class (divided by
    :math:`n_k`) and W is the pooled within-class covariance of n features. If the span
    of the samples has fewer dimensions than there are features, n is the number of
    these dimensions. R has the weight of q n samples, and :math:`S_k` the weight of
    :math:`n_k - 1` samples. Equal samples count once in :math:`n_k`.

    The intensity :math:`\lambda` is the closed-form intensity for correlation matrices
    [2]_. :meth:`fit` selects q from 0, 0.3, 1, 3, 10 and infinity; q is infinite for
    ``covariance="shared"``. It holds out one of five folds after another until 500
    samples, and 500 / c samples of each of c classes, are held out. Fewer than 500
    samples are divided into five folds up to five times. The largest q is selected
    whose Brier score is within one standard error of the best score. A diagonal target,
    :math:`\lambda = 1`, is also tried, and selected if its score is better by more than
    one standard error. This is typical of signals and images whose classes vary in
    different directions: W then has a large variance in directions in which the class
    has a small variance.

    The posteriors are the softmax of :math:`(\log p(x \mid k) + v \log \pi_k) / T`. The
    weight v of the priors (``prior_weight_``) is the value of 1, 4, 16 and 64 with the
    best Brier score for T = v. It is larger than 1 if the densities are overconfident.
    The temperature T is v times a power of the square root of 2, and minimizes the
    log-loss of the held-out samples. In this log-loss, labels are random with
    probability 1 / (2 N) for N distinct samples, so that a single wrong label has
    little influence. T is smaller than v only if this decreases the log-loss by more
    than two standard errors, and the sum of the losses by more than the largest loss of
    two samples with random labels: filters that overfit also separate the held-out
    samples, from which they were learned. T is increased if the mean error probability
    of the posteriors is below 2 / N (but at most to half of the error rate of random
    guesses), because a few samples without errors do not prove that posteriors near 1
    are correct.

    If held-out samples are not classified better than by chance, q is infinite and v is
    1. If in addition most of them equal samples of other classes, as for a single
    categorical feature, T is 1. If there are more than 10,000 samples, the held-out
    samples are taken from a subset of 10,000 samples, which depends on the values of X.
    With at most 10,000 samples, the result does not depend on the units of the features
    or, except for ties, on the order of the features. It never depends on the order of
    the samples or on a common factor of all sample weights. The weights of a class must
    add up to more than one.

    If samples are not independent, such as several recordings of one subject, pass
    ``groups`` to :meth:`fit`. Otherwise, the selected q is too small, and the
    posteriors are overconfident.

    :meth:`fit_statistics` and :meth:`partial_fit` have no held-out samples. They
    compute :math:`\rho_k` with the closed form of :meth:`ClassStatistics.shrunk`, in
    coordinates in which R is the identity. After :meth:`fit`, :meth:`partial_fit` keeps
    the selected q and the choice of :math:`\lambda = 1`, with the exceptions described
    there. The closed form can shrink too much if the class covariances differ strongly,
    and too little if the features are skewed or have heavy tails.

    Features that are constant, or linear combinations of other features in all
    samples, contain no additional information about the class. If :math:`\sigma^2` is
    0, the Gaussians are defined in the span of the samples, :meth:`score_samples`
    returns the logarithm of the density in this span, and the test for singular
    covariances does not depend on the units of the features. A within-class standard
    deviation is treated as zero if it is not larger than the rounding error of numbers
    of the magnitude of the class mean or of the total standard deviation.

    A feature that is constant within class k and varies in other classes has variance
    :math:`\rho_k R_{jj}` in class k. :math:`R_{jj}` is small if the feature rarely
    varies, for example a binary feature that is 1 in two samples of one class only. A
    sample of class k in which this feature is 1 can then have a posterior near 1 for
    the wrong class, and the selected q can be larger. There is no warning, because
    small variances are common, for example in pixels of images. Remove features that
    rarely vary, or use a positive ``regularization``.

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

    Fit a classifier to class statistics, without having all samples in memory:

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
    _accepts_libraries = True
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
    def fit(self, X, y, sample_weight=None, groups=None):
        """Fit the Gaussians to labeled samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Class labels of the samples, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; a weight of 2 counts a sample twice. The weights
            of each class must add up to more than 1 if its samples differ.
        groups : array-like of shape (n_samples,), default=None
            Labels of groups of dependent samples, such as the recordings of one
            subject. The samples of a group are held out together when parameters are
            selected. With None, each set of equal samples is one group. Not supported
            for Dask input.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If the data or ``groups`` are malformed, if there is only one class, if
            parameters are selected and each group contains all samples of a class, if
            no feature varies and ``regularization`` is not positive, or if a class
            covariance is singular and neither ``regularization`` nor shrinkage makes it
            regular.
        TypeError
            If ``groups`` is given and X is a Dask array or data frame.

        Warns
        -----
        UserWarning
            If one sample causes more than 99 % of the variance of all features, or if
            held-out samples are not classified better than by chance.
        """
        X, y = labelled_samples(self, X, y)
        if groups is not None:
            check_not_dask(self, X, "Use groups=None")
        groups = checked_groups(groups, y, sample_weight)
        estimator = self.covariance_estimator
        selects = self.regularization == "auto" and estimator is None
        if selects and is_dask(X):
            statistics, sample = statistics_and_sample(X, y, sample_weight)
        else:
            sample = X, y, sample_weight, groups
            statistics = ClassStatistics.from_data(
                X, y, estimator, sample_weight=sample_weight
            )
        if not is_dask(X):
            warn_if_outlier(X, sample_weight)
        return self._fit(statistics, HeldOutSamples(*sample) if selects else None)

    @estimator_method
    def fit_statistics(self, statistics):
        """Fit the Gaussians to class statistics.

        Parameters
        ----------
        statistics : ClassStatistics
            Counts, means and covariances of at least two classes. If the statistics
            have ``axes``, the features of the classifier are
            ``X @ statistics.axes.T``. The method
            ``statistics.project(sqfa.components_)`` returns the statistics of filter
            outputs.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        TypeError
            If ``statistics`` is not a :class:`ClassStatistics`.
        ValueError
            If there is only one class, if ``statistics`` contains second moments only,
            if no feature varies and ``regularization`` is not positive, or if a class
            covariance is singular and neither ``regularization`` nor shrinkage makes it
            regular.
        """
        statistics = checked_statistics(statistics)
        check_means(statistics, "GaussianClassifier")
        # A new object, because the caller may update the given object.
        statistics = without_axes(statistics)
        vars(self).pop("feature_names_in_", None)
        if statistics.feature_names_in_ is not None:
            self.feature_names_in_ = statistics.feature_names_in_
        self.n_features_in_ = statistics.n_features
        return self._fit(statistics, argument="statistics")

    @estimator_method
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Update the Gaussians with more samples.

        After each call, ``statistics_`` equals, up to rounding, the statistics of all
        samples, including the data of an earlier call of :meth:`fit` or
        :meth:`fit_statistics`. If ``regularization`` is a number, the fitted model
        equals the result of :meth:`fit` with all samples. With ``"auto"``, the
        shrinkage differs from that result: :meth:`partial_fit` uses the
        ``prior_samples_`` that an earlier :meth:`fit` selected, or a closed form if
        there is no selected value. The closed form also replaces an infinite value that
        was selected with fewer than three samples per class and feature, if the number
        of samples has more than doubled. The ``prior_weight_`` and ``temperature_`` of
        an earlier :meth:`fit` are kept; without :meth:`fit`, posteriors are not
        calibrated. Call :meth:`fit` with all samples for a new selection.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        y : array-like of shape (n_samples,)
            Class labels of the samples.
        classes : array-like of shape (n_classes,), default=None
            Class labels that later calls may contain. The probability of a class is
            zero until its first sample is passed. Classes that are missing here are
            added when their first samples are passed.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in :meth:`fit`. The weights of a class in all
            calls together must add up to more than 1.

        Returns
        -------
        self
            This object. If a covariance is singular, the call does not raise an error,
            but the prediction methods raise the error of :meth:`fit` until later
            samples make the covariance regular. If there is a single class, it is
            predicted for all samples.

        Raises
        ------
        ValueError
            If the data are malformed, or if ``covariance_estimator`` is given, because
            only sample covariances can be updated.
        """
        if self.covariance_estimator is not None:
            raise ValueError(
                "partial_fit needs sample covariances, but covariance_estimator="
                f"{self.covariance_estimator!r}. Use covariance_estimator=None."
            )
        first = not hasattr(self, "statistics_")
        X, y = labelled_samples(self, X, y, reset=first)
        if first:
            statistics = ClassStatistics.from_data(X, y, sample_weight=sample_weight)
            known = statistics.classes
            self._reset_selection()
        else:
            statistics = copy(self.statistics_).update(X, y, sample_weight)
            known = union_of_classes(statistics.classes, self.classes_)
        if classes is not None:
            classes = check_array(
                on_cpu(classes), ensure_2d=False, dtype=None, input_name="classes"
            )
            with naming("classes"):
                unique_labels(classes, known)  # raises if strings and numbers are mixed
                known = union_of_classes(classes, known)
        self._store(statistics, known)
        selected = self.prior_samples_
        if selected == np.inf and statistics.counts.sum() > self._n_samples_pooled:
            selected = None
        # With the selected number, the covariance of a new class may be singular.
        for prior in dict.fromkeys([selected, None]):
            try:
                return self._fit_gaussians(prior=prior)
            except ValueError as error:
                self._fault = str(error)
        return self

    def _fit(self, statistics, held_out=None, argument="y"):
        check_two_classes(statistics.classes, type(self).__name__, argument)
        self._store(statistics, statistics.classes)
        self._reset_selection(held_out)
        # With few samples, an infinite number can be selected although the covariances
        # differ. More samples than this number end it.
        counts, classes = statistics.counts, statistics.classes
        n_distinct = counts @ shares_of(classes, self._distinct_shares)
        is_small = n_distinct < 3 * len(classes) * statistics.n_features
        self._n_samples_pooled = 2 * counts.sum() if is_small else np.inf
        return self._fit_gaussians(held_out)

    def _reset_selection(self, held_out=None):
        """Set what held-out samples determine to the values without a selection."""
        self._distinct_shares = {}
        if held_out is not None:
            self._distinct_shares = distinct_shares(held_out.y, held_out.weights)
        self.prior_samples_ = self.selection_scores_ = None
        self.prior_weight_ = self.temperature_ = 1.0
        self._target = 0

    def _store(self, statistics, classes):
        # Statistics of validated samples have no feature names.
        statistics.feature_names_in_ = getattr(self, "feature_names_in_", None)
        self.statistics_, self.classes_ = statistics, classes
        seen, counts = statistics.classes.astype(classes.dtype), np.zeros(len(classes))
        counts[np.searchsorted(classes, seen)] = statistics.counts
        priors = check_priors(self.priors, counts) * (counts > 0)
        self.priors_ = like(priors / priors.sum(), statistics.means)

    def _fit_gaussians(self, held_out=None, prior=None):
        """Fit the Gaussians to ``statistics_``.

        The number of prior samples is selected on held-out samples, or is ``prior``.
        If both are None, a closed form computes the shrinkage.
        """
        # NumPy arrays in double precision, for LAPACK.
        statistics = self.statistics_.__sklearn_array_api_convert__(to_numpy)
        counts = statistics.counts
        covariances, total = without_rounding(statistics)
        pooled = np.tensordot(counts / counts.sum(), covariances, axes=1)
        shrinks, is_shared = self.regularization == "auto", self.covariance == "shared"
        self.regularization_ = 0.0 if shrinks else float(self.regularization)
        shrinks = shrinks and statistics.covariance_estimator is None
        self.diagonal_shrinkage_, self.shrinkage_selection_ = 0.0, "none"
        if shrinks:
            n_distinct = counts * shares_of(statistics.classes, self._distinct_shares)
            shrunk = shrunk_to_diagonal(pooled, np.diag(total), n_distinct)
            targets = [shrunk, (np.diag(np.diag(shrunk[0])), 1.0)]
            pooled, self.diagonal_shrinkage_ = targets[self._target]
        basis, log_volume = None, 0.0
        if not self.regularization_:
            basis, log_volume = _span(total, pooled if shrinks else None)
        if basis is not None:
            covariances = basis.T @ covariances @ basis
            pooled = basis.T @ pooled @ basis
        if held_out is not None:
            if basis is not None:
                targets = [(basis.T @ S @ basis, rho) for S, rho in targets]
            candidates = _PRIOR_SAMPLES[-1:] if is_shared else _PRIOR_SAMPLES
            selected = held_out.select_prior(
                statistics, basis, targets, self.priors_, candidates
            )
            self._target, prior, *calibration, self.selection_scores_ = selected
            self.prior_weight_, self.temperature_ = calibration
            self.prior_samples_ = prior
            pooled, self.diagonal_shrinkage_ = targets[self._target]
        names = [f"class {label}" for label in statistics.classes]
        self.shrinkage_ = np.zeros(len(counts))
        if is_shared:
            self.shrinkage_ = np.ones(len(counts))
            covariances, names = pooled[None], ["all classes together"]
        elif shrinks:
            if prior is None:
                self.shrinkage_selection_ = "closed-form"
                W = whitener(pooled)
                whitened = W.T @ covariances @ W
                self.shrinkage_ = closed_form_shrinkage(whitened, counts)
            else:
                self.shrinkage_selection_ = "held-out"
                self.shrinkage_ = prior_intensities(prior * len(pooled), n_distinct)
            covariances += self.shrinkage_[:, None, None] * (pooled - covariances)
        covariances = covariances + self.regularization_ * np.eye(len(pooled))
        whiteners, log_scales = zip(*map(_whitener, covariances, names), strict=True)
        if basis is not None:
            whiteners = [basis @ whitener for whitener in whiteners]
        # The prior of a class without samples is zero, so its Gaussian is arbitrary.
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
            f"{self.prior_samples_}, diagonal_shrinkage_ "
            f"{self.diagonal_shrinkage_:.3g}, prior_weight_ {self.prior_weight_:g}, "
            f"temperature_ {self.temperature_:.3g}"
        )
        return self

    # Prediction

    def _log_joint(self, X, prior_weight=1.0, temperature=1.0):
        """Logarithms of prior times density, without a common summand.

        Returns the logarithms, (n_samples, n_classes), and the summand, (n_samples,),
        which is common to all classes. For samples far from the means, adding the
        summand would reduce the precision of the differences between classes.
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
                # A finite bound allows the comparison of classes if squares overflow.
                lowest = float(xp.finfo(densities.dtype).min) / 4
                densities = xp.maximum(densities, xp.full_like(densities, lowest))
                largest = xp.max(densities, axis=1)
                densities = densities - largest[:, None]
                common = constant + largest
            log_priors = prior_weight * xp.log(self.priors_)
            return (densities + log_priors) / temperature, common

    def _joint_log_likelihood(self, X):
        return self._log_joint(X, self.prior_weight_, self.temperature_)[0]

    @estimator_method
    def score_samples(self, X):
        """Compute the log-density of each sample; outliers have low values.

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


def _span(total, pooled=None):
    r"""A basis for the Gaussians; None if the samples vary in all directions.

    The basis spans the columns of :math:`R^{-1} T`, with the pooled covariance R and
    the total covariance T. It contains all linear discriminants :math:`R^{-1} (\gamma_i
    - \gamma_j)`. Without ``pooled``, R is the diagonal of T.

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
            "All features are constant, or their variances are too small for "
            f"floating-point numbers (largest variance {variances.max():.3g}). "
            "Multiply X by a common factor, or use StandardScaler."
        )
    scales = np.sqrt(np.where(variances > 0, variances, 1))
    correlations = total / scales / scales[:, None]
    # Ends when only rounding errors are left, after n r^2 operations for rank r. The
    # tolerance is ten times that of `_whitener`: otherwise, rounding would decide
    # whether the covariance of a class is singular in the remaining directions.
    tol = 10 * len(total) * ROUNDING
    root = semidefinite_root(correlations, tol)
    if root.shape[1] == len(total):
        return None, 0.0
    axes, _ = np.linalg.qr(root)
    samples, _ = np.linalg.qr(scales[:, None] * axes)
    if pooled is not None:
        pooled = pooled / scales / scales[:, None] + np.diag(variances == 0)
        axes, _ = np.linalg.qr(solve(pooled, axes, assume_a="pos"))
    basis = axes / scales[:, None]
    return basis, -float(np.linalg.slogdet(basis.T @ samples)[1])


def _whitener(covariance, name):
    """W with W' covariance W = I, and the log-determinant of the inverse of W."""
    n_features, deviations = len(covariance), np.sqrt(np.diag(covariance))
    try:
        found = whitener(covariance)
    except np.linalg.LinAlgError:
        found = np.full_like(covariance, np.inf)
    # Squares of ``scales`` are the variances of features given the previous features.
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
