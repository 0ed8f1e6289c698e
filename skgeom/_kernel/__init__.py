"""Kernel discriminant analysis."""
