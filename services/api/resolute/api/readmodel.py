"""The read model in Postgres: fed by following the log, caught up at once when a handler must show what it wrote.

The events of a batch and the position they bring it to are one transaction, and the position's row is locked in
it: any number of gateways feed the same tables, and each event is applied once. Each version of the projections has
tables of its own, in a Postgres schema of its own: gateways of two releases work side by side (docs/decisions/0038).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import asyncpg
import structlog
from prometheus_client import Counter

from resolute.api.database import outages
from resolute.api.projections import DDL, SCHEMA, VERSION, WRITTEN_FOR, project
from resolute.api.projections.batches import groups
from resolute.eventlog import EventLog
from resolute.proto.errors import Unavailable
from resolute.proto.message import Recorded

log_ = structlog.get_logger()

UNSHOWN = Counter("resolute_unshown_events", "Events set aside because no row could be made of them.")

LOCK = 0x7265_6164  # "read": one gateway makes the schema while the others wait

PAGE = 500

POSITION = f"SELECT position FROM read_v1.progress WHERE version = {VERSION}"

BEGIN = f"INSERT INTO read_v1.progress (position, version) VALUES (0, {VERSION})"

ADVANCE = f"UPDATE read_v1.progress SET position = {{to:d}} WHERE position = {{believed:d}} AND version = {VERSION}"

DURABLY = "BEGIN; "

SOON_DURABLY = "BEGIN; SET LOCAL synchronous_commit = off; "
"""For tables that nobody reads yet: what a power cut takes away grows again."""

SETTLE = "UPDATE read_v1.progress SET position = position"

EXPERIMENT_OF = "SELECT experiment_id FROM read_v1.checkpoints WHERE uuid = $1"

TRY_ALONE = "SELECT pg_try_advisory_lock($1, hashtext($2))"

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY tablename"


class TablesLost(Unavailable):
    """The tables are not there: somebody dropped them. They have to be grown again before anything is answered."""


class ReadModel:
    """A `Consumer` of the log, and the tables it fills."""

    def __init__(self, pool: asyncpg.Pool, log: EventLog, schema: str = SCHEMA, *, asides: str = "") -> None:
        """`schema`: where the tables are; another than the usual one is how a rebuilt model stands beside it.
        `asides`: the name under which events are set aside, if not the schema's."""
        self._pool, self._log, self._schema, self._asides = pool, log, schema, asides or schema
        self._refused: set[int] = set()
        """The positions of what was set aside by this object."""
        self._position = 0
        self._one_at_a_time = asyncio.Lock()
        self._begin = DURABLY
        self.lost = asyncio.Event()
        """Set when the tables were found missing, until `prepare` has made them."""

    @property
    def schema(self) -> str:
        return self._schema

    @property
    def shown(self) -> int:
        """The position up to which the tables are known to show the log; they may be further by now."""
        return self._position

    async def prepare(self) -> None:
        """Make the tables when they are not there. Tables of other versions are left alone."""
        with outages():
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
                if await connection.fetchval("SELECT to_regclass($1)", f"{self._schema}.progress") is None:
                    await connection.execute(self._in_schema(DDL.read_text()))
                    await connection.execute(self._in_schema(BEGIN))
        self._position = 0
        self.lost.clear()

    async def drop(self) -> None:
        """Forget everything; `prepare` and catching up tell it again."""
        with outages():
            await self._pool.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE")
        self._position = 0

    async def position(self) -> int:
        """Where the tables stand. Raises TablesLost when they show less than they did: they are growing anew."""
        before = self._position  # what others of this process show while the question travels comes on top
        found = int(await self.value(POSITION) or 0)
        if found < before:
            self._lost()
            raise TablesLost(f"the tables that answers come from are growing anew: they show {found} events so far")
        self._position = max(self._position, found)
        return self._position

    def _lost(self) -> None:
        self._position = 0
        self.lost.set()

    async def handle(self, batch: Sequence[Recorded]) -> None:
        """Show what is new in `batch`, durably: a gateway that has shown something never shows less afterwards.

        An event that no row can be made of is set aside for a person to read, and the others are shown.
        """
        async with self._one_at_a_time:
            if batch[-1].position > self._position:  # what a handler waited for is shown by the time it is heard
                await self._handle(batch)

    async def _handle(self, batch: Sequence[Recorded]) -> None:
        try:
            await self._apply(batch)
        except Unavailable:
            raise
        except Exception as error:
            if len(batch) > 1:
                for recorded in batch:
                    await self._handle([recorded])
                return
            log_.exception("an event that cannot be shown", event_id=batch[0].id, kind=type(batch[0].event).__name__)
            await self._log.set_aside(self._asides, batch[0].position, repr(error))
            self._refused.add(batch[0].position)
            UNSHOWN.inc()
            await self._apply(batch, skip=True)

    async def _apply(self, batch: Sequence[Recorded], *, skip: bool = False) -> None:
        with self._known_errors():
            async with self._pool.acquire() as connection:
                while fresh := [recorded for recorded in batch if recorded.position > self._position]:
                    believed = self._position  # answers ask for the position, and may raise it meanwhile
                    follows = fresh[0].position == believed + 1
                    if follows and await self._written(connection, fresh, skip=skip):
                        self._position = fresh[-1].position
                        return
                    # Another gateway went ahead, or the tables were grown anew meanwhile and are not there yet.
                    self._position = await self._stands_at(connection)
                    if self._position < believed:
                        self._lost()
                        raise TablesLost(f"the tables stood at {believed}, and are growing anew")
                    if self._position == believed:
                        raise Unavailable(f"the tables stand at {believed}, not before {fresh[0].position}: read again")

    async def _stands_at(self, connection: asyncpg.Connection) -> int:
        return int(await connection.fetchval(self._in_schema(POSITION)) or 0)

    async def _written(self, connection: asyncpg.Connection, fresh: Sequence[Recorded], *, skip: bool) -> bool:
        """Whether `fresh` was applied: it is not when the tables do not stand where we believe.

        The transaction begins in one journey with its first statement, which locks the position's row.
        """
        changes = () if skip else [change for recorded in fresh for change in project(recorded)]
        advance = self._begin + ADVANCE.format(to=fresh[-1].position, believed=self._position)
        try:
            if await connection.execute(self._in_schema(advance)) != "UPDATE 1":
                await connection.execute("ROLLBACK")
                return False
            for sql, arguments in groups(changes):
                await connection.executemany(self._in_schema(sql), arguments)
            await connection.execute("COMMIT")
        except BaseException:
            connection.terminate()  # whatever happened, nobody is given a connection in the midst of a transaction
            raise
        return True

    async def again(self) -> None:
        """Show what was set aside and is asked for again. Shown out of its order it could undo what came later: all
        tables are grown anew, beside the ones that answers come from, and then take their place."""
        asked = await self._log.asked_again(self._asides)
        if not asked:
            return
        with self._known_errors():
            async with self._pool.acquire() as connection:
                if await connection.fetchval(TRY_ALONE, LOCK, f"{self._schema} again"):
                    try:
                        await self._replace(connection, asked)
                    finally:
                        connection.terminate()  # the lock goes with it

    async def _replace(self, connection: asyncpg.Connection, asked: Sequence[int]) -> None:
        anew = ReadModel(self._pool, self._log, f"{self._schema}_anew", asides=self._asides)
        await anew.drop()
        await anew.prepare()
        with anew.growing():
            await anew.catch_up()
        await anew.settle()
        while True:
            async with connection.transaction():
                shown = await connection.fetchval(self._in_schema(f"{POSITION} FOR UPDATE"))
                if shown <= anew.shown:
                    await connection.execute(f"DROP SCHEMA {self._schema} CASCADE")
                    await connection.execute(f"ALTER SCHEMA {anew.schema} RENAME TO {self._schema}")
                    break
            await anew.reached(shown)  # another gateway went on meanwhile
        for position in set(asked) - anew._refused:
            await self._log.settle(self._asides, position)
        log_.info("the tables were grown anew", schema=self._schema, asked_for=list(asked))

    async def reached(self, position: int) -> None:
        """Return once the tables show everything up to `position`."""
        while self._position < position:
            async with self._one_at_a_time:
                if self._position < position:
                    await self._step()

    async def catch_up(self) -> None:
        """Show everything the log holds now, and make sure that the tables still do."""
        await self.position()
        await self.reached(await self._log.head())

    async def _step(self) -> None:
        """One page nearer. Another gateway may have gone ahead: then its position is the place to read from."""
        events = await self._log.read_next(self._position or await self.position(), PAGE)
        if events:
            await self._handle(events)

    @contextmanager
    def growing(self) -> Iterator[None]:
        """Within this, what is shown is not made durable at once: for tables that nobody reads yet."""
        self._begin = SOON_DURABLY
        try:
            yield
        finally:
            self._begin = DURABLY

    async def settle(self) -> None:
        """Make durable all that was shown so far, and let the database learn how large the tables have become."""
        await self.value(SETTLE)
        for name in await self.rows(TABLES, self._schema):
            await self.value(f"ANALYZE {self._schema}.{name[0]}")

    async def rows(self, sql: str, *args: Any) -> list[asyncpg.Record]:
        with self._known_errors():
            rows: list[asyncpg.Record] = await self._pool.fetch(self._in_schema(sql), *args)
        return rows

    async def row(self, sql: str, *args: Any) -> asyncpg.Record | None:
        with self._known_errors():
            return await self._pool.fetchrow(self._in_schema(sql), *args)

    async def value(self, sql: str, *args: Any) -> Any:
        with self._known_errors():
            return await self._pool.fetchval(self._in_schema(sql), *args)

    def _in_schema(self, sql: str) -> str:
        return sql.replace(WRITTEN_FOR, self._schema)

    @contextmanager
    def _known_errors(self) -> Iterator[None]:
        """Raises Unavailable while the database is away, and TablesLost when the tables are not there."""
        try:
            with outages():
                yield
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError) as error:
            self._lost()
            raise TablesLost(
                f"the tables that answers come from are gone, and have to be grown again: {error}"
            ) from error

    async def experiment_of(self, checkpoint: str) -> int | None:
        """The experiment a checkpoint belongs to. One that is not found is looked for on the newest state."""
        found = await self.value(EXPERIMENT_OF, checkpoint)
        if found is None:
            await self.catch_up()
            found = await self.value(EXPERIMENT_OF, checkpoint)
        return None if found is None else int(found)

    async def begun_from(self, checkpoint: str) -> frozenset[int]:
        """The experiments whose trials began from a checkpoint."""
        rows = await self.rows("SELECT DISTINCT experiment_id FROM read_v1.trials WHERE warm_start = $1", checkpoint)
        return frozenset(row["experiment_id"] for row in rows)
