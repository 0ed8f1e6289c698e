"""Frobenius distances of matrices, and of their logarithms."""

import numpy as np

from skgeom.objectives._base_distance import MatrixDistance


class EuclideanDistance(MatrixDistance):
    """Frobenius distance of the matrices; means are not used."""

    label = "Euclidean"
    returns_square = True
    affine_invariant = False

    def pairs(self, i, j):
        offsets = self.covariances[i] - self.covariances[j]

        def gradient(weights):
            of_i = 2 * weights[:, None, None] * offsets
            return self.by_class(i, j, of_i, -of_i)

        return (offsets**2).sum(axis=(1, 2)), gradient


class LogEuclideanDistance(EuclideanDistance):
    r"""Frobenius distance of the matrix logarithms; means are not used.

    The derivative of the logarithm at :math:`V \Lambda V^\top` multiplies, in the basis
    V, by the divided differences of the logarithm at the eigenvalues (Daleckii and
    Krein): one eigendecomposition a class serves all pairs.
    """

    label = "log-Euclidean"

    def __init__(self, means, covariances):
        eigenvalues, self._vectors = np.linalg.eigh(covariances)
        if not (eigenvalues > 0).all():
            raise np.linalg.LinAlgError("A projected class is singular.")
        logs = np.log(eigenvalues)
        self._differences = _divided_differences(eigenvalues, logs)
        # From here on, a Euclidean distance of the logarithms.
        super().__init__(means, (self._vectors * logs[:, None]) @ self._vectors.mT)

    def pull_back(self, gradient):
        inside = self._vectors.mT @ gradient @ self._vectors * self._differences
        return super().pull_back(self._vectors @ inside @ self._vectors.mT)


def _divided_differences(eigenvalues, logs):
    """(log a - log b) / (a - b) for all pairs of eigenvalues, 1 / a if they agree."""
    a, b = eigenvalues[:, :, None], eigenvalues[:, None, :]
    ratio = (a - b) / b
    close = np.abs(ratio) < 1e-5
    safe = np.where(close, 1.0, a - b)
    far = (logs[:, :, None] - logs[:, None, :]) / safe
    near = (1 - ratio / 2 + ratio**2 / 3) / b
    return np.where(close, near, far)
