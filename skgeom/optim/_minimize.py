"""A common interface of different optimizers of a cost on a manifold.

The optimizers evaluate the cost and the gradient separately, and each optimizer has
absolute stopping rules. ``_MonitoredProblem``, which calls the objective, computes cost
and gradient together, once per point. It counts the evaluations and applies relative
stopping rules when the optimizer requests the gradient, once per iteration.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgeom.optim._lbfgs import RiemannianLBFGS, rounding
from skgeom.optim._manifolds import as_pymanopt
from skgeom.utils.errors import naming

# Names of optimizers. All optimizers except the first one import pymanopt.
OPTIMIZERS = ("lbfgs", "conjugate-gradient", "trust-regions", "steepest-descent")

# Limits of an optimizer that are never reached.
_NO_LIMITS = {
    "max_time": np.inf,
    "max_iterations": np.iinfo(np.int64).max,
    "max_cost_evaluations": np.iinfo(np.int64).max,
    "min_gradient_norm": 0.0,
    "min_step_size": 0.0,
}

# The decrease of the cost is measured over this number of iterations: a few short steps
# on a plateau must not stop the optimizer (page "Constants").
_WINDOW = 10

# A gradient is zero up to rounding if its norm is below this fraction of the initial
# norm, or of the cost divided by the typical distance on the manifold
# (page "Constants").
_NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class MinimizeResult:
    """The result of :func:`minimize`.

    Attributes
    ----------
    point : point of the manifold
        The iterate with the lowest cost. Among iterates whose costs are equal up to
        rounding, the iterate with the smallest gradient.
    cost : float
        The cost of ``point``.
    gradient_norm : float
        Norm of the Riemannian gradient at ``point``.
    n_iter : int
        Number of iterations.
    n_evaluations : int
        Number of points at which cost and gradient were computed.
    converged : bool
        True if the callback stopped the optimization, if a rule for ``tol`` was met, or
        if the optimizer made no further progress and the gradient is zero up to
        rounding. False if the cost decreases until it overflows.
    reason : str
        Reason for stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from pymanopt.manifolds import Sphere
    >>> from skgeom.optim import minimize
    >>> def cost(x):
    ...     return x[0], np.array([1.0, 0.0])
    >>> result = minimize(cost, Sphere(2), np.array([0.6, 0.8]))
    >>> round(result.cost, 6), result.converged
    (-1.0, True)
    """

    point: Any
    cost: float
    gradient_norm: float
    n_iter: int
    n_evaluations: int
    converged: bool
    reason: str


def minimize(
    value_and_gradient,
    manifold,
    start,
    *,
    optimizer="lbfgs",
    max_iter=500,
    tol=1e-6,
    callback=None,
    preconditioner=None,
):
    r"""Minimize a cost with an analytic gradient on a manifold.

    The optimization stops when ten successive iterations together decrease the cost by
    at most ``tol * abs(cost)``, when the norm of the gradient is at most ``tol`` times
    its initial norm, when the optimizer makes no further progress, or after
    ``max_iter`` iterations. The first rule does not apply if one of the ten iterations
    shortened a step because the cost was infinite or NaN, as for a cost that is
    unbounded below. The stopping rules are relative: they do not change if the cost is
    multiplied by a positive constant. If ``optimizer`` is a name, there is no time
    limit, and nothing is printed. The function draws no random numbers.

    Parameters
    ----------
    value_and_gradient : callable
        Maps a point to ``(cost, euclidean_gradient)``. On a product manifold, a point
        and a gradient are lists of arrays. If the function raises
        ``numpy.linalg.LinAlgError``, or returns a cost or gradient with NaN or infinite
        values, the cost of the point is treated as infinite, and the optimizer tries a
        shorter step.
    manifold : pymanopt.manifolds.manifold.Manifold
        A manifold of pymanopt. For ``"lbfgs"``, any object with the methods
        ``euclidean_to_riemannian_gradient``, ``inner_product``, ``norm``,
        ``retraction`` and ``transport`` and the attribute ``typical_dist`` of
        pymanopt's manifolds is accepted.
    start : point of the manifold
        The initial point, an array-like; on a product manifold, a list of array-likes.
        Not modified.
    optimizer : str or pymanopt.optimizers.optimizer.Optimizer, default="lbfgs"
        ``"lbfgs"``, ``"conjugate-gradient"``, ``"trust-regions"`` (which approximates
        the Hessian by differences of gradients), ``"steepest-descent"``, or an instance
        of a gradient-based optimizer of pymanopt or of :class:`RiemannianLBFGS`. The
        limits of an instance apply in addition to ``max_iter`` and ``tol``, and an
        instance may print messages. All optimizers except ``"lbfgs"`` and
        ``RiemannianLBFGS`` require pymanopt.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative tolerance. With 0, the optimizer runs until it makes no further
        progress or reaches ``max_iter``.
    callback : callable, default=None
        Called as ``callback(point, cost)`` with the best iterate so far after each
        iteration; the optimization stops if it returns True.
    preconditioner : callable, default=None
        Maps a point and a tangent vector to the product of a symmetric positive
        definite approximation of the inverse Hessian of the cost and the vector. Use it
        with ``"lbfgs"`` or ``"conjugate-gradient"``.

    Returns
    -------
    MinimizeResult
        The best point, the numbers of iterations and evaluations, and the reason for
        stopping.

    Raises
    ------
    ValueError
        If ``start`` is not an array of numbers, or not a list of one array for each
        manifold of a product; if the cost or its gradient at ``start`` is infinite or
        NaN; or if ``optimizer`` is none of the supported names or instances.

    Examples
    --------
    Compute the unit vector closest to a given vector:

    >>> import numpy as np
    >>> from pymanopt.manifolds import Sphere
    >>> from skgeom.optim import minimize
    >>> target = np.array([3.0, 4.0])
    >>> def cost(x):
    ...     return ((x - target) ** 2).sum(), 2 * (x - target)
    >>> result = minimize(cost, Sphere(2), np.array([1.0, 0.0]), tol=1e-9)
    >>> result.point.round(6)
    array([0.6, 0.8])
    """
    solver = _make_optimizer(optimizer)
    start = _checked_start(start, manifold)
    if not isinstance(solver, RiemannianLBFGS):
        manifold = as_pymanopt(manifold)
    problem = _MonitoredProblem(
        value_and_gradient, manifold, max_iter, tol, callback, preconditioner
    )
    if optimizer == "lbfgs":
        solver.preconditioned = preconditioner is not None
    # The absolute limits of an instance refer to the cost without scaling.
    problem.begin(start, isinstance(optimizer, str))
    try:
        result = solver.run(problem, initial_point=start)
    except _Stop as stop:
        return problem.result(*stop.args)
    problem.record(result.point)  # steepest descent does not request its gradient
    reason = result.stopping_criterion
    return problem.result(reason, "grad norm" in reason or problem.is_stationary())


def _make_optimizer(optimizer):
    """The given instance, or a new optimizer without limits for a name."""
    if hasattr(optimizer, "run") and not isinstance(optimizer, type):
        return optimizer
    if optimizer not in OPTIMIZERS:
        raise ValueError(
            f"optimizer must be one of {sorted(OPTIMIZERS)} or an instance of "
            f"pymanopt's Optimizer, got {optimizer!r}."
        )
    if optimizer == "lbfgs":
        return RiemannianLBFGS(**_NO_LIMITS)
    import pymanopt.optimizers

    name = optimizer.title().replace("-", "")  # such as ConjugateGradient
    return getattr(pymanopt.optimizers, name)(**_NO_LIMITS, verbosity=0)


def _checked_start(start, manifold):
    """The start as an array of floats; a list of arrays on a product of manifolds.

    A sequence of arrays of different shapes is otherwise returned unchanged, because
    points of some manifolds, such as matrices of fixed rank, have several parts.
    """
    manifolds = getattr(manifold, "manifolds", None)
    if manifolds is not None:
        if not hasattr(start, "__len__") or len(start) != len(manifolds):
            raise ValueError(
                f"start must be a list of {len(manifolds)} points, one per manifold "
                f"of the product, got {start!r}."
            )
        return [_checked_start(*pair) for pair in zip(start, manifolds, strict=True)]
    parts = start if isinstance(start, list | tuple) else []
    shapes = {part.shape for part in parts if isinstance(part, np.ndarray)}
    if len(shapes) > 1:
        return start
    with naming("start"):
        point = np.asarray(start)
    if point.dtype.kind not in "biufc":
        raise ValueError(f"start must be an array of numbers, got {start!r}.")
    return point if point.dtype.kind in "fc" else point.astype(np.float64)


class StartError(ValueError):
    """The cost or its gradient is infinite or NaN at the start."""


class _Stop(Exception):
    """Stops an optimizer; arguments are the reason and whether it has converged."""


class _MonitoredProblem:
    """An objective with a cache, counters and stopping rules.

    The class has the attributes of ``pymanopt.Problem`` that optimizers use.
    """

    def __init__(
        self, value_and_gradient, manifold, max_iter, tol, callback, preconditioner
    ):
        self.manifold = manifold
        self._value_and_gradient = value_and_gradient
        self._max_iter = max_iter
        self._tol = tol
        self._callback = callback
        self._preconditioner = preconditioner
        self._unit = 1.0
        self._latest = self._iterate = None
        self._best = None
        self._last_failure = -np.inf
        self._costs = []
        self._first_norm = None
        self._n_evaluations = 0

    def begin(self, start, normalized):
        """Evaluate the start.

        If ``normalized``, the cost is divided by the norm of its gradient at the start,
        because some optimizers, such as trust regions, have absolute thresholds.
        """
        cost, _, norm = self._evaluate(start)
        if not np.isfinite(cost):
            raise StartError(
                "The cost or its gradient at the start is not finite. Choose a "
                "different start, or rescale the cost."
            )
        self._first_norm = norm
        if normalized and norm > 0:
            self._unit = norm

    def cost(self, point):
        """The cost; an evaluation that is not stored computes the gradient as well."""
        return self._evaluate(point)[0] / self._unit

    def riemannian_gradient(self, point):
        """The gradient at the next iterate; raises _Stop if a stopping rule is met."""
        if not self.record(point):
            raise _Stop("No step decreases the cost.", self.is_stationary())
        if self._callback is not None and len(self._costs) > 1:
            if self._callback(self._best[1], self._best[0]):
                raise _Stop("The callback stopped the optimization.", True)
        _, gradient, norm = self._evaluate(point)
        self._stop_if_done(norm)
        return gradient / self._unit

    def record(self, point):
        """Record an iterate; return whether it differs from the previous one."""
        if self._iterate is not None and _same(self._iterate[0], point):
            return False
        cost, _, norm = evaluated = self._evaluate(point)
        self._iterate = point, evaluated
        self._costs.append(cost)
        best_cost, _, best_norm = self._best or (np.inf, None, np.inf)
        is_equal = abs(cost - best_cost) <= rounding(best_cost)
        if self._best is None or (norm < best_norm if is_equal else cost < best_cost):
            self._best = cost, point, norm
        return True

    def riemannian_hessian(self, point, vector):
        """The derivative of the gradient along a vector, by a forward difference."""
        norm = self.manifold.norm(point, vector)
        if norm == 0:
            return vector
        _, gradient, _ = self._evaluate(point)
        latest = self._latest  # still needed by the optimizer
        gradient_near, length = None, 2.0**-13 / norm
        while gradient_near is None:  # halve the step until the cost is finite
            length /= 2
            near = self.manifold.retraction(point, length * vector)
            _, gradient_near, _ = self._evaluate(near)
        self._latest = latest
        carried = self.manifold.transport(near, point, gradient_near)
        return (carried - gradient) / (length * self._unit)

    def preconditioner(self, point, vector):
        if self._preconditioner is None:
            return vector
        return self._preconditioner(point, self._unit * vector)

    def is_stationary(self):
        """Whether the gradient at the best point is zero up to rounding."""
        cost, _, norm = self._best
        scale = self._first_norm
        fell = self._costs[-1 - _WINDOW :][0] - cost > rounding(cost)
        if not (fell and self._shortened_steps()):
            scale = max(scale, abs(cost) / self.manifold.typical_dist)
        return bool(norm <= _NEGLIGIBLE * scale)

    def _shortened_steps(self):
        """Whether an infinite cost has shortened one of the last steps.

        The cost then decreases slowly at points that are no minimum, for example
        before it overflows because it is unbounded below.
        """
        return self._last_failure >= len(self._costs) - _WINDOW

    def result(self, reason, converged):
        cost, point, norm = self._best
        return MinimizeResult(
            point=point,
            cost=float(cost),
            gradient_norm=float(norm),
            n_iter=max(len(self._costs) - 1, 0),
            n_evaluations=self._n_evaluations,
            converged=converged,
            reason=reason,
        )

    def _evaluate(self, point):
        """Cost, Riemannian gradient and norm of the gradient, computed once per point.

        They are infinite, None and infinite if the cost or the gradient is not finite.
        """
        for memo in (self._latest, self._iterate):
            if memo is not None and memo[0] is point:
                return memo[1]
        evaluated = np.inf, None, np.inf
        self._n_evaluations += 1
        manifold = self.manifold
        with suppress(np.linalg.LinAlgError):
            cost, gradient = self._value_and_gradient(point)
            if np.isfinite(cost):
                gradient = manifold.euclidean_to_riemannian_gradient(point, gradient)
                norm = manifold.norm(point, gradient)
                if np.isfinite(norm):
                    evaluated = cost, gradient, norm
        if evaluated[1] is None:
            self._last_failure = len(self._costs)
        self._latest = point, evaluated
        return evaluated

    def _stop_if_done(self, norm):
        if norm == np.inf:
            raise _Stop("The optimizer accepted a point of infinite cost.", False)
        if norm <= self._tol * self._first_norm:
            raise _Stop(
                "The norm of the gradient is below tol times its initial norm.", True
            )
        costs = self._costs
        if len(costs) > _WINDOW and not self._shortened_steps():
            decrease = costs[-1 - _WINDOW] - costs[-1]
            if decrease <= self._tol * abs(costs[-1]):
                raise _Stop("The relative decrease of the cost is below tol.", True)
        if len(costs) > self._max_iter:
            raise _Stop(f"The limit max_iter={self._max_iter} was reached.", False)


def _same(a, b):
    """Whether two points, arrays or sequences of points, are equal."""
    if a is b:
        return True
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    return all(_same(x, y) for x, y in zip(a, b, strict=True))
