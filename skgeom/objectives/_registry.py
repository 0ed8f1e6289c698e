"""The distances by name."""

from skgeom.objectives._callable import CallableDistance
from skgeom.objectives._fisher_rao_distances import (
    AffineInvariantDistance,
    CalvoOllerDistance,
)
from skgeom.objectives._gaussian_distances import (
    BhattacharyyaDistance,
    HellingerDistance,
    JeffreysDistance,
    MahalanobisDistance,
    WassersteinDistance,
)
from skgeom.objectives._geodesic_distance import FisherRaoDistance
from skgeom.objectives._matrix_distances import EuclideanDistance, LogEuclideanDistance

DISTANCES = {
    "fisher-rao": CalvoOllerDistance,
    "fisher-rao-exact": FisherRaoDistance,
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


def find_distance(distance, registry):
    """The distance of a name, or that which a user gives: see ``_base_distance.py``."""
    if isinstance(distance, str):
        if distance not in registry:
            raise ValueError(
                f"distance must be one of {sorted(registry)}, a StudentT or a "
                f"function, got {distance!r}."
            )
        return registry[distance]
    if isinstance(distance, type):
        raise TypeError(
            f"distance is the class {distance.__name__}; give an object of it, such as "
            f"{distance.__name__}(3)."
        )
    if hasattr(distance, "returns_square"):
        return distance
    return CallableDistance(distance)
