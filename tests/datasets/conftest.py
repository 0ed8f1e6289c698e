"""A machine with no data, and a server on it."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@pytest.fixture
def empty(monkeypatch, tmp_path):
    """A machine with no data."""
    monkeypatch.delenv("SKGEOM_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    return tmp_path


class Server(ThreadingHTTPServer):
    """Serves some files; each request is written down, and can be made to fail."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}  # contents by name
        self.cuts = []  # bytes after which the next connections end
        self.requests = []  # names that were asked for
        self.barrier = threading.Barrier(1)  # requests that are answered together

    def url(self, name):
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.removeprefix("/")
        self.server.requests.append(name)
        self.server.barrier.wait(timeout=30)
        if name not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        cut = self.server.cuts.pop(0) if self.server.cuts else len(content)
        self.wfile.write(content[:cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(empty, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # between tries
    monkeypatch.setenv("no_proxy", "*")
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
