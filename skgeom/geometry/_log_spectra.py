"""Logarithms of SPD matrices in coordinates in which others are the identity."""

import numpy as np

from skgeom.utils._threads import map_threads

# Operations of a batch, n^3 for each pair, from which on two threads are worth it.
_PARALLEL = 500_000


def inverse_factors(matrices):
    """Inverses of the lower Cholesky factors of a stack."""
    return np.linalg.inv(np.linalg.cholesky(matrices))


def log_eigenvalues(matrices, inverses):
    """Logarithms of the generalised eigenvalues, (..., n), by inverse factors."""
    return np.log(_kept_positive(np.linalg.eigvalsh(inverses @ matrices @ inverses.mT)))


def log_spectra(matrices, inverses):
    """The same with the eigenvectors, (..., n, n), of the whitened matrices."""
    eigenvalues, vectors = np.linalg.eigh(inverses @ matrices @ inverses.mT)
    return np.log(_kept_positive(eigenvalues)), vectors


def threaded_log_spectra(matrices, inverses):
    """``log_spectra`` of samples (n, k, k) for whitenings (M, k, k), (M, n, ...)."""
    inverses = inverses[:, None]
    if inverses.size * matrices.shape[-1] * len(matrices) < _PARALLEL:
        return log_spectra(matrices, inverses)
    halves = map_threads(
        lambda half: log_spectra(half, inverses), np.array_split(matrices, 2)
    )
    return [np.concatenate(parts, axis=1) for parts in zip(*halves, strict=True)]


def mean_logarithm(logarithms, vectors, weights):
    """Sum over n samples of weights (M, n) times their logarithms, (M, k, k).

    With the eigenvectors of all samples side by side, the sum is one matrix product.
    """
    n_bases, n_samples, size, _ = vectors.shape
    columns = vectors.swapaxes(1, 2).reshape(n_bases, size, n_samples * size)
    diagonals = (weights[..., None] * logarithms).reshape(n_bases, 1, -1)
    return (columns * diagonals) @ columns.mT


def from_spectrum(vectors, diagonals):
    """The matrices ``V @ diag(d) @ V.T``."""
    return (vectors * diagonals[..., None, :]) @ vectors.mT


def _kept_positive(eigenvalues):
    # Rounding can hide an eigenvalue this small, and even make it negative.
    floor = np.finfo(float).eps * eigenvalues[..., -1:]
    return np.maximum(eigenvalues, floor)
