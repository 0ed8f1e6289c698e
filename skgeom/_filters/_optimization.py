"""The optimization of filters, in groups, each from several initializations.

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
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter

import numpy as np
from sklearn.utils import check_random_state

from skgeom._filters._basis import (
    Basis,
    linear_discriminants,
    orthonormal,
    principal_axes,
    whitening,
    with_class_directions,
)
from skgeom.objectives._covariances import StructuredMatrix
from skgeom.optim._manifolds import CONSTRAINTS, Stiefel
from skgeom.optim._minimize import StartError
from skgeom.utils.threads import one_blas_thread

# The initializations of each value of ``init``, computed by ``_named``; further
# initializations, up to ``n_init``, are random.
INITIALIZATIONS = {
    "auto": ("lda", "pca"),
    "pca": ("pca",),
    "lda": ("lda",),
    "random": (),
}

# With more classes, an initialization is expensive because of the number of pairs
# (page "Constants").
FEW_CLASSES = 50

# Filters of unit norm are dependent if their smallest singular value is below this
# bound. An optimization up to rotations approaches dependent filters more slowly and
# uses ten times the bound. With a bound of zero, the filters of iris are dependent
# (page "Constants").
DEPENDENT = 1e-3

# Tolerance of the optimization from each start before the best start is selected. With
# ten times the value, the objective of the statistics of MNIST is 0.3 % smaller
# (page "Constants").
_SCREENING_TOL = 1e-3
# Minimum tolerance of stages whose result is refined later: in the subspace, if the
# space of all features follows, and with subsets of the terms. If the last subset does
# not contain all terms, its filters may lose five times this fraction of the objective
# (page "Constants").
_STAGE_TOL = 1e-4

# Minimum number of samples of the first subset, in total and for each entry of the
# filters: the optimum of a smaller subset would differ too much (AMAGauss on images of
# digits). Each subset is four times as large as the previous one (page "Constants").
_LEAST_SAMPLES, _SAMPLES_PER_ENTRY = 16_000, 200


@dataclass(frozen=True)
class Starts:
    """The initializations of the optimization.

    ``init`` is a key of ``INITIALIZATIONS``, or the initial filters in columns.
    Initializations in addition to ``init``, up to ``n_init``, are random. ``extra`` are
    the filters of one more initialization, or None.
    """

    init: str | np.ndarray
    n_init: int
    extra: np.ndarray | None = None

    @property
    def named(self):
        return isinstance(self.init, str)


def independent_directions(filters, tol=DEPENDENT):
    """Number of directions that filters of unit norm, in columns, span."""
    return np.linalg.matrix_rank(filters, tol=tol)


def group_sizes(n_components, group_size):
    """Number of filters of each group."""
    size = int(group_size or n_components)
    full, rest = divmod(int(n_components), size)
    return [size] * full + ([rest] if rest else [])


def optimize_filters(problem, sizes, starts, search, refit_dependent=False):
    """Learn groups of filters, each with the earlier groups fixed.

    Parameters
    ----------
    problem : Problem
        The problem of all filters.
    sizes : list of int
        Number of filters of each group.
    starts, search : Starts, Search
    refit_dependent : bool
        Whether linearly dependent filters are optimized again with the constraint
        "orthonormal": they maximize the objective, but a quadratic classifier requires
        linearly independent features.

    Returns
    -------
    filters : ndarray of shape (n, sum of the sizes)
    groups : list of (MinimizeResult, list of float)
        For each group, the result of its optimization and the objectives that its
        initializations reached.
    """
    attempts = [(problem, search)]
    if refit_dependent:
        again = replace(problem, constraint="orthonormal")
        attempts.append((again, search.labelled("orthonormal")))
    for attempt, of_attempt in attempts:
        rng = check_random_state(search.random_state)
        filters, groups = np.empty((len(problem.total), 0)), []
        for size in sizes:
            group, of_group = problem_of_more(attempt, filters), of_attempt
            if len(sizes) > 1:
                of_group = of_attempt.labelled(f"group {len(groups) + 1}")
            if starts.named and search.optimizer == "lbfgs" and not search.in_blocks:
                # In an optimization up to rotations, a filter that hardly changes the
                # objective can shrink to zero. Given filters are therefore optimized
                # without the quotient.
                group = group.up_to_rotations()
            with one_blas_thread(problem.objective.parallel):
                coarse = group.restrict(_coarse_basis(group, size, starts.named))
                points = _points(coarse, size, starts, rng)
                result, values = maximize(coarse, points, of_group)
            filters = result.point
            groups.append((result, values))
        if independent_directions(filters, 10 * DEPENDENT) == sum(sizes):
            break
    return filters, groups


def problem_of_more(problem, filters):
    """The problem of further filters.

    Orthonormal filters are optimized in the orthogonal complement of the fixed filters.
    Filters of unit norm are optimized in the whole space. If the objective depends on
    the span of the filters only, orthonormal filters are also optimized in the whole
    space and orthogonalized afterwards.
    """
    problem, n_fixed = replace(problem, fixed=filters), filters.shape[1]
    if n_fixed == 0 or problem.inner_constraint != "orthonormal" or problem.span_only:
        return problem
    np.asarray(problem.total)  # raises an error before memory is allocated
    complement = np.linalg.qr(filters, mode="complete")[0][:, n_fixed:]
    classes = problem.classes and problem.classes.project(complement)
    return replace(problem.restrict(orthonormal(complement)), classes=classes)


def _coarse_basis(problem, size, allow_coarse):
    """The basis of the subspace in which the optimization starts.

    Given filters may lie outside of a coarse subspace.
    """
    if problem.span_only:
        basis = whitening(problem.total)
        # New filters are uncorrelated with the earlier filters. Otherwise, they could
        # approach the span of these filters, where the objective is a rounding error.
        earlier = basis.restrict(problem.spanned)
        rest = np.linalg.qr(earlier, mode="complete")[0][:, earlier.shape[1] :]
        return Basis(basis.columns @ rest, basis.dual @ rest)
    n_filters = problem.spanned.shape[1] + size
    # An affine-invariant distance weights small variances as much as large variances.
    noise = problem.sigma2 if problem.objective.affine_invariant else np.inf
    axes = {"noise": noise, "allow_coarse": allow_coarse}
    basis = principal_axes(problem.total, n_filters, **axes)
    classes = problem.classes
    structured = isinstance(problem.total, StructuredMatrix)
    if classes is None or basis.complete or structured:
        return basis
    return with_class_directions(basis, classes, problem.counts, size)


def maximize(coarse, points, search):
    """Maximize an objective from several starts, first in a subspace.

    If the objective has subsets, the optimization continues with larger and larger
    subsets until the estimated loss of the filters, relative to the objective, is at
    most ``tol``, or until the last subset. If the last subset does not contain all
    terms, the tolerance of the loss is at least 0.0005. The loss is estimated from the
    gain of the latest growth: four times as many terms reduce the loss to a quarter, so
    the remaining loss is a third of the gain.

    Parameters
    ----------
    coarse : Problem
        The problem, restricted to a subspace.
    points : list of ndarray of shape (k, m)
        Initial filters that satisfy the constraint, in the coordinates of the subspace.
    search : Search
        The names of stages are "start 1", "start 2" and so on ("search" for a single
        start), "best start" for the refinement in the subspace, or "all features" for
        the refinement in the space of all features. The size of a subset precedes them.

    Returns
    -------
    MinimizeResult
        All filters, including the fixed filters; the cost is the *negative* objective.
        The numbers of iterations and evaluations include the stage of the selected
        start and all later stages.
    list of float
        The value that each start reached on the first subset before the best start was
        selected.

    Raises
    ------
    ValueError
        If the objective is infinite or NaN at all starts. If it is finite at some
        starts, the other starts are ignored.
    """
    problem, in_basis, tol = coarse.outer, coarse.basis.complete, search.tol
    subsets = search.subsets
    if subsets is None:
        subsets = problem.objective.growing_subsets(search.random_state)
    parts = list(map(coarse.subset, subsets or [None]))

    def tolerance(part, is_last):
        is_last = is_last and part.objective.complete
        return tol if is_last else max(tol, _STAGE_TOL)

    part = parts[0]
    run, values = _best_start(part, points, search, tolerance(part, in_basis))
    largest_loss = tol if parts[-1].objective.complete else max(tol, 5 * _STAGE_TOL)
    for smaller, part in pairwise(parts):
        before, _ = part(run.point)
        run = search.ascend(part, run.point, "search", tolerance(part, in_basis), run)
        gain, growth = -run.cost - before, len(part.terms) / len(smaller.terms)
        if gain / abs(run.cost) <= largest_loss * (growth - 1):
            break
    run = replace(run, point=coarse.basis.lift(run.point))
    if not in_basis:
        part = problem.subset(part.terms)
        tol = tolerance(part, True)
        try:
            run = search.ascend(part, run.point, "all features", tol, run)
        except StartError:
            raise ValueError(
                "The objective is finite for filters in the subspace of the leading "
                "principal axes, but not for the same filters of all features: some "
                "covariances are nearly singular, or their values differ by too many "
                "powers of ten. Increase regularization, or scale the features."
            ) from None
    is_orthonormal = problem.inner_constraint == "orthonormal"
    by_rotations = problem.metric is not None or is_orthonormal
    if by_rotations and problem.objective.rotation_invariant:
        # Otherwise, rounding would determine the rotation of the filters, and which of
        # the starts that reach the same span is the best one.
        rotation = Stiefel.nearest(run.point.T @ coarse.basis.lift(points[0]))
        run = replace(run, point=run.point @ rotation)
    if not part.objective.complete:
        filters = problem.with_fixed(problem.nearest(run.point))
        run = replace(run, cost=-problem.objective.mean(filters))
    return replace(run, point=problem.all_filters(run.point)), values


def _best_start(part, points, search, tol):
    """Optimize from each start with a large tolerance, then continue with the best one.

    Returns the result, and the value that each start reached before the selection.
    """
    several = len(points) > 1
    loose = max(tol, _SCREENING_TOL) if several else tol
    runs = []
    for number, point in enumerate(points, 1):
        name = f"start {number}" if several else "search"
        with suppress(StartError):
            runs.append(search.ascend(part, point, name, loose))
    if not runs:
        raise ValueError(
            "The objective is not finite at any start: the classes are too close to "
            "singular. Increase regularization, or use another init."
        )
    best = min(runs, key=attrgetter("cost"))
    values = [-run.cost for run in runs]
    if tol < loose:
        with suppress(StartError):  # raised if rounding makes the objective infinite
            best = search.ascend(part, best.point, "best start", tol, best)
    return best, values


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


def _points(coarse, size, starts, rng):
    """The initializations of a group, in the coordinates of its subspace."""
    nearest = CONSTRAINTS[coarse.inner_constraint].nearest
    if starts.named:
        names = INITIALIZATIONS[starts.init][: starts.n_init]
        points = list(map(partial(_named, coarse, size), names))
    else:
        points = [nearest(_given(starts.init, coarse, size))]
    while len(points) < starts.n_init:
        points.append(nearest(rng.standard_normal((len(coarse.within), size))))
    if starts.extra is not None:
        points.append(nearest(_given(starts.extra, coarse, size)))
    return points


def _named(coarse, size, name):
    """Linear discriminants, if ``name`` is "lda", and then principal axes.

    They are orthonormal and orthogonal to the earlier filters.
    """
    order = len(coarse.within)
    earlier, leading = np.empty((order, 0)), np.empty((order, 0))
    if not coarse.span_only:
        earlier = coarse.basis.restrict(coarse.outer.spanned)
    if name == "lda":
        moments = coarse.within, coarse.total
        leading = linear_discriminants(*moments, coarse.sigma2, size)
    n_fixed = earlier.shape[1]
    axes = np.eye(order, min(order, n_fixed + leading.shape[1] + size))
    orthogonal, _ = np.linalg.qr(np.hstack([earlier, leading, axes]))
    return orthogonal[:, n_fixed : n_fixed + size]


def _given(filters, coarse, size):
    """The filters of a group, taken from given filters, in the coordinates."""
    first = coarse.n_fixed
    given = filters[:, first : first + size]
    # Scale the filters so that their products do not underflow.
    given = given / np.maximum(np.abs(given).max(axis=0), np.finfo(float).tiny)
    start = coarse.coordinates(given)
    outside = np.linalg.norm(start, axis=0) == 0
    if outside.any():
        row = first + np.flatnonzero(outside)[0]
        raise ValueError(
            f"Row {row} of init is zero in all directions in which the data vary. "
            "Use a different filter."
        )
    return start
