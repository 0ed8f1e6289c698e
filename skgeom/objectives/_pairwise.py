"""The mean distance between all pairs of classes."""

from copy import copy
from functools import cached_property

import numpy as np

from skgeom.objectives._class_moments import ClassMoments
from skgeom.objectives._objective import Objective
from skgeom.objectives._pairs import (
    PAIRS_PER_BLOCK,
    CyclicPairs,
    all_pairs,
    growing_subsets,
    n_weighted_pairs,
)
from skgeom.utils.threads import map_threads

# Largest number of pairs whose mean is computed exactly; 1,024 classes have about as
# many. For more pairs, a sample of about this size estimates the mean
# (page "Constants").
_PAIRS_OF_MEAN = 2**19


class MeanPairwiseDistance(Objective):
    r"""Mean distance between the class-conditional Gaussians of projected data.

    For filters F of shape (n, m), the projected classes have the means
    :math:`\mu_i = F^\top \gamma_i` and the covariances
    :math:`\Sigma_i = F^\top \Phi_i F + \sigma^2 I`. The value is the mean of
    :math:`d(i, j)` over all pairs :math:`i < j` (section 4 and, up to a constant
    factor, equation 1 of Herrera-Esposito and Burge, 2025).

    Parameters
    ----------
    means : ndarray of shape (c, n)
        Class means :math:`\gamma_i`, c > 1.
    covariances : ndarray of shape (c, n, n)
        Class covariances :math:`\Phi_i`. Not copied if C-contiguous.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    distance : class or object
        A result of :func:`skgeom.objectives.find_distance`.
    squared : bool, default=False
        Whether to average the squares of the distances.
    weights : ndarray of shape (c,), default=None
        Weights :math:`w_i` of the classes. A pair has the weight :math:`w_i w_j` in the
        mean. None sets equal weights.
    pair_weights : ndarray of shape (c, c), default=None
        Symmetric factors :math:`v_{ij}`. A pair then has the weight
        :math:`w_i w_j v_{ij}`. None sets equal factors.
    """

    terms = "pairs"

    def __init__(
        self,
        means,
        covariances,
        regularization,
        distance,
        squared=False,
        weights=None,
        pair_weights=None,
    ):
        self.distance = distance
        self.rotation_invariant = distance.rotation_invariant
        self.affine_invariant = distance.affine_invariant
        self.squared = squared
        self.weights = np.ones(means.shape[0]) if weights is None else weights
        self.pair_weights = pair_weights
        self.n_pairs = n_weighted_pairs(self.weights, pair_weights)
        self.classes = ClassMoments(means, covariances, regularization)

    @cached_property
    def _pairs(self):
        return all_pairs(self.weights, self.pair_weights)

    @property
    def complete(self):
        """Whether the objective is the mean over all pairs, not over a subset."""
        return self._pairs.complete

    @property
    def n_features(self):
        """Number of rows of the filters."""
        return self.classes.means.shape[1]

    @property
    def parallel(self):
        """Whether several threads evaluate the pairs; one thread if pairs are few."""
        return self.distance.parallel and self.n_pairs > PAIRS_PER_BLOCK

    def project(self, basis):
        """The same objective for filters ``basis @ G``, as a function of G.

        ``basis`` has shape (n, k). If its columns are orthonormal, the filters G and
        ``basis @ G`` have the same norms.
        """
        projected = copy(self)
        projected.classes = self.classes.project(basis)
        return projected

    def growing_subsets(self, random_state):
        """Subsets of pairs for the first iterations, see :func:`growing_subsets`."""
        return growing_subsets(self.weights, random_state, self.pair_weights)

    def subset(self, pairs):
        """An objective that estimates the same mean from some pairs."""
        part = copy(self)
        part._pairs, part.n_pairs = pairs, len(pairs)
        return part

    def __call__(self, filters):
        """Value and gradient, (n, m), at ``filters``, (n, m).

        Raises
        ------
        numpy.linalg.LinAlgError
            If a projected covariance is not positive definite.
        """
        means, covariances, pull_back = self.classes(filters)
        distances = self.distance(means, covariances)

        def evaluate(block):
            values, gradient = distances.pairs(block.i, block.j)
            values, slopes = self._values_to_average(values)
            gradients = gradient(slopes * block.weights)
            return values @ block.weights, block.sums_of_classes(gradients)

        sums = map_threads(evaluate, self._pairs.blocks, self.distance.parallel)
        values, gradients = zip(*sums, strict=True)
        return sum(values), pull_back(*distances.pull_back(sum(gradients)))

    def mean(self, filters):
        """Value at ``filters`` for all pairs, even if a subset of pairs is optimized.

        The value of more than 524,288 pairs is estimated from a sample of about this
        size. The sample is always the same, so the values of two optimizations are
        comparable.
        """
        pairs = CyclicPairs(self.weights, 0, self.pair_weights).sample(_PAIRS_OF_MEAN)
        value, _ = self.subset(pairs)(filters)
        return float(value)

    def matrix(self):
        """Distances between all pairs of classes without filters, (c, c)."""
        pairs = all_pairs(np.ones(len(self.weights)))
        means, covariances, _ = self.classes(np.eye(self.n_features))
        distances = self.distance(means, covariances)

        def evaluate(block):
            values, _ = distances.pairs(block.i, block.j)
            return values

        parts = map_threads(evaluate, pairs.blocks, self.distance.parallel)
        values = np.concatenate(parts)
        matrix = np.zeros((len(self.weights), len(self.weights)))
        roots = np.sqrt(values) if self.distance.returns_square else values
        matrix[pairs.i, pairs.j] = roots
        return matrix + matrix.T

    def _values_to_average(self, values):
        """The values to average and their derivative, from the result of ``pairs``."""
        if self.squared == self.distance.returns_square:
            return values, np.ones_like(values)
        if self.squared:
            return values**2, 2 * values
        # The square root has no derivative at zero, the distance of two equal classes.
        # Zero is a subgradient there, so the other pairs determine the ascent
        # direction.
        roots = np.sqrt(values)
        slopes = np.zeros_like(roots)
        np.divide(0.5, roots, out=slopes, where=roots > 0)
        return roots, slopes
