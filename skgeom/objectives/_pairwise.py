"""The mean distance between all pairs of projected classes."""

from copy import copy
from functools import cached_property

import numpy as np

from skgeom.objectives._pair_samples import (
    all_pairs,
    growing_samples,
    large_sample,
    n_first_pairs,
    n_weighted_pairs,
)
from skgeom.objectives._projection import ProjectedClasses
from skgeom.utils.threads import map_threads

# Pairs are evaluated in blocks, each by one thread: with many classes, most of the work
# is in the factorizations of small matrices, which keep one core busy only. The blocks,
# and so the result, do not depend on the number of threads. Each block has gradients of
# all classes, which limits the number of blocks.
_PAIRS_PER_BLOCK, _MOST_BLOCKS = 512, 64

# The mean is computed from up to so many pairs (those of 1,024 classes), and estimated
# from as many if there are more.
_PAIRS_OF_MEAN = 2**19

# An eigendecomposition of a small matrix costs as much as about this many products.
_PRODUCTS_PER_DECOMPOSITION = 60


class MeanPairwiseDistance:
    r"""Mean distance between the class-conditional Gaussians of projected data.

    For filters F of shape (n, m), the classes have the projected statistics
    :math:`\mu_i = F^\top \gamma_i` and
    :math:`\Sigma_i = F^\top \Phi_i F + \sigma^2 I` (section 4 of Herrera-Esposito and
    Burge, 2025), and the value is the mean of :math:`d(i, j)` over all pairs
    :math:`i < j`, equation 1 of the paper up to a constant factor.

    Parameters
    ----------
    means : ndarray of shape (c, n)
        Class means :math:`\gamma_i`, c > 1.
    covariances : ndarray of shape (c, n, n)
        Class covariances :math:`\Phi_i`; not copied if C-contiguous.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    distance : class
        One of the values of :data:`skgeom.objectives.DISTANCES`.
    squared : bool, default=False
        Whether to average the squares of the distances.
    weights : ndarray of shape (c,), default=None
        Weights :math:`w_i` of the classes: the mean is then that with the weights
        :math:`w_i w_j` of the pairs. None: equal weights.
    """

    terms = "pairs"
    is_sample = False

    def __init__(
        self,
        means,
        covariances,
        regularization,
        distance,
        squared=False,
        weights=None,
    ):
        self.distance = distance
        self.squared = squared
        self.weights = np.ones(means.shape[0]) if weights is None else weights
        self.n_pairs = n_weighted_pairs(self.weights)
        self.classes = ProjectedClasses(
            means, covariances, regularization, self.parallel
        )

    @cached_property
    def _pairs(self):
        return all_pairs(self.weights)

    @property
    def complete(self):
        """Whether this is the mean over all pairs, not over a sample of them."""
        return not self.is_sample or self._pairs.complete

    @property
    def n_features(self):
        """Number of rows of the filters."""
        return self.classes.means.shape[1]

    @property
    def parallel(self):
        """Whether threads share the work, so that BLAS should have one thread."""
        return self.distance.parallel and self.n_pairs > _PAIRS_PER_BLOCK

    def projection_dominates(self, n_filters):
        """Whether an evaluation mostly projects covariances, not decomposes pairs."""
        if not self.distance.decomposes_pairs:
            return True
        n_classes, n_features = self.classes.means.shape
        projecting = n_classes * n_features**2 * n_filters
        n_pairs = n_first_pairs(self.weights)
        decomposing = n_pairs * n_filters**3 * _PRODUCTS_PER_DECOMPOSITION
        return projecting > decomposing

    @property
    def rotation_invariant(self):
        """Whether filters F and F R are worth the same for an orthogonal R."""
        return self.distance.rotation_invariant

    @property
    def affine_invariant(self):
        """Whether, without noise, linear maps of the features change nothing."""
        return self.distance.affine_invariant

    def in_single_precision(self):
        """The same objective, from covariances in single precision if that will do."""
        single = copy(self)
        single.classes = self.classes.in_single_precision()
        return self if single.classes is self.classes else single

    def project(self, basis):
        """The same objective for filters ``basis @ G``, as a function of G.

        ``basis`` has shape (n, k). If its columns are orthonormal, filters G and
        ``basis @ G`` meet the constraint of unit norm together.
        """
        projected = copy(self)
        moments = self.classes.project(basis)
        projected.classes = ProjectedClasses(*moments, self.parallel)
        return projected

    def growing_samples(self, random_state):
        """Samples of the pairs for a search to begin with; none if the pairs are few.

        A sample has none either. See
        :func:`skgeom.objectives._pair_samples.growing_samples`.
        """
        if self.is_sample:
            return []
        return growing_samples(self.weights, random_state)

    def sample(self, pairs):
        """The same objective, estimated from some pairs only."""
        sampled = copy(self)
        sampled._pairs, sampled.n_pairs = pairs, len(pairs)
        sampled.is_sample = True
        return sampled

    def small_sample(self, n_pairs):
        """The same objective, estimated from about so many pairs, always the same."""
        return self.sample(large_sample(self.weights, n_pairs, random_state=0))

    def __call__(self, filters):
        """Value and gradient, (n, m), at ``filters``, (n, m).

        Raises
        ------
        numpy.linalg.LinAlgError
            If a projected covariance is not positive definite.
        """
        means, covariances, pull_back = self.classes(filters)
        distance = self.distance(means, covariances)

        def evaluate(block):
            i, j, weights = block
            values, gradient = distance.pairs(i, j)
            values, slopes = self._averaged(values)
            return values @ weights, gradient(slopes * weights)

        blocks = _blocks(self._pairs)
        sums = map_threads(evaluate, blocks, self.distance.parallel)
        values, gradients = zip(*sums, strict=True)
        return sum(values), pull_back(*distance.pull_back(sum(gradients)))

    def mean(self, filters):
        """Value at ``filters``, of all pairs even if those here are a sample.

        If there are more than 524,288, it is an estimate from about as many of them,
        always the same ones, so that the values of two searches can be compared.
        """
        pairs = large_sample(self.weights, _PAIRS_OF_MEAN, random_state=0)
        values, _ = self._averaged(self._values(filters, pairs))
        return float(values @ pairs.weights)

    def matrix(self):
        """Distances between all pairs, unprojected, as a symmetric (c, c) matrix."""
        pairs = all_pairs(np.ones(len(self.weights)))
        values = self._values(np.eye(self.n_features), pairs)
        matrix = np.zeros((len(self.weights), len(self.weights)))
        roots = np.sqrt(values) if self.distance.returns_square else values
        matrix[pairs.i, pairs.j] = roots
        return matrix + matrix.T

    def _values(self, filters, pairs):
        """What the distance returns for some pairs, without gradients."""
        means, covariances, _ = self.classes(filters)
        distance = self.distance(means, covariances)

        def evaluate(block):
            i, j, _ = block
            values, _ = distance.pairs(i, j)
            return values

        values = map_threads(evaluate, _blocks(pairs), self.distance.parallel)
        return np.concatenate(values)

    def _averaged(self, values):
        """What is averaged, and its derivative, given what ``pairs`` returns."""
        if self.squared == self.distance.returns_square:
            return values, np.ones_like(values)
        if self.squared:
            return values**2, 2 * values
        # At zero the root has no gradient. Two classes that coincide are a minimum of
        # their distance, so that zero, a subgradient, leaves the ascent to the others.
        roots = np.sqrt(values)
        slopes = np.zeros_like(roots)
        np.divide(0.5, roots, out=slopes, where=roots > 0)
        return roots, slopes


def _blocks(pairs):
    """Pairs of classes, (i, j), with weights, in parts of about equal size."""
    n_blocks = min(-(-len(pairs) // _PAIRS_PER_BLOCK), _MOST_BLOCKS)
    arrays = (pairs.i, pairs.j, pairs.weights)
    return list(zip(*(np.array_split(a, n_blocks) for a in arrays), strict=True))


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
