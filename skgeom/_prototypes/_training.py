"""Training of prototypes: Riemannian L-BFGS, stochastic steps, held-out weights."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf, prod

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from skgeom._held_out import (
    fit_temperature,
    held_out_folds,
    within_one_standard_error,
)
from skgeom._prototypes._losses import class_log_densities, log_sum, nearest_scores
from skgeom._prototypes._metrics import Metric
from skgeom.optim import Euclidean, Product, StartError, minimize
from skgeom.utils.array_api import (
    average,
    like,
    linear_algebra,
    namespace,
    sum_of,
    take,
    to_numpy,
)
from skgeom.utils.estimator import current_progress
from skgeom.utils.threads import map_threads, one_blas_thread
from skgeom.utils.validation import warn_user

# Numbers in the matrices of a block of pairs, which one thread processes at a time: ten
# milliseconds of eigendecompositions. Chosen in `bench_lvq.py fits`.
_BLOCK = 250_000
# The same for vectors: with a quarter, fits of ETH-80 take up to 1.5 times as long.
# Chosen in `bench_lvq.py fits`.
_VECTOR_BLOCK = 1_000_000
# Numbers in the matrices, or gradients, of pairs that are kept in memory together,
# 256 MiB: for the curvature, and for a block on a GPU. Four times the size of the
# largest matrices of `bench_lvq.py fits`, with 64 channels.
_KEPT = 2**25

SINGULAR = (
    "The samples, or prototypes on their way, are too close to singular for this "
    "metric. Add 0.001 of the mean diagonal entry times the identity to each, or "
    'use a shrunk covariance estimate, such as pyriemann.estimation.Covariances("oas").'
)


@dataclass(frozen=True)
class Training:
    """Samples as a metric encodes them, and the state of the prototypes.

    Arrays are of the library of the samples, except for ``class_sums``, of numpy. A
    fitted estimator keeps a copy without samples.

    Attributes
    ----------
    metric_name : str
        The parameter ``metric``.
    metric : Metric
        Where samples and prototypes live.
    counts : tuple of int
        The number of prototypes of each class.
    labels : ndarray of int
        Class index of each prototype.
    prototypes : ndarray
        Encoded prototypes, class by class. Predictions compare with them: to decode
        prototypes that are nearly singular, and to encode them again, would lose
        digits.
    start : ndarray
        The first prototypes, encoded.
    variance : float
        Half of the mean squared distance of the samples from the nearest prototype of
        their class, at the first start: a variance, the unit of scales and rates.
    class_sums : ndarray of shape (n_classes,)
        Sums of ``sample_weight`` of each class, since the last ``fit``, that one
        included, or over all calls of ``partial_fit`` so far.
    X : ndarray or None
        The samples as they were given, before any reduction.
    Z, y, weights : ndarray or None
        Encoded samples, their class indices, and their weights in training:
        ``sample_weight`` times the weight of the class, positive.
    scale : float or None
        The scale of the loss that was used last; None at the first start.
    n_epochs : float
        How far ``partial_fit`` has come since the start, in epochs; infinite after
        ``fit``, which leaves the learning rate at its end.
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
    scale: float | None = None
    n_epochs: float = np.inf

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
    """The variables that a solver found, and the losses of its iterations.

    Attributes
    ----------
    prototypes : ndarray
        The prototypes, encoded.
    scale : float
        The scale of the loss, as it was learned or used last.
    losses : ndarray
        The loss, iteration by iteration.
    n_iter : int
        Number of iterations.
    matrix : ndarray or None
        The matrix of the reduction, if one was learned.
    """

    prototypes: np.ndarray
    scale: float
    losses: np.ndarray
    n_iter: int
    matrix: np.ndarray | None = None


def sample_blocks(n_samples, prototypes):
    """Slices of the samples, to be compared with all prototypes by threads.

    They do not depend on the number of threads, so neither do sums over them.
    """
    numbers = _BLOCK if prototypes.ndim == 3 else _VECTOR_BLOCK
    numbers = numbers if namespace(prototypes) is np else _KEPT
    return list(gen_batches(n_samples, max(numbers // prod(prototypes.shape), 1)))


def compare(squared_distances, Z, prototypes):
    """Squared distances (n, M), by threads and a function of samples and prototypes."""
    parts = map_threads(
        lambda block: squared_distances(Z[block, ...], prototypes),
        sample_blocks(Z.shape[0], prototypes),
        parallel=namespace(Z) is np,
    )
    return namespace(prototypes).concat(parts)


def find_variance(squared, y, labels, weights):
    """The ``variance`` of :class:`Training`, by the squared distances (n, M)."""
    xp, own = namespace(squared), labels == y[:, None]
    nearest = xp.min(xp.where(own, squared, np.inf), axis=1)
    variance, mean = float(average(nearest, weights)) / 2, float(xp.mean(squared))
    if variance > 1e-10 * mean:
        return variance
    # All samples equal prototypes: use the distances between prototypes.
    return mean / 2 or 1.0


# The relative residual at which conjugate gradients for a system of the curvature stop.
# Chosen in `bench_lvq.py fits`.
_RESIDUAL = 0.1
# The part of the curvature without a sign that is added to the Gauss-Newton matrix. It
# makes the matrix definite, and steps remain nearly Newton steps. Chosen in
# `bench_lvq.py fits`.
_DAMPING = 0.02


class PrototypeCost:
    """Weighted sum of the losses of all samples, as a function of the prototypes.

    Samples, and all arrays with a row for each, are arrays of any library. Points and
    gradients are numpy's, as the optimization is: they are no larger than the
    prototypes. A point is an array of prototypes or, if more is learned, a list of
    prototypes, the logarithm of the scale (1,), and the matrix of the reduction.

    Parameters
    ----------
    training : Training
        Samples and metric.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    scale : float or None
        The scale of the loss. None: its logarithm is a variable.
    reduction : Relevance or None
        Linear map of the samples, whose matrix is a variable.
    """

    def __init__(self, training, loss, scale=None, reduction=None):
        self._training, self._loss = training, loss
        self._scale, self._reduction = scale, reduction
        self._bounds = None
        if loss.active_pairs and training.metric.tangent_metric:
            self._bounds = in_tangent_space(training)
        self._point = None

    def __call__(self, point):
        """Cost, and gradients for each part of the point."""
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
        """Pairs, or None if they are not kept, value and gradients of a block."""
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
            of_prototypes, of_matrix = self._reduction.vjp(
                Z, prototypes, matrix, of_samples, of_prototypes
            )
            others.append(of_matrix)
        kept = pairs if self.has_curvature() else None
        return kept, weights @ losses, of_prototypes, *others

    def _pairs_of(self, Z, y, prototypes, matrix, tangents, block):
        """Samples of a block, paired with all prototypes."""
        pairs, bounds = self._training.metric.pairs, self._bounds
        if bounds is not None:
            bound = bounds.metric.squared_distances(bounds.Z[block, ...], tangents)
            found = pairs(Z, prototypes, at_least=bound)
            found.resolve(lambda squared: self._loss.active_pairs(squared, y))
            return found
        if matrix is not None:
            return pairs(*self._reduction.apply(Z, prototypes, matrix))
        return pairs(Z, prototypes)

    def join(self, prototypes, scale, matrix=None):
        """The point of some prototypes, a scale and the matrix of the reduction."""
        # The logarithm keeps the scale positive, and makes steps relative to it.
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
        """The manifold of these points."""
        if not isinstance(point, list):
            return self._training.metric.manifold(point.shape)
        manifolds = [self._training.metric.manifold(point[0].shape)]
        if self._scale is None:
            manifolds.append(Euclidean(1))
        if self._reduction is not None:
            manifolds.append(self._reduction.manifold(*point[-1].shape))
        return Product(manifolds)

    def has_curvature(self):
        """Whether there is a model of the curvature that fits into memory."""
        n_kept = self._training.Z.shape[0] * prod(self._training.prototypes.shape)
        alone = self._scale is not None and self._reduction is None
        return bool(self._loss.curvature) and alone and n_kept <= _KEPT

    def solve(self, point, vector):
        r"""Inverse of a model of the curvature, times a tangent vector.

        The model is the Gauss-Newton matrix :math:`J^\top (\operatorname{diag} p - p
        p^\top) J`, J being the Jacobian of the scores for the prototypes, and a
        diagonal. The rest of the Hessian, which has no sign, is omitted: the second
        derivatives of the squared distances times the derivatives of the loss for these
        and, with several prototypes a class, the part of the correct class in the
        curvature of the loss. Instead, twice the absolute derivatives count by 0.02 in
        the diagonal, which makes the model positive definite. The derivatives of the
        representability, which are positive, count in full, with a multiple of the
        identity for the second derivatives of the squared distances, which is exact for
        vectors and, for matrices, near the samples. Systems are solved by conjugate
        gradients, none of which needs an eigendecomposition.
        """
        self(point)  # the optimization has just evaluated the cost here
        if self._model is None:
            self._model = self._curvature()
        training, pairs = self._training, self._pairs
        probabilities, diagonal = self._model
        tangent = pairs[0].coordinates(like(vector, training.y))
        xp, shape = namespace(tangent), tuple(tangent.shape)
        diagonal = xp.repeat(diagonal, shape[1])

        # In orthonormal coordinates the matrix is one of moderate condition, and an
        # inexact solution is a good direction. The matrix is never formed: each product
        # takes two passes over the rows of J.
        def product(flat):
            direction, total = xp.reshape(flat, shape), 0.0
            for part, block, p in zip(pairs, self._blocks, probabilities, strict=True):
                # J = -jvp / 2 sigma^2, so that both together have 4 sigma^4.
                jvp = p * part.jvp(direction)
                jvp -= p * sum_of(jvp, axis=1, keepdims=True)
                jvp *= (
                    training.weights[block, None]
                    / (2 * self._scale)
                    / (2 * self._scale)
                )
                total = total + part.vjp(jvp)
            return xp.reshape(total, (-1,)) + diagonal * flat

        solution = _conjugate_gradients(product, xp.reshape(tangent, (-1,)), diagonal)
        return to_numpy(pairs[0].tangents(xp.reshape(solution, shape)))

    def _curvature(self):
        """Probabilities, block by block, and diagonal (M,) of the curvature."""
        probabilities, diagonal = [], 0.0
        for part, block in zip(self._pairs, self._blocks, strict=True):
            p, size, pull = self._loss.curvature(
                part.squared_distances, self._training.y[block], self._scale
            )
            probabilities.append(p)
            # A prototype that no sample feels must not make the matrix singular.
            size = namespace(size).maximum(size, 1e-9 / self._scale)
            weights = part.curvature * self._training.weights[block]
            diagonal = diagonal + weights @ (_DAMPING * size + pull)
        return probabilities, diagonal


def _conjugate_gradients(product, right, diagonal):
    """Solve a definite system inexactly, preconditioned by a diagonal."""
    xp = namespace(right)
    goal = _RESIDUAL**2 * xp.vecdot(right, right)
    solution = direction = xp.zeros_like(right)
    residual, before = right, np.inf
    for _ in range(right.shape[0]):  # without rounding, these are enough
        if xp.vecdot(residual, residual) <= goal:
            break
        scaled = residual / diagonal
        squared = xp.vecdot(residual, scaled)
        direction = scaled + squared / before * direction
        image = product(direction)
        step, before = squared / xp.vecdot(direction, image), squared
        solution = solution + step * direction
        residual = residual - step * image
    return solution


def in_tangent_space(training):
    """The same training in the tangent space at the mean of the prototypes."""
    metric = training.metric.tangent_metric(training.prototypes)
    Z, prototypes = metric.encode(training.Z), metric.encode(training.prototypes)
    return replace(training, metric=metric, Z=Z, prototypes=prototypes)


# Tolerances of the optimization in tangent coordinates, and of a single iteration with
# curvature, as fractions of ``tol``. Chosen in `bench_lvq.py fits`: with
# 1, the cost of ETH-80 is 6 % higher.
_PRECISE = 0.02


def minimize_cost(cost, point, note, least_decrease, **limits):
    """Minimize a cost, with the help of a model of its curvature if it has one.

    ``note(point, value)`` is called after each iteration, and ends the optimization if
    it returns True. With a model of the curvature, the optimization also ends if the
    relative decrease of the cost in one iteration is at most ``least_decrease``.
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
            "The loss is not finite at the start. Use less extreme values of its "
            "parameters: sigma2, sigma2_scale, representability or slope."
        ) from None


def tangent_minimum(training, loss, fixed_scale, scale, goal, limits):
    """Prototypes and scale that minimize the cost in the tangent space."""
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
        Samples, and prototypes to start from.
    loss : LikelihoodLoss or MarginLoss
        The loss that is minimized.
    scale : float
        The scale of the loss; where to start, if ``learn_scale``.
    reduction, matrix : Relevance, ndarray, or None
        Linear map of the samples, whose matrix is learned as well, and its start.
    max_iter, tol
        As the parameters of the estimators.
    loss_goal : float or None
        The mean loss at which the optimization ends; None is ``tol``.
    name : str
        The estimator, for messages.
    report : callable, default=None
        Called as ``report("iteration", loss, result)`` after each iteration, with a
        function that returns the result so far; the optimization ends if it returns
        True.

    Returns
    -------
    TrainingResult
        With the loss at the start and after each iteration. The first iteration is the
        whole optimization in the tangent space, if there is one.

    Raises
    ------
    ValueError
        If the prototypes are singular, up to rounding, or the loss is not finite, at
        the start.

    Warns
    -----
    ConvergenceWarning
        If the optimization does not end within ``max_iter`` iterations, or where
        numbers end.
    """
    if reduction is not None:
        training = reduction.training
    goal = (tol if loss_goal is None else loss_goal) * float(
        sum_of(training.weights, axis=0)
    )
    fixed_scale = None if learn_scale else scale
    # If matrices are small, BLAS threads compete with the threads of the cost.
    with one_blas_thread(training.Z.ndim == 3):
        try:
            cost = PrototypeCost(training, loss, fixed_scale, reduction)
            point = cost.join(training.prototypes, scale, matrix)
            losses = [cost(point)[0]]
        except np.linalg.LinAlgError:
            raise ValueError(SINGULAR) from None

        def result_at(point):
            prototypes, found, matrix = cost.split(point)
            if reduction is not None:
                prototypes, matrix = reduction.restore(prototypes, matrix)
            # An optimization may end at its start; scikit-learn requires one iteration.
            n_iter = max(len(losses) - 1, 1)
            found = float(found), np.array(losses), n_iter
            return TrainingResult(prototypes, *found, matrix)

        def note(point, value):
            losses.append(value)
            result = partial(result_at, point)
            if report is not None and report("iteration", value, result):
                return True
            return value <= goal  # the classes are separated

        # A training that continues is nearer to its minimum than the tangent space is.
        is_curved = training.metric.tangent_metric and reduction is None
        if is_curved and training.scale is None:
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
# `bench_lvq.py solvers`: with 1, or none, the cost of the small variance is 3 times as
# high.
_REPULSION = 0.25


def decay(epoch, n_epochs):
    """Factor of the learning rate, a hundredth in the last epoch."""
    return 0.01 ** (epoch / n_epochs)


def fit_sgd(training, loss, rates, scales, batch_size=1, shuffle=None, report=None):
    """Take stochastic steps along the gradients of the loss, epoch by epoch.

    Parameters
    ----------
    training : Training
        Samples, and prototypes to start from.
    loss : LikelihoodLoss or MarginLoss
        The loss that is minimized.
    rates, scales : list of float
        Learning rate and scale of the loss of each epoch.
    batch_size : int, default=1
        Number of samples of a step.
    shuffle : RandomState, default=None
        Orders the samples of each epoch; None keeps their order.
    report : callable, default=None
        Called as ``report("epoch", loss, result)`` after each epoch, with a function
        that returns the result so far; the epochs end if it returns True.

    Returns
    -------
    TrainingResult
        With the sum of the losses met during each epoch.
    """
    prototypes, losses = training.prototypes, []

    def result():
        return TrainingResult(prototypes, scale, np.array(losses), len(losses))

    for rate, scale in zip(rates, scales, strict=True):
        order = np.arange(training.Z.shape[0])
        if shuffle is not None:
            order = shuffle.permutation(order)
        total, factors = 0.0, None  # factors start again: rounding would add up
        try:
            with linear_algebra():
                for batch in gen_batches(len(order), batch_size):
                    rows = like(order[batch], training.y)
                    Z = take(training.Z, rows)
                    pairs = training.metric.pairs(Z, prototypes, factors)
                    weights = take(training.weights, rows)
                    values, derivatives, _ = loss(
                        pairs.squared_distances, take(training.y, rows), scale
                    )
                    total += float(weights @ values)
                    # The gradient of a squared distance is -2 times the logarithm.
                    coefficients = bounded(2 * rate * weights[:, None] * derivatives)
                    step = training.metric.step
                    prototypes, factors = step(prototypes, pairs, coefficients)
        except np.linalg.LinAlgError:
            raise ValueError(SINGULAR) from None
        losses.append(total)
        if report is not None and report("epoch", total, result):
            break
    return result()


def bounded(coefficients):
    """Coefficients (n, M) whose sums over the samples are in bounds.

    A prototype moves by the sum over the batch of its coefficients times the logarithms
    of the samples. Positive coefficients, which attract, are made to sum to at most
    one, so that they do not lead farther than the farthest of their samples; negative
    ones, which repel, to at most a quarter, so that they lead at most a quarter as far
    as the farthest of theirs. The paper has no such bounds; without them, a small
    sigma^2 sends prototypes away for good.
    """
    xp = namespace(coefficients)
    attract, repel = xp.maximum(coefficients, 0), xp.minimum(coefficients, 0)
    attract = attract / xp.maximum(sum_of(attract, axis=0), 1)
    return attract + repel / xp.maximum(-sum_of(repel, axis=0) / _REPULSION, 1)


# From nearly the class means to nearly the maximum of the likelihood. With ratios of
# 3.16, kappa of one subject of BCI IV 2a in `bench_lvq.py metrics` is .004 lower.
_WEIGHTS = np.logspace(0, -4, 13)
# Largest number of samples that select the weight: it bounds the time of the selection
# for large data, as in `bench_growth.py`.
_MOST_SAMPLES = 1_000
# Enough held-out samples for one temperature. With 1,000, the log-loss of GMLVQ on
# digits and of GLRSQ on BCI IV 2a, whose classes are balanced, is equal within 2 %, and
# GMLVQ takes 2.5 times as long.
_FOR_TEMPERATURE = 200


def select_representability(training, make_loss, scale, **limits):
    """Largest weight whose score is within one standard error of the best score.

    The score of a weight is the mean log probability of the class of held-out samples,
    with classes weighted equally. The largest weight within one standard error of the
    best score is selected, as in [1]_, with the standard error of paired differences.
    Weights are tried in decreasing order until the score decreases. Each optimization
    starts at the result of the previous weight.

    Parameters
    ----------
    training : Training
        Of vectors.
    make_loss : callable
        Maps a weight to a loss.
    scale : float
        The scale of the loss.
    limits
        ``max_iter`` and ``tol`` of the optimizations.

    Returns
    -------
    weight : float
    means : dict of float
        The scores of the weights that were tried; empty if no sample can be held out.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and
       Regression Trees", 1984, section 3.4.3: the rule of one standard error.
    """
    sample, folds = _held_out_samples(training, _MOST_SAMPLES)
    weights = _WEIGHTS.tolist()
    parts = [
        (_subset(sample, folds != fold), _subset(sample, folds == fold))
        for fold in range(folds.max() + 1)
    ]
    if not parts:
        return weights[0], {}
    y, shares = to_numpy(sample.y), np.where(folds < 0, 0, to_numpy(sample.weights))
    sums = np.bincount(y, shares)
    shares = shares / (np.count_nonzero(sums) * np.where(sums > 0, sums, 1)[y])
    points = [to_numpy(training.prototypes)] * len(parts)
    scores, means = [], {}
    for weight in weights:
        found = np.zeros(len(folds))
        for fold, (rest, held_out) in enumerate(parts):

            def note(_, value, fold=fold):
                progress = current_progress()
                progress.note(f"search without fold {fold}: loss {value:.6g}")

            cost = PrototypeCost(rest, make_loss(weight), scale)
            options = {"least_decrease": limits["tol"], **limits}
            points[fold] = minimize_cost(cost, points[fold], note, **options).point
            found[folds == fold] = _log_probabilities(held_out, points[fold], scale)
        scores.append(found)
        means[weight] = round(float(shares @ scores[-1]), 6)
        if means[weight] < max(means.values()):
            break
    return weights[within_one_standard_error(scores, shares)], means


def select_temperature(training, held_out_distances):
    """Temperature of held-out squared distances, or None if no sample is held out.

    The scores of the classes are minus the squared distances from their nearest
    prototypes. Folds of a fifth of the samples are held out in turn until they hold
    ``_FOR_TEMPERATURE`` samples together: for large data, one fold is enough.

    Parameters
    ----------
    training : Training
    held_out_distances : callable
        Maps a training from the start, and the held-out samples, to squared distances.
    """
    training = replace(training, prototypes=training.start, scale=None)
    sample, folds = _held_out_samples(training)
    y, weights = to_numpy(sample.y), to_numpy(sample.weights)
    scores, found = np.empty((len(y), len(training.counts))), np.zeros(len(y), bool)
    for fold in np.unique(folds[folds >= 0]):  # of few samples, a fold may have none
        current_progress().note(f"training without fold {fold}")
        own = folds == fold
        squared = held_out_distances(_subset(sample, ~own), _subset(sample, own))
        scores[own] = to_numpy(nearest_scores(squared, training.counts))
        found |= own
        if np.count_nonzero(found) >= _FOR_TEMPERATURE:
            break
    if not found.any():
        return None
    return fit_temperature(scores[found], y[found], weights[found])


def _subset(training, rows):
    """The training with some of its samples, given by a mask or by their numbers."""
    rows = like(np.arange(training.Z.shape[0])[rows], training.y)
    names = "Z", "y", "weights"
    return replace(training, **{n: take(getattr(training, n), rows) for n in names})


def _log_probabilities(training, prototypes, scale):
    """Log probability of the class of each sample, where classes are equally likely."""
    prototypes = like(prototypes, training.y)
    squared = training.metric.squared_distances(training.Z, prototypes)
    counts = np.repeat(training.counts, training.counts)
    even = like(-np.log(counts), training.y)
    scores = class_log_densities(squared, training.counts, even, scale)
    scores = to_numpy(scores - log_sum(scores)[0][:, None])
    return scores[np.arange(len(scores)), to_numpy(training.y)]


def _held_out_samples(training, most=inf):
    """Training of distinct samples, or at most some of them, and the fold of each.

    Equal samples become one, of their summed weight. They are sorted by their distances
    from the first prototypes of their class, and dealt out in this order.
    """
    distances = training.metric.squared_distances
    squared = compare(distances, training.Z, training.prototypes)
    y, labels = to_numpy(training.y), to_numpy(training.labels)
    squared = to_numpy(squared)
    own = np.where(labels == y[:, None], squared, np.inf).min(axis=1)
    # In single precision, equal samples have equal distances, however they are rounded.
    distances = np.float32(1 + np.column_stack([own, squared]) / training.variance)
    keys = np.column_stack([y, distances])
    _, rows, copies = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    weights = np.bincount(copies.ravel(), to_numpy(training.weights))
    some = slice(None, None, max(ceil(len(rows) / most), 1))
    rows, weights = rows[some], like(weights[some], training.weights)
    sample = replace(_subset(training, rows), weights=weights)
    return sample, held_out_folds(np.arange(len(rows))[:, None], y[rows])
