"""The constraints on filters, as manifolds of matrices whose columns are filters."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pymanopt.manifolds import Oblique, Stiefel


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


CONSTRAINTS = {
    "unit-norm": Constraint(Oblique, _normalize_columns),
    "orthonormal": Constraint(Stiefel, _polar_factor),
}
