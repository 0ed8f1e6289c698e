"""Recentring of SPD matrices by domain, without labels."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
)

from skgeom._transfer.means import MEANS
from skgeom.geometry import invsqrtm
from skgeom.geometry._spd import _spectral
from skgeom.utils.estimator import estimator_method, with_parameters
from skgeom.utils.validation import check_spd_samples

# Dispersion of equal matrices, up to rounding: these are not rescaled.
NO_DISPERSION = 1e-12


class Recentring(TransformerMixin, BaseEstimator):
    r"""Move the mean of each domain to the identity.

    A domain is what has a mean of its own: a person, a day, a run. Each matrix X of the
    domain d, whose mean is :math:`M_d`, becomes [1]_

    .. math:: Z = M_d^{-1/2} \, X \, M_d^{-1/2}

    which needs no labels. A classifier behind then meets matrices of new domains around
    the same point as those that it was trained on.

    Parameters
    ----------
    metric : {"riemann", "logeuclid", "euclid"}, default="riemann"
        Metric of the means. ``"riemann"`` is the affine-invariant one; after it, the
        mean is the identity exactly. ``"euclid"`` is the alignment of [2]_.
    rescale : bool, default=False
        Whether to bring all domains to the same dispersion as well: Z is raised to the
        power :math:`1 / \sqrt{\sigma_d^2}`, where :math:`\sigma_d^2` is the mean of
        :math:`\|\log Z\|_F^2` over the domain [3]_.
    window : int, default=None
        For :meth:`partial_fit`: no step towards a new matrix is shorter than
        ``1 / window``, so that matrices from long before are forgotten. At least 2;
        None forgets nothing.
    reference_count : int, default=1
        For :meth:`partial_fit`: how many matrices ``reference_`` counts as, from which
        the mean of a new domain starts. Some more suit domains that differ little, such
        as days of one person. No more count than ``window`` less one.

    Attributes
    ----------
    means_ : dict of ndarray of shape (n, n)
        The mean of each domain, by its label. Without labels, the key is None.
    dispersions_ : dict of float
        The dispersion :math:`\sigma_d^2` of each domain.
    counts_ : dict of int
        Number of matrices that each mean is of; ``reference_`` counts as
        ``reference_count``.
    reference_ : ndarray of shape (n, n)
        The mean of the domains' means in :meth:`fit`, from which new domains start in
        :meth:`partial_fit`.
    n_features_in_ : int
        Number of rows of the matrices.

    See Also
    --------
    TransferDiscriminantAnalysis : A classifier that recentres, and adapts more.

    Notes
    -----
    :meth:`fit`, :meth:`partial_fit` and :meth:`transform` request the metadata
    ``domain``. A pipeline hands it on after
    ``sklearn.set_config(enable_metadata_routing=True)``.

    References
    ----------
    .. [1] P. Zanini, M. Congedo, C. Jutten, S. Said and Y. Berthoumieu, "Transfer
       learning: a Riemannian geometry framework with applications to brain-computer
       interfaces", IEEE Transactions on Biomedical Engineering 65(5), 2018.
    .. [2] H. He and D. Wu, "Transfer learning for brain-computer interfaces: a
       Euclidean space data alignment approach", IEEE Transactions on Biomedical
       Engineering 67(2), 2020.
    .. [3] P. L. C. Rodrigues, C. Jutten and M. Congedo, "Riemannian Procrustes
       analysis: transfer learning for brain-computer interfaces", IEEE Transactions on
       Biomedical Engineering 66(8), 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom import Recentring
    >>> from skgeom.datasets import make_spd_classes
    >>> X, y = make_spd_classes(2, 20, 3, random_state=0)
    >>> domain = np.arange(40) % 2
    >>> X[domain == 1] *= 9  # another person
    >>> Z = Recentring().fit_transform(X, domain=domain)
    >>> [float(np.linalg.det(Z[domain == d]).mean().round(1)) for d in (0, 1)]
    [1.4, 1.2]
    """

    # What users would else have to request by set_fit_request and the like.
    __metadata_request__fit = {"domain": True}
    __metadata_request__partial_fit = {"domain": True}
    __metadata_request__transform = {"domain": True}

    _parameter_constraints = {
        "metric": [StrOptions(set(MEANS))],
        "rescale": ["boolean"],
        "window": [None, Interval(Integral, 2, None, closed="left")],
        "reference_count": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, *, metric="riemann", rescale=False, window=None, reference_count=1
    ):
        self.metric = metric
        self.rescale = rescale
        self.window = window
        self.reference_count = reference_count

    @estimator_method
    def fit(self, X, y=None, domain=None):
        """Find the mean of each domain.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices; not modified.
        y : None
            Not used.
        domain : array-like of shape (n_samples,), default=None
            Labels of the domains; None for a single one.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If a matrix is not symmetric or not positive definite, or an array is
            malformed; the message names the matrix. If a domain has one matrix only,
            which would become the identity.
        """
        X = check_spd_samples(self, X, reset=True)
        self._set_parameters_of_fit()
        self.means_, self.dispersions_, self.counts_ = {}, {}, {}
        for label, members in domains(domain, len(X)):
            if len(members) == 1:
                raise ValueError(_only_one(label))
            matrices = X[members].astype(np.float64, copy=False)
            self.means_[label], self.dispersions_[label] = self._describe(matrices)
            self.counts_[label] = len(matrices)
        mean, _ = MEANS[self.metric]
        self.reference_ = mean(np.stack(list(self.means_.values())))
        return self

    @estimator_method
    def partial_fit(self, X, y=None, domain=None):
        """Move the mean of each domain towards new matrices, one after another.

        The n-th matrix of a domain moves its mean by 1/n of the way, along the geodesic
        of the metric, or by 1/``window`` if that is more. A new domain starts from
        ``reference_``, which counts as the first ``reference_count`` matrices, or from
        its first matrix if there was no ``fit``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices in the order of time; not modified.
        y : None
            Not used.
        domain : array-like of shape (n_samples,), default=None
            Labels of the domains; None for a single one.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            As for :meth:`fit`.
        """
        first = not hasattr(self, "means_")
        X = check_spd_samples(self, X, reset=first)
        self._set_parameters_of_fit()
        for name in ("means_", "dispersions_", "counts_"):
            # Copies, because an error must leave the dicts as they were.
            setattr(self, name, dict(getattr(self, name, {})))
        for label, members in domains(domain, len(X)):
            for matrix in X[members].astype(np.float64, copy=False):
                self._move(label, matrix)
        return self

    def fit_transform(self, X, y=None, domain=None):
        """Find the mean of each domain, and recentre the same matrices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices; not modified.
        y : None
            Not used.
        domain : array-like of shape (n_samples,), default=None
            Labels of the domains; None for a single one.

        Returns
        -------
        Z : ndarray of shape (n_samples, n, n)
            The recentred matrices.
        """
        return self.fit(X, domain=domain).transform(X, domain=domain)

    def transform(self, X, domain=None):
        """Recentre matrices by the means of their domains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Labels of the domains. One that is not known yet is recentred by the mean of
            its matrices in X, of which there must be several. None if the known
            matrices had no labels either.

        Returns
        -------
        Z : ndarray of shape (n_samples, n, n)
            The recentred matrices; float32 for X of float32.

        Raises
        ------
        ValueError
            If there is no mean for the domain of a matrix, and as for :meth:`fit`.
        """
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False)
        # Parameters may have been set since.
        self = with_parameters(self, self._parameters_of_fit)
        Z = np.empty_like(X)
        for label, members in domains(domain, len(X)):
            matrices = X[members].astype(np.float64, copy=False)
            if label in self.means_:
                mean, dispersion = self.means_[label], self.dispersions_[label]
            else:
                self._check_new(label, len(matrices))
                mean, dispersion = self._describe(matrices)
            Z[members] = self._recentred(matrices, mean, dispersion)
        return Z

    def _set_parameters_of_fit(self):
        """Keep what transform needs, for parameters may be set afterwards."""
        self._parameters_of_fit = {"metric": self.metric, "rescale": self.rescale}

    def _check_new(self, label, count):
        if label is None:
            raise ValueError(
                "Pass domain, the domain of each matrix, as in fit. In a pipeline, "
                "sklearn.set_config(enable_metadata_routing=True) hands it on."
            )
        if count == 1:
            raise ValueError(
                f"The domain {label!r} is not known, and X has one matrix of it only, "
                "which is no mean. Call partial_fit (partial_adapt of "
                "TransferDiscriminantAnalysis) with this matrix first."
            )

    def _describe(self, matrices):
        """Mean and dispersion of the matrices of a domain."""
        find_mean, _ = MEANS[self.metric]
        mean = find_mean(matrices)
        return mean, float(squared_radii(whitened(matrices, mean)).mean())

    def _move(self, label, matrix):
        """Let a domain's mean, dispersion and count take note of a matrix."""
        _, step_towards = MEANS[self.metric]
        if label in self.means_:
            mean, count = self.means_[label], self.counts_[label]
        else:
            mean, dispersion, count = self._first(matrix)
            self.dispersions_[label] = dispersion
        step = 1 / (count + 1)
        if self.window is not None:
            step = max(step, 1 / self.window)
        mean = step_towards(mean, matrix, step)
        (radius,) = squared_radii(whitened(matrix[None], mean))
        self.means_[label], self.counts_[label] = mean, count + 1
        self.dispersions_[label] += step * (radius - self.dispersions_[label])

    def _first(self, matrix):
        """Mean and dispersion that a new domain starts from, and what they count."""
        if not hasattr(self, "reference_"):
            return matrix, 0.0, 0
        dispersion = np.mean(list(self.dispersions_.values()))
        return self.reference_, dispersion, int(self.reference_count)

    def _recentred(self, matrices, mean, dispersion):
        Z = whitened(matrices, mean)
        if self.rescale and dispersion > NO_DISPERSION:
            Z = _spectral(Z, lambda eigenvalues: eigenvalues ** (1 / dispersion**0.5))
        return Z

    def set_output(self, *, transform=None):
        """Do nothing: matrices go into no data frame.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Not used.

        Returns
        -------
        self
            This object.
        """
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _only_one(label):
    name = "X" if label is None else f"The domain {label!r}"
    return (
        f"{name} has one sample only, whose own mean would make it the identity. Give "
        "several matrices of each domain, or bring a matrix at a time by partial_fit "
        "(partial_adapt of TransferDiscriminantAnalysis)."
    )


def domains(domain, n_samples):
    """Pairs of a label and the indices of its samples; without labels, of None."""
    if domain is None:
        return [(None, np.arange(n_samples))]
    shape = np.shape(domain)
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] != 1):
        raise ValueError(f"domain must hold one label a matrix, got shape {shape}.")
    domain = column_or_1d(domain)
    assert_all_finite(domain, input_name="domain")
    if len(domain) != n_samples:
        raise ValueError(
            f"X has {n_samples} matrices, but domain has {len(domain)} labels."
        )
    try:
        labels, indices = np.unique(domain, return_inverse=True)
    except TypeError:
        raise TypeError(
            "domain has labels of several kinds, or None, which have no order. Give "
            "numbers or strings only, for example domain.astype(str)."
        ) from None
    return [(k, np.flatnonzero(indices == i)) for i, k in enumerate(labels.tolist())]


def whitened(matrices, mean):
    """``M^-1/2 X M^-1/2``; the symmetric root adds no rotation."""
    root = invsqrtm(mean)
    Z = root @ matrices @ root
    return (Z + Z.mT) / 2


def squared_radii(matrices):
    """Squared affine-invariant distances from the identity."""
    return (np.log(np.linalg.eigvalsh(matrices)) ** 2).sum(axis=-1)
