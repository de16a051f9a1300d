"""MLflow's tracking server as a peer: in an environment of its own, on the Postgres that is measured, loaded alike.

It runs as `mlflow server` starts it, with its own default number of workers. It is no dependency of anything: without
a package index there is no peer, and the bench says so.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from bench.raw_http import connect, request
from tests.ports import free_port

HOME = Path(tempfile.gettempdir()) / "resolute-bench-mlflow"
API = "/api/2.0/mlflow"


def installed() -> Path | None:
    """The folder of MLflow's programs; installs it the first time, and answers None where that cannot be done."""
    programs = HOME / "bin"
    if (programs / "mlflow").exists():
        return programs
    print("installing MLflow into an environment of its own …", flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True, capture_output=True)
        pip = [str(programs / "pip"), "install", "-q", "mlflow", "psycopg2-binary"]
        subprocess.run(pip, check=True, capture_output=True, timeout=600)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"no peer: MLflow could not be installed ({error})", flush=True)
        return None
    return programs


def version(programs: Path) -> str:
    said = subprocess.run([str(programs / "mlflow"), "--version"], capture_output=True, text=True, check=True).stdout
    return said.rsplit(" ", 1)[-1].strip()


@contextmanager
def server(programs: Path, dsn: str) -> Iterator[tuple[int, float]]:
    """`mlflow server` on the database at `dsn`: its port, and the seconds until it answered."""
    port = free_port()
    with tempfile.TemporaryDirectory() as artifacts:
        command = [
            str(programs / "mlflow"),
            *("server", "--host", "127.0.0.1", "--port", str(port)),
            *("--backend-store-uri", re.sub(r"^postgres(ql)?://", "postgresql+psycopg2://", dsn)),
            *("--artifacts-destination", artifacts),
        ]
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        began = time.monotonic()
        log = Path(artifacts) / "log"
        with log.open("wb") as said:
            process = subprocess.Popen(
                command, env=environment, stdout=said, stderr=said, start_new_session=True, cwd=artifacts
            )
        try:
            _wait(port, process, log)
            yield port, time.monotonic() - began
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    import urllib.error
    import urllib.request

    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"MLflow did not answer within 120 s: {log.read_text()[-2000:]}")


async def runs(port: int, count: int) -> list[str]:
    """The ids of fresh runs."""
    connection = await connect("127.0.0.1", port)
    made = []
    for _ in range(count):
        body = orjson.dumps({"experiment_id": "0", "start_time": 1_767_323_045_000})
        answer = await connection.ask(request("POST", f"{API}/runs/create", body=body))
        assert answer.startswith(b"HTTP/1.1 200"), answer
        found = re.search(rb'"run_id":\s*"([0-9a-f]+)"', answer)
        assert found is not None, answer
        made.append(found[1].decode())
    connection.close()
    return made


def singles(run_id: str) -> Iterator[bytes]:
    for step in itertools.count(1):
        body = {"run_id": run_id, "key": "metric_0", "value": 0.123456 + 1 / step, "timestamp": _at(step), "step": step}
        yield request("POST", f"{API}/runs/log-metric", body=orjson.dumps(body))


def batches(run_id: str, steps: int, metrics: int) -> Iterator[bytes]:
    """`log-batch` requests of `steps` * `metrics` points, which may be 1,000 at most."""
    for first in itertools.count(1, steps):
        points = [
            {"key": f"metric_{n}", "value": 0.123456 + n / step, "timestamp": _at(step), "step": step}
            for step in range(first, first + steps)
            for n in range(metrics)
        ]
        yield request("POST", f"{API}/runs/log-batch", body=orjson.dumps({"run_id": run_id, "metrics": points}))


def _at(step: int) -> int:
    return 1_767_323_045_000 + step
