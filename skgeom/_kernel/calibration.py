r"""Probabilities to be believed, by samples that the model has not seen.

The functions follow the training samples closely. So the classes are further apart in
training than for new samples, and new samples of small classes are nearest to the
others. With the class means :math:`\mu_k` of the components z, their centre c, the
priors :math:`\pi_k` and the numbers :math:`n_k` of training samples, the classifier is

.. math:: \log p(k \mid z) = \frac{z^\top m_k - \|m_k\|^2 / 2}{T} + \log \pi_k + b_k
   + \text{const}, \quad m_k = c + a (\mu_k - c), \quad b_k = \gamma \log n_k .

This is LDA with the within-class covariance T times the identity, shrunken means, and
offsets. The shrinkage a, the temperature T and :math:`\gamma` come from components of
samples that are left out. All that they need of these are the products :math:`(z -
c)^\top (\mu_k - c)` and the squares :math:`\|\mu_k - c\|^2`, which do not depend on the
basis of the components.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax

_EPS = np.finfo(np.float64).eps
# Class means are not shrunk below this, so that the discriminants keep their say.
_LEAST_SHRINKAGE = 0.01
# The inverse temperature is at least this, for scores of size one.
_LEAST_INVERSE = 1e-5
# Precision of the priors of the inverse temperature, and of gamma (a deviation of two).
_PRECISIONS = np.array([1e-6, 0.25])
# Left-out samples that are expected to be wrong, at least.
_LEAST_ERRORS = 0.5
# The temperature that they need is looked for in steps of this, in the logarithm.
_STRIDE = 0.1
_STEPS = 100


def left_out_components(components, codes, leverages, found, criterion):
    """Components of training samples, each as if it had been left out of training.

    The components are the predictions of kernel ridge regression, with the hat matrix
    H, onto targets t: z = H t. These are class means times 1 + 1 / rho for "between",
    and class means plus z / rho for "total" (u in ``solvers.py``). With fixed targets,
    leaving out a sample of the leverage h = H_ii changes t - z to (t - z) / (1 - h).

    Parameters
    ----------
    components : ndarray of shape (n_samples, n_components)
        The components z of some training samples.
    codes, leverages : ndarray of shape (n_samples,)
        Their classes, and how much their own targets count in z.
    found : Discriminants
        The discriminant functions.
    criterion : {"total", "between"}
        The numerator of the ratio.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
    """
    members, centered = found.means[codes] - found.center, components - found.center
    own = members if criterion == "between" else centered
    targets = members + own / found.eigenvalues
    rest = np.maximum(1 - leverages, _EPS)
    return components - (targets - centered) * (leverages / rest)[:, None]


def products_and_squares(components, means, center):
    """Products of centred components and class means, and squares of the latter."""
    means = means - center
    squares = np.square(means).sum(axis=1)
    products = (components - center) @ means.T
    return products, np.broadcast_to(squares, products.shape)


def calibrate(products, squares, codes, weights, copies, priors, sizes):
    """Shrinkage a, temperature T and offsets b, by samples that are left out.

    Parameters
    ----------
    products, squares : ndarray of shape (n_samples, n_classes)
        As :func:`products_and_squares` gives them.
    codes, weights, copies : ndarray of shape (n_samples,)
        Class numbers, positive weights, and the number of samples that each one stands
        for.
    priors, sizes : ndarray of shape (n_classes,)
        The class probabilities, and the numbers of training samples up to a factor.

    Returns
    -------
    shrinkage, temperature : float
    offsets : ndarray of shape (n_classes,)
    """
    # Nothing is left of a class whose only sample is left out.
    kept = np.bincount(codes, copies, minlength=len(priors))[codes] > 1
    if not kept.any() or not squares.any():
        return 1.0, 1.0, np.zeros_like(priors)
    products, squares, codes, weights, copies = (
        array[kept] for array in (products, squares, codes, weights, copies)
    )
    sums = np.bincount(codes, weights, minlength=len(priors))
    weights = weights * (priors / np.where(sums, sums, 1))[codes]
    weights = weights / weights.sum()
    own = np.arange(len(codes)), codes
    trained = weights @ squares[own]
    ratio = weights @ products[own] / trained if trained else 1.0
    shrinkage = float(np.clip(ratio, _LEAST_SHRINKAGE, 1))
    scores = shrinkage * products - shrinkage**2 * squares / 2
    scale = weights @ np.abs(scores - scores.mean(axis=1, keepdims=True)).mean(axis=1)
    if not scale:
        return shrinkage, 1.0, np.zeros_like(priors)
    log_sizes = np.log(sizes) - np.log(sizes).mean()
    features = np.stack([scores / scale, np.broadcast_to(log_sizes, scores.shape)])
    inverse, gamma = _logistic_regression(
        features, codes, weights, np.log(priors), copies.sum()
    )
    others = gamma * log_sizes + np.log(priors)
    inverse = _with_some_errors(features[0], others, copies, inverse)
    return shrinkage, float(scale / inverse), gamma * log_sizes


def _logistic_regression(features, codes, weights, log_priors, n_samples):
    """Two coefficients of features, (2, n_samples, n_classes), by Newton's method.

    They minimise the log-loss and a small penalty, that of normal priors, which keeps
    them finite where the classes are separated perfectly.
    """
    own = features[:, np.arange(len(codes)), codes]
    precisions = _PRECISIONS / n_samples
    coefficients = np.zeros(2)

    def loss(coefficients):
        logits = np.tensordot(coefficients, features, 1) + log_priors
        fits = log_softmax(logits, axis=1)[np.arange(len(codes)), codes]
        return precisions @ coefficients**2 / 2 - weights @ fits, logits

    value, logits = loss(coefficients)
    for _ in range(_STEPS):
        p = softmax(logits, axis=1)
        means = (p * features).sum(axis=2)
        gradient = (means - own) @ weights + precisions * coefficients
        deviations = features - means[:, :, None]
        weighted = deviations * (p * weights[:, None])
        hessian = np.einsum("inc,jnc->ij", weighted, deviations)
        step = np.linalg.solve(hessian + np.diag(precisions), gradient)
        expected = gradient @ step
        size = 1.0
        while True:
            new, new_logits = loss(coefficients - size * step)
            if new <= value - 1e-4 * size * expected or size < 1e-6:
                break
            size /= 2
        if not new < value:
            break
        coefficients, value, logits = coefficients - size * step, new, new_logits
        if expected < 1e-20:
            break
    return coefficients


def _with_some_errors(scores, others, copies, inverse):
    """The inverse temperature, lower if hardly a left-out sample is expected wrong.

    No error in n samples does not mean that there will be none: half an error is
    expected at least.
    """

    def missing(log_inverse):
        sure = softmax(np.exp(log_inverse) * scores + others, axis=1).max(axis=1)
        return copies @ (1 - sure) - _LEAST_ERRORS

    inverse, low = max(inverse, _LEAST_INVERSE), np.log(_LEAST_INVERSE)
    upper = np.log(inverse)
    if missing(upper) >= 0:
        return inverse
    # Far below, the priors outvote the scores of rare classes, and few errors are
    # expected once more. The nearest solution is wanted, before that.
    while upper > low:
        lower = max(upper - _STRIDE, low)
        if missing(lower) > 0:
            return np.exp(brentq(missing, lower, upper))
        upper = lower
    return inverse
