"""Validation of matrices, and what depends on the version of scikit-learn."""
