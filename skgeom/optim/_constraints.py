"""Constraints of filters, and the manifolds on which these are sought."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from skgeom.optim._manifolds import Oblique, Sphere, Stiefel
from skgeom.utils._linalg import inverse_of_triangle

# A metric that falls from one axis to the next is about even after some of them if the
# last of these has at most so many times the mean of the rest.
_EVEN = 1.5


@dataclass(frozen=True)
class Constraint:
    """A manifold of filter matrices of shape (n, m), for any n and m.

    Attributes
    ----------
    manifold : callable
        (n, m) -> manifold.
    nearest : callable
        Maps a matrix of full column rank to the closest point of the manifold.
    """

    manifold: Callable
    nearest: Callable

    # The points of the search are the filters; FreeRotation has others.

    def rotated(self, filters, like):
        return filters

    def point_of(self, filters):
        return filters

    def filters_of(self, point):
        return point

    def at_points(self, objective):
        return objective


def _normalize_columns(matrix):
    return matrix / np.linalg.norm(matrix, axis=0)


def _polar_factor(matrix):
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


CONSTRAINTS = {
    "unit-norm": Constraint(Oblique, _normalize_columns),
    "orthonormal": Constraint(Stiefel, _polar_factor),
}


def rotated_to_unit_norm(filters):
    """The columns of a matrix, scaled as a whole, after a rotation to unit norms.

    Each plane rotation, of a column that is too long and one that is too short, gives
    one of them unit norm.
    """
    n_filters = filters.shape[1]
    filters = filters * (np.sqrt(n_filters) / np.linalg.norm(filters))
    for _ in range(n_filters - 1):
        squares = np.square(filters).sum(axis=0)
        i, j = squares.argmax(), squares.argmin()
        longer, shorter = squares[i] - 1, 1 - squares[j]
        if min(longer, shorter) < 1e-12:
            break
        # |f_i + t f_j|^2 = 1 + t^2, by the root of smaller magnitude.
        product = filters[:, i] @ filters[:, j]
        root = np.sqrt(product**2 + longer * shorter)
        tangent = -longer / (product + np.copysign(root, product))
        rotation = np.array([[1, -tangent], [tangent, 1]]) / np.hypot(1, tangent)
        filters[:, [i, j]] = filters[:, [i, j]] @ rotation
    return _normalize_columns(filters)


@dataclass(frozen=True)
class _EvenOutside:
    """A linear map: a matrix in the coordinates of some axes, a number outside them."""

    matrix: np.ndarray
    axes: np.ndarray
    outside: float

    @property
    def T(self):
        return replace(self, matrix=self.matrix.T)

    def __matmul__(self, vectors):
        inside = self.axes.T @ vectors
        change = self.matrix @ inside - self.outside * inside
        return self.outside * vectors + self.axes @ change


class FreeRotation:
    r"""Filters of unit norm, for an objective that no rotation of them changes.

    Where :math:`F R`, with R orthogonal, is worth as much as F, only
    :math:`F F^\top` matters. Any F whose squared norms add up to m has a rotation of
    unit norms (Schur and Horn), so that one constraint can replace m of them:

    .. math:: F = \sqrt{m} \, L^{-\top} G / \|L^{-\top} G\|, \quad \|G\| = 1

    A search on this sphere goes more directly to the maximum. Its coordinates are those
    in which a metric, :math:`L L^\top`, is the identity.

    Parameters
    ----------
    metric : ndarray of shape (n, n)
        A symmetric positive definite matrix, such as the covariance of the features: a
        step then changes the outputs of the filters equally in all directions.
    """

    def __init__(self, metric):
        self._factor = np.linalg.cholesky(metric)
        # Not solved for at each point: only scipy can make use of a triangle, and the
        # threads of its BLAS would be in the way of those of numpy.
        self._inverse = inverse_of_triangle(self._factor)

    def beyond(self, axes, metric):
        """The same for all features, of which these filters are coordinates.

        ``axes``, (n, k), are the leading axes of the ``metric`` of the features, or
        about these. Where it is about even outside of their span, it is taken for a
        multiple of the identity there, which is cheaper.
        """
        n_features, n_axes = axes.shape
        along = np.square(self._factor).sum(axis=1)  # the diagonal of its metric
        elsewhere = (np.trace(metric) - along.sum()) / max(n_features - n_axes, 1)
        if along.min() > _EVEN * elsewhere:
            return FreeRotation(metric)
        whole, root = copy(self), np.sqrt(elsewhere)
        whole._factor = _EvenOutside(self._factor, axes, root)
        whole._inverse = _EvenOutside(self._inverse, axes, 1 / root)
        return whole

    nearest = staticmethod(rotated_to_unit_norm)

    def rotated(self, filters, like):
        """The rotation of filters that brings them closest to others.

        The search leaves it to rounding.
        """
        return filters @ _polar_factor(filters.T @ like)

    def manifold(self, n, m):
        """The sphere of the points."""
        return Sphere(n, m)

    def point_of(self, filters):
        """The point G of given filters, up to their norm."""
        point = self._factor.T @ filters
        return point / np.linalg.norm(point)

    def filters_of(self, point):
        """The filters F of a point, which may differ in their norms."""
        return self._filters_and_scale(point)[0]

    def at_points(self, objective):
        """Value and gradient of an objective of filters, as a function of the point."""

        def value_and_gradient(point):
            filters, scale = self._filters_and_scale(point)
            value, gradient = objective(filters)
            radial = np.vdot(filters, gradient) / filters.shape[1]
            return value, scale * (self._inverse @ (gradient - radial * filters))

        return value_and_gradient

    def _filters_and_scale(self, point):
        filters = self._inverse.T @ point
        scale = np.sqrt(point.shape[1]) / np.linalg.norm(filters)
        return scale * filters, scale
