"""Fetchers: from files at hand, damaged files, and without any."""

import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import requests
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import savemat
from sklearn.datasets import load_breast_cancer

from skgeom import datasets
from skgeom.datasets import _fetch_images, _fetch_tables, _files, _openml

DATA = Path(os.environ.get("SKGEOM_DATA", ""))


def needs(name):
    return pytest.mark.skipif(
        not (os.environ.get("SKGEOM_DATA") and (DATA / name).is_file()),
        reason=f"{name} is not in SKGEOM_DATA",
    )


@pytest.fixture
def offline(empty, monkeypatch):
    def no_connection(*args, **kwargs):
        raise OSError("no connection")

    monkeypatch.setattr(requests, "get", no_connection)
    monkeypatch.setattr(_openml, "fetch_openml", no_connection)
    return empty


def write_mat(path, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 256, (32, 32, 3, n), dtype=np.uint8)
    y = np.arange(n)[:, None] % 10 + 1
    savemat(path, {"X": X, "y": y})
    return X, y.ravel() % 10


# Real data.


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
    # The file of the source, as it is there, has the digest that is asked for, in
    # SKGEOM_DATA, where it may be in place of the table, and where it is kept.
    rows = (DATA / "heart_cleveland.csv").read_text().splitlines()[1:]
    lines = []
    for row, line in zip(table.data, rows, strict=True):
        values = ["?" if np.isnan(v) else str(v) for v in row.tolist()]
        lines.append(",".join([*values, line.split(",")[13]]) + "\n")
    published = empty / "processed.cleveland.data"
    published.write_bytes("".join(lines).encode())
    monkeypatch.setenv("SKGEOM_DATA", str(empty))
    assert_array_equal(datasets.fetch_heart(download_if_missing=False).data, table.data)
    home = empty / "home" / "skgeom"
    home.mkdir(parents=True, exist_ok=True)
    published.rename(home / published.name)
    monkeypatch.delenv("SKGEOM_DATA")
    again = datasets.fetch_heart(download_if_missing=False)
    assert_array_equal(again.data, table.data)
    assert_array_equal(again.target, table.target)


@needs("pima_diabetes.csv")
def test_pima(empty, monkeypatch):
    monkeypatch.setenv("SKGEOM_DATA", str(DATA))
    table = datasets.fetch_pima()
    assert table.data.shape == (768, 8)
    assert_array_equal(np.bincount(table.target), [500, 268])
    assert table.feature_names[1] == "glucose"
    # The same through OpenML, of which the answer is kept.
    labels = np.array(["tested_negative", "tested_positive"])[table.target]
    answers = []

    def fetch_openml(data_id, **kwargs):
        answers.append(data_id)
        return table.data.astype(object), labels.astype(object)

    monkeypatch.delenv("SKGEOM_DATA")
    monkeypatch.setattr(_openml, "fetch_openml", fetch_openml)
    for _ in range(2):
        X, y = datasets.fetch_pima(return_X_y=True)
        assert_array_equal(X, table.data)
        assert_array_equal(y, table.target)
    assert answers == [37]


@needs("eth80_covariances.npz")
@pytest.mark.parametrize(("features", "n"), [("intensity", 5), ("color", 9)])
def test_eth80(features, n):
    objects = datasets.fetch_eth80(features)
    assert objects.data.shape == (3280, n, n) and objects.data.dtype == np.float64
    assert_array_equal(np.bincount(objects.target), [410] * 8)
    assert_array_equal(np.bincount(objects.group), [41] * 80)
    assert_array_equal(objects.group, 10 * objects.target + objects.object)
    assert np.linalg.eigvalsh(objects.data).min() > 0
    assert objects.target_names[7] == "tomato"


@needs("bci_iv_2a_s1_to_s4.npz")
@pytest.mark.parametrize("subject", [1, 2, 3, 4])
def test_bci(subject):
    trials = datasets.fetch_bci_iv_2a(subject)
    assert trials.data.shape == (576, 22, 22)
    assert_array_equal(np.bincount(trials.target), [144] * 4)
    assert_array_equal(np.bincount(trials.target[trials.test]), [72] * 4)
    assert np.linalg.eigvalsh(trials.data).min() > 0


def test_wbcd():
    original = load_breast_cancer()
    table = datasets.fetch_wbcd()
    assert_array_equal(table.data, original.data)
    assert_array_equal(table.target, original.target)
    assert table.target_names == ["malignant", "benign"]
    frame = datasets.fetch_wbcd(as_frame=True).frame
    assert frame.shape == (569, 31) and frame.columns[-1] == "target"
    X, y = datasets.fetch_wbcd(return_X_y=True, as_frame=True)
    assert list(X.columns) == table.feature_names and y.name == "target"


# Made-up data.


@pytest.fixture
def svhn(server, empty, monkeypatch):
    """Small files in the place of those of SVHN, and what is in them."""
    contents, remotes = {}, {}
    for seed, (subset, remote) in enumerate(_fetch_images._SVHN.items()):
        path = empty / remote.name
        contents[subset] = write_mat(path, 12 + seed, seed)
        digest = _files.file_digest(path)
        server.files[remote.name] = path.read_bytes()
        remotes[subset] = remote._replace(sha256=digest, url=server.url(remote.name))
    monkeypatch.setattr(_fetch_images, "_SVHN", remotes)
    return contents


def test_svhn(svhn):
    digits = datasets.fetch_svhn()
    (X, y), (X_test, y_test) = svhn["train"], svhn["test"]
    assert digits.n_train == 12
    assert_array_equal(digits.target, [*y, *y_test])
    assert digits.images.shape == (25, 32, 32) and digits.images.dtype == np.float32
    assert_allclose(digits.images[3], X[..., 3].mean(axis=2), rtol=1e-6)
    assert_array_equal(digits.data, digits.images.reshape(25, 1024))
    color, _ = datasets.fetch_svhn(subset="test", color=True, return_X_y=True)
    assert_array_equal(color[0].reshape(32, 32, 3), X_test[..., 0])


def test_mnist_through_openml(empty, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (70, 784))
    y = rng.integers(0, 10, 70)
    asked = []

    def fetch_openml(data_id, data_home, **kwargs):
        asked.append((data_id, data_home))
        return X.astype(float), y.astype(str).astype(object)

    monkeypatch.setattr(_openml, "fetch_openml", fetch_openml)
    match = "data set 554 of OpenML have the SHA-256.* changed .* Put a file mnist.npz"
    with pytest.raises(OSError, match=match):
        datasets.fetch_mnist()
    digest = _files.array_digest(X.astype(np.uint8), y.astype(np.uint8))
    monkeypatch.setattr(_fetch_images, "_MNIST_SHA256", digest)
    for _ in range(2):
        digits = datasets.fetch_mnist(data_home=empty / "here")
        assert_array_equal(digits.data, X)
        assert_array_equal(digits.target, y)
    assert asked[1:] == [(554, str(empty / "here"))]


# No data, and damaged data.

DOWNLOADS = {
    "fetch_mnist": (
        "mnist.npz, with arrays X (70000 x 28 x 28, uint8) and y,",
        "https://www.openml.org/d/554",
    ),
    "fetch_svhn": (
        "the file train_32x32.mat, as it is there, into",
        "http://ufldl.stanford.edu/housenumbers/",
    ),
    "fetch_heart": (
        "the file processed.cleveland.data, as it is there, or a table "
        "heart_cleveland.csv,",
        "https://archive.ics.uci.edu/",
    ),
    "fetch_pima": (
        "pima_diabetes.csv, with a header and the columns",
        "https://www.openml.org/d/37",
    ),
}


@pytest.mark.parametrize("name", DOWNLOADS)
@pytest.mark.parametrize("download_if_missing", [True, False])
def test_offline(offline, name, download_if_missing):
    with pytest.raises(OSError) as caught:
        getattr(datasets, name)(download_if_missing=download_if_missing)
    message = str(caught.value)
    for word in (*DOWNLOADS[name], "SKGEOM_DATA names (not set)"):
        assert word in message
    assert ("no connection" in message) == download_if_missing
    assert ("try again with a connection" in message) == download_if_missing
    assert ("call with download_if_missing=True" in message) != download_if_missing


def test_folder_of_the_variable_is_named(offline, monkeypatch):
    monkeypatch.setenv("SKGEOM_DATA", str(offline))
    for fetch in (datasets.fetch_svhn, datasets.fetch_pima, datasets.fetch_eth80):
        with pytest.raises(OSError, match=rf"SKGEOM_DATA names \({offline}\)"):
            fetch()
    monkeypatch.setenv("SKGEOM_DATA", str(offline / "gone"))
    with pytest.raises(OSError, match=rf"\({offline}/gone, which does not exist\)"):
        datasets.fetch_mnist()


def test_eth80_without_its_file(offline):
    with pytest.raises(OSError, match=r"SKGEOM_DATA .*RegionCovariance of the photo"):
        datasets.fetch_eth80()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("fetch_mnist", "mnist.npz"),
        ("fetch_svhn", "train_32x32.mat"),
        ("fetch_heart", "heart_cleveland.csv"),
        ("fetch_pima", "pima_diabetes.csv"),
        ("fetch_eth80", "eth80_covariances.npz"),
        ("fetch_bci_iv_2a", "bci_iv_2a_s1_to_s4.npz"),
    ],
)
def test_damaged_local_file_is_named(empty, monkeypatch, name, file):
    monkeypatch.setenv("SKGEOM_DATA", str(empty))
    (empty / file).write_text("1,2,3\n4,5,6\n")
    with pytest.raises(OSError, match=rf"{file} .*Replace or remove it"):
        getattr(datasets, name)()


@pytest.mark.parametrize(("name", "columns"), [("heart", 15), ("pima", 9)])
def test_table_with_other_numbers_is_refused(empty, monkeypatch, name, columns):
    monkeypatch.setenv("SKGEOM_DATA", str(empty))
    file = {"heart": "heart_cleveland.csv", "pima": "pima_diabetes.csv"}[name]
    lines = ["header", *[",".join(["1"] * columns)] * 10]
    (empty / file).write_text("\n".join(lines))
    with pytest.raises(OSError, match=f"contents of .*{file} have the SHA-256"):
        getattr(datasets, f"fetch_{name}")()
    (empty / file).write_text("\n".join([*lines, "1,2"]))
    with pytest.raises(OSError, match=f"{file} cannot be read as a table"):
        getattr(datasets, f"fetch_{name}")()


def test_frames(empty, monkeypatch):
    values = np.random.default_rng(0).normal(size=(6, 9)).round(3)
    values[:, 8] = [0, 1, 0, 0, 1, 1]
    monkeypatch.setattr(_fetch_tables, "_PIMA_SHA256", _files.array_digest(values))
    monkeypatch.setenv("SKGEOM_DATA", str(empty))
    rows = [",".join(map(str, row)) for row in values.tolist()]
    (empty / "pima_diabetes.csv").write_text("\n".join(["header", *rows]))
    table = datasets.fetch_pima(as_frame=True)
    assert list(table.frame.columns) == [*table.feature_names, "target"]
    assert_array_equal(table.frame.to_numpy(), values)
    assert table.target.dtype == np.intp


def test_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="as_frame=True requires pandas"):
        datasets.fetch_wbcd(as_frame=True)


# BCI through moabb.


@pytest.fixture
def moabb(empty, monkeypatch):
    """A stand-in for moabb, with signals of a few trials."""
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(8, 22, 100))
    labels = np.array(["feet", "tongue", "left_hand", "right_hand"] * 2)
    sessions = {"session": ["0train"] * 4 + ["1test"] * 4}
    asked = []

    class MotorImagery:
        def __init__(self, **kwargs):
            asked.append(kwargs)

        def get_data(self, dataset, subjects):
            asked.append(subjects)
            return signals, labels, sessions

    package = types.ModuleType("moabb")
    for part, name, value in [
        ("datasets", "BNCI2014_001", object),
        ("paradigms", "MotorImagery", MotorImagery),
    ]:
        module = types.ModuleType(f"moabb.{part}")
        setattr(module, name, value)
        monkeypatch.setitem(sys.modules, f"moabb.{part}", module)
    monkeypatch.setitem(sys.modules, "moabb", package)
    return signals, asked


def test_bci_through_moabb(moabb):
    signals, asked = moabb
    trials = datasets.fetch_bci_iv_2a(7)
    assert_allclose(trials.data[2], signals[2] @ signals[2].T / 100)
    assert_array_equal(trials.target, [2, 3, 0, 1] * 2)
    assert_array_equal(trials.test, [False] * 4 + [True] * 4)
    band = {key: asked[0][key] for key in ("fmin", "fmax", "tmin", "tmax")}
    assert band == {"fmin": 10, "fmax": 30, "tmin": 0.5, "tmax": 2.5}
    assert asked[1] == [7]
    with pytest.raises(OSError, match="download_if_missing is False") as caught:
        datasets.fetch_bci_iv_2a(7, download_if_missing=False)
    assert "SKGEOM_DATA" not in str(caught.value)  # no file has this subject
    with pytest.raises(OSError, match=r"Put a file bci_iv_2a_s1.* with arrays cov_2"):
        datasets.fetch_bci_iv_2a(2, download_if_missing=False)


def test_bci_without_moabb(empty, monkeypatch):
    monkeypatch.setitem(sys.modules, "moabb", None)
    monkeypatch.setitem(sys.modules, "moabb.datasets", None)
    with pytest.raises(ImportError, match="pip install moabb"):
        datasets.fetch_bci_iv_2a(1)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fetch_bci_iv_2a", {"subject": 10}),
        ("fetch_eth80", {"features": "grey"}),
        ("fetch_heart", {"as_frame": "yes"}),
        ("fetch_mnist", {"subset": "validation"}),
        ("fetch_pima", {"download_if_missing": 2}),
        ("fetch_svhn", {"data_home": 3}),
        ("fetch_wbcd", {"return_X_y": None}),
    ],
)
def test_bad_argument_is_named(name, arguments):
    (bad,) = arguments
    with pytest.raises(ValueError, match=f"'{bad}' parameter"):
        getattr(datasets, name)(**arguments)
