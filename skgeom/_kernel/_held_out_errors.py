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

from skgeom._selection import calibrated_temperature, choose

_EPS = np.finfo(np.float64).eps
# Candidates of the weight of the priors, relative to the variance within the classes.
_PRIOR_FACTORS = 2.0 ** np.arange(8)


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


def calibrate(components, held_out, samples, shares, means, priors):
    r"""Estimate the parameters of the decisions on held-out samples.

    The discriminant functions overfit the training samples: the classes are further
    apart in the training samples than in new samples, especially small classes. The
    decision means :math:`m_k` are the class means :math:`\mu_k` of the training
    samples, shrunk towards zero:

    .. math:: m_k = \frac{\mu_k}{1 + c h_k}, \quad
       c = \frac{\sum_i w_i (z_i - z_i^\text{out})^\top \mu_{y_i}}
       {\sum_i w_i h_{y_i} \mu_{y_i}^\top z_i^\text{out}} .

    The components of sample i are :math:`z_i`, and :math:`z_i^\text{out}` if the
    sample is held out. The sum of the weights :math:`w_i` of class k is the prior
    :math:`\pi_k`, and :math:`h_k` is the mean part of class k that is held out with a
    sample of this class, which is 1 / n for n distinct samples. If the mean of n
    samples has a squared error of t / n, the mean of new samples in its direction is
    shorter by the factor 1 / (1 + c / n), where c is t over the squared length of the
    expected mean. One c is used for all classes, because separate ones would vary too
    much. It solves :math:`\sum_i w_i (1 + c h_{y_i}) \mu_{y_i}^\top z_i^\text{out}
    = \sum_i w_i \mu_{y_i}^\top z_i`. If c is negative, the means are not shrunk. The
    denominator of c can be negative if the classes hardly differ, because without a
    sample, the mean of its class moves away from this sample.

    The posteriors are :math:`\text{softmax}(s / T)` with the scores of LDA,
    :math:`s_k = z^\top m_k - \|m_k\|^2 / 2 + v \log \pi_k`. The weight v of the priors
    is the variance of the held-out components within the classes, in the directions of
    the decision means, but at most 1, because a larger variance is due to overfitting,
    for which T accounts. T divides the logarithms of the priors as well, so a rare
    class could be predicted too often. Therefore v is doubled, up to seven times, if
    this increases the log posterior by more than two standard errors.

    Parameters
    ----------
    components, held_out : ndarray of shape (n_samples, n_components)
        The components of some samples, as training samples and as held-out samples.
    samples : tuple of ndarray of shape (n_samples,)
        Encoded labels, groups and weights of these samples.
    shares : ndarray of shape (n_samples,)
        The part of the class that is held out with each sample, which is less than 1
        for at least one sample. Samples with 1 determine only :math:`h_k`, because no
        sample of their class remains.
    means : ndarray of shape (n_classes, n_components)
        The class means of the training samples.
    priors : ndarray of shape (n_classes,)
        The prior probabilities of the classes.

    Returns
    -------
    decision_means : ndarray of shape (n_classes, n_components)
    prior_weight, temperature : float
    """
    codes, groups, weights = samples
    rows = np.arange(len(codes))
    members = np.eye(len(priors))[codes] * weights[:, None]
    mean_shares = shares @ members / members.sum(axis=0)
    members *= (shares < 1)[:, None]
    sums = members.sum(axis=0)
    members *= np.divide(priors, sums, out=np.zeros_like(sums), where=sums > 0)
    weights = members.sum(axis=1)
    in_training, kept = (
        weights * (z * means[codes]).sum(axis=1) for z in (components, held_out)
    )
    lost, kept = (in_training - kept).sum(), kept @ mean_shares[codes]
    if lost > 0 and kept > 0:
        means = means * (kept / (kept + lost * mean_shares))[:, None]
    own_means = (members.T @ held_out) / priors[:, None]
    deviations = (held_out - own_means[codes]) @ means.T
    scale = weights.sum() * np.square(means).sum()
    variance = weights @ np.square(deviations).sum(axis=1) / scale if scale else 1.0
    scores = held_out @ means.T - np.square(means).sum(axis=1) / 2
    weights = weights / weights.sum()
    prior_weights = min(float(variance), 1.0) * _PRIOR_FACTORS
    temperatures, fits = [], []
    for prior_weight in prior_weights:
        joint = scores + prior_weight * np.log(priors)
        temperatures.append(
            calibrated_temperature(
                joint, uniform(priors), codes, weights, groups, len(codes)
            )
        )
        fits.append(log_softmax(joint / temperatures[-1], axis=1)[rows, codes])
        if fits[1:] and weights @ fits[-1] <= weights @ fits[-2]:
            break
    prior_weights = prior_weights[: len(fits)]
    best = choose({}, np.array(fits), weights, groups, prior_weights).index
    return means, float(prior_weights[best]), temperatures[best]


def uniform(priors):
    """Logarithms of equal priors, for scores that contain the given priors."""
    return np.full(len(priors), -np.log(len(priors)))
