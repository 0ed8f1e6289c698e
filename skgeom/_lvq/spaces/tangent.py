"""Prototypes in the tangent space at the mean of the training samples."""

import numpy as np

from skgeom._lvq.spaces.base import congruent
from skgeom._lvq.spaces.flat import LogEuclideanSpace
from skgeom.geometry._affine_invariant import (
    affine_invariant_mean,
    from_spectrum,
    inverse_factors,
    threaded_log_spectra,
)
from skgeom.geometry._spd import upper_triangles
from skgeom.utils.array_api import average, cholesky_factors, like, namespace, to_numpy

# A scatter within classes that is this small beside that of all samples is rounding.
_ROUNDING = 1e-20


class TangentSpace(LogEuclideanSpace):
    r"""SPD matrices as vectors of the tangent space at a mean [1]_.

    With the affine-invariant mean :math:`M = L L^\top` of the samples that
    :meth:`learn` sees, a matrix is encoded as :math:`\log(L^{-1} X L^{-\top})`.
    Euclidean distances of these are the affine-invariant ones from M, and close to them
    between matrices that are near M. A congruence of all matrices, those of
    :meth:`learn` included, rotates the vectors, so that it changes no distance. Before
    :meth:`learn`, M is the identity.

    References
    ----------
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten, "Classification of
       covariance matrices using a Riemannian-based kernel for BCI applications",
       Neurocomputing 112, 2013.
    """

    name = "tangent-space"
    affine_invariant = True
    learns_metric = True
    _arrays = "_factor", "_inverse"
    _factor = _inverse = None

    def learn(self, X, y, weights):
        mean = affine_invariant_mean(X, weights)
        self._factor, self._inverse = cholesky_factors(mean), inverse_factors(mean)

    def encode(self, X):
        if self._inverse is None:
            return super().encode(X)
        spectra = threaded_log_spectra(X, self._inverse[None, ...])
        logarithms, vectors = (part[0, ...] for part in spectra)
        return upper_triangles(from_spectrum(vectors, logarithms))

    def decode(self, Z):
        whitened = super().decode(Z)
        return whitened if self._factor is None else congruent(self._factor, whitened)


class MahalanobisSpace(TangentSpace):
    r"""The tangent space with the Mahalanobis distance within the classes.

    With the covariance S of the tangent vectors about the means of their classes, and
    the intensity :math:`\rho` of oracle approximating shrinkage [1]_, the squared
    distance of the vectors x and w is

    .. math::

       \kappa \, (x - w)^\top \left((1 - \rho) S + \rho \mu I\right)^{-1} (x - w),
       \qquad \mu = \operatorname{tr}(S) / p,

    with the factor :math:`\kappa` that leaves the mean squared distance of the samples
    from their class mean as it is in :class:`TangentSpace`. So :math:`\rho = 1` gives
    that space, and variances and rates have the same order of magnitude. Vectors are
    encoded by the symmetric root of that matrix, which is a multiple of the identity
    but for the span of at most n_samples vectors.

    References
    ----------
    .. [1] Y. Chen, A. Wiesel, Y. C. Eldar and A. O. Hero, "Shrinkage algorithms for
       MMSE covariance estimation", IEEE Transactions on Signal Processing 58(10), 2010.
    """

    name = "Mahalanobis"
    _arrays = "_factor", "_inverse", "_directions", "_along"
    _directions = _along = None

    def learn(self, X, y, weights):
        super().learn(X, y, weights)
        vectors, xp = super().encode(X), namespace(X)
        n_samples, n_features = float(xp.sum(weights)), vectors.shape[1]
        residuals = xp.sqrt(weights)[:, None] * _within(vectors, y, weights)
        _, singular, directions = xp.linalg.svd(residuals, full_matrices=False)
        variances = to_numpy(singular) ** 2 / n_samples
        mean = variances.sum() / n_features
        if mean <= _ROUNDING * float(xp.mean(vectors**2)):
            return  # each class is a single point: there is nothing to learn from
        rho = oas_intensity(variances, n_features, n_samples)
        shrunk = (1 - rho) * variances + rho * mean
        kappa = variances.sum() / (variances / shrunk).sum()
        self._directions = directions
        self._elsewhere = float(np.sqrt(kappa / (rho * mean)))
        self._along = like(np.sqrt(kappa / shrunk), X)

    def encode(self, X):
        return self._scaled(super().encode(X), 1)

    def decode(self, Z):
        return super().decode(self._scaled(Z, -1))

    def check_representable(self, prototypes):
        super().check_representable(self._scaled(prototypes, -1))

    def _scaled(self, vectors, power):
        """Vectors times a power of the root of the metric."""
        if self._directions is None:
            return vectors
        along, elsewhere = self._along**power, self._elsewhere**power
        coordinates = (along - elsewhere) * (vectors @ self._directions.T)
        return elsewhere * vectors + coordinates @ self._directions


def oas_intensity(variances, n_features, n_samples):
    """Oracle approximating shrinkage, by the eigenvalues of a covariance matrix.

    Equation 23 of Chen et al. (2010) without the terms in 2 / n_features, as
    :func:`sklearn.covariance.oas` has it.
    """
    squares, square = (variances**2).sum(), variances.sum() ** 2
    excess = squares - square / n_features
    if excess <= 0:  # a multiple of the identity
        return 1.0
    return min((squares + square) / ((n_samples + 1) * excess), 1.0)


def _within(vectors, y, weights):
    """Vectors minus the weighted means of their classes."""
    xp, residuals = namespace(vectors), vectors
    for label in range(int(xp.max(y)) + 1):
        own = y == label
        if not xp.any(own):
            continue
        mean = average(vectors[own], weights[own])
        residuals = xp.where(own[:, None], vectors - mean, residuals)
    return residuals
