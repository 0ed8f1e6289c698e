"""The examples of the user guide give what it says they give."""

import doctest
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[1] / "doc" / "user_guide"


@pytest.mark.parametrize("name", ["covariance_hessian.rst"])
def test_guide(name):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, attempted = doctest.testfile(
        str(GUIDES / name), module_relative=False, optionflags=flags
    )
    assert attempted > 10
    assert not failed
