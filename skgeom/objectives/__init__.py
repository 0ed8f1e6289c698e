"""What the estimators optimise: value and analytic gradient as a function of a point.

An objective is called with a point and returns ``(value, gradient)``. It knows neither
an estimator nor an optimiser.
"""

from skgeom.objectives._distances import (
    AffineInvariantDistance,
    CalvoOllerDistance,
    EuclideanDistance,
    LogEuclideanDistance,
)
from skgeom.objectives._gaussian_distances import (
    BhattacharyyaDistance,
    HellingerDistance,
    JeffreysDistance,
    MahalanobisDistance,
    WassersteinDistance,
)
from skgeom.objectives._pairwise import MeanPairwiseDistance, WithFixedFilters

DISTANCES = {
    "fisher-rao": CalvoOllerDistance,
    "bhattacharyya": BhattacharyyaDistance,
    "hellinger": HellingerDistance,
    "jeffreys": JeffreysDistance,
    "wasserstein": WassersteinDistance,
    "mahalanobis": MahalanobisDistance,
}

# Of centred classes: the covariances are their second moments, and the means zero.
SECOND_MOMENT_DISTANCES = {
    "affine-invariant": AffineInvariantDistance,
    "log-euclidean": LogEuclideanDistance,
    "bhattacharyya": BhattacharyyaDistance,
    "hellinger": HellingerDistance,
    "jeffreys": JeffreysDistance,
    "wasserstein": WassersteinDistance,
    "euclidean": EuclideanDistance,
}

__all__ = [
    "DISTANCES",
    "SECOND_MOMENT_DISTANCES",
    "MeanPairwiseDistance",
    "WithFixedFilters",
]
