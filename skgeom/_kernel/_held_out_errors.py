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

_EPS = np.finfo(np.float64).eps


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
    sorted_rows = rows[np.argsort(codes[rows], kind="stable")]
    # The rank of each row within its class.
    own = codes[sorted_rows]
    ranks = np.arange(len(own)) - np.searchsorted(own, own)
    chosen = np.zeros(len(codes), dtype=bool)
    classes = np.unique(codes[rows])
    for row in sorted_rows[np.argsort(ranks, kind="stable")]:
        if chosen.sum() >= len(rows) and len(np.unique(codes[chosen])) == len(classes):
            break
        chosen |= groups == groups[row]
    return np.flatnonzero(chosen)


def remaining_shares(codes, groups, weights, class_weights):
    """The part of each class that remains if the group of a sample is held out.

    Parameters
    ----------
    codes, groups, weights : ndarray of shape (n_samples,)
        Encoded labels, groups and training weights of all samples of the groups.
    class_weights : ndarray of shape (n_classes,)
        The sums of the training weights of all samples of each class.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The parts; zero if no sample of the class remains.
    """
    groups = np.unique(groups, return_inverse=True)[1]
    remaining = np.ones((groups.max() + 1, len(class_weights)))
    np.subtract.at(remaining, (groups, codes), weights / class_weights[codes])
    return np.where(remaining > 1e-9, remaining, 0)[groups]


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


def held_out_components(found, samples, criterion):
    """Leave-one-group-out components of the last training samples.

    The components z = H t are the predictions of kernel ridge regression onto targets
    t. The targets are the class means times 1 + 1 / rho for "between", and the class
    means plus z / rho for "total" (u in ``_eigenproblems.py``). The targets do not
    change when samples are held out.

    Parameters
    ----------
    found : Discriminants
        The discriminant functions, with the last samples.
    samples : tuple of ndarray of shape (n_last,)
        Encoded labels, groups and training weights of the last samples.
    criterion : {"total", "between"}
        The numerator of the ratio.

    Returns
    -------
    ndarray of shape (n_last, n_components)
    """
    codes, groups, weights = samples
    components, members = found.last.components, found.means[codes]
    own = members if criterion == "between" else components
    targets = members + own / found.eigenvalues
    roots = np.sqrt(weights)[:, None]
    residuals = roots * (targets - components)
    held_out = held_out_residuals(residuals, found.last.complement, groups)
    return components + (residuals - held_out) / roots
