"""`resolute log tail | show | why | verify | asides`: the audit trail, read from the database, also while the cluster
is down.

The parameter `where` of a command is the URL of the database, or a log that is already open: one behind a gateway.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg

from resolute.eventlog import explanations, formatting
from resolute.eventlog.chain import Row
from resolute.eventlog.postgres import PostgresEventLog
from resolute.eventlog.readable import ReadableLog
from resolute.eventlog.why import explain
from resolute.proto.errors import InvalidConfig, NotFound

Say = Callable[[str], None]
Where = str | ReadableLog

_FIELDS = {"checkpoint": ("uuid", "checkpoint", "source_checkpoint"), "slot": ("agent_id",)}
"""The fields in which events name a thing, for the kinds whose field is not the kind followed by `_id`."""


def tail(where: Where, *, lines: int = 20, follow: bool = True, as_json: bool = False, say: Say = print) -> int:
    """Print the last `lines` events, and with `follow` every further one until interrupted."""

    async def run(log: ReadableLog) -> int:
        position = max(await log.head() - lines, 0)
        while True:
            async for rows in log.rows(position):
                _print(rows, as_json, say)
                position = rows[-1].position
            if not follow:
                return 0
            await log.wait_beyond(position, timeout_s=60)

    return _reading(where, run)


def show(where: Where, stream: str, *, raw: bool = False, as_json: bool = False, say: Say = print) -> int:
    """Print a stream, a sentence for each event: `experiment-7`, `pool-default`; or, for a thing that has no stream of
    its own, every event that names the thing: `trial-41`, `allocation-…`, `agent-…`, `checkpoint-…`.

    `raw`: the events with their fields instead. Raises NotFound when there is no such event.
    """

    async def run(log: ReadableLog) -> int:
        rows = await log.stream_rows(stream) or await _mentions(log, stream)
        if not rows:
            raise NotFound(
                f"{stream}: no such stream, and no event speaks of it; try experiment-7, trial-41 or pool-default"
            )
        if raw or as_json:
            _print(rows, as_json, say)
        else:
            for row in rows:
                say(explanations.line_of(row))
        return 0

    return _reading(where, run)


def why(where: Where, name: str, question: str = "", *, as_json: bool = False, say: Say = print) -> int:
    """Print why something (`trial-41`, `experiment-7`, `checkpoint-…`, `allocation-…`, `agent-…`) stopped, waits, runs
    or was deleted: the event that made it so, and the chain of recorded decisions that led there."""

    async def run(log: ReadableLog) -> int:
        answer = await explain(name, question, explanations.LogHistory(log))
        for line in [explanations.for_programs(name, answer)] if as_json else explanations.for_people(name, answer):
            say(line)
        return 0

    return _reading(where, run)


def verify(dsn: str, stream: str | None = None, *, say: Say = print) -> int:
    """Walk the hash chain, of the whole log or of one stream; 1 when it is broken, naming the first broken link."""

    async def run(log: PostgresEventLog) -> int:
        if stream and not await log.stream_rows(stream):
            raise NotFound(f"{stream}: no such stream")
        broken = await log.verify(stream)
        what = stream or f"{await log.head()} events"
        say(f"broken: {broken}" if broken else f"whole: {what}; each event follows from the one before it")
        return 1 if broken else 0

    return _with_log(dsn, run)


def aside(where: Where, *, as_json: bool = False, say: Say = print) -> int:
    """Print what was set aside for a person to read: events that a service could not handle, and why."""

    async def run(log: ReadableLog) -> int:
        found = await log.asides()
        for one in found:
            say(formatting.aside_for_programs(one) if as_json else formatting.aside_for_people(one))
        if not found and not as_json:
            say("nothing was set aside")
        return 0

    return _reading(where, run)


def retry(dsn: str, consumer: str, position: int, *, say: Say = print) -> int:
    """Ask the service `consumer` to handle an event again that it had set aside. Raises NotFound when that service did
    not set the event aside."""

    async def run(log: PostgresEventLog) -> int:
        if not await log.ask_again(consumer, position):
            known = ", ".join(f"{one.consumer} {one.position}" for one in await log.asides()) or "nothing"
            raise NotFound(f"{consumer} {position}: not set aside; what was: {known}")
        say(f"{consumer} handles {position} once more when it is idle; `resolute log asides` tells what came of it")
        return 0

    return _with_log(dsn, run)


async def _mentions(log: ReadableLog, name: str) -> list[Row]:
    kind, _, identity = name.partition("-")
    return await log.rows_mentioning(_FIELDS.get(kind, (f"{kind}_id",)), identity) if identity else []


def _print(rows: list[Row], as_json: bool, say: Say) -> None:
    for row in rows:
        say(formatting.for_programs(row) if as_json else formatting.for_people(row))


def _reading(where: Where, work: Callable[[ReadableLog], Awaitable[int]]) -> int:
    """Runs `work` on the log of a database, or on a log that is already open."""
    if isinstance(where, str):
        return _with_log(where, work)

    async def run() -> int:
        return await work(where)

    return asyncio.run(run())


def _with_log(dsn: str, work: Callable[[PostgresEventLog], Awaitable[int]]) -> int:
    async def run() -> int:
        async with _opened(dsn) as log:
            return await work(log)

    return asyncio.run(run())


@asynccontextmanager
async def _opened(dsn: str) -> AsyncIterator[PostgresEventLog]:
    log = await PostgresEventLog.open(dsn, migrating=False)
    try:
        yield log
    except asyncpg.UndefinedTableError as error:
        raise InvalidConfig("the database holds no event log: was the cluster ever started?") from error
    finally:
        await log.close()
