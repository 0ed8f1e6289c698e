"""Manifolds: of filters, the columns of a matrix, and of prototypes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pymanopt.manifolds import (
    Euclidean,
    Oblique,
    Product,
    Sphere,
    Stiefel,
    SymmetricPositiveDefinite,
)
from scipy.linalg.lapack import dtrtri


@dataclass(frozen=True)
class Constraint:
    """A manifold of filter matrices of shape (n, m), for any n and m.

    Attributes
    ----------
    manifold : callable
        (n, m) -> pymanopt manifold.
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


class _QuickProducts:
    """The Euclidean inner product, many of which a search takes of small matrices.

    np.tensordot, by which pymanopt computes it, takes ten times as long for these.
    """

    def inner_product(self, point, tangent_vector_a, tangent_vector_b):
        return np.vdot(tangent_vector_a, tangent_vector_b)


class _Oblique(_QuickProducts, Oblique):
    pass


class _Stiefel(_QuickProducts, Stiefel):
    pass


class _Sphere(_QuickProducts, Sphere):
    pass


CONSTRAINTS = {
    "unit-norm": Constraint(_Oblique, _normalize_columns),
    "orthonormal": Constraint(_Stiefel, _polar_factor),
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
        self._inverse = dtrtri(self._factor.T)[0].T

    nearest = staticmethod(rotated_to_unit_norm)

    def rotated(self, filters, like):
        """The rotation of filters that brings them closest to others.

        The search leaves it to rounding.
        """
        return filters @ _polar_factor(filters.T @ like)

    def manifold(self, n, m):
        """The sphere of the points."""
        return _Sphere(n, m)

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


# The largest logarithm of the root of an eigenvalue that a step may give.
_LARGEST = 100.0


class _AffineInvariant(SymmetricPositiveDefinite):
    """SPD matrices, (k, n, n), with steps and parallel transport along geodesics.

    pymanopt's transport leaves the vectors as they are, and so changes their length.
    Its retraction goes much less far than the geodesic, and cannot come near zero.

    A search takes many products at a point, and carries many vectors between two. So
    what depends on the points alone is kept for the latest ones.
    """

    def __init__(self, shape):
        k, n, _ = shape
        super().__init__(n, k=k)
        self._point = self._from = self._to = None

    def inner_product(self, point, tangent_vector_a, tangent_vector_b):
        # By factors, a squared norm is not negative, however ill-conditioned the point.
        if self._point is not point:
            self._inverse = np.linalg.inv(np.linalg.cholesky(point))
            self._point = point
        inverse = self._inverse
        a, b = (inverse @ u @ inverse.mT for u in (tangent_vector_a, tangent_vector_b))
        return np.sum(a * b)

    def norm(self, point, tangent_vector):
        return np.sqrt(self.inner_product(point, tangent_vector, tangent_vector))

    def retraction(self, point, tangent_vector):
        factor = np.linalg.cholesky(point)
        inverse = np.linalg.inv(factor)
        eigenvalues, vectors = np.linalg.eigh(inverse @ tangent_vector @ inverse.mT)
        # A step that numbers cannot hold is cut; the search then takes a shorter one.
        roots = np.exp(np.clip(eigenvalues / 2, -_LARGEST, _LARGEST))
        half = (factor @ vectors) * roots[..., None, :]
        return half @ half.mT

    def transport(self, point_a, point_b, tangent_vector_a):
        if self._from is not point_a or self._to is not point_b:
            self._isometry = _isometry(point_a, point_b)
            self._from, self._to = point_a, point_b
        return self._isometry @ tangent_vector_a @ self._isometry.mT


def _isometry(point_a, point_b):
    """The matrices A of the parallel transport ``A @ U @ A.T`` along a geodesic."""
    factor = np.linalg.cholesky(point_a)
    inverse = np.linalg.inv(factor)
    eigenvalues, vectors = np.linalg.eigh(inverse @ point_b @ inverse.mT)
    root = (vectors * np.sqrt(eigenvalues)[..., None, :]) @ vectors.mT
    return factor @ root @ inverse


# The manifolds of the variables of learning vector quantisation, made for a shape.
MANIFOLDS = {
    "affine-invariant": _AffineInvariant,
    "euclidean": lambda shape: Euclidean(*shape),
    "orthonormal": lambda shape: _Stiefel(*shape),
    "unit-sphere": lambda shape: Sphere(*shape),
}


def product_manifold(manifolds):
    """The manifold of points that are lists, one part for each of the manifolds."""
    return Product(manifolds)
