"""Class labels of the generators."""

import numpy as np


def balanced_labels(n_classes, n_per_class, shuffle, rng):
    """Labels 0, 1, ..., each ``n_per_class`` times, sorted or in random order."""
    y = np.repeat(np.arange(n_classes), n_per_class)
    if shuffle:
        rng.shuffle(y)
    return y
