"""The cost of prototypes, its gradients, and a model of its curvature.

The cost of the prototypes W is the weighted sum of the losses of the samples,

    cost(W) = sum_i weights_i * loss(d_i1, ..., d_iM; y_i, scale),

where d_il is the squared distance of sample i from prototype l. The metric computes the
squared distances and their gradients (``_metrics.py``), and the loss the derivatives
with respect to the squared distances (``_losses.py``).
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from skgeom._prototypes._model import KEPT, in_tangent_space, sample_blocks
from skgeom.optim._manifolds import Euclidean, Product, Sphere
from skgeom.utils.array_api import like, linear_algebra, namespace, to_numpy
from skgeom.utils.threads import map_threads

# The relative residual at which the conjugate gradients in `Evaluation.solve` stop.
# Chosen in `bench_lvq.py fits`.
_RESIDUAL = 0.1
# The factor eta of `Evaluation.solve`. It makes the Gauss-Newton matrix positive
# definite, and is small enough for steps close to Newton steps. Chosen in
# `bench_lvq.py fits`.
_DAMPING = 0.02


class PrototypeCost:
    """Weighted sum of the losses of all samples, as a function of the prototypes.

    A point is an array of encoded prototypes. If the scale or a linear map is learned
    as well, a point is a list of the prototypes, the logarithm of the scale (1,) and
    the matrix of the map. Points and gradients are NumPy arrays, because the optimizer
    uses NumPy; all arrays with one row per sample have the namespace of the samples.

    Parameters
    ----------
    samples : EncodedSamples
    model : Model
        The metric and, if a linear map of the samples is learned, its initial matrix.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    scale : float or None
        The scale of the loss. With None, the logarithm of the scale is learned.
    """

    def __init__(self, samples, model, loss, scale=None):
        self.samples, self.model, self.loss, self.scale = samples, model, loss, scale
        self._latest = self._bounds = None
        if loss.active_pairs and model.metric.tangent_metric:
            self._bounds = in_tangent_space(samples, model)
        # Whether evaluations can solve, and their gradients fit into memory.
        n_kept = samples.Z.shape[0] * prod(model.prototypes.shape)
        is_fixed = scale is not None
        self.has_curvature = bool(loss.curvature) and is_fixed and n_kept <= KEPT

    def at(self, point):
        """The :class:`Evaluation` of the cost at a point.

        The last one is kept: an optimizer requests the value, the gradient and the
        preconditioner at the same point.
        """
        if self._latest is None or self._latest.point is not point:
            self._latest = self._evaluated(point)
        return self._latest

    def _evaluated(self, point):
        (prototypes, scale, matrix), tangents = self._split(point), None
        with linear_algebra():
            self.model.metric.check_representable(prototypes)
            if self._bounds is not None:
                tangents = self._bounds[1].metric.encode(prototypes)
            evaluate = partial(self._sums, prototypes, scale, matrix, tangents)
            blocks = sample_blocks(self.samples.Z.shape[0], prototypes)
            parallel = namespace(prototypes) is np
            parts = map_threads(evaluate, blocks, parallel=parallel)
        pairs, *sums = zip(*parts, strict=True)
        value, *gradients = (sum(part[1:], part[0]) for part in sums)
        gradients = [to_numpy(gradient) for gradient in gradients]
        gradient = gradients if len(gradients) > 1 else gradients[0]
        return Evaluation(self, point, float(value), gradient, blocks, pairs)

    def _sums(self, prototypes, scale, matrix, tangents, block):
        """Pairs, cost and gradients of a block; None replaces pairs not kept."""
        weights = self.samples.weights[block]
        Z, y = self.samples.Z[block, ...], self.samples.y[block]
        pairs = self._pairs_of(Z, y, prototypes, matrix, tangents, block)
        losses, derivatives, of_scale = self.loss(pairs.squared_distances, y, scale)
        derivatives = weights[:, None] * derivatives
        of_prototypes, others = pairs.gradient(derivatives), []
        if self.scale is None:
            others.append((weights @ of_scale)[None])
        if matrix is not None:
            of_samples = pairs.sample_gradient(derivatives)
            others.append(of_samples.T @ Z + of_prototypes.T @ prototypes)
            of_prototypes = of_prototypes @ matrix
        kept = pairs if self.has_curvature else None
        return kept, weights @ losses, of_prototypes, *others

    def _pairs_of(self, Z, y, prototypes, matrix, tangents, block):
        """The ``pairs`` of the metric for the samples of a block."""
        pairs = self.model.metric.pairs
        if self._bounds is not None:
            flat, model = self._bounds
            bound = model.metric.squared_distances(flat.Z[block, ...], tangents)
            found = pairs(Z, prototypes, at_least=bound)
            found.resolve(lambda squared: self.loss.active_pairs(squared, y))
            return found
        if matrix is not None:
            return pairs(Z @ matrix.T, prototypes @ matrix.T)
        return pairs(Z, prototypes)

    def point_of(self, model):
        """The point of a model."""
        # The logarithm keeps the scale positive, and makes its steps relative.
        log_scale = [np.log([model.scale])] if self.scale is None else []
        matrices = [] if model.matrix is None else [to_numpy(model.matrix)]
        point = [to_numpy(model.prototypes), *log_scale, *matrices]
        return point if len(point) > 1 else point[0]

    def model_at(self, point):
        """The model of a point."""
        prototypes, scale, matrix = self._split(point)
        parts = {"prototypes": prototypes, "scale": float(scale), "matrix": matrix}
        return replace(self.model, **parts)

    def _split(self, point):
        """Prototypes, scale and matrix of a point, on the device of the samples."""
        y, matrix = self.samples.y, None
        scale = self.scale if self.scale is not None else float(np.exp(point[1][0]))
        if self.model.matrix is not None:
            matrix = like(point[-1], y)
        prototypes = point[0] if isinstance(point, list) else point
        return like(prototypes, y), scale, matrix

    def manifold(self, point):
        """The manifold of points such as ``point``."""
        if not isinstance(point, list):
            return self.model.metric.manifold(point.shape)
        manifolds = [self.model.metric.manifold(point[0].shape)]
        if self.scale is None:
            manifolds.append(Euclidean(1))
        if self.model.matrix is not None:
            manifolds.append(Sphere(*point[-1].shape))
        return Product(manifolds)


@dataclass(frozen=True)
class Evaluation:
    """A cost at a point.

    Attributes
    ----------
    cost : PrototypeCost
    point : ndarray or list of ndarray
    value : float
        The cost.
    gradient : ndarray or list of ndarray
        Its gradients with respect to the parts of the point.
    blocks : list of slice
        Blocks of samples.
    pairs : tuple of VectorPairs or MatrixPairs
        The pairs of each block, if the cost has a curvature.
    """

    cost: PrototypeCost
    point: Any
    value: float
    gradient: Any
    blocks: list
    pairs: tuple

    def solve(self, vector):
        r"""Product of the inverse of a model H of the Hessian and a tangent vector.

        With the notation of :meth:`LikelihoodLoss.curvature`, the weights
        :math:`\omega_i` of the samples, and the Jacobian :math:`J_i` (M, M p) of the
        scores :math:`z_{il} = -\delta_{il}^2 / 2 \sigma^2` of sample i with respect to
        the coordinates of all prototypes, the model is

        .. math::

           H = \sum_i \omega_i J_i^\top (\operatorname{diag} p_i - p_i p_i^\top) J_i
           + D, \qquad
           D_l = \kappa \sum_i \omega_i (\eta \, s_{il} + r_{il}).

        The first term is the Gauss-Newton matrix. D is diagonal, with the same value
        :math:`D_l` for all coordinates of prototype l. It models the second derivatives
        of the squared distances, which the exact Hessian multiplies by the derivatives
        of the loss; :math:`\kappa I` (``curvature`` of the pairs) is their value for
        vectors, and approximates it for matrices near the samples.

        - :math:`r_{il} \ge 0` (``pull``) are the derivatives of the representability
          term, which are used in full.
        - :math:`s_{il} \ge 0` (``size``) are the absolute derivatives of the first term
          of the loss. The derivatives have both signs and could make H indefinite, so
          their absolute values replace them, with the factor :math:`\eta` = 0.02. This
          makes H positive definite.

        The negative part of the Hessian of the loss, which is nonzero for several
        prototypes per class, is omitted. Conjugate gradients solve the system. They use
        the gradients of the pairs, and require no further eigendecomposition.
        """
        samples, pairs = self.cost.samples, self.pairs
        probabilities, diagonal = self._curvature
        tangent = pairs[0].coordinates(like(vector, samples.y))
        shape, scale = tuple(tangent.shape), 2 * self.cost.scale
        right = to_numpy(tangent).ravel()
        diagonal = np.repeat(to_numpy(diagonal), shape[1])

        def coordinates(flat):
            return like(flat.reshape(shape), tangent)

        # In orthonormal coordinates, H has a moderate condition number, so an inexact
        # solution is a good direction. H is never formed: each product requires one JVP
        # and one VJP of the pairs.
        def product(flat):
            direction, total = coordinates(flat), 0.0
            for part, block, p in zip(pairs, self.blocks, probabilities, strict=True):
                # J = -jvp / 2 sigma^2, so the product of two J has 1 / 4 sigma^4.
                jvp = p * part.jvp(direction)
                jvp -= p * namespace(p).sum(jvp, axis=1, keepdims=True)
                jvp *= samples.weights[block, None] / scale / scale
                total = total + part.vjp(jvp)
            return to_numpy(total).ravel() + diagonal * flat

        size = len(right)
        solution, _ = cg(
            LinearOperator((size, size), product, dtype=float),
            right,
            rtol=_RESIDUAL,
            maxiter=size,  # enough iterations in exact arithmetic
            M=LinearOperator((size, size), lambda flat: flat / diagonal, dtype=float),
        )
        return to_numpy(pairs[0].tangents(coordinates(solution)))

    @cached_property
    def _curvature(self):
        """Probabilities p of each block, and the diagonal D (M,), for ``solve``."""
        probabilities, diagonal = [], 0.0
        for part, block in zip(self.pairs, self.blocks, strict=True):
            p, size, pull = self.cost.loss.curvature(
                part.squared_distances, self.cost.samples.y[block], self.cost.scale
            )
            probabilities.append(p)
            # A prototype with zero derivatives must not make the matrix singular.
            size = namespace(size).maximum(size, 1e-9 / self.cost.scale)
            weights = part.curvature * self.cost.samples.weights[block]
            diagonal = diagonal + weights @ (_DAMPING * size + pull)
        return probabilities, diagonal
