"""Write the list of versions and the first page of the documentation.

    python tools/list_versions.py FOLDER URL

FOLDER contains one folder of pages for each version, "dev" for the unreleased version,
and "stable" for a copy of the newest release. URL is the address of the published
pages.
"""

import json
import sys
from pathlib import Path


def main(folder, url):
    folder = Path(folder)
    names = [page.parent.name for page in folder.glob("*/index.html")]
    releases = [name for name in names if name not in ("dev", "stable")]
    releases.sort(
        key=lambda name: [int(part) for part in name.split(".")], reverse=True
    )
    versions = [
        {"name": name, "version": name, "url": f"{url}/{name}/"}
        for name in ["dev", *releases]
    ]
    if releases:
        versions[1] |= {"name": f"{releases[0]} (stable)", "preferred": True}
    (folder / "switcher.json").write_text(json.dumps(versions, indent=2))
    first = "stable" if "stable" in names else "dev"
    (folder / "index.html").write_text(
        f'<meta http-equiv="refresh" content="0; url={first}/">\n'
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
