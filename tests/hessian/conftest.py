"""Samples of two or four classes, and the comparison of Hessians."""

import numpy as np
import pytest


@pytest.fixture(params=[2, 4], ids=["binary", "multi-class"])
def data(request, rng):
    y = np.arange(60) % request.param
    means = rng.normal(size=(request.param, 6))
    return rng.normal(size=(60, 6)) * np.arange(1, 7) / 3 + means[y], y


@pytest.fixture(scope="session")
def assert_close():
    """Compare matrices relative to the largest entry."""

    def compare(actual, expected, tolerance=1e-6):
        size = np.abs(expected).max()
        assert size > 0
        scaled, expected = actual / size, expected / size
        np.testing.assert_allclose(scaled, expected, rtol=0, atol=tolerance)

    return compare
