"""Re-centering of SPD matrices by domain."""

from numbers import Integral

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skgeom.geometry import mean_affine_invariant, whiten
from skgeom.utils._sklearn import Interval, StrOptions
from skgeom.utils.array_api import in_double, on_cpu
from skgeom.utils.docs import SAMPLE_WEIGHT, substitute_docs
from skgeom.utils.errors import naming
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.methods import fit_method
from skgeom.utils.validation import (
    check_sample_weight,
    check_spd_samples,
    sample_labels,
    scaled_weights,
)
from skgeom.utils.warn import warn_user

# Names of MOABB for the data of a new subject, which the two estimators request.
TARGET_REQUESTS = dict.fromkeys(
    ["X_target_unlabeled", "X_target_labeled", "y_target_labeled"], True
)


_TARGET = """
X_target_unlabeled : array-like of shape (n_target_samples, n, n), default=None
    SPD matrices of a new domain without labels. Their mean is stored under the label
    None, so :meth:`transform` without ``domain`` re-centers matrices with it.
X_target_labeled : array-like of shape (n_target_samples, n, n), default=None
    The same for matrices with labels.
"""


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
    counts_ : dict of int or float
        Number of matrices in the mean of each domain, or the sum of their weights.
        ``reference_`` counts as one matrix.
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
    passes ``domain`` to them. :meth:`fit` also requests the target matrices. If they
    are signals, as in the evaluations of MOABB, name them in ``transform_input`` of the
    pipeline, which transforms them by the steps before.

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
    __metadata_request__fit = {"domain": True} | TARGET_REQUESTS
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
    @substitute_docs(sample_weight=SAMPLE_WEIGHT, target=_TARGET)
    def fit(
        self,
        X,
        y=None,
        *,
        domain=None,
        sample_weight=None,
        X_target_unlabeled=None,
        X_target_labeled=None,
        y_target_labeled=None,
    ):
        """Compute the mean of each domain.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices; not modified.
        y : array-like of shape (n_samples,), default=None
            Class labels of the matrices, not their domains. They do not change the
            means: only the warnings and the error about ``y`` below depend on them.
        domain : array-like of shape (n_samples,) or scalar, default=None
            Domain label of each matrix, or of all matrices. None for a single domain.
            If pyRiemann encoded the domains in ``y``, first call
            ``X, y, domain = pyriemann.transfer.decode_domains(X, y)``.
        {sample_weight}
        {target}
        y_target_labeled : array-like of shape (n_target_samples,), default=None
            Class labels of ``X_target_labeled``, which do not change the mean.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a matrix is not symmetric or not positive definite (the message names the
            matrix), if an array is malformed, if a domain contains only one matrix,
            because re-centering maps a single matrix to the identity, if ``y``
            contains the labels of ``pyriemann.transfer.encode_domains`` for ``domain``,
            or if both kinds of target matrices are passed.

        Warns
        -----
        UserWarning
            If a domain contains one of several classes only, because re-centering
            removes the class information there.
        """
        X = in_double(check_spd_samples(self, X, reset=True, hermitian=True))
        self.is_complex_ = np.iscomplexobj(X)
        means, counts = {}, {}
        domains, classes = domains_of(domain, len(X)), np.asarray(on_cpu(y))
        weights = None
        if sample_weight is not None:
            weights = scaled_weights(check_sample_weight(sample_weight, X))
            used = ((label, rows[weights[rows] > 0]) for label, rows in domains)
            domains = [(label, rows) for label, rows in used if len(rows)]
        if classes.shape == (len(X),):
            _check_classes_of_domains(classes, domains)
        for label, members in domains:
            own = None if weights is None else weights[members]
            means[label] = _mean_of_domain(label, X[members], self.metric, own)
            counts[label] = len(members) if own is None else float(own.sum())
        self.reference_ = _mean(np.stack(list(means.values())), self.metric)
        self._store(means, counts)
        target = X_target_unlabeled, X_target_labeled, y_target_labeled
        return self._add_target(*target_of(*target))

    @fit_method(updates=True)
    def partial_fit(self, X, y=None, *, domain=None):
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
        domain : array-like of shape (n_samples,) or scalar, default=None
            Domain label of each matrix, or of all matrices. None only if no earlier
            call had labels.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As for :meth:`fit`, except that a domain may contain only one matrix, and
            for ``domain`` as for :meth:`transform`.
        """
        is_first = not hasattr(self, "means_")
        X = in_double(check_spd_samples(self, X, reset=is_first, hermitian=True))
        if is_first:
            self.is_complex_ = np.iscomplexobj(X)
        means, counts = (getattr(self, name, {}) for name in ("means_", "counts_"))
        for label, members in _consistent_domains(domain, len(X), means):
            mean, count = X[members[0]], 0
            if label in means:
                mean, count = means[label], counts[label]
            elif hasattr(self, "reference_"):
                mean, count = self.reference_, 1
            for matrix in X[members]:
                mean, count = self._moved(mean, count, matrix), count + 1
            means[label], counts[label] = mean, count
        return self._store(means, counts)

    def _add_target(self, X, name):
        """Store the mean of the target matrices X, if not None, under the label None.

        ``name`` is their argument.
        """
        if X is not None:
            with naming(name):
                X = in_double(check_spd_samples(self, X, reset=False, hermitian=True))
                mean = _mean_of_domain(None, X, self.metric)
            self._store(self.means_ | {None: mean}, self.counts_ | {None: len(X)})
        return self

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
        """Number of matrices in the mean of each domain, or the sum of weights."""
        return dict(zip(self._labels, self._counts, strict=True))

    @fit_method
    @substitute_docs(sample_weight=SAMPLE_WEIGHT)
    def fit_transform(
        self,
        X,
        y=None,
        *,
        domain=None,
        sample_weight=None,
        X_target_unlabeled=None,
        X_target_labeled=None,
        y_target_labeled=None,
    ):
        """Compute the mean of each domain, and re-center the matrices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices; not modified.
        y : array-like of shape (n_samples,), default=None
            Class labels of the matrices, not their domains, as in :meth:`fit`.
        domain : array-like of shape (n_samples,) or scalar, default=None
            Domain label of each matrix, or of all matrices. None for a single domain.
        {sample_weight}
        X_target_unlabeled, X_target_labeled : array-like, default=None
            Target matrices, as in :meth:`fit`.
        y_target_labeled : array-like of shape (n_target_samples,), default=None
            Class labels of ``X_target_labeled``.

        Returns
        -------
        Z : ndarray of shape (n_samples, n, n)
            The re-centered matrices X, with the means of their own domains, also if
            :meth:`transform` without ``domain`` uses the mean of the target matrices.
        """
        self.fit(X, y, domain=domain, sample_weight=sample_weight)
        Z = self.transform(X, domain=domain)
        target = X_target_unlabeled, X_target_labeled, y_target_labeled
        self._add_target(*target_of(*target))
        return Z

    def transform(self, X, *, domain=None):
        """Re-center matrices with the means of their domains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices.
        domain : array-like of shape (n_samples,) or scalar, default=None
            Domain label of each matrix. For a new domain, such as a new session, pass a
            new label: its matrices, at least two, are then re-centered with their mean.
            None, the default, is required if :meth:`fit` or :meth:`partial_fit` was
            called without ``domain``, and allowed after a fit with target matrices. All
            matrices are then re-centered with the mean of these calls, or of the target
            matrices.

        Returns
        -------
        Z : ndarray of shape (n_samples, n, n)
            The re-centered matrices, in single precision if X is in single precision.

        Raises
        ------
        ValueError
            If ``domain`` is None although :meth:`fit` was called with ``domain``, or
            vice versa, if a label is text and a known label is the same number, or vice
            versa, if a new domain contains only one matrix, or if X is malformed, as
            for :meth:`fit`.
        """
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False, hermitian=True)
        Z, means = np.empty_like(X), self.means_
        for label, members in _consistent_domains(domain, len(X), means):
            matrices = in_double(X[members])
            if label in means:
                mean = means[label]
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


def _mean(matrices, metric, weights=None):
    """The mean of matrices in a metric."""
    from pyriemann.geometry.mean import gmean

    if metric == "riemann":
        return mean_affine_invariant(matrices, weights)
    return gmean(matrices, metric=metric, sample_weight=weights)


def _mean_of_domain(label, matrices, metric, weights=None):
    """The mean of the matrices of a domain; ValueError if there is only one."""
    if len(matrices) == 1:
        raise ValueError(
            f"{'X' if label is None else f'The domain {label!r}'} has one sample, "
            "and re-centering maps a single matrix to the identity. Pass several "
            "matrices of each domain, or add one matrix at a time by partial_fit "
            "(partial_adapt of TransferDiscriminantAnalysis)."
        )
    return _mean(matrices, metric, weights)


def target_of(X_target_unlabeled, X_target_labeled, y_target_labeled):
    """The target matrices or None, and the name of their argument."""
    if X_target_labeled is None:
        if y_target_labeled is not None:
            raise ValueError("y_target_labeled requires X_target_labeled.")
        return X_target_unlabeled, "X_target_unlabeled"
    if X_target_unlabeled is not None:
        raise ValueError(
            "Pass either X_target_unlabeled or X_target_labeled. For both, call adapt "
            "of TransferDiscriminantAnalysis with the unlabeled matrices after fit."
        )
    if y_target_labeled is not None and len(y_target_labeled) != len(X_target_labeled):
        raise ValueError(
            f"y_target_labeled has {len(y_target_labeled)} labels, but "
            f"X_target_labeled has {len(X_target_labeled)} matrices."
        )
    return X_target_labeled, "X_target_labeled"


def domains_of(domain, n_samples):
    """Pairs of a domain label and the indices of its samples; the label may be None."""
    if domain is None:
        return [(None, np.arange(n_samples))]
    if np.ndim(domain) == 0:
        domain = np.repeat(np.asarray(domain), n_samples)
    domain = sample_labels(domain, "domain", n_samples)
    if domain.dtype.kind == "M":
        domain = domain.astype("M8[us]")  # tolist() converts nanoseconds to integers
    labels = dict.fromkeys(domain.tolist())
    return [(label, np.flatnonzero(domain == label)) for label in labels]


def _consistent_domains(domain, n_samples, known):
    """``domains_of``; ValueError if the labels do not agree with the known domains.

    Either all calls have labels, or none. Known domains of both kinds are training
    domains and target matrices.
    """
    domains = domains_of(domain, n_samples)
    texts = {str(label): label for label in known if label is not None}
    for label, _ in domains:
        if label in known or not known:
            continue
        if label is None:
            raise ValueError(
                "Pass domain, the domain of each matrix, as in fit. In pipelines, call "
                "sklearn.set_config(enable_metadata_routing=True) before fit. In "
                "cross-validation, use scoring=make_domain_scorer(...), and after a "
                "grid search best_estimator_.predict(X, domain=...)."
            )
        if list(known) == [None]:
            raise ValueError(
                f"domain contains {label!r}, but the last fit or adapt used matrices "
                "without a domain. After a fit with target matrices, omit domain. "
                "Otherwise, pass domain there, too: for a single domain one label, "
                'such as domain="train".'
            )
        same = texts.get(str(label))
        if same is not None:
            raise ValueError(
                f"domain contains {label!r} ({type(label).__name__}), but the known "
                f"domain is {same!r} ({type(same).__name__}). Pass labels of the same "
                "type."
            )
    return domains


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
