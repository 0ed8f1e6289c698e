"""Fetchers: real data, damaged files and missing files."""

import hashlib
import inspect
import os
from pathlib import Path

import numpy as np
import pytest
from comparisons import needs
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import savemat

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


@pytest.fixture
def svhn(empty, monkeypatch):
    """Small files in the format of SVHN, and their contents."""
    monkeypatch.setenv("SKGEOM_DATA", str(empty))
    rng, contents, digests = np.random.default_rng(0), {}, {}
    for subset, n in [("train", 12), ("test", 13)]:
        X = rng.integers(0, 256, (32, 32, 3, n), dtype=np.uint8)
        y = np.arange(n)[:, None] % 10 + 1
        path = empty / f"{subset}_32x32.mat"
        savemat(path, {"X": X, "y": y})
        contents[subset] = X, y.ravel() % 10
        digests[subset] = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(_fetch_images, "_SVHN_FILES", digests)
    return contents


def test_svhn(svhn):
    digits = datasets.fetch_svhn()
    (X, y), (X_test, y_test) = svhn["train"], svhn["test"]
    assert digits.n_train == 12
    assert_array_equal(digits.target, [*y, *y_test])
    assert digits.images.shape == (25, 32, 32) and digits.images.dtype == np.float32
    assert_allclose(digits.images[3], X[..., 3].mean(axis=2), rtol=1e-6)
    assert_array_equal(digits.data, digits.images.reshape(25, 1024))
    images, _ = datasets.fetch_svhn(subset="test", return_X_y=True)
    assert_allclose(images[0], X_test[..., 0].mean(axis=2).ravel(), rtol=1e-6)


# Missing and damaged files: the name in SKGEOM_DATA, and the source.

FILES = {
    "fetch_mnist": ("mnist.npz", "https://storage.googleapis.com/"),
    "fetch_svhn": ("train_32x32.mat", "http://ufldl.stanford.edu/housenumbers/"),
    "fetch_heart": ("heart_cleveland.csv", "https://archive.ics.uci.edu/"),
    "fetch_pima": ("pima_diabetes.csv", "https://www.openml.org/"),
    "fetch_eth80": ("eth80_covariances.npz", "https://github.com/Kai-Xuan/ETH-80"),
    "fetch_bci_iv_2a": ("bci_iv_2a_s1_to_s4.npz", "https://www.bbci.de/"),
    "fetch_ssvep": ("eeg_ssvep.npz", "https://github.com/sylvchev/"),
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


@needs("eth80_covariances.npz")
def test_eth80():
    assert datasets.fetch_eth80(return_X_y=True)[0].shape == (3280, 5, 5)
    objects = datasets.fetch_eth80("color")
    assert objects.data.shape == (3280, 9, 9) and objects.data.dtype == np.float64
    assert_array_equal(np.bincount(objects.target), [410] * 8)
    assert_array_equal(np.bincount(objects.group), [41] * 80)
    assert_array_equal(objects.group, 10 * objects.target + objects.object)
    assert np.linalg.eigvalsh(objects.data).min() > 0
    assert objects.target_names[7] == "tomato"


@needs("eeg_ssvep.npz")
def test_ssvep():
    trials = datasets.fetch_ssvep()
    assert trials.data.shape == (864, 8, 1536) and trials.data.dtype == np.float32
    assert_array_equal(np.bincount(trials.target), [216] * 4)
    assert_array_equal(np.unique(trials.subject), np.arange(1, 13))
    assert trials.channels[0] == "Oz" and len(trials.channels) == 8
    # The spectrum of a frequency has its peak there.
    times = trials.tmin + np.arange(1536) / trials.sfreq
    window = (times >= 1) & (times < 5)
    spectrum = np.abs(np.fft.rfft(trials.data[..., window])) ** 2
    hertz = np.fft.rfftfreq(window.sum(), 1 / trials.sfreq)
    for label, frequency in enumerate([13, 17, 21], 1):
        near = (hertz > frequency - 2) & (hertz < frequency + 2)
        power = np.median(spectrum[trials.target == label], axis=0).mean(axis=0)
        assert hertz[near][power[near].argmax()] == frequency


@needs("bci_iv_2a_s1_to_s4.npz")
@pytest.mark.parametrize("subject", [1, 4])
def test_bci(subject):
    trials = datasets.fetch_bci_iv_2a(subject)
    assert trials.data.shape == (576, 22, 22)
    assert_array_equal(np.bincount(trials.target), [144] * 4)
    assert_array_equal(np.bincount(trials.target[trials.test]), [72] * 4)
    assert np.linalg.eigvalsh(trials.data).min() > 0
