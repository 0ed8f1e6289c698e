"""The manifolds of filters, the columns of a matrix, and of prototypes.

They have what :class:`RiemannianLBFGS` asks for, by the names that pymanopt gives it.
pymanopt has more, but it imports torch, JAX and TensorFlow wherever they are installed.
"""

import numpy as np


class Submanifold:
    """Part of a Euclidean space, whose inner product it takes over.

    Subclasses have ``projection(point, vector)``, to the tangent space, ``normal(point,
    vectors)``, the coordinates (k, r) of what it takes away from each of k vectors,
    ``retraction(point, tangent_vector)`` and ``typical_dist``.

    Parameters
    ----------
    *shape : int
        The shape of points.
    """

    def __init__(self, *shape):
        self.shape = shape

    def inner_product(self, point, tangent_vector_a, tangent_vector_b):
        return np.vdot(tangent_vector_a, tangent_vector_b)

    def norm(self, point, tangent_vector):
        return np.sqrt(self.inner_product(point, tangent_vector, tangent_vector))

    def euclidean_to_riemannian_gradient(self, point, euclidean_gradient):
        return self.projection(point, euclidean_gradient)

    def transport(self, point_a, point_b, tangent_vector_a):
        return self.projection(point_b, tangent_vector_a)


class Euclidean(Submanifold):
    """All arrays of a shape."""

    @property
    def typical_dist(self):
        return np.sqrt(np.prod(self.shape))

    def projection(self, point, vector):
        return vector

    def normal(self, point, vectors):
        return np.zeros((len(vectors), 0))

    def retraction(self, point, tangent_vector):
        return point + tangent_vector


class Sphere(Submanifold):
    """Arrays of unit norm."""

    typical_dist = np.pi

    def projection(self, point, vector):
        return vector - np.vdot(point, vector) * point

    def normal(self, point, vectors):
        return (vectors.reshape(len(vectors), -1) @ point.ravel())[:, None]

    def retraction(self, point, tangent_vector):
        moved = point + tangent_vector
        return moved / np.linalg.norm(moved)


class Oblique(Submanifold):
    """Matrices with columns of unit norm."""

    @property
    def typical_dist(self):
        return np.pi * np.sqrt(self.shape[1])

    def projection(self, point, vector):
        return vector - point * (point * vector).sum(axis=0)

    def normal(self, point, vectors):
        return np.einsum("nm,knm->km", point, vectors)

    def retraction(self, point, tangent_vector):
        moved = point + tangent_vector
        return moved / np.linalg.norm(moved, axis=0)


class Stiefel(Submanifold):
    """Matrices with orthonormal columns."""

    @property
    def typical_dist(self):
        return np.sqrt(self.shape[1])

    def projection(self, point, vector):
        product = point.T @ vector
        return vector - point @ ((product + product.T) / 2)

    def normal(self, point, vectors):
        products = point.T @ vectors
        return ((products + products.mT) / 2).reshape(len(vectors), -1)

    def retraction(self, point, tangent_vector):
        q, r = np.linalg.qr(point + tangent_vector)
        return q * np.copysign(1, np.diagonal(r))  # else not continuous


# The largest logarithm of the root of an eigenvalue that a step may give.
_LARGEST = 100.0


class AffineInvariant:
    """SPD matrices, (k, n, n), with steps and parallel transport along geodesics.

    Those of pymanopt have other ones. Its transport leaves the vectors as they are, and
    so changes their length. Its retraction goes much less far than the geodesic, and
    cannot come near zero.

    A search takes many products at a point, and carries many vectors between two. So
    what depends on the points alone is kept for the latest ones.
    """

    def __init__(self, *shape):
        k, n, _ = shape
        self.typical_dist = np.sqrt(k * n * (n + 1) / 2)
        self._point = self._from = self._to = None

    def euclidean_to_riemannian_gradient(self, point, euclidean_gradient):
        gradient = point @ euclidean_gradient @ point
        return (gradient + gradient.mT) / 2

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


class Product:
    """Points that are lists, one part for each of some manifolds."""

    def __init__(self, manifolds):
        self._manifolds = manifolds
        self.typical_dist = np.sqrt(sum(m.typical_dist**2 for m in manifolds))

    def _of_parts(self, method, *arguments):
        parts = zip(self._manifolds, *arguments, strict=True)
        return [getattr(manifold, method)(*part) for manifold, *part in parts]

    def inner_product(self, point, tangent_vector_a, tangent_vector_b):
        vectors = tangent_vector_a, tangent_vector_b
        return sum(self._of_parts("inner_product", point, *vectors))

    def norm(self, point, tangent_vector):
        return np.sqrt(self.inner_product(point, tangent_vector, tangent_vector))

    def euclidean_to_riemannian_gradient(self, point, euclidean_gradient):
        method = "euclidean_to_riemannian_gradient"
        return TangentVector(self._of_parts(method, point, euclidean_gradient))

    def retraction(self, point, tangent_vector):
        return self._of_parts("retraction", point, tangent_vector)

    def transport(self, point_a, point_b, tangent_vector_a):
        parts = self._of_parts("transport", point_a, point_b, tangent_vector_a)
        return TangentVector(parts)


class TangentVector(list):
    """A tangent vector of a product, a part for each manifold, with its arithmetic."""

    __array_ufunc__ = None  # numpy's numbers leave the product with a vector to it

    def __add__(self, other):
        return TangentVector(a + b for a, b in zip(self, other, strict=True))

    def __sub__(self, other):
        return TangentVector(a - b for a, b in zip(self, other, strict=True))

    def __mul__(self, number):
        return TangentVector(number * part for part in self)

    __rmul__ = __mul__

    def __truediv__(self, number):
        return TangentVector(part / number for part in self)

    def __neg__(self):
        return TangentVector(-part for part in self)


def as_pymanopt(manifold):
    """The manifold of pymanopt that a submanifold is: its optimisers ask for more.

    Other manifolds are returned as they are.
    """
    import pymanopt.manifolds

    kinds = {
        Euclidean: pymanopt.manifolds.Euclidean,
        Oblique: pymanopt.manifolds.Oblique,
        Sphere: pymanopt.manifolds.Sphere,
        Stiefel: pymanopt.manifolds.Stiefel,
    }
    kind = kinds.get(type(manifold))
    return manifold if kind is None else kind(*manifold.shape)
