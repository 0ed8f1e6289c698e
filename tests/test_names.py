"""A public name has one meaning in all estimators."""

import inspect
import re
import runpy
from pathlib import Path

import pytest

import skgeom

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(ROOT / "tools" / "names.py")
SHARED, DESCRIPTIONS = TOOL["SHARED"], TOOL["descriptions"]()


def test_the_meaning_of_each_name_with_several_descriptions_is_stated():
    first = TOOL["first_sentence"]
    several = {
        name
        for name, texts in DESCRIPTIONS.items()
        if len({first(text) for text in texts.values()}) > 1
    }
    assert several <= SHARED.keys()
    assert all(len(DESCRIPTIONS.get(name, ())) > 1 for name in SHARED)  # none is old


@pytest.mark.parametrize("name", SHARED)
def test_descriptions_agree_with_the_meaning(name):
    words = SHARED[name][1]
    for estimator, text in DESCRIPTIONS.get(name, {}).items():
        assert re.search(words, text[:300], re.IGNORECASE), (estimator, text)


def test_the_table_is_current():
    assert TOOL["TABLE"].read_text() == TOOL["table"]()


def test_constructors_have_at_most_15_parameters():
    for name in skgeom.__all__:
        if inspect.isclass(cls := getattr(skgeom, name)):
            assert len(inspect.signature(cls).parameters) <= 15, name
