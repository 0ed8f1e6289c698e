"""Mutual information of features and class labels, for Gaussian classes."""

from copy import copy

import numpy as np
from sklearn.utils import gen_batches

from skgeom.objectives._class_moments import ClassMoments
from skgeom.objectives._objective import Objective
from skgeom.utils.array_api import in_double, like, namespace, take, to_numpy
from skgeom.utils.threads import map_threads

# Samples are evaluated in blocks, each by one thread. The blocks, and therefore the
# result, do not depend on the number of threads. A block has 1,024 samples, or up to 16
# times as many if samples have few features and classes: a block should fit into the
# cache of a processor, but threads that process small blocks mostly wait for each other
# (page "Constants").
_SAMPLES_PER_BLOCK = 1024
_NUMBERS_PER_BLOCK = 2**19


class MeanInformation(Objective):
    r"""Mean information of Gaussian features about the correct class, in nats.

    For filters F of shape (n, m), sample k has the features :math:`z_k = F^\top x_k`,
    and class i the projected mean :math:`\mu_i = F^\top \gamma_i` and covariance
    :math:`\Sigma_i = F^\top \Phi_i F + \sigma^2 I`. The value is

    .. math::

       \frac1N \sum_k \log \frac{\mathcal{N}(z_k; \mu_{y_k}, \Sigma_{y_k})}
       {\sum_i \pi_i \mathcal{N}(z_k; \mu_i, \Sigma_i)},

    the mean over the samples of the log posterior minus the log prior of the correct
    class. It is zero for uninformative features. The definition is that of appendix E.2
    of Herrera-Esposito and Burge (2025), except that no noise is added to the features.

    Let :math:`u_{ki} = \Sigma_i^{-1} (z_k - \mu_i)`, and let :math:`a_{ki}` be the
    indicator of the correct class minus the posterior, :math:`[i = y_k] - p(i \mid
    z_k)`, divided by N. The gradient is

    .. math::

       \sum_{ki} a_{ki} \big( (\gamma_i - x_k) u_{ki}^\top
       + \Phi_i F (u_{ki} u_{ki}^\top - \Sigma_i^{-1}) \big) .

    Parameters
    ----------
    X : ndarray or sparse array of shape (N, n)
        Samples. Not copied. Sparse arrays require fast access to rows (CSR).
    labels : ndarray of shape (N,)
        Index of the class of each sample.
    means : ndarray of shape (c, n)
        Class means :math:`\gamma_i`.
    covariances : ndarray of shape (c, n, n)
        Class covariances :math:`\Phi_i`.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    log_priors : ndarray of shape (c,)
        Logarithms of the prior probabilities :math:`\pi_i`.
    weights : ndarray of shape (N,), default=None
        Weights of the samples in the mean. None sets equal weights. Samples of weight
        zero are omitted.
    """

    # An invertible linear map of the features changes only the effect of sigma^2.
    rotation_invariant = affine_invariant = True

    def __init__(
        self,
        X,
        labels,
        means,
        covariances,
        regularization,
        log_priors,
        weights=None,
    ):
        weights = np.ones(len(labels)) if weights is None else to_numpy(weights)
        if not np.all(weights):
            # Each subset of the samples must have a positive total weight.
            used = np.flatnonzero(weights)
            X, labels, weights = take(X, used), labels[used], weights[used]
        self.X = X
        self.labels = like(labels, X)
        self.classes = ClassMoments(means, covariances, regularization)
        self.log_priors = log_priors
        self.weights = in_double(like(weights, X))

    @property
    def n_features(self):
        """Number of rows of the filters."""
        return self.X.shape[1]

    @property
    def n_samples(self):
        """Number of samples."""
        return self.X.shape[0]

    @property
    def parallel(self):
        """Whether several threads evaluate the samples."""
        return self.n_samples > _SAMPLES_PER_BLOCK

    def project(self, basis):
        """The same objective for filters ``basis @ G``, as a function of G."""
        xp, on_device = namespace(self.X), like(basis, self.X)
        blocks = [in_double(self.X[block, :]) @ on_device for block in self._blocks()]
        projected = copy(self)
        projected.X, projected.classes = xp.concat(blocks), self.classes.project(basis)
        return projected

    def subset(self, rows):
        """The objective of some samples, with the same class statistics."""
        if len(rows) == self.n_samples:
            return self
        part = copy(self)
        part.complete = False
        for name in ("X", "labels", "weights"):
            setattr(part, name, take(getattr(self, name), rows))
        return part

    @property
    def mean_log_prior(self):
        """The mean log prior: the mean log posterior minus the information."""
        labels, weights = to_numpy(self.labels), to_numpy(self.weights)
        return float(np.average(self.log_priors[labels], weights=weights))

    def __call__(self, filters):
        """Value and gradient, (n, m), at ``filters``, (n, m).

        Raises
        ------
        numpy.linalg.LinAlgError
            If a projected covariance is not positive definite.
        """
        means, covariances, pull_back = self.classes(filters)
        gaussians = _Gaussians(means, covariances, self.log_priors, self.X)
        rows = like(filters.T, self.X)

        def evaluate(block):
            X = in_double(self.X[block, :])
            columns = rows @ X.T, self.labels[block], self.weights[block]
            value, of_features, *sums = gaussians(*columns)
            return value, (of_features @ X).T, *sums

        # Each sample requires its features, and one number for each class and filter.
        parts = map_threads(evaluate, self._blocks(self.n_features + means.size))
        total = float(namespace(self.X).sum(self.weights))
        # If the samples are on a device, only these sums are transferred.
        sums = [to_numpy(sum(part)) / total for part in zip(*parts, strict=True)]
        return sums[0], sums[1] + pull_back(*gaussians.pull_back(*sums[2:]))

    def _blocks(self, n_numbers=np.inf):
        """Slices of the samples. Each sample requires ``n_numbers`` numbers."""
        size = int(_NUMBERS_PER_BLOCK / n_numbers)
        size = min(max(size, _SAMPLES_PER_BLOCK), 16 * _SAMPLES_PER_BLOCK)
        return list(gen_batches(self.n_samples, size))


class _Gaussians:
    """Log posteriors of features for Gaussian classes of m dimensions, and gradients.

    The features z are whitened for each class: ``w = inv(L) (z - mean)``, where
    ``L L.T`` is the covariance of the class. The samples are the last axis of all
    arrays, which have the namespace and device of X.
    """

    def __init__(self, means, covariances, log_priors, X):
        self._inverse_factors = np.linalg.inv(np.linalg.cholesky(covariances))
        diagonals = np.diagonal(self._inverse_factors, axis1=1, axis2=2)
        self._offsets = like(log_priors + np.log(diagonals).sum(axis=1), X)
        self._log_priors = like(log_priors, X)
        self._centres = like(self._inverse_factors @ means[:, :, None], X)
        self._stacked = like(self._inverse_factors.reshape(-1, means.shape[1]), X)

    def __call__(self, features, labels, weights):
        """Sums over samples of the information and of the terms of its gradient.

        Accepts features (m, N), labels (N,) and weights (N,). Returns the weighted sum
        of the information, its gradient with respect to the features (m, N), and, for
        each class, the sums of ``a w`` (c, m), ``a w w.T`` (c, m, m) and ``a`` (c,),
        where ``a`` is the weight of the sample times the indicator of the correct class
        minus the posterior.
        """
        xp = namespace(features)
        n_classes, n_filters, _ = self._inverse_factors.shape
        # All classes in one product: (c m, m) @ (m, N).
        whitened = self._stacked @ features
        whitened = xp.reshape(whitened, (*self._centres.shape[:2], -1))
        whitened -= self._centres
        logits = self._offsets[:, None] - xp.sum(xp.square(whitened), axis=1) / 2
        logits -= xp.max(logits, axis=0)
        likelihoods = xp.exp(logits)
        totals = xp.sum(likelihoods, axis=0)
        of_correct = xp.take_along_axis(logits, labels[None, :], axis=0)[0, :]
        gains = of_correct - xp.log(totals) - xp.take(self._log_priors, labels)
        numbers = like(np.arange(n_classes), labels, labels.dtype)
        correct = xp.astype(numbers[:, None] == labels[None, :], weights.dtype)
        a = correct - likelihoods / totals
        a *= weights
        weighted = a[:, None, :] * whitened
        rows = xp.reshape(weighted, (n_classes * n_filters, -1))
        of_features = -(self._stacked.T @ rows)
        spread = weighted @ whitened.mT
        mass = xp.sum(a, axis=1)
        return gains @ weights, of_features, xp.sum(weighted, axis=2), spread, mass

    def pull_back(self, of_means, spread, mass):
        """Gradients with respect to means (c, m) and covariances (c, m, m).

        The arguments are the last three results of ``__call__``.
        """
        inverse_factors = self._inverse_factors
        of_means = (of_means[:, None] @ inverse_factors)[:, 0]
        inside = spread - mass[:, None, None] * np.eye(spread.shape[1])
        return of_means, inverse_factors.mT @ inside @ inverse_factors / 2
