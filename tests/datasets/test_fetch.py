"""Fetchers: real data, damaged files and missing files."""

import inspect
import os
from pathlib import Path

import numpy as np
import pytest
from comparisons import needs
from numpy.testing import assert_array_equal

from skgeom import datasets
from skgeom.datasets import _fetch_images, _files

DATA = Path(os.environ.get("SKGEOM_DATA", ""))


# Real data.


@pytest.mark.exhaustive
@needs("mnist.npz")
def test_mnist():
    digits = datasets.fetch_mnist(download_if_missing=False)
    assert digits.data.shape == (70000, 784) and digits.data.dtype == np.uint8
    assert digits.images.shape == (70000, 28, 28)
    assert digits.n_train == 60000
    # Counts of the digits 0 and 1 in the training set, as published.
    assert_array_equal(np.bincount(digits.target[:60000])[:2], [5923, 6742])
    X, y = datasets.fetch_mnist(subset="test", return_X_y=True)
    assert_array_equal(X, digits.data[60000:])
    assert_array_equal(y[:5], [7, 2, 1, 0, 4])


@needs("heart_cleveland.csv")
def test_heart(empty, monkeypatch):
    monkeypatch.setenv("SKGEOM_DATA", str(DATA))
    table = datasets.fetch_heart()
    assert table.data.shape == (303, 13)
    assert_array_equal(np.bincount(table.target), [164, 139])
    missing = np.isnan(table.data).sum(axis=0)
    assert dict(zip(table.feature_names, missing, strict=True))["ca"] == 4
    assert missing.sum() == 6
    # The file of the source has the digest that downloads are checked with.
    rows = (DATA / "heart_cleveland.csv").read_text().splitlines()[1:]
    lines = []
    for row, line in zip(table.data, rows, strict=True):
        values = ["?" if np.isnan(v) else str(v) for v in row.tolist()]
        lines.append(",".join([*values, line.split(",")[13]]) + "\n")
    published = empty / "home" / "skgeom" / "processed.cleveland.data"
    published.write_bytes("".join(lines).encode())
    monkeypatch.delenv("SKGEOM_DATA")
    for download_if_missing in (True, False):  # it is kept there
        again = datasets.fetch_heart(download_if_missing=download_if_missing)
        assert_array_equal(again.data, table.data)
        assert_array_equal(again.target, table.target)


@needs("pima_diabetes.csv")
def test_pima(empty, monkeypatch):
    monkeypatch.setenv("SKGEOM_DATA", str(DATA))
    table = datasets.fetch_pima()
    assert table.data.shape == (768, 8)
    assert_array_equal(np.bincount(table.target), [500, 268])
    assert table.feature_names[1] == "glucose"
    # The same table in the format of OpenML.
    lines = ["% comment", "@relation pima_diabetes", "@data"]
    for row, target in zip(table.data.tolist(), table.target, strict=True):
        label = ["tested_negative", "tested_positive"][target]
        lines.append(",".join([*map(str, row), label]))
    path = empty / "home" / "skgeom" / "diabetes.arff"
    path.write_text("\n".join(lines))
    monkeypatch.delenv("SKGEOM_DATA")
    X, y = datasets.fetch_pima(return_X_y=True)
    assert_array_equal(X, table.data)
    assert_array_equal(y, table.target)


# Synthetic files.


def test_mnist_in_the_format_of_keras(empty, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (70, 28, 28), dtype=np.uint8)
    y = rng.integers(0, 10, 70, dtype=np.uint8)
    digest = _files.array_digest(X.reshape(70, -1), y)
    monkeypatch.setattr(_fetch_images, "_MNIST_ARRAYS", digest)
    path = empty / "home" / "skgeom" / "mnist.npz"
    arrays = {"x_train": X[:60], "x_test": X[60:], "y_train": y[:60], "y_test": y[60:]}
    np.savez(path, **arrays)
    digits = datasets.fetch_mnist(download_if_missing=False)
    assert_array_equal(digits.images, X)
    assert_array_equal(digits.target, y)


# Missing and damaged files: the name in SKGEOM_DATA, and the source.

FILES = {
    "fetch_mnist": ("mnist.npz", "https://storage.googleapis.com/"),
    "fetch_heart": ("heart_cleveland.csv", "https://archive.ics.uci.edu/"),
    "fetch_pima": ("pima_diabetes.csv", "https://www.openml.org/"),
}


@pytest.mark.parametrize("name", FILES)
def test_missing_file(empty, name):
    fetch = getattr(datasets, name)
    has_option = "download_if_missing" in inspect.signature(fetch).parameters
    with pytest.raises(OSError) as caught:
        fetch(**({"download_if_missing": False} if has_option else {}))
    message = str(caught.value)
    for word in (*FILES[name], "SKGEOM_DATA names (not set)", "on this machine"):
        assert word in message


@pytest.mark.parametrize("name", FILES)
def test_damaged_file(empty, monkeypatch, name):
    monkeypatch.setenv("SKGEOM_DATA", str(empty))
    file = FILES[name][0]
    for content in ("", "1,2,3\n4,5,6\n", "1,2\n1", "\x80\n1,2"):
        (empty / file).write_text(content, encoding="latin-1")
        with pytest.raises(OSError, match=rf"(?s){file} .*Replace or remove it"):
            getattr(datasets, name)()
