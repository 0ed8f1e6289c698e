"""The examples of the documentation give what it says they give."""

import doctest
from pathlib import Path

import pytest

DOC = Path(__file__).parents[1] / "doc"
# The pages that show what is printed, with the number of their lines of code.
PAGES = {
    "index.rst": 7,
    "user_guide/covariance_hessian.rst": 11,
    "user_guide/datasets.rst": 5,
}


@pytest.mark.parametrize("name", PAGES)
def test_page(name):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, attempted = doctest.testfile(
        str(DOC / name), module_relative=False, optionflags=flags
    )
    assert attempted >= PAGES[name]
    assert not failed
