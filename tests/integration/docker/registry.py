"""A registry of images, small enough to be a test's: it serves one image, to those who sign in."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar"


class Registry:
    """`127.0.0.1:<port>/small:1` has one file and no programs; anything else is not there."""

    def __init__(self, username: str, password: str) -> None:
        self.wanted = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()
        self.blobs: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.open = threading.Event()
        """Cleared: layers are long in coming."""
        self.open.set()
        self.manifest = self._image()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                registry.asked.append(self.path)
                status, kind, body = registry.answer(self.path, self.headers.get("Authorization"))
                self.send_response(status)
                if status == 401:
                    self.send_header("WWW-Authenticate", 'Basic realm="a test"')
                self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
                self.send_header("Docker-Content-Digest", digest(body))
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *words: object) -> None:
                """Said nowhere."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str, login: str | None) -> tuple[int, str, bytes]:
        if login != self.wanted:
            return 401, "application/json", _error("UNAUTHORIZED", "authentication required")
        name = path.rpartition("/")[2]
        if path == "/v2/":
            return 200, "application/json", b"{}"
        if path.startswith("/v2/small/manifests/") and name in ("1", digest(self.manifest)):
            return 200, MANIFEST, self.manifest
        if name in self.blobs:
            self.open.wait(60)
            return 200, "application/octet-stream", self.blobs[name]
        return 404, "application/json", _error("MANIFEST_UNKNOWN", "manifest unknown")

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _image(self) -> bytes:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            member = tarfile.TarInfo("hello")
            member.size = 200_000
            tar.addfile(member, io.BytesIO(os.urandom(member.size)))  # an image that no daemon has seen
        layer = packed.getvalue()
        contents = {"type": "layers", "diff_ids": [digest(layer)]}
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": contents}).encode()
        for blob in (layer, config):
            self.blobs[digest(blob)] = blob
        return json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": {"mediaType": CONFIG, "size": len(config), "digest": digest(config)},
                "layers": [{"mediaType": LAYER, "size": len(layer), "digest": digest(layer)}],
            }
        ).encode()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _error(code: str, message: str) -> bytes:
    return json.dumps({"errors": [{"code": code, "message": message}]}).encode()


@contextmanager
def registry(username: str = "ada", password: str = "secret") -> Iterator[Registry]:
    served = Registry(username, password)
    try:
        yield served
    finally:
        served.close()
