r"""Probabilities to be believed, by samples that the model has not seen.

The functions follow the training samples closely, so that the classes are further apart
in training than for new samples, and those of few samples the most. With the class
means :math:`\mu_k` of the components z, and their centre c, the classifier is therefore

.. math:: \log p(k \mid z) = \frac{z^\top m_k - \|m_k\|^2 / 2}{T} + \log \pi_k
   + \text{const}, \qquad m_k = c + a_k (\mu_k - c),

LDA with the within-class covariance T times the identity. The shrinkage :math:`a_k` and
the temperature T come from components of samples that are left out. All that they need
of these are the products :math:`(z - c)^\top (\mu_k - c)` and the squares
:math:`\|\mu_k - c\|^2`, which do not depend on the basis of the components.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

_EPS = np.finfo(np.float64).eps
# Class means are not shrunk below this, so that the order of the classes is left.
_LEAST_SHRINKAGE = 0.01
# The logarithm of the inverse temperature, for scores of size one.
_LOG_RANGE = -12.0, 12.0


def left_out_components(components, codes, leverages, found, class_weights, criterion):
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
    class_weights : ndarray of shape (n_classes,)
        Weights of the classes in training.
    criterion : {"total", "between"}
        The numerator of the ratio.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
    """
    center = class_weights @ found.means
    members, centered = found.means[codes] - center, components - center
    own = members if criterion == "between" else centered
    targets = members + own / found.eigenvalues
    rest = np.maximum(1 - leverages, _EPS)
    return components - (targets - centered) * (leverages / rest)[:, None]


def products_and_squares(components, means, class_weights):
    """Products of centred components and class means, and squares of the latter."""
    center = class_weights @ means
    means = means - center
    squares = np.square(means).sum(axis=1)
    products = (components - center) @ means.T
    return products, np.broadcast_to(squares, products.shape)


def calibrate(products, squares, codes, weights, copies, priors):
    """Shrinkage of the class means, and the temperature, by samples left out.

    Parameters
    ----------
    products, squares : ndarray of shape (n_samples, n_classes)
        As :func:`products_and_squares` gives them.
    codes, weights, copies : ndarray of shape (n_samples,)
        Class numbers, positive weights, and the number of samples that each one stands
        for.
    priors : ndarray of shape (n_classes,)
        The class probabilities.

    Returns
    -------
    shrinkage : ndarray of shape (n_classes,)
    temperature : float
    """
    counts = np.bincount(codes, copies, minlength=len(priors))
    # Nothing is left of a class whose only sample is left out.
    kept = counts[codes] > 1
    if not kept.any() or not squares.any():
        return np.ones_like(priors), 1.0
    products, squares, codes, weights, copies = (
        array[kept] for array in (products, squares, codes, weights, copies)
    )
    sums = np.bincount(codes, weights, minlength=len(priors))
    weights = weights * (priors / np.where(sums, sums, 1))[codes]
    shrinkage = _shrinkage(products, squares, codes, weights, counts)
    scores = shrinkage * products - shrinkage**2 * squares / 2
    return shrinkage, _temperature(
        scores, codes, weights / weights.sum(), priors, copies.sum()
    )


def _shrinkage(products, squares, codes, weights, counts):
    """How far the means of left-out samples are from the centre, to those in training.

    A class of n samples counts n - 1 times, and the mean of all classes once.
    """
    rows = np.arange(len(codes))
    left_out, trained = (
        np.bincount(codes, weights * array[rows, codes], minlength=len(counts))
        for array in (products, squares)
    )
    trust = np.maximum(counts - 1, 0) / np.maximum(counts, 1)
    pooled = (trust @ left_out) / (trust @ trained)
    own = np.full(len(counts), pooled)
    np.divide(left_out, trained, out=own, where=trained > 0)
    return np.clip(trust * own + (1 - trust) * pooled, _LEAST_SHRINKAGE, 1)


def _temperature(scores, codes, weights, priors, n_samples):
    """The temperature of the least log-loss, with one sample more of unknown class.

    That sample keeps it finite where the classes are separated perfectly. The loss is
    convex in the inverse temperature.
    """
    size = np.abs(scores - scores.mean(axis=1, keepdims=True)).mean()
    if not size:
        return 1.0
    targets = np.eye(len(priors))[codes] + priors / n_samples
    expected = weights @ (targets * scores).sum(axis=1)

    def slope(log_inverse):
        logits = scores * (np.exp(log_inverse) / size) + np.log(priors)
        means = (softmax(logits, axis=1) * scores).sum(axis=1)
        return (1 + 1 / n_samples) * (weights @ means) - expected

    low, high = _LOG_RANGE
    if slope(low) >= 0:
        best = low
    elif slope(high) <= 0:
        best = high
    else:
        best = brentq(slope, low, high)
    return float(size / np.exp(best))
