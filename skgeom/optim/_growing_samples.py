"""Maximise an objective of very many terms, first on samples of them that grow.

The filters that are best for a sample of p terms lose a part of the objective that
falls with 1 / p. So most iterations, and all that it takes to choose among the starts,
are made on a small sample, and few on the large one that makes the result precise.
"""

from dataclasses import replace
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
    coarse = objective.project(basis)
    axes = np.eye(basis.shape[1])
    metric_of_axes = None if metric is None else basis.T @ metric @ basis

    def lift(point):
        return CONSTRAINTS[constraint].nearest(basis @ point)

    def lifted(report):
        return report and (lambda stage, p, value: report(stage, lift(p), value))

    def tol_of(sample):
        return tol if sample.complete else max(tol, _SAMPLE_TOL)

    def of_pairs(sample):
        return within(f"{len(sample):,} pairs", callback)

    def search_subspace(sample, points):
        """Search in the coordinates of the basis."""
        part = coarse.sample(sample)
        return search(
            part,
            points,
            axes,
            complete=True,
            metric=metric_of_axes,
            tol=tol_of(sample),
            callback=lifted(of_pairs(sample)),
            coarse=part,
        )

    sample = samples[0]
    run, values = search_subspace(sample, starts)
    runs = [run]
    tolerable = tol if samples[-1].complete else max(tol, _LOSS)
    for larger in samples[1:]:
        growth, sample, start = len(larger) / len(sample), larger, run.point
        run, _ = search_subspace(sample, [start])
        runs.append(run)
        before, _ = coarse.sample(sample)(start)
        gain = (-run.cost - before) / abs(run.cost)
        if gain / (growth - 1) <= tolerable:
            break
    if complete:
        run = replace(run, point=lift(run.point))
    else:
        run, _ = search(
            objective.sample(sample),
            [run.point],
            basis,
            complete=False,
            metric=metric,
            tol=tol_of(sample),
            callback=of_pairs(sample),
            coarse=coarse.sample(sample),
        )
        runs.append(run)
    result = replace(
        run,
        cost=run.cost if sample.complete else -objective.mean(run.point),
        n_iter=sum(run.n_iter for run in runs),
        n_evaluations=sum(run.n_evaluations for run in runs),
    )
    return result, values
