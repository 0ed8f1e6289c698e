r"""Closed-form leave-one-out errors: selection of parameters, and calibration.

Up to scale, the discriminant functions are the best predictors of class indicators
by kernel ridge regression with the same penalty (optimal scoring; Hastie, Buja and
Tibshirani, "Penalized discriminant analysis", Annals of Statistics 23(1), 1995). Ridge
regression with the hat matrix H has the residuals :math:`r = (I - H) t` for targets t.
If a group g of samples is held out, its residuals are

.. math:: (I - H_{gg})^{-1} r_g

(Allen's PRESS for groups of one sample). A group is held out with its whole weight: one
distinct sample, with all its copies, or the samples of one group of the user. All
residuals here are multiplied by the roots of the weights of the samples.
"""

import numpy as np

from skgeom._held_out import fit_temperature

_EPS = np.finfo(np.float64).eps
# Relative precision of leave-one-out errors. More precise comparisons select penalties
# that are ten thousand times smaller at the same accuracy (images of MNIST,
# `bench_kernel_discriminant.py auto`).
_PRECISION = 0.01
# Shrunk class means may reduce the training accuracy by this much. Without a limit, the
# accuracy on rows of four bits is 63.7 % instead of 79.5 %; a limit of zero leads to
# the same accuracy (`bench_constants.py`).
_LOST_ACCURACY = 0.02


def spread_over_classes(codes, n_samples):
    """Numbers of about ``n_samples`` samples, at equal distances in each sorted class.

    A class has its share of the samples, but at least half of an equal share, and two
    samples, if it has two.
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
    """Numbers of all samples of some groups, in total about as many as ``rows``.

    There are samples of each class that the rows have. Of groups of one sample each,
    the result is the rows themselves.
    """
    # The order of each row within its class.
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
    """Whether training samples of its class remain if a sample's group is held out.

    Parameters
    ----------
    codes, groups, weights : ndarray of shape (n_samples,)
        Class numbers, group numbers and training weights, of all samples of the groups.
    class_weights : ndarray of shape (n_classes,)
        The sums of the training weights of all samples of each class.

    Returns
    -------
    ndarray of bool, of shape (n_samples,)
    """
    _, pairs = np.unique(groups * len(class_weights) + codes, return_inverse=True)
    return np.bincount(pairs, weights)[pairs] < (1 - 1e-9) * class_weights[codes]


def complement_of(rows, root_weights):
    """Diagonal of I - H, and a function that returns the block of some rows.

    H is the hat matrix of ridge regression, the product of ``rows`` with their
    transpose, and of an intercept, a constant function, which adds the product of the
    roots of the weights.
    """
    rows = np.column_stack([rows, root_weights])

    def block(group):
        return np.eye(len(group)) - rows[group] @ rows[group].T

    return 1 - np.einsum("ij,ij->i", rows, rows), block


def held_out_residuals(residuals, complement, groups):
    """Leave-one-group-out residuals of the training samples.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples, n_targets)
        Training residuals, times the square roots of the weights.
    complement : tuple of ndarray of shape (n_samples,), and callable
        The diagonal of I - H, and a function that returns the block of some rows.
    groups : ndarray of shape (n_samples,)
        Group numbers. All samples of a group are given.

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


def fewest_parameters(errors, n_parameters):
    """Candidate with the fewest effective parameters and nearly the smallest error.

    The error of the candidate exceeds the smallest error by at most 1 %, or by at most
    one standard error of the difference, paired by groups.

    Parameters
    ----------
    errors : ndarray of shape (n_candidates, n_groups)
        Leave-one-out errors, summed over the samples of each group.
    n_parameters : ndarray of shape (n_candidates,)
        The traces of the hat matrices.

    Returns
    -------
    int
    """
    totals = errors.sum(axis=1)
    best = totals.argmin()
    standard_errors = np.sqrt(errors.shape[1]) * (errors - errors[best]).std(axis=1)
    allowed = np.maximum(standard_errors, _PRECISION * totals[best])
    eligible = np.flatnonzero(totals - totals[best] <= allowed)
    return int(eligible[n_parameters[eligible].argmin()])


def held_out_components(components, samples, complement, found, criterion):
    """Leave-one-group-out components of the training samples.

    The components z are the predictions of kernel ridge regression onto targets t,
    z = H t: class means times 1 + 1 / rho for "between", and class means plus z / rho
    for "total" (u in ``_eigenproblems.py``). The targets are kept fixed.

    Parameters
    ----------
    components : ndarray of shape (n_held_out, n_components)
        The components of the held-out samples.
    samples : tuple of ndarray of shape (n_held_out,)
        Their class numbers, groups and weights in training.
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
    r"""Class means and temperature by held-out samples.

    The discriminant functions follow the training samples, so that the classes are
    further apart in training than for new samples, and small classes the most. The
    decision means :math:`m_k` are the class means of training, shrunk towards zero by
    the mean change of the components of the class, in the direction of its mean: if
    nothing changes, as for many samples, the class means of training remain. They are
    not shrunk if this reduces the accuracy on the training samples by more than 2 %: if
    X has few distinct rows, a row that is held out differs from the others more than a
    new sample does, and the priors would outweigh the shrunk means.
    The temperature T minimizes the weighted log-loss of held-out samples,

    .. math:: \log p(k \mid z) = \big( z^\top m_k - \|m_k\|^2 / 2 + \log \pi_k \big) / T
       + \text{const} .

    It divides the whole score, so that it does not change decisions.

    Parameters
    ----------
    components, held_out : ndarray of shape (n_samples, n_components)
        The components of some samples in training, and held out.
    codes, weights : ndarray of shape (n_samples,)
        Class numbers and weights.
    means : ndarray of shape (n_classes, n_components)
        The class means of training.
    priors : ndarray of shape (n_classes,)
        The class probabilities.

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
