"""Re-centering of SPD matrices by domain, and classification of new domains."""

from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import multivariate_normal
from sklearn.base import ClassifierMixin, TransformerMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from skgeom._selection import (
    PRECISION,
    calibrated_temperature,
    choose,
    class_shares,
    tempered_scores,
    warn_if_at_chance,
    warn_of_end,
)
from skgeom.geometry import expm, logm, mean_affine_invariant, whiten
from skgeom.geometry._spd import (
    from_upper_triangles,
    hermitian_from_upper_triangles,
    upper_triangles,
)
from skgeom.utils._dask import score_by_blocks
from skgeom.utils._mixins import log_odds
from skgeom.utils._sklearn import Interval, StrOptions, positive
from skgeom.utils.array_api import in_double, on_cpu
from skgeom.utils.errors import naming
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.linalg import LowRankPlusIdentity, fold_order
from skgeom.utils.methods import fit_method, predict_method, update_method
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import (
    check_priors,
    check_spd_samples,
    checked_labels,
    encoded_labels,
    sample_labels,
)
from skgeom.utils.warn import warn_user

# Candidate shrinkages, in order of preference; number of folds; and tolerance of
# expectation maximization, which stops when no mean moves by more than this number of
# standard deviations, and no expected class proportion deviates by a larger fraction.
# Compared in benchmarks/bench_transfer.py, part constants.
_SHRINKAGES = [1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05]
_SHRINKAGES += [0.02, 0.01, 0.005, 0.002, 0.001]
_N_FOLDS = 5
_EM_TOLERANCE = 1e-3
_EM_MAX_ITER = 200
# Smallest number of matrices per class for which the test of an adaptation is reliable.
# Half of it is the weight of the given priors in estimated priors. Chosen in
# benchmarks/bench_transfer.py, part checks.
_MATRICES_PER_CLASS = 10
# The gain must exceed this number of standard errors: each of two adaptations is tested
# at the level of 1.1 %, half of the level that corresponds to 2 standard errors. With
# 2, the kappa of one of 16 subjects decreases by 0.028 (part checks).
_STANDARD_ERRORS = 2.28


class Recentering(TransformerMixin, BaseEstimator):
    r"""Re-center SPD matrices: move the mean of each domain to the identity.

    A domain is a group of samples with its own distribution, such as the matrices of
    one subject, recording session or run. Each matrix X of a domain d with the mean
    :math:`M_d` is transformed to [1]_

    .. math:: Z = M_d^{-1/2} \, X \, M_d^{-1/2} .

    Re-centering requires no class labels. All domains have the same mean after
    re-centering (approximately for ``metric="logeuclid"``), so a classifier that is
    trained on some domains can be applied to others.

    Parameters
    ----------
    metric : {"riemann", "logeuclid", "euclid"}, default="riemann"
        Metric of the means. ``"riemann"`` is the affine-invariant metric. With
        ``"euclid"``, the transformation is the Euclidean alignment of [2]_. With both
        metrics, the mean of the re-centered matrices of a domain in the same metric is
        the identity. With ``"logeuclid"``, the mean is only close to the identity.
    window : int, default=None
        Used by :meth:`partial_fit`, at least 2. Each new matrix moves the mean by at
        least the fraction ``1 / window`` of the way, so the weights of earlier matrices
        decrease. None weights all matrices equally.

    Attributes
    ----------
    means_ : dict of ndarray of shape (n, n)
        The mean of each domain. The keys are the labels of the domains, or None if
        ``domain`` was not passed.
    counts_ : dict of int
        Number of matrices in the mean of each domain. ``reference_`` counts as one
        matrix.
    reference_ : ndarray of shape (n, n)
        The mean of the domain means in :meth:`fit`, which is the initial mean of new
        domains in :meth:`partial_fit`. Only :meth:`fit` sets this attribute.
    is_complex_ : bool
        Whether the matrices of ``fit`` are complex.
    n_features_in_ : int
        Number of rows of the matrices.

    See Also
    --------
    TransferDiscriminantAnalysis : Classifier that re-centers matrices and adapts class
        means.

    Notes
    -----
    :meth:`fit`, :meth:`partial_fit` and :meth:`transform` request the metadata
    ``domain``. After ``sklearn.set_config(enable_metadata_routing=True)``, a pipeline
    passes ``domain`` to them.

    References
    ----------
    .. [1] P. Zanini, M. Congedo, C. Jutten, S. Said and Y. Berthoumieu, "Transfer
       learning: a Riemannian geometry framework with applications to brain-computer
       interfaces", IEEE Transactions on Biomedical Engineering 65(5), 2018.
    .. [2] H. He and D. Wu, "Transfer learning for brain-computer interfaces: a
       Euclidean space data alignment approach", IEEE Transactions on Biomedical
       Engineering 67(2), 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom import Recentering
    >>> from skgeom.datasets import make_spd_classes
    >>> X, y = make_spd_classes(2, 20, 3, random_state=0)
    >>> domain = np.arange(40) % 2
    >>> X[domain == 1] *= 9  # another subject
    >>> Z = Recentering().fit_transform(X, domain=domain)
    >>> [float(np.linalg.det(Z[domain == d]).mean().round(1)) for d in (0, 1)]
    [1.4, 1.2]
    """

    # Otherwise users would have to call set_fit_request and the like.
    __metadata_request__fit = {"domain": True}
    __metadata_request__partial_fit = {"domain": True}
    __metadata_request__transform = {"domain": True}

    _accepts_vectors, _accepts_matrices = False, True
    _parameter_constraints = {
        "metric": [StrOptions({"riemann", "logeuclid", "euclid"})],
        "window": [None, Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, *, metric="riemann", window=None):
        self.metric = metric
        self.window = window

    @fit_method
    def fit(self, X, y=None, domain=None):
        """Compute the mean of each domain.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices; not modified.
        y : array-like of shape (n_samples,), default=None
            Class labels of the matrices, which do not change the means: only the
            warnings and the error about ``y`` below depend on them.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix; None for a single domain.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a matrix is not symmetric or not positive definite (the message names the
            matrix), if an array is malformed, if a domain contains only one matrix,
            because re-centering maps a single matrix to the identity, or if ``y``
            contains the labels of ``pyriemann.transfer.encode_domains``.

        Warns
        -----
        UserWarning
            If a domain contains one of several classes only, because re-centering
            removes the class information there.
        """
        X = in_double(check_spd_samples(self, X, reset=True, hermitian=True))
        self.is_complex_ = np.iscomplexobj(X)
        means, counts = {}, {}
        domains, classes = _domains(domain, len(X)), np.asarray(on_cpu(y))
        if classes.shape == (len(X),):
            _check_classes_of_domains(classes, domains)
        for label, members in domains:
            means[label] = _mean_of_domain(label, X[members], self.metric)
            counts[label] = len(members)
        self.reference_ = _mean(np.stack(list(means.values())), self.metric)
        return self._store(means, counts)

    @update_method
    def partial_fit(self, X, y=None, domain=None):
        """Update the mean of each domain with new matrices, one after another.

        The n-th matrix of a domain moves the mean of the domain along the geodesic of
        the metric, by the larger of the fractions ``1 / n`` and ``1 / window``. The
        initial mean of a new domain is ``reference_``, which counts as one matrix. If
        :meth:`fit` was not called, the initial mean is the first matrix of the domain.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices in temporal order; not modified.
        y : None
            Not used.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix; None for a single domain.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As for :meth:`fit`, except that a domain may contain only one matrix.
        """
        is_first = not hasattr(self, "means_")
        X = in_double(check_spd_samples(self, X, reset=is_first, hermitian=True))
        if is_first:
            self.is_complex_ = np.iscomplexobj(X)
        means, counts = (getattr(self, name, {}) for name in ("means_", "counts_"))
        for label, members in _domains(domain, len(X)):
            mean, count = X[members[0]], 0
            if label in means:
                mean, count = means[label], counts[label]
            elif hasattr(self, "reference_"):
                mean, count = self.reference_, 1
            for matrix in X[members]:
                mean, count = self._moved(mean, count, matrix), count + 1
            means[label], counts[label] = mean, count
        return self._store(means, counts)

    def _moved(self, mean, count, matrix):
        """The mean of ``count`` matrices, moved towards a new matrix."""
        from pyriemann.geometry.geodesic import geodesic

        step = max(1 / (count + 1), 0 if self.window is None else 1 / self.window)
        with naming("X"):
            mean = geodesic(mean, matrix, step, metric=self.metric)
        return (mean + mean.conj().T) / 2

    def _store(self, means, counts):
        """Store the means and counts of the domains."""
        # In lists, because skops stores the keys of dicts as text, and labels may be
        # None or booleans.
        self._labels = list(means)
        self._means, self._counts = list(means.values()), list(counts.values())
        self._used_metric = self.metric
        return self

    @property
    def means_(self):
        """The mean of each domain. The key is None if ``domain`` was not passed."""
        return dict(zip(self._labels, self._means, strict=True))

    @property
    def counts_(self):
        """Number of matrices in the mean of each domain."""
        return dict(zip(self._labels, self._counts, strict=True))

    def fit_transform(self, X, y=None, domain=None):
        """Compute the mean of each domain, and re-center the matrices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices; not modified.
        y : array-like of shape (n_samples,), default=None
            Class labels of the matrices, as in :meth:`fit`.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix; None for a single domain.

        Returns
        -------
        Z : ndarray of shape (n_samples, n, n)
            The re-centered matrices.
        """
        return self.fit(X, y, domain=domain).transform(X, domain=domain)

    def transform(self, X, domain=None):
        """Re-center matrices with the means of their domains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix. For a new domain, such as a new session, pass a
            new label: its matrices, at least two, are then re-centered with their mean.
            None, the default, is allowed if :meth:`fit` or :meth:`partial_fit` was
            called without ``domain``. All matrices are then re-centered with the mean
            of these calls.

        Returns
        -------
        Z : ndarray of shape (n_samples, n, n)
            The re-centered matrices, in single precision if X is in single precision.

        Raises
        ------
        ValueError
            If ``domain`` is None although :meth:`fit` was called with ``domain``, if a
            new domain contains only one matrix, or if X is malformed, as for
            :meth:`fit`.
        """
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False, hermitian=True)
        Z, means = np.empty_like(X), self.means_
        for label, members in _domains(domain, len(X)):
            matrices = in_double(X[members])
            if label in means:
                mean = means[label]
            elif label is None:
                raise ValueError(
                    "Pass domain, the domain of each matrix, as in fit. In pipelines, "
                    "call sklearn.set_config(enable_metadata_routing=True) before fit. "
                    "In cross-validation, use scoring=make_domain_scorer(...)."
                )
            else:
                mean = _mean_of_domain(label, matrices, self._used_metric)
            # The symmetric root of the inverse mean, without an additional rotation, by
            # a Cholesky factor: the eigenvalues of a mean with channels of different
            # amplitudes are less accurate.
            left, _, right = np.linalg.svd(np.linalg.cholesky(mean))
            rotation = left @ right
            recentered = rotation @ whiten(matrices, mean) @ rotation.conj().T
            Z[members] = (recentered + recentered.conj().mT) / 2
        return Z

    def set_output(self, *, transform=None):
        """Do nothing, because a data frame cannot contain matrices.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Not used.

        Returns
        -------
        self
            The estimator.
        """
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _mean(matrices, metric):
    """The mean of matrices in a metric."""
    from pyriemann.geometry.mean import gmean

    if metric == "riemann":
        return mean_affine_invariant(matrices)
    return gmean(matrices, metric=metric)


def _mean_of_domain(label, matrices, metric):
    """The mean of the matrices of a domain; ValueError if there is only one."""
    if len(matrices) == 1:
        raise ValueError(
            f"{'X' if label is None else f'The domain {label!r}'} has one sample, "
            "and re-centering maps a single matrix to the identity. Pass several "
            "matrices of each domain, or add one matrix at a time by partial_fit "
            "(partial_adapt of TransferDiscriminantAnalysis)."
        )
    return _mean(matrices, metric)


def _domains(domain, n_samples):
    """Pairs of a domain label and the indices of its samples; the label may be None."""
    if domain is None:
        return [(None, np.arange(n_samples))]
    domain = sample_labels(domain, "domain", n_samples)
    if domain.dtype.kind == "M":
        domain = domain.astype("M8[us]")  # tolist() converts nanoseconds to integers
    labels = dict.fromkeys(domain.tolist())
    return [(label, np.flatnonzero(domain == label)) for label in labels]


def _check_classes_of_domains(y, domains):
    """Warn of domains of one class; ValueError for labels of ``encode_domains``."""
    try:
        classes = {label: {*y[members].tolist()} for label, members in domains}
    except TypeError:  # objects without a hash are no classes
        return
    _check_not_encoded(classes)
    single = [label for label, found in classes.items() if len(found) == 1]
    if single and len(set.union(*classes.values())) > 1:
        warn_user(
            f"The domain {single[0]!r} contains only the class "
            f"{next(iter(classes[single[0]]))!r} (domains of one class: {len(single)} "
            f"of {len(classes)}). Re-centering moves the mean of each domain to the "
            "identity, which removes the class information of such a domain. Remove "
            "its matrices or, if the same session contains matrices of other classes, "
            "use one domain label for the whole session.",
            UserWarning,
        )


def _check_not_encoded(classes):
    """Raise ValueError if the classes of each domain are "domain/class"."""
    labels = [(domain, str(label)) for domain in classes for label in classes[domain]]
    if all(label.startswith(f"{domain}/") for domain, label in labels):
        first = min(label for _, label in labels)
        raise ValueError(
            f"The labels y, such as {first!r}, contain the domain, so each domain has "
            "different classes. Use X, y, domain = "
            "pyriemann.transfer.decode_domains(X, y)."
        )


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
        domains if there are several domains, and of samples otherwise.
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
        The logarithms of the class densities are divided by this temperature of
        ``selection_``, which calibrates the probabilities without adaptation. If
        ``fit`` has only one domain, probabilities for other domains are overconfident.
        1 without ``selection_``.
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
    ``domain``; see :class:`Recentering`.

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
    >>> model = TransferDiscriminantAnalysis().fit(X[known], y[known], domain[known])
    >>> model = model.adapt(X[new])  # no labels
    >>> model.score(X[new], y[new])
    0.9
    """

    # Otherwise users would have to call set_fit_request and the like.
    __metadata_request__fit = {"domain": True}
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
    def fit(self, X, y, domain=None):
        """Estimate the class distributions from labeled domains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the matrices.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix; None for a single domain.

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
            if the shrunk within-class covariance S is singular, or if ``y`` contains
            the labels of ``pyriemann.transfer.encode_domains``.

        Warns
        -----
        UserWarning
            In the cases of :meth:`Recentering.fit`; if ``shrinkage="auto"`` cannot be
            selected, because fewer than two folds can be held out; if the predictions
            of the held-out matrices are not significantly better than chance; or if
            the smallest value is selected and more than 1 % of these predictions are
            wrong.
        """
        X = check_spd_samples(self, X, reset=True, hermitian=True)
        self.is_complex_ = np.iscomplexobj(X)
        self.classes_, y = encoded_labels(checked_labels(y, X), type(self).__name__)
        self.recentering_ = clone(self.recentering or Recentering())
        Z = self.recentering_.fit_transform(X, self.classes_[y], domain=domain)
        logarithms = _logarithms(Z)
        if np.abs(logarithms).max() <= np.cbrt(np.finfo(np.float64).eps):
            raise ValueError(
                "After re-centering, all matrices are the identity: the matrices of "
                "each domain in X are equal. Pass domains of matrices that differ."
            )
        groups = np.empty(len(X), dtype=int)
        for group, (_, members) in enumerate(_domains(domain, len(X))):
            groups[members] = group
        counts = np.bincount(y)
        self.priors_ = check_priors(self.priors, counts)
        self._relevance = _relevance_matrix(logarithms, y, self.relevance)
        V = _weighted_vectors(logarithms, self._relevance)
        self.shrinkage_, self.temperature_ = self.shrinkage, 1.0
        self.selection_ = None
        if self.shrinkage == "auto":
            self.shrinkage_, folds = _SHRINKAGES[0], _folds(V, y, groups)
            self.selection_ = _select_shrinkage(
                logarithms, y, folds, self.relevance, self.priors_
            )
            if self.selection_ is not None:
                self.shrinkage_ = float(self.selection_.selected["shrinkage"])
                self.temperature_ = self.selection_.temperature
            current_progress().print(
                f"shrinkage {self.shrinkage_:g} and temperature "
                f"{self.temperature_:.3g} selected"
            )
        means = _class_means(V, y)
        within = _Within.of(V - means[y])
        least = np.finfo(np.float64).eps * (V**2).sum() / len(V)
        if within.variances.sum() <= least:  # rounding errors
            raise ValueError(
                "After re-centering, the matrices of each class are equal, so the "
                "covariance within the classes is zero. Pass several different "
                "matrices of each class."
            )
        if within.is_singular(self.shrinkage_):
            raise ValueError(
                "The covariance within the classes is singular with "
                f"shrinkage={self.shrinkage_:g}. Increase shrinkage, to at most 1, or "
                "pass more matrices of each class."
            )
        self._within = within.shrunk(self.shrinkage_)
        self._means = self._within.multiply(means, -0.5)
        self._source = _Source(
            self._means, self.priors_, counts / len(y), self.prior_strength
        )
        self._adaptation_vectors = np.empty((0, V.shape[1]))
        self.adaptation_, self.adaptation_evidence_ = "none", {}
        return self

    @update_method
    def adapt(self, X, domain=None):
        """Adapt the class means to a new subject, without class labels.

        Expectation maximization moves the class means of :meth:`fit` towards the
        matrices of the new subject, unless held-out matrices do not support the
        adaptation; see ``adaptation_``. Each call starts from the means of
        :meth:`fit`, so earlier adaptations have no effect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices of one subject; not modified.
        domain : array-like of shape (n_samples,), default=None
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

    @update_method
    def partial_adapt(self, X, domain=None):
        """Adapt the class means to further matrices of the same subject.

        Use this method to adapt online, for example after each trial. First,
        :meth:`Recentering.partial_fit` updates the means of the domains. Then the class
        means of :meth:`fit` are adapted to all matrices so far: the matrices of the
        last :meth:`adapt`, if it was called after :meth:`fit`, and of all later calls.
        Each matrix is re-centered only once, in its own call. The time of a call grows
        with the number of matrices so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices in temporal order; not modified.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix; None for a single domain. Use a new label for a
            new subject: the label of a training domain continues from the mean of that
            domain.

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
        adapted, evidence = _tested_adaptation(vectors, source)
        self.adaptation_, self.adaptation_evidence_ = adapted, evidence
        self._means, self.priors_ = source.means, source.priors
        if adapted != "none":
            self._means, self.priors_, _ = _adapted(vectors, source, adapted)
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
    def decision_function(self, X, domain=None):
        """Compute the class scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix, as in :meth:`Recentering.transform`. For a new
            domain, such as a new session, pass a new label. None, the default, is
            allowed if the last call of :meth:`fit` or :meth:`adapt`, or a later call of
            :meth:`partial_adapt`, had no ``domain``. All matrices are then re-centered
            with the mean of the calls without ``domain``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Logarithms of the class probabilities, in the order of ``classes_``. For two
            classes, the result is the log-odds of the second class.
        """
        return log_odds(self._scores(X, domain))

    @predict_method
    def predict(self, X, domain=None):
        """Predict the most probable class of each matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix, as in :meth:`Recentering.transform`. For a new
            domain, such as a new session, pass a new label. None, the default, is
            allowed if the last call of :meth:`fit` or :meth:`adapt`, or a later call of
            :meth:`partial_adapt`, had no ``domain``. All matrices are then re-centered
            with the mean of the calls without ``domain``.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted class labels.
        """
        return self.classes_[self._scores(X, domain).argmax(axis=1)]

    @predict_method
    def predict_log_proba(self, X, domain=None):
        """Compute the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix, as in :meth:`Recentering.transform`. For a new
            domain, such as a new session, pass a new label. None, the default, is
            allowed if the last call of :meth:`fit` or :meth:`adapt`, or a later call of
            :meth:`partial_adapt`, had no ``domain``. All matrices are then re-centered
            with the mean of the calls without ``domain``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of the class probabilities, in the order of ``classes_``.
        """
        return log_softmax(self._scores(X, domain), axis=1)

    @predict_method
    def predict_proba(self, X, domain=None):
        """Compute the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix, as in :meth:`Recentering.transform`. For a new
            domain, such as a new session, pass a new label. None, the default, is
            allowed if the last call of :meth:`fit` or :meth:`adapt`, or a later call of
            :meth:`partial_adapt`, had no ``domain``. All matrices are then re-centered
            with the mean of the calls without ``domain``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of ``classes_``.
        """
        return softmax(self._scores(X, domain), axis=1)

    @score_by_blocks
    def score(self, X, y, sample_weight=None, domain=None):
        """Compute the accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_channels, n_channels)
            SPD matrices.
        y : array-like of shape (n_samples,)
            True class labels of the matrices.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the matrices.
        domain : array-like of shape (n_samples,), default=None
            Domain label of each matrix, as in :meth:`Recentering.transform`. For a new
            domain, such as a new session, pass a new label. None, the default, is
            allowed if the last call of :meth:`fit` or :meth:`adapt`, or a later call of
            :meth:`partial_adapt`, had no ``domain``. All matrices are then re-centered
            with the mean of the calls without ``domain``.

        Returns
        -------
        float
            The fraction of correctly classified matrices.
        """
        predicted = self.predict(X, domain)
        return accuracy_score(y, predicted, sample_weight=sample_weight)

    def _scores(self, X, domain):
        """Scores of the classes, of which the class probabilities are the softmax."""
        X = check_spd_samples(self, X, reset=False, hermitian=True)
        vectors = self._whitened_vectors(X, domain)
        densities = _log_joint(vectors, self._means, 1.0)
        return densities / self.temperature_ + np.log(self.priors_)

    def _whitened_vectors(self, X, domain):
        """The vectors v of re-centered matrices, whitened so that S is the identity."""
        Z = self.recentering_.transform(X, domain=domain)
        vectors = _weighted_vectors(_logarithms(Z), self._relevance)
        return self._within.multiply(vectors, -0.5)


def _logarithms(Z):
    """Matrix logarithms, in double precision."""
    with naming("X"):
        return logm(in_double(Z))


def _class_means(V, y):
    """Means of the classes, (n_classes, p)."""
    members = np.arange(y.max() + 1)[:, None] == y
    return members @ V / members.sum(axis=1, keepdims=True)


def _relevance_matrix(logarithms, y, exponent):
    """``(sum_c L_c^2)^exponent``, scaled to a largest eigenvalue of 1.

    L_c is the mean logarithm of class c. The result is the identity if all L_c are 0.
    """
    means = np.stack([logarithms[y == label].mean(axis=0) for label in np.unique(y)])
    eigenvalues, axes = np.linalg.eigh((means @ means).sum(axis=0))
    largest = eigenvalues[-1] if eigenvalues[-1] > 0 else 1.0
    # Class means are multiplied by the inverse twice, which amplifies rounding errors.
    least = np.cbrt(np.finfo(np.float64).eps)
    weights = np.maximum(eigenvalues / largest, least) ** exponent
    return (axes * (weights / weights[-1])) @ axes.conj().T


def _weighted_vectors(logarithms, relevance):
    """The vectors of the logarithms, multiplied by the relevance matrix."""
    return upper_triangles(relevance @ logarithms @ relevance)


def _select_shrinkage(logarithms, y, folds, exponent, priors):
    """The selection of the shrinkage; None if fewer than two folds can be held out."""
    held_out = [
        test
        for test in (np.flatnonzero(folds == fold) for fold in np.unique(folds))
        if _can_train(np.delete(logarithms, test, 0), np.delete(y, test), priors)
    ]
    if len(held_out) < 2:
        warn_user(
            "shrinkage='auto' uses 1, and the probabilities are not calibrated, "
            "because fewer than two folds can be held out: the remaining matrices must "
            "contain all classes, and several different matrices of a class. Pass more "
            "matrices of each class, and domains that contain all classes.",
            UserWarning,
        )
        return None
    rows = np.concatenate(held_out)
    densities = np.concatenate(
        [_held_out_scores(logarithms, y, test, exponent) for test in held_out], axis=1
    )
    codes, log_priors = y[rows], np.log(priors)
    weights = priors[codes] * class_shares(codes, np.ones(len(codes)))
    weights /= weights.sum()
    scores = tempered_scores(densities, log_priors, codes, weights, len(y))
    # Few domains would determine their standard error imprecisely.
    selection = choose({"shrinkage": _SHRINKAGES}, scores, weights)
    found = densities[selection.index]
    at_chance = warn_if_at_chance(found, codes, weights, np.arange(len(codes)))
    wrong = weights @ (found.argmax(axis=1) != codes)
    is_last = selection.index == len(_SHRINKAGES) - 1
    if not at_chance and is_last and wrong > PRECISION:
        remedy = "If the amplitude of trials varies, divide each matrix by its trace"
        warn_of_end("shrinkage", _SHRINKAGES[::-1], 0, remedy)
    temperature = calibrated_temperature(
        found, log_priors, codes, weights, None, len(y)
    )
    return replace(selection, temperature=temperature)


def _can_train(X, y, priors):
    """Whether X contains all classes, and different samples of a class."""
    classes, first, codes = np.unique(y, return_index=True, return_inverse=True)
    return len(classes) == len(priors) and (X != X[first[codes]]).any()


def _held_out_scores(logarithms, y, test, exponent):
    """Log densities of held-out samples, (n_candidates, n_held_out, n_classes)."""
    rest = np.delete(np.arange(len(y)), test)
    relevance = _relevance_matrix(logarithms[rest], y[rest], exponent)
    V = _weighted_vectors(logarithms, relevance)
    means = _class_means(V[rest], y[rest])
    residuals = V[rest] - means[y[rest]]
    within = _Within.of(residuals)
    scores = []
    for shrinkage in _SHRINKAGES:
        shrunk = within.shrunk(shrinkage)
        whitened = (shrunk.multiply(each, -0.5) for each in (V[test], means))
        scores.append(_log_joint(*whitened, 1.0))
    return np.array(scores)


class _Within(NamedTuple):
    """The covariance within the classes, before shrinkage.

    Its rank is at most the number of samples, which can be much smaller than the number
    p of its columns.
    """

    axes: np.ndarray  # (r, p), orthonormal rows that span the residuals
    variances: np.ndarray  # (r,), in descending order; zero orthogonal to the axes

    @classmethod
    def of(cls, residuals):
        n_samples, n_columns = residuals.shape
        if n_samples > n_columns:
            covariance = residuals.T @ residuals / n_samples
            variances, axes = np.linalg.eigh(covariance)
            return cls(axes[:, ::-1].T, variances[::-1].clip(0))
        _, sizes, axes = np.linalg.svd(residuals, full_matrices=False)
        return cls(axes, sizes**2 / n_samples)

    def shrunk(self, shrinkage):
        """The covariance with the given shrinkage."""
        rest = shrinkage * self.variances.sum() / self.axes.shape[1]
        along = (1 - shrinkage) * self.variances + rest
        return LowRankPlusIdentity(self.axes, along, rest)

    def is_singular(self, shrinkage):
        _, along, rest = self.shrunk(shrinkage)
        order, n_columns = self.axes.shape
        least = along[-1] if order == n_columns else rest
        return least <= n_columns * np.finfo(np.float64).eps * along[0]


def _folds(V, y, groups):
    """Fold of each sample. With several domains, folds consist of whole domains.

    Domains are assigned to folds cyclically, in the order of their dispersions. The
    samples of a single domain are assigned to folds class by class.
    """
    if groups.max() > 0:
        sizes = np.bincount(groups, (V**2).sum(axis=1)) / np.bincount(groups)
        return sizes.argsort().argsort()[groups] % _N_FOLDS
    distances = cdist(V, _class_means(V, y))
    own = distances[np.arange(len(y)), y]
    distances = np.column_stack([own, distances])
    return fold_order(y, distances, distances.max() or 1) % _N_FOLDS


def _log_joint(V, means, priors):
    """Logarithms of prior times density of each class, up to a common term."""
    return V @ means.T - (means**2).sum(axis=1) / 2 + np.log(priors)


class _Source(NamedTuple):
    """Class means and priors of ``fit``, in whitened coordinates."""

    means: np.ndarray  # (n_classes, p)
    priors: np.ndarray  # (n_classes,), as given
    proportions: np.ndarray  # (n_classes,), of the training samples
    strength: float  # kappa, the weight of each mean as a number of matrices


def _tested_adaptation(V, source):
    """The name of the supported adaptation, and the evidence of all tested ones."""
    evidence = {}
    distances = np.linalg.norm(V[:, None] - source.means, axis=2)
    order = fold_order(np.zeros(len(V), dtype=int), distances, distances.max() or 1)
    counts = np.bincount(order)  # equal matrices share a position and count once
    if len(counts) >= _MATRICES_PER_CLASS * len(source.means):
        first = order % 2 == 0
        for name in ("means", "means and priors"):
            gains = np.empty(len(V))
            for half in (first, ~first):
                gains[~half] = _held_out_gains(V[half], V[~half], source, name)
            gains = np.bincount(order, gains) / counts
            error = gains.std(ddof=1) / np.sqrt(len(gains))
            evidence[name] = float(gains.mean() / error) if error > 0 else 0.0
            if evidence[name] > _STANDARD_ERRORS:
                return name, evidence
    return "none", evidence


def _held_out_gains(V, held_out, source, adaptation):
    """Gains of held-out log-likelihood: adapted classes compared with one Gaussian.

    Both are computed in the span of the class means, because other directions do not
    distinguish the classes. The covariances are estimated from V.
    """
    means, priors, responsibilities = _adapted(V, source, adaptation)
    _, _, axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    axes = axes[: len(means) - 1].T
    V, held_out, means = V @ axes, held_out @ axes, means @ axes
    residuals = V[:, None] - means
    within = np.einsum("nc,nci,ncj->ij", responsibilities, residuals, residuals)
    total = np.atleast_2d(np.cov(V.T, bias=True))

    # Covariances may be singular.
    single = multivariate_normal.logpdf(held_out, V.mean(axis=0), total, True)
    of_classes = [
        multivariate_normal.logpdf(held_out, mean, within / len(V), True)
        for mean in means
    ]
    return logsumexp(of_classes + np.log(priors)[:, None], axis=0) - single


def _adapted(V, source, adaptation):
    r"""Class means, priors and responsibilities in a new domain without class labels.

    Expectation maximization of the log posterior of the means,

    .. math::

       \sum_i \log \sum_c \pi_c \, \mathcal{N}(v_i; \mu_c, I)
       - \frac{\kappa}{2} \sum_c \|\mu_c - \bar\mu_c\|^2,

    under the constraint that the mean responsibilities equal the priors
    :math:`\pi_c`. Without the constraint, the samples of a class that are far from its
    training mean :math:`\bar\mu_c` would be assigned to different classes. One
    iteration of iterative proportional fitting (the offsets) follows each step.
    """
    priors = source.priors
    if adaptation == "means and priors":
        priors = _estimated_priors(V, source)
    start = _recentered_means(source, priors)
    means, offsets = start, np.zeros(len(start))
    for _ in range(_EM_MAX_ITER):
        responsibilities = softmax(_log_joint(V, means, priors) + offsets, axis=1)
        counts = responsibilities.sum(axis=0)
        gaps = np.log(np.maximum(counts / len(V), np.finfo(V.dtype).tiny) / priors)
        offsets = offsets - gaps
        previous = means
        means = source.strength * start + responsibilities.T @ V
        means /= (source.strength + counts)[:, None]
        move = np.linalg.norm(means - previous, axis=1).max()
        if max(move, np.abs(gaps).max()) <= _EM_TOLERANCE:
            break
    return means, priors, responsibilities


def _estimated_priors(V, source):
    """Class probabilities of a new domain, by expectation maximization."""
    priors = source.priors
    # Half of the smallest number of matrices per class, because an adaptation is tested
    # with half of the matrices.
    counts_before = _MATRICES_PER_CLASS / 2 * len(priors) * source.priors
    for _ in range(_EM_MAX_ITER):
        joint = _log_joint(V, _recentered_means(source, priors), priors)
        counts = counts_before + softmax(joint, axis=1).sum(axis=0)
        previous, priors = priors, counts / counts.sum()
        if np.abs(priors / previous - 1).max() <= _EM_TOLERANCE:
            break
    return priors


def _recentered_means(source, priors):
    """Class means of training, for a domain with the class proportions ``priors``.

    Re-centering moves the mean of each domain to the identity, so the class means after
    re-centering depend on the class proportions of the domain.
    """
    return source.means - (priors - source.proportions) @ source.means
