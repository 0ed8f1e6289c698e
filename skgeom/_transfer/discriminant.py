"""Linear discriminant analysis of SPD matrices across people and days."""

from copy import copy
from numbers import Real

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
)

from skgeom._transfer.hierarchy import (
    adapted_means,
    chosen_shrinkage,
    class_means,
    log_densities,
    relevance_matrix,
    shrunk,
)
from skgeom._transfer.recentring import NO_DISPERSION, Recentring, domains
from skgeom.geometry import expm, logm
from skgeom.geometry._spd import from_upper_triangles, upper_triangles
from skgeom.utils.estimator import estimator_method
from skgeom.utils.validation import check_priors, check_spd_samples, check_two_classes


class TransferDiscriminantAnalysis(ClassifierMixin, BaseEstimator):
    r"""Discriminant analysis of SPD matrices whose classes move with the domain.

    A domain is what has a mean of its own: a person, a day, a run. Matrices Z are
    recentred by domain, and their logarithms, weighted by what tells the classes apart,
    are the vectors v of a hierarchical model: classes are Gaussians with a common
    covariance, and a new person's class means lie around those of training,

    .. math::

       v = \mathrm{vec}(R \log(Z) R), \qquad
       v \mid c \sim \mathcal{N}(\mu_c, S), \qquad
       \mu_c \sim \mathcal{N}(\bar\mu_c, S / \kappa).

    :meth:`fit` estimates :math:`\bar\mu_c` and S from labelled domains; with
    ``relevance=0``, R is the identity, and this is shrunk linear discriminant analysis
    in the tangent space [1]_ of recentred matrices [2]_. :meth:`adapt` then finds the
    means :math:`\mu_c` of a new person by expectation maximisation, which needs
    matrices but no labels; only the proportions of the classes must be known.

    Parameters
    ----------
    shrinkage : "auto" or float, default="auto"
        Weight, from 0 to 1, of the identity in S, whose size is the mean of the
        eigenvalues. ``"auto"`` takes, of nine weights from 0.05 to 1, the one of the
        highest accuracy in five folds of training: whole domains if there are several,
        samples otherwise.
    relevance : float, default=0.1
        The exponent a, from 0 to 1, of :math:`R = (\sum_c L_c^2)^a`, where :math:`L_c`
        is the mean of :math:`\log(Z)` in class c, and R is scaled to a norm of 1.
        Directions in which classes differ are then shrunk less than others. 0 treats
        all alike.
    prior_strength : float, default=200
        :math:`\kappa`: how many matrices of a class the mean of training is worth in
        :meth:`adapt`.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class probabilities of new domains, which :meth:`adapt` relies on; None for the
        proportions in training.
    recentring : Recentring or None, default=None
        How matrices are recentred; None for ``Recentring()``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    means_ : ndarray of shape (n_classes, n, n)
        The class means as SPD matrices, in recentred coordinates: those of training, or
        of the person that :meth:`adapt` was given last.
    priors_ : ndarray of shape (n_classes,)
        The class probabilities that were used.
    shrinkage_ : float
        The shrinkage that was used.
    recentring_ : Recentring
        The means of the domains.
    n_features_in_ : int
        Number of rows of the matrices.

    See Also
    --------
    Recentring : Recentring alone, in front of any classifier.
    PLRSQ : Prototypes of SPD matrices.

    Notes
    -----
    All methods request the metadata ``domain``; see :class:`Recentring`.

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
    >>> domain = np.arange(120) % 4  # four people, whose sensors differ
    >>> gains = np.random.default_rng(0).lognormal(size=(4, 3))[domain]
    >>> X = gains[:, :, None] * X * gains[:, None, :]
    >>> known, new = domain < 3, domain == 3
    >>> model = TransferDiscriminantAnalysis().fit(X[known], y[known], domain[known])
    >>> model = model.adapt(X[new])  # no labels
    >>> model.score(X[new], y[new])
    0.9
    """

    # What users would else have to request by set_fit_request and the like.
    __metadata_request__fit = {"domain": True}
    __metadata_request__predict = {"domain": True}
    __metadata_request__predict_proba = {"domain": True}
    __metadata_request__predict_log_proba = {"domain": True}
    __metadata_request__decision_function = {"domain": True}
    __metadata_request__score = {"domain": True}

    _parameter_constraints = {
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "relevance": [Interval(Real, 0, 1, closed="both")],
        "prior_strength": [Interval(Real, 0, None, closed="neither")],
        "priors": [None, StrOptions({"uniform"}), "array-like"],
        "recentring": [None, Recentring],
    }

    def __init__(
        self,
        *,
        shrinkage="auto",
        relevance=0.1,
        prior_strength=200,
        priors=None,
        recentring=None,
    ):
        self.shrinkage = shrinkage
        self.relevance = relevance
        self.prior_strength = prior_strength
        self.priors = priors
        self.recentring = recentring

    @estimator_method(nested_validation=True)
    def fit(self, X, y, domain=None):
        """Estimate the classes from labelled domains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices; not modified.
        y : array-like of shape (n_samples,)
            Their classes.
        domain : array-like of shape (n_samples,), default=None
            Labels of the domains; None for a single one.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If a matrix is not symmetric or not positive definite (the message names
            it), if an array is malformed, if there is one class only, or if the
            matrices of the domains, or of the classes, do not vary.
        """
        X = check_spd_samples(self, X, reset=True)
        self.classes_, y = self._check_y(y, len(X))
        self.priors_ = check_priors(self.priors, np.bincount(y))
        self.recentring_ = clone(self.recentring or Recentring())
        logarithms = logarithms_of(self.recentring_.fit_transform(X, domain=domain))
        if max(self.recentring_.dispersions_.values()) <= NO_DISPERSION:
            raise ValueError(
                "After recentring, all matrices are the identity: those of each domain "
                "are equal. Give domains of matrices that differ."
            )
        groups = np.empty(len(X), dtype=int)
        for index, (_, members) in enumerate(domains(domain, len(X))):
            groups[members] = index

        self._relevance = relevance_matrix(logarithms, y, self.relevance)
        V = self._vectors(logarithms)
        means = class_means(V, y)
        residuals = V - means[y]
        self.shrinkage_ = self.shrinkage
        if self.shrinkage == "auto":
            self.shrinkage_ = chosen_shrinkage(V, y, groups, self.priors_)
        covariance = shrunk(residuals.T @ residuals / len(V), self.shrinkage_)
        try:
            self._factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            raise ValueError(
                "The covariance within the classes is singular. Give more matrices of "
                f"each class than one, and shrinkage above {self.shrinkage_:g}."
            ) from None
        self._training_means = self._means = self._coordinates(means)
        self._seen = None
        return self

    @estimator_method
    def adapt(self, X, domain=None):
        """Adapt the class means to a new person, by matrices without labels.

        Expectation maximisation moves the means of training towards the new person's,
        such that the classes have the shares ``priors_`` of the matrices in
        expectation. What was adapted before is forgotten.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices of one person; not modified.
        domain : array-like of shape (n_samples,), default=None
            Labels of their domains, such as days or runs, to be recentred one by one;
            None for a single one. Predictions know these domains from then on, and
            no longer those of training.

        Returns
        -------
        self
            This object, adapted.

        Raises
        ------
        ValueError
            If X is malformed, as for :meth:`fit`.
        """
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False)
        self.recentring_ = clone(self.recentring_)
        return self._adapt_to(self.recentring_.fit_transform(X, domain=domain))

    @estimator_method
    def partial_adapt(self, X, domain=None):
        """Adapt to further matrices of the same person, such as one trial at a time.

        First their domains' means take a step towards each matrix
        (:meth:`Recentring.partial_fit`). Then class means are adapted to all matrices
        since the last :meth:`fit`, or :meth:`adapt` and those of that call, each as it
        was recentred when it came. Their number bounds the time. Give a new person a
        new ``domain``: one of training goes on from its mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices in the order of time; not modified.
        domain : array-like of shape (n_samples,), default=None
            Labels of their domains; None for a single one.

        Returns
        -------
        self
            This object, adapted.

        Raises
        ------
        ValueError
            If X is malformed, as for :meth:`fit`.
        """
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False)
        self.recentring_ = copy(self.recentring_).partial_fit(X, domain=domain)
        Z = self.recentring_.transform(X, domain=domain)
        return self._adapt_to(Z, before=self._seen)

    def _adapt_to(self, Z, before=None):
        """Adapt to recentred matrices and to whitened vectors of earlier ones."""
        vectors = self._coordinates(self._vectors(logarithms_of(Z)))
        self._seen = vectors if before is None else np.concatenate([before, vectors])
        self._means = adapted_means(
            self._seen, self._training_means, np.log(self.priors_), self.prior_strength
        )
        return self

    @property
    def means_(self):
        """The class means as SPD matrices, in recentred coordinates."""
        inverse = np.linalg.inv(self._relevance)
        weighted = from_upper_triangles(self._means @ self._factor.T)
        logarithms = inverse @ weighted @ inverse
        return expm((logarithms + logarithms.mT) / 2)

    def decision_function(self, X, domain=None):
        """Logarithms of the densities of the classes, up to a common number.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Labels of their domains, as in :meth:`Recentring.transform`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column a class; with two classes, the difference of the second and the
            first.
        """
        scores = self._scores(X, domain)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X, domain=None):
        """Predict the classes of matrices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Labels of their domains, as in :meth:`Recentring.transform`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The most probable classes.
        """
        scores = self._scores(X, domain)
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X, domain=None):
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Labels of their domains, as in :meth:`Recentring.transform`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            They add up to 1 for each sample.
        """
        return np.exp(self.predict_log_proba(X, domain))

    def predict_log_proba(self, X, domain=None):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices.
        domain : array-like of shape (n_samples,), default=None
            Labels of their domains, as in :meth:`Recentring.transform`.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            The logarithms of :meth:`predict_proba`.
        """
        return log_softmax(self._scores(X, domain), axis=1)

    def score(self, X, y, sample_weight=None, domain=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            SPD matrices.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        domain : array-like of shape (n_samples,), default=None
            Labels of their domains, as in :meth:`Recentring.transform`.

        Returns
        -------
        accuracy : float
            The weighted share of samples whose class is predicted.
        """
        predicted = self.predict(X, domain)
        return accuracy_score(y, predicted, sample_weight=sample_weight)

    def _scores(self, X, domain):
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False)
        Z = self.recentring_.transform(X, domain=domain)
        vectors = self._coordinates(self._vectors(logarithms_of(Z)))
        return log_densities(vectors, self._means, np.log(self.priors_))

    def _vectors(self, logarithms):
        """Weighted logarithms of recentred matrices, as vectors of the same norm."""
        return upper_triangles(self._relevance @ logarithms @ self._relevance)

    def _coordinates(self, vectors):
        """Vectors in coordinates in which S is the identity."""
        return np.linalg.solve(self._factor, vectors.T).T

    def _check_y(self, y, n_samples):
        """The classes, and class numbers of y."""
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if len(y) != n_samples:
            raise ValueError(f"X has {n_samples} samples, but y has {len(y)} labels.")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        check_two_classes(classes, type(self).__name__)
        return classes, codes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def logarithms_of(Z):
    """Logarithms in double precision."""
    return logm(Z.astype(np.float64, copy=False))
