"""Displays, in the manner of those of scikit-learn. They need matplotlib."""

from skgeom.plotting._rejection import AccuracyRejectionDisplay

__all__ = ["AccuracyRejectionDisplay"]
