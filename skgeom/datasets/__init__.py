"""Data sets with the interface of scikit-learn: generators, and fetchers of real data.

Fetchers read files from the folder in the environment variable ``SKGEOM_DATA``. If a
file is missing, functions with the parameter ``download_if_missing`` read it from the
folder ``data_home``, by default scikit-learn's data folder, or download it to that
folder.
"""

from skgeom.datasets._fetch_images import fetch_mnist
from skgeom.datasets._fetch_tables import fetch_heart, fetch_pima
from skgeom.datasets._generators import (
    make_gaussian_classes,
    make_spd_classes,
    make_syn_spd,
    sqfa_toy_statistics,
)
from skgeom.datasets._speed_videos import make_speed_videos

__all__ = [
    "fetch_heart",
    "fetch_mnist",
    "fetch_pima",
    "make_gaussian_classes",
    "make_spd_classes",
    "make_speed_videos",
    "make_syn_spd",
    "sqfa_toy_statistics",
]
