"""Limited-memory BFGS on a Riemannian manifold.

The quasi-Newton direction comes from the last few steps s and changes of the gradient
y, as in Euclidean space, except that each pair lives in the tangent space in which it
was made. Before every iteration all pairs are carried to the current tangent space by
the manifold's vector transport, and then the usual two-loop recursion applies. A pair
without positive curvature is not stored ("cautious" update), so the direction is always
one of descent, and a backtracking search on the cost suffices.
"""

import time
from collections import deque

import numpy as np
from pymanopt.optimizers.optimizer import Optimizer


class RiemannianLBFGS(Optimizer):
    r"""Riemannian limited-memory BFGS for any pymanopt manifold.

    It needs the manifold's inner product, retraction and vector transport, and works
    on product manifolds as well. The method is the one of [1]_ with the cautious
    update of [2]_.

    Parameters
    ----------
    memory : int, default=10
        Number of pairs of steps and gradient changes that are kept.
    sufficient_decrease : float, default=1e-4
        A step of length t along a direction of slope g is accepted if it lowers the
        cost by at least ``sufficient_decrease * t * abs(g)``.
    max_line_search : int, default=25
        Number of step lengths that are tried along one direction.
    **limits : dict
        ``max_iterations``, ``max_time``, ``min_gradient_norm``, ``min_step_size``,
        ``max_cost_evaluations`` and ``log_verbosity`` of pymanopt's ``Optimizer``,
        with its defaults. Nothing is printed unless ``verbosity``, 0 by default, says
        so.

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
        self, memory=10, *, sufficient_decrease=1e-4, max_line_search=25, **limits
    ):
        super().__init__(**{"verbosity": 0, **limits})
        self.memory = memory
        self.sufficient_decrease = sufficient_decrease
        self.max_line_search = max_line_search

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
        pymanopt.optimizers.optimizer.OptimizerResult
            With the last point, which is also the best, its cost and gradient norm,
            the reason for stopping, and the number of iterations and of evaluations
            of the cost.
        """
        manifold = problem.manifold
        point = manifold.random_point() if initial_point is None else initial_point
        cost = problem.cost(point)
        gradient = problem.riemannian_gradient(point)
        history = deque(maxlen=self.memory)
        iteration, evaluations, step_size = 0, 1, np.inf
        start_time = time.time()
        self._initialize_log(optimizer_parameters={"memory": self.memory})
        while True:
            gradient_norm = manifold.norm(point, gradient)
            self._report(iteration, point, cost, gradient_norm)
            reason = self._check_stopping_criterion(
                start_time=start_time,
                iteration=iteration,
                gradient_norm=gradient_norm,
                step_size=step_size,
                cost_evaluations=evaluations,
            )
            if reason or gradient_norm == 0:
                break
            direction = _direction(manifold, point, gradient, history)
            found, trials = self._search(problem, point, cost, gradient, direction)
            evaluations += trials
            if found is None and history:
                history.clear()
                continue  # once more, along the gradient
            if found is None:
                reason = "Terminated - no step along the gradient lowers the cost."
                break
            iteration += 1
            (new_point, new_cost, step) = found
            new_gradient = problem.riemannian_gradient(new_point)
            _update(manifold, history, point, new_point, step, gradient, new_gradient)
            step_size = manifold.norm(point, step)
            point, cost, gradient = new_point, new_cost, new_gradient
        return self._return_result(
            start_time=start_time,
            point=point,
            cost=cost,
            iterations=iteration,
            stopping_criterion=reason or "Terminated - the gradient is zero.",
            cost_evaluations=evaluations,
            step_size=step_size,
            gradient_norm=gradient_norm,
        )

    def _search(self, problem, point, cost, gradient, direction):
        """Backtrack along a direction of descent until the cost is lowered enough.

        Returns (point, cost, step) or None, and the number of costs evaluated.
        """
        manifold = problem.manifold
        slope = manifold.inner_product(point, gradient, direction)
        # What rounding may add to a cost: without it, the last digits of a minimum
        # are out of reach of a test that compares costs.
        slack = 4 * np.finfo(float).eps * abs(cost)
        length = 1.0
        for trial in range(1, self.max_line_search + 1):
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
        return None, self.max_line_search

    def _report(self, iteration, point, cost, gradient_norm):
        self._add_log_entry(
            iteration=iteration, point=point, cost=cost, gradient_norm=gradient_norm
        )
        if self._verbosity >= 2:
            print(f"{iteration:6d} {cost:+.16e} {gradient_norm:.8e}")


def _direction(manifold, point, gradient, history):
    """The two-loop recursion; a tenth of the manifold's size where nothing is known."""
    if not history:
        length = 0.1 * manifold.typical_dist / manifold.norm(point, gradient)
        return -length * gradient

    def inner(a, b):
        return manifold.inner_product(point, a, b)

    direction, coefficients = -gradient, []
    for step, change, curvature in reversed(history):
        coefficients.append(inner(step, direction) / curvature)
        direction = direction - coefficients[-1] * change
    _, change, curvature = history[-1]
    direction = (curvature / inner(change, change)) * direction
    for (step, change, curvature), coefficient in zip(
        history, reversed(coefficients), strict=True
    ):
        correction = coefficient - inner(change, direction) / curvature
        direction = direction + correction * step
    return direction


def _update(manifold, history, point, new_point, step, gradient, new_gradient):
    """Carry the history to the new point and append the newest pair if it is convex."""

    def carry(vector):
        return manifold.transport(point, new_point, vector)

    def inner(a, b):
        return manifold.inner_product(new_point, a, b)

    carried = [(carry(s), carry(y)) for s, y, _ in history]
    step, change = carry(step), new_gradient - carry(gradient)
    least_curvature = 1e-6 * manifold.norm(point, gradient) * inner(step, step)
    if inner(step, change) > least_curvature:
        carried.append((step, change))
    history.clear()
    for s, y in carried:
        curvature = inner(s, y)
        if curvature > 0:  # a transport that is no isometry may lose it
            history.append((s, y, curvature))
