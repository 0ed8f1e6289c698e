"""Write the address and the latest release to CITATION.cff and the conda recipe.

    python tools/write_address.py

pyproject.toml contains the address, and the latest dated heading of the changelog
contains the version and the date. A test checks that the files agree.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def written():
    """Return the text of each file, by its path, with the current values."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        tools = tomllib.load(file)["tool"]
    address = tools["hatch"]["metadata"]["hooks"]["custom"]
    changelog = (ROOT / "doc" / "changelog.rst").read_text(encoding="utf-8")
    heading = r"^(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$"
    version, date = re.search(heading, changelog, flags=re.M).groups()
    values = {
        "CITATION.cff": {
            "repository-code": address["repository"],
            "url": address["documentation"],
            "version": version,
            "date-released": date,
        },
        ".github/conda/recipe.yaml": {
            "  version": version,
            "  homepage": address["documentation"],
            "  repository": address["repository"],
            "  documentation": address["documentation"],
        },
    }
    texts = {}
    for name, fields in values.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        for field, value in fields.items():
            pattern = rf'^{field}: "[^"$]*"$'
            text, count = re.subn(pattern, f'{field}: "{value}"', text, flags=re.M)
            if count != 1:
                raise ValueError(f"{name} needs one line '{field.strip()}: \"...\"'")
        texts[ROOT / name] = text
    return texts


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
