"""Samples of the tests of kernels."""

import pytest


@pytest.fixture(scope="session")
def digits(digits):
    X, y = digits
    return X[:500] / 16, y[:500]
