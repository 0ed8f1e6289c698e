"""Maximize an objective of filters in stages, from coarse to fine.

With c classes, an evaluation of the objective of m filters of n features reads c n^2
numbers. In the span of the k leading principal axes, an evaluation reads only c k^2
numbers. The initializations are therefore compared in this subspace, and most
iterations take place there. The last iterations take place in the space of all
features.

The cost of an evaluation also depends on the number of terms of the objective: samples
or pairs of classes. The optimal filters for a subset of p terms lose a part of the
complete objective that is proportional to 1 / p. Most iterations therefore use a small
subset, which then grows (after Byrd, Chin, Nocedal and Wu, "Sample size selection in
optimization methods for machine learning", Mathematical Programming 134, 2012).
"""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import attrgetter

import numpy as np

from skgeom.optim._batches import minimize_in_batches
from skgeom.optim._manifolds import CONSTRAINTS, Stiefel, filter_manifold
from skgeom.optim._minimize import StartError, minimize

# Tolerance of the optimization from each start before the best start is selected. With
# a full optimization, the same start is selected on digits and on the statistics of
# MNIST (benchmarks/bench_sqfa.py).
_SCREENING_TOL = 1e-3
# Minimum tolerance of stages whose result is refined later: in the subspace, if the
# space of all features follows, and with subsets of the terms. If the last subset does
# not contain all terms, its filters may lose five times this fraction of the objective
# (benchmarks/bench_many_classes.py).
_STAGE_TOL = 1e-4

# Minimum number of samples of the first subset, in total and for each entry of the
# filters: the optimum of a smaller subset would differ too much (AMAGauss on images of
# digits). Each subset is four times as large as the previous one
# (benchmarks/bench_growth.py).
_LEAST_SAMPLES, _SAMPLES_PER_ENTRY = 16_000, 200


def maximize_coarse_to_fine(
    objective,
    starts,
    basis,
    *,
    in_basis,
    constraint,
    span_only=False,
    fixed=None,
    metric=None,
    optimizer="lbfgs",
    max_iter=500,
    tol=1e-6,
    batches=None,
    callback=None,
    random_state=None,
    subsets=None,
):
    """Maximize an objective over constrained filters, from several starts.

    If the objective has subsets, the optimization continues with larger and larger
    subsets until the estimated loss of the filters, relative to the objective, is at
    most ``tol``, or until the last subset. If the last subset does not contain all
    terms, the tolerance of the loss is at least 0.0005. The loss is estimated from the
    gain of the latest growth: four times as many terms reduce the loss to a quarter, so
    the remaining loss is a third of the gain.

    Parameters
    ----------
    objective : skgeom.objectives.Objective
        The objective of filters of shape (n, m).
    starts : list of ndarray of shape (k, m)
        Initial filters that satisfy the constraint, in the coordinates of the basis;
        orthonormal filters with ``span_only``.
    basis : ndarray of shape (n, k)
        Columns that span the subspace. They must be orthonormal, unless the objective
        depends on the span of the filters only.
    in_basis : bool
        Whether the best filters are in the subspace, so that no refinement in the space
        of all features is needed.
    constraint : {"unit-norm", "orthonormal"}
        A key of ``CONSTRAINTS``.
    span_only : bool, default=False
        Whether the objective depends on the span of the filters only. The filters are
        then orthonormal in the coordinates of the basis: the optimization could make
        filters of unit norm nearly equal, and the objective a rounding error.
    fixed : ndarray of shape (N, p), default=None
        The first filters of the objective, which are fixed. If N > n, the optimized
        filters have zeros in the first N - n rows.
    metric : ndarray of shape (n, n), default=None
        If given, filters of unit norm are optimized up to rotations, with this metric
        (:class:`RotationQuotient`). It is used only with the optimizer "lbfgs". The
        objective must be the same for filters ``f`` and ``f @ r`` with any rotation
        ``r``.
    optimizer : str or pymanopt.optimizers.optimizer.Optimizer, default="lbfgs"
        As for :func:`minimize`.
    max_iter : int, default=500
        Maximum number of iterations of each stage.
    tol : float, default=1e-6
        Relative tolerance, as for :func:`minimize`.
    batches : (int, RandomState), default=None
        If given, :func:`minimize_in_batches` replaces the optimizer, with this batch
        size and this source of random numbers.
    callback : callable, default=None
        Called as ``callback(stage, filters, value)`` after each iteration, with filters
        of shape (n, m). The name of the stage is "start 1", "start 2" and so on
        ("search" for a single start), "best start" for the refinement in the subspace,
        or "all features" for the refinement in the space of all features. The size of a
        subset precedes this name. The stage ends if the callback returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the random subsets.
    subsets : list, default=None
        The subsets. If None, ``objective.growing_subsets`` draws them.

    Returns
    -------
    MinimizeResult
        The filters, of shape (n, m); the cost is the *negative* objective. The numbers
        of iterations and evaluations include the stage of the selected start and all
        later stages.
    list of float
        The value that each start reached on the first subset before the best start was
        selected.

    Raises
    ------
    ValueError
        If the objective is infinite or NaN at all starts. If it is finite at some
        starts, the other starts are ignored.
    """
    fixed = np.empty((len(basis), 0)) if fixed is None else fixed
    run, by_lbfgs = None, optimizer == "lbfgs" and batches is None
    coarse = objective.project(_beside(fixed, basis))
    n_fixed, (rank, n_filters) = fixed.shape[1], starts[0].shape
    coarse_fixed = np.eye(n_fixed + rank, n_fixed)
    metric = metric if by_lbfgs else None
    coarse_metric = None if metric is None else basis.T @ metric @ basis
    within_stages = "orthonormal" if span_only else constraint
    manifold = filter_manifold(within_stages, coarse_metric, rank, n_filters)
    nearest = CONSTRAINTS[constraint].nearest if span_only else manifold.nearest
    options = {
        "optimizer": optimizer,
        "max_iter": max_iter,
        "batches": batches,
        "callback": callback,
        "nearest": nearest,
    }
    stage_tol = max(tol, _STAGE_TOL)
    if subsets is None:
        subsets = objective.growing_subsets(random_state)
    subsets = subsets or [None]
    for number, subset in enumerate(subsets):
        part, label = coarse, ""
        if subset is not None:
            part, label = coarse.subset(subset), f"{len(subset):,} {objective.terms}, "
        ascend = partial(_ascend, part, coarse_fixed, manifold, basis, **options)
        part_tol = tol if in_basis and part.complete else stage_tol
        if run is None:
            run, values = _best_start(ascend, starts, label, part_tol)
            continue
        before, _ = part(_beside(coarse_fixed, run.point))
        run = ascend(label + "search", run.point, part_tol, before=run)
        gain = (-run.cost - before) / abs(run.cost)
        ends_complete = objective.subset(subsets[-1]).complete
        tolerable = tol if ends_complete else max(tol, 5 * _STAGE_TOL)
        if gain <= tolerable * (len(subset) / len(subsets[number - 1]) - 1):
            break
    run = replace(run, point=basis @ run.point)
    if not in_basis:
        part = objective if subset is None else objective.subset(subset)
        manifold = filter_manifold(constraint, metric, *run.point.shape)
        ascend = partial(_ascend, part, fixed, manifold, None, **options)
        tol = tol if part.complete else stage_tol
        try:
            run = ascend(label + "all features", run.point, tol, before=run)
        except StartError:
            raise ValueError(
                "The objective is finite for filters in the subspace of the leading "
                "principal axes, but not for the same filters of all features: some "
                "covariances are nearly singular, or their values differ by too many "
                "powers of ten. Increase regularization, or scale the features."
            ) from None
    is_quotient = metric is not None or within_stages == "orthonormal"
    if is_quotient and objective.rotation_invariant:
        # Otherwise, rounding would determine the rotation of the filters, and which of
        # the starts that reach the same span is the best one.
        rotation = Stiefel.nearest(run.point.T @ (basis @ starts[0]))
        run = replace(run, point=run.point @ rotation)
    run = replace(run, point=nearest(run.point))
    if not part.complete:
        run = replace(run, cost=-objective.mean(_beside(fixed, run.point)))
    return run, values


def _best_start(ascend, starts, label, tol):
    """Optimize from each start with a large tolerance, then continue with the best one.

    Returns the result, and the value that each start reached before the selection.
    """
    several = len(starts) > 1
    loose = max(tol, _SCREENING_TOL) if several else tol
    runs = []
    for number, start in enumerate(starts, 1):
        name = label + (f"start {number}" if several else "search")
        with suppress(StartError):
            runs.append(ascend(name, start, loose))
    if not runs:
        raise ValueError(
            "The objective is not finite at any start: the classes are too close to "
            "singular. Increase regularization, or use another init."
        )
    best = min(runs, key=attrgetter("cost"))
    values = [-run.cost for run in runs]
    if tol < loose:
        with suppress(StartError):  # raised if rounding makes the objective infinite
            best = ascend(label + "best start", best.point, tol, before=best)
    return best, values


def _beside(fixed, filters):
    """All filters of an objective: the fixed filters, then the optimized filters."""
    n_more = len(fixed) - len(filters)
    if n_more:
        filters = np.vstack([np.zeros((n_more, filters.shape[1])), filters])
    return np.hstack([fixed, filters]) if fixed.shape[1] else filters


def growing_rows(n_samples, n_entries):
    """Nested subsets of the samples, up to all samples; none if the samples are few.

    The subsets are random with a fixed seed.
    """
    sizes = [max(_LEAST_SAMPLES, _SAMPLES_PER_ENTRY * n_entries)]
    while 4 * sizes[-1] <= n_samples:
        sizes.append(4 * sizes[-1])
    order = np.random.default_rng(0).permutation(n_samples)
    parts = [np.sort(order[:size]) for size in sizes[:-1]]
    return [*parts, np.arange(n_samples)] if parts else []


def prefixed(label, callback):
    """A callback that adds a label before the name of each stage."""
    if callback is None:
        return None
    return lambda stage, *report: callback(f"{label}, {stage}", *report)


def _ascend(
    objective,
    fixed,
    manifold,
    basis,
    stage,
    start,
    tol,
    *,
    optimizer,
    max_iter,
    batches,
    callback,
    nearest,
    before=None,
):
    """Optimize filters from a start; the point of the result is an array of filters.

    The filters are in the coordinates of the basis, if it is given. The numbers of
    iterations and evaluations include those of the earlier result ``before``.
    """

    def cost(point, rows=None):
        filters = manifold.filters_of(point)
        part = objective if rows is None else objective.subset(rows)
        value, gradient = part(_beside(fixed, filters))
        # The gradient with respect to the filters; the manifold converts it.
        return -value, -gradient[len(gradient) - len(filters) :, fixed.shape[1] :]

    def report(point, cost):
        filters = manifold.filters_of(point)
        filters = nearest(filters if basis is None else basis @ filters)
        return callback(stage, filters, -cost)

    point = manifold.point_of(start)
    limits = {"max_iter": max_iter, "callback": callback and report}
    if batches is not None:
        n_samples = objective.n_samples
        run = minimize_in_batches(cost, n_samples, manifold, point, *batches, **limits)
    else:
        run = minimize(cost, manifold, point, optimizer=optimizer, tol=tol, **limits)
    filters = manifold.filters_of(run.point)
    if before is None:
        return replace(run, point=filters)
    return replace(
        run,
        point=filters,
        n_iter=before.n_iter + run.n_iter,
        n_evaluations=before.n_evaluations + run.n_evaluations,
    )
