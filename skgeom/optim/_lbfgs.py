"""Limited-memory BFGS on a Riemannian manifold.

The quasi-Newton direction is computed from pairs of the last few steps s and the
changes y of the gradient along these steps, as in Euclidean space. On a manifold, each
pair belongs to the tangent space of a point and is transported to the tangent spaces of
later points. A pair is stored only if its curvature is positive ("cautious" update).
The direction is then a descent direction up to rounding, and a backtracking line search
suffices.
"""

import time
from collections import deque
from functools import partial
from types import SimpleNamespace

import numpy as np

from skgeom.optim._manifolds import Submanifold

# The optimizer stops after this number of iterations without progress, because further
# progress would be hidden by rounding errors (page "Constants").
_PATIENCE = 5

# Largest ratio of the length of the quasi-Newton direction to the length of the
# direction of the preconditioner alone (page "Constants").
_LONGER = 4.0

# Least inner product of a step and its gradient change, relative to the product of the
# norms of the step and the gradient. The rule does not depend on the units of the
# points or the cost (page "Constants").
_LEAST_CURVATURE = 1e-6


class RiemannianLBFGS:
    r"""Riemannian limited-memory BFGS for any pymanopt manifold.

    The optimizer requires a manifold with an inner product, a norm, a retraction, a
    vector transport and a typical distance, and supports product manifolds. The method
    follows [1]_ with the cautious update of [2]_. It stops when one of its limits is
    reached, or when further progress is smaller than rounding errors.

    The optimizer has the interface of pymanopt's optimizers, but does not import
    pymanopt. It neither prints nor logs its iterations. Use the callback of
    :func:`minimize` to monitor iterations.

    Parameters
    ----------
    memory : int, default=10
        Number of stored pairs of steps and gradient changes.
    preconditioned : bool, default=False
        Whether the problem's ``preconditioner`` is the first approximation of the
        inverse Hessian. If False, the first approximation is a multiple of the
        identity. With a preconditioner, the stored pairs are deleted if they make the
        direction more than four times as long as the direction of the preconditioner
        alone, or if the full step does not decrease the cost sufficiently.
    sufficient_decrease : float, default=1e-4
        The step t d along the direction d, with the directional derivative g, is
        accepted if it decreases the cost by at least
        ``sufficient_decrease * t * abs(g)``.
    max_line_search : int, default=25
        Maximum number of step lengths that are tried along one direction.
    max_time, max_iterations : float
        Limits of the time in seconds and of the number of iterations. This and the
        following limits have the defaults of pymanopt's ``Optimizer``.
    min_gradient_norm, min_step_size, max_cost_evaluations : float
        Limits of the norm of the gradient, of the step size, and of the number of
        evaluations of the cost.

    References
    ----------
    .. [1] W. Huang, K. A. Gallivan and P.-A. Absil, "A Broyden class of quasi-Newton
       methods for Riemannian optimization", SIAM Journal on Optimization 25(3), 2015.
    .. [2] D.-H. Li and M. Fukushima, "On the global convergence of the BFGS method for
       nonconvex unconstrained optimization problems", SIAM Journal on Optimization
       11(4), 2001.

    Examples
    --------
    Compute the largest eigenvalue of a matrix by minimization on the sphere:

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
        max_time=1000,
        max_iterations=1000,
        min_gradient_norm=1e-6,
        min_step_size=1e-10,
        max_cost_evaluations=5000,
    ):
        self.memory = memory
        self.preconditioned = preconditioned
        self.sufficient_decrease = sufficient_decrease
        self.max_line_search = max_line_search
        self.max_time = max_time
        self.max_iterations = max_iterations
        self.min_gradient_norm = min_gradient_norm
        self.min_step_size = min_step_size
        self.max_cost_evaluations = max_cost_evaluations

    def __str__(self):
        return type(self).__name__

    def run(self, problem, *, initial_point=None):
        """Minimize the cost of a problem.

        Parameters
        ----------
        problem : pymanopt.Problem
            The problem: a manifold, a cost, and a Riemannian or Euclidean gradient.
        initial_point : point of the manifold, default=None
            The initial point. If None, the manifold draws it from NumPy's global random
            state.

        Returns
        -------
        SimpleNamespace
            An object with the attributes of pymanopt's ``OptimizerResult`` except
            ``log``: the last ``point``, which has the lowest cost up to rounding, its
            ``cost`` and ``gradient_norm``, the reason for stopping
            (``stopping_criterion``), the numbers of ``iterations`` and
            ``cost_evaluations``, the ``time`` in seconds, and the ``step_size`` of the
            last step.
        """
        manifold = problem.manifold
        point = manifold.random_point() if initial_point is None else initial_point
        cost = problem.cost(point)
        gradient = problem.riemannian_gradient(point)
        history = _History(manifold, self.memory)
        iteration, evaluations, step_size = 0, 1, np.inf
        reach = 0.1 * manifold.typical_dist
        least_cost, least_norm, idle = np.inf, np.inf, 0
        start_time = time.perf_counter()
        while True:
            gradient_norm = manifold.norm(point, gradient)
            seconds = time.perf_counter() - start_time
            reason = self._reached_limit(
                seconds, iteration, gradient_norm, step_size, evaluations
            )
            # The line search accepts changes of the cost that are within rounding, so
            # the iterations could continue forever.
            idle += 1
            if cost < least_cost - rounding(cost):
                least_cost, idle = cost, 0
            if gradient_norm < least_norm / 2:
                least_norm, idle = gradient_norm, 0
            if gradient_norm == 0:
                reason = "Terminated - the gradient is zero."
            elif idle >= _PATIENCE:
                reason = (
                    "Terminated - cost and gradient have reached the rounding floor."
                )
            if reason:
                break
            directions = self._directions(problem, point, gradient, history, reach)
            for direction, limit in directions:
                found, trials = self._line_search(
                    problem, point, cost, gradient, direction, limit
                )
                evaluations += trials
                if found:
                    break
                history.clear()  # no step was found; the next direction ignores it
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
        seconds = time.perf_counter() - start_time
        return SimpleNamespace(
            point=point,
            cost=cost,
            iterations=iteration,
            stopping_criterion=reason,
            time=seconds,
            cost_evaluations=evaluations,
            step_size=step_size,
            gradient_norm=gradient_norm,
        )

    def _reached_limit(self, seconds, iteration, gradient_norm, step_size, evaluations):
        """The message of pymanopt for the first limit that is reached, or None."""
        for name, is_reached in (
            ("max time", seconds >= self.max_time),
            ("max iterations", iteration >= self.max_iterations),
            ("min grad norm", gradient_norm < self.min_gradient_norm),
            ("min step_size", step_size < self.min_step_size),
            ("max cost evals", evaluations >= self.max_cost_evaluations),
        ):
            if is_reached:
                after = f"after {iteration} iterations, {seconds:.2f} seconds."
                return f"Terminated - {name} reached {after}"
        return None

    def _directions(self, problem, point, gradient, history, reach):
        """Directions for the line search, each with the number of step lengths to try.

        ``reach`` is the length of the first step along the gradient.
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
        elif history:
            yield history.direction(point, gradient), limit
        yield -(reach / manifold.norm(point, gradient)) * gradient, limit

    def _line_search(self, problem, point, cost, gradient, direction, limit):
        """Backtrack along a descent direction until the cost decreases sufficiently.

        Returns (point, cost, step) or None, and the number of costs evaluated.
        """
        manifold = problem.manifold
        slope = manifold.inner_product(point, gradient, direction)
        if not slope < 0:  # because of rounding, or of NaN or infinite gradients
            return None, 0
        # The test compares costs. Without the slack, it cannot reach the last digits of
        # the point at a minimum.
        slack = rounding(cost)
        length = 1.0
        for trial in range(1, limit + 1):
            step = length * direction
            new_point = manifold.retraction(point, step)
            new_cost = problem.cost(new_point)
            if new_cost <= cost + self.sufficient_decrease * length * slope + slack:
                return (new_point, new_cost, step), trial
            excess = new_cost - cost - length * slope
            # The minimum of the parabola through the known values, within bounds. If
            # the cost is infinite or NaN, the step is shortened to a tenth.
            parabola = -slope * length**2 / (2 * excess) if excess > 0 else 0.0
            length = min(max(parabola, 0.1 * length), 0.5 * length)
            if -length * slope <= slack:
                break  # a shorter step would decrease the cost by less than rounding
        return None, trial


class _History:
    """The last steps and gradient changes, as tangent vectors.

    Each pair is transported to the point of the next pair. On a submanifold of a
    Euclidean space, the pairs are not transported, and the direction is projected
    instead, which is equally accurate in practice and much cheaper.
    """

    def __init__(self, manifold, memory):
        self._manifold = manifold
        self._embedded = isinstance(manifold, Submanifold)
        self._pairs = deque(maxlen=memory)

    def __len__(self):
        return len(self._pairs)

    def clear(self):
        self._pairs.clear()

    def add(self, point, new_point, step, gradient, new_gradient):
        """Add the pair of the step to a new point, in the tangent space there."""
        manifold = self._manifold
        carry = partial(manifold.transport, point, new_point)
        inner = partial(manifold.inner_product, new_point)
        pairs = [(carry(step), new_gradient - carry(gradient))]
        if not self._embedded:
            # All curvatures are tested again: a transport that is not an isometry may
            # change them.
            pairs = [(carry(s), carry(y)) for s, y, _ in self._pairs] + pairs
            self._pairs.clear()
        least = _LEAST_CURVATURE * manifold.norm(point, gradient)
        for s, y in pairs:
            curvature = inner(s, y)
            if least * np.sqrt(inner(s, s)) < curvature < np.inf:
                self._pairs.append((s, y, curvature))

    def direction(self, point, gradient, first=None):
        """The quasi-Newton direction, by the two-loop recursion.

        ``first`` multiplies a tangent vector by the first approximation of the inverse
        Hessian. The default approximation is a multiple of the identity.
        """
        inner = partial(self._manifold.inner_product, point)
        direction, coefficients = -gradient, []
        for step, change, curvature in reversed(self._pairs):
            coefficients.append(inner(step, direction) / curvature)
            direction = direction - coefficients[-1] * change
        if first is None:
            _, change, curvature = self._pairs[-1]
            direction = (curvature / inner(change, change)) * direction
        else:
            direction = first(direction)
        for (step, change, curvature), coefficient in zip(
            self._pairs, reversed(coefficients), strict=True
        ):
            correction = coefficient - inner(change, direction) / curvature
            direction = direction + correction * step
        if self._embedded:
            return self._manifold.projection(point, direction)
        return direction


def rounding(cost):
    """Largest change of a cost by rounding errors."""
    return 2**-50 * abs(cost)
