"""Masters that speak TLS: whose certificate is believed."""

from __future__ import annotations

import http.server
import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from determined.common.client.trust import Trust
from resolute.cli import session as sessions
from resolute.cli.errors import CliError, Unreachable
from resolute.cli.session import Session

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


class Info(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"version": "0.38.1"}')

    def log_message(self, format: str, *args: object) -> None:
        """Silence on standard error."""


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate that `master.example` signed for itself."""
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *files]
    subprocess.run(
        [*made, "-subj", "/CN=master.example", "-addext", "subjectAltName=DNS:master.example"],
        check=True,
        capture_output=True,
    )
    return tmp_path / "cert.pem"


@pytest.fixture
def address(certificate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Where a master listens with that certificate."""
    monkeypatch.setattr(sessions, "_BACKOFF_S", 0.0)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("DET_MASTER_CERT_FILE", raising=False)
    monkeypatch.delenv("DET_MASTER_CERT_NAME", raising=False)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Info)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_certificate_that_nobody_vouches_for_is_refused(address: str) -> None:
    with pytest.raises(Unreachable, match="is not trusted"):
        Session(address).get("/info")


def test_a_certificate_is_trusted_by_file_under_its_own_name(address: str, certificate: Path) -> None:
    trust = Trust(cafile=str(certificate), server_name="master.example")
    assert Session(address, trust=trust).get("/info") == {"version": "0.38.1"}
    with pytest.raises(Unreachable, match="DET_MASTER_CERT_NAME"):
        Session(address, trust=Trust(cafile=str(certificate))).get("/info")


def test_the_environment_names_the_certificate_or_waives_it(address: str, certificate: Path) -> None:
    named = {"DET_MASTER_CERT_FILE": str(certificate), "DET_MASTER_CERT_NAME": "master.example"}
    assert Session(address, trust=Trust.of(address, named)).get("/info")
    assert Session(address, trust=Trust.of(address, {"DET_MASTER_CERT_FILE": "noverify"})).get("/info")


def test_a_certificate_kept_for_this_master_is_trusted(address: str, certificate: Path) -> None:
    kept = certificate.parent / "determined" / "certs.json"
    kept.parent.mkdir()
    kept.write_text(json.dumps({address: certificate.read_text()}))
    trust = Trust.of(address, {"DET_MASTER_CERT_NAME": "master.example"})
    assert Session(address, trust=trust).get("/info")


def test_a_file_that_holds_no_certificate_is_named(address: str, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    with pytest.raises(CliError, match=r"empty\.pem"):
        Session(address, trust=Trust(cafile=str(tmp_path / "empty.pem"))).get("/info")
