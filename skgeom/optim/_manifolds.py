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


CONSTRAINTS = {
    "unit-norm": Constraint(_Oblique, _normalize_columns),
    "orthonormal": Constraint(_Stiefel, _polar_factor),
}


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
