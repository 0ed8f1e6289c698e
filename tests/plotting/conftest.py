"""Displays are drawn without a screen, and their figures closed."""

import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import load_iris


@pytest.fixture(autouse=True)
def close_figures():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)
