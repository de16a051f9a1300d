"""What a person's environment does to an embedded cluster that is started from it: settings arrive, secrets do not."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from resolute.deploy import processes
from tests.integration.deploy.test_embedded_cluster import Local
from tests.servers import wait_for

pytestmark = pytest.mark.timeout(600)

SECRET = "AKIA-hush-hush"
CONFIG = """
name: env
entrypoint: sh -c 'env > {file}.new && mv {file}.new {file}'
hyperparameters: {{}}
max_restarts: 0
searcher: {{name: single, metric: loss, max_length: {{batches: 1}}}}
"""


def certificate_in(folder: Path) -> dict[str, str]:
    """Of a gateway that people call by a name, so that it is good for no address."""
    cert, key = folder / "gateway.crt", folder / "gateway.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=gateway", "-addext", "subjectAltName=DNS:gateway.example", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return {"RESOLUTE_API_TLS_CERT": str(cert), "RESOLUTE_API_TLS_KEY": str(key)}


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    local = Local()
    given = {
        **certificate_in(local.folder),
        "RESOLUTE_API_HOST": "0.0.0.0",
        "RESOLUTE_API_INITIAL_USER_PASSWORD": "Correct-Horse-7",
        "RESOLUTE_AGENT_TASK_VARIABLES": '["WANDB_*"]',
        "WANDB_MODE": "offline",
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    started = local.up("--agents", "1", "--slots", "1", **given)
    assert started.returncode == 0, started.stdout + started.stderr
    assert f"is up at https://127.0.0.1:{local.port}" in started.stdout
    yield local
    local.close()


def answer_to(connection: socket.socket) -> bytes:
    try:
        return connection.recv(4096)
    except ConnectionError:
        return b""


def test_a_gateway_with_a_certificate_speaks_tls_and_nothing_else(local: Local) -> None:
    assert local.paths.description.stat().st_mode & 0o077 == 0
    with socket.create_connection(("127.0.0.1", local.port), timeout=60) as plain:
        plain.sendall(b"GET /api/v1/master HTTP/1.1\r\nHost: gateway\r\n\r\n")
        assert not answer_to(plain).startswith(b"HTTP/")
    secure = http.client.HTTPSConnection(
        "127.0.0.1", local.port, timeout=60, context=ssl._create_unverified_context()
    )  # fmt: skip
    secure.request("GET", "/api/v1/master")
    assert json.loads(secure.getresponse().read())["version"]


def test_a_trial_reaches_the_gateway_over_tls_and_finds_no_secret_of_the_shell(local: Local, tmp_path: Path) -> None:
    shown = local.folder / "shown"
    shown.mkdir()
    shown.chmod(0o777)
    (tmp_path / "env.yaml").write_text(CONFIG.format(file=shown / "env"))
    (tmp_path / "context").mkdir()
    det = [str(Path(sys.executable).parent / "det"), "-m", f"https://127.0.0.1:{local.port}"]
    login = {"DET_USER": "determined", "DET_PASS": "Correct-Horse-7", "DET_MASTER_CERT_FILE": "noverify"}
    subprocess.run(
        [*det, "experiment", "create", str(tmp_path / "env.yaml"), str(tmp_path / "context")],
        check=True, timeout=300, env={**local.env, **login},
    )  # fmt: skip
    wait_for((shown / "env").exists, what="a trial over TLS", within_s=180)
    found = (shown / "env").read_text()
    assert SECRET not in found
    assert "WANDB_MODE=offline" in found
    assert "DET_MASTER_CERT_NAME=gateway.example" in found


def test_no_process_of_the_cluster_holds_a_secret_of_the_shell(local: Local) -> None:
    pids = [status.pid for status in processes.statuses(local.paths)] + [processes.supervisor_pid(local.paths)]
    for pid in pids:
        assert SECRET not in psutil.Process(pid).environ().values()


def test_a_setting_that_is_none_is_refused_by_name_and_nothing_is_left() -> None:
    local = Local()
    try:
        refused = local.up(RESOLUTE_API_TLS_CRT="/c.pem")
        assert refused.returncode == 1
        assert "RESOLUTE_API_TLS_CRT: there is no such setting; did you mean RESOLUTE_API_TLS_CERT?" in refused.stderr
        assert not local.paths.root.exists()
    finally:
        local.close()
