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

The input is an objective of filters, and the within-class covariance and the total
covariance of the data. In this module, filters are the columns of an array of shape
(n, m).

Filters ``basis @ g`` are optimized as functions of the coordinates ``g``. The columns
of the basis are the leading principal axes. If the objective depends on the span of the
filters only, the basis whitens the data.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

import numpy as np
from sklearn.utils import check_random_state

from skgeom.objectives._covariances import (
    StructuredMatrix,
    identity_like,
    plus_identity,
)
from skgeom.optim._batches import minimize_in_batches
from skgeom.optim._manifolds import CONSTRAINTS, Stiefel, filter_manifold
from skgeom.optim._minimize import StartError, minimize
from skgeom.utils.linalg import whitening_basis
from skgeom.utils.threads import one_blas_thread

# The initializations of each value of ``init``; further initializations are random.
INITIALIZATIONS = {
    "auto": ("lda", "pca"),
    "pca": ("pca",),
    "lda": ("lda",),
    "random": (),
}

# Least number of principal axes of a coarse subspace, and number for each filter. With
# fewer than twice as many features, filters are optimized in the space of all features.
FEW_FEATURES = 100
_AXES_PER_FILTER = 10

# With more classes, an initialization is expensive because of the number of pairs
# (benchmarks/bench_many_classes.py).
FEW_CLASSES = 50

# Ridges of the class directions in a coarse subspace, relative to the sampling error of
# the covariances. Without the second one, the accuracy of 400 features with class means
# that differ along directions of small variance is at chance instead of 62 %
# (tests/filters/test_auto.py).
_RIDGES = (1.0, 0.01)

# Filters of unit norm are dependent if their smallest singular value is below this
# bound. An optimization up to rotations approaches dependent filters more slowly and
# uses ten times the bound (benchmarks/bench_constants.py: with a bound of zero, the
# filters of iris are dependent).
DEPENDENT = 1e-3

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


def independent_directions(filters, tol=DEPENDENT):
    """Number of directions that filters of unit norm, in columns, span."""
    return np.linalg.matrix_rank(filters, tol=tol)


def group_sizes(n_components, group_size):
    """Number of filters of each group."""
    size = int(group_size or n_components)
    full, rest = divmod(int(n_components), size)
    return [size] * full + ([rest] if rest else [])


def optimize_filters(
    objective,
    within,
    total,
    *,
    n_components,
    regularization,
    span_only,
    constraint,
    group_size,
    random_state,
    init,
    n_init,
    classes,
    counts,
    warm_start=None,
    refit_dependent=False,
    callback=None,
    **options,
):
    """Learn groups of filters, each with the earlier groups fixed.

    Orthonormal filters are optimized in the orthogonal complement of the earlier
    filters. Filters of unit norm are optimized in the whole space. If the objective
    depends on the span of the filters only, orthonormal filters are also optimized in
    the whole space and orthogonalized afterwards.

    Parameters
    ----------
    objective : skgeom.objectives.Objective
        The objective of filters.
    within, total : ndarray of shape (n, n)
        Covariances of the data.
    classes : skgeom.objectives.ClassMoments or None
        The moments of the classes, whose directions of small variance are part of a
        coarse subspace. With None, the subspace contains principal axes only.
    counts : ndarray of shape (n_classes,)
        The numbers of samples of the classes.
    n_components, constraint, group_size, random_state
        The parameters of the estimator.
    regularization : float
        sigma^2, the variance that is added to the variance of each filter's output.
    span_only : bool
        Whether the objective depends on the span of the filters only.
    warm_start : ndarray of shape (n, n_components) or None
        Filters of an additional initialization.
    refit_dependent : bool
        Whether linearly dependent filters are optimized again with the constraint
        "orthonormal".
    callback : callable, default=None
        Called as ``callback(stage, filters, value)`` after each iteration, with the
        name of the stage and all filters so far; the stage ends if it returns True.
    init : str or ndarray of shape (n_components, n)
        A key of ``INITIALIZATIONS``, or the initial filters.
    n_init : int
        Number of initializations without ``warm_start``. Initializations in addition to
        ``init`` are random.
    **options
        Parameters of :func:`maximize_coarse_to_fine`.

    Returns
    -------
    filters : ndarray of shape (n, n_components)
    groups : list of (MinimizeResult, list of float)
        For each group, the result of its optimization and the objectives that its
        initializations reached.
    """
    sizes = group_sizes(n_components, group_size)
    attempts = [(constraint, callback)]
    if refit_dependent:
        # Dependent filters maximize the objective, but a quadratic classifier requires
        # linearly independent features.
        attempts.append(("orthonormal", prefixed("orthonormal", callback)))
    for constraint, callback in attempts:
        rng = check_random_state(random_state)
        filters, groups = np.empty((len(total), 0)), []
        for size in sizes:
            label = f"group {len(groups) + 1}"
            group = _group(objective, within, total, filters, constraint, span_only)
            append = partial(_appended, group, filters, constraint)
            report = prefixed(label, callback) if len(sizes) > 1 else callback
            with one_blas_thread(objective.parallel):
                result, values = maximize_coarse_to_fine(
                    group.objective,
                    constraint=constraint,
                    span_only=span_only,
                    fixed=group.fixed,
                    callback=report and _with_earlier(append, report),
                    random_state=random_state,
                    **_start_of_group(
                        group,
                        size,
                        rng,
                        regularization=regularization,
                        span_only=span_only,
                        constraint="orthonormal" if span_only else constraint,
                        init=init,
                        n_init=n_init,
                        warm_start=warm_start,
                        classes=classes,
                        counts=counts,
                    ),
                    **options,
                )
            filters = append(result.point)
            groups.append((result, values))
        if independent_directions(filters, 10 * DEPENDENT) == n_components:
            break
    return filters, groups


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


def _start_of_group(
    group,
    size,
    rng,
    *,
    regularization,
    span_only,
    constraint,
    init,
    n_init,
    warm_start,
    classes,
    counts,
):
    """The options starts, basis, in_basis and metric of the optimization of a group."""
    objective = group.objective
    if span_only:
        coordinates = whitening_coordinates(group.total)
        # New filters are uncorrelated with the earlier filters. Otherwise, they could
        # approach the span of these filters, where the objective is a rounding error.
        earlier = coordinates.dual.T @ group.spanned
        rest = np.linalg.qr(earlier, mode="complete")[0][:, earlier.shape[1] :]
        basis, dual = coordinates.basis @ rest, coordinates.dual @ rest
        coordinates = Coordinates(basis, dual, complete=True)
        group = replace(group, spanned=group.spanned[:, :0])
    else:
        coordinates = principal_coordinates(
            group.total,
            group.spanned.shape[1] + size,
            # Given filters may lie outside of a coarse subspace.
            allow_coarse=isinstance(init, str),
        )
        structured = isinstance(group.total, StructuredMatrix)
        if classes is not None and not coordinates.complete and not structured:
            if group.complement is not None:
                classes = classes.project(group.complement)
            basis = with_class_directions(coordinates.basis, classes, counts, size)
            coordinates = Coordinates(basis, basis, complete=False)
    if isinstance(init, str):
        starts = _named(init, n_init, group, coordinates, size, regularization)
    else:
        starts = [_given(init.T, group, coordinates, size, constraint)]
    shape = (coordinates.basis.shape[1], size)
    while len(starts) < n_init:
        starts.append(CONSTRAINTS[constraint].nearest(rng.standard_normal(shape)))
    if warm_start is not None:
        starts.append(_given(warm_start, group, coordinates, size, constraint))
    metric = None
    # In an optimization up to rotations, a filter that hardly changes the objective can
    # shrink to zero. Given filters are therefore optimized without the quotient.
    if isinstance(init, str) and not span_only:
        metric = rotation_metric(
            objective, constraint, group.within, group.total, regularization
        )
    return {
        "starts": starts,
        "basis": coordinates.basis,
        "in_basis": coordinates.complete,
        "metric": metric,
    }


@dataclass(frozen=True)
class _Group:
    """Data for the optimization of a group of filters with the earlier filters fixed.

    Attributes
    ----------
    objective : skgeom.objectives.Objective
        The objective of all filters.
    within, total : ndarray of shape (n, n)
        Covariances of the data, in the space of the new filters.
    fixed : ndarray of shape (N, p)
        The earlier filters. If N > n, the new filters have zeros in the first N - n
        rows.
    spanned : ndarray of shape (n, p) or (n, 0)
        The earlier filters in the space of the new filters; empty if that space is
        their orthogonal complement.
    complement : ndarray or None
        The basis of the space of the new filters; None for the space of all features.
    """

    objective: object
    within: np.ndarray
    total: np.ndarray
    fixed: np.ndarray
    spanned: np.ndarray
    complement: np.ndarray | None


def _group(objective, within, total, fixed, constraint, span_only):
    """The data of a group; orthonormal filters are in the orthogonal complement."""
    if fixed.shape[1] == 0 or constraint != "orthonormal" or span_only:
        return _Group(objective, within, total, fixed, fixed, None)
    total = np.asarray(total)  # raises an error before memory is allocated
    orthogonal, _ = np.linalg.qr(fixed, mode="complete")
    n_features, n_fixed = fixed.shape
    complement = orthogonal[:, n_fixed:]
    return _Group(
        objective.project(np.hstack([fixed, complement])),
        complement.T @ within @ complement,
        complement.T @ total @ complement,
        np.eye(n_features, n_fixed),
        np.empty((n_features - n_fixed, 0)),
        complement,
    )


def _appended(group, earlier, constraint, new):
    """The earlier filters and the new filters of an optimization."""
    if group.complement is not None:
        new = group.complement @ new
    elif constraint == "orthonormal" and earlier.shape[1] > 0:
        new = new - earlier @ (earlier.T @ new)
        new = CONSTRAINTS["orthonormal"].nearest(new)
    return np.hstack([earlier, new])


def _with_earlier(append, callback):
    """A callback that passes the earlier and the new filters to a callback."""
    return lambda stage, new, value: callback(stage, append(new), value)


def rotation_metric(objective, constraint, within, total, regularization):
    """The metric of an optimization up to rotations.

    Steps of equal length in this metric change the outputs of the filters equally,
    relative to the variance within the classes plus sigma^2. The result is None if the
    objective or the constraint is not invariant to rotations.
    """
    if constraint != "unit-norm" or not objective.rotation_invariant:
        return None
    noise = max(regularization, 1e-10 * total.trace())
    if objective.affine_invariant:
        return plus_identity(within, noise)
    return identity_like(within)


def _named(init, n_init, group, coordinates, size, regularization):
    """The initializations selected by ``init``, in the coordinates."""
    starts = []
    for name in INITIALIZATIONS[init][:n_init]:
        leading = np.empty((coordinates.basis.shape[1], 0))
        if name == "lda":
            leading = _discriminants(group, coordinates.basis, size, regularization)
        # Linear discriminants, then principal axes, orthonormal and orthogonal to the
        # earlier filters.
        fixed = coordinates.dual.T @ group.spanned
        order, n_fixed = fixed.shape
        n_columns = n_fixed + leading.shape[1] + size
        axes = np.eye(order, min(order, n_columns))
        orthogonal, _ = np.linalg.qr(np.hstack([fixed, leading, axes]))
        starts.append(orthogonal[:, n_fixed : n_fixed + size])
    return starts


def _discriminants(group, basis, size, regularization):
    """Linear discriminants: maximum ratios of between-class to within-class variance.

    The columns are in descending order of the ratio.
    """
    noise = regularization * np.eye(basis.shape[1])
    within = basis.T @ group.within @ basis
    between = basis.T @ group.total @ basis - within
    within = within + noise
    # With NumPy only, see _leading_axes.
    whitener = np.linalg.inv(np.linalg.cholesky(within))
    ratios, axes = np.linalg.eigh(whitener @ between @ whitener.T)
    ratios, directions = ratios[-size:], whitener.T @ axes[:, -size:]
    # The number of discriminants is smaller than the number of classes.
    separates = ratios > 1e-10 * ratios[-1]
    return directions[:, separates][:, ::-1]


def _given(filters, group, coordinates, size, constraint):
    """The filters of a group, taken from given filters, as an initialization."""
    first = group.fixed.shape[1]
    given = filters[:, first : first + size]
    # Scale the filters so that their products do not underflow.
    given = given / np.maximum(np.abs(given).max(axis=0), np.finfo(float).tiny)
    if group.complement is not None:
        given = group.complement.T @ given
    start = coordinates.dual.T @ given
    outside = np.linalg.norm(start, axis=0) == 0
    if outside.any():
        row = first + np.flatnonzero(outside)[0]
        raise ValueError(
            f"Row {row} of init is zero in all directions in which the data vary. "
            "Use a different filter."
        )
    return CONSTRAINTS[constraint].nearest(start)


@dataclass(frozen=True)
class Coordinates:
    """Coordinates ``g`` of the filters ``basis @ g`` in a subspace.

    Attributes
    ----------
    basis, dual : ndarray of shape (n, k)
        ``dual.T @ basis`` is the identity, so ``g = dual.T @ filters``.
    complete : bool
        Whether the data do not vary outside the subspace.
    """

    basis: np.ndarray
    dual: np.ndarray
    complete: bool


def principal_coordinates(total, n_components, allow_coarse=True):
    """Leading principal axes as coordinates.

    The number of axes is ``_AXES_PER_FILTER`` for each component, and at least
    ``FEW_FEATURES``. If the data vary along at most twice as many axes, or if
    ``allow_coarse`` is False, the basis contains all axes along which the data vary, so
    that the coordinates are complete.
    """
    n_features = len(total)
    least = max(FEW_FEATURES, _AXES_PER_FILTER * n_components)
    structured = isinstance(total, StructuredMatrix)
    if allow_coarse and (structured or n_features > 2 * least):
        variances, axes = _leading_axes(total.__matmul__, n_features, 2 * least + 10)
    else:
        variances, axes = np.linalg.eigh(total)
        variances, axes = variances[::-1], axes[:, ::-1]
    varies = np.count_nonzero(variances > _precision(n_features, variances))
    complete = not allow_coarse or varies <= 2 * least
    size = max(varies, n_components) if complete else least
    basis = np.ascontiguousarray(axes[:, :size])
    return Coordinates(basis, basis, complete)


def _precision(n_features, variances):
    """The largest rounding error of the variance along an axis."""
    return n_features * np.finfo(float).eps * variances[0]


def with_class_directions(basis, classes, counts, n_components):
    """An orthonormal basis, completed by directions in which classes differ.

    The smaller ridge finds directions of small variance, the larger ridge does not
    overfit.
    """
    n_features, n_classes = len(basis), len(counts)
    classes = classes.on_host()
    variance = sum(matrix.trace() for matrix in classes.covariances) / n_classes
    noise = variance / (2 * counts.mean()) * min(n_features / counts.sum(), 1) ** 2
    # The eigenvalues of the covariances of fewer samples than features are random.
    kinds = (False, True) if counts.mean() > n_features else (False,)
    found = [
        discriminant_directions(classes, ridge * noise, n_components, quadratic)
        for ridge in _RIDGES
        for quadratic in kinds
    ]
    return np.linalg.qr(np.hstack([basis, *found]))[0]


def discriminant_directions(classes, sigma2, n_components, quadratic=True):
    r"""Directions in which classes differ, in columns of norm one.

    W is the mean class covariance. In coordinates in which :math:`W + \sigma^2 I` is
    the identity, the mean and the covariance of class k differ from their averages over
    the classes by :math:`m_k` and :math:`D_k`.

    If ``quadratic``, the directions are the leading eigenvectors of the sum of
    :math:`m_k m_k^\top + \tfrac12 D_k^2`, the second-order expansion of squared class
    distances. Otherwise, they are the linear discriminants, the leading eigenvectors of
    the sum of :math:`m_k m_k^\top`, which may be fewer than ``n_components``.
    """
    means, covariances = classes.means, classes.on_host().covariances
    within, n_features = covariances.mean(axis=0), means.shape[1]
    noise = max(sigma2, n_features * np.finfo(float).eps * within.trace()) or 1.0
    regularized = within + noise * np.eye(n_features)
    whitener = np.linalg.inv(np.linalg.cholesky(regularized)).T
    inverse = whitener @ whitener.T
    offsets = (means - means.mean(axis=0)) @ whitener

    def scatter(vectors):
        lifted = whitener @ vectors
        differences = inverse @ (covariances @ lifted - within @ lifted)
        squares = (covariances @ differences).sum(axis=0)
        squares -= within @ differences.sum(axis=0)
        return offsets.T @ (offsets @ vectors) + whitener.T @ squares / 2

    if quadratic:
        _, axes = _leading_axes(scatter, n_features, n_components + 10, n_iter=1)
    else:
        axes, sizes, _ = np.linalg.svd(offsets.T, full_matrices=False)
        axes = axes[:, sizes > 1e-10 * sizes[0]]
    found = whitener @ axes[:, :n_components]
    return found / np.linalg.norm(found, axis=0)


def whitening_coordinates(total):
    """Coordinates in which the total covariance is the identity on its range.

    If the objective depends on the span of the filters only, optimization in these
    coordinates does not depend on the units of the features.
    """
    basis = np.asfortranarray(whitening_basis(total)[:, ::-1])
    return Coordinates(basis, total @ basis, complete=True)


def _leading_axes(product, n_features, size, n_iter=2):
    """Approximate leading principal axes and their variances, by subspace iteration.

    The variances are in descending order. The last ten axes are less accurate.
    """
    # With NumPy only: the BLAS of SciPy has separate threads, which keep spinning after
    # each call and compete with the threads of NumPy.
    subspace = np.random.default_rng(0).standard_normal(
        (n_features, min(size, n_features))
    )
    for _ in range(n_iter):
        subspace, _ = np.linalg.qr(product(subspace))
    variances, rotation = np.linalg.eigh(subspace.T @ product(subspace))
    return variances[::-1], (subspace @ rotation)[:, ::-1]
