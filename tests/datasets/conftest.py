"""A machine with no data."""

import pytest

from skgeom.datasets import _files


@pytest.fixture
def empty(monkeypatch, tmp_path):
    """A machine with no data."""
    monkeypatch.delenv("SKGEOM_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setattr(_files, "_DELAY", 0)
    return tmp_path
