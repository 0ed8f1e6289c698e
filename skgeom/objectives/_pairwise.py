"""The mean distance between all pairs of projected classes."""

import numpy as np

from skgeom.objectives._projection import ProjectedClasses
from skgeom.utils._threads import map_threads

# Pairs are evaluated in blocks of at most this size, each by one thread: with many
# classes, most of the work is in the factorisations of small matrices, which keep one
# core busy only. The blocks, and so the result, do not depend on the number of threads.
_PAIRS_PER_BLOCK = 512

# The eigendecomposition of a small matrix takes the time of so many products.
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
    """

    def __init__(self, means, covariances, regularization, distance, squared=False):
        self.distance = distance
        self.squared = squared
        self._pairs = np.triu_indices(len(means), 1)
        self.classes = ProjectedClasses(
            means, covariances, regularization, self.parallel
        )

    @property
    def n_features(self):
        """Number of rows of the filters."""
        return self.classes.means.shape[1]

    @property
    def parallel(self):
        """Whether threads share the work, so that those of BLAS are in their way."""
        return self.distance.parallel and len(self._pairs[0]) > _PAIRS_PER_BLOCK

    def projection_dominates(self, n_filters):
        """Whether an evaluation mostly projects covariances, not decomposes pairs."""
        if not self.distance.decomposes_pairs:
            return True
        n_classes, n_features = self.classes.means.shape
        projecting = n_classes * n_features**2 * n_filters
        decomposing = len(self._pairs[0]) * n_filters**3 * _PRODUCTS_PER_DECOMPOSITION
        return projecting > decomposing

    def project(self, basis):
        """The same objective for filters ``basis @ G``, as a function of G.

        ``basis`` has shape (n, k). If its columns are orthonormal, filters G and
        ``basis @ G`` meet the constraint of unit norm together.
        """
        moments = self.classes.project(basis)
        return MeanPairwiseDistance(*moments, self.distance, self.squared)

    def __call__(self, filters):
        """Value and gradient, (n, m), at ``filters``, (n, m).

        Raises
        ------
        numpy.linalg.LinAlgError
            If a projected covariance is not positive definite.
        """
        means, covariances, pull_back = self.classes(filters)
        distance = self.distance(means, covariances)
        value, gradient = self._average(distance)
        return value, pull_back(*distance.pull_back(gradient))

    def matrix(self):
        """Distances between all pairs, unprojected, as a symmetric (c, c) matrix."""
        means, covariances, _ = self.classes(np.eye(self.n_features))
        distance = self.distance(means, covariances)
        values = self._map_pairs(distance, lambda values, _: values)
        values = np.concatenate(values)
        matrix = np.zeros((len(means), len(means)))
        matrix[self._pairs] = np.sqrt(values) if distance.returns_square else values
        return matrix + matrix.T

    def _average(self, distance):
        n_pairs = len(self._pairs[0])

        def average(values, gradient_of):
            values, slopes = self._objective_of(values)
            return values.sum() / n_pairs, gradient_of(slopes / n_pairs)

        values, gradients = zip(*self._map_pairs(distance, average), strict=True)
        return sum(values), sum(gradients)

    def _map_pairs(self, distance, function):
        """List of what a function makes of ``distance.pairs``, block by block."""
        n_blocks = -(-len(self._pairs[0]) // _PAIRS_PER_BLOCK)
        blocks = zip(*(np.array_split(k, n_blocks) for k in self._pairs), strict=True)
        return map_threads(
            lambda block: function(*distance.pairs(*block)),
            list(blocks),
            self.distance.parallel,
        )

    def _objective_of(self, values):
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


class WithFixedFilters:
    """An objective of the last filters only, the first ones being fixed.

    Parameters
    ----------
    objective : callable
        An objective of all filters, with a method ``project``.
    fixed : ndarray of shape (n, p)
        The fixed filters.
    n_padding : int, default=0
        Number of leading rows of the objective's filters that are zero in the last
        ones. A projection uses them for the coordinates of the fixed filters.
    """

    def __init__(self, objective, fixed, n_padding=0):
        self.objective = objective
        self.fixed = fixed
        self.n_padding = n_padding

    def project(self, basis):
        """The same objective for last filters ``basis @ G``, as a function of G."""
        n_fixed = self.fixed.shape[1]
        both = self.objective.project(np.hstack([self.fixed, self._pad(basis)]))
        return WithFixedFilters(both, np.eye(both.n_features, n_fixed), n_fixed)

    @property
    def n_samples(self):
        """Number of samples, if the objective is one of samples."""
        return self.objective.n_samples

    @property
    def parallel(self):
        """Whether threads share the work."""
        return self.objective.parallel

    def projection_dominates(self, n_filters):
        """Whether an evaluation mostly projects what the objective is made of."""
        return self.objective.projection_dominates(self.fixed.shape[1] + n_filters)

    def sample(self, rows):
        """The same objective of some samples only."""
        objective = self.objective.sample(rows)
        return WithFixedFilters(objective, self.fixed, self.n_padding)

    def _pad(self, filters):
        return np.pad(filters, ((self.n_padding, 0), (0, 0)))

    def __call__(self, filters):
        """Value and gradient at the last filters."""
        value, gradient = self.objective(np.hstack([self.fixed, self._pad(filters)]))
        return value, gradient[self.n_padding :, self.fixed.shape[1] :]
