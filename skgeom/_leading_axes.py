"""The leading axes of data, found by a first pass, for statistics made by a second."""

import numpy as np
from scipy.linalg import eigh

from skgeom._moments import ROWS_PER_BLOCK
from skgeom.utils.array_api import in_double, like, namespace, to_numpy
from skgeom.utils.linalg import WholeSpace, fix_signs


def sums_in_axes(n_axes, summed):
    """Sums of the classes of ``X @ axes.T``, and the axes, (n_axes, n_features).

    The axes are the leading eigenvectors of the total covariance. They take the memory
    of n_features^2 numbers, and the sums that of n_classes n_axes^2.

    Parameters
    ----------
    n_axes : int
    summed : callable
        Called twice, as ``summed(prepare)``: the :class:`ClassSums` of all samples,
        where ``prepare`` maps the samples and labels of a block to those to sum.
    """
    (pooled,) = summed(_AsOneClass(n_axes)).moments()
    axes = leading_axes(pooled.scatter, n_axes)
    sums = summed(InAxes(axes))
    count = sum(of_class.count for of_class in sums.moments())
    if not np.isclose(count, pooled.count, rtol=1e-9, atol=0):
        raise ValueError(
            "n_axes needs the same blocks twice, but their samples were "
            f"{pooled.count} the first time and {count} the second time."
        )
    return sums, axes


def leading_axes(scatter, n_axes):
    """The leading eigenvectors, as rows, with one rule for their signs."""
    scatter = to_numpy(scatter)  # LAPACK finds some of them only
    n_features = len(scatter)
    _, axes = eigh(scatter, subset_by_index=[n_features - n_axes, n_features - 1])
    return np.ascontiguousarray(fix_signs(axes.T[::-1]))


class _AsOneClass:
    """Gives all samples one label."""

    def __init__(self, n_axes):
        self.n_axes = n_axes

    def __call__(self, X, y):
        if self.n_axes > X.shape[1]:
            raise ValueError(
                f"n_axes={self.n_axes} must not exceed the number of features: "
                f"n_features={X.shape[1]}."
            )
        return X, np.zeros(len(y), dtype=int)


class InAxes:
    """Gives samples by their coordinates in axes."""

    def __init__(self, axes):
        self.axes = axes

    def __call__(self, X, y):
        if X.shape[1] != self.axes.shape[1]:
            raise ValueError(
                f"X must have {self.axes.shape[1]} features, as the axes have, got "
                f"shape {X.shape}."
            )
        return in_axes(X, self.axes), y


class AxesSpace(WholeSpace):
    """Where filters are sought that are learnt from statistics in axes."""

    def __init__(self, axes):
        super().__init__()
        self._axes = axes

    def lift(self, filters):
        return self._axes.T @ filters

    def restrict(self, filters):
        parts = self._axes @ filters
        # What is left of a filter across the axes is rounding.
        rounding = len(filters) * np.finfo(np.float64).eps
        inside = np.linalg.norm(parts, axis=0) > rounding * np.linalg.norm(
            filters, axis=0
        )
        return np.where(inside, parts, 0)


def in_axes(X, axes):
    """``X @ axes.T`` in double precision, without a copy of all of X."""
    if namespace(X) is not np:
        return in_double(X) @ like(axes.T, X)
    result = np.empty((len(X), len(axes)))
    for start in range(0, len(X), ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        np.matmul(X[rows].astype(np.float64, copy=False), axes.T, out=result[rows])
    return result
