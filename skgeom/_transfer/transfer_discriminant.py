"""Discriminant analysis of SPD matrices of several domains."""

from copy import copy
from functools import partial
from numbers import Real

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from skgeom._held_out import groups_of_equal, merge_equal
from skgeom._transfer._adaptation import Source, adapted_to, tested_adaptation
from skgeom._transfer._shrinkage_selection import folds_of, select_shrinkage
from skgeom._transfer._tangent_gaussians import (
    Within,
    class_means,
    log_joint,
    logarithms_of,
    relevance_matrix,
    weighted_vectors,
)
from skgeom._transfer.recentering import (
    TARGET_REQUESTS,
    Recentering,
    domains_of,
    target_of,
)
from skgeom.geometry import expm
from skgeom.geometry._spd import (
    from_upper_triangles,
    hermitian_from_upper_triangles,
)
from skgeom.utils._mixins import log_odds
from skgeom.utils._sklearn import Interval, StrOptions, num_samples, positive
from skgeom.utils.docs import SAMPLE_WEIGHT, substitute_docs
from skgeom.utils.errors import naming
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.methods import fit_method, predict_method
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import (
    check_priors,
    check_spd_samples,
    checked_labels,
    encoded_labels,
    sample_labels,
    validated_samples,
)

# Weight of a labeled target matrix in fit (page "Constants").
_TARGET_WEIGHT = 10.0

# Of all methods that predict.
_DOMAIN = """
domain : array-like of shape (n_samples,) or scalar, default=None
    Domain label of each matrix, or of all matrices, as in
    :meth:`Recentering.transform`. For a new domain, such as a new session, pass a
    new label. None, the default, is required after a :meth:`fit` with target
    matrices, or if the last call of :meth:`fit` or :meth:`adapt` had no
    ``domain``, and is an error otherwise. All matrices are then re-centered with
    the mean of these target matrices or calls.
"""


class TransferDiscriminantAnalysis(ClassifierMixin, BaseEstimator):
    r"""Discriminant analysis of SPD matrices whose class means depend on the domain.

    A domain is a group of samples with its own distribution, such as one subject,
    recording session or run. The matrices of each domain are re-centered (see
    :class:`Recentering`) to matrices Z. Their logarithms, multiplied by the relevance
    matrix R (see ``relevance``), are the vectors v of a hierarchical model. Each class
    c is a Gaussian with the mean :math:`\mu_c` and a common covariance S, and the class
    means of a new subject are distributed around the class means
    :math:`\bar\mu_c` of training:

    .. math::

       v = \mathrm{vec}(R \log(Z) R), \qquad
       v \mid c \sim \mathcal{N}(\mu_c, S), \qquad
       \mu_c \sim \mathcal{N}(\bar\mu_c, S / \kappa).

    The vector v has n (n + 1) / 2 entries for real and n^2 entries for complex n x n
    matrices, and its norm is the Frobenius norm of the matrix.

    :meth:`fit` estimates :math:`\bar\mu_c` and S from labeled domains. With
    ``relevance=0``, R is the identity, and the classifier is shrinkage linear
    discriminant analysis in the tangent space [1]_ of re-centered matrices [2]_.
    :meth:`adapt` estimates the means :math:`\mu_c` of a new subject from matrices
    without class labels by expectation maximization. It keeps the means of :meth:`fit`
    if held-out matrices do not support the adaptation.

    Parameters
    ----------
    shrinkage : "auto" or float, default="auto"
        Shrinkage of the covariance S, from 0 to 1: the weight of a multiple of the
        identity with the same trace. ``"auto"`` selects among 14 values from 0.001 to 1
        with five folds, as :ref:`selection` describes. Each fold consists of whole
        domains, including labeled target matrices, if each domain has less than half of
        the samples, and of samples otherwise.
    relevance : float, default=0.1
        The exponent a, from 0 to 1, of the relevance matrix :math:`R = (\sum_c
        L_c^2)^a`, where :math:`L_c` is the mean of :math:`\log(Z)` in class c. R is
        scaled to a largest eigenvalue of 1. The directions in which the classes differ
        most are then shrunk less than the remaining directions. 0 weights all
        directions equally.
    prior_strength : float, default=200
        :math:`\kappa`, the weight of a class mean of :meth:`fit` in :meth:`adapt`,
        expressed as a number of matrices.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class probabilities. None uses the class proportions of training. :meth:`adapt`
        may replace them by estimates for the new subject (see the notes).
    recentering : Recentering or None, default=None
        Transformer that re-centers the matrices. None uses ``Recentering()``.
    verbose : int, default=0
        If positive, prints the selected shrinkage and the changes of :meth:`adapt`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    means_ : ndarray of shape (n_classes, n, n)
        The class means as SPD matrices, in re-centered coordinates: the means of
        :meth:`fit`, or the means adapted by the last :meth:`adapt` or
        :meth:`partial_adapt`.
    priors_ : ndarray of shape (n_classes,)
        The class probabilities: the given ``priors``, or the estimates of the last
        :meth:`adapt` or :meth:`partial_adapt`.
    adaptation_ : {"none", "means", "means and priors"}
        The parameters that the last :meth:`adapt` or :meth:`partial_adapt` changed.
        ``"none"`` before the first call, and if the matrices do not support an
        adaptation.
    adaptation_evidence_ : dict of float
        For each tested adaptation (``"means"``, ``"means and priors"``), the mean gain
        of held-out log-likelihood, divided by its standard error. An adaptation is used
        if this number exceeds 2.28.
    shrinkage_ : float
        The shrinkage of S: ``shrinkage``, or the selected value.
    selection_ : Selection or None
        The candidates of ``shrinkage="auto"`` and their scores. None if ``shrinkage``
        is a number, or if fewer than two folds can be held out.
    temperature_ : float
        The logarithms of prior times density are divided by this temperature of
        ``selection_``, which calibrates the probabilities without adaptation. If a
        domain has at least half of the samples, probabilities for other domains are
        overconfident. 1 without ``selection_``.
    recentering_ : Recentering
        The fitted transformer, with the means of the domains.
    is_complex_ : bool
        Whether the matrices of ``fit`` are complex.
    n_features_in_ : int
        Number of rows of the matrices.

    See Also
    --------
    Recentering : Re-centers matrices before any classifier.
    PLRSQ : Prototypes of SPD matrices.

    Notes
    -----
    :meth:`fit`, :meth:`score` and the methods of predictions request the metadata
    ``domain``, and :meth:`fit` requests the target matrices; see :class:`Recentering`.

    Let :math:`N_c` matrices of class c be training matrices, with the mean vector
    :math:`m_c`, and :math:`n_c` labeled target matrices, with the mean vector
    :math:`t_c`. :meth:`fit` estimates

    .. math:: \bar\mu_c = \frac{N_c \, m_c + 10 \, n_c \, t_c}{N_c + 10 \, n_c} ,

    and S, the priors and the shrinkage with the same weights; with ``sample_weight``,
    10 is a multiple of the mean weight. The weight 10 increases the accuracy for new
    subjects of BCI competition IV 2a, but decreases it for a new session of the same
    subject: use :meth:`adapt` without labels there.

    :meth:`adapt` tests two adaptations, and uses the first adaptation with sufficient
    evidence: adapted class means with the given ``priors``, then adapted class means
    with estimated priors. Each adaptation is fitted to each half of the matrices, and
    tested on the other half, in the span of the class means. The test compares the
    log-likelihoods under two models that are estimated from the first half: the mixture
    of the adapted classes with a common covariance, and a single Gaussian. If neither
    mixture is better by more than 2.28 standard errors, the matrices do not form
    clusters at the adapted means, and :meth:`adapt` keeps the means of :meth:`fit`.
    With fewer than 10 distinct matrices per class on average, :meth:`adapt` keeps the
    means without a test.

    References
    ----------
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten, "Multiclass brain-computer
       interface classification by Riemannian geometry", IEEE Transactions on Biomedical
       Engineering 59(4), 2012.
    .. [2] P. Zanini, M. Congedo, C. Jutten, S. Said and Y. Berthoumieu, "Transfer
       learning: a Riemannian geometry framework with applications to brain-computer
       interfaces", IEEE Transactions on Biomedical Engineering 65(5), 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom import TransferDiscriminantAnalysis
    >>> from skgeom.datasets import make_spd_classes
    >>> X, y = make_spd_classes(2, 60, 3, random_state=0)
    >>> domain = np.arange(120) % 4  # four subjects, with different sensor gains
    >>> gains = np.random.default_rng(0).lognormal(size=(4, 3))[domain]
    >>> X = gains[:, :, None] * X * gains[:, None, :]
    >>> known, new = domain < 3, domain == 3
    >>> model = TransferDiscriminantAnalysis()
    >>> model = model.fit(X[known], y[known], domain=domain[known])
    >>> model = model.adapt(X[new])  # no labels
    >>> model.score(X[new], y[new])
    0.9
    """

    # Otherwise users would have to call set_fit_request and the like.
    __metadata_request__fit = {"domain": True} | TARGET_REQUESTS
    __metadata_request__predict = {"domain": True}
    __metadata_request__predict_proba = {"domain": True}
    __metadata_request__predict_log_proba = {"domain": True}
    __metadata_request__decision_function = {"domain": True}
    __metadata_request__score = {"domain": True}

    _accepts_vectors, _accepts_matrices = False, True
    _parameter_constraints = {
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "relevance": [Interval(Real, 0, 1, closed="both")],
        "prior_strength": [positive],
        "priors": [None, StrOptions({"uniform"}), "array-like"],
        "recentering": [None, Recentering],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        shrinkage="auto",
        relevance=0.1,
        prior_strength=200,
        priors=None,
        recentering=None,
        verbose=0,
    ):
        self.shrinkage = shrinkage
        self.relevance = relevance
        self.prior_strength = prior_strength
        self.priors = priors
        self.recentering = recentering
        self.verbose = verbose

    @fit_method(nested_validation=True)
    @substitute_docs(sample_weight=SAMPLE_WEIGHT)
    def fit(
        self,
        X,
        y,
        *,
        domain=None,
        sample_weight=None,
        X_target_unlabeled=None,
        X_target_labeled=None,
        y_target_labeled=None,
    ):
        """Estimate the class distributions from labeled domains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the matrices.
        domain : array-like of shape (n_samples,) or scalar, default=None
            Domain label of each matrix, or of all matrices. None for a single domain.
            If pyRiemann encoded the domains in ``y``, first call
            ``X, y, domain = pyriemann.transfer.decode_domains(X, y)``.
        {sample_weight}
        X_target_unlabeled : array-like of shape (n_target_samples, n, n), default=None
            SPD matrices of a new subject, to which :meth:`adapt` adapts after the fit.
        X_target_labeled : array-like of shape (n_target_samples, n, n), default=None
            SPD matrices of a new subject with labels. They are training samples with
            ten times the mean weight of X, and a domain of their own, and then matrices
            for :meth:`adapt`.
        y_target_labeled : array-like of shape (n_target_samples,), default=None
            Class labels of ``X_target_labeled``, among the classes of y.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a matrix is not symmetric or not positive definite (the message names
            the matrix), if an array is malformed, if there is only one class, if a
            domain contains only one matrix, if all matrices of each domain are equal,
            if the shrunk within-class covariance S is singular, if ``y`` contains the
            labels of ``pyriemann.transfer.encode_domains`` for ``domain``, if both
            kinds of target matrices are passed, or if ``y_target_labeled`` contains a
            label that is not in ``y``.

        Warns
        -----
        UserWarning
            In the cases of :meth:`Recentering.fit`; if ``shrinkage="auto"`` cannot be
            selected, because fewer than two folds can be held out; if the predictions
            of the held-out matrices are not significantly better than chance; or if
            the smallest value is selected and more than 1 % of these predictions are
            wrong.
        """
        check = partial(check_spd_samples, hermitian=True)
        samples = validated_samples(self, X, y, sample_weight, check=check)
        X, weights = samples.X, samples.weights
        if weights is not None and domain is not None and np.ndim(domain):
            domain = sample_labels(domain, "domain", num_samples(y))[samples.rows]
        self.is_complex_, y = np.iscomplexobj(X), samples.y
        target = X_target_unlabeled, X_target_labeled, y_target_labeled
        target, name = target_of(*target)
        if X_target_labeled is not None:
            with naming(name):
                target = check_spd_samples(self, target, reset=False, hermitian=True)
            added = target, _labels_of_target(y_target_labeled, target, y)
            X, y, domain, weights = _with_target(X, y, domain, weights, *added)
        self.classes_, y = encoded_labels(y, type(self).__name__)
        self.recentering_ = clone(self.recentering or Recentering())
        self.recentering_.fit(X, self.classes_[y], domain=domain, sample_weight=weights)
        if weights is None:
            weights = np.ones(len(X))
        Z = self.recentering_.transform(X, domain=domain)
        groups = np.empty(len(X), dtype=int)
        for group, (_, members) in enumerate(domains_of(domain, len(X))):
            groups[members] = group
        # Equal matrices are one matrix with the sum of their weights.
        equal = groups_of_equal(X.reshape(len(X), -1).view(X.real.dtype))
        rows, weights, groups = merge_equal(equal, y, weights, groups)
        y, logarithms = y[rows], logarithms_of(Z[rows])
        if np.abs(logarithms).max() <= np.cbrt(np.finfo(np.float64).eps):
            raise ValueError(
                "After re-centering, all matrices are the identity: the matrices of "
                "each domain in X are equal. Pass domains of matrices that differ."
            )
        counts = np.bincount(y, weights)
        self.priors_ = check_priors(self.priors, counts)
        self._relevance = relevance_matrix(logarithms, y, weights, self.relevance)
        V = weighted_vectors(logarithms, self._relevance)
        self.shrinkage_, self.temperature_ = self.shrinkage, 1.0
        self.selection_ = None
        if self.shrinkage == "auto":
            self._select(logarithms, y, weights, folds_of(V, y, weights, groups))
        means = class_means(V, y, weights)
        residuals = V - means[y]
        self._within = _covariance_within(V, residuals, weights, self.shrinkage_)
        self._means = self._within.multiply(means, -0.5)
        self._source = Source(
            self._means, self.priors_, counts / counts.sum(), self.prior_strength
        )
        self._adaptation_vectors = np.empty((0, V.shape[1]))
        self.adaptation_, self.adaptation_evidence_ = "none", {}
        if target is None:
            return self
        with naming(name):
            return self.adapt(target)

    def _select(self, logarithms, y, weights, folds):
        """Set the shrinkage and the temperature that held-out samples select."""
        self.shrinkage_ = 1.0
        self.selection_ = select_shrinkage(
            logarithms, y, weights, folds, self.relevance, self.priors_
        )
        if self.selection_ is not None:
            self.shrinkage_ = float(self.selection_.selected["shrinkage"])
            self.temperature_ = self.selection_.temperature
        current_progress().print(
            f"shrinkage {self.shrinkage_:g} and temperature "
            f"{self.temperature_:.3g} selected"
        )

    @fit_method(updates=True)
    def adapt(self, X, *, domain=None):
        """Adapt the class means to a new subject, without class labels.

        Expectation maximization moves the class means of :meth:`fit` towards the
        matrices of the new subject, unless held-out matrices do not support the
        adaptation; see ``adaptation_``. Each call starts from the means of
        :meth:`fit`, so earlier adaptations have no effect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices of one subject; not modified.
        domain : array-like of shape (n_samples,) or scalar, default=None
            Domain label of each matrix, such as its session or run. The domains are
            re-centered separately. None for a single domain. After ``adapt``,
            predictions re-center matrices with the means of these domains, and the
            means of the training domains are discarded.

        Returns
        -------
        self
            The adapted estimator.

        Raises
        ------
        ValueError
            If X is malformed, as for :meth:`fit`.
        """
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False, hermitian=True)
        self.recentering_ = clone(self.recentering_).fit(X, domain=domain)
        self._adaptation_vectors = self._whitened_vectors(X, domain)
        return self._adapt_means()

    @fit_method(updates=True)
    def partial_adapt(self, X, *, domain=None):
        """Adapt the class means to further matrices of the same subject.

        Use this method to adapt online, for example after each trial. First,
        :meth:`Recentering.partial_fit` updates the means of the domains. Then the class
        means of :meth:`fit` are adapted to all matrices so far: the matrices of the
        last :meth:`adapt`, if it was called after :meth:`fit`, and of all later calls.
        Each matrix is re-centered only once, in its own call. The time of a call grows
        with the number of matrices so far; :meth:`Recentering.partial_fit` before a
        fixed classifier, such as :class:`PLRSQ`, takes a constant time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices in temporal order; not modified.
        domain : array-like of shape (n_samples,) or scalar, default=None
            Domain label of each matrix, or of all matrices. None after a :meth:`fit`
            with target matrices, or if the last :meth:`fit` or :meth:`adapt` had no
            ``domain``, and only then. Use a new label for a new subject: the label of a
            training domain continues from the mean of that domain.

        Returns
        -------
        self
            The adapted estimator.

        Raises
        ------
        ValueError
            If X is malformed, as for :meth:`fit`.
        """
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False, hermitian=True)
        self.recentering_ = copy(self.recentering_).partial_fit(X, domain=domain)
        vectors = self._whitened_vectors(X, domain)
        self._adaptation_vectors = np.concatenate([self._adaptation_vectors, vectors])
        return self._adapt_means()

    def _adapt_means(self):
        """Adapt the class means and priors to the stored vectors, if supported."""
        vectors, source = self._adaptation_vectors, self._source
        adapted, evidence = tested_adaptation(vectors, source)
        self.adaptation_, self.adaptation_evidence_ = adapted, evidence
        self._means, self.priors_ = source.means, source.priors
        if adapted != "none":
            self._means, self.priors_, _ = adapted_to(vectors, source, adapted)
        current_progress().print(f"adapted: {adapted}; evidence: {evidence}")
        return self

    @property
    def means_(self):
        """The class means as SPD matrices, in re-centered coordinates."""
        inverse = np.linalg.inv(self._relevance)
        means = self._within.multiply(self._means, 0.5)
        decode = from_upper_triangles
        if self.is_complex_:
            decode = hermitian_from_upper_triangles
        logarithms = inverse @ decode(means) @ inverse
        return expm((logarithms + logarithms.conj().mT) / 2)

    @predict_method
    @substitute_docs(domain=_DOMAIN)
    def decision_function(self, X, *, domain=None):
        """Compute the class scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        {domain}

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Logarithms of the class probabilities, in the order of ``classes_``. For two
            classes, the result is the log-odds of the second class.
        """
        return log_odds(self._scores(X, domain))

    @predict_method
    @substitute_docs(domain=_DOMAIN)
    def predict(self, X, *, domain=None):
        """Predict the most probable class of each matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        {domain}

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted class labels.
        """
        return self.classes_[self._scores(X, domain).argmax(axis=1)]

    @predict_method
    @substitute_docs(domain=_DOMAIN)
    def predict_log_proba(self, X, *, domain=None):
        """Compute the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        {domain}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of the class probabilities, in the order of ``classes_``.
        """
        return log_softmax(self._scores(X, domain), axis=1)

    @predict_method
    @substitute_docs(domain=_DOMAIN)
    def predict_proba(self, X, *, domain=None):
        """Compute the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        {domain}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of ``classes_``.
        """
        return softmax(self._scores(X, domain), axis=1)

    @substitute_docs(domain=_DOMAIN)
    def score(self, X, y, *, domain=None, sample_weight=None):
        """Compute the accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        y : array-like of shape (n_samples,)
            True class labels of the matrices.
        {domain}
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the matrices.

        Returns
        -------
        float
            The fraction of correctly classified matrices.
        """
        predicted = self.predict(X, domain=domain)
        return accuracy_score(y, predicted, sample_weight=sample_weight)

    def _scores(self, X, domain):
        """Scores of the classes, of which the class probabilities are the softmax."""
        X = check_spd_samples(self, X, reset=False, hermitian=True)
        vectors = self._whitened_vectors(X, domain)
        return log_joint(vectors, self._means, self.priors_) / self.temperature_

    def _whitened_vectors(self, X, domain):
        """The vectors v of re-centered matrices, whitened so that S is the identity."""
        Z = self.recentering_.transform(X, domain=domain)
        vectors = weighted_vectors(logarithms_of(Z), self._relevance)
        return self._within.multiply(vectors, -0.5)


def _labels_of_target(labels, target, y):
    """The labels of the target matrices; ValueError unless they are classes of y."""
    if labels is None:
        raise ValueError("X_target_labeled requires y_target_labeled.")
    with naming("y_target_labeled"):
        labels = checked_labels(labels, target)
    unknown = np.setdiff1d(labels, y).tolist()
    if unknown:
        raise ValueError(
            f"y_target_labeled contains {unknown[0]!r}, which is not a class of y. The "
            f"classes of y are {np.unique(y).tolist()}."
        )
    return labels


def _with_target(X, y, domain, weights, target, labels):
    """The training data, and labeled target matrices as a domain of larger weight."""
    domains = np.full(len(X) + len(target), "X_target_labeled", dtype=object)
    for label, members in domains_of(domain, len(X)):
        domains[members] = "X" if label is None else label
    weights = np.ones(len(X)) if weights is None else weights
    added = _TARGET_WEIGHT * weights.mean()  # weights have no unit
    weights = np.append(weights, np.full(len(target), added))
    return np.append(X, target, axis=0), np.append(y, labels), domains, weights


def _covariance_within(V, residuals, weights, shrinkage):
    """The shrunk covariance within the classes; ValueError if it is singular."""
    within = Within.of(residuals, weights)
    least = np.finfo(np.float64).eps * (V**2).sum() / len(V)
    if within.variances.sum() <= least:  # rounding errors
        raise ValueError(
            "After re-centering, the matrices of each class are equal, so the "
            "covariance within the classes is zero. Pass several different "
            "matrices of each class."
        )
    if within.is_singular(shrinkage):
        raise ValueError(
            "The covariance within the classes is singular with "
            f"shrinkage={shrinkage:g}. Increase shrinkage, to at most 1, or "
            "pass more matrices of each class."
        )
    return within.shrunk(shrinkage)
