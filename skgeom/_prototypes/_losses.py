"""Losses of learning vector quantization, as functions of squared distances.

The arguments of a loss are the squared distances (n, M) of n samples from M prototypes,
the class indices (n,) of the samples, and a scale. A loss returns the losses (n,) of
the samples, their derivatives (n, M) with respect to the squared distances, and their
derivatives (n,) with respect to the logarithm of the scale, or None if the scale cannot
be learned.
"""

from itertools import pairwise
from math import log

import numpy as np

from skgeom.utils.array_api import device_of, namespace


class Loss:
    """Base class of losses. Two methods are optional, and None by default.

    ``curvature(squared_distances, y, scale)``
        returns a model of the second derivatives, see :class:`LikelihoodLoss`. L-BFGS
        then uses the Gauss-Newton matrix as preconditioner.
    ``active_pairs(squared_distances, y)``
        returns a mask of the distances that determine the loss, see
        :class:`MarginLoss`. A metric with ``tangent_metric`` then computes these
        distances only.
    """

    curvature = active_pairs = None


class LikelihoodLoss(Loss):
    r"""Negative log-likelihood of the correct class, plus a representability term.

    Prototype l, of class :math:`c_l`, has the prior P(l) and a density proportional to
    :math:`\exp(-\delta_l^2 / 2 \sigma^2)` at the distance :math:`\delta_l`. The loss of
    a sample of class y is

    .. math:: -\log p(y) - \gamma \log \sum_{l: c_l = y} P(l) e^{-\delta_l^2 / 2
       \sigma_0^2}, \qquad p(y) = \frac{\sum_{l: c_l = y} P(l) e^{-\delta_l^2 / 2
       \sigma^2}}{\sum_l P(l) e^{-\delta_l^2 / 2 \sigma^2}}.

    The first term is the loss of equation 18 of [1]_; the second term attracts the
    prototypes of the correct class to the sample. The scale of the loss is
    :math:`\sigma^2`.

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
        # The smallest squared distance is subtracted from all: this does not change the
        # loss, and avoids a loss of precision if distances are large.
        xp = namespace(squared_distances)
        nearest = xp.min(squared_distances, axis=1, keepdims=True)
        offsets = squared_distances - nearest
        log_all, posteriors, log_own, in_class = self._mixtures(offsets, y, scale)
        derivatives = (in_class - posteriors) / (2 * scale)
        of_log_scale = -xp.sum(derivatives * squared_distances, axis=1)
        losses = log_all - log_own
        if self.representability:
            *_, log_own, in_class = self._mixtures(squared_distances, y, self.reference)
            losses = losses - self.representability * log_own
            weight = self.representability / (2 * self.reference)
            derivatives = derivatives + weight * in_class
        return losses, derivatives, of_log_scale

    def _mixtures(self, squared_distances, y, scale):
        """Log-densities of two mixtures, and the posteriors of their components.

        Returns the log-density of the mixture of all prototypes, P(l | X), the
        log-density of the prototypes of the sample's class, and P(l | X, y).
        """
        xp, correct = namespace(squared_distances), self.labels == y[:, None]
        scores = self.log_priors - squared_distances / (2 * scale)
        own = xp.where(correct, scores, -np.inf)
        return *log_sum(scores), *log_sum(own)

    def curvature(self, squared_distances, y, scale):
        r"""The terms of a positive semidefinite model of the second derivatives.

        The first term of the loss is a function of the scores :math:`z_l = -\delta_l^2
        / 2 \sigma^2`. Its Hessian with respect to z is

        .. math:: (\operatorname{diag} p - p p^\top) - (\operatorname{diag} q -
           q q^\top), \qquad p_l = P(l \mid X), \quad q_l = P(l \mid X, y).

        The model omits the second, negative part. The Hessian with respect to the
        prototypes also contains the second derivatives of the squared distances,
        multiplied by the first derivatives of the loss, which ``size`` and ``pull``
        are.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_prototypes)
            p.
        size : ndarray of shape (n_samples, n_prototypes)
            Absolute derivatives of the first term of the loss with respect to the
            squared distances.
        pull : ndarray of shape (n_samples, n_prototypes)
            Derivatives of the second term of the loss (nonnegative).
        """
        _, posteriors, _, in_class = self._mixtures(squared_distances, y, scale)
        size = abs(in_class - posteriors) / (2 * scale)
        *_, in_class = self._mixtures(squared_distances, y, self.reference)
        pull = self.representability * in_class / (2 * self.reference)
        return posteriors, size, pull


class MarginLoss(Loss):
    r"""A sigmoid of the relative margin, as in generalized LVQ [1]_, [2]_.

    The loss is

    .. math:: \phi(s \mu), \qquad \mu = \frac{d_J - d_K}{d_J + d_K}, \qquad
       \phi(t) = \frac{1}{1 + e^{-t}},

    where :math:`d_J` is the squared distance from the nearest prototype of the correct
    class, and :math:`d_K` the squared distance from the nearest prototype of all other
    classes. The scale is the slope s, which cannot be learned. If both distances are
    zero, :math:`\mu` and its derivatives are set to zero.

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
        own = xp.sum(xp.where(nearest, squared_distances, 0.0), axis=1)
        other = xp.sum(xp.where(rival, squared_distances, 0.0), axis=1)
        # If a sample equals both prototypes up to rounding, the derivatives are zero.
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
        """Mask (n, M) of the distances that determine the loss, two in each row.

        They are the distances from the nearest prototype of the correct class and from
        the nearest prototype of all other classes. Some of ``squared_distances`` may be
        lower bounds. If the mask contains no bound, the loss is exact: the distances
        that the bounds replace are larger than the distances in the mask.
        """
        nearest, rival = self._nearest(squared_distances, y)
        return nearest | rival

    def _nearest(self, squared_distances, y):
        """Masks (n, M) of the nearest prototype of the class, and of other classes."""
        xp, correct = namespace(squared_distances), self.labels == y[:, None]
        index = xp.arange(correct.shape[1], device=device_of(squared_distances))
        masks = []
        for among in (correct, ~correct):
            candidates = xp.where(among, squared_distances, np.inf)
            masks.append(index == xp.argmin(candidates, axis=1)[:, None])
        return masks


def log_densities_of_classes(squared_distances, counts, scale):
    """Log densities of the classes, up to a common term, (n, n_classes).

    The prototypes of a class have equal weights. ``counts`` are the numbers of
    prototypes of the classes. The columns of ``squared_distances`` are sorted by class.
    """
    by_class = _by_class(-squared_distances / (2 * scale), counts)
    densities = [log_sum(s)[0] - log(s.shape[1]) for s in by_class]
    return _of_all_classes(densities, counts)


def nearest_scores(squared_distances, counts, unit):
    r"""Scores of the classes by the distances from their nearest prototypes.

    The score of class k with the distance :math:`\delta_k` is
    :math:`-\delta_k^2 / u \bar\delta`, with the root mean square :math:`\bar\delta` of
    the distances of all classes, and the unit of distance u. Squared distances alone
    have large differences for samples far from all prototypes, whose classes are not
    more certain, and distances alone have equal differences for all samples on a line
    beyond two prototypes. In the unit of the prototypes, a temperature also fits to
    prototypes that another training moved farther away from the samples.
    """
    xp = namespace(squared_distances)
    by_class = [xp.min(s, axis=1) for s in _by_class(squared_distances, counts)]
    scale = xp.sqrt(xp.mean(xp.stack(by_class, axis=1), axis=1))
    scale = unit * xp.where(scale > 0, scale, 1.0)
    return _of_all_classes([-squared / scale for squared in by_class], counts)


def prototype_log_priors(priors, counts):
    """Logarithms of P(l): the prior of the class divided by its number of prototypes.

    ``counts`` are the numbers of prototypes of the classes.
    """
    xp = namespace(priors)
    shares = [xp.repeat(priors[k : k + 1] / n, n) for k, n in enumerate(counts) if n]
    return xp.log(xp.concat(shares))


def _by_class(columns, counts):
    """The columns of each class that has prototypes."""
    ends = np.cumsum([0, *filter(None, counts)]).tolist()
    return [columns[:, begin:end] for begin, end in pairwise(ends)]


def _of_all_classes(scores, counts):
    """Scores (n, n_classes), which are minus infinity without prototypes."""
    xp, columns = namespace(scores[0]), iter(scores)
    lowest = xp.full_like(scores[0], -np.inf)
    return xp.stack([next(columns) if n else lowest for n in counts], axis=1)


def log_sum(scores):
    """Log of the sum of exponentials in each row, and its derivatives (the softmax)."""
    xp = namespace(scores)
    largest = xp.max(scores, axis=1, keepdims=True)
    terms = xp.exp(scores - largest)
    total = xp.sum(terms, axis=1, keepdims=True)
    return (largest + xp.log(total))[:, 0], terms / total
