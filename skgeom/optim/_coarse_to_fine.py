"""Maximise an objective of filters in stages, from coarse to fine.

An evaluation of an objective of n x m filters reads c n^2 numbers. In the span of k
leading principal axes it reads c k^2 numbers only, so that starts are compared and most
iterations are made there; the whole space follows, with covariances in single precision
as long as rounding does not matter, which are half as many bytes.

Many samples, or pairs of classes, are another dimension. The filters that are best for
p of them lose a part of the objective that falls with 1 / p. So most iterations are
made on a small sample, which then grows (after Byrd, Chin, Nocedal and Wu, "Sample size
selection in optimization methods for machine learning", Mathematical Programming 134,
2012).
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skgeom.optim._batches import maximize_in_batches
from skgeom.optim._lbfgs import EPS
from skgeom.optim._manifolds import CONSTRAINTS, RotationQuotient
from skgeom.optim._minimize import INFINITE_COST, StartError, minimize

# How closely all starts are optimized before the best one is chosen.
_SCREENING_TOL = 1e-3
_SCREENING_ITERATIONS = 100
# The least tolerance in the subspace, if the whole space follows, and for samples that
# are not the whole objective: the last digits of the optimum would be wasted.
_STAGE_TOL = 1e-4
# What a sample may lose of the objective, relatively, if the whole is not affordable.
_LOSS = 5e-4
# The least tolerance with covariances in single precision, and the relative error of
# the objective, generously.
_SINGLE_TOL = 1e-6
_SINGLE_PRECISION = 2.0**-26

# Samples of the first part of many samples, in all and for each entry of the filters: a
# part that is too small would have an optimum of its own.
_LEAST_SAMPLES = 16_000
_SAMPLES_PER_ENTRY = 200
# How much larger each part is than the one before.
_GROWTH = 4
# The least tolerance of many samples, which do not determine more digits.
_LEAST_TOL = 1e-5


def maximize_on_samples(
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
    random_state=None,
    samples=None,
    stage_tol=_STAGE_TOL,
):
    """Maximise an objective over constrained filters, from several starts.

    If the objective has samples, the sample grows until its filters lose at most
    ``tol``, relatively, or until it is the last one; if that is not the whole
    objective, they may lose .0005. The loss is estimated from what the growth has
    gained: with four times as many terms it is a quarter of what it was, and so a third
    of the gain.

    Parameters
    ----------
    objective : callable
        Maps filters of shape (n, m) to ``(value, gradient)``; ``objective.project(b)``
        is the same objective for filters ``b @ g``, as a function of g.
        ``objective.growing_samples`` maps ``random_state`` to samples, each part of the
        next one, or to none; ``objective.sample(s)`` is the objective on one of them,
        whose ``complete`` states whether it is the whole objective, and
        ``objective.mean`` maps filters to the value to report.
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
        If given, filters of unit norm are optimized up to rotations, with this metric
        (:class:`RotationQuotient`). The objective must not change when filters are
        rotated, ``f @ r``.
    optimizer : str or pymanopt.optimizers.optimizer.Optimizer, default="lbfgs"
        As for :func:`minimize`.
    max_iter : int, default=500
        Largest number of iterations of each stage.
    tol : float, default=1e-6
        Relative tolerance, as for :func:`minimize`.
    batches : (int, RandomState), default=None
        If given, the size and the source of the batches of samples of the objective
        that :func:`maximize_in_batches` uses instead of the optimizer.
    callback : callable, default=None
        Called as ``callback(stage, filters, value)`` after each iteration, where
        filters has shape (n, m) and stage is the name of the stage: "start 1" and so
        on, or "search" if there is one start only, "best start" for the refinement in
        the subspace, and "all features" for that in the whole space, after the size of
        the sample, if any. A stage ends if it returns True.
    random_state : int, RandomState instance or None, default=None
        Draws the samples.
    samples : list, default=None
        The samples, instead of ``objective.growing_samples``.
    stage_tol : float, default=1e-4
        The least tolerance in the subspace, if the whole space follows, and on samples
        that are not the whole objective.

    Returns
    -------
    MinimizeResult
        The filters, of shape (n, m), with the *negative* objective as the cost; counts
        are those of the chosen start and of all stages after it.
    list of float
        The value that each start reached, on the first sample, when one was chosen.

    Raises
    ------
    ValueError
        If the objective is not finite at any start; other starts are ignored.
    """
    fast, sample = objective, None
    if not complete and batches is None and optimizer == "lbfgs" and tol >= _SINGLE_TOL:
        fast = objective.in_single_precision()
    single = fast is not objective
    coarse = fast.project(basis)
    space = _space(constraint, None if metric is None else basis.T @ metric @ basis)
    stages = _Stages(space, basis, optimizer, max_iter, batches, callback)
    stage_tol = max(tol, stage_tol)
    if samples is None:
        samples = objective.growing_samples(random_state)
    if not samples:
        run, values = stages.from_starts(coarse, starts, tol if complete else stage_tol)
    else:
        tolerable = tol if objective.sample(samples[-1]).complete else max(tol, _LOSS)
    for previous, sample in zip([None, *samples], samples, strict=False):
        part = coarse.sample(sample)
        part_tol = tol if complete and part.complete else stage_tol
        stages = replace(stages, label=f"{len(sample):,} {objective.terms}, ")
        if previous is None:
            run, values = stages.from_starts(part, starts, part_tol)
            continue
        before, _ = part(run.point)
        run = stages.go_on("search", part, run, part_tol)
        gain = (-run.cost - before) / abs(run.cost)
        if gain <= tolerable * (len(sample) / len(previous) - 1):
            break
    run = replace(run, point=stages.lift(run.point))
    whole = sample is None or part.complete
    if not complete:
        stages = replace(stages, space=_space(constraint, metric), basis=None)
        if sample is not None:
            fast = fast.sample(sample)
        run = stages.in_whole_space(fast, run, tol if whole else stage_tol, single)
    if not whole:
        run = replace(run, cost=-objective.mean(run.point))
    elif single:
        run = replace(run, cost=-objective(run.point)[0])
    return run, values


def _space(constraint, metric):
    return CONSTRAINTS[constraint] if metric is None else RotationQuotient(metric)


# The objective of noise selection has no samples.
maximize_coarse_to_fine = maximize_on_samples


def sizes_of_parts(n_samples, n_entries):
    """Numbers of samples, rising to all of them: one number if these are not many."""
    sizes = [max(_LEAST_SAMPLES, _SAMPLES_PER_ENTRY * n_entries)]
    while _GROWTH * sizes[-1] <= n_samples:
        sizes.append(_GROWTH * sizes[-1])
    return [*sizes[:-1], n_samples]


def maximize_over_many_samples(objective, starts, basis, *, tol=1e-6, **options):
    """Maximise the mean of an objective over samples, for more and more of them.

    The parameters and results are those of :func:`maximize_on_samples`. The parts are
    random, but always the same.
    """
    n_samples = objective.n_samples
    sizes = sizes_of_parts(n_samples, len(basis) * starts[0].shape[1])
    order = np.random.default_rng(0).permutation(n_samples)
    samples = [np.sort(order[:size]) for size in sizes] if len(sizes) > 1 else []
    tol = max(tol, _LEAST_TOL)
    return maximize_on_samples(
        objective, starts, basis, tol=tol, stage_tol=tol, samples=samples, **options
    )


def within(label, callback):
    """The callback of a part of an optimization: a label before its stages."""
    if callback is None:
        return None
    return lambda stage, *report: callback(f"{label}, {stage}", *report)


@dataclass(frozen=True)
class _Stages:
    """The stages of an optimization, each from the filters of the stage before.

    Attributes
    ----------
    space : Constraint
        The constraint, or the quotient by rotations.
    basis : ndarray of shape (n, k) or None
        The basis of the subspace; None for the whole space.
    optimizer, max_iter, batches, callback
        Parameters of :func:`maximize_on_samples`.
    label : str
        What is put before the names of the stages.
    """

    space: Any
    basis: np.ndarray | None
    optimizer: Any
    max_iter: int
    batches: Any
    callback: Callable | None
    label: str = ""

    def lift(self, filters):
        """Filters of shape (n, m) that meet the constraint."""
        return self.space.nearest(
            filters if self.basis is None else self.basis @ filters
        )

    def from_starts(self, objective, starts, tol):
        """The best start's result, and the values that all starts reached.

        One start is optimized to the tolerance. Several are optimized loosely, and the
        best of them then to the tolerance.
        """
        if len(starts) == 1:
            names, loose, max_iter = ["search"], tol, self.max_iter
        else:
            names = [f"start {number + 1}" for number in range(len(starts))]
            loose = max(tol, _SCREENING_TOL)
            max_iter = min(self.max_iter, _SCREENING_ITERATIONS)
        runs = []
        for name, start in zip(names, starts, strict=True):
            with suppress(StartError):
                runs.append(self._ascend(name, objective, start, loose, max_iter))
        if not runs:
            raise ValueError(
                "The objective is not finite at any start: the classes are too close "
                "to singular. Increase regularization, or give another init."
            )
        run = min(runs, key=lambda run: run.cost)
        if len(starts) > 1 and tol < _SCREENING_TOL:
            run = self.go_on("best start", objective, run, tol)
        return run, [-run.cost for run in runs]

    def go_on(self, name, objective, before, tol, precision=EPS):
        """Optimize from the filters of a result, and add up the counts."""
        run = self._ascend(
            name, objective, before.point, tol, self.max_iter, precision=precision
        )
        return replace(
            run,
            n_iter=before.n_iter + run.n_iter,
            n_evaluations=before.n_evaluations + run.n_evaluations,
        )

    def in_whole_space(self, objective, before, tol, single):
        """Optimize among all features; ``single`` for single precision."""
        precision = _SINGLE_PRECISION if single else EPS
        try:
            run = self.go_on("all features", objective, before, tol, precision)
        except StartError:
            raise ValueError(
                "The objective is finite for filters in the subspace of the leading "
                "principal axes, but not for the same ones among all features: some "
                "covariances are too close to singular, or their numbers too far "
                "apart. Increase regularization, or scale the features."
            ) from None
        # In single precision, it has converged where rounding hides any progress.
        ended = run.n_iter - before.n_iter < self.max_iter
        converged = run.converged or (single and ended and run.reason != INFINITE_COST)
        return replace(run, point=self.lift(run.point), converged=converged)

    def _ascend(self, name, objective, start, tol, max_iter, precision=EPS):
        """Optimize from given filters; the point of the result are filters, too."""
        space, report = self.space, None
        if self.callback is not None:

            def report(point, cost):
                filters = self.lift(space.filters_of(point))
                return self.callback(self.label + name, filters, -cost)

        manifold, point = space.manifold(*start.shape), space.point_of(start)
        options = {"max_iter": max_iter, "callback": report}
        if self.batches is not None:
            run = maximize_in_batches(
                objective, manifold, point, *self.batches, **options
            )
        else:
            value_and_gradient = space.at_points(objective)

            def cost(point):
                value, gradient = value_and_gradient(point)
                return -value, -gradient

            options |= {"optimizer": self.optimizer, "tol": tol, "precision": precision}
            run = minimize(cost, manifold, point, **options)
        return replace(run, point=space.aligned(space.filters_of(run.point), start))
