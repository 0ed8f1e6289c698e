"""Training of prototypes: L-BFGS and stochastic steps.

The cost of the prototypes W is the weighted sum of the losses of the samples,

    cost(W) = sum_i weights_i * loss(d_i1, ..., d_iM; y_i, scale),

where d_il is the squared distance of sample i from prototype l. The metric computes the
squared distances and their gradients (``_metrics.py``), and the loss the derivatives
with respect to the squared distances (``_losses.py``).
"""

from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np
from scipy.sparse import diags_array
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from skgeom._prototypes._metrics import Metric
from skgeom.optim._manifolds import Euclidean, Product, Sphere
from skgeom.optim._minimize import StartError, minimize
from skgeom.utils.array_api import (
    average,
    like,
    linear_algebra,
    namespace,
    take,
    to_numpy,
)
from skgeom.utils.progress import current_progress
from skgeom.utils.threads import map_threads
from skgeom.utils.warn import warn_user

# Matrix entries of all pairs of samples and prototypes in one block, which one thread
# processes: ten milliseconds of eigendecompositions. Chosen in `bench_lvq.py fits`.
_BLOCK = 250_000
# The same number for vectors. With a quarter of it, fits of ETH-80 take up to 1.5 times
# as long. Chosen in `bench_lvq.py fits`.
_VECTOR_BLOCK = 1_000_000
# Largest number of entries of the matrices or gradients of pairs that are in memory at
# the same time, 256 MiB: those stored for the curvature, and those of a block on a GPU.
# Four times the number for the largest matrices of `bench_lvq.py fits`, with 64
# channels.
_KEPT = 2**25


@contextmanager
def explain_singular():
    """Convert the error of a factorization to a ValueError with cause and remedy."""
    try:
        with linear_algebra():
            yield
    except np.linalg.LinAlgError:
        raise ValueError(
            "The samples, or prototypes during training, are too close to singular for "
            "this metric. Add 0.001 of its mean diagonal entry to the diagonal of each "
            "matrix, or use a shrunk covariance estimate, such as "
            'pyriemann.estimation.Covariances("oas").'
        ) from None


@dataclass(frozen=True)
class Training:
    """The encoded samples and the prototypes of a fit.

    Arrays have the namespace and device of the samples; ``class_sums`` is a NumPy
    array. A fitted estimator stores a copy without samples.

    Attributes
    ----------
    metric_name : str
        The parameter ``metric``.
    metric : Metric
        The fitted metric, which encodes samples and prototypes.
    counts : tuple of int
        The number of prototypes of each class; in ``partial_fit``, 0 before the first
        sample of the class.
    labels : ndarray of int
        Class index of each prototype.
    prototypes : ndarray
        Encoded prototypes, class by class. Predictions use these instead of
        ``prototypes_``, because decoding and encoding a nearly singular prototype would
        lose precision.
    start : ndarray
        The initial prototypes of the first fit, encoded.
    variance : float
        The automatic sigma^2: half of the mean squared distance of the samples from the
        nearest initial prototype of their class.
    class_sums : ndarray of shape (n_classes,)
        Sums of ``sample_weight`` in each class: of the last ``fit`` and all later calls
        of ``partial_fit``, or of all calls of ``partial_fit``.
    X : ndarray or None
        The samples before the reduction to ``n_components`` and the encoding.
    Z, y, weights : ndarray or None
        Encoded samples, their class indices, and their weights in training:
        ``sample_weight`` times the weight of the class, positive.
    groups : ndarray of int or None
        Indices of groups of samples that are held out together.
    refit : callable or None
        Maps the trainings with the remaining and with the held-out samples of a fold to
        both trainings, encoded by a fit to the remaining samples. None if the encoding
        does not depend on labels.
    scale : float or None
        The scale of the loss in the last fit; None in the first fit.
    n_epochs : float
        Number of epochs of ``partial_fit`` so far, which determines the learning rate.
        Infinite after ``fit``: the learning rate then keeps its final value.
    announced : bool
        Whether ``partial_fit`` received all classes, so that no class can be added.
    """

    metric_name: str
    metric: Metric
    counts: tuple
    labels: np.ndarray
    prototypes: np.ndarray
    start: np.ndarray
    variance: float
    class_sums: np.ndarray
    X: np.ndarray | None = None
    Z: np.ndarray | None = None
    y: np.ndarray | None = None
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    refit: Callable | None = None
    scale: float | None = None
    n_epochs: float = np.inf
    announced: bool = False

    @property
    def n_classes(self):
        """Number of classes that have prototypes."""
        return np.count_nonzero(self.counts)

    def with_classes(self, known):
        """The same prototypes with more classes, where the mask is false."""
        places = np.cumsum(known) - 1
        counts = np.where(known, np.array(self.counts)[places], 0)
        return replace(
            self._with_counts(counts),
            class_sums=np.where(known, to_numpy(self.class_sums)[places], 0.0),
        )

    def with_prototypes(self, added, start):
        """More initial prototypes ``start`` of classes without prototypes, (n,)."""
        counts = np.array(self.counts)
        order = np.concatenate([np.arange(len(n)).repeat(n) for n in (counts, added)])
        order = like(np.argsort(order, kind="stable"), self.labels)
        xp = namespace(start)
        arrays = {
            name: take(xp.concat([getattr(self, name), start]), order)
            for name in ("prototypes", "start")
        }
        return replace(self._with_counts(counts + added), **arrays)

    def _with_counts(self, counts):
        labels = like(np.arange(len(counts)).repeat(counts), self.labels)
        return replace(self, counts=tuple(counts.tolist()), labels=labels)

    def __sklearn_array_api_convert__(self, converter):
        """A copy whose arrays are moved, for scikit-learn's ``move_estimator_to``."""
        return replace(
            self,
            metric=self.metric.__sklearn_array_api_convert__(converter),
            labels=converter(self.labels),
            prototypes=converter(self.prototypes),
            start=converter(self.start),
        )


@dataclass(frozen=True)
class TrainingResult:
    """The result of a solver, and the losses of its iterations.

    Attributes
    ----------
    prototypes : ndarray
        The prototypes, encoded.
    scale : float
        The learned scale of the loss, or the scale of the last epoch.
    losses : ndarray
        The cost of each iteration or epoch; for L-BFGS, preceded by the initial cost.
    n_iter : int
        Number of iterations or epochs.
    matrix : ndarray or None
        The matrix Omega of :class:`Relevance`, if it was learned.
    """

    prototypes: np.ndarray
    scale: float
    losses: np.ndarray
    n_iter: int
    matrix: np.ndarray | None = None


def sample_blocks(n_samples, prototypes):
    """Slices of the samples, the blocks that threads process.

    The slices do not depend on the number of threads, so sums over blocks do not depend
    on it either.
    """
    numbers = _BLOCK if prototypes.ndim == 3 else _VECTOR_BLOCK
    numbers = numbers if namespace(prototypes) is np else _KEPT
    return list(gen_batches(n_samples, max(numbers // prod(prototypes.shape), 1)))


def compare(squared_distances, Z, prototypes):
    """Squared distances (n, M), computed by threads in blocks of samples.

    ``squared_distances`` is a function of samples and prototypes.
    """
    parts = map_threads(
        lambda block: squared_distances(Z[block, ...], prototypes),
        sample_blocks(Z.shape[0], prototypes),
        parallel=namespace(Z) is np,
    )
    return namespace(prototypes).concat(parts)


def find_variance(squared, y, labels, weights):
    """The ``variance`` of :class:`Training`, from the squared distances (n, M)."""
    xp, own = namespace(squared), labels == y[:, None]
    nearest = xp.min(xp.where(own, squared, np.inf), axis=1)
    variance, mean = float(average(nearest, weights)) / 2, float(xp.mean(squared))
    if variance > 1e-10 * mean:
        return variance
    # All samples equal a prototype: use the distances between prototypes.
    return mean / 2 or 1.0


# Share of the amplitude in the variance. With a larger share, the accuracy with the
# metric "riemann" decreases by more than two points (simulated matrices). The share is
# at most 0.32 on BCI IV 2a, SSVEP, ERP and ETH-80.
_AMPLITUDE_SHARE = 0.9


def warn_if_amplitudes_vary(training):
    r"""Warn if samples of a class differ mainly by a factor in the metric "riemann".

    The squared distance of a matrix X of size n from its multiple c X is
    :math:`n \log^2 c`, and log det(c X) is log det X + n log c.
    """
    X, y, weights = map(to_numpy, (training.X, training.y, training.weights))
    # The variance is that of reduced matrices with ``n_components``, and that around
    # several prototypes otherwise.
    if X.shape != training.Z.shape or max(training.counts) > 1 or len(X[0]) == 1:
        return
    log_dets = np.linalg.slogdet(X)[1]
    log_dets -= (np.bincount(y, weights * log_dets) / np.bincount(y, weights))[y]
    squared_distance = 2 * training.variance
    share = np.average(log_dets**2, weights=weights) / len(X[0]) / squared_distance
    if share > _AMPLITUDE_SHARE:
        warn_user(
            f"{100 * share:.0f} % of the within-class variance is due to the amplitude "
            "(a factor) of the matrices, which hides other differences in the metric "
            "'riemann'. If the amplitude contains no information about the class, "
            "divide each matrix by its trace.",
            UserWarning,
        )


# The relative residual at which the conjugate gradients in `PrototypeCost.solve` stop.
# Chosen in `bench_lvq.py fits`.
_RESIDUAL = 0.1
# The factor eta of `PrototypeCost.solve`. It makes the Gauss-Newton matrix positive
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
    training : Training
        Samples and metric.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    scale : float or None
        The scale of the loss. With None, the logarithm of the scale is learned.
    reduction : Relevance or None
        Linear map of the samples, whose matrix is learned.
    """

    def __init__(self, training, loss, scale=None, reduction=None):
        self._training, self._loss = training, loss
        self._scale, self._reduction = scale, reduction
        self._bounds = None
        if loss.active_pairs and training.metric.tangent_metric:
            self._bounds = in_tangent_space(training)
        self._point = None

    def __call__(self, point):
        """Cost, and its gradients for all parts of the point."""
        if self._point is point:
            return self._value
        (prototypes, scale, matrix), tangents = self.split(point), None
        with linear_algebra():
            self._training.metric.check_representable(prototypes)
            if self._bounds is not None:
                tangents = self._bounds.metric.encode(prototypes)
            evaluate = partial(self._sums, prototypes, scale, matrix, tangents)
            self._blocks = sample_blocks(self._training.Z.shape[0], prototypes)
            parallel = namespace(prototypes) is np
            parts = map_threads(evaluate, self._blocks, parallel=parallel)
        self._pairs, *sums = zip(*parts, strict=True)
        value, *gradients = (sum(part[1:], part[0]) for part in sums)
        gradients = [to_numpy(gradient) for gradient in gradients]
        self._value = float(value), gradients if len(gradients) > 1 else gradients[0]
        self._point, self._model = point, None
        return self._value

    def _sums(self, prototypes, scale, matrix, tangents, block):
        """Pairs, cost and gradients of a block; None replaces pairs not kept."""
        weights = self._training.weights[block]
        Z, y = self._training.Z[block, ...], self._training.y[block]
        pairs = self._pairs_of(Z, y, prototypes, matrix, tangents, block)
        losses, derivatives, of_scale = self._loss(pairs.squared_distances, y, scale)
        derivatives = weights[:, None] * derivatives
        of_prototypes, others = pairs.gradient(derivatives), []
        if self._scale is None:
            others.append((weights @ of_scale)[None])
        if matrix is not None:
            of_samples = pairs.sample_gradient(derivatives)
            others.append(of_samples.T @ Z + of_prototypes.T @ prototypes)
            of_prototypes = of_prototypes @ matrix
        kept = pairs if self.has_curvature() else None
        return kept, weights @ losses, of_prototypes, *others

    def _pairs_of(self, Z, y, prototypes, matrix, tangents, block):
        """The ``pairs`` of the metric for the samples of a block."""
        pairs, bounds = self._training.metric.pairs, self._bounds
        if bounds is not None:
            bound = bounds.metric.squared_distances(bounds.Z[block, ...], tangents)
            found = pairs(Z, prototypes, at_least=bound)
            found.resolve(lambda squared: self._loss.active_pairs(squared, y))
            return found
        if matrix is not None:
            return pairs(Z @ matrix.T, prototypes @ matrix.T)
        return pairs(Z, prototypes)

    def join(self, prototypes, scale, matrix=None):
        """The point with the given prototypes, scale and matrix of the linear map."""
        # The logarithm keeps the scale positive, and makes its steps relative.
        log_scale = [np.log([scale])] if self._scale is None else []
        matrices = [] if matrix is None else [to_numpy(matrix)]
        point = [to_numpy(prototypes), *log_scale, *matrices]
        return point if len(point) > 1 else point[0]

    def split(self, point):
        """Prototypes, scale and matrix of a point, on the device of the samples."""
        scale = self._scale if self._scale is not None else float(np.exp(point[1][0]))
        matrix = None if self._reduction is None else like(point[-1], self._training.y)
        prototypes = point[0] if isinstance(point, list) else point
        return like(prototypes, self._training.y), scale, matrix

    def manifold(self, point):
        """The manifold of points such as ``point``."""
        if not isinstance(point, list):
            return self._training.metric.manifold(point.shape)
        manifolds = [self._training.metric.manifold(point[0].shape)]
        if self._scale is None:
            manifolds.append(Euclidean(1))
        if self._reduction is not None:
            manifolds.append(Sphere(*point[-1].shape))
        return Product(manifolds)

    def has_curvature(self):
        """Whether :meth:`solve` is available, and its gradients fit into memory."""
        n_kept = self._training.Z.shape[0] * prod(self._training.prototypes.shape)
        is_fixed = self._scale is not None
        return bool(self._loss.curvature) and is_fixed and n_kept <= _KEPT

    def solve(self, point, vector):
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
        the gradients of the last evaluation of the cost, and require no further
        eigendecomposition.
        """
        self(point)  # returns stored results: the optimizer has evaluated this point
        if self._model is None:
            self._model = self._curvature()
        training, pairs = self._training, self._pairs
        probabilities, diagonal = self._model
        tangent = pairs[0].coordinates(like(vector, training.y))
        shape, scale = tuple(tangent.shape), 2 * self._scale
        right = to_numpy(tangent).ravel()
        diagonal = np.repeat(to_numpy(diagonal), shape[1])

        def coordinates(flat):
            return like(flat.reshape(shape), tangent)

        # In orthonormal coordinates, H has a moderate condition number, so an inexact
        # solution is a good direction. H is never formed: each product requires one JVP
        # and one VJP of the pairs.
        def product(flat):
            direction, total = coordinates(flat), 0.0
            for part, block, p in zip(pairs, self._blocks, probabilities, strict=True):
                # J = -jvp / 2 sigma^2, so the product of two J has 1 / 4 sigma^4.
                jvp = p * part.jvp(direction)
                jvp -= p * namespace(p).sum(jvp, axis=1, keepdims=True)
                jvp *= training.weights[block, None] / scale / scale
                total = total + part.vjp(jvp)
            return to_numpy(total).ravel() + diagonal * flat

        size = len(right)
        solution, _ = cg(
            LinearOperator((size, size), product, dtype=float),
            right,
            rtol=_RESIDUAL,
            maxiter=size,  # enough iterations in exact arithmetic
            M=diags_array(1 / diagonal),
        )
        return to_numpy(pairs[0].tangents(coordinates(solution)))

    def _curvature(self):
        """Probabilities p of each block, and the diagonal D (M,), for ``solve``."""
        probabilities, diagonal = [], 0.0
        for part, block in zip(self._pairs, self._blocks, strict=True):
            p, size, pull = self._loss.curvature(
                part.squared_distances, self._training.y[block], self._scale
            )
            probabilities.append(p)
            # A prototype with zero derivatives must not make the matrix singular.
            size = namespace(size).maximum(size, 1e-9 / self._scale)
            weights = part.curvature * self._training.weights[block]
            diagonal = diagonal + weights @ (_DAMPING * size + pull)
        return probabilities, diagonal


def in_tangent_space(training):
    """The training with samples and prototypes in the tangent space.

    The tangent space is at the mean of the prototypes.
    """
    with explain_singular():
        training.metric.check_representable(training.prototypes)
    metric = training.metric.tangent_metric(training.prototypes)
    Z, prototypes = metric.encode(training.Z), metric.encode(training.prototypes)
    return replace(training, metric=metric, Z=Z, prototypes=prototypes)


# Two tolerances as a fraction of ``tol``: the tolerance of the optimization in the
# tangent space, and the smallest decrease in a single Gauss-Newton iteration. Chosen in
# `bench_lvq.py fits`: with 1, the cost of ETH-80 is 6 % higher.
_PRECISE = 0.02


def minimize_cost(cost, point, note, least_decrease, **limits):
    """Minimize a :class:`PrototypeCost`, preconditioned by ``solve`` if available.

    ``note(point, value)`` is called after each iteration; the optimization stops if it
    returns True. With the preconditioner, the optimization also stops if one iteration
    decreases the cost by at most the fraction ``least_decrease``.
    """
    has_curvature, values = cost.has_curvature(), [np.inf]

    def callback(point, value):
        values.append(value)
        idle = values[-2] - value <= least_decrease * abs(value)
        return note(point, value) or (has_curvature and idle)

    try:
        return minimize(
            cost,
            cost.manifold(point),
            point,
            callback=callback,
            preconditioner=cost.solve if has_curvature else None,
            **limits,
        )
    except StartError:
        raise StartError(
            "The loss is not finite at the start. Use less extreme values of "
            "sigma2, sigma2_scale, representability or slope."
        ) from None


def tangent_minimum(training, loss, fixed_scale, scale, goal, limits):
    """Decoded prototypes and scale that minimize the cost in the tangent space.

    The tangent space is at the mean of the current prototypes. ``goal`` is the cost at
    which the optimization stops.
    """
    flat = in_tangent_space(training)
    cost = PrototypeCost(flat, loss, fixed_scale)

    def note(_, value):
        current_progress().note(f"search in the tangent space: loss {value:.6g}")
        return value <= goal

    start = cost.join(flat.prototypes, scale)
    found = minimize_cost(cost, start, note, _PRECISE * limits["tol"], **limits)
    prototypes, scale, _ = cost.split(found.point)
    return flat.metric.decode(prototypes), scale


def fit_lbfgs(
    training,
    loss,
    scale,
    *,
    learn_scale=False,
    reduction=None,
    matrix=None,
    max_iter,
    tol,
    loss_goal=None,
    name,
    report=None,
):
    """Minimize the loss of all samples together.

    Parameters
    ----------
    training : Training
        The samples and the initial prototypes.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    scale : float
        The scale of the loss, or its initial value if ``learn_scale`` is true.
    learn_scale : bool, default=False
        Whether the scale is learned.
    reduction : Relevance or None
        Linear map of the samples that is learned.
    matrix : ndarray or None
        The initial matrix of the linear map.
    max_iter, tol
        The parameters of the estimators.
    loss_goal : float or None
        The optimization stops at this mean loss; None is ``tol``.
    name : str
        Name of the estimator, for messages.
    report : callable, default=None
        Called as ``report("iteration", loss, result)`` after each iteration, where
        ``result`` is a function that returns the current :class:`TrainingResult`. The
        optimization stops if ``report`` returns True.

    Returns
    -------
    TrainingResult
        The result, with the initial cost and the cost after each iteration. A complete
        optimization in the tangent space, if there is one, is the first iteration.

    Raises
    ------
    ValueError
        If the initial prototypes are singular up to rounding, or the initial loss is
        not finite.

    Warns
    -----
    ConvergenceWarning
        If the optimization does not converge within ``max_iter`` iterations, or no step
        decreases the cost although the gradient is not zero.
    """
    if reduction is not None:
        training = reduction.training
    total = float(namespace(training.weights).sum(training.weights))
    goal = (tol if loss_goal is None else loss_goal) * total
    fixed_scale = None if learn_scale else scale
    with explain_singular():
        cost = PrototypeCost(training, loss, fixed_scale, reduction)
        point = cost.join(training.prototypes, scale, matrix)
        losses = [cost(point)[0]]

    def result_at(point):
        prototypes, found, matrix = cost.split(point)
        if reduction is not None:
            prototypes, matrix = reduction.restore(prototypes, matrix)
        # scikit-learn requires n_iter_ >= 1, even if the start is a minimum.
        n_iter = max(len(losses) - 1, 1)
        found = float(found), np.array(losses), n_iter
        return TrainingResult(prototypes, *found, matrix)

    def note(point, value):
        losses.append(value)
        result = partial(result_at, point)
        if report is not None and report("iteration", value, result):
            return True
        return value <= goal  # the classes are separated

    # A warm start is closer to the minimum than the optimum in the tangent space.
    if training.metric.tangent_metric and training.scale is None:
        with suppress(StartError, np.linalg.LinAlgError):
            limits = {"tol": _PRECISE * tol, "max_iter": max_iter}
            flat = tangent_minimum(training, loss, fixed_scale, scale, goal, limits)
            near = cost.join(*flat)
            if (value := cost(near)[0]) < losses[0]:
                point = near
                note(near, value)
    n_left = max_iter + 1 - len(losses)
    limits = {"tol": tol, "max_iter": n_left}
    found = minimize_cost(cost, point, note, _PRECISE * tol, **limits)
    if not found.converged:
        reason, remedy = found.reason, "tol"
        if len(losses) > max_iter:
            reason = f"The limit max_iter={max_iter} was reached."
            remedy = "max_iter or tol"
        warn_user(
            f"{name} did not converge: {reason} The prototypes found so far can "
            f"be used. Increase {remedy}.",
            ConvergenceWarning,
        )
    return result_at(found.point)


# The largest step away from a sample, as a fraction of the distance. Chosen in
# `bench_lvq.py solvers`: with 1, or without a limit, the cost for the smallest variance
# is 3 times as high.
_REPULSION = 0.25


def fit_sgd(training, loss, rates, scales, batch_size=1, shuffle=None, report=None):
    """Minimize the loss by stochastic gradient steps.

    Parameters
    ----------
    training : Training
        The samples and the initial prototypes.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    rates, scales : list of float
        Learning rate and scale of the loss in each epoch.
    batch_size : int, default=1
        Number of samples in each step.
    shuffle : RandomState, default=None
        Generator that shuffles the samples in each epoch; None keeps their order.
    report : callable, default=None
        Called as ``report("epoch", loss, result)`` after each epoch, where ``result``
        is a function that returns the current :class:`TrainingResult`. Training stops
        if ``report`` returns True.

    Returns
    -------
    TrainingResult
        The result, with the weighted sum of the losses in each epoch. The loss of a
        sample is computed before its step.
    """
    prototypes, losses = training.prototypes, []

    def result():
        return TrainingResult(prototypes, scale, np.array(losses), len(losses))

    for rate, scale in zip(rates, scales, strict=True):
        order = np.arange(training.Z.shape[0])
        if shuffle is not None:
            order = shuffle.permutation(order)
        total = 0.0
        with explain_singular():
            for batch in gen_batches(len(order), batch_size):
                rows = like(order[batch], training.y)
                Z = take(training.Z, rows)
                pairs = training.metric.pairs(Z, prototypes)
                weights = take(training.weights, rows)
                values, derivatives, _ = loss(
                    pairs.squared_distances, take(training.y, rows), scale
                )
                total += float(weights @ values)
                # The gradient of a squared distance is -2 times the logarithm.
                coefficients = bounded(2 * rate * weights[:, None] * derivatives)
                prototypes = training.metric.step(prototypes, pairs, coefficients)
        losses.append(total)
        if report is not None and report("epoch", total, result):
            break
    return result()


def bounded(coefficients):
    """Coefficients (n, M), scaled so that steps have a limited length.

    A prototype moves by the sum of the logarithms of the samples of the batch, times
    their coefficients. The positive coefficients of a prototype, which attract it, are
    scaled to a sum of at most 1: the prototype then moves no farther than the distance
    of the farthest attracting sample. The negative coefficients, which repel it, are
    scaled to a sum of at least -1/4. The paper has no such limits. Without limits, a
    small sigma^2 causes steps so long that prototypes do not return.
    """
    xp = namespace(coefficients)
    attract, repel = xp.maximum(coefficients, 0), xp.minimum(coefficients, 0)
    attract = attract / xp.maximum(xp.sum(attract, axis=0), 1)
    return attract + repel / xp.maximum(-xp.sum(repel, axis=0) / _REPULSION, 1)
