"""Classifiers as logits with analytic first and second derivatives.

A model is an affine map of the samples, followed by a function whose result is an
`Expansion`: the logits, a function that pulls vectors in the space of the logits back
along their gradients, and one that adds up their second derivatives. Common terms of
the logits cancel in probabilities, so log-probabilities serve as logits, too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit


class Expansion(NamedTuple):
    """Logits of samples, and how to use their derivatives.

    Attributes
    ----------
    logits : ndarray of shape (n_samples, n_logits)
        One column a class, or one column for two classes: the second's advantage.
    pull_back : callable
        From V, (n_samples, n_rows, n_logits), the products V J with each sample's
        Jacobian of the logits, (n_samples, n_rows, n_inputs).
    bend : callable
        From weights, (n_samples, n_logits), the weighted sum of the second derivatives
        of all logits of all samples, (n_inputs, n_inputs).
    """

    logits: np.ndarray
    pull_back: Callable
    bend: Callable


@dataclass
class LogitModel:
    """A function of ``X @ matrix.T + offset``; no matrix stands for the identity."""

    expand: Callable
    matrix: np.ndarray | None = None
    offset: np.ndarray | float = 0.0
    floats_per_sample: int = 1

    def inputs(self, X):
        """What the function is applied to."""
        return (X if self.matrix is None else X @ self.matrix.T) + self.offset

    def after(self, matrix, offset):
        """Return the model of samples that an affine map turns into those of this."""
        if self.matrix is not None:
            offset = self.matrix @ offset + self.offset
            matrix = self.matrix @ matrix
        return LogitModel(self.expand, matrix, offset, self.floats_per_sample)

    def conjugate(self, form):
        """A quadratic form of the inputs as one of the samples."""
        return form if self.matrix is None else self.matrix.T @ form @ self.matrix

    def gram(self):
        """Inner products of the rows of the matrix."""
        return None if self.matrix is None else self.matrix @ self.matrix.T


def linear_model(coef, intercept):
    """Logits ``X @ coef.T + intercept``."""

    def expand(inputs):
        n_logits = inputs.shape[1]
        return Expansion(inputs, lambda V: V, lambda G: np.zeros((n_logits, n_logits)))

    return LogitModel(expand, coef, intercept, len(coef) ** 2)


def quadratic_model(means, precisions, offsets):
    """Logits of Gaussian classes, of precisions (c, d, d), or (c, d) if diagonal."""
    diagonal = precisions.ndim == 2

    def expand(X):
        centred = X - means[:, None]
        if diagonal:
            gradients = -centred * precisions[:, None]
        else:
            gradients = -centred @ precisions
        logits = (centred * gradients).sum(axis=2).T / 2 + offsets
        gradients = gradients.swapaxes(0, 1)

        def bend(G):
            total = -np.tensordot(G.sum(axis=0), precisions, 1)
            return np.diag(total) if diagonal else total

        return Expansion(logits, lambda V: V @ gradients, bend)

    n_classes, n_features = means.shape
    return LogitModel(expand, floats_per_sample=3 * n_classes * n_features)


# Value, and first and second derivative, of an activation. The derivatives are written
# such that they keep their relative precision where the unit is saturated.


def _relu(a):
    return np.maximum(a, 0), (a > 0).astype(a.dtype), None


def _identity(a):
    return a, np.ones_like(a), None


def _logistic(a):
    value, rest = expit(a), expit(-a)
    slope = value * rest
    return value, slope, slope * (rest - value)


def _tanh(a):
    value = np.tanh(a)
    slope = 4 * expit(2 * a) * expit(-2 * a)
    return value, slope, -2 * value * slope


ACTIVATIONS = {
    "identity": _identity,
    "logistic": _logistic,
    "relu": _relu,
    "tanh": _tanh,
}


def network_model(coefs, intercepts, activation):
    """Logits of a network of fully connected layers, one activation between them."""
    if len(coefs) == 1:
        return linear_model(coefs[0].T, intercepts[0])
    n_features, width = coefs[0].shape
    narrow = width < n_features
    # Second derivatives pass through the first layer as one matrix for all samples, so
    # it is better left out of what is done for each, if it is the narrower side.
    first = np.eye(width) if narrow else coefs[0]
    function = ACTIVATIONS[activation]
    deeper = list(zip(coefs[1:], intercepts[1:], strict=True))

    def expand(inputs):
        layer = inputs if narrow else inputs @ coefs[0] + intercepts[0]
        slopes, bends = [], []
        for coef, intercept in deeper:
            value, slope, bend = function(layer)
            slopes.append(slope)
            bends.append(bend)
            layer = value @ coef + intercept

        def pull_back(V):
            for (coef, _), slope in zip(deeper[::-1], slopes[::-1], strict=True):
                V = _times(V, coef.T) * slope[:, None]
            return V if narrow else _times(V, first.T)

        return Expansion(
            layer,
            pull_back,
            lambda G: _bend_network(G, first, coefs[1:], slopes, bends),
        )

    widest = max(coef.shape[1] for coef in coefs)
    floats = widest * (min(width, n_features) + coefs[-1].shape[1])
    if narrow:
        return LogitModel(expand, coefs[0].T, intercepts[0], floats)
    return LogitModel(expand, floats_per_sample=floats)


def _times(stack, matrix):
    """Product of stacks (a, b, m) and a matrix (m, n), as one product of matrices."""
    product = stack.reshape(-1, stack.shape[2]) @ matrix
    return product.reshape(*stack.shape[:2], -1)


def _bend_network(G, first, coefs, slopes, bends):
    r"""Weighted second derivatives of the logits of a network.

    With the preactivations a of layer l, their activation :math:`\phi`, and the
    gradient :math:`\delta` of the weighted logits with respect to its output, it is
    :math:`\sum_l J_l^\top \operatorname{diag}(\delta_l \phi''(a_l)) J_l`, where
    :math:`J_l` has the derivatives of a with respect to the inputs.
    """
    total = np.zeros((len(first), len(first)))
    if bends[0] is None:
        return total
    weights = []
    for coef, slope, bend in zip(coefs[::-1], slopes[::-1], bends[::-1], strict=True):
        delta = G @ coef.T
        weights.insert(0, delta * bend)
        G = delta * slope
    # The derivatives of the first layer are the same for all samples.
    total += (first * weights[0].sum(axis=0)) @ first.T
    jacobian = first[:, None, :]  # (n_inputs, n_samples, width of the layer)
    for coef, slope, weight in zip(coefs, slopes, weights[1:], strict=False):
        jacobian = _times(jacobian * slope, coef)
        flat = jacobian.reshape(len(first), -1)
        total += (flat * weight.ravel()) @ flat.T
    return total
