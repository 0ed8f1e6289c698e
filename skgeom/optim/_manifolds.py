"""The manifolds of filters (columns of a matrix) and of prototypes.

They have the methods that :class:`RiemannianLBFGS` requires, with pymanopt's names. The
manifolds of pymanopt are not used, because ``import pymanopt`` also imports torch, JAX
and TensorFlow if they are installed.
"""

import numpy as np


class _Manifold:
    def norm(self, point, tangent_vector):
        return np.sqrt(self.inner_product(point, tangent_vector, tangent_vector))


class Submanifold(_Manifold):
    """Submanifold of a Euclidean space, with its inner product.

    Subclasses define ``projection(point, vector)``, which projects onto the tangent
    space, ``retraction(point, tangent_vector)`` and ``typical_dist``.

    Parameters
    ----------
    *shape : int
        The shape of points.
    """

    def __init__(self, *shape):
        self.shape = shape

    def inner_product(self, point, tangent_vector_a, tangent_vector_b):
        return np.vdot(tangent_vector_a, tangent_vector_b)

    # Points are filters, except for RotationQuotient.

    def point_of(self, filters):
        return filters

    def filters_of(self, point):
        return point

    def euclidean_to_riemannian_gradient(self, point, euclidean_gradient):
        return self.projection(point, euclidean_gradient)

    def transport(self, point_a, point_b, tangent_vector_a):
        return self.projection(point_b, tangent_vector_a)


class Euclidean(Submanifold):
    """All arrays of a given shape."""

    @property
    def typical_dist(self):
        return np.sqrt(np.prod(self.shape))

    def projection(self, point, vector):
        return vector

    def retraction(self, point, tangent_vector):
        return point + tangent_vector


class Sphere(Submanifold):
    """Arrays of unit norm."""

    typical_dist = np.pi

    def projection(self, point, vector):
        return vector - np.vdot(point, vector) * point

    def retraction(self, point, tangent_vector):
        moved = point + tangent_vector
        return moved / np.linalg.norm(moved)


class Oblique(Submanifold):
    """Matrices with columns of unit norm."""

    @staticmethod
    def nearest(matrix):
        return matrix / np.linalg.norm(matrix, axis=0)

    @property
    def typical_dist(self):
        return np.pi * np.sqrt(self.shape[1])

    def projection(self, point, vector):
        return vector - point * (point * vector).sum(axis=0)

    def retraction(self, point, tangent_vector):
        return self.nearest(point + tangent_vector)


class Stiefel(Submanifold):
    """Matrices with orthonormal columns."""

    @staticmethod
    def nearest(matrix):
        left, _, right = np.linalg.svd(matrix, full_matrices=False)
        return left @ right

    @property
    def typical_dist(self):
        return np.sqrt(self.shape[1])

    def projection(self, point, vector):
        product = point.T @ vector
        return vector - point @ ((product + product.T) / 2)

    def retraction(self, point, tangent_vector):
        q, r = np.linalg.qr(point + tangent_vector)
        return q * np.copysign(1, np.diagonal(r))  # makes the retraction continuous


class AffineInvariant(_Manifold):
    """SPD matrices, (k, n, n), with steps and parallel transport along geodesics.

    pymanopt's class is not used: its transport does not change the vectors, so their
    norms change, and its retraction is much shorter than the geodesic and cannot
    approach singular matrices.
    """

    def __init__(self, *shape):
        k, n, _ = shape
        self.typical_dist = np.sqrt(k * n * (n + 1) / 2)

    def euclidean_to_riemannian_gradient(self, point, euclidean_gradient):
        gradient = point @ euclidean_gradient @ point
        return (gradient + gradient.mT) / 2

    def inner_product(self, point, tangent_vector_a, tangent_vector_b):
        # With triangular factors, a squared norm is never negative, even if the point
        # is ill-conditioned.
        inverse = np.linalg.inv(np.linalg.cholesky(point))
        a, b = (inverse @ u @ inverse.mT for u in (tangent_vector_a, tangent_vector_b))
        return np.sum(a * b)

    def retraction(self, point, tangent_vector):
        factor, _, eigenvalues, vectors = _spectra(point, tangent_vector)
        # Clipping avoids overflow; the line search then shortens the step.
        largest = np.log(np.finfo(float).max) / 4
        roots = np.exp(np.clip(eigenvalues / 2, -largest, largest))
        half = (factor @ vectors) * roots[..., None, :]
        return half @ half.mT

    def transport(self, point_a, point_b, tangent_vector_a):
        # The parallel transport along the geodesic from a to b.
        factor, inverse, eigenvalues, vectors = _spectra(point_a, point_b)
        root = (vectors * np.sqrt(eigenvalues)[..., None, :]) @ vectors.mT
        isometry = factor @ root @ inverse
        return isometry @ tangent_vector_a @ isometry.mT


def _spectra(point, matrices):
    """Cholesky factors of SPD matrices, and spectra of whitened matrices.

    Returns the factors, their inverses, and the eigenvalues and eigenvectors of the
    matrices after whitening with the factors.
    """
    factor = np.linalg.cholesky(point)
    inverse = np.linalg.inv(factor)
    return factor, inverse, *np.linalg.eigh(inverse @ matrices @ inverse.mT)


class Product(_Manifold):
    """Product of manifolds; a point is a list with one array for each manifold.

    Tangent vectors are one-dimensional arrays with the entries of all parts.
    """

    def __init__(self, manifolds):
        self.manifolds = manifolds
        self.typical_dist = np.sqrt(sum(m.typical_dist**2 for m in manifolds))

    def _of_parts(self, method, *arguments):
        parts = zip(self.manifolds, *arguments, strict=True)
        return [getattr(manifold, method)(*part) for manifold, *part in parts]

    def inner_product(self, point, tangent_vector_a, tangent_vector_b):
        parts = (_split(v, point) for v in (tangent_vector_a, tangent_vector_b))
        return sum(self._of_parts("inner_product", point, *parts))

    def euclidean_to_riemannian_gradient(self, point, euclidean_gradient):
        method = "euclidean_to_riemannian_gradient"
        return _joined(self._of_parts(method, point, euclidean_gradient))

    def retraction(self, point, tangent_vector):
        return self._of_parts("retraction", point, _split(tangent_vector, point))

    def transport(self, point_a, point_b, tangent_vector_a):
        parts = _split(tangent_vector_a, point_a)
        return _joined(self._of_parts("transport", point_a, point_b, parts))


def _joined(parts):
    """One array with the entries of all arrays."""
    return np.concatenate([np.ravel(part) for part in parts])


def _split(vector, point):
    """The parts of a joined array, with the shapes of the parts of a point."""
    # Slices, because np.split took half of the time of a fit to few samples.
    parts, end = [], 0
    for part in point:
        start, end = end, end + np.size(part)
        parts.append(vector[start:end].reshape(np.shape(part)))
    return parts


def as_pymanopt(manifold):
    """Convert a :class:`Submanifold` to pymanopt's class of the same name.

    pymanopt's optimizers require more methods than :class:`RiemannianLBFGS`. Manifolds
    of different classes are returned unchanged.
    """
    if not isinstance(manifold, Submanifold):
        return manifold
    import pymanopt.manifolds

    return getattr(pymanopt.manifolds, type(manifold).__name__)(*manifold.shape)


CONSTRAINTS = {"unit-norm": Oblique, "orthonormal": Stiefel}


def rotated_to_unit_norm(filters):
    """Scale all columns of a matrix by one factor, and rotate them to unit norms.

    Each plane rotation combines a column of norm above one and a column of norm below
    one, and sets the norm of one of the two columns to one.
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
    return Oblique.nearest(filters)


class RotationQuotient(Sphere):
    r"""Filters of unit norm up to rotations, for a rotation-invariant objective.

    If the objective has the same value for F and :math:`F R` with any orthogonal R, it
    depends on :math:`F F^\top` only: it is a function on the quotient by the orthogonal
    group O(m). If the squared norms of the columns of F sum to m, there is a rotation R
    such that all columns of :math:`F R` have unit norm (Schur and Horn). One constraint
    on the sum therefore replaces the m constraints on the columns:

    .. math:: F = \sqrt{m} \, L^{-\top} G / \|L^{-\top} G\|, \quad \|G\| = 1

    The metric is :math:`L L^\top`, which is the identity in the coordinates of G.
    Optimization of G on the sphere needs fewer iterations than optimization of F.

    Parameters
    ----------
    *shape : int
        The shape (n, m) of filters.
    metric : ndarray of shape (n, n), or StructuredMatrix
        A symmetric positive definite matrix. With the covariance of the features, steps
        of equal length change the outputs of the filters equally in all directions.
    """

    nearest = staticmethod(rotated_to_unit_norm)

    def __init__(self, *shape, metric):
        super().__init__(*shape)
        if not isinstance(metric, np.ndarray):
            self._factor, self._inverse = metric.roots()
            return
        self._factor = np.linalg.cholesky(metric)
        # Rounding errors above the diagonal are removed.
        self._inverse = np.tril(np.linalg.inv(self._factor))

    def point_of(self, filters):
        """The point G of given filters; their common scale is removed."""
        point = self._factor.T @ filters
        return point / np.linalg.norm(point)

    def filters_of(self, point):
        """The filters F of a point; their norms may differ."""
        filters = self._inverse.T @ point
        return np.sqrt(point.shape[1]) / np.linalg.norm(filters) * filters

    def euclidean_to_riemannian_gradient(self, point, euclidean_gradient):
        """The gradient on the sphere, given the gradient with respect to filters."""
        filters = self._inverse.T @ point
        scale = np.sqrt(point.shape[1]) / np.linalg.norm(filters)
        radial = np.vdot(filters, euclidean_gradient) / np.vdot(filters, filters)
        return scale * (self._inverse @ (euclidean_gradient - radial * filters))
