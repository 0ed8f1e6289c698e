"""Maximise an objective of filters first in a small subspace, then in the whole space.

An evaluation of an objective of n x m filters reads c n^2 numbers. In the span of k
leading principal axes it reads c k^2 only, so that is where starts are compared and
many iterations are made; the rest is done in the whole space, by covariances in single
precision, half as many bytes, as long as rounding does not show.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skgeom.optim._batches import maximize_in_batches
from skgeom.optim._constraints import CONSTRAINTS, FreeRotation
from skgeom.optim._minimize import WENT_ASTRAY, StartError, minimize

# How closely all starts are optimised before the best ones are chosen.
_SCREENING_TOL = 1e-3
_SCREENING_ITERATIONS = 100
# By how much, relatively, the runner-up may be behind the best one to be followed as
# well: less than _LEAD, but more than if both were at the same optimum.
_LEAD = 1e-2
_SAME = 1e-4
# The least tolerance of a search in the small subspace. Its optimum is a start for the
# whole space only, so its last digits would be wasted.
_COARSE_TOL = 1e-4
# The least tolerance of a search with covariances in single precision, and the relative
# error of the objective, generously.
_SINGLE_TOL = 1e-6
_SINGLE_PRECISION = 2.0**-26


def maximize_coarse_to_fine(
    objective,
    starts,
    basis,
    *,
    complete,
    constraint,
    metric=None,
    optimizer="lbfgs",
    max_iter=500,
    tol=1e-6,
    batches=None,
    callback=None,
    coarse=None,
):
    """Maximise an objective over constrained filters, from several starts.

    Parameters
    ----------
    objective : callable
        Maps filters of shape (n, m) to ``(value, gradient)``; ``objective.project(b)``
        is the same objective for filters ``b @ g``, as a function of g.
    starts : list of ndarray of shape (k, m)
        Points of the constraint to start from, in the coordinates of the basis.
    basis : ndarray of shape (n, k)
        Columns that span the small subspace. They must be orthonormal, unless the
        objective depends on the span of the filters only.
    complete : bool
        Whether the best filters lie in the subspace, so that no refinement in the
        whole space is needed.
    constraint : {"unit-norm", "orthonormal"}
        A key of ``CONSTRAINTS``.
    metric : ndarray of shape (n, n), default=None
        If given, filters of unit norm are sought by :class:`FreeRotation`, with this
        metric. The objective must not change when filters are rotated, ``f @ r``.
    optimizer : str or pymanopt.optimizers.optimizer.Optimizer, default="lbfgs"
        As for :func:`minimize`.
    max_iter : int, default=500
        Largest number of iterations of each call of :func:`minimize`.
    tol : float, default=1e-6
        Relative tolerance, as for :func:`minimize`.
    batches : (int, RandomState), default=None
        If given, the size and the source of the batches in which the samples of the
        objective are taken, by :func:`maximize_in_batches` instead of the optimizer.
    callback : callable, default=None
        Called as ``callback(stage, filters, value)`` after each iteration, where
        filters has shape (n, m), and stage is the name of what goes on: "start 1" and
        so on, or "search" if there is one start only, "best start" for the refinement
        in the subspace, and "all features" for that in the whole space. A stage ends if
        it returns True.
    coarse : callable, default=None
        ``objective.project(basis)``, if it is known.

    Returns
    -------
    MinimizeResult
        The filters, of shape (n, m), with the *negative* objective as the cost; counts
        are those of the chosen start and of all that followed it.
    list of float
        The value that each start reached when one was chosen.

    Raises
    ------
    ValueError
        If the objective is not finite at any start; other starts are left out.
    """
    space = CONSTRAINTS[constraint]
    if metric is not None:
        space = FreeRotation(basis.T @ metric @ basis)

    def lift(filters):
        return space.nearest(basis @ filters)

    quick = objective
    # Other optimizers know nothing of the precision of a cost.
    single = optimizer == "lbfgs" and hasattr(objective, "in_single_precision")
    if single and not complete:
        quick = objective.in_single_precision()
    if coarse is None:
        coarse = quick.project(basis)
    ascend = _Ascent(space, lift, optimizer, max_iter, tol, batches, callback)
    coarse_tol = tol if complete else max(tol, _COARSE_TOL)
    runs = candidates = _from_starts(ascend, coarse, starts, coarse_tol)
    if len(starts) > 1 and (complete or coarse_tol < _SCREENING_TOL):
        # They were followed a little way only.
        leaders = _leaders(runs)[: 1 if metric is None else 2]
        candidates = _followed(ascend, coarse, leaders, coarse_tol, metric is not None)
    result = min(candidates, key=_cost)
    result = replace(result, point=lift(result.point))
    if not complete:
        finish = np.asarray  # points of the constraint are filters of unit norm
        if metric is not None:
            space = space.beyond(basis, metric)
            finish = space.nearest
        ascend = replace(ascend, space=space, lift=finish)
        result = _refined(ascend, objective, quick, result)
        result = replace(result, point=finish(result.point))
    return result, [-run.cost for run in runs]


@dataclass(frozen=True)
class _Ascent:
    """Searches from given filters, in a space of their own.

    ``lift`` maps the filters of that space to those of shape (n, m) which are reported.
    The other attributes are the parameters of :func:`maximize_coarse_to_fine`.
    """

    space: Any
    lift: Callable
    optimizer: Any
    max_iter: int
    tol: float
    batches: Any
    callback: Callable | None

    def __call__(self, stage, objective, start, **limits):
        space = self.space
        limits = {"tol": self.tol, "max_iter": self.max_iter, **limits}
        value_and_gradient = space.at_points(objective)

        def cost(point):
            value, gradient = value_and_gradient(point)
            return -value, -gradient

        def report(point, cost):
            return self.callback(stage, self.lift(space.filters_of(point)), -cost)

        manifold, point = space.manifold(*start.shape), space.point_of(start)
        if self.callback is not None:
            limits["callback"] = report
        if self.batches is None:
            limits["optimizer"] = self.optimizer
            run = minimize(cost, manifold, point, **limits)
        else:
            limits = {k: limits[k] for k in ("max_iter", "callback") if k in limits}
            batches = self.batches
            run = maximize_in_batches(objective, manifold, point, *batches, **limits)
        filters = space.rotated(space.filters_of(run.point), like=start)
        return replace(run, point=filters)


def within(label, callback):
    """The callback of a part of the search, which puts a label before its stages."""
    if callback is None:
        return None
    return lambda stage, *report: callback(f"{label}, {stage}", *report)


def _from_starts(ascend, objective, starts, tol):
    """The searches from all starts; of several, each goes a little way only."""
    limits = {"tol": tol}
    if len(starts) > 1:
        most = min(ascend.max_iter, _SCREENING_ITERATIONS)
        limits = {"tol": max(tol, _SCREENING_TOL), "max_iter": most}
    runs = []
    for number, start in enumerate(starts, start=1):
        stage = f"start {number}" if len(starts) > 1 else "search"
        with suppress(StartError):
            runs.append(ascend(stage, objective, start, **limits))
    if not runs:
        raise ValueError(
            "The objective is not finite at any start: the classes are too close to "
            "singular. Increase regularization, or give another init."
        )
    return runs


def _leaders(runs):
    """The best run, and the next one that may still become better."""
    best, *others = sorted(runs, key=_cost)

    def may_win(run):
        behind, scale = run.cost - best.cost, abs(best.cost)
        return _SAME * scale < behind <= _LEAD * scale

    return [best, *filter(may_win, others)]


def _followed(ascend, objective, runs, tol, free):
    """The runs, followed to a tolerance; ``free`` if filters may be rotated."""
    results = []
    for number, run in enumerate(runs):
        stage = "next best start" if number else "best start"
        limits = {"tol": tol}
        if free and tol < _SCREENING_TOL:  # else it would go on much more closely
            limits["gradient_scale"] = run.gradient_scale
        results.append(_after(run, ascend(stage, objective, run.point, **limits)))
    return results


def _refined(ascend, objective, quick, result):
    """The result, followed in the whole space.

    ``quick`` is the objective in single precision, or itself where that will not do.
    """
    try:
        if quick is objective:
            run = ascend("all features", objective, result.point)
            return _after(result, run)
        run = _in_single_precision(ascend, objective, quick, result.point)
        result = _after(result, run)
        if ascend.tol < _SINGLE_TOL:
            stage = "all features in double precision"
            run = ascend(stage, objective, result.point)
            result = _after(result, run)
    except StartError:
        raise ValueError(
            "The objective is finite for filters in the subspace of the leading "
            "principal axes, but not for the same ones among all features: some "
            "covariances are too close to singular, or their numbers too far "
            "apart. Increase regularization, or scale the features."
        ) from None
    return result


def _in_single_precision(ascend, objective, quick, start):
    limits = {"tol": max(ascend.tol, _SINGLE_TOL), "precision": _SINGLE_PRECISION}
    run = ascend("all features", quick, start, **limits)
    value, _ = objective(run.point)
    # It has converged if it ended where rounding hides any progress.
    ended = run.n_iter < ascend.max_iter and run.reason != WENT_ASTRAY
    return replace(run, cost=-value, converged=run.converged or ended)


def _after(first, second):
    """The result of two searches, of which the second went on from the first."""
    return replace(
        second,
        n_iter=first.n_iter + second.n_iter,
        n_evaluations=first.n_evaluations + second.n_evaluations,
    )


def _cost(run):
    return run.cost
