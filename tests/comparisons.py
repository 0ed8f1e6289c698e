"""Comparisons, samples and marks that tests of several topics share."""

import os
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom import GMLVQ, RSLVQ
from skgeom.datasets._files import local_file
from skgeom.utils.array_api import to_numpy


def assert_same_statistics(found, expected, rtol=1e-12):
    """Check classes, counts and moments, whatever their array library."""
    assert_array_equal(found.classes, expected.classes)
    assert_allclose(found.counts, expected.counts, rtol=1e-14)
    for name in ("means", "covariances", "second_moments"):
        values, wanted = (to_numpy(getattr(s, name)) for s in (found, expected))
        assert_allclose(values, wanted, rtol=0, atol=rtol * np.abs(wanted).max())


def needs(name):
    """Skip tests without a file in the folder SKGEOM_DATA."""
    reason = f"{name} is not in SKGEOM_DATA"
    return pytest.mark.skipif(local_file(name) is None, reason=reason)


def trials_of(subject):
    """Covariances and movements of BCI competition IV, 2a; which of the second day."""
    with np.load(local_file("bci_iv_2a_s1_to_s4.npz")) as file:
        return [file[f"{name}_{subject}"] for name in ("cov", "y", "test")]


def all_pairs(distance, *parameters, **options):
    """Table of the distances from each element to each."""
    first = [array[:, None] for array in parameters]
    second = [array[None] for array in parameters]
    return distance(*first, *second, **options)


def peak_memory(call):
    """The most memory, in bytes, that a call has allocated at a time."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def trap(folder):
    """An object that makes a folder when it is unpickled."""
    return type("Trap", (), {"__reduce__": lambda self: (os.mkdir, (str(folder),))})()


def samples_of(estimator, X):
    """SPD matrices, or their entries for the prototype estimators of vectors."""
    if isinstance(estimator, RSLVQ | GMLVQ):
        return X[:, *np.triu_indices(X.shape[1])]
    return X
