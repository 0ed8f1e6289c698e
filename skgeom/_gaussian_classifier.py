"""Discriminant analysis with Gaussian classes, from samples or class statistics."""

from contextlib import suppress
from copy import copy
from numbers import Real

import numpy as np
from scipy.special import logsumexp

from skgeom._held_out import (
    HeldOut,
    distinct_shares,
    shares_of,
    statistics_and_sample,
)
from skgeom._regularized_gaussians import (
    POOLINGS,
    TARGETS,
    SingularCovarianceError,
    coordinates_of,
    gaussians_of,
    select_covariances,
    shrunk_gaussians,
)
from skgeom._selection import label_noise
from skgeom._statistics import (
    ClassStatistics,
    check_covariances,
    checked_statistics,
    in_host_memory,
    statistics_of_samples,
    without_axes,
)
from skgeom.utils._dask import is_dask
from skgeom.utils._mixins import PosteriorClassifierMixin, noisy_log_posteriors
from skgeom.utils._sklearn import CallbackSupportMixin, HasMethods, Interval, StrOptions
from skgeom.utils.array_api import (
    in_double,
    namespace,
)
from skgeom.utils.docs import (
    BATCH_WEIGHT,
    CLASSES,
    SAMPLE_WEIGHT,
    substitute_docs,
)
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.methods import (
    fit_method,
    predict_method,
    statistics_method,
)
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import (
    check_priors,
    check_two_classes,
    classes_of_stream,
    validate_data,
    validated_samples,
)
from skgeom.utils.warn import warn_if_outlier


class GaussianClassifier(CallbackSupportMixin, PosteriorClassifierMixin, BaseEstimator):
    r"""Quadratic or linear discriminant analysis with selected regularization.

    The model describes each class as a Gaussian [1]_. With ``covariance="full"``, class
    k has its own covariance :math:`\Phi_k`, as in quadratic discriminant analysis
    (QDA). With ``"shared"``, all classes have the pooled within-class covariance, as in
    linear discriminant analysis (LDA). With the class means :math:`\gamma_k`, the
    prior probabilities :math:`\pi_k` and a temperature T, the posterior probabilities
    are

    .. math::

       p(k \mid x) \propto [\pi_k \, p(x \mid k)]^{1 / T}, \qquad
       p(x \mid k) = \mathcal N(x; \gamma_k, \Phi_k).

    The classifier requires only the counts, means and covariances of the classes. It
    can be fitted to samples, to weighted samples, to a sequence of batches, or to a
    :class:`ClassStatistics`.

    Parameters
    ----------
    covariance : {"full", "shared"}, default="full"
        Whether each class has its own covariance, or all classes share one covariance.
    regularization : "auto" or float, default="auto"
        A number is a variance, in squared units of X, that is added to the variances of
        all features; the covariances are not shrunk, and T is 1. With ``"auto"``, the
        covariances are those of regularized discriminant analysis (see the notes). If
        ``covariance_estimator`` is given, ``"auto"`` adds nothing.
    covariance_estimator : None, str, or object, default=None
        Estimator of the class covariances in :meth:`fit`, as in
        :meth:`ClassStatistics.from_data`. None uses the maximum likelihood covariances,
        which are divided by the number of samples of the class. The unbiased
        covariances of ``statistics_`` are divided by this number minus one.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Prior probabilities of the classes, in the order of ``classes_``. None uses the
        proportions of the classes in the training data.
    verbose : int, default=0
        If positive, the fit methods print the selected parameters.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities of the classes.
    class_shrinkages_ : ndarray of shape (n_classes,)
        The intensity :math:`\rho_k` with which the covariance of each class is shrunk
        towards the pooled covariance: 1 for ``covariance="shared"``, and 0 if the
        covariances are not shrunk.
    ridge_ : float
        The intensity :math:`\lambda` with which all covariances are shrunk towards the
        target; 0 if they are not shrunk.
    target_ : {"diagonal", "identity"} or None
        The target: the diagonal of the pooled covariance, or its mean times the
        identity. None if the covariances are not shrunk.
    temperature_ : float
        The temperature T, larger than 1 for posteriors that are overconfident on
        held-out samples. 1 without held-out samples.
    label_noise_ : float
        The probability with which a label is random in the probabilities: 1 / (2 N) for
        N distinct samples, and 0 without held-out samples. It bounds the confidence in
        samples that are unlike all training samples.
    selection_ : Selection or None
        All candidates and their scores; None without held-out samples.
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
    With ``regularization="auto"``, the covariance of class k with :math:`n_k` distinct
    samples is that of regularized discriminant analysis [2]_,

    .. math::

       \Phi_k = (1 - \lambda) [(1 - \rho_k) S_k + \rho_k W] + \lambda D, \qquad
       \rho_k = \frac{q n}{n_k - 1 + q n},

    where :math:`S_k` is the maximum likelihood covariance of the class, W is the pooled
    covariance of n features, and D is the target. W counts like q prior samples per
    feature. :meth:`fit` selects q (``"pooling"``), :math:`\lambda` (``"ridge"``), the
    target and T by the posteriors of held-out samples, as :ref:`selection` describes.
    The identity, which depends on the units of the features, is selected only if no
    diagonal target has a similar score, as for pixels of images.

    If samples are not independent, such as several recordings of one subject, pass
    ``groups`` to :meth:`fit`. Otherwise, too little regularization is selected, and the
    posteriors are overconfident.

    :meth:`fit_statistics` and :meth:`partial_fit` have no held-out samples. They use
    the closed forms of [3]_ for :math:`\lambda` and of :meth:`ClassStatistics.shrunk`
    for :math:`\rho_k`, and T = 1. After :meth:`fit`, :meth:`partial_fit` keeps the
    selected parameters.

    Features that are constant, or linear combinations of other features in all
    samples, contain no additional information about the class. If ``regularization`` is
    ``"auto"`` or 0, the Gaussians are defined in the span of the samples,
    :meth:`score_samples` returns the logarithm of the density in this span, and the
    test for singular covariances does not depend on the units of the features. A
    within-class standard deviation is treated as zero if it is not larger than the
    rounding error of numbers of the magnitude of the class mean or of the total
    standard deviation.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, "The Elements of Statistical
       Learning", 2nd edition, Springer, 2009, section 4.3.
    .. [2] J. H. Friedman, "Regularized discriminant analysis", Journal of the American
       Statistical Association 84, 1989.
    .. [3] J. Schaefer and K. Strimmer, "A shrinkage approach to large-scale covariance
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

    @fit_method
    @substitute_docs(sample_weight=SAMPLE_WEIGHT)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Fit the Gaussians to labeled samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Class labels of the samples, of at least two classes.
        {sample_weight}
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
        samples = validated_samples(self, X, y, sample_weight, groups, dask=True)
        X, y, weights, groups, rows = samples
        current_progress().start(*((None, None) if is_dask(X) else (X, y)))
        estimator = self.covariance_estimator
        held_out = None
        selects = self.regularization == "auto" and estimator is None
        if selects and is_dask(X):
            statistics, sample = statistics_and_sample(X, y, weights)
            held_out = HeldOut(*sample)
        elif is_dask(X):
            statistics = ClassStatistics.from_data(
                X, y, estimator, sample_weight=weights
            )
        else:
            statistics = statistics_of_samples(X, y, weights, estimator)
            warn_if_outlier(X, weights, rows)
            if selects:
                held_out = HeldOut(X, y, weights, groups)
        check_two_classes(statistics.classes, type(self).__name__)
        self._store(statistics, statistics.classes)
        self._forget_selection()
        if held_out is not None:
            self._distinct_shares = distinct_shares(held_out.y, held_out.weights)
        self._set_gaussians(held_out)
        return self

    @statistics_method
    def fit_statistics(self, statistics):
        """Fit the Gaussians to class statistics.

        Parameters
        ----------
        statistics : ClassStatistics
            Counts, means and covariances of at least two classes. If the statistics
            have ``axes``, the features of the classifier are
            ``X @ statistics.axes.T``. The method
            ``statistics.project(sqfa.components_)`` returns the statistics of filter
            outputs. Merge the statistics of parts by :meth:`ClassStatistics.merge`.

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
        check_covariances(statistics, "GaussianClassifier")
        # A new object, because the caller may update the given object.
        statistics = without_axes(statistics)
        vars(self).pop("feature_names_in_", None)
        if statistics.feature_names_in_ is not None:
            self.feature_names_in_ = statistics.feature_names_in_
        self.n_features_in_ = statistics.n_features
        check_two_classes(statistics.classes, type(self).__name__, "statistics")
        self._store(statistics, statistics.classes)
        self._forget_selection()
        self._set_gaussians()
        return self

    @fit_method(updates=True)
    @substitute_docs(classes=CLASSES, sample_weight=BATCH_WEIGHT)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Update the Gaussians with more samples.

        After each call, ``statistics_`` equals, up to rounding, the statistics of all
        samples, including the data of an earlier call of :meth:`fit` or
        :meth:`fit_statistics`. If ``regularization`` is a number, the fitted model
        equals the result of :meth:`fit` with all samples, unless :meth:`fit` scaled
        weights of a small sum. With ``"auto"``, the
        regularization differs from that result: :meth:`partial_fit` keeps the values
        that an earlier :meth:`fit` selected, and otherwise uses closed forms. Call
        :meth:`fit` with all samples for a new selection.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        y : array-like of shape (n_samples,)
            Class labels of the samples.
        {classes}
        {sample_weight}

        Returns
        -------
        self
            This object. If a covariance is singular, the call does not raise an error,
            but the prediction methods raise the error of :meth:`fit` until later
            samples make the covariance regular. The probability of a class without
            samples is zero.

        Raises
        ------
        ValueError
            If the data are malformed, if y contains a label that is not in
            ``classes``, or if ``covariance_estimator`` is given, because only sample
            covariances can be updated.
        """
        if self.covariance_estimator is not None:
            raise ValueError(
                "partial_fit needs sample covariances, but covariance_estimator="
                f"{self.covariance_estimator!r}. Use covariance_estimator=None."
            )
        first = not hasattr(self, "statistics_")
        X, y, weights, *_ = validated_samples(
            self, X, y, sample_weight, reset=first, batch=True, dask=True
        )
        if first:
            statistics = ClassStatistics.from_data(X, y, sample_weight=weights)
            known = ()
            self._forget_selection()
        else:
            statistics = copy(self.statistics_).update(X, y, weights)
            known = self.classes_, self._announced
        known = classes_of_stream(classes, statistics.classes, *known)
        self._store(statistics, *known)
        # Later samples can make covariances regular.
        with suppress(SingularCovarianceError):
            self._set_gaussians()
        return self

    def __sklearn_is_fitted__(self):
        # The first batches of a stream may contain a single class.
        has_statistics = super().__sklearn_is_fitted__()
        return has_statistics and len(self.statistics_.classes) > 1

    def _forget_selection(self):
        """Set the attributes that held-out samples determine to their defaults."""
        self.selection_, self.temperature_, self.label_noise_ = None, 1.0, 0.0
        self._distinct_shares = {}

    def _store(self, statistics, classes, announced=False):
        """Set the statistics, classes and priors, which the Gaussians require."""
        # Whether partial_fit received all classes, so that no class can be added.
        self._announced = announced
        # Statistics of validated samples have no feature names.
        statistics.feature_names_in_ = getattr(self, "feature_names_in_", None)
        self.statistics_, self.classes_ = statistics, classes
        seen, counts = statistics.classes.astype(classes.dtype), np.zeros(len(classes))
        counts[np.searchsorted(classes, seen)] = statistics.counts
        priors = check_priors(self.priors, counts) * (counts > 0)
        self.priors_ = priors / priors.sum()

    def _set_gaussians(self, held_out=None):
        """Compute the Gaussians from ``statistics_``, with selection if held out.

        Without Gaussians, because a covariance is singular, ``_whiteners`` is None.
        """
        self._whiteners = None
        statistics = in_host_memory(self.statistics_)
        is_shared, n_classes = self.covariance == "shared", len(statistics.counts)
        self.class_shrinkages_, self.ridge_ = np.full(n_classes, 1.0 * is_shared), 0.0
        self.target_ = None
        if self.regularization == "auto" and statistics.covariance_estimator is None:
            gaussians = self._shrunk_gaussians(statistics, held_out)
        else:
            added = 0.0 if self.regularization == "auto" else float(self.regularization)
            gaussians = gaussians_of(statistics, added, is_shared)
        self.class_shrinkages_, self.ridge_ = gaussians.intensities, gaussians.ridge
        seen, rows = statistics.classes.astype(self.classes_.dtype), slice(None)
        if len(seen) < len(self.classes_):
            # The prior of a class without samples is zero: its Gaussian is arbitrary.
            rows = np.minimum(np.searchsorted(seen, self.classes_), len(seen) - 1)
        self._means = statistics.means[rows]
        rows = rows if len(gaussians.whiteners) > 1 else slice(None)
        self._whiteners = gaussians.whiteners[rows]
        self._log_scales = gaussians.log_scales[rows]

    def _shrunk_gaussians(self, statistics, held_out):
        """The Gaussians with shrunk covariances; selects their parameters first."""
        is_shared = self.covariance == "shared"
        shares = shares_of(statistics.classes, self._distinct_shares)
        n_distinct = statistics.counts * shares
        if held_out is not None:
            current_progress().stage("selection")
            coordinates = coordinates_of(statistics, n_distinct, TARGETS)
            poolings = (np.inf,) if is_shared else POOLINGS
            self.selection_ = select_covariances(
                held_out, coordinates, self.priors_, poolings
            )
            if self.selection_ is not None:
                self.temperature_ = self.selection_.temperature
                self.label_noise_ = label_noise(len(held_out.y))
        selected = {} if self.selection_ is None else self.selection_.selected
        texts = [f"{name} {value}" for name, value in selected.items()]
        texts.append(f"temperature_ {self.temperature_:.3g}")
        current_progress().print(", ".join(texts))
        self.target_ = selected.pop("target", TARGETS[0])
        if held_out is None:
            coordinates = coordinates_of(statistics, n_distinct, [self.target_])
        return shrunk_gaussians(
            coordinates[self.target_], n_distinct, is_shared, **selected
        )

    # Prediction

    def _log_joint(self, X, temperature=1.0):
        """Logarithms of prior times density, without a common summand.

        Returns the logarithms, (n_samples, n_classes), and the summand, (n_samples,),
        which is common to all classes. For samples far from the means, adding the
        summand would reduce the precision of the differences between classes.
        """
        X = validate_data(self, X, reset=False)
        xp, X = namespace(X), in_double(X)
        if self._whiteners is None:
            self._set_gaussians()  # raises the error
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
            return (densities + xp.log(self.priors_)) / temperature, common

    def _joint_log_likelihood(self, X):
        return self._log_joint(X, self.temperature_)[0]

    def _log_posteriors(self, joint):
        return noisy_log_posteriors(joint, self.label_noise_, self.priors_)

    @predict_method
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
