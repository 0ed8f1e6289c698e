"""Maximise an objective of very many terms, first on samples of them that grow.

The filters that are best for a sample of p terms lose a part of the objective that
falls with 1 / p. So most iterations, and all that it takes to choose among the starts,
are made on a small sample, and few on the large one that makes the result precise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skgeom.optim._coarse_to_fine import maximize_coarse_to_fine, within
from skgeom.optim._constraints import CONSTRAINTS

# What a sample may lose of the objective, relatively, if all terms are not affordable.
_LOSS = 5e-4
# How closely the best filters of a sample are sought.
_SAMPLE_TOL = 1e-4


def maximize_on_samples(
    objective,
    starts,
    basis,
    *,
    complete,
    constraint,
    metric=None,
    max_iter=500,
    tol=1e-6,
    callback=None,
    random_state=None,
    **options,
):
    """Maximise an objective over constrained filters, on samples of it if it has any.

    A sample grows until what its filters lose is at most ``tol``, relatively, or until
    it is the last one; if that is not the whole objective, they may lose .0005. What is
    lost is estimated from what the growth has gained: with four times as many terms it
    is a quarter of what it was, and so a third of the gain.

    Parameters
    ----------
    objective, starts, basis, complete, constraint, metric, max_iter, tol, callback, \
            **options
        As for :func:`maximize_coarse_to_fine`, where ``max_iter`` is that of each
        sample. ``objective.growing_samples`` maps ``random_state`` to samples, each
        part of the next one, or to none; ``objective.sample(s)`` is the objective on
        one of them; ``objective.mean`` maps filters to the value to report.
    random_state : int, RandomState instance or None, default=None
        What the samples are drawn with.

    Returns
    -------
    MinimizeResult
        As by :func:`maximize_coarse_to_fine`; the cost is the negative mean.
    list of float
        The value that each start reached, on the first sample.
    """
    search = partial(
        maximize_coarse_to_fine, constraint=constraint, max_iter=max_iter, **options
    )
    samples = objective.growing_samples(random_state)
    if not samples:
        return search(
            objective,
            starts,
            basis,
            complete=complete,
            metric=metric,
            tol=tol,
            callback=callback,
        )
    subspace = _Subspace(
        objective.project(basis), basis, constraint, metric, search, tol, callback
    )
    runs, values, sample = subspace.follow(samples, starts)
    run = runs[-1]
    if complete:
        run = replace(run, point=subspace.lift(run.point))
    else:
        run, _ = search(
            objective.sample(sample),
            [run.point],
            basis,
            complete=False,
            metric=metric,
            coarse=subspace.objective.sample(sample),
            **subspace.limits(sample, callback),
        )
        runs.append(run)
    result = replace(
        run,
        cost=run.cost if sample.complete else -objective.mean(run.point),
        n_iter=sum(run.n_iter for run in runs),
        n_evaluations=sum(run.n_evaluations for run in runs),
    )
    return result, values


@dataclass(frozen=True)
class _Subspace:
    """Searches on samples of an objective, in the coordinates of a basis.

    ``objective`` is that in the coordinates, ``search`` is
    :func:`maximize_coarse_to_fine` with its options, and the other attributes are the
    parameters of :func:`maximize_on_samples`.
    """

    objective: Callable
    basis: np.ndarray
    constraint: str
    metric: np.ndarray | None
    search: Callable
    tol: float
    callback: Callable | None

    def lift(self, point):
        return CONSTRAINTS[self.constraint].nearest(self.basis @ point)

    def limits(self, sample, callback):
        """How closely to search on a sample, and the callback of that search."""
        tol = self.tol if sample.complete else max(self.tol, _SAMPLE_TOL)
        return {"tol": tol, "callback": within(f"{len(sample):,} pairs", callback)}

    def follow(self, samples, starts):
        """Search on samples that grow, until too little is lost to go on.

        Returns the results, the values that the starts reached, and the last sample.
        """
        sample = samples[0]
        run, values = self._search(sample, starts)
        runs = [run]
        tolerable = self.tol if samples[-1].complete else max(self.tol, _LOSS)
        for larger in samples[1:]:
            growth, sample, start = len(larger) / len(sample), larger, run.point
            run, _ = self._search(sample, [start])
            runs.append(run)
            before, _ = self.objective.sample(sample)(start)
            gain = (-run.cost - before) / abs(run.cost)
            if gain / (growth - 1) <= tolerable:
                break
        return runs, values, sample

    def _search(self, sample, points):
        part, basis, metric = self.objective.sample(sample), self.basis, self.metric
        report = self.callback
        if report is not None:

            def report(stage, point, value):
                return self.callback(stage, self.lift(point), value)

        return self.search(
            part,
            points,
            np.eye(basis.shape[1]),
            complete=True,
            metric=None if metric is None else basis.T @ metric @ basis,
            coarse=part,
            **self.limits(sample, report),
        )
