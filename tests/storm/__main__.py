"""`python -m tests.storm SEED --minutes M --events N`: gateways of two versions, killed and started at random.

First a gateway of this tree answers over a log of N events, and one whose checkpoints have a table more starts beside
it: it must answer throughout while its table grows. Then both are killed and started at random moments under load.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from bench.growth import EVENTS_EACH, SHELF_S, tell_of_searches
from bench.stage import servers
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.checkpoint import CheckpointCompleted
from resolute.proto.message import Cause
from tests.attack.background import Background
from tests.ports import free_port
from tests.storm.clients import Client, Reader, Writer
from tests.storm.gateways import Process, environment, login, next_version, this_version

GROWN = "SELECT position FROM read_checkpoints_v{}.progress"
HEAD = "SELECT position FROM eventlog.log_head"
ALIVE_S, DEAD_S = (1.0, 20.0), (0.0, 4.0)
"""Between which a gateway lives before it is killed, and stays dead before it is started."""
SETTLES_WITHIN_S = 180.0
ENTRY = "import sys; from resolute.cli.main import resolute; sys.argv[0] = 'resolute'; sys.exit(resolute())"


@dataclass
class Outcome:
    figures: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def gather(self, what: str, *clients: Client) -> None:
        for client in clients:
            self.faults += [f"{what}: {fault}" for fault in client.faults]
        answers = sum(sum(client.answers.values()) for client in clients)
        waits, unanswered = sum(client.answers[503] for client in clients), sum(client.unanswered for client in clients)
        slowest_s = max(client.slowest_s for client in clients)
        self.figures.append(
            f"{what}: {answers} answers, {waits} of them 503 with Retry-After, slowest {slowest_s:.2f} s; "
            f"{unanswered} requests to a gateway that was dead"
        )
        waits_by_reason = sum((client.waits for client in clients), Counter[str]())
        self.figures += [f"    {count} times 503: {reason}" for reason, count in waits_by_reason.most_common(5)]


class Checkpoints(Background):
    """Appends to the log, again and again, that a checkpoint was completed."""

    every_s = 0.02

    def __init__(self, dsn: str, version: int) -> None:
        super().__init__()
        self._dsn, self.version = dsn, version
        self._loop = asyncio.new_event_loop()
        self._log = self._loop.run_until_complete(PostgresEventLog.open(dsn))

    def round(self) -> None:
        uuid = f"00000000-0000-4000-9000-{self.version:012}"
        files, metadata = {"model.pt": 4096}, {"steps_completed": self.version}
        event = CheckpointCompleted(uuid, 1, 16, "16.task", "16.task.1", 1, self.version, files, metadata, SHELF_S)
        appended = self._log.append(
            "checkpoints-1", [event], expected_version=self.version, cause=Cause(f"storm-{self.version}")
        )
        self._loop.run_until_complete(appended)
        self.version += 1

    def finish(self) -> None:
        self._loop.run_until_complete(self._log.close())
        self._loop.close()


async def value(dsn: str, query: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval(query) or 0)
    except asyncpg.UndefinedTableError:
        return 0
    finally:
        await connection.close()


async def fill(dsn: str, events: int) -> tuple[int, int]:
    """The position of the log, and the version of the stream that checkpoints are appended to."""
    log = await PostgresEventLog.open(dsn)
    await tell_of_searches(log, max(1, events // EVENTS_EACH))
    found = await log.head(), len(await log.read_stream("checkpoints-1"))
    await log.close()
    return found


def until_shown(dsn: str, version: int, head: int) -> None:
    deadline = time.monotonic() + SETTLES_WITHIN_S
    while asyncio.run(value(dsn, GROWN.format(version))) < head:
        assert time.monotonic() < deadline, f"version {version} does not show {head} events"
        time.sleep(0.05)


def grows_beside(dsn: str, old: Process, new: Process, new_port: int, token: str, outcome: Outcome) -> None:
    """The new gateway answers from when it is ready until its table has grown."""
    began_s, head = time.monotonic(), asyncio.run(value(dsn, HEAD))
    both = Reader(int(old.env["RESOLUTE_API_PORT"]), token), Reader(new_port, token)
    with both[0].at_work(), ExitStack() as reading:
        new.start()
        new.until_ready()
        ready_s = time.monotonic() - began_s
        behind = asyncio.run(value(dsn, GROWN.format(2)))
        reading.enter_context(both[1].at_work())
        until_shown(dsn, 2, head)
        grown_s = time.monotonic() - began_s
        time.sleep(2.0)  # answers move over to the new tables: the readers go on for a moment
    outcome.figures.append(
        f"a table more over {head} events: the gateway was ready after {ready_s:.1f} s, when its tables showed "
        f"{behind}; grown after {grown_s:.1f} s"
    )
    outcome.gather("while the table grew, the old gateway", both[0])
    outcome.gather("while the table grew, the new gateway", both[1])
    outcome.faults += [
        "while the table grew: 503 from the gateway" for one in both if one.answers[503] or one.unanswered
    ]


def storm(chance: random.Random, gateways: list[Process], minutes: float) -> int:
    """Kill and start each gateway at moments of its own; how many kills there were."""
    over_s, kills = time.monotonic() + minutes * 60, 0
    due_s = [time.monotonic() + chance.uniform(*ALIVE_S) for _ in gateways]
    while time.monotonic() < over_s:
        for n, gateway in enumerate(gateways):
            if time.monotonic() < due_s[n]:
                continue
            if gateway.process is None:
                gateway.start()
                due_s[n] = time.monotonic() + chance.uniform(*ALIVE_S)
            else:
                gateway.kill()
                kills += 1
                due_s[n] = time.monotonic() + chance.uniform(*DEAD_S)
        time.sleep(0.02)  # the moments of the storm are part of it, and not a wait for a condition
    return kills


def replayed(dsn: str, python_path: str) -> str:
    """What is wrong with what the tables show, as `resolute replay --check` says it; nothing where they are right."""
    env = {**os.environ, "RESOLUTE_DATABASE_URL": dsn, "PYTHONPATH": python_path}
    argv = [sys.executable, "-c", ENTRY, "replay", "--check"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=600, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-3000:]


DIFFERENT = """SELECT count(*) FROM (
    (TABLE read_checkpoints_v1.checkpoints EXCEPT TABLE read_checkpoints_v2.checkpoints)
    UNION ALL (TABLE read_checkpoints_v2.checkpoints EXCEPT TABLE read_checkpoints_v1.checkpoints)
    ) AS differing"""
NOT_IN_NEW_TABLE = """SELECT count(*) FROM read_checkpoints_v2.checkpoints AS shown
    FULL JOIN read_checkpoints_v2.completed AS completed USING (uuid)
    WHERE shown.uuid IS NULL OR completed.uuid IS NULL"""


def check_the_end(dsn: str, python_paths: tuple[str, str], writers: list[Writer], outcome: Outcome) -> None:
    head = asyncio.run(value(dsn, HEAD))
    for version in (1, 2):
        until_shown(dsn, version, head)
    names = [name for writer in writers for name in writer.acknowledged]
    outcome.figures.append(f"{head} events in the end; {len(names)} workspaces acknowledged")
    if not names:
        outcome.faults.append("no workspace was acknowledged")
    for writer in writers:
        outcome.faults += [f"port {writer.port} does not show {name!r} once" for name in writer.missing(names)]
    for query in (DIFFERENT, NOT_IN_NEW_TABLE):
        if rows := asyncio.run(value(dsn, query)):
            outcome.faults.append(f"{rows} rows differ: {query}")
    for whose, path in zip(("old", "new"), python_paths, strict=True):
        if wrong := replayed(dsn, path):
            outcome.faults.append(f"resolute replay --check of the {whose} version: {wrong}")


def run(seed: int, minutes: float, events: int, say: Callable[[str], None]) -> Outcome:
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="resolute-storm-") as home, ExitStack() as ends:
        postgres, nats = ends.enter_context(servers())
        dsn, ports = postgres.fresh_database(), (free_port(), free_port())
        this, python_path = this_version(Path(home) / "old"), next_version(Path(home) / "new")
        logs = [Path(home) / name for name in ("directory.log", "old.log", "new.log")]
        directory = Process("resolute.directory", environment(dsn, nats.url, ports[0]), logs[0], this)
        old = Process("resolute.api", environment(dsn, nats.url, ports[0]), logs[1], this)
        new = Process("resolute.api", environment(dsn, nats.url, ports[1]), logs[2], python_path)
        for process in (directory, old, new):
            ends.callback(process.kill)
        _, version = asyncio.run(fill(dsn, events))
        say("the log is filled")
        directory.start()
        old.start()
        old.until_ready()
        token = login(ports[0])
        load = Checkpoints(dsn, version)
        try:
            with load.at_work():
                say("the old gateway answers")
                grows_beside(dsn, old, new, ports[1], token, outcome)
                say("the new gateway answers from tables of its own; the storm begins")
                readers, writers = [Reader(port, token) for port in ports], [Writer(port, token) for port in ports]
                with ExitStack() as working:
                    for client in (*readers, *writers):
                        working.enter_context(client.at_work())
                    kills = storm(random.Random(f"storm {seed}"), [old, new], minutes)
            outcome.figures.append(f"{kills} kills in {minutes} minutes; {load.version - version} checkpoints appended")
            for gateway in (old, new):
                if gateway.process is None:
                    gateway.start()
                gateway.until_ready()
            say("the storm is over")
            outcome.gather("in the storm, readers", *readers)
            outcome.gather("in the storm, writers", *writers)
            check_the_end(dsn, (this, python_path), writers, outcome)
        except (AssertionError, OSError):
            outcome.faults.append(traceback.format_exc())
        if outcome.faults:
            say("\n".join(f"--- {log.name}\n{log.read_text()[-4000:]}" for log in logs if log.exists()))
    return outcome


def main() -> int:
    """Exit code 1 where a promise was broken."""
    parser = argparse.ArgumentParser(
        prog="storm", description="Gateways of two versions, killed and started at random."
    )
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--events", type=int, default=200_000, help="about how many are in the log at the beginning")
    asked = parser.parse_args()
    outcome = run(asked.seed, asked.minutes, asked.events, lambda line: print(line, flush=True))
    print("\n".join([f"seed {asked.seed}", *outcome.figures, *(f"FAULT: {fault}" for fault in outcome.faults[:50])]))
    print(f"{len(outcome.faults)} faults" if outcome.faults else "nothing was missing, and no answer went back")
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
