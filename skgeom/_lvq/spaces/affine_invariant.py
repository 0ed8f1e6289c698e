"""Prototypes among SPD matrices with the affine-invariant metric."""

from functools import cached_property

import numpy as np

from skgeom._lvq.spaces.base import WhitenedPairs, WhitenedSpace
from skgeom.geometry._affine_invariant import (
    affine_invariant_mean,
    from_spectrum,
    inverse_factors,
    log_eigenvalues,
    log_spectra,
    mean_logarithm,
    threaded_log_spectra,
)
from skgeom.geometry._spd import upper_triangles


class AffineInvariantSpace(WhitenedSpace):
    r"""SPD matrices with the affine-invariant metric.

    With :math:`W = F F^\top` and the eigenvalues :math:`\lambda_i` and eigenvectors V
    of :math:`F^{-1} X F^{-\top}`, the squared distance is :math:`\sum_i \log^2
    \lambda_i`, the logarithm map :math:`F V \log(\Lambda) V^\top F^\top`, and the point
    at the fraction t of the geodesic from W to X
    :math:`(F V \Lambda^{t/2})(F V \Lambda^{t/2})^\top`. One eigendecomposition a pair
    is all that cost, gradient and step need.
    """

    name = "affine-invariant"
    has_geodesics = True
    learns_subspace = True
    has_slopes = True

    def mean(self, Z, weights):
        return affine_invariant_mean(Z, weights)

    def squared_distances(self, Z, prototypes):
        logarithms = log_eigenvalues(Z, inverse_factors(prototypes)[:, None])
        return np.einsum("jip,jip->ij", logarithms, logarithms)

    def pairs(self, Z, prototypes):
        return AffineInvariantPairs(Z, prototypes)

    def stochastic(self, prototypes):
        return FactorSteps(prototypes)


class AffineInvariantPairs(WhitenedPairs):
    """Squared distances of n samples from M prototypes, with gradients."""

    def __init__(self, Z, prototypes):
        self._inverse = inverse_factors(prototypes)
        self._logarithms, self._vectors = log_spectra(Z, self._inverse[:, None])
        self.squared_distances = (self._logarithms**2).sum(axis=-1).T

    def gradient(self, weights):
        diagonals = -2 * weights.T[..., None] * self._logarithms
        whitened = from_spectrum(self._vectors, diagonals).sum(axis=1)
        return self._inverse.mT @ whitened @ self._inverse

    def sample_gradient(self, weights):
        diagonals = 2 * weights.T[..., None] * self._logarithms
        whitened = from_spectrum(self._vectors, diagonals * np.exp(-self._logarithms))
        inverse = self._inverse[:, None]
        return (inverse.mT @ whitened @ inverse).sum(axis=0)

    @cached_property
    def _rows(self):
        """Gradients in whitened coordinates, -2 log, as vectors (M, n, p)."""
        return -2 * upper_triangles(from_spectrum(self._vectors, self._logarithms))


class FactorSteps:
    r"""Prototypes as factors, :math:`W = F F^\top`, with the inverses of F.

    A step of whitened direction :math:`T = U \Theta U^\top` along a geodesic multiplies
    F by :math:`U e^{\Theta/2}`, so that nothing has to be factored again.
    """

    def __init__(self, prototypes):
        self._factors = np.linalg.cholesky(prototypes)
        self._inverses = np.linalg.inv(self._factors)

    @property
    def prototypes(self):
        return self._factors @ self._factors.mT

    def evaluate(self, Z):
        """Squared distances (n, M) of samples, remembered for the next step."""
        self._spectra = threaded_log_spectra(Z, self._inverses)
        return np.square(self._spectra[0]).sum(axis=-1).T

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients * Log_W(X)``, (n, M)."""
        logarithms, vectors = self._spectra
        if len(coefficients) == 1:  # the sum has the eigenvectors of its one term
            exponents = coefficients.T * logarithms[:, 0]
            vectors = vectors[:, 0]
        else:
            whitened = mean_logarithm(logarithms, vectors, coefficients.T)
            exponents, vectors = np.linalg.eigh(whitened)
        half = np.exp(exponents / 2)
        self._factors = (self._factors @ vectors) * half[:, None, :]
        self._inverses = (vectors.mT @ self._inverses) / half[:, :, None]

    def refresh(self):
        """Factor the prototypes again: rounding adds up in factor and inverse."""
        self.__init__(self.prototypes)
