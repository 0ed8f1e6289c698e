"""Covariance and Hessian of a trained classifier."""
