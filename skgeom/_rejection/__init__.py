"""Classifiers that may reject samples."""
