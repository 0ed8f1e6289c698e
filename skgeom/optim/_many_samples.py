"""Maximise an objective of very many samples, first for few of them, then for more.

What a part of the samples has in common with all of them can be found from the part.
So most iterations are made with few samples; each larger part goes on from the optimum
of the one before, and from what was learnt of the curvature there, and the last part
are all samples (after Byrd, Chin, Nocedal and Wu, "Sample size selection in
optimization methods for machine learning", Mathematical Programming 134, 2012).
"""

from dataclasses import replace

import numpy as np

from skgeom.optim._coarse_to_fine import maximize_coarse_to_fine, within
from skgeom.optim._constraints import CONSTRAINTS
from skgeom.optim._lbfgs import RiemannianLBFGS
from skgeom.optim._minimize import NO_LIMITS, minimize

# Samples of the first part, and for each entry of the filters: a part that is too small
# would have an optimum of its own.
_LEAST_SAMPLES = 16_000
_SAMPLES_PER_ENTRY = 200
# How much larger each part is than the one before.
_GROWTH = 4
# Nothing is gained by more digits than samples determine.
_LEAST_TOL = 1e-5
# Pairs that a search remembers; beside a pass over so many samples they cost little.
_MEMORY = 60


def sizes_of_parts(n_samples, n_entries):
    """Numbers of samples, rising to all of them: one number if these are not many."""
    sizes = [max(_LEAST_SAMPLES, _SAMPLES_PER_ENTRY * n_entries)]
    while _GROWTH * sizes[-1] <= n_samples:
        sizes.append(_GROWTH * sizes[-1])
    return [*sizes[:-1], n_samples]


def maximize_over_many_samples(
    objective,
    starts,
    basis,
    *,
    constraint,
    max_iter=500,
    tol=1e-6,
    callback=None,
    **options,
):
    """Maximise the mean of an objective over samples, for more and more of them.

    Takes the parameters of :func:`maximize_coarse_to_fine`, by which the first part is
    searched, and returns what that returns. The ``optimizer`` is L-BFGS. The parts are
    random, but always the same.

    Parameters
    ----------
    objective : callable
        As there; and ``objective.sample(rows)`` is that of some of its ``n_samples``
        samples.
    """
    sizes = sizes_of_parts(objective.n_samples, len(basis) * starts[0].shape[1])
    order = np.random.default_rng(0).permutation(objective.n_samples)
    limits = {"max_iter": max_iter, "tol": max(tol, _LEAST_TOL)}

    def of_part(size):
        if size == objective.n_samples:
            return objective
        return objective.sample(np.sort(order[:size]))

    result, values = maximize_coarse_to_fine(
        of_part(sizes[0]),
        starts,
        basis,
        constraint=constraint,
        callback=within(f"{sizes[0]:,} samples", callback),
        **limits,
        **options,
    )
    manifold = CONSTRAINTS[constraint].manifold(*result.point.shape)
    optimizer = _ContinuedLBFGS(memory=_MEMORY, **NO_LIMITS)
    for size in sizes[1:]:
        part = of_part(size)

        def cost(point, part=part):
            value, gradient = part(point)
            return -value, -gradient

        def report(point, cost, stage=f"{size:,} samples"):
            return callback(stage, point, -cost)

        limits["callback"] = None if callback is None else report
        before = result
        result = minimize(cost, manifold, before.point, optimizer=optimizer, **limits)
        result = replace(
            result,
            n_iter=before.n_iter + result.n_iter,
            n_evaluations=before.n_evaluations + result.n_evaluations,
        )
    return result, values


class _ContinuedLBFGS(RiemannianLBFGS):
    """Begins with the pairs of the run before, which ended where this one begins."""

    _history = None

    def _first_history(self, manifold):
        if self._history is None:
            self._history = super()._first_history(manifold)
        return self._history
