r"""Closed-form leave-one-out errors, for the selection of parameters and calibration.

The discriminant functions are linear combinations of the predictors of class indicators
by kernel ridge regression with the same penalty (optimal scoring; Hastie, Buja and
Tibshirani, "Penalized discriminant analysis", Annals of Statistics 23(1), 1995). Ridge
regression with the hat matrix H has the residuals :math:`r = (I - H) t` for targets t.
If a group g of samples is held out, its residuals are

.. math:: (I - H_{gg})^{-1} r_g

(Allen's PRESS for groups of one sample). A group consists of all copies of one distinct
sample, or of the samples of one group that the user defines. Residuals in this module
are multiplied by the square roots of the sample weights.
"""

import numpy as np
from scipy.special import log_softmax

from skgeom._held_out import fit_temperature, within_standard_error

_EPS = np.finfo(np.float64).eps
# Relative tolerance of leave-one-out errors. With a smaller tolerance, the selected
# penalties are ten thousand times smaller and the accuracy is the same (images of
# MNIST, `bench_kernel_discriminant.py auto`).
_PRECISION = 0.01
# Largest decrease of the training accuracy by shrunk class means. Without a limit, the
# accuracy on rows of four bits is 63.7 % instead of 79.5 %. With a limit of zero, the
# accuracy is also 79.5 % (`bench_constants.py`).
_LOST_ACCURACY = 0.02


def spread_over_classes(codes, n_samples):
    """Indices of about ``n_samples`` samples, equally spaced in each sorted class.

    The number of samples of a class is proportional to its size, but at least half of
    ``n_samples / n_classes`` and at least two, if the class has as many samples.
    """
    counts = np.bincount(codes)
    shares = np.ceil(counts * min(n_samples / len(codes), 1))
    sizes = np.maximum(shares, max(n_samples // (2 * len(counts)), 2))
    parts = []
    for code, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        positions = np.linspace(0, count, int(min(size, count)), endpoint=False)
        parts.append(np.flatnonzero(codes == code)[positions.astype(int)])
    return np.sort(np.concatenate(parts))


def whole_groups(rows, codes, groups):
    """Indices of all samples of some groups, in total about as many as ``rows``.

    The result contains samples of each class that occurs in ``rows``. If each group
    consists of one sample, the result is ``rows``.
    """
    # The rank of each row within its class.
    ranks = np.concatenate([np.arange(n) for n in np.bincount(codes[rows])])
    sorted_rows = rows[np.argsort(codes[rows], kind="stable")]
    chosen = np.zeros(len(codes), dtype=bool)
    classes = np.unique(codes[rows])
    for row in sorted_rows[np.argsort(ranks, kind="stable")]:
        if chosen.sum() >= len(rows) and len(np.unique(codes[chosen])) == len(classes):
            break
        chosen |= groups == groups[row]
    return np.flatnonzero(chosen)


def classes_remain(codes, groups, weights, class_weights):
    """Whether other samples of a class remain if the group of a sample is held out.

    Parameters
    ----------
    codes, groups, weights : ndarray of shape (n_samples,)
        Encoded labels, groups and training weights of all samples of the groups.
    class_weights : ndarray of shape (n_classes,)
        The sums of the training weights of all samples of each class.

    Returns
    -------
    ndarray of bool, of shape (n_samples,)
    """
    _, pairs = np.unique(groups * len(class_weights) + codes, return_inverse=True)
    return np.bincount(pairs, weights)[pairs] < (1 - 1e-9) * class_weights[codes]


def complement_of(vectors, squares, shrinkage, root_weights):
    """Diagonal of I - H, and a function that returns the block of some rows.

    H is the hat matrix of ridge regression with an intercept:
    ``vectors @ diag(shrinkage) @ vectors.T`` plus the outer product of the square roots
    of the weights for the intercept. ``squares`` contains the squares of ``vectors``.
    """

    def block(group):
        rows, roots = vectors[group], root_weights[group]
        return np.eye(len(group)) - rows * shrinkage @ rows.T - np.outer(roots, roots)

    return 1 - squares @ shrinkage - root_weights**2, block


def held_out_residuals(residuals, complement, groups):
    """Leave-one-group-out residuals of the training samples.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples, n_targets)
        Training residuals, times the square roots of the weights.
    complement : tuple of ndarray of shape (n_samples,), and callable
        The diagonal of I - H, and a function that returns the block of some rows.
    groups : ndarray of shape (n_samples,)
        Encoded groups. All samples of each group must be included.

    Returns
    -------
    ndarray of shape (n_samples, n_targets)
    """
    diagonal, block = complement
    held_out = residuals / np.maximum(diagonal, _EPS)[:, None]
    sizes = np.bincount(groups)
    for group in np.flatnonzero(sizes > 1):
        rows = np.flatnonzero(groups == group)
        eigenvalues, vectors = np.linalg.eigh(block(rows))
        scaled = vectors.T @ residuals[rows] / np.maximum(eigenvalues, _EPS)[:, None]
        held_out[rows] = vectors @ scaled
    return held_out


def largest_penalty(errors):
    """Index of the largest penalty with nearly the smallest error.

    The error of this penalty exceeds the smallest error by at most 1 %, or by at most
    one standard error of the paired differences between the groups.

    Parameters
    ----------
    errors : ndarray of shape (n_penalties, n_groups)
        Leave-one-out errors for ascending penalties, summed over each group.

    Returns
    -------
    int
    """
    totals = errors.sum(axis=1)
    best = totals.argmin()
    standard_errors = np.sqrt(errors.shape[1]) * (errors - errors[best]).std(axis=1)
    allowed = np.maximum(standard_errors, _PRECISION * totals[best])
    return int(np.flatnonzero(totals - totals[best] <= allowed)[-1])


def best_kernel(candidates, groups, weights):
    """The first candidate whose log-loss is within one standard error of the smallest.

    Parameters
    ----------
    candidates : sequence of ndarray of shape (n_samples,)
        For each candidate, the log posteriors of the classes of the held-out samples.
    groups, weights : ndarray of shape (n_samples,)
        Encoded groups of the samples, and weights that sum to one.

    Returns
    -------
    int
    """
    totals = np.bincount(groups, weights)
    means = [np.bincount(groups, weights * each) / totals for each in candidates]
    return within_standard_error(means, totals)


def predicted_indicators(residuals, codes, weights):
    """Predictions of the class indicators of held-out samples.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples, n_classes)
        Leave-one-group-out residuals, times the square roots of the weights.
    codes, weights : ndarray of shape (n_samples,)
        Encoded labels and weights.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
    """
    predicted = -residuals / np.sqrt(weights)[:, None]
    predicted[np.arange(len(codes)), codes] += 1
    return predicted


def log_posteriors(predicted, codes, weights):
    """Log posteriors of the classes of held-out samples, by predicted class indicators.

    The probabilities are the softmax of the predictions divided by the temperature that
    minimizes the log-loss.

    Parameters
    ----------
    predicted : ndarray of shape (n_samples, n_classes)
        From :func:`predicted_indicators`.
    codes, weights : ndarray of shape (n_samples,)
        Encoded labels and weights.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    temperature = fit_temperature(predicted, codes, weights)
    return log_softmax(predicted / temperature, axis=1)[np.arange(len(codes)), codes]


def held_out_components(components, samples, complement, found, criterion):
    """Leave-one-group-out components of the training samples.

    The components z = H t are the predictions of kernel ridge regression onto targets
    t. The targets are the class means times 1 + 1 / rho for "between", and the class
    means plus z / rho for "total" (u in ``_eigenproblems.py``). The targets do not
    change when samples are held out.

    Parameters
    ----------
    components : ndarray of shape (n_held_out, n_components)
        The components of the held-out samples.
    samples : tuple of ndarray of shape (n_held_out,)
        Encoded labels, groups and training weights of the held-out samples.
    complement
        As for :func:`held_out_residuals`.
    found : Discriminants
        The discriminant functions.
    criterion : {"total", "between"}
        The numerator of the ratio.

    Returns
    -------
    ndarray of shape (n_held_out, n_components)
    """
    codes, groups, weights = samples
    members = found.means[codes]
    own = members if criterion == "between" else components
    targets = members + own / found.eigenvalues
    roots = np.sqrt(weights)[:, None]
    residuals = roots * (targets - components)
    held_out = held_out_residuals(residuals, complement, groups)
    return components + (residuals - held_out) / roots


def calibrate(components, held_out, codes, weights, means, priors):
    r"""Estimate the decision means and the temperature on held-out samples.

    The discriminant functions overfit the training samples: the classes are further
    apart in the training samples than in new samples, especially small classes. The
    decision means :math:`m_k` are the class means of the training samples, shrunk
    towards zero. The shrinkage of a class is the mean change of its components when
    samples are held out, in the direction of the class mean. With many samples, the
    components hardly change, and the means are hardly shrunk.

    The means are not shrunk if shrinkage reduces the training accuracy by more than 2
    percentage points. This occurs if X has few distinct rows: a held-out row then
    differs more from the other rows than a new sample would, and the priors would
    outweigh the shrunk means.

    The temperature T minimizes the weighted log-loss of the held-out samples with

    .. math:: \log p(k \mid z) = \big( z^\top m_k - \|m_k\|^2 / 2 + \log \pi_k \big) / T
       + \text{const} .

    T divides the whole score, so it does not change the predicted classes.

    Parameters
    ----------
    components, held_out : ndarray of shape (n_samples, n_components)
        The components of some samples, as training samples and as held-out samples.
    codes, weights : ndarray of shape (n_samples,)
        Encoded labels and weights.
    means : ndarray of shape (n_classes, n_components)
        The class means of the training samples.
    priors : ndarray of shape (n_classes,)
        The prior probabilities of the classes.

    Returns
    -------
    decision_means : ndarray of shape (n_classes, n_components)
    temperature : float
    """
    sums = np.bincount(codes, weights, minlength=len(priors))
    members = np.eye(len(priors))[codes] * weights[:, None]
    sums = np.where(sums, sums, 1)
    changes = members.T @ (held_out - components) / sums[:, None]
    squares = np.square(means).sum(axis=1)
    factors = 1 + (changes * means).sum(axis=1) / np.where(squares, squares, 1)
    shrunk = np.clip(factors, 0, 1)[:, None] * means
    weights = weights * (priors / sums)[codes]
    errors_of_shrunk, errors = (
        weights @ (_scores(components, m, priors).argmax(axis=1) != codes)
        for m in (shrunk, means)
    )
    if errors_of_shrunk - errors <= _LOST_ACCURACY * weights.sum():
        means = shrunk
    return means, fit_temperature(_scores(held_out, means, priors), codes, weights)


def _scores(components, means, priors):
    """Logarithms of the class posteriors at temperature 1, up to a common term."""
    return components @ means.T + np.log(priors) - np.square(means).sum(axis=1) / 2
