#!/usr/bin/env bash
# Fail unless the address is chosen, the tag is the version, and the changelog has its section.
set -euo pipefail
if grep -nE "[/@]OWNER" pyproject.toml CITATION.cff .github/conda/recipe.yaml; then
    echo "The address of the repository is not chosen: see CONTRIBUTING.md, Release" >&2
    exit 1
fi
version=${GITHUB_REF_NAME#v}
grep -qxF "__version__ = \"$version\"" skgeom/_version.py
grep -qE "^${version//./\\.} \([0-9]{4}-" doc/changelog.rst
