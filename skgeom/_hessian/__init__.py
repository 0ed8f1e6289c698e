"""Projection onto eigenvectors of the data covariance and a classifier's Hessian."""
