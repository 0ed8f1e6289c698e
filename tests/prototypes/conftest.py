"""Covariances of signals, the samples of the tests of prototypes."""

import numpy as np
import pytest


def signals(seed=0, per_class=20, size=4, n_classes=3):
    """Covariances of signals, one channel louder in each class."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    data = rng.normal(size=(len(y), size, 30))
    data[np.arange(len(y)), y] *= 1.7
    mixing = rng.normal(size=(size, size))
    data = mixing @ data
    return data @ data.mT / 30, y


@pytest.fixture
def make_signals():
    """Make covariances of signals, one channel louder in each class."""
    return signals


@pytest.fixture(scope="session")
def spd():
    """Covariances of 4 x 4, 20 of each of 3 classes, and the classes."""
    return signals()
