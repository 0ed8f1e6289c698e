"""Maximise an objective of filters first in a small subspace, then in the whole space.

An evaluation of an objective of n x m filters reads c n^2 numbers. In the span of k
leading principal axes it reads c k^2 only, so that is where starts are compared and
most iterations are made; a few evaluations in the whole space then finish the work.
"""

from contextlib import suppress
from dataclasses import replace

from skgeom.optim._batches import maximize_in_batches
from skgeom.optim._manifolds import CONSTRAINTS
from skgeom.optim._minimize import StartError, minimize

# How closely the starts are optimised before the best one is chosen: enough to tell
# which optimum they go to.
_SCREENING_TOL = 1e-3
_SCREENING_ITERATIONS = 100
# How much more loosely the coarse problem is solved. Its optimum is a start for the
# whole space only, so its last digits would be wasted.
_COARSE_FACTOR = 10


def maximize_coarse_to_fine(
    objective,
    starts,
    basis,
    *,
    complete,
    constraint,
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
        filters has shape (n, m), and stage counts the starts, from 0, then the
        refinement in the subspace, then the one in the whole space. A stage ends if
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
    constraint = CONSTRAINTS[constraint]

    def lift(point):
        return constraint.nearest(basis @ point)

    def ascend(stage, objective, start, filters_of=lift, *, tol=tol, max_iter=max_iter):
        """Search from one point; ``filters_of`` maps points to filters."""

        def cost(point):
            value, gradient = objective(point)
            return -value, -gradient

        def report(point, cost):
            return callback(stage, filters_of(point), -cost)

        manifold = constraint.manifold(*start.shape)
        limits = {"max_iter": max_iter}
        if callback is not None:
            limits["callback"] = report
        if batches is not None:
            return maximize_in_batches(objective, manifold, start, *batches, **limits)
        return minimize(cost, manifold, start, optimizer=optimizer, tol=tol, **limits)

    if coarse is None:
        coarse = objective.project(basis)
    coarse_tol = tol if complete else _COARSE_FACTOR * tol
    limits = {"tol": coarse_tol}
    if len(starts) > 1:
        limits["tol"] = max(coarse_tol, _SCREENING_TOL)
        limits["max_iter"] = min(max_iter, _SCREENING_ITERATIONS)
    runs = []
    for stage, start in enumerate(starts):
        with suppress(StartError):
            runs.append(ascend(stage, coarse, start, **limits))
    if not runs:
        raise ValueError(
            "The objective is not finite at any start: the classes are too close to "
            "singular. Increase regularization, or give another init."
        )
    result = min(runs, key=lambda run: run.cost)
    stage = len(starts)
    if len(starts) > 1:
        # The best start was followed a little way only.
        refined = ascend(stage, coarse, result.point, tol=coarse_tol)
        result = _after(result, refined)
    result = replace(result, point=lift(result.point))
    if not complete:
        fine = ascend(stage + 1, objective, result.point, lambda filters: filters)
        result = _after(result, fine)
    return result, [-run.cost for run in runs]


def _after(first, second):
    """The result of two searches, of which the second went on from the first."""
    return replace(
        second,
        n_iter=first.n_iter + second.n_iter,
        n_evaluations=first.n_evaluations + second.n_evaluations,
    )
