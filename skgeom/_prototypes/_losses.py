"""What learning vector quantisation minimises, as a function of squared distances.

A loss is called with the squared distances of samples from all prototypes and the index
of each sample's class. It returns the loss of each sample, its derivative with respect
to the squared distances and, where it has a scale, with respect to the scale's
logarithm.
"""

from itertools import pairwise
from math import log

import numpy as np
from scipy import special

from skgeom.utils.array_api import device_of, max_of, min_of, namespace, sum_of

# Squared distances of which a quotient may not be a number any more.
_NOTHING = 1e-290

# Prototypes of a relative weight below 1e-10 change no loss by more than that.
_NO_WEIGHT = log(1e-10)


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
        xp, correct = namespace(squared_distances), self.labels == y[:, None]
        # A common term changes nothing here, and keeps a small scale from overflow.
        nearest = min_of(squared_distances, axis=1, keepdims=True)
        scores = self.log_priors - (squared_distances - nearest) / (2 * scale)
        # Softmaxes of the scores: P(l | X), and P(l | X, y) on the prototypes of y.
        log_all, of_all = _log_sum(scores)
        log_own, of_own = _log_sum(xp.where(correct, scores, -np.inf))
        derivatives = (of_own - of_all) / (2 * scale)
        of_log_scale = -sum_of(derivatives * squared_distances, axis=1)
        losses = log_all - log_own
        if self.representability:
            reference = self.reference or scale
            scores = self.log_priors - squared_distances / (2 * reference)
            log_own, of_own = _log_sum(xp.where(correct, scores, -np.inf))
            losses = losses - self.representability * log_own
            derivatives += self.representability * of_own / (2 * reference)
        return losses, derivatives, of_log_scale

    def matter(self, squared_distances, y, scale):
        """Which squared distances matter, (n, M): those of prototypes with a weight.

        Of some distances, lower bounds may be given. If none of these matters, none
        would if it were known: a bound that is too low makes its own weight larger and
        the others smaller.
        """
        xp, correct = namespace(squared_distances), self.labels == y[:, None]

        def have_weight(scale, among=None):
            scores = self.log_priors - squared_distances / (2 * scale)
            if among is not None:
                scores = xp.where(among, scores, -np.inf)
            return scores >= max_of(scores, axis=1, keepdims=True) + _NO_WEIGHT

        matter = have_weight(scale) | have_weight(scale, correct)
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
        xp, correct = namespace(squared_distances), self.labels == y[:, None]
        scores = self.log_priors - squared_distances / (2 * scale)
        _, of_all = _log_sum(scores)
        _, of_own = _log_sum(xp.where(correct, scores, -np.inf))
        size = xp.abs(of_own - of_all) / (2 * scale)
        if not self.representability:
            return of_all, size, xp.zeros_like(size)
        reference = self.reference or scale
        scores = self.log_priors - squared_distances / (2 * reference)
        _, of_own = _log_sum(xp.where(correct, scores, -np.inf))
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
        xp, n_prototypes = namespace(squared_distances), squared_distances.shape[1]
        nearest, rival = self._nearest(squared_distances, y)
        own, other = (_of_columns(squared_distances, j) for j in (nearest, rival))
        total = own + other
        # A sample that lies on both prototypes, or as good as, moves neither of them.
        total = xp.where(total > _NOTHING, total, np.inf)
        losses = _expit(scale * ((own - other) / total))
        slope = 2 * scale * losses * (1 - losses) / total
        attracted = slope * (other / total), nearest
        repelled = -slope * (own / total), rival
        return losses, _in_columns(n_prototypes, attracted, repelled), None

    def matter(self, squared_distances, y, scale):
        """Which squared distances matter, (n, M): the least of either kind.

        Of some distances, lower bounds may be given. If none of these matters, none
        would if it were known.
        """
        nearest, rival = self._nearest(squared_distances, y)
        xp, n_prototypes = namespace(squared_distances), squared_distances.shape[1]
        index = xp.arange(n_prototypes, device=device_of(squared_distances))
        return (index == nearest[:, None]) | (index == rival[:, None])

    def _nearest(self, squared_distances, y):
        """Indices of the nearest prototypes of the class, and of the others, (n,)."""
        xp, correct = namespace(squared_distances), self.labels == y[:, None]
        nearest = xp.argmin(xp.where(correct, squared_distances, np.inf), axis=1)
        rival = xp.argmin(xp.where(correct, np.inf, squared_distances), axis=1)
        return nearest, rival


def class_log_densities(squared_distances, counts, log_priors, scale):
    """Log of prior times density of each class, up to a common term, (n, c).

    ``counts`` are the numbers of prototypes of the classes, which come class by class.
    """
    scores = log_priors - squared_distances / (2 * scale)
    xp = namespace(scores)
    if xp is np:
        by_class = [special.logsumexp(s, axis=1) for s in _by_class(scores, counts)]
    else:
        by_class = [_log_sum(s)[0] for s in _by_class(scores, counts)]
    return xp.stack(by_class, axis=1)


def nearest_scores(squared_distances, counts):
    """Minus the squared distance from the nearest prototype of each class, (n, c)."""
    xp = namespace(squared_distances)
    by_class = [min_of(s, axis=1) for s in _by_class(squared_distances, counts)]
    return -xp.stack(by_class, axis=1)


def log_softmax(scores):
    """Logarithms of the softmax of each row."""
    if namespace(scores) is np:
        return special.log_softmax(scores, axis=1)
    return scores - _log_sum(scores)[0][:, None]


def _by_class(columns, counts):
    ends = np.cumsum([0, *counts]).tolist()
    return [columns[:, begin:end] for begin, end in pairwise(ends)]


def _expit(values):
    xp = namespace(values)
    if xp is np:
        return special.expit(values)
    small = xp.exp(-xp.abs(values))  # does not overflow
    return xp.where(values < 0, small, 1) / (1 + small)


def _of_columns(array, columns):
    """An entry of each row of an array, (n,)."""
    xp = namespace(array)
    if xp is np:
        return array[np.arange(len(array)), columns]
    return xp.take_along_axis(array, columns[:, None], axis=1)[:, 0]


def _in_columns(n_columns, *parts):
    """An array (n, M) of zeros but for values (n,), each part in columns (n,)."""
    (values, columns), *_ = parts
    xp = namespace(values)
    if xp is np:
        array, rows = np.zeros((len(values), n_columns)), np.arange(len(values))
        for values, columns in parts:
            array[rows, columns] = values
        return array
    index = xp.arange(n_columns, device=device_of(values))
    return sum(xp.where(index == j[:, None], v[:, None], 0.0) for v, j in parts)


def _log_sum(scores):
    """Log of the sum of exponentials in each row, and its derivatives."""
    xp = namespace(scores)
    largest = max_of(scores, axis=1, keepdims=True)
    terms = xp.exp(scores - largest)
    total = sum_of(terms, axis=1, keepdims=True)
    return (largest + xp.log(total))[:, 0], terms / total
