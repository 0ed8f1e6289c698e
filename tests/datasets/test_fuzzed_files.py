"""Files of any contents give the arrays that were meant, or an error by name."""

import hashlib
import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from skgeom.datasets import _files
from skgeom.datasets._files import RemoteFile, fetch_file, read_npz

A, B = np.random.default_rng(0).normal(size=(30, 4)), np.arange(7, dtype=np.int8)


def archive(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


GOOD = archive(A=A, B=B)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
positions = st.integers(0, len(GOOD) - 1)
flips = st.lists(st.tuples(positions, st.integers(1, 255)), min_size=1, max_size=3)


def flipped(changes):
    content = bytearray(GOOD)
    for position, change in changes:
        content[position] ^= change
    return bytes(content)


def npy(shape, data=b"", dtype="<f8", version=1, length=None):
    """A file of an array, whose header may say anything."""
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    size = struct.pack("<H" if version == 1 else "<I", length or len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + data


def members(**files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return file.getvalue()


def is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(OSError, match=r"arrays.npz cannot be read .* Replace or rem"):
        read_npz(path, ["A", "B"])


@in_one_folder
@given(content=st.binary(max_size=200))
def test_any_bytes(content, tmp_path):
    is_refused(tmp_path / "arrays.npz", content)
    is_refused(tmp_path / "arrays.npz", b"PK\3\4" + content)
    is_refused(tmp_path / "arrays.npz", b"\x93NUMPY" + content)


@in_one_folder
@given(end=positions)
def test_truncated(end, tmp_path):
    is_refused(tmp_path / "arrays.npz", GOOD[:end])


@in_one_folder
@given(changes=flips)
def test_flipped_bytes(changes, tmp_path):
    """What matters has a checksum; what does not, such as dates, changes nothing."""
    path = tmp_path / "arrays.npz"
    path.write_bytes(flipped(changes))
    try:
        found = read_npz(path, ["A", "B"])
    except OSError as error:
        assert "arrays.npz cannot be read" in str(error)
        return
    assert_array_equal(found[0], A)
    assert_array_equal(found[1], B)


@in_one_folder
@given(content=st.one_of(st.binary(max_size=50), flips.map(flipped)))
def test_files_of_the_user_need_the_right_digest(content, tmp_path):
    if content == GOOD:  # flipped back
        return
    (tmp_path / "arrays.npz").write_bytes(content)
    digest = hashlib.sha256(GOOD).hexdigest()
    remote = RemoteFile("arrays.npz", "https://example.org/arrays.npz", digest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKGEOM_DATA", str(tmp_path))
        with pytest.raises(OSError, match=r"arrays.npz has the SHA-256 digest"):
            fetch_file(remote, tmp_path, True)


class Trap:
    """Makes a folder where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        import os

        return os.mkdir, (str(self.path),)


def test_nothing_is_unpickled(tmp_path):
    trap = Trap(tmp_path / "sprung")
    is_refused(tmp_path / "arrays.npz", archive(A=np.array([trap]), B=B))
    is_refused(tmp_path / "arrays.npz", members(**{"A.npy": trap.__reduce__()[1][0]}))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["../A.npy", "/A.npy", "..\\A.npy", "B/../../A.npy"])
def test_members_that_point_outside(tmp_path, name):
    folder = tmp_path / "inside"
    folder.mkdir()
    is_refused(folder / "arrays.npz", members(**{name: npy((0,)), "B.npy": npy((0,))}))
    assert list(tmp_path.iterdir()) == [folder]
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    "content",
    [
        npy((2**60,)),
        npy((2**62, 2**62)),
        npy((2**36,), b"\0" * 100),
        npy((-1,), b"\0" * 8),
        npy((3,), b"\0" * 8, dtype="|O"),
        npy((1,), b"\0" * 8, version=2, length=2**31),
        npy((1,), b"\0" * 8, version=9),
        npy("__import__('os').mkdir('sprung')"),
        npy((1,) * 100, b"\0" * 8),
    ],
)
def test_headers_that_are_not_true(tmp_path, content, monkeypatch):
    monkeypatch.chdir(tmp_path)
    is_refused(tmp_path / "arrays.npz", members(**{"A.npy": content, "B.npy": content}))
    is_refused(tmp_path / "arrays.npz", content)
    assert [path.name for path in tmp_path.iterdir()] == ["arrays.npz"]


def test_more_than_fits_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_MOST_BYTES", 10**6)
    zeros = archive(A=np.zeros(10**6), B=B)
    assert len(zeros) < 20_000
    path = tmp_path / "arrays.npz"
    is_refused(path, zeros)
    with pytest.raises(OSError, match="its arrays take 800"):
        path.write_bytes(zeros)
        read_npz(path, ["A", "B"])
