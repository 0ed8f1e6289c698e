"""Every public name is used on a page of the gallery, to which its reference links."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from test_public_api import public_objects

EXAMPLES = Path(__file__).parents[1] / "examples"
PUBLIC = dict(public_objects())
# What the gallery only names in its text, and why the code does not use it.
ONLY_NAMED = {
    # Most estimators accept complex matrices.
    "skgeom.geometry.real_embedding",
    # Users get these from a function or a fit, and do not make them.
    "skgeom.Calibration",
    "skgeom.ProjectionConditions",
    "skgeom.Selection",
    "skgeom.SeparationGrid",
    "skgeom.optim.MinimizeResult",
}
LINK = re.compile(r":(?:func|class):`~?(skgeom\.[\w.]+)`")


def names_used(source):
    """Dotted names of skgeom that the code of a page imports and uses."""
    tree = ast.parse(source)
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skgeom")
        for alias in node.names
    }
    loaded = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {imported[name] for name in loaded if name in imported}


@pytest.fixture(scope="module")
def pages():
    return [path.read_text(encoding="utf-8") for path in EXAMPLES.rglob("plot_*.py")]


def test_every_public_name_is_used(pages):
    used = set().union(*map(names_used, pages))
    assert set(PUBLIC) - used == ONLY_NAMED


def test_other_public_names_are_linked(pages):
    linked = set().union(*map(LINK.findall, pages))
    assert ONLY_NAMED <= linked
    assert linked <= {*PUBLIC, *methods()}


def methods():
    """Dotted names of the attributes of public classes."""
    for name, obj in PUBLIC.items():
        if inspect.isclass(obj):
            yield from (f"{name}.{member}" for member in dir(obj))


def test_each_figure_has_a_describing_text(pages):
    for page in pages:
        shown = re.findall(r"^(?:plt\.show|figure\.savefig)\(", page, re.MULTILINE)
        texts = re.findall(r'^# sphinx_gallery_alt = "(.{25,})"$', page, re.MULTILINE)
        assert len(texts) == len(shown), page[:80]
