"""A gateway of this tree and one whose checkpoints have a table more, as processes that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import Request, urlopen

from bench.stage import SECRET
from tests.ports import free_port
from tests.releases import extract

ROOT = Path(__file__).parents[2]
STARTS_WITHIN_S = 180.0

ONE_TABLE_MORE = """

# What follows was added by tests/storm: the slice's next version, which has one table more.
from dataclasses import dataclass, replace
from resolute.api.kernel.rows import Rows, Table
from resolute.proto.checkpoint import CheckpointCompleted
from resolute.proto.message import Recorded


@dataclass(frozen=True, slots=True)
class Completed:
    uuid: str
    steps_completed: int


COMPLETED = Table("completed", Completed, key=("uuid",))
TABLES_BEFORE, FOLDED_BEFORE = PROJECTION, PROJECTION.project


def project_with_completed(recorded: Recorded, rows: Rows) -> None:
    FOLDED_BEFORE(recorded, rows)
    if isinstance(recorded.event, CheckpointCompleted):
        rows.put(COMPLETED, Completed(recorded.event.uuid, recorded.event.steps_completed))


PROJECTION = replace(
    TABLES_BEFORE,
    version=TABLES_BEFORE.version + 1,
    also_reads=frozenset({TABLES_BEFORE.version}),
    tables=(*TABLES_BEFORE.tables, COMPLETED),
    project=project_with_completed,
)
"""
DDL = "\nCREATE TABLE read_checkpoints.completed (uuid text PRIMARY KEY, steps_completed int NOT NULL);\n"


def this_version(folder: Path) -> str:
    """Put the committed sources into `folder`, so that a change of the tree does not disturb a long storm; their
    PYTHONPATH."""
    return extract(folder, "HEAD")


def next_version(folder: Path) -> str:
    """The same with the larger slice."""
    python_path = this_version(folder)
    slice_ = folder / "services/api/resolute/api/checkpoints"
    with (slice_ / "projection.py").open("a") as projection, (slice_ / "tables.sql").open("a") as ddl:
        projection.write(ONE_TABLE_MORE)
        ddl.write(DDL)
    return python_path


@dataclass
class Process:
    """A service's process. `kill` and `start` may be called again and again."""

    module: str
    env: dict[str, str]
    log: Path
    python_path: str
    health_port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        of_it = {"RESOLUTE_HEALTH_PORT": str(self.health_port), "PYTHONPATH": self.python_path}
        env = {**os.environ, **self.env, **of_it}
        with self.log.open("ab") as log:
            argv = [sys.executable, "-m", self.module]
            self.process = subprocess.Popen(argv, env=env, cwd=ROOT, stdout=log, stderr=log)

    def until_ready(self) -> None:
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not self._ready():
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < deadline, f"not ready: {self.log.read_text()[-3000:]}"
            time.sleep(0.05)

    def _ready(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.health_port}/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def environment(dsn: str, nats_url: str, port: int) -> dict[str, str]:
    return {
        "RESOLUTE_DATABASE_URL": dsn,
        "RESOLUTE_NATS_URL": nats_url,
        "RESOLUTE_CLUSTER_SECRET": SECRET,
        "RESOLUTE_API_DATABASE_URL": dsn,
        "RESOLUTE_API_PORT": str(port),
        "RESOLUTE_API_SECRET": SECRET,
        "RESOLUTE_LOG_LEVEL": "info",
    }


def login(port: int) -> str:
    body = json.dumps({"username": "determined", "password": "", "isHashed": True}).encode()
    with urlopen(Request(f"http://127.0.0.1:{port}/api/v1/auth/login", body), timeout=30) as answer:
        return str(json.load(answer)["token"])
