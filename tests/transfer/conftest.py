"""Covariances of signals of people with sensors of their own."""

import numpy as np
import pytest


@pytest.fixture
def make_signals():
    """Make covariances of signals, one channel louder in each class."""

    def make(seed=0, per_class=20, size=4, n_classes=3):
        rng = np.random.default_rng(seed)
        y = np.repeat(np.arange(n_classes), per_class)
        data = rng.normal(size=(len(y), size, 30))
        data[np.arange(len(y)), y] *= 1.7
        return data @ data.mT / 30, y

    return make
