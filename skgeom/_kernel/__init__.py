"""Kernel discriminant analysis and kernel principal components."""
