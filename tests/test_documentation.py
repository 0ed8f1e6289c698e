"""Structure, length and vocabulary of the documentation."""

import re
from pathlib import Path

import pytest

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
    r"|recentring|softness|borders?|(is|are) refused|per cent|right in|too sure)\b"
)
FOLDERS = [ROOT / "doc", ROOT / "doc/user_guide", ROOT / "doc/results"]
PAGES = [
    ROOT / "README.md",
    *(page for f in FOLDERS for page in f.glob("*.[ri][sn][tc]")),
]


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
