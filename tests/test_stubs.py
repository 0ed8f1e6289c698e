"""The type stubs say what the docstrings say."""

import re
from pathlib import Path

import make_stubs
import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("module", make_stubs.MODULES)
def test_stubs_are_up_to_date(module):
    found = make_stubs.path(module).read_text(encoding="utf-8")
    assert found == make_stubs.stub(module), "run python tools/make_stubs.py"


def test_script_for_type_checkers_uses_every_estimator():
    script = (ROOT / "tests" / "user_script.py").read_text(encoding="utf-8")
    names = [
        name
        for module in ["skgeom", "skgeom.baselines"]
        for name, value in make_stubs._public(module)
        if isinstance(value, type)
    ]
    assert len(names) > 15
    assert all(re.search(rf"\b{name}\b", script) for name in names)


@pytest.mark.exhaustive
def test_mypy_accepts_what_users_write_and_finds_misspellings(tmp_path):
    api = pytest.importorskip("mypy.api")
    # Base classes of scikit-learn, which has no types, are Any.
    options = ["--strict", "--allow-subclassing-any", f"--cache-dir={tmp_path}"]
    config = f"--config-file={ROOT / 'pyproject.toml'}"
    script = str(ROOT / "tests" / "user_script.py")
    printed, _, status = api.run([config, *options, script])
    assert status == 0, printed
