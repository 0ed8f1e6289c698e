"""Distances and divergences between Gaussians, by formulas of their moments."""

import numpy as np

from skgeom.geometry._affine_invariant import inverse_factors as _inverse_factors
from skgeom.objectives._base_distance import Distance, stacked


class WassersteinDistance(Distance):
    r"""2-Wasserstein distance of Gaussians; of centred ones, the Bures distance.

    .. math::

       d^2 = \|\mu_i - \mu_j\|^2 + \operatorname{tr} (\Sigma_i + \Sigma_j
       - 2 (\Sigma_i^{1/2} \Sigma_j \Sigma_i^{1/2})^{1/2}), \quad
       \frac{\partial d^2}{\partial \Sigma_i} = I - T_{ij}

    with the optimal map :math:`T_{ij}` from class i to j (Dowson and Landau, 1982;
    Bhatia, Jain and Lim, 2019). With :math:`\Sigma_i = L L^\top` and
    :math:`L^\top \Sigma_j L = U S^2 U^\top`, it is
    :math:`L^{-\top} U S U^\top L^{-1}`, and :math:`T_{ji}` its inverse.
    """

    label = "Wasserstein"
    returns_square = True
    affine_invariant = False
    decomposes_pairs = True

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        self._factors = np.linalg.cholesky(covariances)
        self._inverse_factors = np.linalg.inv(self._factors)
        self._traces = covariances.trace(axis1=1, axis2=2)

    def pairs(self, i, j):
        factors = self._factors[i]
        squares, vectors = np.linalg.eigh(factors.mT @ self.covariances[j] @ factors)
        if not (squares > 0).all():
            raise np.linalg.LinAlgError("A projected class is singular.")
        roots = np.sqrt(squares)
        offsets = self.means[i] - self.means[j]
        bures = self._traces[i] + self._traces[j] - 2 * roots.sum(axis=1)
        # Rounding may make the difference of two equal classes negative.
        squared = (offsets**2).sum(axis=1) + np.maximum(bures, 0)

        def gradient(weights):
            left = self._inverse_factors[i].mT @ vectors
            right = factors @ vectors
            map_ij = (left * roots[:, None]) @ left.mT
            map_ji = (right / roots[:, None]) @ right.mT
            identity, w = np.eye(len(factors[0])), weights[:, None, None]
            of_mean = 2 * weights[:, None] * offsets
            of_i = stacked(w * (identity - map_ij), of_mean)
            of_j = stacked(w * (identity - map_ji), -of_mean)
            return self.by_class(i, j, of_i, of_j)

        return squared, gradient


class MahalanobisDistance(Distance):
    r"""Mahalanobis distance of the means, by the average of the two covariances.

    With :math:`\delta = \mu_i - \mu_j`, :math:`\bar\Sigma = (\Sigma_i + \Sigma_j) / 2`
    and :math:`u = \bar\Sigma^{-1} \delta`: :math:`d^2 = \delta^\top u`, and its
    derivatives are :math:`2 u` and :math:`-u u^\top`.
    """

    label = "Mahalanobis"
    returns_square = True

    def pairs(self, i, j):
        offsets = self.means[i] - self.means[j]
        average = (self.covariances[i] + self.covariances[j]) / 2
        inverse_factors = _inverse_factors(average)
        inverses = inverse_factors.mT @ inverse_factors
        u = (inverses @ offsets[:, :, None])[:, :, 0]

        def gradient(weights):
            of_mean = 2 * weights[:, None] * u
            of_each = -weights[:, None, None] * u[:, :, None] * u[:, None] / 2
            of_i, of_j = stacked(of_each, of_mean), stacked(of_each, -of_mean)
            return self.by_class(i, j, of_i, of_j)

        return (offsets * u).sum(axis=1), gradient


class BhattacharyyaDistance(Distance):
    r"""Bhattacharyya distance of Gaussians, equation 6 of the paper.

    With the notation of :class:`MahalanobisDistance`,

    .. math::

       d = \tfrac18 \delta^\top u + \tfrac12 \log\det \bar\Sigma
       - \tfrac14 \log\det \Sigma_i - \tfrac14 \log\det \Sigma_j
    """

    label = "Bhattacharyya"

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        inverse_factors = _inverse_factors(covariances)
        self._inverses = inverse_factors.mT @ inverse_factors
        self._log_dets = _log_dets(inverse_factors)

    def pairs(self, i, j):
        offsets = self.means[i] - self.means[j]
        average = (self.covariances[i] + self.covariances[j]) / 2
        inverse_factors = _inverse_factors(average)
        inverses = inverse_factors.mT @ inverse_factors
        u = (inverses @ offsets[:, :, None])[:, :, 0]
        ends = (self._log_dets[i] + self._log_dets[j]) / 2
        values = (offsets * u).sum(axis=1) / 8 + (_log_dets(inverse_factors) - ends) / 2

        def gradient(weights):
            w = weights[:, None, None]
            middle = inverses / 4 - u[:, :, None] * u[:, None] / 16
            of_mean = weights[:, None] * u / 4
            of_i = stacked(w * (middle - self._inverses[i] / 4), of_mean)
            of_j = stacked(w * (middle - self._inverses[j] / 4), -of_mean)
            return self.by_class(i, j, of_i, of_j)

        # Rounding may make the value of two equal classes negative.
        return np.maximum(values, 0), gradient


class HellingerDistance(BhattacharyyaDistance):
    r"""Hellinger distance of Gaussians: :math:`d^2 = 1 - e^{-d_B}`, at most 1."""

    label = "Hellinger"
    returns_square = True

    def pairs(self, i, j):
        values, gradient = super().pairs(i, j)
        overlap = np.exp(-values)
        return -np.expm1(-values), lambda weights: gradient(weights * overlap)


class JeffreysDistance(Distance):
    r"""Jeffreys divergence of Gaussians: the sum of both Kullback-Leibler divergences.

    .. math::

       d = \tfrac12 \operatorname{tr} (\Sigma_i^{-1} \Sigma_j + \Sigma_j^{-1} \Sigma_i)
       - m + \tfrac12 \delta^\top (\Sigma_i^{-1} + \Sigma_j^{-1}) \delta
    """

    label = "Jeffreys"

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        inverse_factors = _inverse_factors(covariances)
        self._inverses = inverse_factors.mT @ inverse_factors

    def pairs(self, i, j):
        offsets = self.means[i] - self.means[j]
        inverse_i, inverse_j = self._inverses[i], self._inverses[j]
        spread = offsets[:, :, None] * offsets[:, None]
        u = ((inverse_i + inverse_j) @ offsets[:, :, None])[:, :, 0]
        traces = (inverse_i * self.covariances[j]).sum(axis=(1, 2))
        traces += (inverse_j * self.covariances[i]).sum(axis=(1, 2))
        values = traces / 2 - offsets.shape[1] + (offsets * u).sum(axis=1) / 2

        def gradient(weights):
            w = weights[:, None, None] / 2
            of_mean = weights[:, None] * u
            slope_i = inverse_j - inverse_i @ (self.covariances[j] + spread) @ inverse_i
            slope_j = inverse_i - inverse_j @ (self.covariances[i] + spread) @ inverse_j
            of_i = stacked(w * slope_i, of_mean)
            of_j = stacked(w * slope_j, -of_mean)
            return self.by_class(i, j, of_i, of_j)

        return np.maximum(values, 0), gradient


def _log_dets(inverse_factors):
    """Logarithms of the determinants, given the inverses of the Cholesky factors."""
    diagonals = np.diagonal(inverse_factors, axis1=-2, axis2=-1)
    return -2 * np.log(diagonals).sum(axis=-1)
