"""One way to minimise a cost on a manifold, whichever optimiser does it.

The optimisers ask for the cost and for the gradient separately, and each has its own
absolute stopping rules. Here a monitor stands between them and the objective. It
computes value and gradient together, once a point; it counts; and, as every optimiser
asks for one gradient an iteration, it also applies one relative stopping rule to all.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from pymanopt.optimizers import ConjugateGradient, SteepestDescent, TrustRegions
from pymanopt.optimizers.optimizer import Optimizer

from skgeom.optim._lbfgs import RiemannianLBFGS

OPTIMIZERS = {
    "lbfgs": RiemannianLBFGS,
    "conjugate-gradient": ConjugateGradient,
    "trust-regions": TrustRegions,
    "steepest-descent": SteepestDescent,
}

# The decrease of the cost is measured over this many iterations: a few short steps, as
# they happen on a plateau, must not end the search.
_WINDOW = 10

# A gradient this much smaller than the first one is zero but for rounding.
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class MinimizeResult:
    """What :func:`minimize` found.

    Attributes
    ----------
    point : point of the manifold
        The best point that was evaluated.
    cost : float
        The cost there.
    gradient_norm : float
        Norm of the Riemannian gradient there.
    n_iter : int
        Number of iterations.
    n_evaluations : int
        Number of points at which cost and gradient were computed.
    converged : bool
        Whether a stopping rule was met before ``max_iter``.
    reason : str
        Why the optimiser stopped.
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
):
    r"""Minimise a cost with analytic gradient on a pymanopt manifold.

    The search stops when ten iterations together have lowered the cost by no more than
    ``tol * abs(cost)``, or when the norm of the gradient has fallen to ``tol`` times
    that at the start. Both rules are relative: they do not change
    when the cost is multiplied by a constant. There is no limit of time, nothing is
    printed, and no random numbers are drawn.

    Parameters
    ----------
    value_and_gradient : callable
        Maps a point to ``(cost, euclidean_gradient)``. On a product manifold, a point
        and a gradient are lists of arrays. ``numpy.linalg.LinAlgError`` counts as an
        infinite cost, except at the start.
    manifold : pymanopt.manifolds.manifold.Manifold
        Where to search.
    start : point of the manifold
        Where to begin; not modified.
    optimizer : str or pymanopt.optimizers.optimizer.Optimizer, default="lbfgs"
        ``"lbfgs"``, ``"conjugate-gradient"``, ``"trust-regions"`` (with the Hessian
        from differences of gradients), ``"steepest-descent"``, or an instance, whose
        own limits apply as well.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-6
        Relative tolerance; with 0 the search goes on until nothing changes.
    callback : callable, default=None
        Called as ``callback(point, cost)`` after each iteration; the search stops if
        it returns True.

    Returns
    -------
    MinimizeResult
        The best point, with honest counts and the reason for stopping.

    Raises
    ------
    ValueError
        If the cost at the start is not finite, or for an unknown optimiser.

    Examples
    --------
    The unit vector closest to a given one:

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
    problem = _MonitoredProblem(value_and_gradient, manifold, max_iter, tol, callback)
    solver = _make_optimizer(optimizer)
    if not np.isfinite(problem.cost(start)):
        raise ValueError("The cost at the start is not finite; choose another start.")
    try:
        outcome = solver.run(problem, initial_point=start)
    except _Stop as stop:
        return problem.result(stop.reason, stop.converged)
    reason = outcome.stopping_criterion
    return problem.result(reason, "max " not in reason and problem.is_stationary())


def _make_optimizer(optimizer):
    """An optimiser without limits of its own, unless the user made it."""
    if isinstance(optimizer, Optimizer):
        return optimizer
    if optimizer not in OPTIMIZERS:
        raise ValueError(
            f"optimizer must be one of {sorted(OPTIMIZERS)} or an instance of "
            f"pymanopt's Optimizer, got {optimizer!r}."
        )
    return OPTIMIZERS[optimizer](
        max_time=np.inf,
        max_iterations=np.iinfo(np.int64).max,
        max_cost_evaluations=np.iinfo(np.int64).max,
        min_gradient_norm=0.0,
        min_step_size=0.0,
        verbosity=0,
    )


class _Stop(Exception):
    """Ends an optimiser from within."""

    def __init__(self, reason, converged):
        super().__init__(reason)
        self.reason = reason
        self.converged = converged


class _MonitoredProblem:
    """What an optimiser sees of an objective: memo, counter and stopping rule.

    It has the attributes of ``pymanopt.Problem`` that optimisers use.
    """

    def __init__(self, value_and_gradient, manifold, max_iter, tol, callback):
        self.manifold = manifold
        self._value_and_gradient = value_and_gradient
        self._max_iter = max_iter
        self._tol = tol
        self._callback = callback
        self._memo = None
        self._best = None
        self._costs = []
        self._first_gradient_norm = None
        self._n_evaluations = 0

    def cost(self, point):
        return self._evaluate(point)[0]

    def riemannian_gradient(self, point):
        """The gradient at the next iterate; ends the search if that is good enough."""
        cost, gradient = self._evaluate(point)
        norm = self.manifold.norm(point, gradient)
        if self._best is None or cost <= self._best[0]:
            self._best = cost, point, norm
        self._costs.append(cost)
        if self._callback is not None and len(self._costs) > 1:
            if self._callback(point, cost):
                raise _Stop("The callback asked to stop.", True)
        self._stop_if_done(norm)
        return gradient

    def riemannian_hessian(self, point, vector):
        """The derivative of the gradient along a vector, by a forward difference."""
        norm = self.manifold.norm(point, vector)
        if norm == 0:
            return vector
        length = 2.0**-14 / norm
        near = self.manifold.retraction(point, length * vector)
        _, gradient = self._evaluate(point)
        # Evaluated past the memo, which the optimiser still needs at its own points.
        _, gradient_near = self._compute(near)
        carried = self.manifold.transport(near, point, gradient_near)
        return (carried - gradient) / length

    @staticmethod
    def preconditioner(point, vector):
        return vector

    def is_stationary(self):
        """Whether the gradient at the best point is zero but for rounding."""
        return self._best[2] <= _NEGLIGIBLE * self._first_gradient_norm

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
        """Cost and Riemannian gradient, computed once a point."""
        if self._memo is None or not _same(self._memo[0], point):
            self._memo = point, *self._compute(point)
        return self._memo[1:]

    def _compute(self, point):
        self._n_evaluations += 1
        try:
            cost, gradient = self._value_and_gradient(point)
        except np.linalg.LinAlgError:
            return np.inf, None
        if not np.isfinite(cost):
            return np.inf, None
        return cost, self.manifold.euclidean_to_riemannian_gradient(point, gradient)

    def _stop_if_done(self, norm):
        if self._first_gradient_norm is None:
            self._first_gradient_norm = norm
        if norm <= self._tol * self._first_gradient_norm:
            raise _Stop("The gradient fell below tol times its first norm.", True)
        costs = self._costs
        if len(costs) > _WINDOW:
            decrease = costs[-1 - _WINDOW] - costs[-1]
            if decrease <= self._tol * abs(costs[-1]):
                raise _Stop("The cost decreases by less than tol, relatively.", True)
        if len(costs) > self._max_iter:
            raise _Stop(f"max_iter={self._max_iter} iterations were made.", False)


def _same(a, b):
    """Whether two points, arrays or lists of arrays, are equal."""
    if a is b:
        return True
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
