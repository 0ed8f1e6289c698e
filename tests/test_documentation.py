"""Structure, length and vocabulary of the documentation."""

import ast
import csv
import inspect
import re
from pathlib import Path

import pandas as pd
import pytest

import skgeom
from benchmarks import bench_constants
from benchmarks.bench_constants import ELSEWHERE

ROOT = Path(__file__).parents[1]
GUIDES = sorted(
    set(ROOT.glob("doc/user_guide/*.rst")) - {ROOT / "doc/user_guide/index.rst"}
)
SECTIONS = [
    "When to use it",
    "Quick use",
    "How it works",
    "Parameters that matter",
    "Pitfalls",
    "References",
]
# Words that have a standard term: equal, compared with, baselines, account for, ...
FORBIDDEN = (
    r"(?<!-)\b(alike|beside|comparators?|heed|honest|left out|made data|mended|modest"
    r"|recentring|softness|borders?|(is|are) refused|per cent|right in|too sure|learnt"
    r"|of (a|an)other|made of them|gets right|carr(y|ies) (it )?over|comes? out)\b"
)
EXAMPLES = sorted(ROOT.glob("examples/*/plot_*.py"))
FOLDERS = [ROOT / "doc", ROOT / "doc/user_guide", ROOT / "doc/results"]
PAGES = [
    ROOT / "README.md",
    *(page for f in FOLDERS for page in f.glob("*.[ri][sn][tc]")),
    *(page for page in EXAMPLES if page.parent.name != "scale"),
]
RESULTS = ROOT / "doc/results"
LABELS = {
    label: page
    for page in RESULTS.glob("*.rst")
    for label in re.findall(r"^\.\. _(\w+):$", page.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_guide_has_all_sections_and_at_most_1500_words(page):
    text = page.read_text()
    titles = re.findall(r"(?<!=\n)^(.+)\n=+$", text, re.MULTILINE)
    assert titles == SECTIONS
    assert len(text.split()) <= 1500
    for directive in ["math", "list-table", "(figure|image|plot)"]:
        assert re.search(rf"\.\. {directive}::", text), directive


def test_all_guides_have_at_most_18000_words():
    assert sum(len(page.read_text().split()) for page in GUIDES) <= 18_000


def test_documentation_uses_standard_terms():
    found = []
    for page in PAGES:
        text = " ".join(page.read_text().split())
        for match in re.finditer(FORBIDDEN, text, re.IGNORECASE):
            context = text[max(match.start() - 40, 0) : match.end() + 40]
            found.append(f"{page.relative_to(ROOT)}: {context}")
    assert not found, "\n".join(found)


def stored_numbers(page):
    """Numbers of a page of results and of the tables that it includes."""
    text = page.read_text()
    if page.suffix == ".rst":
        files = re.findall(r":file: (\S+)|include:: (\S+)", text)
        text += "".join((page.parent / (a or b)).read_text() for a, b in files)
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", text)]


def rows_of_results():
    """Rows of README.md and index.rst, and the page of results to which each links."""
    for line in (ROOT / "README.md").read_text().splitlines():
        if line.startswith("| ["):
            link = re.search(r"\]\((doc/results/\w+\.rst)\)", line)
            yield line, ROOT / link[1]
    index = (ROOT / "doc/index.rst").read_text()
    table = index.split("   * - Task")[1].split("\n\n:ref:")[0]
    for row in table.split("   * - ")[1:]:
        yield row, LABELS[re.search(r":ref:`(\w+)`", row)[1]]


def test_numbers_of_readme_and_landing_page_are_stored_results():
    rows = list(rows_of_results())
    assert len(rows) >= 8
    for row, page in rows:
        stored = stored_numbers(page)
        found = re.findall(r"(\d+\.\d+) (%|s\b)", row)
        assert found, row
        for number, unit in found:
            digits = len(number.split(".")[1])
            known = {round(value, digits) for value in stored}
            if unit == "%":  # tables of the papers have fractions
                known |= {round(100 * value, digits) for value in stored}
            assert float(number) in known, f"{number} {unit}, {page.name}: {row}"


def test_pages_of_public_names_link_to_a_guide():
    """And the table of names has no citations, whose references it lacks."""
    tree = ast.parse((ROOT / "doc/conf.py").read_text())
    assigned = {
        ast.unparse(n.targets[0]): n for n in tree.body if hasattr(n, "targets")
    }
    guides = ast.literal_eval(assigned["GUIDES"].value)
    modules = {name.removeprefix("skgeom.") for name in guides}
    assert set(skgeom.__all__) <= modules
    for guide in set(guides.values()):
        pages = (ROOT / "doc/user_guide").glob("*.rst")
        assert any(f".. _{guide}:" in page.read_text() for page in pages), guide
    assert "]_" not in (ROOT / "doc/names.csv").read_text()


def test_accuracies_of_the_first_example_are_stored_results():
    table = (RESULTS / "first_example.csv").read_text().replace(" %", "%")
    stored = set(re.findall(r"\d+\.\d%", table))
    readme = (ROOT / "README.md").read_text()
    readme = readme.split("## Quick start")[1].split("## Comparison")[0]
    index = (ROOT / "doc/index.rst").read_text()
    index = index.split(".. code-block:: pycon")[1].split("Tutorials by type")[0]
    quoted = re.findall(r"\d+\.\d ?%", readme + index)
    assert len(quoted) >= 7
    assert {number.replace(" ", "") for number in quoted} <= stored


def test_study_of_distances_supports_the_default():
    rows = pd.read_csv(RESULTS / "distances.csv").groupby(["group", "filters"])
    ranks = pd.read_csv(RESULTS / "distances_ranks.csv", index_col=[0, 1, 2])
    for key, part in rows:
        gains = part.iloc[:, 3:].sub(part["fisher-rao"], axis=0)
        assert abs(ranks.loc[key]["difference"] - gains.mean()).max() < 0.06
        assert abs(ranks.loc[key]["standard error"] - gains.sem()).max() < 0.06
        assert gains["hellinger"].mean() <= 2 * gains["hellinger"].sem()
        assert gains.drop(columns="hellinger").mean().max() <= 0


def test_table_of_priors_and_class_weights_lists_the_defaults():
    text = (ROOT / "doc/user_guide/tabular.rst").read_text()
    table = text.split(".. csv-table:: Defaults of priors")[1].split("Pitfalls")[0]
    names = ["priors", "class_weight"]
    listed = {}
    rows = table.split("\n\n")[1].splitlines()
    for row in csv.reader(rows, skipinitialspace=True):
        defaults = {k: v.strip('`"') for k, v in zip(names, row[1:3], strict=True) if v}
        listed |= dict.fromkeys(re.findall(r":class:`(\w+)`", row[0]), defaults)
    expected = {}
    for name in skgeom.__all__:
        if inspect.isclass(getattr(skgeom, name)):
            known = inspect.signature(getattr(skgeom, name)).parameters
            expected[name] = {k: str(known[k].default) for k in names if k in known}
    assert listed == {k: v for k, v in expected.items() if v}


def constants_that_refer_to_their_page():
    """Names that are assigned directly after a comment with a reference to the page."""
    for path in ROOT.glob("skgeom/**/*.py"):
        comment, names = "", set()
        for line in [*path.read_text().splitlines(), ""]:
            assigned = re.match(r"([A-Z_, ]+) \+?= ", line)
            if assigned and comment:
                names |= set(assigned[1].split(", "))
            elif line.startswith("#") and not names:
                comment += line.removeprefix("#")
            else:
                if 'page "Constants"' in comment:
                    yield path.stem, names
                comment, names = line.removeprefix("#") * line.startswith("#"), set()


def test_page_of_constants_shows_the_values_of_the_package():
    tables = [pd.read_csv(RESULTS / f"constants{x}.csv") for x in ("", "_elsewhere")]
    stored = pd.concat(tables)[["constant", "value"]].dropna()
    stored = [(c.strip("`"), v.strip("*")) for c, v in stored.itertuples(index=False)]
    assert stored == [
        (name, bench_constants.label(bench_constants.value_of(name)))
        for name in [*(case[0] for case in bench_constants.CASES), *ELSEWHERE]
    ]
    listed = {name.rsplit(".", 1)[1] for name, _ in stored}
    references = list(constants_that_refer_to_their_page())
    assert len(references) > 40
    assert [(file, names) for file, names in references if not names & listed] == []
