"""Covariances of all classes: an array, or forms that need less memory.

The objectives of filters and the statistics of classes use the members

``shape``
    the shape (c, n, n) of the equivalent array.
``values``
    the array, or the object itself if no array is formed.
``covariances[k]``
    the covariance of class k, a matrix that multiplies filters by ``@``.
``mean(weights)``
    the sum of the covariances times weights, a matrix.
``project(basis)``
    the covariances ``basis.T @ covariances[k] @ basis``, which need not be structured.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.utils import gen_batches

from skgeom.utils import memory
from skgeom.utils.array_api import (
    float_dtype,
    in_double,
    like,
    namespace,
    take,
    to_numpy,
)
from skgeom.utils.validation import (
    check_array,
    check_semidefinite,
    check_symmetric,
)


@dataclass(frozen=True)
class ArrayCovariances:
    """Covariances in one array of shape (c, n, n), of any library.

    Products are computed on the device of the array. Their results are NumPy arrays.
    """

    values: Any

    @property
    def shape(self):
        """Shape of the array."""
        return self.values.shape

    def __getitem__(self, k):
        return self.values[k, ...]

    def take(self, classes):
        """The covariances of some classes."""
        return ArrayCovariances(take(self.values, classes))

    def to(self, convert):
        """The covariances in an array that a function converts."""
        return ArrayCovariances(convert(self.values))

    def scaled(self, factors):
        """The covariances, each multiplied by its factor."""
        return ArrayCovariances(like(factors, self.values)[:, None, None] * self.values)

    def mean(self, weights):
        """The sum of the covariances times weights, of shape (n, n)."""
        weights = like(weights, self.values)
        return namespace(self.values).tensordot(weights, self.values, axes=1)

    def traces(self):
        """The trace of each class, (c,)."""
        return namespace(self.values).linalg.trace(self.values)

    def project(self, basis):
        """``basis.T @ self[k] @ basis``, computed class by class to save memory."""
        columns = like(basis, self.values, self.values.dtype)
        products = [
            columns.T @ (self[k] @ columns) for k in range(self.values.shape[0])
        ]
        products = in_double(namespace(self.values).stack(products))
        return ArrayCovariances(np.asarray(to_numpy(products), dtype=np.float64))

    def forms(self, filters):
        """``filters.T @ self[k] @ filters`` for all k, (c, m, m), and a function.

        The function maps weights of shape (c, m, m) to the sum over the classes k of
        ``self[k] @ filters @ weights[k]``, of shape (n, m).
        """
        values, xp = self.values, namespace(self.values)
        double, (n_classes, n_features, _) = float_dtype(values), values.shape
        n_filters = filters.shape[1]
        rows = like(filters.T, values, values.dtype)
        # The products filters.T @ self[k], in one pass over the covariances that takes
        # most of the time.
        half = rows @ xp.reshape(values, (-1, n_features)).T
        half = xp.astype(half, double, copy=False)
        by_class = xp.reshape(half, (n_filters, n_classes, n_features))
        by_class = xp.permute_dims(by_class, (1, 0, 2))
        products = by_class @ like(filters, values, double)

        def weighted_sum(weights):
            # The sum over the classes of weights @ by_class, as one product.
            weights = weights.transpose(1, 2, 0).reshape(n_filters, -1)
            weights = like(weights, values, double)
            summed = to_numpy(weights @ xp.reshape(half, (-1, n_features)))
            return np.asarray(summed, dtype=np.float64).T

        return np.asarray(to_numpy(products), dtype=np.float64), weighted_sum


@dataclass(frozen=True)
class SampleCovariances:
    """Covariances of the classes of few samples, stored as the centered samples.

    With fewer samples than features, the samples need less memory than the covariance
    of one class. The covariance of class k is ``scales[k]`` times the sum of the outer
    products of its rows with themselves.

    Attributes
    ----------
    rows : ndarray of shape (N, n)
        The centered samples, sorted by class, times the square roots of their weights.
    sizes : ndarray of int, shape (c,)
        The number of rows of each class.
    scales : ndarray of shape (c,)
    """

    rows: np.ndarray
    sizes: np.ndarray
    scales: np.ndarray

    @property
    def shape(self):
        """Shape of the equivalent array."""
        return len(self.sizes), *2 * self.rows.shape[1:]

    def __getitem__(self, k):
        own = self.rows[self.sizes[:k].sum() :][: self.sizes[k]]
        return self.scales[k] * (own.T @ own)

    @cached_property
    def values(self):
        """The covariances in an array, which is computed once."""
        check_memory(*self.shape[:2])
        found = np.empty(self.shape)
        for k in range(len(found)):
            found[k] = self[k]
        return found

    def scaled(self, factors):
        """The covariances, each multiplied by its factor."""
        return replace(self, scales=self.scales * factors)

    def mean(self, weights):
        """The sum of the covariances times weights, of shape (n, n)."""
        rows = self.rows * np.sqrt(weights * self.scales).repeat(self.sizes)[:, None]
        return rows.T @ rows

    def traces(self):
        """The trace of each class, (c,)."""
        labels = np.arange(len(self.sizes)).repeat(self.sizes)
        return self.scales * np.bincount(labels, np.square(self.rows).sum(axis=1))

    def project(self, basis):
        """``basis.T @ self[k] @ basis``, in the same form."""
        return replace(self, rows=self.rows @ basis)

    def take(self, classes):
        """The covariances of some classes, in the same form."""
        rows = np.split(self.rows, np.cumsum(self.sizes)[:-1])
        rows = np.concatenate([rows[k] for k in classes])
        return SampleCovariances(rows, self.sizes[classes], self.scales[classes])

    def to(self, convert):
        """The covariances in an array that a function converts."""
        return ArrayCovariances(convert(self.values))


class _BlocksPlusRows:
    """Block-diagonal matrices plus weighted outer products of rows with themselves.

    A matrix is ``blocks`` plus the sum over j of ``weights[j]`` times the outer product
    of row j with itself. The rows are a list of arrays, which all classes and their
    mean share.
    """

    __array_ufunc__ = None

    def __init__(self, blocks, weights, rows):
        self._blocks, self._weights, self._rows = blocks, weights, rows

    @property
    def shape(self):
        """Shape of the equivalent array."""
        *batch, n_blocks, size, _ = self._blocks.shape
        return *batch, n_blocks * size, n_blocks * size

    def __len__(self):
        return self.shape[0]

    def __array__(self, dtype=None, copy=None):
        raise ValueError(
            f"Structured covariances of shape {self.shape} cannot become an array. "
            "SQFA and SecondMomentSQFA.fit_statistics accept them. With more than "
            "1,000 features, regularization must be positive, init must be a name, and "
            "group_size must be None with constraint='orthonormal'. In all other "
            "cases, use the statistics of features, statistics.project(filters)."
        )

    def plus(self, rows, weights):
        """The sum with weighted outer products of rows with themselves."""
        weights = np.concatenate([self._weights, weights], axis=-1)
        return type(self)(self._blocks, weights, [*self._rows, rows])

    def _parts(self, values):
        """Pairs of an array of rows and the part of ``values`` for these rows."""
        ends = np.cumsum([len(rows) for rows in self._rows])[:-1]
        return zip(self._rows, np.split(values, ends), strict=True)

    def _inner(self, filters):
        """Products of all rows with filters."""
        return np.concatenate([rows @ filters for rows in self._rows])

    def _add_outer(self, products, inner):
        """Add the transposed rows times ``inner`` to ``products``, in place."""
        for rows, part in self._parts(inner):
            products += rows.T @ part
        return products


class StructuredCovariances(_BlocksPlusRows):
    """Block-diagonal plus low-rank covariances, without forming arrays."""

    @classmethod
    def of(cls, diagonal, factors=None):
        r"""The covariances :math:`\Phi_i = D_i + A_i^\top A_i`.

        Parameters
        ----------
        diagonal : array-like of shape (c, n) or (c, n_blocks, d, d)
            The diagonals of :math:`D_i`, or their diagonal blocks, n = n_blocks * d.
        factors : array-like of shape (c, r, n), default=None
            The matrices :math:`A_i`. Not copied if C-contiguous and of dtype float64.
        """
        options = {"dtype": np.float64, "allow_nd": True}
        blocks = check_array(diagonal, input_name="diagonal", **options)
        if blocks.ndim == 2:
            blocks = blocks[:, :, None, None]
        check_symmetric(blocks, "diagonal")
        n_classes, size = len(blocks), blocks.shape[-1]
        n_features = int(np.prod(blocks.shape[1:-1]))
        rows = np.empty((n_classes, 0, n_features))
        if factors is not None:
            rows = check_array(factors, input_name="factors", **options)
        fits = rows.shape == (n_classes, *rows.shape[1:2], n_features)
        if blocks.ndim != 4 or not fits:
            raise ValueError(
                "diagonal must have shape (n_classes, n_features) or (n_classes, "
                "n_blocks, d, d), and factors (n_classes, r, n_features), but their "
                f"shapes are {np.shape(diagonal)} and {rows.shape}."
            )
        few = blocks.reshape(-1, size, size)
        if size == 1:  # the smallest variance, compared with the largest one
            few = np.diag([blocks.min(), blocks.max()])[None]
        check_semidefinite(few, "diagonal", "covariance of a block")
        weights = np.repeat(np.eye(n_classes), rows.shape[1], axis=1)
        blocks = (blocks + blocks.mT) / 2
        return cls(blocks, weights, [rows.reshape(-1, n_features)])

    @property
    def values(self):
        """The covariances themselves."""
        return self

    def to(self, convert):
        """The covariances, which are always in CPU memory."""
        return self

    def __getitem__(self, k):
        if isinstance(k, tuple):
            return self.__array__()
        return StructuredMatrix(self._blocks[k], self._weights[k], self._rows)

    def take(self, classes):
        """The covariances of some classes."""
        blocks, weights = self._blocks[classes], self._weights[classes]
        return StructuredCovariances(blocks, weights, self._rows)

    def mean(self, weights):
        """The sum of the covariances times weights."""
        blocks = np.tensordot(weights, self._blocks, axes=1)
        return StructuredMatrix(blocks, weights @ self._weights, self._rows)

    def forms(self, filters):
        """See :meth:`ArrayCovariances.forms`."""
        halves, inner = _blocks_times(self._blocks, filters), self._inner(filters)
        weighted = self._weights[..., None] * inner

        def weighted_sum(weights):
            of_blocks = np.tensordot(halves, weights, axes=([0, 2], [0, 1]))
            return self._add_outer(of_blocks, (weighted @ weights).sum(axis=0))

        return filters.T @ halves + inner.T @ weighted, weighted_sum

    def project(self, basis):
        """``basis.T @ self[k] @ basis``, computed class by class to save memory."""
        inner = self._inner(basis)
        found = inner.T @ (self._weights[..., None] * inner)
        for k, blocks in enumerate(self._blocks):
            found[k] += basis.T @ _blocks_times(blocks, basis)
        return ArrayCovariances(found)


class StructuredMatrix(_BlocksPlusRows):
    """A covariance of one class, or a mean over classes, which multiplies filters."""

    def plus_identity(self, variance):
        """The matrix plus ``variance`` times the identity."""
        blocks = self._blocks + variance * np.eye(self._blocks.shape[-1])
        return StructuredMatrix(blocks, self._weights, self._rows)

    def diagonal(self):
        """The diagonal."""
        found = np.diagonal(self._blocks, axis1=-2, axis2=-1).reshape(-1)
        for rows, weights in self._parts(self._weights):
            found = found + np.einsum("j,jn,jn->n", weights, rows, rows)
        return found

    def trace(self):
        """The trace."""
        return self.diagonal().sum()

    def __matmul__(self, filters):
        inner = self._weights[:, None] * self._inner(filters)
        return self._add_outer(_blocks_times(self._blocks, filters), inner)

    def __rmatmul__(self, rows):
        return (self @ rows.T).T

    def roots(self):
        """A factor L of the matrix, L L' = self, and its inverse, as operators.

        The matrix is C C' + A' A with the Cholesky factor C of the blocks. With V =
        C^-1 A', L = C (I + V V')^(1/2). The square root and its inverse are computed
        from the eigenvectors of the small matrix V' V.
        """
        n, scales = len(self), np.sqrt(self._weights)[:, None]
        factors = np.linalg.cholesky(self._blocks)
        factor, inverse = (
            _operator(partial(_blocks_times, f), partial(_blocks_times, f.mT), n, n)
            for f in (factors, np.linalg.inv(factors))
        )
        v = inverse @ _operator(
            lambda x: self._add_outer(np.zeros((n, x.shape[1])), scales * x),
            lambda x: scales * self._inner(x),
            n,
            len(scales),
        )
        gram = np.eye(len(scales))
        for batch in gen_batches(len(gram), 64):
            gram[:, batch] = v.T @ (v @ gram[:, batch])
        squares, axes = np.linalg.eigh(gram)
        roots = np.sqrt(1 + np.maximum(squares, 0))
        first, second = (
            v @ aslinearoperator((axes * values) @ axes.T) @ v.T
            for values in (1 / (1 + roots), 1 / (roots + roots**2))
        )
        return factor + factor @ first, inverse - second @ inverse


def _blocks_times(blocks, filters):
    """Block-diagonal matrices, (..., b, d, d), times filters, (b d, m)."""
    *batch, n_blocks, size, _ = blocks.shape
    products = blocks @ filters.reshape(n_blocks, size, filters.shape[1])
    return products.reshape(*batch, *filters.shape)


def _operator(product, transposed, *shape):
    """A linear operator from functions for its products and transposed products."""
    both = {"matmat": product, "rmatmat": transposed, "rmatvec": transposed}
    return LinearOperator(shape, product, dtype=float, **both)


def plus_outer_products(matrix, rows, weights):
    """A matrix plus weighted outer products of rows with themselves."""
    if isinstance(matrix, StructuredMatrix):
        return matrix.plus(rows, weights)
    return matrix + (rows.T * weights) @ rows


def as_array(matrix):
    """A matrix as an array."""
    if isinstance(matrix, StructuredMatrix):
        return matrix @ np.eye(len(matrix))
    return matrix


def plus_identity(matrix, variance):
    """A matrix plus ``variance`` times the identity."""
    if isinstance(matrix, StructuredMatrix):
        return matrix.plus_identity(variance)
    return matrix + variance * np.eye(len(matrix))


def identity_like(matrix):
    """The identity, which is structured if the matrix is."""
    if isinstance(matrix, StructuredMatrix):
        return StructuredCovariances.of(np.ones((1, len(matrix))))[0]
    return np.eye(len(matrix))


def covariances_of(values):
    """Covariances with the members above, from an array or from such covariances."""
    kinds = ArrayCovariances, SampleCovariances, StructuredCovariances
    return values if isinstance(values, kinds) else ArrayCovariances(values)


def joined_covariances(parts, n_classes):
    """The covariances of all classes, from an iterator over those of single classes.

    A single array is allocated in CPU memory.
    """
    first = next(parts)
    parts = chain([first], parts)
    if isinstance(first, SampleCovariances):
        columns = zip(*((p.rows, p.sizes, p.scales) for p in parts), strict=True)
        return SampleCovariances(*map(np.concatenate, columns))
    xp = namespace(first.values)
    if xp is not np:
        return ArrayCovariances(xp.concat([part.values for part in parts]))
    found = np.empty((n_classes, *first.shape[1:]))
    for k, part in enumerate(parts):
        found[k] = part.values[0]
    return ArrayCovariances(found)


def check_memory(n_classes, n_features):
    """Raise MemoryError if the class covariances do not fit into memory."""
    entry, available = 8 * n_classes, memory.memory()
    needed = 2 * entry * n_features**2  # covariances, and sums of equal size
    if needed <= available:
        return
    # Covariances in n_axes axes need at most an eighth of the memory.
    n_axes = max(int(min(np.sqrt(available / 8 / entry), n_features)), 1)
    memory.require_memory(
        needed,
        f"The covariances of {n_classes} classes of {n_features} features",
        f"Use ClassStatistics.from_data or from_blocks with n_axes={n_axes}, which "
        f"need {entry * n_axes**2 / 1e9:.2g} GB for covariances in the leading axes, "
        "and pass the statistics to fit_statistics.",
    )
