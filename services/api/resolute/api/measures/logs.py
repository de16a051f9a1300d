"""The store of task logs: every line a task printed, in the order it was stored, with filters and a way to follow."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from resolute.api.database import outages
from resolute.api.measures.group_writer import GroupWriter
from resolute.api.measures.log_text import all_stored, printed, stored, stored_pattern
from resolute.config.log_patterns import problem_with
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import LogLine

SEARCH_S = 20.0
"""How long Postgres may look for one page of lines."""

LOOK_AGAIN_S = 1.0
"""Another gateway may have stored a line, which tells nobody here."""

NO_RANK = -1
"""Of a line that no rank of a task printed."""

LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@dataclass(frozen=True, slots=True)
class StoredLine:
    id: int
    line: LogLine


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which lines are wanted; what is empty does not narrow."""

    levels: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    allocations: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    stdtypes: tuple[str, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    text: str = ""
    regex: bool = False


@dataclass(frozen=True, slots=True)
class LogFields:
    """The distinct values there are to filter by, in order."""

    agents: tuple[str, ...] = ()
    allocations: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    stdtypes: tuple[str, ...] = ()


FIELDS = """SELECT array_agg(DISTINCT agent_id), array_agg(DISTINCT allocation_id), array_agg(DISTINCT container_id),
    array_agg(DISTINCT rank), array_agg(DISTINCT source), array_agg(DISTINCT stdtype)
FROM measures.task_logs WHERE task_id = ANY($1::text[])"""
"""In the order of `LogFields`."""

# The lock is held until commit, so that the order of ids is the order in which lines become visible, also across
# gateways: a reader that goes on from the last id it saw misses nothing. A line gets its id when it is inserted, after
# its row came out of the join, and so after the lock was taken.
INSERT = """
WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(7_201_100))
INSERT INTO measures.task_logs
    (task_id, allocation_id, container_id, rank, sequence, at, level, stdtype, source, agent_id, text)
SELECT line.* FROM turn, unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::timestamptz[],
                                $7::text[], $8::text[], $9::text[], $10::text[], $11::text[]) AS line
ON CONFLICT DO NOTHING
"""

LINE = "id, task_id, allocation_id, container_id, rank, sequence, at, level, stdtype, source, agent_id, text"

NEWEST = "SELECT max(id) FROM measures.task_logs WHERE task_id = $1"

HOLDING = """SELECT asked.task_id FROM unnest($1::text[]) AS asked (task_id)
WHERE EXISTS (SELECT FROM measures.task_logs l WHERE l.task_id = asked.task_id)"""

PAGE_BYTES = 1_048_576
"""Of text, after which a page ends: a reader that is slow to take its page holds no more than that of the memory."""

_COLUMN = {
    "ranks": "rank = ANY({}::int[])",
    "levels": "level = ANY({}::text[])",
    "allocations": "allocation_id = ANY({}::text[])",
    "containers": "container_id = ANY({}::text[])",
    "agents": "agent_id = ANY({}::text[])",
    "sources": "source = ANY({}::text[])",
    "stdtypes": "stdtype = ANY({}::text[])",
}


class LogStore:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._writer: GroupWriter[LogLine] = GroupWriter(self._insert)
        self._grown: dict[str, asyncio.Event] = {}
        """By the tasks that somebody waits for."""

    async def add(self, lines: Sequence[LogLine]) -> None:
        """Durable when it returns; a line that is there already is left as it is."""
        await self._writer.add(lines, sum(len(line.text) for line in lines))

    async def _insert(self, lines: Sequence[LogLine]) -> None:
        columns: tuple[Sequence[Any], ...] = (
            [line.task_id for line in lines],
            [line.allocation_id for line in lines],
            [line.container_id for line in lines],
            [line.rank for line in lines],
            [line.sequence for line in lines],
            [line.at for line in lines],
            [line.level for line in lines],
            [line.stdtype for line in lines],
            [line.source for line in lines],
            [line.agent_id for line in lines],
            all_stored([line.text for line in lines]),
        )
        with outages():
            await self._pool.execute(INSERT, *columns)  # one statement is a transaction of its own
        for task_id in set(columns[0]):
            if (grown := self._grown.pop(task_id, None)) is not None:
                grown.set()

    async def read(
        self,
        task_ids: Sequence[str],
        wanted: LogFilter,
        *,
        beyond: int = 0,
        limit: int = 0,
        newest_first: bool = False,
    ) -> list[StoredLine]:
        """The lines next to id `beyond`, in order of ids, or from the newest back; 0 begins. `limit` 0 is 5,000.

        There may be more lines than a page has, even where it has fewer than `limit`: only an empty page is the end.
        """
        where, values = _conditions(wanted)
        order, side = ("DESC", "<") if newest_first else ("ASC", ">")
        start = beyond or (2**63 - 1 if newest_first else 0)
        query = (
            f"SELECT {LINE} FROM (SELECT *, sum(octet_length(text)) OVER (ORDER BY id {order}) - octet_length(text) "
            "AS before_bytes FROM ("
            f"SELECT {LINE} FROM measures.task_logs WHERE task_id = ANY($1::text[]) AND id {side} $2 {where} "
            f"ORDER BY id {order} LIMIT $3) page) counted WHERE before_bytes < {PAGE_BYTES} ORDER BY id {order}"
        )
        _check_pattern(wanted)
        with outages(), _searching(wanted):
            rows = await self._pool.fetch(query, list(task_ids), start, limit or 5000, *values, timeout=SEARCH_S)
        return [_stored(row) for row in rows]

    async def grown(self, task_id: str, timeout_s: float) -> None:
        """Wait until this gateway stores a line of the task, or `timeout_s` passes: others may have stored one."""
        event = self._grown.setdefault(task_id, asyncio.Event())
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            if self._grown.get(task_id) is event:  # others who wait for it look again by themselves, too
                del self._grown[task_id]

    async def fields(self, task_ids: Sequence[str]) -> LogFields:
        with outages():
            row = await self._pool.fetchrow(FIELDS, list(task_ids))
        return LogFields(*(tuple(sorted(v for v in (found or ()) if v not in ("", NO_RANK))) for found in row or ()))

    async def newest(self, task_id: str) -> int:
        """The id of the line of the task that was stored last; 0 where there is none."""
        with outages():
            return await self._pool.fetchval(NEWEST, task_id) or 0

    async def holding(self, task_ids: Sequence[str]) -> set[str]:
        """Those of the tasks that have lines."""
        with outages():
            return {task_id for (task_id,) in await self._pool.fetch(HOLDING, list(task_ids))}


async def follow(
    store: LogStore,
    task_ids: Sequence[str],
    wanted: LogFilter,
    over: Callable[[], Awaitable[bool]],
    news: Callable[[float], Awaitable[object]],
    *,
    after_id: int = 0,
) -> AsyncIterator[list[StoredLine]]:
    """Lines as they come, until `await over()` says that the task has ended and all its lines were given. `news` waits
    for its end, or so many seconds."""
    while True:
        ended = await over()
        while lines := await store.read(task_ids, wanted, beyond=after_id):
            yield lines
            after_id = lines[-1].id
        if ended:
            return
        await _first(store.grown(task_ids[-1], timeout_s=LOOK_AGAIN_S), news(LOOK_AGAIN_S))


async def _first(*waits: Awaitable[object]) -> None:
    """Returns with the first of them, and gives the others up."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def sequence_of(request_id: str, place: int) -> int:
    """A number for the line at `place` of a request whose sender counts no lines: 63 bits of SHA-256.

    The same request sent again under its Idempotency-Key gives the same numbers. What a line says, and when, is no part
    of it: a program may print one line twice within one microsecond.
    """
    digest = hashlib.sha256(f"{request_id}|{place}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _conditions(wanted: LogFilter) -> tuple[str, list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []

    def narrow(clause: str, value: Any) -> None:
        values.append(value)
        clauses.append(clause.format(f"${len(values) + 3}"))

    for name, clause in _COLUMN.items():
        if value := getattr(wanted, name):
            narrow(clause, list(value))
    if wanted.after is not None:
        narrow("at > {}", wanted.after)
    if wanted.before is not None:
        narrow("at <= {}", wanted.before)
    if wanted.text:
        if wanted.regex:
            narrow("text ~ {}", stored_pattern(wanted.text))
        else:
            narrow("position({} in text) > 0", stored(wanted.text))
    return "".join(f" AND {clause}" for clause in clauses), values


def _check_pattern(wanted: LogFilter) -> None:
    """Raises InvalidConfig for a pattern that RE2 would not take: what it takes is bounded in size and has no back
    references, which alone let Postgres' own expressions need more than time linear in a line."""
    if not wanted.regex or not wanted.text:
        return
    refers_back = _BACK_REFERENCE.search(wanted.text) is not None
    if problem := "it has a back reference" if refers_back else problem_with(wanted.text):
        raise InvalidConfig(
            f"searchText: not a regular expression of RE2 ({problem}); found {wanted.text[:80]!r}; look for plain "
            "text by leaving enableRegex out"
        )


_BACK_REFERENCE = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]")


@contextmanager
def _searching(wanted: LogFilter) -> Iterator[None]:
    """Turns Postgres' word on a pattern, and a search without end, into the user's error."""
    try:
        yield
    except asyncpg.exceptions.InvalidRegularExpressionError as error:
        raise InvalidConfig(f"searchText: not a regular expression ({error})") from error
    except TimeoutError as error:
        if not wanted.text:
            raise
        raise InvalidConfig(
            f"searchText: the search took longer than {SEARCH_S:.0f} s; narrow it with timestampAfter and "
            "timestampBefore, or with rankIds"
        ) from error


def _stored(row: asyncpg.Record) -> StoredLine:
    return StoredLine(
        row["id"],
        LogLine(
            task_id=row["task_id"],
            allocation_id=row["allocation_id"],
            rank=row["rank"],
            sequence=row["sequence"],
            at=row["at"],
            level=row["level"],
            stdtype=row["stdtype"],
            text=printed(row["text"]),
            agent_id=row["agent_id"],
            container_id=row["container_id"],
            source=row["source"],
        ),
    )
