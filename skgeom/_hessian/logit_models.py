"""Classifiers as logits with analytic first and second derivatives.

A model is an affine map of the samples, followed by a function whose result is an
`Expansion`: the logits, and two functions for their derivatives, one for products with
the Jacobian and one for weighted sums of second derivatives. A term that is common to
all logits cancels in the probabilities, so log-probabilities serve as logits, too.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

# Floats of a block of samples: few enough for the cache, enough for fast products.
_BLOCK = 2**20


class Expansion(NamedTuple):
    """Logits of samples, and functions for their first and second derivatives.

    Attributes
    ----------
    logits : ndarray of shape (n_samples, n_logits)
        One column for each class, or for two classes the logit of the second.
    pull_back : callable
        From V, (n_samples, n_rows, n_logits), the products V J with each sample's
        Jacobian of the logits, (n_samples, n_rows, n_inputs).
    weighted_hessian : callable
        From weights G, (n_samples, n_logits), the sum of G_ik times the Hessian of the
        logit k at the sample i, over all i and k, (n_inputs, n_inputs). V and G are of
        numpy; the results may be of another library.
    """

    logits: np.ndarray
    pull_back: Callable
    weighted_hessian: Callable


@dataclass
class LogitModel:
    """Logits as a function of an affine map of the samples.

    Attributes
    ----------
    expand : callable
        From inputs, (n_samples, n_inputs), the `Expansion`.
    inputs : callable
        The affine map, from samples to inputs.
    matrix : ndarray of shape (n_inputs, n_features) or None
        Its Jacobian; None stands for the identity.
    floats_per_sample : int
        Memory that an expansion takes.
    rows : callable or None
        From the inputs of a sample, the number of samples of a block. None is as many
        as the cache takes.
    """

    expand: Callable
    inputs: Callable = np.copy  # a function of the user may change its argument
    matrix: np.ndarray | None = None
    floats_per_sample: int = 1
    rows: Callable | None = None

    def after(self, transform, matrix):
        """The model of samples before an affine map, given with its Jacobian."""
        if self.matrix is not None:
            matrix = self.matrix @ matrix
        return replace(self, inputs=lambda X: self.inputs(transform(X)), matrix=matrix)

    def block_rows(self, X):
        """The number of samples of a block."""
        if self.rows is not None:
            return self.rows(self.inputs(X[:1, ...]))
        return max(_BLOCK // self.floats_per_sample, 1)

    def to_samples(self, hessian):
        """Hessian with respect to the samples, from that of the inputs."""
        if self.matrix is None:
            return hessian
        return self.matrix.T @ hessian @ self.matrix

    def gram(self):
        """Inner products of the rows of the matrix; they give traces of Hessians."""
        return None if self.matrix is None else self.matrix @ self.matrix.T


def linear_model(coef, intercept):
    """Logits ``X @ coef.T + intercept``."""

    def expand(inputs):
        n_logits = inputs.shape[1]
        return Expansion(inputs, lambda V: V, lambda G: np.zeros((n_logits, n_logits)))

    return LogitModel(expand, lambda X: X @ coef.T + intercept, coef, len(coef) ** 2)


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

        def weighted_hessian(G):
            total = -np.tensordot(G.sum(axis=0), precisions, 1)
            return np.diag(total) if diagonal else total

        return Expansion(logits, lambda V: V @ gradients, weighted_hessian)

    n_classes, n_features = means.shape
    return LogitModel(expand, floats_per_sample=3 * n_classes * n_features)


# Value, and first and second derivative, of an activation; None where the second is
# zero. Derivatives are products of expit(a) and expit(-a), which keep their digits
# where the unit is saturated. The usual 1 - tanh(a)^2 would cancel.


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
    # The first layer is one matrix for all samples. If it reduces the dimension, it
    # becomes the affine map of the model: derivatives are taken with respect to its
    # output, in fewer dimensions, and go through the matrix once, after the summation.
    first = np.eye(width) if narrow else coefs[0]
    function = ACTIVATIONS[activation]
    deeper = list(zip(coefs[1:], intercepts[1:], strict=True))

    def expand(inputs):
        layer = inputs if narrow else inputs @ coefs[0] + intercepts[0]
        slopes, curvatures = [], []
        for coef, intercept in deeper:
            value, slope, curvature = function(layer)
            slopes.append(slope)
            curvatures.append(curvature)
            layer = value @ coef + intercept

        def pull_back(V):
            for (coef, _), slope in zip(deeper[::-1], slopes[::-1], strict=True):
                V = _times(V, coef.T) * slope[:, None]
            return V if narrow else _times(V, first.T)

        return Expansion(
            layer,
            pull_back,
            lambda G: _network_hessian(G, first, coefs[1:], slopes, curvatures),
        )

    widest = max(coef.shape[1] for coef in coefs)
    floats = widest * (min(width, n_features) + coefs[-1].shape[1])
    if narrow:
        return LogitModel(
            expand, lambda X: X @ coefs[0] + intercepts[0], coefs[0].T, floats
        )
    return LogitModel(expand, floats_per_sample=floats)


def _times(stack, matrix):
    """Product of stacks (a, b, m) and a matrix (m, n), as one product of matrices."""
    product = stack.reshape(-1, stack.shape[2]) @ matrix
    return product.reshape(*stack.shape[:2], -1)


def _network_hessian(G, first, coefs, slopes, curvatures):
    r"""Weighted sum of the Hessians of the logits of a network.

    Only the activations :math:`\phi` have second derivatives. Let :math:`a_l` be the
    preactivations of layer l, :math:`J_l` their Jacobian with respect to the inputs,
    and :math:`\delta_l` the gradient of the weighted logits with respect to the output
    of the layer. By the chain rule, the Hessian for a sample is
    :math:`\sum_l J_l^\top \operatorname{diag}(\delta_l \phi''(a_l)) J_l`. The
    :math:`\delta_l` come from a pass backwards, and the :math:`J_l` from one forwards.
    """
    total = np.zeros((len(first), len(first)))
    if curvatures[0] is None:  # piecewise linear
        return total
    weights = []
    layers = zip(coefs[::-1], slopes[::-1], curvatures[::-1], strict=True)
    for coef, slope, curvature in layers:
        delta = G @ coef.T
        weights.insert(0, delta * curvature)
        G = delta * slope
    # The Jacobian of the first layer is the same for all samples: their weights add up.
    total += (first * weights[0].sum(axis=0)) @ first.T
    jacobian = first[:, None, :]  # (n_inputs, n_samples, width of the layer)
    for coef, slope, weight in zip(coefs, slopes, weights[1:], strict=False):
        jacobian = _times(jacobian * slope, coef)
        flat = jacobian.reshape(len(first), -1)
        total += (flat * weight.ravel()) @ flat.T
    return total
