"""Prototypes learnt from all samples together, by Riemannian L-BFGS.

Where the space has a chart, the problem is solved there first. A search among vectors
costs a small part of one among matrices, and ends close to the minimum.
"""

from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgeom._lvq.cost import PrototypeCost
from skgeom._lvq.problem import SINGULAR, Outcome
from skgeom.optim import StartError, minimize
from skgeom.utils._arrays import like, namespace, to_numpy
from skgeom.utils._progress import current_progress
from skgeom.utils._threads import one_blas_thread
from skgeom.utils._warnings import warn_user

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
    fixed_scale = None if learn_scale else scale
    total = float(namespace(problem.weights).sum(problem.weights))
    goal = (tol if enough is None else enough) * total
    losses, settled = [], -np.inf

    def separated(point, value):
        return value <= goal  # the classes are separated; go no farther

    def note(point, value):
        losses.append(value)
        if report is not None and report("iteration", value, partial(outcome, point)):
            return True
        return separated(point, value) or losses[-2] - value <= settled * abs(value)

    def note_in_chart(point, value):
        current_progress().note(f"search in the tangent space: loss {value:.6g}")
        return separated(point, value)

    def outcome(point):
        prototypes, scale, matrix = cost.split(point)
        prototypes = like(prototypes, problem.Z)
        matrix = None if matrix is None else like(matrix, problem.Z)
        # A search may end at its start; scikit-learn wants one iteration even then.
        n_iter = max(len(losses) - 1, 1)
        return Outcome(prototypes, float(scale), np.array(losses), n_iter, matrix)

    # Threads of BLAS are in the way of those of the cost where matrices are small.
    with one_blas_thread(problem.Z.ndim == 3):
        try:
            problem.space.check_representable(problem.prototypes)
            flat = None if reduction else problem.in_chart()
            cost = _cost(problem, loss, fixed_scale, reduction, flat)
            start = to_numpy(problem.prototypes)
            point = cost.join(
                start, scale, None if matrix is None else to_numpy(matrix)
            )
            # Prototypes that go on are nearer to the minimum than that of the chart is.
            anew = flat is not None and problem.squared_distances is not None
            losses.append(problem.start_cost(loss, scale) if anew else cost(point)[0])
        except np.linalg.LinAlgError:
            raise ValueError(SINGULAR) from None
        if anew:
            flat_cost = _cost(flat, loss, fixed_scale)
            start = flat_cost.join(to_numpy(flat.prototypes), scale)
            limits = {"max_iter": max_iter, "tol": _CHART_TOL * tol}
            found, value = _search_chart(
                cost, flat, flat_cost, start, callback=note_in_chart, **limits
            )
            if value < losses[0]:
                note(found, value)
                point = found
                if cost.has_curvature(point[0]):
                    settled = _SETTLED * tol
                else:
                    tol *= _CLOSER
        left = max_iter + 1 - len(losses)
        result = _minimize(cost, point, max_iter=left, tol=tol, callback=note)
    if not result.converged:
        more, reason = "tol", result.reason
        if len(losses) > max_iter:
            # The first one was the search in the chart.
            more = "max_iter or tol"
            reason = f"max_iter={max_iter} iterations were made."
        warn_user(
            f"{name} did not converge: {reason} The prototypes found so far can "
            f"be used. Increase {more}{remedy}.",
            ConvergenceWarning,
        )
    return outcome(result.point)


def _cost(problem, *options):
    data = problem.space, problem.Z, problem.y, problem.weights
    return PrototypeCost(*data, *options)


def _search_chart(cost, flat, flat_cost, start, **options):
    """Where a search in the chart leads, and the cost there; infinite if nowhere."""
    try:
        prototypes, *others = _minimize(flat_cost, start, **options).point
        prototypes = flat.space.decode(like(prototypes, flat.Z))
        point = [to_numpy(prototypes), *others]
        return point, cost(point)[0]
    except (StartError, np.linalg.LinAlgError):
        return None, np.inf


def _minimize(cost, start, **options):
    """Minimise a cost, with the help of a model of its curvature if it has one."""
    curvature = cost.solve if cost.has_curvature(start[0]) else None
    manifold = cost.manifold(start)
    return minimize(cost, manifold, start, preconditioner=curvature, **options)
