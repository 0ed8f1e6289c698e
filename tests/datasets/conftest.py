"""An environment without data."""

import pytest


@pytest.fixture
def empty(monkeypatch, tmp_path):
    """No folder SKGEOM_DATA, and an empty data folder of scikit-learn."""
    monkeypatch.delenv("SKGEOM_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    (tmp_path / "home" / "skgeom").mkdir(parents=True)
    return tmp_path
