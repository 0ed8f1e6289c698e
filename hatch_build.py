"""README.md for package indexes: relative links and pictures become whole addresses.

The addresses of the project in pyproject.toml are the only setting. Pages of ``doc``
lead to the documentation, other files to the repository.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


def with_addresses(text, source, documentation):
    """The text of README.md with absolute links and pictures."""
    raw = source.replace("//github.com/", "//raw.githubusercontent.com/")
    text = re.sub(
        r"\]\(doc/([^)]+)\.rst\)", rf"]({documentation}/stable/\1.html)", text
    )
    text = re.sub(r"\]\((?:\.\./){2}(actions[^)]+)\)", rf"]({source}/\1)", text)
    text = re.sub(r'(src|srcset)="(?!https?:)', rf'\1="{raw}/main/', text)
    return re.sub(r"\]\((?!https?:)([^)]+)\)", rf"]({source}/blob/main/\1)", text)


class ReadmeHook(MetadataHookInterface):
    def update(self, metadata):
        urls = metadata["urls"]
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = with_addresses(text, urls["Source"], urls["Documentation"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
