"""Validation, array libraries, linear algebra, threads, and methods of estimators."""
