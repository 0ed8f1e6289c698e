"""Samples of the tests of kernels, and folds of few samples."""

import pytest

from skgeom import _held_out


@pytest.fixture(scope="session")
def digits(digits):
    X, y = digits
    return X[:500] / 16, y[:500]


@pytest.fixture
def one_partition(monkeypatch):
    """Few samples are divided into folds once, not five times, which takes as long."""
    monkeypatch.setattr(_held_out, "_MOST_PARTITIONS", 1)
