"""Eigenvectors of symmetric matrices, leading ones first."""

import numpy as np

from skgeom.utils.linalg import fix_signs


def leading_axes(matrix):
    """Eigenvalues in falling order, and eigenvectors in rows, of determined signs."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1].copy(), fix_signs(vectors.T[::-1])


def positive_rank(eigenvalues):
    """Number of eigenvalues above rounding."""
    rounding = len(eigenvalues) * np.finfo(np.float64).eps * np.abs(eigenvalues).max()
    return np.count_nonzero(eigenvalues > rounding)


def check_rank(eigenvalues, wanted, parameter, name):
    """Raise ValueError if more eigenvectors are wanted than have a positive value."""
    rank = positive_rank(eigenvalues)
    if wanted > rank:
        remedy = "ask for fewer components"
        if positive_rank(-eigenvalues):
            remedy += ", or use curvature='gauss-newton', which has no negative ones"
        raise ValueError(
            f"{parameter}={wanted} is more than the {rank} positive eigenvalues of the "
            f"{name}; {remedy}."
        )
