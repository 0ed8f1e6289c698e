"""The code of the documentation runs as it is pasted, and gives what is printed."""

import ast
import doctest
import re
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import skgeom
from skgeom.datasets._files import local_file
from skgeom.utils._sklearn import ARRAY_API

DOC = Path(__file__).parents[1] / "doc"
# Pages whose code takes seconds
SLOW = {"index.rst", "installation.rst"}
SLOW |= {f"user_guide/{name}.rst" for name in ("baselines", "large_data", "plotting")}
DIRECTIVE = ".. code-block:: python\n"
BLOCK = re.compile(
    r"^( *)\.\. code-block:: python\n\n((?:\1   .*\n|\n)+)", re.MULTILINE
)


def blocks_of(page):
    """The blocks of code of a page, and the lines that they begin in."""
    text = page.read_text()
    for found in BLOCK.finditer(text):
        yield text[: found.start()].count("\n") + 3, textwrap.dedent(found[2])


def pages_with(text):
    """Names of the pages that contain some text."""
    pages = sorted(DOC.glob("**/*.rst"))
    return [
        page.relative_to(DOC).as_posix() for page in pages if text in page.read_text()
    ]


@pytest.fixture(autouse=True)
def no_figures_are_shown():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.exhaustive if name in SLOW else ())
        for name in pages_with(">>> ")
    ],
)
def test_page(name):
    if name == "index.rst" and local_file("mnist.npz") is None:
        pytest.skip("mnist.npz is not in SKGEOM_DATA")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, attempted = doctest.testfile(
        str(DOC / name), module_relative=False, optionflags=flags
    )
    assert attempted == len(re.findall(r">>> (?!#)", (DOC / name).read_text()))
    assert not failed


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", pages_with(DIRECTIVE))
def test_script(name, capsys):
    """The blocks of a page run one after the other in a fresh namespace."""
    if name == "user_guide/devices.rst":
        pytest.importorskip("torch")
        if not ARRAY_API:
            pytest.skip("Arrays of other libraries need scikit-learn 1.9.")
    blocks = list(blocks_of(DOC / name))
    assert len(blocks) == (DOC / name).read_text().count(DIRECTIVE)
    namespace = {}
    for line, block in blocks:
        for package in re.findall(r"(?:import|from) (torch|moabb)", block):
            pytest.importorskip(package)
        exec(compile("\n" * (line - 1) + block, name, "exec"), namespace)
    said = re.search(r"^This prints (.*?)\.\s", (DOC / name).read_text(), re.M | re.S)
    if said:
        decimals = r"\d\.\d+"
        printed = re.findall(decimals, capsys.readouterr().out)
        wanted = [float(number) for number in re.findall(decimals, said[1])]
        # Searches differ between processors, so the last digit may by rounding.
        np.testing.assert_allclose(
            [float(number) for number in printed[-len(wanted) :]], wanted, atol=6e-4
        )


def strings_of(tree):
    """All texts of a module, with dots in place of what is filled in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            texts = [
                v.value if isinstance(v, ast.Constant) else "…" for v in node.values
            ]
            yield "".join(texts)


def test_titles_of_the_faq_are_parts_of_messages():
    faq = (DOC / "faq.rst").read_text()
    titles = re.findall(r"^(.+)\n~+\n", faq, re.MULTILINE)
    assert len(titles) >= 14
    addresses = re.findall(r"^\.\. _faq-\w+:\n\n(.+)\n~+\n", faq, re.MULTILINE)
    assert addresses == titles
    package = Path(skgeom.__file__).parent
    texts = [
        text
        for module in package.glob("**/*.py")
        for text in strings_of(ast.parse(module.read_text()))
    ]
    with pytest.raises(ValueError, match="NaN") as caught:
        skgeom.SQFA().fit([[np.nan]] * 4, [0, 0, 1, 1])
    texts.append(str(caught.value))
    for title in titles:
        pattern = re.escape(title).replace("…", ".*")
        assert any(re.search(pattern, text) for text in texts), title
