"""A rolling upgrade, and the way back: gateways of the last release and of this one serve one cluster, while trials run
and report through both, and either is killed. Nobody is told that something does not exist which does, and nothing is
missing afterwards in what either shows."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import asyncpg
import pytest

from resolute.api.slices import PROJECTIONS
from resolute.deploy.plan import Child, load
from tests import needs
from tests.integration.cluster.local import LocalCluster, until
from tests.integration.cluster.searches import MODEL, STEPS, stepwise
from tests.ports import free_port
from tests.releases import extract

pytestmark = [needs.history, pytest.mark.timeout(900)]

SEARCH = stepwise("upgraded", step_s=0.1, trials=6)
METRICS = "/api/v1/trials/metrics/validation_metrics?trialIds=1"
PATHS = ("/api/v1/experiments/1", "/api/v1/trials/1", "/api/v1/me", "/api/v1/trials/1/checkpoints", METRICS)
PATIENCE_S = 60.0
TABLES = ("experiments", "trials", "runs", "validations", "checkpoints", "allocations", "placements", "users", "agents")


@pytest.fixture(scope="module")
def last_release(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The PYTHONPATH of the last release."""
    return extract(tmp_path_factory.mktemp("last-release"))


@dataclass
class Gateway:
    """A gateway process of some release, on the port that all gateways of the cluster share."""

    child: Child
    python_path: str
    log: Path
    health_port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        env = {**self.child.env, "RESOLUTE_HEALTH_PORT": str(self.health_port), "PYTHONPATH": self.python_path}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.child.argv, env=env, cwd=self.child.cwd, stdout=log, stderr=log, user=self.child.user
            )
        until(f"the gateway is ready: {self.log}", self._ready)

    def _ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        with urlopen(f"http://127.0.0.1:{self.health_port}/ready", timeout=5) as answer:
            return bool(answer.status == 200)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass
class Watch:
    """Somebody who asks for what exists, again and again, on a new connection each time."""

    port: int
    token: str
    answers: Counter[int] = field(default_factory=Counter)
    unanswered: int = 0
    faults: list[str] = field(default_factory=list)

    @contextmanager
    def watching(self) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=[over])
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(0.02):
            for path in PATHS:
                self._ask(path)

    def _ask(self, path: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException):
            self.unanswered += 1  # the gateway was killed while it had the question
            return
        finally:
            connection.close()
        self.answers[answer.status] += 1
        if answer.status != 200 and not (answer.status == 503 and answer.getheader("Retry-After")):
            self.faults.append(f"{path}: {answer.status} {body[:200]!r}")


@contextmanager
def cluster_of(home: Path, python_path: str) -> Iterator[LocalCluster]:
    """Whose services are of the release at `python_path`, or of this tree; dead gateways stay dead."""
    flags = ("--replicas", "api=2", "--no-autorestart")
    cluster = LocalCluster(home, separate=True, slots=2, agents=1, flags=flags)
    if python_path:
        cluster.env["PYTHONPATH"] = python_path
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.down("--delete-db")


def end_its_gateways(cluster: LocalCluster) -> None:
    for name in ("api-1", "api-2"):
        os.kill(cluster.children()[name], signal.SIGKILL)
        until(f"{name} is gone", lambda: name not in cluster.children())  # noqa: B023


@pytest.mark.parametrize("services", ["of this release", "of the last release"])
def test_an_upgrade_and_a_downgrade_of_the_gateway_are_felt_by_nobody(
    tmp_path: Path, last_release: str, services: str
) -> None:
    if services == "of the last release" and os.geteuid() == 0 and not others_may_enter(Path(sys.prefix)):
        pytest.skip("the last release cannot start Postgres for root from a directory that others may not enter")
    with cluster_of(tmp_path, last_release if services == "of the last release" else "") as cluster:
        child = next(one for one in load(cluster.data / "run" / "plan.json") if one.name == "api-1")
        dsn = child.env["RESOLUTE_DATABASE_URL"]
        old = Gateway(child, last_release, tmp_path / "old.log")
        new = Gateway(child, "", tmp_path / "new.log")
        try:
            upgrade_and_downgrade(cluster, dsn, old, new)
            check_what_is_shown(cluster, dsn, last_release)
        finally:
            old.kill()
            new.kill()


def others_may_enter(folder: Path) -> bool:
    return all(one.stat().st_mode & 0o001 for one in (folder, *folder.parents))


def upgrade_and_downgrade(cluster: LocalCluster, dsn: str, old: Gateway, new: Gateway) -> None:
    old.start()
    end_its_gateways(cluster)
    experiment_id = cluster.create(SEARCH, MODEL)
    until("the first trial has begun", lambda: cluster.validations(1))
    watch = Watch(cluster.port, login(cluster))
    with watch.watching():
        new.start()
        new_and_old_serve_a_while(cluster, experiment_id, 2)
        old.kill()
        new_and_old_serve_a_while(cluster, experiment_id, 3)
        old.start()
        new.kill()
        new_and_old_serve_a_while(cluster, experiment_id, 4)
        new.start()
        assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    assert watch.faults == []
    assert watch.answers[200] > 100
    # Each answer may come from either gateway, and the tables of each version follow the log by themselves. The end of
    # the search was seen in the tables of one version, and those of the other may be a moment behind.
    asyncio.run(until_both_have_caught_up(dsn))
    for trial in cluster.trials(experiment_id):
        assert (trial["state"], trial["restarts"]) == ("STATE_COMPLETED", 0)
        assert cluster.validations(int(trial["id"])) == STEPS


def new_and_old_serve_a_while(cluster: LocalCluster, experiment_id: int, trials: int) -> None:
    """Until so many trials have been made, so that each act of the story sees some begin, report and end."""
    until(f"{trials} trials", lambda: len(cluster.trials(experiment_id)) >= trials, 90)


def login(cluster: LocalCluster) -> str:
    body = json.dumps({"username": "determined", "password": "", "isHashed": True}).encode()
    with urlopen(Request(f"{cluster.url}/api/v1/auth/login", body), timeout=10) as answer:
        return str(json.load(answer)["token"])


# ---------------------------------------------------------------- what is shown in the end


def check_what_is_shown(cluster: LocalCluster, dsn: str, last_release: str) -> None:
    shown = asyncio.run(_both_show_the_same(dsn))
    assert shown["trials"] == 6
    for python_path in ("", last_release):
        entry = "import sys; from resolute.cli.main import resolute; sys.argv[0] = 'resolute'; sys.exit(resolute())"
        env = {**cluster.env, "RESOLUTE_DATABASE_URL": dsn, "PYTHONPATH": python_path}
        argv = [sys.executable, "-c", entry, "replay", "--check"]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "same" in done.stdout


async def until_both_have_caught_up(dsn: str) -> None:
    """Until the tables of both versions show everything that the log held when this was called."""
    connection = await asyncpg.connect(dsn)
    try:
        head, schemas = await connection.fetchval(HEAD), [row[0] for row in await connection.fetch(SCHEMAS)]
        deadline = time.monotonic() + PATIENCE_S
        while min(stands := await _stands(connection, schemas)) < head:
            assert time.monotonic() < deadline, (stands, head)
            await asyncio.sleep(0.05)
    finally:
        await connection.close()


async def _stands(connection: asyncpg.Connection, schemas: list[str]) -> list[int]:
    """Up to where the tables of each version show the log."""
    return [await connection.fetchval(f"SELECT position FROM {schema}.progress") for schema in schemas]


async def _both_show_the_same(dsn: str) -> dict[str, int]:
    """Compares the tables of both versions, in the columns that both have; how many rows each has."""
    connection = await asyncpg.connect(dsn)
    try:
        schemas = [row[0] for row in await connection.fetch(SCHEMAS)]
        [older] = [schema for schema in schemas if schema not in SCHEMA_OF.values()]
        deadline = time.monotonic() + PATIENCE_S
        while True:  # retention goes on after the experiment: both are read as they were at one moment
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                stands = await _stands(connection, schemas)
                if set(stands) == {await connection.fetchval(HEAD)}:
                    return await _same_rows(connection, older)
            assert time.monotonic() < deadline, stands
            await asyncio.sleep(0.1)
    finally:
        await connection.close()


async def _same_rows(connection: asyncpg.Connection, older: str) -> dict[str, int]:
    counts = {}
    for table in TABLES:
        shown = [await _rows(connection, schema, table) for schema in (older, SCHEMA_OF[table])]
        both = shown[0][0].keys() & shown[1][0].keys() if shown[0] and shown[1] else set()
        rows = [sorted(json.dumps({name: row[name] for name in both}, sort_keys=True) for row in one) for one in shown]
        assert rows[0] == rows[1], table
        counts[table] = len(rows[0])
    return counts


HEAD = "SELECT position FROM eventlog.log_head"
SCHEMA_OF = {table.name: projection.schema for projection in PROJECTIONS for table in projection.tables}
"""Where the tables of this release are. Those of the last one are all in one schema."""

SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname ~ '^read_([a-z_]+_)?v[0-9]+$' ORDER BY nspname"


async def _rows(connection: asyncpg.Connection, schema: str, table: str) -> list[dict[str, Any]]:
    return [json.loads(row[0]) for row in await connection.fetch(f"SELECT to_jsonb(t) FROM {schema}.{table} t")]
