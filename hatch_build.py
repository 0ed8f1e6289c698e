"""Metadata that depend on the address of the repository in pyproject.toml."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


def absolute(text, repository, tag, documentation):
    """Return README with absolute links, for package indexes, which lack its files."""
    raw = repository.replace("github.com", "raw.githubusercontent.com")
    text = re.sub(r'(src|srcset)="(?!https:)', rf'\1="{raw}/{tag}/', text)
    text = text.replace("](../../", f"]({repository}/")  # pages that are no files
    text = re.sub(r"\]\(doc/([\w/]+)\.rst\)", rf"]({documentation}/\1.html)", text)
    return re.sub(r"\]\((?!https?:)", f"]({repository}/blob/{tag}/", text)


class Address(MetadataHookInterface):
    """Set the addresses of the project, and README as a package index shows it."""

    def update(self, metadata):
        repository = self.config["repository"]
        metadata["urls"] = {
            "Source": repository,
            "Issues": f"{repository}/issues",
            "Documentation": self.config["documentation"],
            "Changelog": f"{self.config['documentation']}/changelog.html",
        }
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(
                text,
                repository,
                f"v{metadata['version']}",
                self.config["documentation"],
            ),
        }
