"""The optimization of filters, in groups, each from several initializations.

An estimator brings an objective of filters and two covariances of its data, that
within the classes and the total one. Filters are columns here, of shape (n, m).

Filters are optimized in coordinates: they are ``basis @ g``. The basis consists of the
leading principal axes, or whitens the data where only the span of the filters matters.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from skgeom.objectives import WithFixedFilters
from skgeom.optim import CONSTRAINTS, within
from skgeom.utils.threads import one_blas_thread

# The initializations that each value of ``init`` names; others are random.
_NAMED_INITIALIZATIONS = {
    "auto": ("lda", "pca"),
    "pca": ("pca",),
    "lda": ("lda",),
    "random": (),
}
INITS = tuple(_NAMED_INITIALIZATIONS)

# Leading axes are sought together with some more, for the sake of the last ones.
_MORE_AXES = 10
_MULTIPLICATIONS = 2

# A subspace of this many principal axes is small; with fewer features there is none.
FEW_FEATURES = 100
# It has up to so many times as many, but a share of all at most, where the data vary
# along them by more than so many times the noise.
_MORE_TIMES, _LARGEST_SHARE = 4, 0.4
_ABOVE_NOISE = 6.0

# With more classes an initialization is expensive, mostly for their pairs.
FEW_CLASSES = 50

# The least noise in the metric of an optimization, beside the variance of all features.
_LEAST_NOISE = 1e-10

# Filters of unit norm are taken for dependent below this smallest singular value.
DEPENDENT = 1e-3
# An optimization up to rotations comes to such filters more slowly.
_NEARLY_DEPENDENT = 1e-2


def independent_directions(filters, tol=DEPENDENT):
    """Number of directions that filters of unit norm, in columns, span."""
    return np.linalg.matrix_rank(filters, tol=tol)


def n_named_initializations(init):
    """Number of starts that are not random."""
    return len(_NAMED_INITIALIZATIONS[init]) if isinstance(init, str) else 1


@dataclass(frozen=True)
class PooledCovariances:
    """Covariance within the classes and total covariance of some data, (n, n)."""

    within: np.ndarray
    total: np.ndarray

    @cached_property
    def principal_axes(self):
        """Variances, falling, and axes, in columns, of the total covariance."""
        variances, axes = np.linalg.eigh(self.total)
        return variances[::-1], axes[:, ::-1]

    def leading_axes(self, size):
        """About the same of the first axes, by iterations of a random subspace."""
        # By numpy alone: the BLAS of scipy has threads of its own, which go on spinning
        # after each call, in the way of the others.
        subspace = np.random.default_rng(0).standard_normal((len(self.total), size))
        for _ in range(_MULTIPLICATIONS):
            subspace, _ = np.linalg.qr(self.total @ subspace)
        variances, rotation = np.linalg.eigh(subspace.T @ self.total @ subspace)
        return variances[::-1], (subspace @ rotation)[:, ::-1]

    def project(self, basis):
        """The covariances of the data in the coordinates ``basis.T @ x``."""
        return PooledCovariances(
            basis.T @ self.within @ basis, basis.T @ self.total @ basis
        )


@dataclass(frozen=True)
class FilterOptimization:
    """How filters are optimized, whatever their objective.

    Attributes
    ----------
    n_components, constraint, group_size, random_state
        The parameters of the estimator.
    regularization : float
        The variance that is added to that of each filter's output.
    span_only : bool
        Whether the objective depends on the span of the filters only.
    init : str or ndarray of shape (n_components, n)
        A key of ``_NAMED_INITIALIZATIONS``, or filters to start from.
    n_init : int
        Number of initializations by ``init``, completed by random ones.
    maximize : callable
        :func:`skgeom.optim.maximize_on_samples`, or another one with its parameters,
        with the options of the optimiser.
    warm_start : ndarray of shape (n, n_components) or None
        Filters to start from as well.
    distinct : bool
        Whether dependent filters are optimized once more, orthonormal.
    """

    n_components: int
    regularization: float
    span_only: bool
    constraint: str
    init: object
    n_init: int
    group_size: object
    random_state: object
    maximize: Callable
    warm_start: object = None
    distinct: bool = False

    def starting(self, filters):
        """The same optimization, also from given filters instead of random ones.

        Dependent filters would remain dependent, and are not used.
        """
        if filters is None or self.group_size or not self.is_free:
            return self
        if filters.shape[1] != self.n_components:  # classes have come since
            return self
        if independent_directions(filters) < self.n_components:
            return self
        n_init = min(self.n_init, n_named_initializations(self.init))
        return replace(self, n_init=n_init, warm_start=filters)

    @property
    def is_free(self):
        """Whether the initializations are left to the optimization."""
        return isinstance(self.init, str) and self.init == "auto"

    @property
    def group_sizes(self):
        """Number of filters of each group."""
        size = int(self.group_size or self.n_components)
        full, rest = divmod(int(self.n_components), size)
        return [size] * full + ([rest] if rest else [])

    def run(self, objective, pooled, callback=None):
        """Learn all groups of filters, each with the earlier ones fixed.

        Parameters
        ----------
        objective : callable
            Maps filters (n, m) to value and gradient, for any m; has ``project``.
        pooled : PooledCovariances
            Those of the data.
        callback : callable, default=None
            Called as ``callback(stage, filters, value)`` after each iteration, with the
            name of what goes on and all filters so far.

        Returns
        -------
        filters : ndarray of shape (n, n_components)
        groups : list of (MinimizeResult, list of float)
            For each group how its optimization ended and what its starts reached.
        """
        filters, groups = self._run(objective, pooled, callback)
        rank = independent_directions(filters, _NEARLY_DEPENDENT)
        if self.distinct and rank < self.n_components:
            # Some direction is worth more twice than any other once. What follows
            # needs features that differ.
            again = replace(self, constraint="orthonormal", distinct=False)
            report = within("orthonormal", callback)
            filters, groups = again._run(objective, pooled, report)
        return filters, groups

    def _run(self, objective, pooled, callback):
        rng = check_random_state(self.random_state)
        filters = np.empty((len(pooled.total), 0))
        groups = []
        for size in self.group_sizes:
            group = _Group(self, objective, pooled, filters, size)
            starts = group.initializations(rng)
            report = None
            if callback is not None:
                report = group.reporter(callback)
                if len(self.group_sizes) > 1:
                    report = within(f"group {len(groups) + 1}", report)
            with one_blas_thread(group.objective.parallel):
                result, values = self.maximize(
                    group.objective,
                    starts,
                    group.coordinates.basis,
                    complete=group.coordinates.complete,
                    constraint=self.constraint,
                    metric=group.metric,
                    callback=report,
                )
            filters = group.append(result.point)
            groups.append((result, values))
        return filters, groups


class _Group:
    """Some filters that are optimized together, with the earlier ones fixed.

    Orthonormal filters must be orthogonal to the earlier ones: they are optimized in
    the orthogonal complement, as if it were the whole space, and nothing is fixed
    there. Other filters are optimized in the whole space; if only the span matters,
    they may be made orthogonal afterwards.

    Attributes
    ----------
    objective : callable
        That of the new filters.
    coordinates : Coordinates
        The subspace in which they are optimized.
    """

    def __init__(self, optimization, objective, pooled, earlier, size):
        self.optimization = optimization
        self.size = size
        self.earlier = earlier
        self.complement = None
        self.fixed = earlier  # in the space that is searched
        if earlier.shape[1] > 0:
            objective = WithFixedFilters(objective, earlier)
            if optimization.constraint == "orthonormal" and not optimization.span_only:
                orthogonal, _ = np.linalg.qr(earlier, mode="complete")
                self.complement = orthogonal[:, earlier.shape[1] :]
                objective = objective.project(self.complement)
                pooled = pooled.project(self.complement)
                self.fixed = np.empty((len(pooled.total), 0))
        self.objective = objective
        self.pooled = pooled
        if optimization.span_only:
            self.coordinates = whitening_coordinates(pooled.total)
        else:
            self.coordinates = principal_coordinates(
                pooled,
                optimization.regularization,
                self.fixed.shape[1] + size,
                # Given filters may lie outside of a coarse subspace.
                allow_coarse=isinstance(optimization.init, str)
                and objective.projection_dominates(size),
                # Some distances make as much of small variances as of large ones.
                down_to_noise=getattr(objective, "affine_invariant", False),
            )

    @property
    def metric(self):
        """The metric of an optimization up to rotations, or None.

        Such an optimization may shorten a filter of little value until it is lost, so
        that it is not used for given filters.
        """
        optimization = self.optimization
        if not isinstance(optimization.init, str) or optimization.span_only:
            return None
        if optimization.constraint != "unit-norm":
            return None
        if not getattr(self.objective, "rotation_invariant", False):
            return None
        identity = np.eye(len(self.pooled.within))
        if not self.objective.affine_invariant:
            return identity
        # Where outputs are compared with the noise and the variance within classes.
        floor = _LEAST_NOISE * np.trace(self.pooled.total)
        noise = max(optimization.regularization, floor)
        return self.pooled.within + noise * identity

    def append(self, new):
        """The earlier filters and the new ones, found by the optimization."""
        if self.complement is not None:
            new = self.complement @ new
        elif (
            self.optimization.constraint == "orthonormal" and self.earlier.shape[1] > 0
        ):
            new = new - self.earlier @ (self.earlier.T @ new)
            new = CONSTRAINTS["orthonormal"].nearest(new)
        return np.hstack([self.earlier, new])

    def reporter(self, callback):
        """The callback of this group's optimization, given that of all filters."""

        def report(stage, new, value):
            return callback(stage, self.append(new), value)

        return report

    def initializations(self, rng):
        """Points of the constraint, in the coordinates of the optimization."""
        optimization = self.optimization
        if isinstance(optimization.init, str):
            makers = {"lda": self._discriminants, "pca": self._principal_axes}
            kinds = _NAMED_INITIALIZATIONS[optimization.init][: optimization.n_init]
            starts = [makers[kind]() for kind in kinds]
        else:
            starts = [self._given(optimization.init.T)]
        shape = (self.coordinates.basis.shape[1], self.size)
        while len(starts) < optimization.n_init:
            random = rng.standard_normal(shape)
            starts.append(CONSTRAINTS[optimization.constraint].nearest(random))
        if optimization.warm_start is not None:
            starts.append(self._given(optimization.warm_start))
        return starts

    def _principal_axes(self):
        return self._completed(np.empty((self.coordinates.basis.shape[1], 0)))

    def _discriminants(self):
        """Linear discriminants: largest ratios of the scatters between and within."""
        basis = self.coordinates.basis
        order = basis.shape[1]
        noise = self.optimization.regularization * np.eye(order)
        between = basis.T @ (self.pooled.total - self.pooled.within) @ basis
        within = basis.T @ self.pooled.within @ basis + noise
        # By numpy alone, see leading_axes.
        whitener = np.linalg.inv(np.linalg.cholesky(within))
        ratios, axes = np.linalg.eigh(whitener @ between @ whitener.T)
        ratios, directions = ratios[-self.size :], whitener.T @ axes[:, -self.size :]
        # There are fewer than there are classes.
        separates = ratios > 1e-10 * ratios[-1]
        return self._completed(directions[:, separates][:, ::-1])

    def _completed(self, leading):
        """Orthonormal columns: some given ones, then principal axes; none is fixed."""
        fixed = self.coordinates.dual.T @ self.fixed
        order, n_fixed = fixed.shape
        n_columns = n_fixed + leading.shape[1] + self.size
        axes = np.eye(order, min(order, n_columns))
        orthogonal, _ = np.linalg.qr(np.hstack([fixed, leading, axes]))
        return orthogonal[:, n_fixed : n_fixed + self.size]

    def _given(self, filters):
        """Those of given filters that belong to this group, as a start."""
        first = self.earlier.shape[1]
        given = filters[:, first : first + self.size]
        # Their length does not matter, but must not underflow in products.
        given = given / np.maximum(np.abs(given).max(axis=0), np.finfo(float).tiny)
        if self.complement is not None:
            given = self.complement.T @ given
        start = self.coordinates.dual.T @ given
        outside = np.linalg.norm(start, axis=0) == 0
        if outside.any():
            row = first + np.flatnonzero(outside)[0]
            raise ValueError(
                f"Row {row} of init is zero on all directions in which the data vary; "
                "give another filter."
            )
        return CONSTRAINTS[self.optimization.constraint].nearest(start)


@dataclass(frozen=True)
class Coordinates:
    """A subspace to optimization in: filters are ``basis @ g``.

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
    pooled, regularization, n_components, allow_coarse=True, down_to_noise=False
):
    """Leading principal axes, ``FEW_FEATURES`` or ten for each component.

    Of many features they are more, if ``down_to_noise`` is true and more rise from the
    noise. If the data vary along few others, or if ``allow_coarse`` is false, all axes
    along which they vary at all are taken, which loses nothing.
    """
    n_features = len(pooled.total)
    least = max(FEW_FEATURES, 10 * n_components)
    # Without a regularisation yet, its choice should not depend on the approximation.
    if allow_coarse and regularization < np.inf and n_features > 3 * least:
        variances, axes = pooled.leading_axes(least + _MORE_AXES)
        size = least
        if down_to_noise and variances[least - 1] > _ABOVE_NOISE * regularization:
            most = min(_MORE_TIMES * least, int(_LARGEST_SHARE * n_features))
            variances, axes = pooled.leading_axes(most + _MORE_AXES)
            risen = variances[:most] > _ABOVE_NOISE * regularization
            size = max(least, np.count_nonzero(risen))
        if variances[-1] > _precision(n_features, variances):
            basis = np.ascontiguousarray(axes[:, :size])
            return Coordinates(basis, basis, complete=False)
    variances, axes = pooled.principal_axes
    varies = np.count_nonzero(variances > _precision(n_features, variances))
    rank = max(varies, n_components)
    complete = not allow_coarse or least > 0.7 * rank
    basis = np.ascontiguousarray(axes[:, : rank if complete else least])
    return Coordinates(basis, basis, complete)


def _precision(n_features, variances):
    """The variance that rounding may add to that of an axis."""
    return n_features * np.finfo(float).eps * variances[0]


def whitening_coordinates(total):
    """Coordinates in which the total covariance is the identity on its range.

    Where filters matter only through their span, these make the problem independent of
    the units of the features.
    """
    deviations = np.sqrt(np.diag(total))
    deviations[deviations == 0] = 1
    variances, axes = np.linalg.eigh(total / np.outer(deviations, deviations))
    varies = variances > len(total) * np.finfo(float).eps * variances[-1]
    basis = axes[:, varies][:, ::-1] / np.sqrt(variances[varies][::-1])
    basis /= deviations[:, None]
    return Coordinates(basis, total @ basis, complete=True)
