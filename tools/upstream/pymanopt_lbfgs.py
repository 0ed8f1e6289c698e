"""Riemannian limited-memory BFGS with pymanopt's optimizer interface."""

import time
from collections import deque

import numpy as np
import pymanopt
from pymanopt.optimizers.line_search import BackTrackingLineSearcher
from pymanopt.optimizers.optimizer import Optimizer


class LBFGS(Optimizer):
    """Riemannian limited-memory BFGS method.

    Steps and gradient differences are transported to the current tangent space
    (Huang, Gallivan and Absil 2015). A pair is kept only if its curvature is positive
    (Li and Fukushima 2001).

    Args:
        memory: Number of pairs of steps and gradient differences to keep.
    """

    def __init__(self, memory=10, **kwargs):
        super().__init__(**kwargs)
        self.memory = memory

    def run(self, problem, *, initial_point=None):
        """Run the method from ``initial_point``, or from a random point."""
        manifold = problem.manifold
        point = manifold.random_point() if initial_point is None else initial_point
        cost = problem.cost(point)
        gradient = problem.riemannian_gradient(point)
        pairs = deque(maxlen=self.memory)
        start_time, iteration, step = time.time(), 0, np.inf
        self._initialize_log(optimizer_parameters={"memory": self.memory})
        while True:
            norm = manifold.norm(point, gradient)
            self._add_log_entry(
                iteration=iteration, point=point, cost=cost, gradient_norm=norm
            )
            reason = self._check_stopping_criterion(
                start_time=start_time,
                gradient_norm=norm,
                iteration=iteration,
                step_size=step,
            )
            if reason:
                break
            iteration += 1
            direction = self._direction(manifold, point, gradient, pairs)
            slope = manifold.inner_product(point, gradient, direction)
            if slope >= 0:
                pairs.clear()
                direction, slope = -gradient, -(norm**2)
            length = manifold.norm(point, direction) if pairs else min(1.0, 1 / norm)
            # A new search, so that the quasi-Newton step is tried first.
            searcher = BackTrackingLineSearcher(initial_step_size=length)
            step, new = searcher.search(
                problem.cost, manifold, point, direction, cost, slope
            )
            scale = step / manifold.norm(point, direction)
            new_gradient = problem.riemannian_gradient(new)

            def transport(vector, old=point, new=new):
                return manifold.transport(old, new, vector)

            pairs = deque(
                ((transport(s), transport(y)) for s, y in pairs), maxlen=self.memory
            )
            s = transport(scale * direction)
            y = new_gradient - transport(gradient)
            curvature = manifold.inner_product(new, s, y)
            if curvature > 1e-6 * norm * manifold.norm(new, s) ** 2:
                pairs.append((s, y))
            point, gradient, cost = new, new_gradient, problem.cost(new)
        return self._return_result(
            start_time=start_time,
            point=point,
            cost=cost,
            iterations=iteration,
            stopping_criterion=reason,
            step_size=step,
            gradient_norm=norm,
        )

    def _direction(self, manifold, point, gradient, pairs):
        """Two-loop recursion."""

        def inner(a, b):
            return manifold.inner_product(point, a, b)

        q, weights = gradient, []
        for s, y in reversed(pairs):
            weights.append(inner(s, q) / inner(s, y))
            q = q - weights[-1] * y
        if pairs:
            s, y = pairs[-1]
            q = inner(s, y) / inner(y, y) * q
        for s, y in pairs:
            q = q + (weights.pop() - inner(y, q) / inner(s, y)) * s
        return -q


def main():
    """Compare with pymanopt's conjugate gradient on a dominant subspace."""
    rng = np.random.default_rng(0)
    matrix = np.diag(np.linspace(1, 10, 60))
    manifold = pymanopt.manifolds.Grassmann(60, 4)
    calls = 0

    @pymanopt.function.numpy(manifold)
    def cost(x):
        nonlocal calls
        calls += 1
        return -np.trace(x.T @ matrix @ x)

    @pymanopt.function.numpy(manifold)
    def gradient(x):
        return -2 * matrix @ x

    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    start = np.linalg.qr(rng.standard_normal((60, 4)))[0]
    best = -np.linalg.eigvalsh(matrix)[-4:].sum()
    for optimizer in [LBFGS(), pymanopt.optimizers.ConjugateGradient(verbosity=0)]:
        calls = 0
        result = optimizer.run(problem, initial_point=start)
        print(
            f"{type(optimizer).__name__}: error {result.cost - best:.1e}, "
            f"{result.iterations} iterations, {calls} evaluations of the cost"
        )


if __name__ == "__main__":
    main()
