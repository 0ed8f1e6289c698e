"""Fetchers where nothing can be kept, and files that are not what they should be."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgeom import datasets
from skgeom.datasets import _fetch_tables, _files, _openml

# The fetchers that download, and their first files.
FILES = {
    "fetch_mnist": "mnist.npz",
    "fetch_svhn": "train_32x32.mat",
    "fetch_heart": "processed.cleveland.data",
    "fetch_pima": "pima_diabetes.csv",
}


@pytest.mark.parametrize("name", FILES)
def test_home_that_is_no_folder(empty, name):
    """It does not matter if nothing is to be kept there, and is named otherwise."""
    (empty / "home").write_text("")
    fetch = getattr(datasets, name)
    with pytest.raises(OSError, match="and download_if_missing is False") as caught:
        fetch(download_if_missing=False)
    assert FILES[name] in str(caught.value)
    match = r"home/skgeom, where .* be kept.* Give data_home"
    with pytest.raises(OSError, match=match) as caught:
        fetch()
    assert FILES[name] in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_made_if_nothing_is_downloaded(empty, name):
    with pytest.raises(OSError):
        getattr(datasets, name)(download_if_missing=False)
    assert list(empty.iterdir()) == []


@pytest.fixture
def pima(monkeypatch):
    """Few numbers in the place of those of the data set."""
    X, y = np.arange(40.0).reshape(5, 8), np.array([0, 1, 0, 1, 1])
    digest = _files.array_digest(np.column_stack([X, y]))
    monkeypatch.setattr(_fetch_tables, "_PIMA_SHA256", digest)
    return X, y


def test_local_file_needs_no_home(empty, monkeypatch, pima):
    monkeypatch.setenv("SKGEOM_DATA", str(empty))
    (empty / "home").write_text("")
    rows = np.column_stack(pima)
    np.savetxt(empty / "pima_diabetes.csv", rows, delimiter=",", header="header")
    assert_array_equal(datasets.fetch_pima().data, pima[0])


def test_data_that_cannot_be_kept_are_returned(empty, monkeypatch, pima):
    X, y = pima
    answer = X, np.array(["tested_negative", "tested_positive"])[y]
    monkeypatch.setattr(_openml, "fetch_openml", lambda **kwargs: answer)

    def disk_is_full(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", disk_is_full)
    with pytest.warns(
        UserWarning, match=r"pima_diabetes.npz could not .*no space left"
    ):
        table = datasets.fetch_pima()
    assert_array_equal(table.data, X)
    assert list((empty / "home" / "skgeom").iterdir()) == []


@pytest.mark.parametrize("content", ["", "header\n", "\x80\n1,2", "\0\n1", "a,b\n1,2"])
def test_unreadable_table_is_named(empty, monkeypatch, content):
    monkeypatch.setenv("SKGEOM_DATA", str(empty))
    (empty / "pima_diabetes.csv").write_text(content, encoding="latin-1")
    with pytest.raises(OSError, match=r"pima_diabetes.csv .*Replace or remove it"):
        datasets.fetch_pima()


@pytest.mark.parametrize(
    "X", [np.array(1), np.empty(0), np.array(["one"] * 6), np.ones((6, 4))]
)
def test_other_arrays_than_those_of_mnist_are_refused(empty, monkeypatch, X):
    monkeypatch.setenv("SKGEOM_DATA", str(empty))
    np.savez(empty / "mnist.npz", X=X, y=np.arange(6))
    with pytest.raises(OSError, match=r"mnist.npz ha.*Replace or remove it"):
        datasets.fetch_mnist()
