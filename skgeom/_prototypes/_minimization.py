"""Training of prototypes by L-BFGS."""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from skgeom._prototypes._cost import PrototypeCost
from skgeom._prototypes._model import Fit, explain_singular, in_tangent_space
from skgeom.optim._minimize import StartError, minimize
from skgeom.utils.array_api import namespace
from skgeom.utils.progress import current_progress

# Two tolerances as a fraction of ``tol``: the tolerance of the optimization in the
# tangent space, and the smallest decrease in a single Gauss-Newton iteration. Chosen in
# `bench_lvq.py fits`: with 1, the cost of ETH-80 is 6 % higher.
_PRECISE = 0.02


@dataclass(frozen=True)
class Limits:
    """Stopping rules.

    Attributes
    ----------
    max_iter, tol
        The parameters of the estimators.
    goal : float
        The optimization stops at this mean loss.
    precision : float
        If the cost has a curvature, the optimization also stops when one iteration
        decreases the cost by at most the fraction ``precision * tol``.
    """

    max_iter: int
    tol: float
    goal: float
    precision: float = _PRECISE


def fit_lbfgs(samples, model, loss, scale, limits, learn_scale=False, report=None):
    """Minimize the loss of all samples together.

    Parameters
    ----------
    samples : EncodedSamples
    model : Model
        The metric, the initial prototypes and, if a linear map is learned, its initial
        matrix.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    scale : float
        The scale of the loss, or its initial value if ``learn_scale`` is true.
    limits : Limits
    learn_scale : bool, default=False
        Whether the scale is learned.
    report : callable, default=None
        Called as ``report("iteration", loss, result)`` after each iteration, where
        ``result`` is a function that returns the current :class:`Fit`. The optimization
        stops if ``report`` returns True.

    Returns
    -------
    Fit
        The result, with the initial cost and the cost after each iteration. A complete
        optimization in the tangent space, if there is one, is the first iteration.

    Raises
    ------
    ValueError
        If the initial prototypes are singular up to rounding, or the initial loss is
        not finite.
    """
    total = float(namespace(samples.weights).sum(samples.weights))
    goal = limits.goal * total
    with explain_singular():
        cost = PrototypeCost(samples, model, loss, None if learn_scale else scale)
        point = cost.point_of(replace(model, scale=scale))
        losses = [cost.at(point).value]

    def fit_at(point, failure=None):
        # scikit-learn requires n_iter_ >= 1, even if the start is a minimum.
        n_iter = max(len(losses) - 1, 1)
        return Fit(cost.model_at(point), np.array(losses), n_iter, failure)

    def note(point, value):
        losses.append(value)
        if report is not None and report("iteration", value, lambda: fit_at(point)):
            return True
        return value <= goal  # the classes are separated

    if model.metric.tangent_metric:
        with suppress(StartError, np.linalg.LinAlgError):
            near = cost.point_of(tangent_minimum(cost, scale, goal, limits))
            if (value := cost.at(near).value) < losses[0]:
                point = near
                note(near, value)
    rest = replace(limits, max_iter=limits.max_iter + 1 - len(losses))
    found = minimize_cost(cost, point, note, rest)
    if found.converged:
        return fit_at(found.point)
    reason, remedy = found.reason, "tol"
    if len(losses) > limits.max_iter:
        reason = f"The limit max_iter={limits.max_iter} was reached."
        remedy = "max_iter or tol"
    remedy = f"The prototypes found so far can be used. Increase {remedy}."
    return fit_at(found.point, f"{reason} {remedy}")


def tangent_minimum(cost, scale, goal, limits):
    """The model that minimizes the cost in the tangent space, decoded.

    The tangent space is at the mean of the current prototypes. ``scale`` is the initial
    scale, and ``goal`` the cost at which the optimization stops.
    """
    samples, model = in_tangent_space(cost.samples, cost.model)
    flat = PrototypeCost(samples, model, cost.loss, cost.scale)

    def note(_, value):
        current_progress().note(f"search in the tangent space: loss {value:.6g}")
        return value <= goal

    limits = replace(limits, tol=_PRECISE * limits.tol)
    start = flat.point_of(replace(model, scale=scale))
    found = flat.model_at(minimize_cost(flat, start, note, limits).point)
    return replace(found, prototypes=model.metric.decode(found.prototypes))


def minimize_cost(cost, start, note, limits):
    """Minimize a :class:`PrototypeCost`, preconditioned by its curvature if available.

    ``note(point, value)`` is called after each iteration; the optimization stops if it
    returns True.
    """
    values = [np.inf]

    def value_and_gradient(point):
        found = cost.at(point)
        return found.value, found.gradient

    def solve(point, vector):
        return cost.at(point).solve(vector)

    def callback(point, value):
        values.append(value)
        least_decrease = limits.precision * limits.tol * abs(value)
        idle = values[-2] - value <= least_decrease
        return note(point, value) or (cost.has_curvature and idle)

    try:
        return minimize(
            value_and_gradient,
            cost.manifold(start),
            start,
            callback=callback,
            preconditioner=solve if cost.has_curvature else None,
            max_iter=limits.max_iter,
            tol=limits.tol,
        )
    except StartError:
        raise StartError(
            "The loss is not finite at the start. Use less extreme values of "
            "sigma2, representability or slope."
        ) from None
