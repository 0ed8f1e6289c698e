"""Downloads from a server on this machine: whole, interrupted, damaged, none."""

import hashlib
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgeom.datasets import _files
from skgeom.datasets._files import RemoteFile, array_digest, fetch_file, read_npz

CONTENT = np.random.default_rng(0).bytes(300_000)


class Server(ThreadingHTTPServer):
    """Serves CONTENT; each request can be made to fail, and is written down."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.cuts = []  # bytes after which the next connections end
        self.ranges = True  # whether parts can be asked for
        self.requests = []  # first byte that each request asked for


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(match[1]) if match else 0
        self.server.requests.append(start)
        content = self.server.content
        if start and self.server.ranges:
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            last = len(content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{last + 1}")
            content = content[start:]
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        cut = self.server.cuts.pop(0) if self.server.cuts else len(content)
        self.wfile.write(content[:cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(_files, "_DELAY", 0)
    monkeypatch.delenv("SKGEOM_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def remote(server):
    return RemoteFile(
        "things.bin",
        f"http://127.0.0.1:{server.server_port}/things.bin",
        hashlib.sha256(CONTENT).hexdigest(),
    )


@pytest.fixture
def part(tmp_path):
    (tmp_path / "skgeom").mkdir()
    return tmp_path / "skgeom" / "things.bin.part"


def test_download_and_then_none(server, remote, tmp_path):
    path = fetch_file(remote, tmp_path, True)
    assert path == tmp_path / "skgeom" / "things.bin"
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]
    fetch_file(remote, tmp_path, True)
    fetch_file(remote, tmp_path, False)
    assert server.requests == [0]


def test_interrupted_download_goes_on(server, remote, tmp_path):
    server.cuts = [100_000, 50_000]
    assert fetch_file(remote, tmp_path, True).read_bytes() == CONTENT
    assert server.requests == [0, 100_000, 150_000]


def test_download_of_an_earlier_session_goes_on(server, remote, tmp_path, part):
    part.write_bytes(CONTENT[:1234])
    assert fetch_file(remote, tmp_path, True).read_bytes() == CONTENT
    assert server.requests == [1234]
    assert not part.exists()


def test_complete_part_is_taken(server, remote, tmp_path, part):
    part.write_bytes(CONTENT)
    assert fetch_file(remote, tmp_path, True).read_bytes() == CONTENT


@pytest.mark.parametrize("wrong", [b"x" * 1234, b"x" * 400_000])
def test_part_of_something_else_is_given_up(server, remote, tmp_path, part, wrong):
    part.write_bytes(wrong)
    assert fetch_file(remote, tmp_path, True).read_bytes() == CONTENT
    assert server.requests == [len(wrong), 0]


def test_server_without_ranges_begins_again(server, remote, tmp_path, part):
    server.ranges = False
    part.write_bytes(CONTENT[:1234])
    assert fetch_file(remote, tmp_path, True).read_bytes() == CONTENT


def test_other_content_is_refused(server, remote, tmp_path):
    server.content = CONTENT[:-1] + b"?"
    with pytest.raises(OSError, match=rf"{remote.url}.* digest .* not {remote.sha256}"):
        fetch_file(remote, tmp_path, True)
    assert server.requests == [0]
    assert list((tmp_path / "skgeom").iterdir()) == []


def test_connection_that_keeps_ending(server, remote, tmp_path, part):
    server.cuts = [10] * 10
    with pytest.raises(OSError, match="connection ended after 10 of") as caught:
        fetch_file(remote, tmp_path, True)
    assert "SKGEOM_DATA" in str(caught.value)
    assert server.requests == [0, 10, 20, 30]
    assert part.read_bytes() == CONTENT[:40]  # where the next call begins


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


@pytest.mark.parametrize("start", [0, 1234])
def test_simultaneous_downloads(server, remote, tmp_path, part, start, monkeypatch):
    """Each begins while the others are on their way, and all of them end well."""
    if start:
        part.write_bytes(CONTENT[:start])
    waiting = threading.Barrier(4)
    read = _files._append_rest

    def read_together(url, part):
        resumed = read(url, part)
        waiting.wait(timeout=30)
        return resumed

    monkeypatch.setattr(_files, "_append_rest", read_together)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(fetch_file, remote, tmp_path, True) for _ in range(4)]
        paths = [call.result() for call in calls]
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert list(part.parent.iterdir()) == [paths[0]]
    assert sorted(server.requests) == [0, 0, 0, start]


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
