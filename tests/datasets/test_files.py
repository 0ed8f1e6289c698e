"""Downloads from a server on this machine: whole, interrupted, damaged, none."""

import hashlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgeom.datasets import _files
from skgeom.datasets._files import RemoteFile, array_digest, fetch_file, read_npz

CONTENT = np.random.default_rng(0).bytes(300_000)


@pytest.fixture
def remote(server):
    server.files["things.bin"] = CONTENT
    digest = hashlib.sha256(CONTENT).hexdigest()
    return RemoteFile("things.bin", server.url("things.bin"), digest)


def test_download_and_then_none(server, remote, tmp_path):
    path = fetch_file(remote, tmp_path, True)
    assert path == tmp_path / "skgeom" / "things.bin"
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]
    fetch_file(remote, tmp_path, True)
    fetch_file(remote, tmp_path, False)
    assert server.requests == ["things.bin"]


def test_interrupted_download_is_tried_again(server, remote, tmp_path):
    server.cuts = [100_000, 50_000]
    assert fetch_file(remote, tmp_path, True).read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_other_content_is_refused(server, remote, tmp_path):
    server.files["things.bin"] = other = CONTENT[:-1] + b"?"
    found = hashlib.sha256(other).hexdigest()
    match = rf"{remote.url}.* hash .* expected sha256:{remote.sha256} but got {found}"
    with pytest.raises(OSError, match=match) as caught:
        fetch_file(remote, tmp_path, True)
    assert "SKGEOM_DATA" in str(caught.value)
    assert list((tmp_path / "skgeom").iterdir()) == []


def test_connection_that_keeps_ending(server, remote, tmp_path):
    server.cuts = [10] * 10
    with pytest.raises(OSError, match="10 bytes read, 299990 more expected") as caught:
        fetch_file(remote, tmp_path, True)
    assert "SKGEOM_DATA" in str(caught.value)
    assert len(server.requests) == 1 + _files._N_RETRIES
    assert list((tmp_path / "skgeom").iterdir()) == []


def test_file_that_the_server_does_not_have(server, remote, tmp_path):
    remote = remote._replace(url=server.url("gone.bin"))
    with pytest.raises(OSError, match=rf"404 .*{remote.url}") as caught:
        fetch_file(remote, tmp_path, True)
    assert "SKGEOM_DATA" in str(caught.value)


def test_without_pooch(server, remote, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    match = r"things.bin needs the package pooch: pip install pooch.*SKGEOM_DATA"
    with pytest.raises(ImportError, match=match):
        fetch_file(remote, tmp_path, True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "skgeom").mkdir()
    (tmp_path / "skgeom" / "things.bin").write_bytes(CONTENT)
    assert fetch_file(remote, tmp_path, True).read_bytes() == CONTENT


def test_offline(server, remote, tmp_path):
    server.server_close()
    remote = remote._replace(url="http://127.0.0.1:9/things.bin")
    with pytest.raises(OSError, match="could not be downloaded") as caught:
        fetch_file(remote, tmp_path, True)
    for word in ("things.bin", remote.url, "SKGEOM_DATA"):
        assert word in str(caught.value)


def test_absent_and_not_to_be_downloaded(server, remote, tmp_path):
    with pytest.raises(OSError, match="download_if_missing is False") as caught:
        fetch_file(remote, tmp_path, False)
    for word in ("things.bin", remote.url, "SKGEOM_DATA"):
        assert word in str(caught.value)
    assert server.requests == []


def test_damaged_file_is_downloaded_again_with_a_warning(server, remote, tmp_path):
    path = fetch_file(remote, tmp_path, True)
    path.write_bytes(CONTENT[:-5])
    with pytest.raises(OSError, match="damaged, and download_if_missing is False"):
        fetch_file(remote, tmp_path, False)
    with pytest.warns(UserWarning, match="damaged, and downloaded again"):
        fetch_file(remote, tmp_path, True)
    assert path.read_bytes() == CONTENT


def test_local_file_comes_first(server, remote, tmp_path, monkeypatch):
    monkeypatch.setenv("SKGEOM_DATA", str(tmp_path))
    (tmp_path / "things.bin").write_bytes(CONTENT)
    assert fetch_file(remote, tmp_path, True) == tmp_path / "things.bin"
    (tmp_path / "things.bin").write_bytes(CONTENT[1:])
    with pytest.raises(OSError, match=r"things.bin has the SHA-256 digest .* Replace"):
        fetch_file(remote, tmp_path, True)
    assert server.requests == []
    assert (tmp_path / "things.bin").read_bytes() == CONTENT[1:]  # left as it was


def test_simultaneous_downloads(server, remote, tmp_path):
    """Each begins while the others are on their way, and all of them end well."""
    server.barrier = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(fetch_file, remote, tmp_path, True) for _ in range(4)]
        paths = [call.result() for call in calls]
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert list((tmp_path / "skgeom").iterdir()) == [paths[0]]
    assert len(server.requests) == 4


def test_digest_of_arrays_is_of_values_types_and_shapes():
    a = np.arange(6.0).reshape(2, 3)
    assert array_digest(a) == array_digest(np.asfortranarray(a))
    assert array_digest(a) == array_digest(a.astype(">f8"))
    others = [a.T, a.ravel(), a.astype(np.float32), a + 1e-15]
    assert len({array_digest(other) for other in [a, *others]}) == 5


def test_written_arrays_are_read(tmp_path):
    path = tmp_path / "arrays.npz"
    _files.write_npz(path, a=np.arange(3), b=np.eye(2))
    a, b = read_npz(path, ["a", "b"])
    assert_array_equal(a, range(3))
    assert_array_equal(b, np.eye(2))
    assert list(tmp_path.iterdir()) == [path]


def test_arrays_are_written_by_several_threads(tmp_path):
    path = tmp_path / "arrays.npz"
    a = np.arange(10**5)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(_files.write_npz, path, a=a) for _ in range(12)]
    for call in calls:
        call.result()
    assert_array_equal(read_npz(path, ["a"])[0], a)
    assert list(tmp_path.iterdir()) == [path]


DIRECTORY = {-67: b"\xff", -65: b"\1", -63: b"\1", -6: b"\xff"}


def test_unreadable_npz_is_named(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez_compressed(path, a=np.random.default_rng(0).normal(size=1000))
    good = path.read_bytes()
    damaged = bytearray(good)
    damaged[2000:2010] = bytes(10)
    # In the directory: version, encryption, method of compression, and its own place.
    ends = [good[:k] + byte + good[k + 1 :] for k, byte in DIRECTORY.items()]
    for content in (b"", b"not an archive", good[:-100], bytes(damaged), *ends):
        path.write_bytes(content)
        with pytest.raises(OSError, match=r"arrays.npz cannot be read .* Replace"):
            read_npz(path, ["a"])
    path.write_bytes(good)
    with pytest.raises(OSError, match="with the arrays b"):
        read_npz(path, ["b"])
