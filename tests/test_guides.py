"""The examples of the documentation give what it says they give."""

import doctest
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

DOC = Path(__file__).parents[1] / "doc"
# The pages that show what is printed, with the number of their lines of code.
PAGES = {
    "index.rst": 6,
    "user_guide/comparators.rst": 14,
    "user_guide/covariance_hessian.rst": 11,
    "user_guide/datasets.rst": 17,
    "user_guide/large_data.rst": 21,
    "user_guide/plotting.rst": 33,
}


@pytest.fixture(autouse=True)
def no_figures_are_shown():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("name", PAGES)
def test_page(name):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, attempted = doctest.testfile(
        str(DOC / name), module_relative=False, optionflags=flags
    )
    assert attempted >= PAGES[name]
    assert not failed
