"""Makers of random matrices and distributions, by kind."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(2025)


@pytest.fixture
def make_spd(rng):
    """Make SPD matrices, (*lead, n, n), of at most a given condition number.

    Their eigenvalues are log-uniform, and 1 is the centre of their range.
    """

    def make(lead, n, condition=10.0):
        vectors, _ = np.linalg.qr(rng.normal(size=(*lead, n, n)))
        eigenvalues = condition ** rng.uniform(-0.5, 0.5, size=(*lead, 1, n))
        matrices = (vectors * eigenvalues) @ vectors.mT
        return (matrices + matrices.mT) / 2

    return make


@pytest.fixture
def make_symmetric(rng):
    """Make symmetric, mostly indefinite matrices with entries of order 1."""

    def make(lead, n):
        matrices = rng.normal(size=(*lead, n, n))
        return (matrices + matrices.mT) / 2

    return make


@pytest.fixture
def make_gaussians(rng, make_spd):
    """Make means, (*lead, n), and covariances, (*lead, n, n)."""

    def make(lead, n, condition=10.0):
        return rng.normal(size=(*lead, n)), make_spd(lead, n, condition)

    return make
