"""Seeds and invalid arguments of all generators."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgeom import datasets

STATISTICS = datasets.sqfa_toy_statistics("means")
# Each generator with cheap arguments.
GENERATORS = {
    "make_gaussian_classes": {"statistics": STATISTICS, "n_per_class": 5},
    "make_spd_classes": {"n_per_class": 5},
    "make_speed_videos": {"speeds": [-3.0, 3.0], "n_per_speed": 5},
    "make_syn_spd": {"n_per_class": 5},
}


def arrays(result):
    """All arrays in a result, in one list."""
    if isinstance(result, dict):
        return [a for key in sorted(result) for a in arrays(result[key])]
    if isinstance(result, tuple):
        return [a for part in result for a in arrays(part)]
    return [result] if isinstance(result, np.ndarray) else []


@pytest.mark.parametrize("name", GENERATORS)
def test_same_seed_same_data(name):
    generate = getattr(datasets, name)

    def with_seed(seed):
        return arrays(generate(**GENERATORS[name], random_state=seed))

    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = with_seed(3), with_seed(np.random.RandomState(3))
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert first
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a, b)
    pairs = zip(first, with_seed(4), strict=True)
    assert any(not np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("make_gaussian_classes", {"statistics": np.eye(2)}),
        ("make_gaussian_classes", {"n_per_class": 2.5}),
        ("make_gaussian_classes", {"shuffle": "yes"}),
        ("make_spd_classes", {"n_classes": 0}),
        ("make_spd_classes", {"dispersion": np.nan}),
        ("make_spd_classes", {"separation": -1.0}),
        ("make_syn_spd", {"name": "SynIII"}),
        ("make_syn_spd", {"eigenvalue_noise": 0.2}),
        ("make_syn_spd", {"eigenvector_noise": -0.1}),
        ("sqfa_toy_statistics", {"name": "toy"}),
    ],
)
def test_invalid_argument_is_named(name, arguments):
    valid = GENERATORS.get(name, {})
    (bad,) = arguments
    with pytest.raises((ValueError, TypeError), match=f"'{bad}' parameter"):
        getattr(datasets, name)(**{**valid, **arguments})
