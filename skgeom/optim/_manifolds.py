"""The constraints on filters, as manifolds of matrices whose columns are filters."""

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


class _Prototypes(SymmetricPositiveDefinite):
    """SPD matrices, (k, n, n), with steps and parallel transport along geodesics.

    pymanopt's transport leaves the vectors as they are, and so changes their length.
    Its retraction goes much less far than the geodesic, and cannot come near zero.
    """

    def __init__(self, n, k):
        super().__init__(n, k=k)

    def inner_product(self, point, tangent_vector_a, tangent_vector_b):
        # By factors, a squared norm is not negative, however ill-conditioned the point.
        inverse = np.linalg.inv(np.linalg.cholesky(point))
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
        factor = np.linalg.cholesky(point_a)
        inverse = np.linalg.inv(factor)
        eigenvalues, vectors = np.linalg.eigh(inverse @ point_b @ inverse.mT)
        root = (vectors * np.sqrt(eigenvalues)[..., None, :]) @ vectors.mT
        isometry = factor @ root @ inverse
        return isometry @ tangent_vector_a @ isometry.mT


def prototype_manifold(shape, *, flat, with_scale=False, subspace=None, unit=None):
    """Where the variables of learning vector quantisation live.

    Parameters
    ----------
    shape : tuple of int
        Of the prototypes: (k, n, n) for SPD matrices, (k, p) if they are flat.
    flat : bool
        Whether the prototypes are vectors.
    with_scale : bool
        Whether the logarithm of a scale is a variable.
    subspace : (n, m) or None
        Shape of a matrix with orthonormal columns.
    unit : (m, n) or None
        Shape of a matrix of unit Frobenius norm.
    """
    if flat:
        parts = [Euclidean(*shape)]
    else:
        parts = [_Prototypes(shape[-1], shape[0])]
    if with_scale:
        parts.append(Euclidean(1))
    if subspace is not None:
        parts.append(Stiefel(*subspace))
    if unit is not None:
        parts.append(Sphere(*unit))
    return Product(parts)
