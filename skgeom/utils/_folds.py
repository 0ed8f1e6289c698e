"""Folds of samples that do not depend on the order of these."""

import numpy as np

# Copies of a sample have relative distances that agree to so many digits.
_DIGITS = 9


def turns(y, distances, scale):
    """Samples of a class take turns in the order of their distances from its centre.

    The turn modulo the number of folds is a fold: folds are then alike, whatever the
    order of samples is, and copies of a sample are in the same one.

    Parameters
    ----------
    y : ndarray of int, shape (N,)
        The class of each sample.
    distances : ndarray of shape (N, k)
        Distances of samples from the centre of their class, and then from all centres,
        which tell equally distant samples from copies.
    scale : float
        The size of distances.

    Returns
    -------
    ndarray of int, shape (N,)
        How many samples of the class come before, copies counted once.
    """
    distances = np.round(distances / scale, _DIGITS)
    found = np.empty(len(y), dtype=int)
    for label in np.unique(y):
        own = y == label
        _, order = np.unique(distances[own], axis=0, return_inverse=True)
        found[own] = order.ravel()  # numpy 2.0 gives it the shape of a column
    return found
