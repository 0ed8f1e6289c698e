"""Limited-memory BFGS on a Riemannian manifold.

The quasi-Newton direction comes from the last few steps s and changes of the gradient
y, as in Euclidean space, except that each pair lives in the tangent space in which it
was made and has to be brought to the current one. As that direction is, up to rounding,
always one of descent, a backtracking search on the cost suffices.
"""

import time
from collections import defaultdict
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from skgeom.optim._curvature import remembered_pairs

EPS = np.finfo(float).eps

# Iterations without progress after which the search has reached the rounding floor.
_PATIENCE = 5

# How much longer than by the preconditioner alone a direction may become by history.
_LONGER = 4.0


@dataclass
class OptimizerResult:
    """What a run found; the class of pymanopt of this name has the same attributes."""

    point: Any
    cost: float
    iterations: int
    stopping_criterion: str
    time: float
    cost_evaluations: int
    step_size: float
    gradient_norm: float
    log: dict


@dataclass(frozen=True)
class _Limits:
    """The limits of pymanopt's optimisers, with its defaults."""

    max_time: float = 1000
    max_iterations: int = 1000
    min_gradient_norm: float = 1e-6
    min_step_size: float = 1e-10
    max_cost_evaluations: int = 5000

    def reason_to_stop(self, seconds, iteration, gradient_norm, step_size, evaluations):
        """Which limit has been reached, in the words of pymanopt; None if none has."""
        after = f"after {iteration} iterations, {seconds:.2f} seconds."
        if seconds >= self.max_time:
            return f"Terminated - max time reached {after}"
        if iteration >= self.max_iterations:
            return f"Terminated - max iterations reached {after}"
        if gradient_norm < self.min_gradient_norm:
            return f"Terminated - min grad norm reached {after}"
        if step_size < self.min_step_size:
            return f"Terminated - min step_size reached {after}"
        if evaluations >= self.max_cost_evaluations:
            return f"Terminated - max cost evals reached {after}"
        return None


class RiemannianLBFGS:
    r"""Riemannian limited-memory BFGS for any pymanopt manifold.

    It needs the manifold's inner product, norm, retraction, vector transport and
    typical distance, and works on product manifolds as well. The method is the one of
    [1]_ with the cautious update of [2]_. Besides its limits, it ends where rounding
    hides any further progress.

    It is used as the optimisers of pymanopt are, but does not import pymanopt.

    Parameters
    ----------
    memory : int, default=10
        Number of pairs of steps and gradient changes that are kept.
    preconditioned : bool, default=False
        Whether the recursion starts from the problem's ``preconditioner``, which should
        come close to the inverse of the Hessian, instead of a multiple of the identity.
        The history is then forgotten as soon as it misleads: if it makes the direction
        more than four times as long, or if the whole step does not lower the cost.
    sufficient_decrease : float, default=1e-4
        A step of length t along a direction of slope g is accepted if it lowers the
        cost by at least ``sufficient_decrease * t * abs(g)``.
    max_line_search : int, default=25
        Number of step lengths that are tried along one direction.
    precision : float, default=2**-52
        The relative precision of the cost: no step is sought that gains less.
    verbosity : int, default=0
        With 2, a line is printed for each iteration.
    log_verbosity : int, default=0
        With 1, the result has a log with the point, cost and gradient norm of each
        iteration.
    **limits : dict
        ``max_iterations``, ``max_time``, ``min_gradient_norm``, ``min_step_size`` and
        ``max_cost_evaluations`` of pymanopt's ``Optimizer``, with its defaults.

    References
    ----------
    .. [1] W. Huang, K. A. Gallivan and P.-A. Absil, "A Broyden class of quasi-Newton
       methods for Riemannian optimization", SIAM Journal on Optimization 25(3), 2015.
    .. [2] D.-H. Li and M. Fukushima, "On the global convergence of the BFGS method for
       nonconvex unconstrained optimization problems", SIAM Journal on Optimization
       11(4), 2001.

    Examples
    --------
    The leading eigenvector of a matrix, as a maximum on the sphere:

    >>> import numpy as np
    >>> import pymanopt
    >>> from skgeom.optim import RiemannianLBFGS
    >>> manifold = pymanopt.manifolds.Sphere(3)
    >>> matrix = np.diag([3.0, 2.0, 1.0])
    >>> @pymanopt.function.numpy(manifold)
    ... def cost(x):
    ...     return -x @ matrix @ x
    >>> @pymanopt.function.numpy(manifold)
    ... def gradient(x):
    ...     return -2 * matrix @ x
    >>> problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    >>> start = np.ones(3) / np.sqrt(3)
    >>> result = RiemannianLBFGS().run(problem, initial_point=start)
    >>> round(float(result.cost), 6)
    -3.0
    """

    def __init__(
        self,
        memory=10,
        *,
        preconditioned=False,
        sufficient_decrease=1e-4,
        max_line_search=25,
        precision=EPS,
        verbosity=0,
        log_verbosity=0,
        **limits,
    ):
        names = [field.name for field in fields(_Limits)]
        if unknown := [name for name in limits if name not in names]:
            raise TypeError(
                f"RiemannianLBFGS has no parameter {unknown[0]!r}. Its limits are "
                f"{', '.join(names)}."
            )
        self._limits = _Limits(**limits)
        self._verbosity = verbosity
        self._log_verbosity = log_verbosity
        self.memory = memory
        self.preconditioned = preconditioned
        self.sufficient_decrease = sufficient_decrease
        self.max_line_search = max_line_search
        self.precision = precision

    def __str__(self):
        return type(self).__name__

    def run(self, problem, *, initial_point=None):
        """Minimise the cost of a problem.

        Parameters
        ----------
        problem : pymanopt.Problem
            The problem, with a Riemannian or Euclidean gradient.
        initial_point : point of the manifold, default=None
            Where to start; drawn by the manifold, from numpy's global random state, if
            not given.

        Returns
        -------
        OptimizerResult
            With the attributes of pymanopt's ``OptimizerResult``: the last ``point``,
            which up to rounding is also the best, its ``cost`` and ``gradient_norm``,
            the reason for stopping in ``stopping_criterion``, the number of
            ``iterations`` and of ``cost_evaluations``, ``time``, ``step_size`` and
            ``log``.
        """
        manifold = problem.manifold
        point = manifold.random_point() if initial_point is None else initial_point
        cost = problem.cost(point)
        gradient = problem.riemannian_gradient(point)
        history = self._first_history(manifold)
        iteration, evaluations, step_size = 0, 1, np.inf
        reach = 0.1 * manifold.typical_dist
        progress = _Progress(self.precision)
        start_time = time.perf_counter()
        log = self._empty_log()
        while True:
            gradient_norm = manifold.norm(point, gradient)
            self._report(log, iteration, point, cost, gradient_norm)
            seconds = time.perf_counter() - start_time
            reason = self._limits.reason_to_stop(
                seconds, iteration, gradient_norm, step_size, evaluations
            ) or progress.reason_to_stop(cost, gradient_norm)
            if reason:
                break
            found, trials = self._next(problem, point, cost, gradient, history, reach)
            evaluations += trials
            if found is None:
                reason = "Terminated - no step along the gradient lowers the cost."
                break
            iteration += 1
            new_point, new_cost, step = found
            new_gradient = problem.riemannian_gradient(new_point)
            history.add(point, new_point, step, gradient, new_gradient)
            step_size = manifold.norm(point, step)
            reach = 2 * step_size
            point, cost, gradient = new_point, new_cost, new_gradient
        return OptimizerResult(
            point=point,
            cost=cost,
            iterations=iteration,
            stopping_criterion=reason,
            time=time.perf_counter() - start_time,
            cost_evaluations=evaluations,
            step_size=step_size,
            gradient_norm=gradient_norm,
            log=log,
        )

    def _first_history(self, manifold):
        """The pairs that a run begins with."""
        return remembered_pairs(manifold, self.memory, self.preconditioned)

    def _next(self, problem, point, cost, gradient, history, reach):
        """The next (point, cost, step) or None, and the number of costs evaluated."""
        directions = self._directions(problem, point, gradient, history, reach)
        evaluations = 0
        for direction, limit in directions:
            found, trials = self._search(
                problem, point, cost, gradient, direction, limit
            )
            evaluations += trials
            if found:
                return found, evaluations
            history.clear()  # it misled; once more, along the gradient
        return None, evaluations

    def _directions(self, problem, point, gradient, history, reach):
        """Directions to search along, with how many step lengths to try.

        ``reach`` is the length of the first step to try along the gradient.
        """
        manifold, limit = problem.manifold, self.max_line_search
        if self.preconditioned:
            plain = problem.preconditioner(point, -gradient)
            if history:

                def first(vector):
                    return problem.preconditioner(point, vector)

                direction = history.direction(point, gradient, first)
                length = manifold.norm(point, plain)
                if manifold.norm(point, direction) <= _LONGER * length:
                    yield direction, 1
                history.clear()
            yield plain, limit
        else:
            direction = history.direction(point, gradient)
            if direction is not None:
                yield direction, limit
        yield -(reach / manifold.norm(point, gradient)) * gradient, limit

    def _search(self, problem, point, cost, gradient, direction, limit):
        """Backtrack along a direction of descent until the cost is lowered enough.

        Returns (point, cost, step) or None, and the number of costs evaluated.
        """
        manifold = problem.manifold
        slope = manifold.inner_product(point, gradient, direction)
        if not slope < 0:  # by rounding, or a gradient that is not finite
            return None, 0
        # Without the slack, the last digits of a minimum are out of reach of a test
        # that compares costs.
        slack = rounding(cost, self.precision)
        length = 1.0
        for trial in range(1, limit + 1):
            step = length * direction
            new_point = manifold.retraction(point, step)
            new_cost = problem.cost(new_point)
            if new_cost <= cost + self.sufficient_decrease * length * slope + slack:
                return (new_point, new_cost, step), trial
            excess = new_cost - cost - length * slope
            # The minimum of the parabola through what is known, kept within reason.
            # An infinite or undefined cost only shortens the step.
            parabola = -slope * length**2 / (2 * excess) if excess > 0 else 0.0
            length = float(np.clip(parabola, 0.1 * length, 0.5 * length))
            if -length * slope <= slack:
                break  # what a shorter step may gain is lost in rounding
        return None, trial

    def _empty_log(self):
        """A log as those of pymanopt's optimisers are."""
        return {
            "optimizer": str(self),
            "stopping_criteria": asdict(self._limits),
            "optimizer_parameters": {"memory": self.memory},
            "iterations": defaultdict(list) if self._log_verbosity >= 1 else None,
        }

    def _report(self, log, iteration, point, cost, gradient_norm):
        if log["iterations"] is not None:
            entry = {
                "time": time.time(),
                "iteration": iteration,
                "point": point,
                "cost": cost,
                "gradient_norm": gradient_norm,
            }
            for key, value in entry.items():
                log["iterations"][key].append(value)
        if self._verbosity >= 2:
            print(f"{iteration:6d} {cost:+.16e} {gradient_norm:.8e}")


class _Progress:
    """Notices that neither the cost decreases nor the gradient, by half.

    At the rounding floor steps may go on for ever, because the line search has to
    accept changes of the cost that are within rounding.
    """

    def __init__(self, precision):
        self._precision = precision
        self._least_cost = self._least_norm = np.inf
        self._idle = 0

    def reason_to_stop(self, cost, gradient_norm):
        if gradient_norm == 0:
            return "Terminated - the gradient is zero."
        self._idle += 1
        if cost < self._least_cost - rounding(cost, self._precision):
            self._least_cost, self._idle = cost, 0
        if gradient_norm < self._least_norm / 2:
            self._least_norm, self._idle = gradient_norm, 0
        if self._idle >= _PATIENCE:
            return "Terminated - cost and gradient have reached the rounding floor."
        return None


def rounding(cost, precision=EPS):
    """What rounding may add to a cost of some relative precision."""
    return 4 * precision * abs(cost)
