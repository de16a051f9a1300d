"""The event log on Postgres, which every cluster uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from importlib import resources
from typing import Any

import asyncpg

from resolute.eventlog import named_sql
from resolute.eventlog.chain import Break, Head, Row, compare_heads, follow
from resolute.eventlog.group_commit import GroupCommit
from resolute.eventlog.listener import LogListener
from resolute.eventlog.log import Appended, Aside, Snapshot, Sought
from resolute.eventlog.migrate import migrate
from resolute.eventlog.newest_events import Columns, NewestEvents
from resolute.eventlog.outages import patiently
from resolute.eventlog.rows import check_names, recorded_from, row_from
from resolute.eventlog.shared_query import SharedQuery
from resolute.eventlog.steps import in_steps
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Cause, Event, Recorded
from resolute.proto.streams import name_of

SCHEMA = "eventlog"

_SQL_FILES = resources.files("resolute.eventlog") / "sql"
READ = named_sql.load(_SQL_FILES / "read.sql")
KEEP = named_sql.load(_SQL_FILES / "keep.sql")

_IDLE_S = 20.0
"""A connection that nothing used for this long is closed: each is a process of Postgres with 13 MB of its own and
shared memory, and the services use several at once while they start."""
_CONNECT_TIMEOUT_S = 5.0
_POLL_S = 1.0
_POLL_ALONE_S = 0.05
"""How often the log is read for new events while no connection listens for them."""

_SESSION = {
    "application_name": "resolute eventlog",
    "default_transaction_isolation": "read committed",  # what docs/decisions/0002 rests on
    "jit": "off",
}
_WRITER_SESSION = {
    **_SESSION,
    "synchronous_commit": "on",
    # Every look-up of an append is by key; plans are made while the tables are small, and kept while they grow.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


class _Connection(asyncpg.Connection):  # type: ignore[misc]
    """A pooled connection that is not reset between uses, which saves a round trip: no statement changes its
    session."""

    def get_reset_query(self) -> str:
        return ""


class PostgresEventLog:
    """The `EventLog` of clusters, made by `open`. It owns a pool of connections for reading, one connection for
    appending, and one that listens for appends of other processes.

    During an outage of Postgres, calls wait for up to `patience_s` and then raise Unavailable.
    """

    def __init__(self, dsn: str, pool: asyncpg.Pool, patience_s: float, attempt_s: float) -> None:
        self._dsn, self._pool, self._patience_s, self._attempt_s = dsn, pool, patience_s, attempt_s
        self._listener = LogListener(lambda: _connect(dsn, _SESSION), READ["head"])
        self._writer = Writer(dsn, patience_s, attempt_s)
        self._newest = NewestEvents()
        self._head_now = SharedQuery(self.head)
        self._asked_again_now = SharedQuery(lambda: self._fetch(KEEP["asked_again"]))
        self._commits = GroupCommit(self._writer.append, self._find_cause, self._committed)

    @classmethod
    async def open(
        cls, dsn: str, *, patience_s: float = 5.0, attempt_s: float = 30.0, readers: int = 4, migrating: bool = True
    ) -> PostgresEventLog:
        """Connect to the database at `dsn` and bring the log's schema up to date, unless `migrating` is off.

        `attempt_s`: how long one statement may take before Postgres counts as away. `readers`: how many reads may run
        at once. Raises Unavailable when there is no database, InvalidConfig when `dsn` is wrong, and Refused when a
        newer release has changed the schema so that this one cannot use it.
        """
        try:
            if migrating:
                await patiently(lambda: _migrate(dsn), patience_s, attempt_s)
            return await patiently(lambda: cls._open(dsn, patience_s, attempt_s, readers), patience_s, attempt_s)
        except (
            asyncpg.ClientConfigurationError,
            asyncpg.InvalidAuthorizationSpecificationError,
            asyncpg.InvalidCatalogNameError,
        ) as error:
            raise InvalidConfig(f"the DSN of the log's database opens none: {error}") from error

    @classmethod
    async def _open(cls, dsn: str, patience_s: float, attempt_s: float, readers: int) -> PostgresEventLog:
        pool = await asyncpg.create_pool(
            dsn,
            min_size=1,
            max_size=readers,
            connection_class=_Connection,
            server_settings=_SESSION,
            timeout=_CONNECT_TIMEOUT_S,
            max_inactive_connection_lifetime=_IDLE_S,
        )
        log = cls(dsn, pool, patience_s, attempt_s)
        log._listener.start()
        return log

    async def close(self) -> None:
        await self._commits.close()
        await self._listener.close()
        self._head_now.close()
        self._asked_again_now.close()
        self._writer.close()
        self._pool.terminate()

    # ---------------------------------------------------------------- appending

    async def append(self, stream: str, events: Sequence[Event], *, expected_version: int, cause: Cause) -> Appended:
        check_names(stream, cause)
        return await self._commits.append(stream, events, expected_version, cause)

    def _committed(self, rows: list[Columns]) -> None:
        if rows:
            self._newest.keep(rows)
            self._listener.advance(max(position for position, *_ in rows))

    async def _find_cause(self, stream: str, cause_id: str) -> list[Recorded]:
        return await _all_recorded(await self._fetch(READ["read_cause"], stream, cause_id))

    # ---------------------------------------------------------------- reading

    async def read_stream(self, stream: str, after_version: int = 0, limit: int | None = None) -> list[Recorded]:
        return await _all_recorded(await self._fetch(READ["read_stream"], stream, after_version, limit))

    async def stream_names(self, category: str) -> list[str]:
        return [row["stream"] for row in await self._fetch(READ["streams"], name_of(category, ""))]

    async def read_all(self, after: int, limit: int = 1000) -> list[Recorded]:
        recorded = await _all_recorded(await self._fetch(READ["read_all"], after, limit))
        if recorded:
            assert recorded[0].position == after + 1, f"the log has a gap after position {after}"
            assert recorded[-1].position == after + len(recorded), f"the log has a gap within {limit} after {after}"
            self._listener.advance(recorded[-1].position)
        return recorded

    async def read_next(self, after: int, limit: int = 1000) -> list[Recorded]:
        if rows := self._newest.after(after, limit):
            return await _all_recorded(rows)
        return await self.read_all(after, limit)

    async def find(self, sought: Sought, limit: int) -> list[Row]:
        asked = (sought.stream, sought.caused_by, sought.correlation_id, list(sought.types), list(sought.fields))
        wanted = [one or None for one in asked]
        rows = await self._fetch(READ["find"], sought.after, *wanted, list(sought.values), limit)
        return [row_from(columns) for columns in rows]

    async def head(self) -> int:
        position: int = (await self._fetch(READ["head"]))[0][0]
        self._listener.advance(position)
        return position

    async def wait_beyond(self, position: int, timeout_s: float) -> bool:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while self._listener.position <= position:
            left = deadline - loop.time()
            if left <= 0:
                return await self._head_now.answer() > position
            await self._listener.wait_for_growth(min(left, _POLL_S if self._listener.listening else _POLL_ALONE_S))
            if self._listener.position <= position and deadline > loop.time():
                await self.head()
        return True

    # ---------------------------------------------------------------- beside the log

    async def reserve(self, sequence: str, count: int = 1) -> range:
        assert count > 0, f"reserving {count} numbers of {sequence}"
        first = (await self._fetch(KEEP["reserve"], sequence, count))[0][0]
        return range(first, first + count)

    async def load_snapshot(self, stream: str, schema: str) -> Snapshot | None:
        rows = await self._fetch(KEEP["load_snapshot"], stream, schema)
        return Snapshot(*rows[0]) if rows else None

    async def save_snapshot(self, snapshot: Snapshot) -> None:
        await self._fetch(KEEP["save_snapshot"], snapshot.stream, snapshot.version, snapshot.schema, snapshot.state)

    async def load_position(self, consumer: str) -> int:
        rows = await self._fetch(KEEP["load_position"], consumer)
        return rows[0][0] if rows else 0

    async def save_position(self, consumer: str, position: int) -> None:
        await self._fetch(KEEP["save_position"], consumer, position)

    async def set_aside(self, consumer: str, position: int, error: str) -> None:
        await self._fetch(KEEP["set_aside"], consumer, position, error.replace("\0", "\N{SYMBOL FOR NULL}"))

    async def ask_again(self, consumer: str, position: int) -> bool:
        return bool(await self._fetch(KEEP["ask_again"], consumer, position))

    async def asked_again(self, consumer: str) -> list[int]:
        return [position for name, position in await self._asked_again_now.answer() if name == consumer]

    async def settle(self, consumer: str, position: int) -> None:
        await self._fetch(KEEP["settle"], consumer, position)

    async def begin_attempt(self, consumer: str, position: int, run: str) -> int:
        others: int = (await self._fetch(KEEP["begin_attempt"], consumer, position, run))[0][0]
        return others

    async def forget_attempts(self, consumer: str, position: int, run: str | None = None) -> None:
        await self._fetch(KEEP["forget_attempts"], consumer, position, run)

    async def forget_attempts_of(self, prefix: str, *, but: str) -> None:
        await self._fetch(KEEP["forget_attempts_of"], prefix, but)

    async def _fetch(self, sql: str, *arguments: Any) -> Sequence[Any]:
        """For statements that may be run twice: they read, or have the same effect when repeated."""
        return await patiently(lambda: self._fetch_once(sql, arguments), self._patience_s, self._attempt_s)

    async def _fetch_once(self, sql: str, arguments: Sequence[Any]) -> Sequence[Any]:
        connection = await self._pool.acquire()
        try:
            rows: Sequence[Any] = await connection.fetch(sql, *arguments)
        except asyncio.CancelledError:
            connection.terminate()  # otherwise the release below would wait for a server that may be frozen
            raise
        finally:
            await self._pool.release(connection)
        return rows

    # ---------------------------------------------------------------- the hash chain

    async def rows(self, after: int = 0, batch: int = 2000) -> AsyncIterator[list[Row]]:
        """The events after position `after`, undecoded, in batches."""
        while found := await self._fetch(READ["read_all"], after, batch):
            rows = [row_from(columns) for columns in found]
            after = rows[-1].position
            yield rows

    async def stream_rows(self, stream: str) -> list[Row]:
        """One stream undecoded."""
        return [row_from(columns) for columns in await self._fetch(READ["read_stream"], stream, 0, None)]

    async def rows_of_types(self, stream: str, types: Sequence[str]) -> list[Row]:
        """The events of these types in one stream, undecoded."""
        return [row_from(columns) for columns in await self._fetch(READ["read_types"], stream, list(types))]

    async def rows_mentioning(self, fields: Sequence[str], *values: str) -> list[Row]:
        """The events of all streams with one of `values` in one of these fields of their data. Reads the whole log."""
        found = await self._fetch(READ["read_mentioning"], list(fields), list(values))
        return [row_from(columns) for columns in found]

    async def rows_caused_by(self, stream: str, cause_id: str) -> list[Row]:
        """The events that were appended to a stream together under one cause, undecoded."""
        return [row_from(columns) for columns in await self._fetch(READ["read_cause"], stream, cause_id)]

    async def row_at(self, position: int) -> Row | None:
        """One event undecoded."""
        found = await self._fetch(READ["read_all"], position - 1, 1)
        return row_from(found[0]) if found and found[0][0] == position else None

    async def asides(self) -> list[Aside]:
        """What consumers could not handle, the oldest note first."""
        return [Aside(*columns) for columns in await self._fetch(READ["asides"])]

    async def verify(self, stream: str | None = None) -> Break | None:
        """See `EventLog.verify`; with `stream`, checks that stream alone. Events appended meanwhile are not checked."""
        kept = await self._fetch(READ["heads"], stream)
        expected = {name: Head(version, head_hash.hex()) for name, version, head_hash, _ in kept}
        walked: dict[str, Head] = {}
        if stream is not None:
            rows = [row for row in await self.stream_rows(stream) if row.version <= expected[stream].version]
            return follow(rows, walked, after=None) or compare_heads(walked, expected)
        after, end = 0, kept[0][3] if kept else 0
        async for batch in self.rows():
            if broken := follow([row for row in batch if row.position <= end], walked, after):
                return broken
            after = batch[-1].position
        return compare_heads(walked, expected)


class Writer:
    """The connection for appending. It is opened when it is first needed, and again after it broke."""

    def __init__(self, dsn: str, patience_s: float, attempt_s: float) -> None:
        self._dsn, self._patience_s, self._attempt_s = dsn, patience_s, attempt_s
        self._connection: asyncpg.Connection | None = None

    async def append(self, *arguments: str) -> Sequence[Any]:
        """One round trip, one transaction. Repeating it is safe: a cause that a first attempt wrote is recognised."""
        return await patiently(lambda: self._once(arguments), self._patience_s, self._attempt_s)

    async def _once(self, arguments: Sequence[str]) -> Sequence[Any]:
        if self._connection is None or self._connection.is_closed():
            self._connection = await _connect(self._dsn, _WRITER_SESSION)
        try:
            rows: Sequence[Any] = await self._connection.fetch(KEEP["append"], *arguments)
        except asyncio.CancelledError:
            # A late answer to this statement must not be taken for the answer to the next one.
            self._connection.terminate()
            raise
        return rows

    def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()


async def _migrate(dsn: str) -> None:
    connection = await _connect(dsn, _SESSION)
    try:
        await migrate(connection, "resolute.eventlog", SCHEMA)
    finally:
        await connection.close()


async def _connect(dsn: str, session: dict[str, str]) -> asyncpg.Connection:
    return await asyncpg.connect(dsn, server_settings=session, timeout=_CONNECT_TIMEOUT_S)


async def _all_recorded(rows: Sequence[Any]) -> list[Recorded]:
    """Decodes in steps, between which other work of the event loop runs: a page of 1,000 events takes up to 0.1 s."""
    return [recorded_from(row) async for part in in_steps(rows) for row in part]
