"""Displays are drawn without a screen, and their figures closed."""

import matplotlib.pyplot as plt
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def close_figures():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture
def colours_of():
    """The colours of a rendered figure, (n, 3), and the number of pixels of each."""

    def colours_of(figure, dpi=100):
        figure.set_dpi(dpi)
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].reshape(-1, 3)
        return np.unique(pixels, axis=0, return_counts=True)

    return colours_of
