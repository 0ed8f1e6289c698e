"""Optimization of prototypes: Riemannian L-BFGS, stochastic steps, held-out weights."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from skgeom._prototypes._losses import class_log_densities, log_softmax
from skgeom._prototypes._metrics import Metric
from skgeom.optim import Euclidean, Product, Sphere, StartError, Stiefel, minimize
from skgeom.utils.array_api import (
    astype,
    average,
    like,
    linear_algebra,
    namespace,
    size_of,
    sum_of,
    take,
    to_numpy,
)
from skgeom.utils.estimator import current_progress
from skgeom.utils.linalg import turns
from skgeom.utils.threads import map_threads, one_blas_thread
from skgeom.utils.validation import warn_user

# Numbers in the matrices of a block of pairs: 16 MB, a few times over.
_BLOCK = 2_000_000

# Of blocks that are worth a thread, the numbers in their prototypes, once a sample: ten
# milliseconds of eigendecompositions, or a few of products of vectors.
_WORTHWHILE_MATRICES, _WORTHWHILE_VECTORS = 150_000, 600_000

# The most blocks, unless memory asks for more.
_BLOCKS = 8

# The same for an accelerator, which takes all of a block at once: half a gigabyte.
_DEVICE_BLOCK = 60_000_000

SINGULAR = (
    "The samples, or prototypes on their way, are too close to singular for this "
    "metric. Add a small multiple of the identity to X, or use a shrunk covariance "
    'estimate, such as pyriemann.estimation.Covariances("oas").'
)


@dataclass(frozen=True)
class Problem:
    """Samples as a metric encodes them, and prototypes to start from.

    Arrays are of the library of the samples, except for ``class_sums``, of numpy.

    Attributes
    ----------
    metric : Metric
        Where samples and prototypes live.
    X : ndarray
        The samples as they were given, before any reduction.
    Z, prototypes : ndarray
        Encoded samples, and encoded prototypes, class by class.
    y, labels : ndarray of int
        Class index of each sample, and of each prototype.
    counts : tuple of int
        The number of prototypes of each class.
    weights : ndarray
        Weights of the samples in training, positive: ``sample_weight`` times the
        weight of the class.
    class_sums : ndarray of shape (n_classes,)
        Sums of ``sample_weight`` of each class, since the last ``fit``, that one
        included, or over all calls of ``partial_fit`` so far.
    variance : float
        Half of the mean squared distance of the samples from the nearest prototype of
        their class, at the first start: a variance, the unit of scales and rates.
    start : ndarray
        The prototypes at the first start, not encoded.
    squared_distances : ndarray of shape (n_samples, n_prototypes) or None
        Those of the samples from the prototypes at the start; None if these are
        vectors, or go on from where they are.
    """

    metric: Metric
    X: np.ndarray
    Z: np.ndarray
    prototypes: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    counts: tuple
    weights: np.ndarray
    class_sums: np.ndarray
    variance: float
    start: np.ndarray
    squared_distances: np.ndarray | None = None

    def in_tangent_space(self):
        """The same problem in the tangent_metric of its metric, if that has one."""
        tangent_metric = self.metric.tangent_metric(self.prototypes)
        if tangent_metric is None:
            return None
        Z, prototypes = (
            tangent_metric.encode(self.Z),
            tangent_metric.encode(self.prototypes),
        )
        return replace(self, metric=tangent_metric, Z=Z, prototypes=prototypes)

    def start_cost(self, loss, scale):
        """The cost of the prototypes at the start."""
        return float(self.weights @ loss(self.squared_distances, self.y, scale)[0])

    @property
    def fraction_of_epoch(self):
        """What a call of ``partial_fit`` counts for in the schedule, in epochs.

        That is one, or less if the samples are fewer than the rows of the prototypes.
        """
        enough = self.size * self.labels.shape[0]
        return min(self.Z.shape[0] / enough, 1.0)

    @cached_property
    def size(self):
        """Number of rows of the matrices that are compared, or of features."""
        return self.metric.decode(self.prototypes[:1, ...]).shape[-1]


def sample_blocks(n_samples, prototypes):
    """Slices of the samples, to be compared with all prototypes by threads.

    They do not depend on the number of threads, so neither do sums over them.
    """
    size = size_of(prototypes)
    if namespace(prototypes) is not np:
        return list(gen_batches(n_samples, max(_DEVICE_BLOCK // size, 1)))
    enough = _WORTHWHILE_MATRICES if prototypes.ndim == 3 else _WORTHWHILE_VECTORS
    rows = max(-(-n_samples // _BLOCKS), enough // size)
    return list(gen_batches(n_samples, max(min(rows, _BLOCK // size), 1)))


def compare(squared_distances, Z, prototypes):
    """Squared distances (n, M), by threads and a function of samples and prototypes."""
    blocks = sample_blocks(Z.shape[0], prototypes)
    parts = map_threads(
        lambda block: squared_distances(Z[block, ...], prototypes),
        blocks,
        parallel=namespace(Z) is np,
    )
    return namespace(Z).concat(parts)


def find_variance(squared, y, labels, weights):
    """The ``variance`` of a :class:`Problem`, by the squared distances (n, M)."""
    xp, own = namespace(squared), labels == y[:, None]
    nearest = xp.min(xp.where(own, squared, np.inf), axis=1)
    variance, mean = float(average(nearest, weights)) / 2, float(xp.mean(squared))
    if variance > 1e-10 * mean:
        return variance
    # Samples that all lie on prototypes: what is left is the distance of those.
    return mean / 2 or 1.0


@dataclass(frozen=True)
class OptimizeResult:
    """What a solver found: the variables, and the loss on the way.

    Attributes
    ----------
    prototypes : ndarray
        The prototypes, encoded.
    scale : float
        The scale of the loss, as it was learnt or used last.
    losses : ndarray
        The loss, iteration by iteration.
    n_iter : int
        Number of iterations.
    matrix : ndarray or None
        The matrix of the reduction, if one was learnt.
    """

    prototypes: np.ndarray
    scale: float
    losses: np.ndarray
    n_iter: int
    matrix: np.ndarray | None = None


@dataclass(frozen=True)
class Progress:
    """What training leaves behind, besides the fitted attributes, to go on from.

    Attributes
    ----------
    metric_name : str
        The parameter ``metric``.
    counts : tuple of int
        The number of prototypes of each class.
    metric, prototypes
        Those of the outcome. Predictions compare with these: to decode prototypes that
        are nearly singular, and to encode them again, would cost digits.
    variance, start, class_sums
        Those of the problem.
    n_epochs : float
        How far ``partial_fit`` has come since the start, in epochs; infinite after
        ``fit``, which leaves the learning rate at its end.
    scale : float
        The scale of the loss that was used last.
    """

    metric_name: str
    counts: tuple
    metric: Metric
    prototypes: np.ndarray
    variance: float
    start: np.ndarray
    class_sums: np.ndarray
    n_epochs: float
    scale: float

    def __sklearn_array_api_convert__(self, converter):
        """A copy whose arrays are moved, for scikit-learn's ``move_estimator_to``."""
        return replace(
            self,
            metric=self.metric.__sklearn_array_api_convert__(converter),
            prototypes=converter(self.prototypes),
            start=converter(self.start),
        )


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
    metric : Metric
        Where the prototypes live.
    Z : ndarray
        The samples, encoded by the metric.
    y : ndarray of int
        Their classes.
    weights : ndarray
        Their weights.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    scale : float or None
        The scale of the loss. None: its logarithm is a variable, and the second part of
        a point, an array of shape (1,).
    reduction : BilinearProjection, Relevance or None
        What is done to the samples first. Its matrix is the last part of a point.
    flat : Problem or None
        The same problem in tangent coordinates. The distances there tell which
        prototypes are too far from a sample to matter.
    """

    def __init__(
        self, metric, Z, y, weights, loss, scale=None, reduction=None, flat=None
    ):
        self._metric = metric
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
            return self._evaluate(block, prototypes, scale, matrix, in_tangent)

        with linear_algebra():
            self._metric.check_representable(prototypes)
            in_tangent = (
                None if self._flat is None else self._flat.metric.encode(prototypes)
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
        manifolds = [self._metric.manifold(point[0].shape)]
        if self._scale is None:
            manifolds.append(Euclidean(1))
        if self._reduction is not None:
            manifolds.append(self._reduction.manifold(*point[-1].shape))
        return Product(manifolds)

    def has_curvature(self, prototypes):
        """Whether there is a model of the curvature that fits into memory."""
        return (
            self._metric.has_jvp
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
        everywhere among vectors, a lower bound for the affine-invariant metric, and an
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
                # J = -jvp / 2 sigma^2, so that both together have 4 sigma^4.
                jvp = p * part.jvp(direction)
                jvp -= p * sum_of(jvp, axis=1, keepdims=True)
                jvp *= self._weights[block, None] / (4 * self._scale**2)
                total = total + part.vjp(jvp)
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

    def _evaluate(self, block, prototypes, scale, matrix, in_tangent):
        Z, y, weights = self._Z[block, ...], self._y[block], self._weights[block]
        if in_tangent is not None:
            flat = self._flat
            bounds = flat.metric.squared_distances(flat.Z[block, ...], in_tangent)
            pairs = self._metric.pairs(Z, prototypes, bounds)
            pairs.resolve(lambda squared: self._loss.matter(squared, y, scale))
        elif self._reduction is None:
            pairs = self._metric.pairs(Z, prototypes)
        else:
            reduced = self._reduction.apply(Z, prototypes, matrix)
            pairs = self._metric.pairs(*reduced)
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
        gradients = self._reduction.vjp(
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


class BilinearProjection:
    """SPD samples become ``F.T @ X @ F``; the prototypes have that size."""

    manifold = Stiefel

    @staticmethod
    def apply(Z, prototypes, matrix):
        return matrix.T @ Z @ matrix, prototypes

    @staticmethod
    def vjp(Z, prototypes, matrix, of_samples, of_prototypes):
        of_matrix = 2 * namespace(Z).sum(Z @ matrix @ of_samples, axis=0)
        return of_prototypes, of_matrix


class Relevance:
    """Vectors, samples and prototypes alike, are multiplied by a matrix."""

    manifold = Sphere

    @staticmethod
    def apply(Z, prototypes, matrix):
        return Z @ matrix.T, prototypes @ matrix.T

    @staticmethod
    def vjp(Z, prototypes, matrix, of_samples, of_prototypes):
        of_matrix = of_samples.T @ Z + of_prototypes.T @ prototypes
        return of_prototypes @ matrix, of_matrix


# The tolerance in tangent coordinates, as a fraction of the given one.
_TANGENT_TOL = 0.1

# After it, if there is a model of the curvature, the last iteration is the first that
# lowers the cost by no more than this fraction of the tolerance.
_SETTLED = 0.02

# Without a model, the first iterations gain little, whether or not there is more to
# gain. So the rule of minimize decides, with this fraction of the tolerance: ten
# iterations from so near gain less than ten on the way from afar.
_CLOSER = 0.5


def fit_lbfgs(
    problem,
    loss,
    scale,
    *,
    learn_scale=False,
    reduction=None,
    matrix=None,
    max_iter,
    tol,
    enough=None,
    name,
    remedy="",
    report=None,
):
    """Minimise the loss of all samples of a problem together.

    Parameters
    ----------
    problem : Problem
        Samples, and prototypes to start from.
    loss : LikelihoodLoss or MarginLoss
        What is minimised.
    scale : float
        The scale of the loss; where to start, if ``learn_scale``.
    reduction : BilinearProjection, Relevance or None
        What is done to the samples, by a matrix that is learnt as well.
    matrix : ndarray or None
        Where that matrix starts.
    max_iter, tol
        As the parameters of the estimators.
    enough : float or None
        The mean loss at which the search ends; None is ``tol``.
    name : str
        The estimator, for messages.
    remedy : str, default=""
        What else may help a search that does not end.
    report : callable, default=None
        Called as ``report("iteration", loss, outcome)`` after each iteration, with a
        function that returns the outcome so far; the search ends if it returns True.

    Returns
    -------
    OptimizeResult
        With the loss at the start and after each iteration. The first iteration is the
        whole search in the tangent_metric, if there is one.

    Raises
    ------
    ValueError
        If the prototypes are singular, up to rounding, at the start.

    Warns
    -----
    ConvergenceWarning
        If the search does not end within ``max_iter`` iterations, or where numbers end.
    """
    total = float(namespace(problem.weights).sum(problem.weights))
    # Threads of BLAS are in the way of those of the cost where matrices are small.
    with one_blas_thread(problem.Z.ndim == 3):
        try:
            problem.metric.check_representable(problem.prototypes)
            flat = None if reduction else problem.in_tangent_space()
            fixed_scale = None if learn_scale else scale
            cost = _cost(problem, loss, fixed_scale, reduction, flat)
            matrix = None if matrix is None else to_numpy(matrix)
            point = cost.join(to_numpy(problem.prototypes), scale, matrix)
            # A warm start is nearer to the minimum than that in tangent coordinates.
            anew = flat is not None and problem.squared_distances is not None
            first = problem.start_cost(loss, scale) if anew else cost(point)[0]
        except np.linalg.LinAlgError:
            raise ValueError(SINGULAR) from None
        goal = (tol if enough is None else enough) * total
        search = _Search(problem, cost, max_iter, tol, goal, report, [first])
        if anew:
            flat_cost = _cost(flat, loss, fixed_scale)
            flat_point = flat_cost.join(to_numpy(flat.prototypes), scale)
            point = search.through_tangent_space(flat, flat_cost, flat_point, point)
        result = search.finish(point)
    if not result.converged:
        more, reason = "tol", result.reason
        if len(search.losses) > max_iter:
            # The first one was the search in the tangent_metric.
            more = "max_iter or tol"
            reason = f"max_iter={max_iter} iterations were made."
        warn_user(
            f"{name} did not converge: {reason} The prototypes found so far can "
            f"be used. Increase {more}{remedy}.",
            ConvergenceWarning,
        )
    return search.outcome(result.point)


@dataclass
class _Search:
    """A search for the minimum of a cost, and what it has reached so far.

    Attributes
    ----------
    problem : Problem
    cost : PrototypeCost
    max_iter, tol, report
        As the parameters of :func:`fit_lbfgs`.
    goal : float
        The cost at which the search ends.
    losses : list of float
        The cost at the start and after each iteration.
    settled : float
        The search ends if an iteration lowers the cost by no more than this fraction.
    """

    problem: Problem
    cost: PrototypeCost
    max_iter: int
    tol: float
    goal: float
    report: Callable | None
    losses: list
    settled: float = -np.inf

    def through_tangent_space(self, flat, flat_cost, start, point):
        """The minimum in tangent coordinates, or the point if that is better."""
        limits = {"max_iter": self.max_iter, "tol": _TANGENT_TOL * self.tol}
        try:
            found = _minimize(
                flat_cost, start, callback=self._note_in_tangent_space, **limits
            )
            prototypes, *others = found.point
            prototypes = flat.metric.decode(like(prototypes, flat.Z))
            found = [to_numpy(prototypes), *others]
            value, _ = self.cost(found)
        except (StartError, np.linalg.LinAlgError):
            return point
        if not value < self.losses[0]:
            return point
        self._note(found, value)
        if self.cost.has_curvature(found[0]):
            self.settled = _SETTLED * self.tol
        else:
            self.tol *= _CLOSER
        return found

    def finish(self, point):
        """Minimise the cost with the iterations that are left."""
        limits = {"max_iter": self.max_iter + 1 - len(self.losses), "tol": self.tol}
        return _minimize(self.cost, point, callback=self._note, **limits)

    def outcome(self, point):
        """The point, as an :class:`OptimizeResult`."""
        problem = self.problem
        prototypes, scale, matrix = self.cost.split(point)
        prototypes = like(prototypes, problem.Z)
        matrix = None if matrix is None else like(matrix, problem.Z)
        # A search may end at its start; scikit-learn wants one iteration even then.
        n_iter = max(len(self.losses) - 1, 1)
        losses = np.array(self.losses)
        return OptimizeResult(prototypes, float(scale), losses, n_iter, matrix)

    def _note(self, point, value):
        self.losses.append(value)
        outcome = partial(self.outcome, point)
        if self.report is not None and self.report("iteration", value, outcome):
            return True
        gain = self.losses[-2] - value
        return self._is_separated(value) or gain <= self.settled * abs(value)

    def _note_in_tangent_space(self, point, value):
        current_progress().note(f"search in the tangent space: loss {value:.6g}")
        return self._is_separated(value)

    def _is_separated(self, value):
        return value <= self.goal  # the classes are separated; go no farther


def _cost(problem, *options):
    data = problem.metric, problem.Z, problem.y, problem.weights
    return PrototypeCost(*data, *options)


def _minimize(cost, start, **options):
    """Minimise a cost, with the help of a model of its curvature if it has one."""
    curvature = cost.solve if cost.has_curvature(start[0]) else None
    manifold = cost.manifold(start)
    return minimize(cost, manifold, start, preconditioner=curvature, **options)


# The largest step away from a sample, as a fraction of the distance.
_REPULSION = 0.25


@dataclass(frozen=True)
class Schedule:
    """What changes with the epochs: a learning rate and a scale of the loss for each.

    ``batch_size`` samples make a step; ``shuffle``, a RandomState or None, orders them.
    """

    rates: list
    scales: list
    batch_size: int = 1
    shuffle: object = None


def decay(epoch, n_epochs):
    """Factor of the learning rate, a hundredth in the last epoch."""
    return 0.01 ** (epoch / n_epochs)


def falling(first_rates, weights):
    """Learning rates that fall from first rates, one for each epoch, to a hundredth.

    Steps are weighted by the samples; a common factor of the weights changes nothing.
    """
    mean_weight = float(namespace(weights).mean(weights))
    n_epochs = len(first_rates)
    return [
        rate * (decay(epoch, n_epochs) / mean_weight)
        for epoch, rate in enumerate(first_rates, start=1)
    ]


def fit_sgd(problem, loss, schedule, report=None):
    """Take the epochs of a schedule from the start of a problem.

    Parameters
    ----------
    problem : Problem
        Samples, and prototypes to start from.
    loss : LikelihoodLoss or MarginLoss
        What is minimised.
    schedule : Schedule
        Learning rates, scales of the loss, batches.
    report : callable, default=None
        Called as ``report("epoch", loss, outcome)`` after each epoch, with a function
        that returns the outcome so far; the epochs end if it returns True.

    Returns
    -------
    OptimizeResult
        With the sum of the losses met during each epoch.
    """
    steps = problem.metric.stochastic(problem.prototypes)
    losses = []

    def outcome(scale):
        # The steps go on in the same array.
        moving = steps.prototypes
        prototypes = astype(moving, moving.dtype, copy=True)
        return OptimizeResult(prototypes, float(scale), np.array(losses), len(losses))

    for rate, scale in zip(schedule.rates, schedule.scales, strict=True):
        order = np.arange(problem.Z.shape[0])
        if schedule.shuffle is not None:
            order = schedule.shuffle.permutation(order)
        options = scale, rate, order, schedule.batch_size
        try:
            with linear_algebra():
                losses.append(_epoch(steps, problem, loss, *options))
        except np.linalg.LinAlgError:
            raise ValueError(SINGULAR) from None
        if report is not None and report("epoch", losses[-1], partial(outcome, scale)):
            break
    return outcome(scale)


def _epoch(steps, problem, loss, scale, rate, order, batch_size):
    """One pass of stochastic steps; returns the sum of the losses met on the way."""
    total, Z = 0.0, problem.Z
    n_samples, order = len(order), like(order, Z)
    for batch in gen_batches(n_samples, batch_size):
        rows = order[batch]
        weights = take(problem.weights, rows)
        squared = steps.evaluate(take(Z, rows))
        losses, derivatives, _ = loss(squared, take(problem.y, rows), scale)
        total += weights @ losses
        # The gradient of a squared distance is -2 times the logarithm.
        coefficients = (2 * rate) * weights[:, None] * derivatives
        steps.move(bounded(coefficients))
    steps.refresh()
    return float(total)


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


# From nearly the class means to nearly the maximum of the likelihood. The finer of two
# grids tried: with ratios of 3.16, kappa of one BCI subject is .004 lower.
_WEIGHTS = np.logspace(0, -4, 13).tolist()
_N_FOLDS = 5
# With a model of the curvature, the first iteration that lowers the cost by no more
# than this fraction is the last: the next weight goes on from there.
_FOLD_SETTLED = 1e-2
# Of more samples, about so many are looked at: the choice then matters less.
_MOST_SAMPLES = 1_000


def best_weight(problem, make_loss, scale, **limits):
    """Largest weight whose score is not worse than the best one by a standard error.

    The score of a weight is the mean log probability of the class of held-out samples,
    with classes weighted equally; the standard error is that of the mean over the folds
    of paired differences from the best weight, a rule like that of [1]_. Weights are
    tried in decreasing order until the score decreases. Each optimization starts where
    the one with the weight before has ended.

    Parameters
    ----------
    problem : Problem
        Of vectors.
    make_loss : callable
        Maps a weight to a loss.
    scale : float
        The scale of the loss.
    limits
        ``max_iter`` and ``tol`` of the searches.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and
       Regression Trees", 1984, section 3.4.3: the rule of one standard error.
    """
    folds = _folds(problem)
    parts = [_Fold(problem, scale, folds, k, limits) for k in range(folds.max() + 1)]
    if len(parts) < 2:
        return _WEIGHTS[0]
    points, scores = [to_numpy(problem.prototypes)] * len(parts), []
    for weight in _WEIGHTS:
        loss = make_loss(weight)
        points = [part.search(loss, p) for part, p in zip(parts, points, strict=True)]
        found = [part.score(p) for part, p in zip(parts, points, strict=True)]
        scores.append(np.round(found, 6))
        if len(scores) > 1 and np.mean(scores[-1]) < np.mean(scores[-2]):
            break
    scores = np.array(scores)
    losses = scores[scores.mean(axis=1).argmax()] - scores
    errors = losses.std(axis=1, ddof=1) / np.sqrt(len(parts))
    return _WEIGHTS[np.argmax(losses.mean(axis=1) <= errors)]


@dataclass(frozen=True)
class _Fold:
    """A problem without the samples of a fold, which are held out."""

    problem: Problem
    scale: float
    folds: np.ndarray
    number: int
    limits: dict

    def search(self, loss, prototypes):
        """Prototypes of the other samples, from some that are near."""
        problem, is_rest = self.problem, (self.folds >= 0) & (self.folds != self.number)
        rest = like(is_rest, problem.Z)
        samples = problem.Z[rest], problem.y[rest], problem.weights[rest]
        cost = PrototypeCost(problem.metric, *samples, loss, self.scale)
        curvature = cost.solve if cost.has_curvature(prototypes) else None
        values = [np.inf]

        def note(point, value):
            said = f"search without fold {self.number}: loss {value:.6g}"
            current_progress().note(said)
            values.append(value)
            return curvature and values[-2] - value <= _FOLD_SETTLED * value

        start, options = [prototypes], {"preconditioner": curvature, "callback": note}
        manifold = cost.manifold(start)
        return minimize(cost, manifold, start, **options, **self.limits).point[0]

    def score(self, prototypes):
        """Mean log probability of the class of the samples held out."""
        problem, is_own = self.problem, self.folds == self.number
        own = like(is_own, problem.Z)
        squared = problem.metric.squared_distances(
            problem.Z[own], like(prototypes, problem.Z)
        )
        counts = np.repeat(problem.counts, problem.counts)
        even = like(-np.log(counts), problem.Z)
        scores = class_log_densities(squared, problem.counts, even, self.scale)
        y, weights = (to_numpy(a)[is_own] for a in (problem.y, problem.weights))
        weights = weights / np.bincount(y, weights)[y]
        found = to_numpy(log_softmax(scores))[np.arange(len(y)), y]
        return np.average(found, weights=weights)


def _folds(problem):
    """The fold of each sample; -1 for those that are left out, where these are many.

    Samples take turns by their distances from the prototypes of their class at first.
    """
    squared = problem.metric.squared_distances(problem.Z, problem.prototypes)
    y, labels = to_numpy(problem.y), to_numpy(problem.labels)
    squared = to_numpy(squared)
    own = np.where(labels == y[:, None], squared, np.inf).min(axis=1)
    order = turns(y, np.column_stack([own, squared]), problem.variance)
    n_distinct = sum(order[y == label].max() + 1 for label in np.unique(y))
    step = -(-n_distinct // _MOST_SAMPLES)
    return np.where(order % step == 0, order // step % _N_FOLDS, -1)
