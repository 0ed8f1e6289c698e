"""The Fisher-Rao distance itself, along geodesics of Gaussians."""

import numpy as np

from skgeom.geometry._fibres import shortest_on_fibres, squared_distance_slopes
from skgeom.objectives._base_distance import Distance, stacked

# Error of a distance, relative to it where it exceeds 1. That of the gradient is about
# the same, as the bracket of the distance has the width of a gradient.
_TOL = 1e-12
# Numbers in the coordinates of a pair beyond which their squares could overflow.
_LARGEST = 1e50


class FisherRaoDistance(Distance):
    r"""Fisher-Rao distance of Gaussians, by a search of the shortest geodesic.

    With a factor :math:`L_i` of the covariance of class i, and singular vectors R of
    :math:`L_i^{-1} L_j`, class j has the mean :math:`R^\top L_i^{-1} (\mu_j - \mu_i)`
    and a diagonal covariance S where class i is the standard Gaussian; there the
    distance is found (``geometry/_fibres.py``). Its derivatives g and G with respect to
    that mean d and to S are those of class j. Those of class i follow, as no linear map
    of both classes changes the distance: :math:`-g` and
    :math:`-(G S + \tfrac12 g d^\top)`, which is symmetric.
    """

    label = "Fisher-Rao-exact"
    returns_square = True
    decomposes_pairs = True

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        self._factors = np.linalg.cholesky(covariances)
        self._inverse_factors = np.linalg.inv(self._factors)

    def pairs(self, i, j):
        inverse_factors = self._inverse_factors[i]
        rotations, scales, _ = np.linalg.svd(inverse_factors @ self._factors[j])
        to_standard = rotations.mT @ inverse_factors
        offsets = to_standard @ (self.means[j] - self.means[i])[:, :, None]
        offsets = offsets[:, :, 0]
        _check_range(offsets, scales)
        (distances, *_), fibres = shortest_on_fibres(offsets, scales, _TOL)

        def gradient(weights):
            of_offset, of_square = squared_distance_slopes(offsets, scales, fibres)
            of_own = of_square * scales[:, None] ** 2
            of_own += of_offset[:, :, None] * offsets[:, None] / 2
            of_own = -(of_own + of_own.mT) / 2
            weighted = weights[:, None, None] * to_standard.mT
            of_i = weighted @ of_own @ to_standard
            of_j = weighted @ of_square @ to_standard
            of_mean = (weighted @ of_offset[:, :, None])[:, :, 0]
            return self.by_class(i, j, stacked(of_i, -of_mean), stacked(of_j, of_mean))

        return distances**2, gradient


def _check_range(offsets, scales):
    extent = (1 + np.abs(offsets) * np.maximum(1, 1 / scales)) ** 2
    if not (extent * np.maximum(scales, 1 / scales) < _LARGEST**2).all():
        raise np.linalg.LinAlgError("A projected class is singular.")
