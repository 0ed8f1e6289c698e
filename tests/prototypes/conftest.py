"""Covariances of signals, the samples of the tests of prototypes."""

import pytest


@pytest.fixture(scope="session")
def spd(make_signals):
    """Covariances of 4 x 4, 20 of each of 3 classes, and the classes."""
    return make_signals()
