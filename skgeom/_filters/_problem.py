"""The problem of learning filters, and the search for its solution."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skgeom._filters._basis import Basis
from skgeom.objectives._class_moments import ClassMoments
from skgeom.objectives._covariances import identity_like, plus_identity
from skgeom.objectives._objective import Objective
from skgeom.optim._batches import minimize_in_batches
from skgeom.optim._manifolds import (
    CONSTRAINTS,
    RotationQuotient,
    rotated_to_unit_norm,
)
from skgeom.optim._minimize import minimize


@dataclass(frozen=True)
class Problem:
    """New filters that maximize an objective together with fixed filters.

    New filters are arrays of shape (n, m).

    Attributes
    ----------
    objective : Objective
        The objective of all filters, of shape (N, p + m).
    within, total : ndarray of shape (n, n), or StructuredMatrix
        Covariances of the data in the space of the new filters.
    sigma2 : float
        The variance that is added to the variance of each filter's output.
    constraint : {"unit-norm", "orthonormal"}
        A key of ``CONSTRAINTS``.
    span_only : bool
        Whether the objective depends on the span of the filters only. The filters are
        then orthonormal during the optimization, in coordinates that whiten the data:
        filters of unit norm could become nearly equal, and the objective a rounding
        error.
    fixed : ndarray of shape (N, p)
        The fixed filters, by default none. If N > n, the new filters have zeros in the
        first N - n rows.
    metric : ndarray of shape (n, n) or None
        If given, filters of unit norm are optimized up to rotations, with this metric.
    classes, counts : ClassMoments, ndarray of shape (n_classes,), or None
        The moments and sizes of the classes, whose directions of small variance are
        part of a coarse subspace. With None, it contains principal axes only.
    outer, basis : Problem, Basis, or None
        The problem that is restricted to the subspace with this basis.
    terms : collection or None
        The terms of the objective, if it is restricted to some terms.
    """

    objective: Objective
    within: np.ndarray
    total: np.ndarray
    sigma2: float
    constraint: str
    span_only: bool = False
    fixed: np.ndarray | None = None
    metric: np.ndarray | None = None
    classes: ClassMoments | None = None
    counts: np.ndarray | None = None
    outer: "Problem | None" = None
    basis: Basis | None = None
    terms: object = None

    def __post_init__(self):
        if self.fixed is None:
            object.__setattr__(self, "fixed", np.empty((len(self.within), 0)))

    @property
    def n_fixed(self):
        return self.fixed.shape[1]

    @property
    def inner_constraint(self):
        """The constraint during the optimization."""
        return "orthonormal" if self.span_only else self.constraint

    @property
    def nearest(self):
        """The function that returns the nearest filters that satisfy the constraint."""
        if self.metric is not None:
            return rotated_to_unit_norm
        return CONSTRAINTS[self.constraint].nearest

    @cached_property
    def spanned(self):
        """The part of the fixed filters in the space of the new filters."""
        inside = self.fixed[len(self.fixed) - len(self.within) :]
        return inside[:, inside.any(axis=0)]

    def manifold(self, n_filters):
        """The manifold of the new filters."""
        shape = len(self.within), n_filters
        if self.metric is not None:
            return RotationQuotient(*shape, metric=self.metric)
        return CONSTRAINTS[self.inner_constraint](*shape)

    def up_to_rotations(self):
        """The same problem, with a metric if rotations of the filters do not matter.

        Steps of equal length in this metric change the outputs of the filters equally,
        relative to the variance within the classes plus sigma^2.
        """
        objective, within = self.objective, self.within
        if self.inner_constraint != "unit-norm" or not objective.rotation_invariant:
            return self
        noise = max(self.sigma2, 1e-10 * self.total.trace())
        if objective.affine_invariant:
            return replace(self, metric=plus_identity(within, noise))
        return replace(self, metric=identity_like(within))

    def restrict(self, basis):
        """The same problem for new filters in a subspace, in its coordinates."""
        columns, n_fixed = basis.columns, self.n_fixed

        def inside(matrix):
            return columns.T @ matrix @ columns

        return replace(
            self,
            objective=self.objective.project(self.with_fixed(columns)),
            within=inside(self.within),
            total=inside(self.total),
            fixed=np.eye(n_fixed + columns.shape[1], n_fixed),
            metric=None if self.metric is None else inside(self.metric),
            classes=None,
            outer=self,
            basis=basis,
        )

    def subset(self, terms):
        """The same problem for some terms of the objective; all terms for None."""
        if terms is None:
            return self
        return replace(self, objective=self.objective.subset(terms), terms=terms)

    @property
    def label(self):
        """The number of terms for the names of stages."""
        if self.terms is None:
            return ""
        return f"{len(self.terms):,} {self.objective.terms}, "

    def with_fixed(self, filters):
        """All filters of the objective: the fixed filters, then the new filters."""
        if self.n_fixed == 0:
            return filters
        zeros = np.zeros((len(self.fixed) - len(filters), filters.shape[1]))
        return np.hstack([self.fixed, np.vstack([zeros, filters])])

    def all_filters(self, filters):
        """The fixed and the new filters of the outermost problem.

        The new filters satisfy its constraint.
        """
        if self.outer is not None:
            return self.outer.all_filters(self.basis.lift(filters))
        filters = self.nearest(filters)
        if self.n_fixed and self.constraint == "orthonormal":
            filters = self.nearest(filters - self.fixed @ (self.fixed.T @ filters))
        return self.with_fixed(filters)

    def coordinates(self, filters):
        """Coordinates of filters of the outermost problem."""
        if self.outer is None:
            return filters
        return self.basis.restrict(self.outer.coordinates(filters))

    def __call__(self, filters):
        """The objective and its gradient, as functions of the new filters."""
        value, gradient = self.objective(self.with_fixed(filters))
        return value, gradient[len(gradient) - len(filters) :, self.n_fixed :]


@dataclass(frozen=True)
class Search:
    """How to search for the solution of a problem.

    Attributes
    ----------
    optimizer, max_iter, tol
        As for :func:`minimize`.
    callback : callable or None
        Called as ``callback(stage, filters, value)`` after each iteration, with the
        name of the stage and all filters so far; the stage ends if it returns True.
    label : str
        Precedes the names of stages, and the label of the problem.
    random_state : int, RandomState instance or None
        Seed of random initializations and random subsets of the terms.
    subsets : list or None
        Subsets of the terms for the first iterations. If None,
        ``objective.growing_subsets`` draws them.
    in_blocks : bool
        Whether to use :func:`minimize_in_batches`, with one term for each step.
    """

    optimizer: object = "lbfgs"
    max_iter: int = 500
    tol: float = 1e-6
    callback: Callable | None = None
    label: str = ""
    random_state: object = None
    subsets: list | None = None
    in_blocks: bool = False

    def labelled(self, label):
        """The same search, with a label of its stages after the present label."""
        return replace(self, label=f"{self.label}{label}, ")

    def ascend(self, problem, start, stage="search", tol=None, before=None):
        """Optimize filters from a start; the point of the result are the filters.

        The numbers of iterations and evaluations include those of the earlier result
        ``before``.
        """
        manifold = problem.manifold(start.shape[1])
        stage = self.label + problem.label + stage

        def cost(point, term=None):
            filters = manifold.filters_of(point)
            part = problem if term is None else problem.subset([term])
            value, gradient = part(filters)
            # The gradient with respect to the filters; the manifold converts it.
            return -value, -gradient

        def report(point, cost):
            filters = problem.all_filters(manifold.filters_of(point))
            return self.callback(stage, filters, -cost)

        point = manifold.point_of(start)
        limits = {
            "max_iter": self.max_iter,
            "callback": None if self.callback is None else report,
        }
        if self.in_blocks:
            n_terms, rng = problem.objective.n_samples, self.random_state
            run = minimize_in_batches(cost, n_terms, manifold, point, rng, **limits)
        else:
            tol = self.tol if tol is None else tol
            limits |= {"optimizer": self.optimizer, "tol": tol}
            run = minimize(cost, manifold, point, **limits)
        run = replace(run, point=manifold.filters_of(run.point))
        if before is None:
            return run
        return replace(
            run,
            n_iter=before.n_iter + run.n_iter,
            n_evaluations=before.n_evaluations + run.n_evaluations,
        )
