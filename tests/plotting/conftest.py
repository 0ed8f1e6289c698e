"""Displays are drawn without a screen, and their figures closed."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def close_figures():
    plt.switch_backend("agg")
    plt.close("all")  # of other tests, which run in any order
    yield
    plt.close("all")
