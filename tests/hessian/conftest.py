"""Samples of two or four classes."""

import numpy as np
import pytest


@pytest.fixture(params=[2, 4], ids=["binary", "multi-class"])
def data(request, rng):
    y = np.arange(60) % request.param
    means = rng.normal(size=(request.param, 6))
    return rng.normal(size=(60, 6)) * np.arange(1, 7) / 3 + means[y], y
