"""Losses of learning vector quantization, as functions of squared distances.

A loss is called with the squared distances of samples from all prototypes, the index of
each sample's class, and a scale. It returns the loss of each sample, its derivative
with respect to the squared distances and, where the scale can be learned, with respect
to the logarithm of the scale.
"""

from itertools import pairwise

import numpy as np

from skgeom.utils.array_api import device_of, namespace, sum_of


class Loss:
    """Base class of losses, with the methods that a loss may lack as None.

    ``curvature(squared_distances, y, scale)``
        returns a model of the second derivatives, as for :class:`LikelihoodLoss`.
        L-BFGS then uses the Gauss-Newton matrix;
    ``active_pairs(squared_distances, y)``
        returns the distances that determine the loss, as for :class:`MarginLoss`. A
        metric with ``tangent_metric`` then computes no other distances.
    """

    curvature = active_pairs = None


class LikelihoodLoss(Loss):
    r"""Negative log likelihood of the correct class, the terms of equation 18 of [1]_.

    Prototype l has the prior P(l) and the density
    :math:`\propto \exp(-\delta_l^2 / 2 \sigma^2)`; the scale of the loss is
    :math:`\sigma^2`. On demand, the prototypes of the
    correct class are also drawn to the samples, by the term

    .. math:: -\gamma \log \sum_{l: c_l = y} P(l) \exp(-\delta_l^2 / 2 \sigma_0^2).

    Parameters
    ----------
    labels : ndarray of int of shape (n_prototypes,)
        Index of the class of each prototype.
    log_priors : ndarray of shape (n_prototypes,)
        Logarithms of P(l).
    representability : float
        The weight :math:`\gamma`.
    reference : float
        The scale :math:`\sigma_0^2`.

    References
    ----------
    .. [1] F. Tang et al., "Probabilistic learning vector quantization on manifold of
       symmetric positive definite matrices", Neural Networks 142, 2021.
    """

    def __init__(self, labels, log_priors, representability=0.0, reference=1.0):
        self.labels = labels
        self.log_priors = log_priors
        self.representability = representability
        self.reference = reference

    def __call__(self, squared_distances, y, scale):
        """Losses (n,), derivatives (n, M), derivatives for log scale (n,)."""
        # A common term of both mixtures does not change the loss. Otherwise, distances
        # that are large compared with the scale would cost digits.
        xp = namespace(squared_distances)
        nearest = xp.min(squared_distances, axis=1, keepdims=True)
        offsets = squared_distances - nearest
        log_all, posteriors, log_own, in_class = self._mixtures(offsets, y, scale)
        derivatives = (in_class - posteriors) / (2 * scale)
        of_log_scale = -sum_of(derivatives * squared_distances, axis=1)
        losses = log_all - log_own
        if self.representability:
            mixtures = self._mixtures(squared_distances, y, self.reference)
            *_, log_own, in_class = mixtures
            losses = losses - self.representability * log_own
            weight = self.representability / (2 * self.reference)
            derivatives = derivatives + weight * in_class
        return losses, derivatives, of_log_scale

    def _mixtures(self, squared_distances, y, scale):
        """Log-densities of the mixture of all prototypes, and of the sample's class.

        Each is followed by its derivatives: P(l | X), and P(l | X, y).
        """
        xp, correct = namespace(squared_distances), self.labels == y[:, None]
        scores = self.log_priors - squared_distances / (2 * scale)
        own = xp.where(correct, scores, -np.inf)
        return *log_sum(scores), *log_sum(own)

    def curvature(self, squared_distances, y, scale):
        r"""The part of the second derivatives in a convex model of the loss.

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
        _, posteriors, _, in_class = self._mixtures(squared_distances, y, scale)
        size = abs(in_class - posteriors) / (2 * scale)
        *_, in_class = self._mixtures(squared_distances, y, self.reference)
        pull = self.representability * in_class / (2 * self.reference)
        return posteriors, size, pull


class MarginLoss(Loss):
    r"""A sigmoid of the relative margin, as in generalized LVQ [1]_, [2]_.

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
        xp = namespace(squared_distances)
        nearest, rival = self._nearest(squared_distances, y)
        own = sum_of(xp.where(nearest, squared_distances, 0.0), axis=1)
        other = sum_of(xp.where(rival, squared_distances, 0.0), axis=1)
        # A sample that equals both prototypes, up to rounding, moves neither of them.
        number = xp.finfo(squared_distances.dtype)
        total = own + other
        total = xp.where(total > number.smallest_normal / number.eps, total, np.inf)
        losses = (1 + xp.tanh(scale / 2 * ((own - other) / total))) / 2
        slope = 2 * scale * losses * (1 - losses) / total
        attraction = (slope * (other / total))[:, None]
        repulsion = (-slope * (own / total))[:, None]
        derivatives = xp.where(rival, repulsion, 0.0)
        return losses, xp.where(nearest, attraction, derivatives), None

    def active_pairs(self, squared_distances, y):
        """Mask (n, M) of the distances that determine the loss: the least of each kind.

        Lower bounds may replace some distances. If the loss depends on none of the
        bounds, it depends on none of these distances.
        """
        nearest, rival = self._nearest(squared_distances, y)
        return nearest | rival

    def _nearest(self, squared_distances, y):
        """Masks (n, M) of the nearest prototypes of the class and of other classes."""
        xp, correct = namespace(squared_distances), self.labels == y[:, None]
        index = xp.arange(correct.shape[1], device=device_of(squared_distances))
        masks = []
        for among in (correct, ~correct):
            candidates = xp.where(among, squared_distances, np.inf)
            masks.append(index == xp.argmin(candidates, axis=1)[:, None])
        return masks


def class_log_densities(squared_distances, counts, log_priors, scale):
    """Log of prior times density of each class, up to a common term, (n, c).

    ``counts`` are the numbers of prototypes of the classes, which come class by class.
    """
    scores = log_priors - squared_distances / (2 * scale)
    by_class = [log_sum(s)[0] for s in _by_class(scores, counts)]
    return namespace(scores).stack(by_class, axis=1)


def nearest_scores(squared_distances, counts):
    """Minus the squared distance from the nearest prototype of each class, (n, c)."""
    xp = namespace(squared_distances)
    by_class = [xp.min(s, axis=1) for s in _by_class(squared_distances, counts)]
    return -xp.stack(by_class, axis=1)


def prototype_log_priors(priors, counts):
    """Logarithms of P(l): the prior of a class, shared equally by its prototypes.

    ``counts`` are the numbers of prototypes of the classes.
    """
    xp = namespace(priors)
    shares = [xp.repeat(priors[k : k + 1] / n, n) for k, n in enumerate(counts)]
    return xp.log(xp.concat(shares))


def _by_class(columns, counts):
    ends = np.cumsum([0, *counts]).tolist()
    return [columns[:, begin:end] for begin, end in pairwise(ends)]


def log_sum(scores):
    """Log of the sum of exponentials in each row, and its derivatives."""
    xp = namespace(scores)
    largest = xp.max(scores, axis=1, keepdims=True)
    terms = xp.exp(scores - largest)
    total = sum_of(terms, axis=1, keepdims=True)
    return (largest + xp.log(total))[:, 0], terms / total
