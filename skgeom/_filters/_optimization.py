"""The optimization of filters, in groups, each from several initializations.

The input is an objective of filters, and the within-class covariance and the total
covariance of the data. In this module, filters are the columns of an array of shape
(n, m).

Filters ``basis @ g`` are optimized as functions of the coordinates ``g``. The columns
of the basis are the leading principal axes. If the objective depends on the span of the
filters only, the basis whitens the data.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from skgeom.objectives._pairwise import StructuredCovariances
from skgeom.optim._coarse_to_fine import maximize_coarse_to_fine, prefixed
from skgeom.optim._manifolds import CONSTRAINTS
from skgeom.utils.linalg import whitening_basis
from skgeom.utils.threads import one_blas_thread

# The initializations of each value of ``init``; further initializations are random.
INITIALIZATIONS = {
    "auto": ("lda", "pca"),
    "pca": ("pca",),
    "lda": ("lda",),
    "random": (),
}

# Least number of principal axes of a coarse subspace, and number for each filter; with
# fewer features, filters are optimized in the space of all features. The subspace has
# up to _MORE_TIMES as many axes, but at most the fraction _LARGEST_SHARE of all axes,
# if the variance along the axes exceeds _ABOVE_NOISE times sigma^2. Selected with the
# statistics of MNIST: without additional axes, the fit with sigma^2 = 0.01 takes twice
# the time, and the objective is 1 % smaller (benchmarks/bench_sqfa.py,
# benchmarks/bench_constants.py).
FEW_FEATURES = 100
_AXES_PER_FILTER = 10
_MORE_TIMES, _LARGEST_SHARE = 4, 0.4
_ABOVE_NOISE = 6.0

# With more classes, an initialization is expensive because of the number of pairs
# (benchmarks/bench_many_classes.py).
FEW_CLASSES = 50

# Filters of unit norm are dependent if their smallest singular value is below this
# bound. An optimization up to rotations approaches dependent filters more slowly and
# uses ten times the bound (benchmarks/bench_constants.py: with a bound of zero, the
# filters of iris are dependent).
DEPENDENT = 1e-3


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
        Parameters of :func:`skgeom.optim.maximize_coarse_to_fine`.

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
                    ),
                    **options,
                )
            filters = append(result.point)
            groups.append((result, values))
        if independent_directions(filters, 10 * DEPENDENT) == n_components:
            break
    return filters, groups


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
):
    """The options starts, basis, in_basis and metric of the optimization of a group."""
    objective = group.objective
    if span_only:
        coordinates = whitening_coordinates(group.total)
    else:
        coordinates = principal_coordinates(
            group.total,
            regularization,
            group.spanned.shape[1] + size,
            # Given filters may lie outside of a coarse subspace.
            allow_coarse=isinstance(init, str),
            # Some distances weight small variances as much as large variances.
            down_to_noise=objective.affine_invariant,
        )
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
    if isinstance(within, StructuredCovariances):
        if not objective.affine_invariant:
            return StructuredCovariances(np.ones((1, len(within))))[0]
        return within.plus_identity(noise)
    identity = np.eye(len(within))
    return within + noise * identity if objective.affine_invariant else identity


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


def principal_coordinates(
    total, regularization, n_components, allow_coarse=True, down_to_noise=False
):
    """Leading principal axes as coordinates.

    The number of axes is ``_AXES_PER_FILTER`` for each component, and at least
    ``FEW_FEATURES``. With many features and ``down_to_noise``, it is larger if the
    variance along more axes exceeds a multiple of sigma^2. If the data vary along few
    more axes, or if ``allow_coarse`` is False, the basis contains all axes along which
    the data vary, so that the coordinates are complete.
    """
    n_features = len(total)
    least = max(FEW_FEATURES, _AXES_PER_FILTER * n_components)
    if allow_coarse and isinstance(total, StructuredCovariances):
        variances, axes = _leading_axes(total, least + 10)
        varies = np.count_nonzero(variances > _precision(n_features, variances))
        size = max(varies, n_components) if varies < least else least
        basis = np.ascontiguousarray(axes[:, :size])
        return Coordinates(basis, basis, complete=varies < least)
    # The selection of sigma^2, before which it is infinite, uses all axes.
    if allow_coarse and regularization < np.inf and n_features > 3 * least:
        variances, axes = _leading_axes(total, least + 10)
        size = least
        if down_to_noise and variances[least - 1] > _ABOVE_NOISE * regularization:
            most = min(_MORE_TIMES * least, int(_LARGEST_SHARE * n_features))
            variances, axes = _leading_axes(total, most + 10)
            risen = variances[:most] > _ABOVE_NOISE * regularization
            size = max(least, np.count_nonzero(risen))
        if variances[-1] > _precision(n_features, variances):
            basis = np.ascontiguousarray(axes[:, :size])
            return Coordinates(basis, basis, complete=False)
    variances, axes = np.linalg.eigh(total)
    variances, axes = variances[::-1], axes[:, ::-1]
    varies = np.count_nonzero(variances > _precision(n_features, variances))
    rank = max(varies, n_components)
    complete = not allow_coarse or least > 0.7 * rank
    basis = np.ascontiguousarray(axes[:, : rank if complete else least])
    return Coordinates(basis, basis, complete)


def _precision(n_features, variances):
    """The largest rounding error of the variance along an axis."""
    return n_features * np.finfo(float).eps * variances[0]


def whitening_coordinates(total):
    """Coordinates in which the total covariance is the identity on its range.

    If the objective depends on the span of the filters only, optimization in these
    coordinates does not depend on the units of the features.
    """
    basis = np.asfortranarray(whitening_basis(total)[:, ::-1])
    return Coordinates(basis, total @ basis, complete=True)


def _leading_axes(total, size):
    """Approximate leading principal axes and their variances, by subspace iteration.

    The variances are in descending order. The last ten axes are less accurate.
    """
    # With NumPy only: the BLAS of SciPy has separate threads, which keep spinning after
    # each call and compete with the threads of NumPy.
    subspace = np.random.default_rng(0).standard_normal((len(total), size))
    for _ in range(2):
        subspace = total @ subspace
        subspace, _ = np.linalg.qr(subspace)
    variances, rotation = np.linalg.eigh(subspace.T @ total @ subspace)
    return variances[::-1], (subspace @ rotation)[:, ::-1]
