"""The results of ``golden.json``, on this platform. ``tools/golden.py`` renews them."""

import json
from pathlib import Path

import golden
import pytest
from numpy.testing import assert_allclose

ROOT = Path(__file__).parents[1]

# (relative, absolute) by kind, the first word of a name.
TOLERANCES = {
    # By factorisations alone, of matrices of condition numbers below 1e3.
    "closed": (1e-9, 1e-9),
    # Searches end where a step gains 1e-6 of the value or less. Rounding decides where
    # exactly, but the value is flat there.
    "objective": (1e-5, 1e-7),
    # The same tolerance, but the way is long, and different paths end on its slopes.
    "posterior": (1e-3, 0),
    # Where the value is flat to 1e-6, filters are known to a thousandth of a radian.
    "angles": (0, 0.1),
    # Sums over the same directions on all platforms.
    "probability": (1e-8, 1e-12),
    # A sample next to a boundary may go either way.
    "errors": (0, 1),
}


EXPECTED = json.loads((ROOT / "tests" / "golden.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found():
    return golden.results()


def test_the_same_results_are_computed(found):
    assert list(found) == list(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_result(name, found):
    rtol, atol = TOLERANCES[name.split(",")[0]]
    assert_allclose(found[name], EXPECTED[name], rtol=rtol, atol=atol)
