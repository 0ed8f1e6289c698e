"""Samples of the tests of kernels."""

import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500] / 16, y[:500]
