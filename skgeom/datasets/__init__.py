"""Data sets, as in scikit-learn: generators, and fetchers of real data.

Fetchers look in the folder that the environment variable ``SKGEOM_DATA`` names, then
in scikit-learn's data folder. They download what is in neither.
"""

from skgeom.datasets._fetch_images import fetch_mnist, fetch_svhn
from skgeom.datasets._fetch_spd import fetch_bci_iv_2a, fetch_eth80
from skgeom.datasets._fetch_tables import fetch_heart, fetch_pima, fetch_wbcd
from skgeom.datasets._gaussians import (
    fisher_rao_line_statistics,
    make_gaussian_classes,
)
from skgeom.datasets._spd import make_spd_classes, make_syn_spd
from skgeom.datasets._speed import make_speed_videos
from skgeom.datasets._toys import sqfa_scaling_toy, sqfa_toy_statistics

__all__ = [
    "fetch_bci_iv_2a",
    "fetch_eth80",
    "fetch_heart",
    "fetch_mnist",
    "fetch_pima",
    "fetch_svhn",
    "fetch_wbcd",
    "fisher_rao_line_statistics",
    "make_gaussian_classes",
    "make_spd_classes",
    "make_speed_videos",
    "make_syn_spd",
    "sqfa_scaling_toy",
    "sqfa_toy_statistics",
]
