"""What the features tell about the class, by Gaussians of projected data."""

from copy import copy

import numpy as np

from skgeom.objectives._projection import ProjectedClasses
from skgeom.utils._threads import map_threads

# Samples are evaluated in blocks, which fit into a processor's cache, each by one
# thread. The blocks, and so the result, do not depend on the number of threads. They
# have so many samples, or up to four times as many if these have few numbers.
_SAMPLES_PER_BLOCK = 1024
_NUMBERS_PER_BLOCK = 2**16


class MeanInformation:
    r"""Mean information of Gaussian features about the correct class, in nats.

    For filters F of shape (n, m), a sample has the features :math:`z_k = F^\top x_k`,
    and class i the projected statistics :math:`\mu_i = F^\top \gamma_i` and
    :math:`\Sigma_i = F^\top \Phi_i F + \sigma^2 I`. The value is

    .. math::

       \frac1N \sum_k \log \frac{\mathcal{N}(z_k; \mu_{y_k}, \Sigma_{y_k})}
       {\sum_i \pi_i \mathcal{N}(z_k; \mu_i, \Sigma_i)}

    which is the mean of the log posterior of the correct class, minus that of its prior
    probability :math:`\pi_{y_k}`: zero for features that tell nothing (appendix E.2 of
    Herrera-Esposito and Burge, 2025, without a sample of the noise in the features).
    With :math:`u_{ki} = \Sigma_i^{-1} (z_k - \mu_i)` and the
    differences :math:`a_{ki}` between the indicator of the correct class and the
    posterior, divided by N, its gradient is

    .. math::

       \sum_{ki} a_{ki} \big( (\gamma_i - x_k) u_{ki}^\top
       + \Phi_i F (u_{ki} u_{ki}^\top - \Sigma_i^{-1}) \big)

    Parameters
    ----------
    X : ndarray of shape (N, n)
        Samples; not copied.
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
        Weights of the samples in the mean; None: all count alike.
    """

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
        self.X = X
        self.labels = labels
        self.classes = ProjectedClasses(means, covariances, regularization)
        self.log_priors = log_priors
        self.weights = np.ones(len(X)) if weights is None else weights

    @property
    def n_features(self):
        """Number of rows of the filters."""
        return self.X.shape[1]

    @property
    def n_samples(self):
        """Number of samples."""
        return len(self.X)

    @property
    def parallel(self):
        """Whether threads share the work, so that those of BLAS are in their way."""
        return self.n_samples > _SAMPLES_PER_BLOCK

    def projection_dominates(self, n_filters):
        """Whether an evaluation mostly projects samples and classes."""
        return True

    def project(self, basis):
        """The same objective for filters ``basis @ G``, as a function of G."""
        blocks = [self.X[block] @ basis for block in self._blocks()]
        moments = self.classes.project(basis)
        return MeanInformation(
            np.concatenate(blocks),
            self.labels,
            *moments,
            self.log_priors,
            self.weights,
        )

    def growing_samples(self, random_state):
        """No samples of pairs, as :class:`MeanPairwiseDistance` has."""
        return []

    def sample(self, rows):
        """The same objective of some samples only; the classes remain as they are."""
        sampled = copy(self)
        sampled.X, sampled.labels = self.X[rows], self.labels[rows]
        sampled.weights = self.weights[rows]
        return sampled

    @property
    def mean_log_prior(self):
        """What the information lacks to be the mean log posterior."""
        return np.average(self.log_priors[self.labels], weights=self.weights)

    def __call__(self, filters):
        """Value and gradient, (n, m), at ``filters``, (n, m).

        Raises
        ------
        numpy.linalg.LinAlgError
            If a projected covariance is not positive definite.
        """
        means, covariances, pull_back = self.classes(filters)
        gaussians = _Gaussians(means, covariances, self.log_priors)

        def evaluate(block):
            X = self.X[block].astype(np.float64, copy=False)
            value, of_features, *sums = gaussians(
                filters.T @ X.T, self.labels[block], self.weights[block]
            )
            return value, (of_features @ X).T, *sums

        parts = map_threads(evaluate, self._blocks(means.size))
        value, of_filters, *sums = (
            sum(part) / self.weights.sum() for part in zip(*parts, strict=True)
        )
        return value, of_filters + pull_back(*gaussians.pull_back(*sums))

    def _blocks(self, n_numbers=np.inf):
        """Slices of the samples, of each of which there are so many numbers."""
        size = int(_NUMBERS_PER_BLOCK / n_numbers)
        size = min(max(size, _SAMPLES_PER_BLOCK), 4 * _SAMPLES_PER_BLOCK)
        starts = range(0, self.n_samples, size)
        return [slice(start, start + size) for start in starts]


class _Gaussians:
    """Log posteriors of features, with their gradients, by Gaussians of m dimensions.

    Samples are whitened by each class: ``w = inv(L) (z - mean)``, ``L L.T`` being its
    covariance. The samples are the last axis of all arrays.
    """

    def __init__(self, means, covariances, log_priors):
        self._inverse_factors = np.linalg.inv(np.linalg.cholesky(covariances))
        diagonals = np.diagonal(self._inverse_factors, axis1=1, axis2=2)
        self._offsets = log_priors + np.log(diagonals).sum(axis=1)
        self._log_priors = log_priors
        self._centres = self._inverse_factors @ means[:, :, None]

    def __call__(self, features, labels, weights):
        """Sums over samples: of the value and of what the gradient is made of.

        Takes features (m, N), labels (N,) and weights (N,). Returns the sum of the
        information; its gradient with respect to the features, (m, N); and, by class,
        the sums of ``a w`` (c, m), ``a w w.T`` (c, m, m) and ``a`` (c,), with a the
        indicator of the correct class minus the posterior, times the weight.
        """
        n_classes, n_filters, _ = self._inverse_factors.shape
        # All classes in one product: (c m, m) @ (m, N).
        stacked = self._inverse_factors.reshape(-1, n_filters)
        whitened = (stacked @ features).reshape(n_classes, n_filters, -1)
        whitened -= self._centres
        logits = self._offsets[:, None] - np.square(whitened).sum(axis=1) / 2
        columns = np.arange(len(labels))
        logits -= logits.max(axis=0)
        likelihoods = np.exp(logits)
        totals = likelihoods.sum(axis=0)
        gains = logits[labels, columns] - np.log(totals) - self._log_priors[labels]
        value = gains @ weights
        a = likelihoods / -totals
        a[labels, columns] += 1
        a *= weights
        weighted = a[:, None] * whitened
        of_features = -(stacked.T @ weighted.reshape(n_classes * n_filters, -1))
        spread = weighted @ whitened.mT
        return value, of_features, weighted.sum(axis=2), spread, a.sum(axis=1)

    def pull_back(self, of_means, spread, mass):
        """Gradients with respect to means, (c, m), and covariances, (c, m, m)."""
        inverse_factors = self._inverse_factors
        of_means = (of_means[:, None] @ inverse_factors)[:, 0]
        inside = spread - mass[:, None, None] * np.eye(spread.shape[1])
        return of_means, inverse_factors.mT @ inside @ inverse_factors / 2
