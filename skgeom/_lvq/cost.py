"""The cost of prototypes over all samples, with its gradient."""

from dataclasses import dataclass

import numpy as np

from skgeom._lvq.problem import sample_blocks
from skgeom.optim import Euclidean, Product, Sphere, Stiefel
from skgeom.utils.array_api import (
    like,
    linear_algebra,
    namespace,
    size_of,
    sum_of,
    to_numpy,
)
from skgeom.utils.threads import map_threads

# The most numbers, in the eigenvectors of all pairs, that are kept for the curvature.
_KEPT = 2**25

# How many steps of conjugate gradients the equations of the curvature are worth.
_MAX_STEPS = 60

# How much of the curvature that has no sign is added to the Gauss-Newton matrix: enough
# to make it definite, little enough that whole steps are still nearly those of Newton.
_DAMPING = 0.02


class PrototypeCost:
    """Weighted sum of the losses of all samples, as a function of the prototypes.

    Samples, and all that is computed for each, are arrays of any library. Points and
    gradients are numpy's, as the search is: they are no larger than the prototypes.

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
    flat : Problem or None
        The same problem in the chart of the space. The distances there tell which
        prototypes are too far from a sample to matter.
    """

    def __init__(
        self, space, Z, y, weights, loss, scale=None, reduction=None, flat=None
    ):
        self._space = space
        self._Z, self._y, self._weights = Z, y, weights
        self._loss = loss
        self._scale = scale
        self._reduction = reduction
        self._flat = flat
        self._latest = _Evaluation()

    def __call__(self, point):
        """Cost, and gradients for each part of the point."""
        return self._at(point).cost

    def _at(self, point):
        """What is known of a point; of the latest one, it is not computed again."""
        if self._latest.point is point:
            return self._latest
        prototypes, scale, matrix = self.split(point)
        prototypes = like(prototypes, self._Z)
        matrix = None if matrix is None else like(matrix, self._Z)

        def evaluate(block):
            return self._evaluate(block, prototypes, scale, matrix, charted)

        with linear_algebra():
            self._space.check_representable(prototypes)
            charted = (
                None if self._flat is None else self._flat.space.encode(prototypes)
            )
            blocks = sample_blocks(self._Z.shape[0], prototypes)
            parts = map_threads(evaluate, blocks, parallel=namespace(self._Z) is np)
        pairs, *parts = zip(*parts, strict=True)
        value, *gradients = (sum(part[1:], part[0]) for part in parts)
        wanted = [True, self._scale is None, self._reduction is not None]
        gradients = [
            to_numpy(g) for g, want in zip(gradients, wanted, strict=True) if want
        ]
        self._latest = _Evaluation(point, (float(value), gradients), blocks, pairs)
        return self._latest

    def join(self, prototypes, scale, matrix=None):
        """The point of some prototypes, a scale and the matrix of the reduction."""
        # The logarithm keeps the scale positive, and makes steps relative to it.
        log_scale = [np.log([scale])] if self._scale is None else []
        return [prototypes, *log_scale, *([] if matrix is None else [matrix])]

    def split(self, point):
        """Prototypes, scale and matrix of a point."""
        prototypes, *others = point
        scale = self._scale if self._scale is not None else float(np.exp(others[0][0]))
        return prototypes, scale, None if self._reduction is None else others[-1]

    def manifold(self, point):
        """Where such points live."""
        manifolds = [self._space.manifold(point[0].shape)]
        if self._scale is None:
            manifolds.append(Euclidean(1))
        if self._reduction is not None:
            manifolds.append(self._reduction.manifold(*point[-1].shape))
        return Product(manifolds)

    def has_curvature(self, prototypes):
        """Whether there is a model of the curvature that fits into memory."""
        return (
            self._space.has_slopes
            and hasattr(self._loss, "curvature")
            and self._scale is not None
            and self._reduction is None
            and self._Z.shape[0] * size_of(prototypes) <= _KEPT
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
        (tangent,) = vector
        # The search has just evaluated the cost here: its eigenvectors serve again.
        latest = self._at(point)
        if latest.model is None:
            latest.model = self._model(latest)
        pairs, blocks = latest.pairs, latest.blocks
        probabilities, diagonal = latest.model
        tangent = pairs[0].coordinates(like(tangent, self._Z))
        xp, shape = namespace(tangent), tuple(tangent.shape)
        diagonal = xp.repeat(diagonal, shape[1])

        # In orthonormal coordinates the matrix is one of moderate condition, and the
        # system need not be solved exactly to give a good direction. It is never
        # formed: each product with it takes two passes over the rows of J.
        def product(flat):
            direction, total = xp.reshape(flat, shape), 0.0
            for part, block, p in zip(pairs, blocks, probabilities, strict=True):
                # J = -slopes / 2 sigma^2, so that both together have 4 sigma^4.
                slopes = p * part.slopes(direction)
                slopes -= p * sum_of(slopes, axis=1, keepdims=True)
                slopes *= self._weights[block, None] / (4 * self._scale**2)
                total = total + part.pull_back(slopes)
            return xp.reshape(total, (-1,)) + diagonal * flat

        right, tol = xp.reshape(tangent, (-1,)), pairs[0].model_tol
        solution = _conjugate_gradients(product, right, diagonal, tol)
        solution = to_numpy(pairs[0].tangents(xp.reshape(solution, shape)))
        return type(vector)([solution])  # the sequence has an arithmetic of its own

    def _model(self, evaluation):
        """Probabilities, block by block, and diagonal (M,) of the curvature."""
        probabilities, diagonal = [], 0.0
        for part, block in zip(evaluation.pairs, evaluation.blocks, strict=True):
            p, size, pull = self._loss.curvature(
                part.squared_distances, self._y[block], self._scale
            )
            probabilities.append(p)
            # A prototype that no sample feels must not make the matrix singular.
            size = namespace(size).maximum(size, 1e-9 / self._scale)
            weights = part.curvature * self._weights[block]
            diagonal = diagonal + weights @ (_DAMPING * size + pull)
        return probabilities, diagonal

    def _evaluate(self, block, prototypes, scale, matrix, charted):
        Z, y, weights = self._Z[block, ...], self._y[block], self._weights[block]
        if charted is not None:
            flat = self._flat
            bounds = flat.space.squared_distances(flat.Z[block, ...], charted)
            pairs = self._space.pairs(Z, prototypes, bounds)
            pairs.resolve(lambda squared: self._loss.matter(squared, y, scale))
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
        scale_part = 0.0
        if self._scale is None:
            scale_part = np.array([float(weights @ of_log_scale)])
        if self._reduction is None:
            kept = pairs if self.has_curvature(prototypes) else None
            return kept, value, pairs.gradient(derivatives), scale_part, 0.0
        gradients = self._reduction.pull_back(
            Z,
            prototypes,
            matrix,
            pairs.sample_gradient(derivatives),
            pairs.gradient(derivatives),
        )
        return None, value, gradients[0], scale_part, gradients[1]


def _conjugate_gradients(product, right, diagonal, tol):
    """Solve a definite system to a relative residual, preconditioned by a diagonal."""
    xp = namespace(right)
    goal = tol**2 * xp.vecdot(right, right)
    solution, residual, direction, before = xp.zeros_like(right), right, None, None
    for _ in range(_MAX_STEPS):
        if xp.vecdot(residual, residual) <= goal:
            break
        scaled = residual / diagonal
        squared = xp.vecdot(residual, scaled)
        if direction is None:
            direction = scaled
        else:
            direction = scaled + squared / before * direction
        image = product(direction)
        step, before = squared / xp.vecdot(direction, image), squared
        solution = solution + step * direction
        residual = residual - step * image
    return solution


@dataclass
class _Evaluation:
    """A point, with its cost and gradients, and what its curvature is made of."""

    point: object = None
    cost: tuple = None
    blocks: list = None
    pairs: list = None
    model: tuple = None


class Congruence:
    """SPD samples become ``F.T @ X @ F``; the prototypes have that size."""

    manifold = Stiefel

    @staticmethod
    def apply(Z, prototypes, matrix):
        return matrix.T @ Z @ matrix, prototypes

    @staticmethod
    def pull_back(Z, prototypes, matrix, of_samples, of_prototypes):
        of_matrix = 2 * namespace(Z).sum(Z @ matrix @ of_samples, axis=0)
        return of_prototypes, of_matrix


class Relevance:
    """Vectors, samples and prototypes alike, are multiplied by a matrix."""

    manifold = Sphere

    @staticmethod
    def apply(Z, prototypes, matrix):
        return Z @ matrix.T, prototypes @ matrix.T

    @staticmethod
    def pull_back(Z, prototypes, matrix, of_samples, of_prototypes):
        of_matrix = of_samples.T @ Z + of_prototypes.T @ prototypes
        return of_prototypes @ matrix, of_matrix
