"""Prototypes learnt from all samples together, by Riemannian L-BFGS.

Where the space has a chart, the problem is solved there first. A search among vectors
costs a small part of one among matrices, and ends close to the minimum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgeom._lvq.cost import PrototypeCost
from skgeom._lvq.problem import SINGULAR, Outcome, Problem
from skgeom.optim import StartError, minimize
from skgeom.utils.array_api import like, namespace, to_numpy
from skgeom.utils.estimator import current_progress
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import warn_user

# The tolerance of the search in the chart, as a fraction of the one that is asked for.
_CHART_TOL = 0.1

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
    reduction : Congruence, Relevance or None
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
    Outcome
        With the loss at the start and after each iteration. The first iteration is the
        whole search in the chart, if there is one.

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
            problem.space.check_representable(problem.prototypes)
            flat = None if reduction else problem.in_chart()
            fixed_scale = None if learn_scale else scale
            cost = _cost(problem, loss, fixed_scale, reduction, flat)
            matrix = None if matrix is None else to_numpy(matrix)
            point = cost.join(to_numpy(problem.prototypes), scale, matrix)
            # Prototypes that go on are nearer to the minimum than that of the chart is.
            anew = flat is not None and problem.squared_distances is not None
            first = problem.start_cost(loss, scale) if anew else cost(point)[0]
        except np.linalg.LinAlgError:
            raise ValueError(SINGULAR) from None
        goal = (tol if enough is None else enough) * total
        search = _Search(problem, cost, max_iter, tol, goal, report, [first])
        if anew:
            flat_cost = _cost(flat, loss, fixed_scale)
            flat_point = flat_cost.join(to_numpy(flat.prototypes), scale)
            point = search.through_chart(flat, flat_cost, flat_point, point)
        result = search.finish(point)
    if not result.converged:
        more, reason = "tol", result.reason
        if len(search.losses) > max_iter:
            # The first one was the search in the chart.
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

    def through_chart(self, flat, flat_cost, start, point):
        """Search in the chart; where that has led, or the point if it is better."""
        limits = {"max_iter": self.max_iter, "tol": _CHART_TOL * self.tol}
        try:
            found = _minimize(flat_cost, start, callback=self._note_in_chart, **limits)
            prototypes, *others = found.point
            prototypes = flat.space.decode(like(prototypes, flat.Z))
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
        """The point, as an :class:`Outcome`."""
        problem = self.problem
        prototypes, scale, matrix = self.cost.split(point)
        prototypes = like(prototypes, problem.Z)
        matrix = None if matrix is None else like(matrix, problem.Z)
        # A search may end at its start; scikit-learn wants one iteration even then.
        n_iter = max(len(self.losses) - 1, 1)
        losses = np.array(self.losses)
        return Outcome(prototypes, float(scale), losses, n_iter, matrix)

    def _note(self, point, value):
        self.losses.append(value)
        outcome = partial(self.outcome, point)
        if self.report is not None and self.report("iteration", value, outcome):
            return True
        gain = self.losses[-2] - value
        return self._is_separated(value) or gain <= self.settled * abs(value)

    def _note_in_chart(self, point, value):
        current_progress().note(f"search in the tangent space: loss {value:.6g}")
        return self._is_separated(value)

    def _is_separated(self, value):
        return value <= self.goal  # the classes are separated; go no farther


def _cost(problem, *options):
    data = problem.space, problem.Z, problem.y, problem.weights
    return PrototypeCost(*data, *options)


def _minimize(cost, start, **options):
    """Minimise a cost, with the help of a model of its curvature if it has one."""
    curvature = cost.solve if cost.has_curvature(start[0]) else None
    manifold = cost.manifold(start)
    return minimize(cost, manifold, start, preconditioner=curvature, **options)
