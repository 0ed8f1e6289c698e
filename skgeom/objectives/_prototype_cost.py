"""The cost of prototypes over all samples, with its gradient."""

import numpy as np
from sklearn.utils import gen_batches

from skgeom.utils._threads import map_threads

# Numbers in the eigenvectors of a block of pairs: 32 MB, a few times over.
_BLOCK = 4_000_000


class PrototypeCost:
    """Weighted sum of the losses of all samples, as a function of the prototypes.

    Parameters
    ----------
    space : AffineInvariantSpace or FlatSpace
        Where the prototypes live.
    Z : ndarray
        The samples, encoded by the space.
    y : ndarray of int
        Their classes.
    weights : ndarray
        Their weights.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    scale : float or None
        The scale of the loss. None: its logarithm is a variable, and the second part of
        a point, an array of shape (1,).
    reduction : Congruence, Relevance or None
        What is done to the samples first. Its matrix is the last part of a point.
    """

    def __init__(self, space, Z, y, weights, loss, scale=None, reduction=None):
        self._space = space
        self._Z, self._y, self._weights = Z, y, weights
        self._loss = loss
        self._scale = scale
        self._reduction = reduction

    def __call__(self, point):
        """Cost, and gradients for each part of the point."""
        prototypes, *others = point
        scale = self._scale if self._scale is not None else np.exp(others[0][0])
        rows = max(min(_BLOCK // prototypes.size, -(-len(self._Z) // 2)), 1)

        def evaluate(block):
            return self._evaluate(block, prototypes, scale, others)

        blocks = list(gen_batches(len(self._Z), rows))
        parts = zip(*map_threads(evaluate, blocks), strict=True)
        value, *gradients = (sum(part[1:], part[0]) for part in parts)
        wanted = [True, self._scale is None, self._reduction is not None]
        return value, [g for g, want in zip(gradients, wanted, strict=True) if want]

    def _evaluate(self, block, prototypes, scale, others):
        Z, y, weights = self._Z[block], self._y[block], self._weights[block]
        if self._reduction is None:
            pairs = self._space.pairs(Z, prototypes)
        else:
            reduced = self._reduction.apply(Z, prototypes, others[-1])
            pairs = self._space.pairs(*reduced)
        losses, derivatives, of_log_scale = self._loss(
            pairs.squared_distances, y, scale
        )
        derivatives = weights[:, None] * derivatives
        value = weights @ losses
        scale_part = None if of_log_scale is None else weights @ of_log_scale
        scale_part = np.zeros(1) if scale_part is None else np.array([scale_part])
        if self._reduction is None:
            return value, pairs.gradient(derivatives), scale_part, 0.0
        gradients = self._reduction.pull_back(
            Z,
            prototypes,
            others[-1],
            pairs.sample_gradient(derivatives),
            pairs.gradient(derivatives),
        )
        return value, gradients[0], scale_part, gradients[1]


class Congruence:
    """SPD samples become ``F.T @ X @ F``; the prototypes have that size."""

    @staticmethod
    def apply(Z, prototypes, matrix):
        return matrix.T @ Z @ matrix, prototypes

    @staticmethod
    def pull_back(Z, prototypes, matrix, of_samples, of_prototypes):
        of_matrix = 2 * (Z @ matrix @ of_samples).sum(axis=0)
        return of_prototypes, of_matrix


class Relevance:
    """Vectors, samples and prototypes alike, are multiplied by a matrix."""

    @staticmethod
    def apply(Z, prototypes, matrix):
        return Z @ matrix.T, prototypes @ matrix.T

    @staticmethod
    def pull_back(Z, prototypes, matrix, of_samples, of_prototypes):
        of_matrix = of_samples.T @ Z + of_prototypes.T @ prototypes
        return of_prototypes @ matrix, of_matrix
