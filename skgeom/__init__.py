"""Supervised dimensionality reduction and classification by geometric objectives."""

from skgeom._sqfa import SQFA, SecondMomentSQFA
from skgeom._statistics import ClassStatistics

__all__ = ["SQFA", "ClassStatistics", "SecondMomentSQFA"]
__version__ = "0.1.0.dev0"
