"""How filters are learnt: working coordinates, starts, groups. Shared by the family.

An estimator brings an objective of filters and two covariances of its data, that
within the classes and the total one. Filters are columns here, of shape (n, m).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from skgeom.objectives import WithFixedFilters
from skgeom.optim import CONSTRAINTS, maximize_coarse_to_fine
from skgeom.utils._threads import one_blas_thread

# The kinds of start that each value of ``init`` names; others are random.
_NAMED_STARTS = {
    "auto": ("lda", "pca"),
    "pca": ("pca",),
    "lda": ("lda",),
    "random": (),
}
INITS = tuple(_NAMED_STARTS)

# A subspace of this many principal axes is small; with fewer features there is none.
FEW_FEATURES = 100


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

    def project(self, basis):
        """The covariances of the data in the coordinates ``basis.T @ x``."""
        return PooledCovariances(
            basis.T @ self.within @ basis, basis.T @ self.total @ basis
        )


def n_named_starts(init):
    """Number of starts that are not random."""
    return len(_NAMED_STARTS[init]) if isinstance(init, str) else 1


def automatic_regularization(pooled, n_components):
    """Noise variance from the scale of the data.

    A quarter of the variance within the classes along the principal axis of rank
    ``n_components``, so that there is room above the noise for all filters. If the data
    vary in fewer directions, along the last of these; if they do not vary within the
    classes, the total covariance takes its place; without any variance, 1.
    """
    for covariance in (pooled.within, pooled.total):
        trace = np.trace(covariance)
        if trace > 0:
            # Divided first, so that very small or large numbers stay in range.
            variances = np.linalg.eigvalsh(covariance / trace)[::-1]
            precision = len(covariance) * np.finfo(float).eps * variances[0]
            rank = np.count_nonzero(variances > precision)
            return float(0.25 * trace * variances[min(n_components, rank) - 1])
    return 1.0


@dataclass(frozen=True)
class Coordinates:
    """A subspace to search in: filters are ``basis @ g``.

    Attributes
    ----------
    basis, dual : ndarray of shape (n, k)
        ``dual.T @ basis`` is the identity, so ``g = dual.T @ filters``.
    complete : bool
        Whether the subspace holds all that varies in the data.
    """

    basis: np.ndarray
    dual: np.ndarray
    complete: bool


def principal_coordinates(pooled, regularization, n_components, allow_coarse=True):
    """Leading principal axes, as many as matter beside the regularisation.

    If the remaining ones are few, or if ``allow_coarse`` is false, all axes along
    which the data vary at all, which loses nothing.
    """
    variances, axes = pooled.principal_axes
    precision = len(axes) * np.finfo(float).eps * variances[0]
    rank = max(np.count_nonzero(variances > precision), n_components)
    size = max(
        FEW_FEATURES, 10 * n_components, np.count_nonzero(variances > regularization)
    )
    complete = not allow_coarse or size > 0.7 * rank
    basis = np.ascontiguousarray(axes[:, : rank if complete else size])
    return Coordinates(basis, basis, complete)


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


def check_regular(statistics, covariances, total, n_components):
    """Raise unless all class covariances are regular on the span of the data.

    Otherwise filters exist for which a distance is infinite, and the objective has no
    maximum. The ranks do not depend on the units of the features.
    """
    basis = whitening_coordinates(total).basis
    rank = basis.shape[1]
    if n_components > rank:
        raise ValueError(
            f"The data vary in {rank} directions only, so n_components={n_components} "
            "filters need regularization > 0."
        )
    for label, count, covariance in zip(
        statistics.classes, statistics.counts, covariances, strict=True
    ):
        variances = np.linalg.eigvalsh(basis.T @ covariance @ basis)
        precision = 100 * len(total) * np.finfo(float).eps * max(variances[-1], 1)
        class_rank = np.count_nonzero(variances > precision)
        if class_rank < rank:
            raise ValueError(
                f"The covariance of class {label}, which has {count} samples, "
                f"is singular: its rank is {class_rank}, but the data vary in {rank} "
                "directions. Without regularization its distance to other classes has "
                "no bound: set regularization to 'auto' or to a positive number, or "
                "reduce the features by PCA first, or shrink the covariances (in fit, "
                "by covariance_estimator='oas')."
            )


@dataclass(frozen=True)
class FilterSearch:
    """The search for the filters that maximise an objective.

    The other fields are the parameters of the estimators of the same names, with
    numbers in place of ``"auto"``.
    """

    n_components: int
    regularization: float
    span_only: bool  # whether the objective depends on the span of the filters alone
    constraint: str
    init: object
    n_init: int
    group_size: object
    optimizer: object
    max_iter: int
    tol: float
    random_state: object
    warm_start: object = None  # filters (n, m) to start from, beside the n_init starts
    batch_size: object = None  # of samples, for objectives of samples

    def group_sizes(self):
        """Number of filters of each group."""
        size = int(self.group_size or self.n_components)
        full, rest = divmod(int(self.n_components), size)
        return [size] * full + ([rest] if rest else [])

    def n_stages(self):
        """Largest number of stages that the callback can hear of."""
        return len(self.group_sizes()) * self._stages_per_group

    @property
    def _stages_per_group(self):
        return self.n_init + (self.warm_start is not None) + 2

    def run(self, objective, pooled, callback=None):
        """Learn all groups of filters, each with the earlier ones fixed.

        Parameters
        ----------
        objective : callable
            Maps filters (n, m) to value and gradient, for any m; has ``project``.
        pooled : PooledCovariances
            Those of the data.
        callback : callable, default=None
            Called as ``callback(stage, filters, value)`` after each iteration, with all
            filters so far.

        Returns
        -------
        filters : ndarray of shape (n, n_components)
        groups : list of (MinimizeResult, list of float)
            For each group how its search ended and what its starts reached.
        """
        rng = check_random_state(self.random_state)
        filters = np.empty((len(pooled.total), 0))
        groups = []
        for index, size in enumerate(self.group_sizes()):
            report = None
            if callback is not None:
                report = self._reporter(callback, index, filters)
            group = _Group(self, objective, pooled, filters, size)
            new, *outcome = group.learn(rng, report)
            filters = np.hstack([filters, new])
            groups.append(outcome)
        return filters, groups

    def _reporter(self, callback, index, fixed):
        first_stage = index * self._stages_per_group

        def report(stage, filters, value):
            return callback(first_stage + stage, np.hstack([fixed, filters]), value)

        return report


class _Group:
    """The search for some filters beside others that are fixed."""

    def __init__(self, search, objective, pooled, fixed, size):
        self.search = search
        self.size = size
        self.fixed = fixed
        self.n_fixed = fixed.shape[1]
        # Where orthonormal filters must differ from a mere basis of their span, new
        # ones are sought in the orthogonal complement of the fixed ones.
        self.complement = None
        if self.n_fixed > 0:
            objective = WithFixedFilters(objective, fixed)
            if search.constraint == "orthonormal" and not search.span_only:
                orthogonal, _ = np.linalg.qr(fixed, mode="complete")
                self.complement = orthogonal[:, self.n_fixed :]
                objective = objective.project(self.complement)
                pooled = pooled.project(self.complement)
                self.fixed = np.empty((len(pooled.total), 0))
        self.objective = objective
        self.pooled = pooled
        if search.span_only:
            self.coordinates = whitening_coordinates(pooled.total)
        else:
            self.coordinates = principal_coordinates(
                pooled,
                search.regularization,
                self.fixed.shape[1] + size,
                allow_coarse=isinstance(search.init, str)
                and objective.projection_dominates(size),
            )

    def learn(self, rng, callback):
        """Return the filters, how the search ended, and what the starts reached."""
        search = self.search
        starts = self._starts(rng)
        if search.warm_start is not None:
            starts.append(self._from(search.warm_start))
        with one_blas_thread(self.objective.parallel):
            result, values = maximize_coarse_to_fine(
                self.objective,
                starts,
                self.coordinates.basis,
                complete=self.coordinates.complete,
                constraint=search.constraint,
                optimizer=search.optimizer,
                max_iter=search.max_iter,
                tol=search.tol,
                batches=None if search.batch_size is None else (search.batch_size, rng),
                callback=callback,
            )
        filters = result.point
        if self.complement is not None:
            filters = self.complement @ filters
        elif search.constraint == "orthonormal" and self.fixed.shape[1] > 0:
            filters = filters - self.fixed @ (self.fixed.T @ filters)
            filters = CONSTRAINTS["orthonormal"].nearest(filters)
        return filters, result, values

    def _starts(self, rng):
        """Points of the constraint, in the coordinates of the search."""
        makers = {"lda": self._lda, "pca": self._pca}
        init = self.search.init
        if isinstance(init, str):
            makers = [makers[kind] for kind in _NAMED_STARTS[init]]
        else:
            makers = [self._given]
        n_starts = self.search.n_init
        starts = [make() for make in makers[:n_starts]]
        nearest = CONSTRAINTS[self.search.constraint].nearest
        shape = (self.coordinates.basis.shape[1], self.size)
        while len(starts) < n_starts:
            starts.append(nearest(rng.standard_normal(shape)))
        return starts

    def _pca(self):
        return self._completed(np.empty((self.coordinates.basis.shape[1], 0)))

    def _lda(self):
        basis = self.coordinates.basis
        order = basis.shape[1]
        noise = self.search.regularization * np.eye(order)
        ratios, directions = eigh(
            basis.T @ (self.pooled.total - self.pooled.within) @ basis,
            basis.T @ self.pooled.within @ basis + noise,
            subset_by_index=[max(order - self.size, 0), order - 1],
        )
        separates = ratios > 1e-10 * ratios[-1]
        return self._completed(directions[:, separates][:, ::-1])

    def _given(self):
        return self._from(self.search.init.T)

    def _from(self, filters):
        """Those of given filters that belong to this group, as a start."""
        given = filters[:, self.n_fixed : self.n_fixed + self.size]
        given = given / np.maximum(np.abs(given).max(axis=0), np.finfo(float).tiny)
        if self.complement is not None:
            given = self.complement.T @ given
        start = self.coordinates.dual.T @ given
        outside = np.linalg.norm(start, axis=0) == 0
        if outside.any():
            row = self.n_fixed + np.flatnonzero(outside)[0]
            raise ValueError(
                f"Row {row} of init is zero on all directions in which the data vary; "
                "give another filter."
            )
        return CONSTRAINTS[self.search.constraint].nearest(start)

    def _completed(self, leading):
        """Orthonormal columns: some given ones, then principal axes; none is fixed."""
        fixed = self.coordinates.dual.T @ self.fixed
        order, n_fixed = fixed.shape
        n_columns = n_fixed + leading.shape[1] + self.size
        axes = np.eye(order, min(order, n_columns))
        orthogonal, _ = np.linalg.qr(np.hstack([fixed, leading, axes]))
        return orthogonal[:, n_fixed : n_fixed + self.size]
