"""Geometry of arrays of other libraries: the same results, of the same library."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom import geometry
from skgeom.utils.array_api import to_numpy

ARGUMENTS = {
    "calvo_oller_embedding": ("mean", "spd"),
    "distance_affine_invariant": ("spd", "spd"),
    "distance_calvo_oller": ("mean", "spd", "mean", "spd"),
    "distance_fisher_rao": ("mean", "spd", "mean", "spd"),
    "distance_fisher_rao_diagonal": ("mean", "variances", "mean", "variances"),
    "distance_fisher_rao_equal_covariance": ("mean", "mean", "spd"),
    "expm": ("spd",),
    "generalized_eigenvalues": ("spd", "spd"),
    "invsqrtm": ("spd",),
    "logm": ("spd",),
    "mean_affine_invariant": ("spd",),
    "real_embedding": ("spd",),
    "sqrtm": ("spd",),
    "whiten": ("spd", "spd"),
}

# Those that return distances, which have a gradient but for the one found by a search.
DISTANCES = [n for n in ARGUMENTS if n[:8] == "distance" and n[-3:] != "rao"]


@pytest.fixture
def make_arguments(rng, make_spd):
    def make(name, lead=(5,), n=3):
        makers = {
            "mean": lambda: rng.normal(size=(*lead, n)),
            "spd": lambda: make_spd(lead, n),
            "variances": lambda: rng.uniform(0.5, 2, size=(*lead, n)),
        }
        return [makers[kind]() for kind in ARGUMENTS[name]]

    return make


@pytest.mark.parametrize("name", ARGUMENTS)
def test_results_are_those_of_numpy_where_the_arrays_are(name, library, make_arguments):
    arguments = make_arguments(name)
    function = getattr(geometry, name)
    # What the library rounds to single precision is rounded for numpy as well.
    rounded = [array.astype(library.dtype) for array in arguments]
    expected = function(*rounded)
    found = function(*map(library.array, rounded))
    assert library.is_mine(found)
    assert found.dtype == getattr(library.xp, library.dtype)
    assert_allclose(to_numpy(found), expected, rtol=library.tolerance, atol=1e-7)


@pytest.mark.parametrize("name", DISTANCES)
def test_distances_have_the_gradients_of_torch(name, make_arguments):
    torch = pytest.importorskip("torch")
    arguments = make_arguments(name, lead=())
    tensors = [torch.tensor(array, requires_grad=True) for array in arguments]
    distance = getattr(geometry, name)
    distance(*tensors).backward()
    rng = np.random.default_rng(0)
    for i, array in enumerate(arguments):
        step = rng.normal(size=array.shape)
        if step.ndim == 2:
            step = step + step.T
        there, back = ([*arguments] for _ in range(2))
        there[i], back[i] = array + 1e-6 * step, array - 1e-6 * step
        slope = (distance(*there) - distance(*back)) / 2e-6
        found = (tensors[i].grad.numpy() * step).sum()
        assert_allclose(found, slope, rtol=1e-6, atol=1e-8)
