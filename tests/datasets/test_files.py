"""Downloads from a local server, digests, and damaged files."""

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from comparisons import trap
from sklearn.datasets import _base

from skgeom.datasets._files import downloaded_file, read_npz

CONTENT = np.random.default_rng(0).bytes(3_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        self.server.requests.append(self.path)


@pytest.fixture
def server(empty, monkeypatch):
    monkeypatch.setattr(_base.time, "sleep", lambda seconds: None)  # between retries
    monkeypatch.setenv("no_proxy", "*")
    (empty / "things.bin").write_bytes(CONTENT)
    handler = partial(Handler, directory=empty)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.requests = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def fetch(server, home, download=True, name="things.bin"):
    url = f"http://127.0.0.1:{server.server_port}/{name}"
    return downloaded_file(url, f"the file {name}", home, download, DIGEST)


def test_file_is_downloaded_once(server, tmp_path):
    path = fetch(server, tmp_path)
    assert path == tmp_path / "skgeom" / "things.bin"
    assert path.read_bytes() == CONTENT
    assert fetch(server, tmp_path) == fetch(server, tmp_path, False) == path
    assert server.requests == ["/things.bin"]


def test_wrong_digest(server, tmp_path):
    (tmp_path / "things.bin").write_bytes(CONTENT[1:])
    with pytest.raises(OSError, match=rf"SHA256 .*{DIGEST}.*Put the file things.bin"):
        fetch(server, tmp_path)
    assert list((tmp_path / "skgeom").iterdir()) == []


@pytest.mark.filterwarnings("ignore:Retry downloading")
def test_missing_file_names_the_remedy(server, tmp_path, monkeypatch):
    with pytest.raises(OSError, match=r"missing is False\. Put the file th"):
        fetch(server, tmp_path, download=False)
    assert server.requests == []
    monkeypatch.setenv("SKGEOM_DATA", str(tmp_path))
    with pytest.raises(OSError, match=rf"gone.bin .*404.*SKGEOM_DATA.*{tmp_path}"):
        fetch(server, tmp_path, name="gone.bin")


def test_unreadable_npz_is_named(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez_compressed(path, a=np.random.default_rng(0).normal(size=1000))
    good = path.read_bytes()
    for content in (b"", b"not an archive", good[:-100], good[:2000] + bytes(5000)):
        path.write_bytes(content)
        with pytest.raises(OSError, match=r"arrays.npz cannot be read .* Replace"):
            read_npz(path, ["a"])
    path.write_bytes(good)
    assert read_npz(path, ["a"])[0].shape == (1000,)
    with pytest.raises(OSError, match="with the arrays b"):
        read_npz(path, ["b"])
    np.savez(path, a=np.array([trap(tmp_path / "sprung")]))
    with pytest.raises(OSError, match="cannot be read as an npz"):
        read_npz(path, ["a"])
    assert not (tmp_path / "sprung").exists()
