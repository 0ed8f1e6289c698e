"""Data sets with the interface of scikit-learn: generators, and fetchers of real data.

Fetchers read files from the folder in the environment variable ``SKGEOM_DATA``. If a
file is missing, functions with the parameter ``download_if_missing`` read it from the
folder ``data_home``, by default scikit-learn's data folder, or download it to that
folder.
"""

from skgeom.datasets._fetch_images import fetch_mnist, fetch_svhn
from skgeom.datasets._fetch_spd import fetch_bci_iv_2a, fetch_eth80, fetch_ssvep
from skgeom.datasets._fetch_tables import fetch_heart, fetch_pima
from skgeom.datasets._generators import (
    make_gaussian_classes,
    make_spd_classes,
    make_syn_spd,
    sqfa_toy_statistics,
)
from skgeom.datasets._speed_videos import make_speed_videos

__all__ = [
    "fetch_bci_iv_2a",
    "fetch_eth80",
    "fetch_heart",
    "fetch_mnist",
    "fetch_pima",
    "fetch_ssvep",
    "fetch_svhn",
    "make_gaussian_classes",
    "make_spd_classes",
    "make_speed_videos",
    "make_syn_spd",
    "sqfa_toy_statistics",
]
