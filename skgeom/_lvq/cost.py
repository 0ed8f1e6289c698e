"""The cost of prototypes over all samples, with its gradient."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils import gen_batches

from skgeom.optim import MANIFOLDS, product_manifold
from skgeom.utils._threads import map_threads

# Numbers in the eigenvectors of a block of pairs: 32 MB, a few times over.
_BLOCK = 4_000_000

# Operations from which on a block is worth a thread.
_WORTHWHILE = 500_000

# The most numbers, in the eigenvectors of all pairs, that are kept for the curvature.
_KEPT = 2**25

# How much of the curvature that has no sign is added to the Gauss-Newton matrix: enough
# to make it definite, little enough that whole steps are still nearly those of Newton.
_DAMPING = 0.02


class PrototypeCost:
    """Weighted sum of the losses of all samples, as a function of the prototypes.

    Parameters
    ----------
    space : Space
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
    chart : Space or None
        The ``chart`` of the space. The distances there show which pairs of samples and
        prototypes are too far apart to matter.
    precision : float
        The weight of a prototype in the loss of a sample that does not matter.
    """

    def __init__(
        self,
        space,
        Z,
        y,
        weights,
        loss,
        scale=None,
        reduction=None,
        chart=None,
        precision=0.0,
    ):
        self._space = space
        self._Z, self._y, self._weights = Z, y, weights
        self._loss = loss
        self._scale = scale
        self._reduction = reduction
        self._chart = chart
        self._vectors = None if chart is None else chart.encode(Z)
        self._precision = precision
        self._latest = None

    def __call__(self, point):
        """Cost, and gradients for each part of the point."""
        prototypes, scale, matrix = self.split(point)
        self._space.check_representable(prototypes)
        seen = None if self._chart is None else self._chart.encode(prototypes)

        def evaluate(block):
            return self._evaluate(block, prototypes, scale, matrix, seen)

        parts = zip(*map_threads(evaluate, self._blocks(prototypes)), strict=True)
        pairs, *parts = parts
        if self.has_curvature(prototypes):
            self._latest = prototypes, pairs
        value, *gradients = (sum(part[1:], part[0]) for part in parts)
        wanted = [True, self._scale is None, self._reduction is not None]
        return value, [g for g, want in zip(gradients, wanted, strict=True) if want]

    def join(self, prototypes, scale, matrix=None):
        """The point of some prototypes, a scale and the matrix of the reduction."""
        # The logarithm keeps the scale positive, and makes steps relative to it.
        log_scale = [np.log([scale])] if self._scale is None else []
        return [prototypes, *log_scale, *([] if matrix is None else [matrix])]

    def split(self, point):
        """Prototypes, scale and matrix of a point."""
        prototypes, *others = point
        scale = self._scale if self._scale is not None else np.exp(others[0][0])
        return prototypes, scale, None if self._reduction is None else others[-1]

    def manifold(self, point):
        """Where such points live."""
        manifolds = [self._space.manifold(point[0].shape)]
        if self._scale is None:
            manifolds.append(MANIFOLDS["euclidean"]((1,)))
        if self._reduction is not None:
            manifolds.append(MANIFOLDS[self._reduction.manifold](point[-1].shape))
        return product_manifold(manifolds)

    def _blocks(self, prototypes):
        n_samples = len(self._Z)
        for_threads = max(-(-n_samples // 8), _WORTHWHILE // self._work(prototypes))
        rows = max(min(_BLOCK // prototypes.size, for_threads), 1)
        return list(gen_batches(n_samples, rows))

    @staticmethod
    def _work(prototypes):
        """Operations for a sample: n^3 for each pair of matrices, p for vectors."""
        return prototypes.size * (prototypes.shape[1] if prototypes.ndim == 3 else 1)

    def has_curvature(self, prototypes):
        """Whether there is a model of the curvature that fits into memory."""
        return (
            self._space.has_slopes
            and hasattr(self._loss, "curvature")
            and self._scale is not None
            and self._reduction is None
            and len(self._Z) * prototypes.size <= _KEPT
        )

    def solve(self, point, vector):
        r"""Inverse of a model of the curvature, times a tangent vector.

        The model is the Gauss-Newton matrix :math:`J^\top (\operatorname{diag} p - p
        p^\top) J`, J being the Jacobian of the scores for the prototypes, and a
        diagonal. The rest of the Hessian, which has no sign, is left out: the second
        derivatives of the squared distances times the derivatives of the loss for these
        and, with several prototypes a class, the share of the correct class in the
        curvature of the loss. In its place, twice the absolute derivatives count by
        0.02 in the diagonal, which makes the model positive definite; they measure what
        is left out, but do not bound it. The derivatives of the representability, which
        are positive, count in full, with a multiple of the identity for the second
        derivatives of the squared distances, which is right near the samples: exact
        everywhere in flat spaces, a lower bound for the affine-invariant metric, and an
        upper bound for the log-determinant divergence.
        Equations are solved by conjugate gradients, none of which needs an
        eigendecomposition.
        """
        (prototypes,), (tangent,) = point, vector
        # The search has just evaluated the cost here: its eigenvectors serve again.
        if self._latest is None or self._latest[0] is not prototypes:
            self(point)
        pairs, blocks = self._latest[1], self._blocks(prototypes)
        probabilities, diagonal = [], 0.0
        for part, block in zip(pairs, blocks, strict=True):
            weights = self._weights[block, None]
            p, size, pull = self._loss.curvature(
                part.squared_distances, self._y[block], self._scale
            )
            probabilities.append(p)
            # A prototype that no sample feels must not make the matrix singular.
            size = np.maximum(size, 1e-9 / self._scale)
            left_out = part.curvature * weights * (_DAMPING * size + pull)
            diagonal = diagonal + left_out.sum(axis=0)
        tangent = pairs[0].coordinates(tangent)
        diagonal = np.repeat(diagonal, tangent.shape[1])

        # In orthonormal coordinates the matrix is one of moderate condition, and the
        # system need not be solved exactly to give a good direction. It is never
        # formed: each product with it takes two passes over the rows of J.
        def product(flat):
            direction, total = flat.reshape(tangent.shape), 0.0
            for part, block, p in zip(pairs, blocks, probabilities, strict=True):
                # J = -slopes / 2 sigma^2, so that both together have 4 sigma^4.
                slopes = p * part.slopes(direction)
                slopes -= p * slopes.sum(axis=1, keepdims=True)
                slopes *= self._weights[block, None] / (4 * self._scale**2)
                total = total + part.pull_back(slopes)
            return total.ravel() + diagonal * flat

        shape = (tangent.size, tangent.size)
        solution, _ = cg(
            LinearOperator(shape, product, dtype=np.float64),
            tangent.ravel(),
            rtol=pairs[0].model_tol,
            maxiter=60,
            M=LinearOperator(shape, lambda flat: flat / diagonal, dtype=np.float64),
        )
        solution = pairs[0].tangents(solution.reshape(tangent.shape))
        return type(vector)([solution])  # the sequence has an arithmetic of its own

    def _evaluate(self, block, prototypes, scale, matrix, seen):
        Z, y, weights = self._Z[block], self._y[block], self._weights[block]
        if self._chart is not None:
            at_least = self._chart.squared_distances(self._vectors[block], seen)
            pairs = self._space.pairs(Z, prototypes, at_least)
            pairs.resolve(lambda d: self._loss.matter(d, y, scale, self._precision))
        elif self._reduction is None:
            pairs = self._space.pairs(Z, prototypes)
        else:
            reduced = self._reduction.apply(Z, prototypes, matrix)
            pairs = self._space.pairs(*reduced)
        losses, derivatives, of_log_scale = self._loss(
            pairs.squared_distances, y, scale
        )
        derivatives = weights[:, None] * derivatives
        value = weights @ losses
        scale_part = None if of_log_scale is None else weights @ of_log_scale
        scale_part = np.zeros(1) if scale_part is None else np.array([scale_part])
        if self._reduction is None:
            return pairs, value, pairs.gradient(derivatives), scale_part, 0.0
        gradients = self._reduction.pull_back(
            Z,
            prototypes,
            matrix,
            pairs.sample_gradient(derivatives),
            pairs.gradient(derivatives),
        )
        return None, value, gradients[0], scale_part, gradients[1]


class Congruence:
    """SPD samples become ``F.T @ X @ F``; the prototypes have that size."""

    manifold = "orthonormal"

    @staticmethod
    def apply(Z, prototypes, matrix):
        return matrix.T @ Z @ matrix, prototypes

    @staticmethod
    def pull_back(Z, prototypes, matrix, of_samples, of_prototypes):
        of_matrix = 2 * (Z @ matrix @ of_samples).sum(axis=0)
        return of_prototypes, of_matrix


class Relevance:
    """Vectors, samples and prototypes alike, are multiplied by a matrix."""

    manifold = "unit-sphere"

    @staticmethod
    def apply(Z, prototypes, matrix):
        return Z @ matrix.T, prototypes @ matrix.T

    @staticmethod
    def pull_back(Z, prototypes, matrix, of_samples, of_prototypes):
        of_matrix = of_samples.T @ Z + of_prototypes.T @ prototypes
        return of_prototypes @ matrix, of_matrix
