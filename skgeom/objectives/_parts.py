"""How much of the distance of two classes is due to their means and covariances."""

import numpy as np


def parts_of_pairs(distance, means, covariances):
    r"""Distances of all pairs of classes, and their parts by means and covariances.

    What ``pairs`` of a distance returns, the square of one that is a root, is split.
    With the average :math:`\bar\Sigma = (\Sigma_i + \Sigma_j) / 2` of the covariances
    of a pair, the means alone make :math:`v(\bar\Sigma, \mu)`, the covariances alone
    :math:`v(\Sigma, 0)`, both together v. The part of the means is the average of what
    they add to nothing, and of what they add to the covariances,

    .. math:: \tfrac12 \big( v(\bar\Sigma, \mu) + v - v(\Sigma, 0) \big)

    and that of the covariances likewise: the Shapley values of the two (Shapley, 1953).

    Parameters
    ----------
    distance : callable
        An entry of the registries, or what ``find_distance`` returns.
    means : ndarray of shape (c, m)
    covariances : ndarray of shape (c, m, m)

    Returns
    -------
    total, by_means, by_covariances : ndarray of shape (c, c)
        Symmetric, with zeros on the diagonal; the first is the sum of the others.
    """
    i, j = np.triu_indices(len(means), 1)
    ends = np.arange(len(i)), np.arange(len(i), 2 * len(i))

    def values(means_a, covariances_a, means_b, covariances_b):
        classes = distance(
            np.concatenate([means_a, means_b]),
            np.concatenate([covariances_a, covariances_b]),
        )
        return classes.pairs(*ends)[0]

    middle = (means[i] + means[j]) / 2
    average = (covariances[i] + covariances[j]) / 2
    together = values(means[i], covariances[i], means[j], covariances[j])
    means_alone = values(means[i], average, means[j], average)
    covariances_alone = values(middle, covariances[i], middle, covariances[j])
    by_means = (means_alone + together - covariances_alone) / 2
    matrices = np.zeros((3, len(means), len(means)))
    matrices[:, i, j] = together, by_means, together - by_means
    return matrices + matrices.mT
