"""`resolute replay --check`: does the log alone tell everything that REST shows?

The read model is built a second time, from the log's first event on, beside the one in use; then every GET of the
gateway is answered from both, and the answers are compared byte for byte. The cluster may run meanwhile.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from urllib.parse import quote

import aiohttp
import asyncpg
from aiohttp import web
from pydantic import SecretStr

from resolute.api.gateway import Gateway, application
from resolute.api.projections import SCHEMA
from resolute.api.readmodel import ReadModel
from resolute.api.routing import Principal, Route
from resolute.api.settings import ApiSettings
from resolute.api.shell import connect
from resolute.api.table import ROUTES
from resolute.api.vault import Shut
from resolute.bus import MemoryBus
from resolute.eventlog import EventLog
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import NotFound, ResoluteError
from resolute.service import Context

REBUILT = "read_replay"

ATTEMPTS = 5
"""A running cluster may change between two answers; a difference that the log explains is gone the next time."""

NOT_TOLD_BY_THE_LOG = frozenset(
    {
        "AllocationPreemptionSignal",  # waits for what has not happened yet
        "AllocationRendezvousInfo",
        "Health",  # of this moment
        "MasterLogs",  # of this process, since it began
        "PreviewGC",  # asks another service
    }
)

IDS: Mapping[str, str] = {
    "experimentId": "SELECT id::text FROM read_v1.experiments ORDER BY id",
    "trialId": "SELECT id::text FROM read_v1.trials ORDER BY id",
    "runId": "SELECT id::text FROM read_v1.trials ORDER BY id",
    "taskId": "SELECT DISTINCT task_id FROM read_v1.allocations ORDER BY task_id",
    "allocationId": "SELECT allocation_id FROM read_v1.allocations ORDER BY requested_at, allocation_id",
    "checkpointUuid": "SELECT uuid FROM read_v1.checkpoints ORDER BY uuid",
    "jobId": "SELECT job_id FROM read_v1.experiments ORDER BY id",
    "agentId": "SELECT agent_id FROM read_v1.agents ORDER BY agent_id",
    "slotId": "SELECT DISTINCT slot_id::text FROM read_v1.slots ORDER BY slot_id::text",
    "userId": "SELECT id::text FROM read_v1.users ORDER BY id",
    "username": "SELECT username FROM read_v1.users ORDER BY id",
    "workspaceId": "SELECT id::text FROM read_v1.workspaces ORDER BY id",
    "projectId": "SELECT id::text FROM read_v1.projects ORDER BY id",
}
"""By the name of a path's parameter: what to put there."""

PLURAL = {
    "experiments": "experimentId",
    "trials": "trialId",
    "workspaces": "workspaceId",
    "projects": "projectId",
}
"""What a parameter called only `id` means, by the word before it."""


@dataclass(frozen=True, slots=True)
class Difference:
    path: str
    shown: bytes
    rebuilt: bytes


@dataclass(slots=True)
class Report:
    position: int = 0
    answers: int = 0
    differences: list[Difference] = field(default_factory=list)


def check(database_url: str) -> int:
    """For the command line: the exit code, having said what differs."""
    try:
        report = asyncio.run(_check(database_url))
    except ResoluteError as error:
        print(f"cannot check: {error.message}", file=sys.stderr)
        return 1
    for difference in report.differences:
        print(f"{difference.path}\n  shown:   {_short(difference)}\n  rebuilt: {_short(difference, rebuilt=True)}")
    verdict = "they differ" if report.differences else "each the same, byte for byte"
    print(f"{report.answers} answers at position {report.position}, from the tables in use and from the log: {verdict}")
    return 1 if report.differences else 0


def _short(difference: Difference, *, rebuilt: bool = False) -> str:
    """A few words around the first byte that differs."""
    pairs = enumerate(zip(difference.shown, difference.rebuilt, strict=False))
    at = next((place for place, (a, b) in pairs if a != b), min(len(difference.shown), len(difference.rebuilt)))
    text = difference.rebuilt if rebuilt else difference.shown
    return ("…" if at > 40 else "") + text[max(at - 40, 0) : at + 60].decode(errors="replace")


async def _check(database_url: str) -> Report:
    settings = ApiSettings(database_url=database_url, secret=SecretStr("used for nothing here"))
    log = await PostgresEventLog.open(database_url)
    pool = await connect(settings)
    try:
        if await pool.fetchval("SELECT to_regclass($1)", f"{SCHEMA}.progress") is None:
            raise NotFound("no gateway has shown anything of this database yet; start the cluster once")
        return await compare(settings, log, pool)
    finally:
        await pool.close()
        await log.close()


async def compare(settings: ApiSettings, log: EventLog, pool: asyncpg.Pool) -> Report:
    """Every answer from the tables in use beside the one from tables grown anew, which are gone afterwards."""
    context = Context(log, MemoryBus())
    rebuilt = ReadModel(pool, log, REBUILT)
    try:
        await rebuilt.drop()
        await rebuilt.prepare()
        await rebuilt.catch_up()
        async with (
            _asking(Gateway(context, settings, pool)) as shown,
            _asking(Gateway(context, settings, pool, rebuilt)) as anew,
        ):
            return await _compare_all(shown, anew)
    finally:
        await rebuilt.drop()


async def _compare_all(shown: Asking, anew: Asking) -> Report:
    await shown.gateway.read.catch_up()
    paths = await paths_of(shown.gateway.read)
    report = Report(answers=len(paths))
    for path in paths:
        if difference := await _difference(path, shown, anew):
            report.differences.append(difference)
    report.position = await anew.gateway.read.position()
    return report


async def _difference(path: str, shown: Asking, anew: Asking) -> Difference | None:
    """What differs once both have seen the same events; None when nothing does."""
    for _ in range(ATTEMPTS):
        before = await shown.gateway.read.position()
        await anew.gateway.read.reached(before)
        answers = await asyncio.gather(shown.get(path), anew.get(path))
        if answers[0] == answers[1]:
            return None
        await asyncio.gather(shown.gateway.read.catch_up(), anew.gateway.read.catch_up())
    return Difference(path, *answers)


# ---------------------------------------------------------------- asking a gateway everything


class _Trusting(Gateway):
    """Takes whoever reaches it for the administrator: it listens where only this process can."""

    async def who(self, request: web.Request) -> Principal:
        return Principal(1, "admin", admin=True)


@dataclass(frozen=True, slots=True)
class Asking:
    gateway: Gateway
    http: aiohttp.ClientSession

    async def get(self, path: str) -> bytes:
        """Status and body of one answer."""
        async with self.http.get(f"http://gateway{path}") as response:
            return b"%d " % response.status + await response.read()


@asynccontextmanager
async def _asking(gateway: Gateway) -> AsyncIterator[Asking]:
    trusting = _Trusting(gateway.context, gateway.settings, gateway.pool, gateway.read)
    # The keys of secrets stand beside the log: a replay has none, and shows masks on both sides.
    trusting.vault = Shut(gateway.pool, gateway.vault.keyring)
    with tempfile.TemporaryDirectory(prefix="resolute-replay-") as folder:  # its mode lets nobody else in
        runner = web.AppRunner(application(trusting, ROUTES), access_log=None)
        await runner.setup()
        try:
            socket = str(Path(folder) / "gateway")
            await web.UnixSite(runner, socket).start()
            async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(socket)) as http:
                yield Asking(trusting, http)
        finally:
            await runner.cleanup()


async def answers(gateway: Gateway) -> dict[str, bytes]:
    """Every GET of the gateway, answered now, by path."""
    async with _asking(gateway) as asking:
        return {path: await asking.get(path) for path in await paths_of(gateway.read)}


async def paths_of(read: ReadModel) -> list[str]:
    """Every GET there is, for every entity there is."""
    ids = {name: [row[0] for row in await read.rows(sql)] for name, sql in IDS.items()}
    told = [route for route in ROUTES if route.method == "GET" and route.operation not in NOT_TOLD_BY_THE_LOG]
    return [path for route in told for path in _filled(route, ids)]


def _filled(route: Route, ids: Mapping[str, Sequence[str]]) -> Iterator[str]:
    parts = route.documented_path.split("/")
    choices = [
        [quote(value, safe="") for value in ids.get(_meaning(parts, place), ())] if part.startswith("{") else [part]
        for place, part in enumerate(parts)
    ]
    return ("/".join(chosen) for chosen in product(*choices))


def _meaning(parts: Sequence[str], place: int) -> str:
    name = parts[place].strip("{}")
    return PLURAL.get(parts[place - 1], name) if name == "id" else name
