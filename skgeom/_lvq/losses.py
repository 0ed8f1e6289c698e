"""What learning vector quantisation minimises, as a function of squared distances.

A loss is called with the squared distances of samples from all prototypes and the index
of each sample's class. It returns the loss of each sample, its derivative with respect
to the squared distances and, where it has a scale, with respect to the scale's
logarithm.
"""

import numpy as np
from scipy.special import expit, logsumexp

# Squared distances of which a quotient may not be a number any more.
_NOTHING = 1e-290

# Prototypes of a relative weight below 1e-10 change no loss by more than that.
_NO_WEIGHT = np.log(1e-10)


class LikelihoodLoss:
    r"""Negative log likelihood of the correct class, the terms of equation 18 of [1]_.

    Prototype l has the prior P(l) and the density
    :math:`\propto \exp(-\delta_l^2 / 2 \sigma^2)`. On demand, the prototypes of the
    correct class are also drawn to the samples, by the term

    .. math:: -\gamma \log \sum_{l: c_l = y} P(l) \exp(-\delta_l^2 / 2 \sigma_0^2).

    Parameters
    ----------
    labels : ndarray of int of shape (n_prototypes,)
        Index of the class of each prototype.
    log_priors : ndarray of shape (n_prototypes,)
        Logarithms of P(l).
    representability : float, default=0
        The weight :math:`\gamma`.
    reference : float, default=None
        The scale :math:`\sigma_0^2`, if it is not the scale that the loss is called
        with.

    References
    ----------
    .. [1] F. Tang et al., "Probabilistic learning vector quantization on manifold of
       symmetric positive definite matrices", Neural Networks 142, 2021.
    """

    def __init__(self, labels, log_priors, representability=0.0, reference=None):
        self.labels = labels
        self.log_priors = log_priors
        self.representability = representability
        self.reference = reference

    def __call__(self, squared_distances, y, scale):
        """Losses (n,), derivatives (n, M), derivatives for log scale (n,)."""
        correct = self.labels == y[:, None]
        # A common term changes nothing here, and keeps a small scale from overflow.
        nearest = squared_distances.min(axis=1, keepdims=True)
        scores = self.log_priors - (squared_distances - nearest) / (2 * scale)
        # Softmaxes of the scores: P(l | X), and P(l | X, y) on the prototypes of y.
        log_all, of_all = _log_sum(scores)
        log_own, of_own = _log_sum(np.where(correct, scores, -np.inf))
        derivatives = (of_own - of_all) / (2 * scale)
        of_log_scale = -(derivatives * squared_distances).sum(axis=1)
        losses = log_all - log_own
        if self.representability:
            reference = self.reference or scale
            scores = self.log_priors - squared_distances / (2 * reference)
            log_own, of_own = _log_sum(np.where(correct, scores, -np.inf))
            losses = losses - self.representability * log_own
            derivatives += self.representability * of_own / (2 * reference)
        return losses, derivatives, of_log_scale

    def matter(self, squared_distances, y, scale):
        """Which squared distances matter, (n, M): those of prototypes with a weight.

        Of some distances, lower bounds may be given. If none of these matters, none
        would if it were known: a bound that is too low makes its own weight larger and
        the others smaller.
        """
        correct = self.labels == y[:, None]

        def have_weight(scale, among):
            scores = self.log_priors - squared_distances / (2 * scale)
            scores = np.where(among, scores, -np.inf)
            return scores >= scores.max(axis=1, keepdims=True) + _NO_WEIGHT

        matter = have_weight(scale, True) | have_weight(scale, correct)
        if self.representability and self.reference:
            matter |= have_weight(self.reference, correct)
        return matter

    def curvature(self, squared_distances, y, scale):
        r"""What of the second derivatives makes a convex model of the loss.

        In the scores :math:`z_l = -\delta_l^2 / 2 \sigma^2`, the first term of the loss
        has the Hessian :math:`\operatorname{diag} p - p p^\top`, except for a negative
        part, with the probabilities p of the prototypes given the sample. The second
        derivatives of the squared distances count with the derivatives of the loss.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_prototypes)
            p.
        size : ndarray of shape (n_samples, n_prototypes)
            Absolute derivatives of the first term for the squared distances.
        pull : ndarray of shape (n_samples, n_prototypes)
            Derivatives of the term of representability, which are not negative.
        """
        correct = self.labels == y[:, None]
        scores = self.log_priors - squared_distances / (2 * scale)
        _, of_all = _log_sum(scores)
        _, of_own = _log_sum(np.where(correct, scores, -np.inf))
        size = np.abs(of_own - of_all) / (2 * scale)
        if not self.representability:
            return of_all, size, np.zeros_like(size)
        reference = self.reference or scale
        scores = self.log_priors - squared_distances / (2 * reference)
        _, of_own = _log_sum(np.where(correct, scores, -np.inf))
        return of_all, size, self.representability * of_own / (2 * reference)


class MarginLoss:
    r"""A sigmoid of the relative margin, as in generalised LVQ [1]_, [2]_.

    With the squared distances :math:`d_J` from the nearest prototype of the correct
    class and :math:`d_K` from the nearest of the others, the loss is

    .. math:: \phi(s \mu), \qquad \mu = \frac{d_J - d_K}{d_J + d_K}, \qquad
       \phi(t) = \frac{1}{1 + e^{-t}}

    with the slope s as the scale. It has no derivative for the scale. Where both
    distances are zero, so are :math:`\mu` and, by convention, its derivatives.

    References
    ----------
    .. [1] A. Sato and K. Yamada, "Generalized learning vector quantization", NIPS 1996.
    .. [2] F. Tang, M. Fan and P. Tino, "Generalized learning Riemannian space
       quantization: a case study on Riemannian manifold of SPD matrices", IEEE
       Transactions on Neural Networks and Learning Systems 32(1), 2021.
    """

    def __init__(self, labels):
        self.labels = labels

    def __call__(self, squared_distances, y, scale):
        """Losses (n,), derivatives (n, M), None."""
        rows = np.arange(len(y))
        nearest, rival = self._nearest(squared_distances, y)
        own, other = squared_distances[rows, nearest], squared_distances[rows, rival]
        total = own + other
        # A sample that lies on both prototypes, or as good as, moves neither of them.
        total = np.where(total > _NOTHING, total, np.inf)
        losses = expit(scale * ((own - other) / total))
        slope = 2 * scale * losses * (1 - losses) / total
        derivatives = np.zeros_like(squared_distances)
        derivatives[rows, nearest] = slope * (other / total)
        derivatives[rows, rival] = -slope * (own / total)
        return losses, derivatives, None

    def matter(self, squared_distances, y, scale):
        """Which squared distances matter, (n, M): the least of either kind.

        Of some distances, lower bounds may be given. If none of these matters, none
        would if it were known.
        """
        matter = np.zeros(squared_distances.shape, dtype=bool)
        matter[np.arange(len(y)), self._nearest(squared_distances, y)] = True
        return matter

    def _nearest(self, squared_distances, y):
        """Indices of the nearest prototypes of the class, and of the others (2, n)."""
        correct = self.labels == y[:, None]
        nearest = np.where(correct, squared_distances, np.inf).argmin(axis=1)
        rival = np.where(correct, np.inf, squared_distances).argmin(axis=1)
        return np.stack([nearest, rival])


def class_log_densities(squared_distances, labels, log_priors, scale):
    """Log of prior times density of each class, up to a common term, (n, c)."""
    scores = log_priors - squared_distances / (2 * scale)
    by_class = [
        logsumexp(scores[:, labels == label], axis=1) for label in np.unique(labels)
    ]
    return np.stack(by_class, axis=1)


def nearest_scores(squared_distances, labels):
    """Minus the squared distance from the nearest prototype of each class, (n, c)."""
    by_class = [
        squared_distances[:, labels == label].min(axis=1) for label in np.unique(labels)
    ]
    return -np.stack(by_class, axis=1)


def _log_sum(scores):
    """Log of the sum of exponentials in each row, and its derivatives."""
    largest = scores.max(axis=1, keepdims=True)
    terms = np.exp(scores - largest)
    total = terms.sum(axis=1, keepdims=True)
    return (largest + np.log(total))[:, 0], terms / total
