"""Data sets: generators, in scikit-learn's manner."""

from skgeom.datasets._gaussians import (
    fisher_rao_line_statistics,
    make_gaussian_classes,
)
from skgeom.datasets._spd import make_spd_classes, make_syn_spd
from skgeom.datasets._speed import make_speed_videos
from skgeom.datasets._toys import sqfa_scaling_toy, sqfa_toy_statistics

__all__ = [
    "fisher_rao_line_statistics",
    "make_gaussian_classes",
    "make_spd_classes",
    "make_speed_videos",
    "make_syn_spd",
    "sqfa_scaling_toy",
    "sqfa_toy_statistics",
]
