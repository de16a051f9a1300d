"""The read model: the tables of all slices, which of their versions answers come from, and reading them.

Every slice has tables of its own for each version of its projection, in a Postgres schema of its own
(`read_trials_v2`). SQL names them without the version, `read_trials.runs`; the version is put in here. While the tables
of a new version grow, a slice whose queries can read an earlier version answers from that one; a query of a slice that
cannot is refused with `Growing`, which says when to come again (docs/decisions/0066).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg
import structlog

from resolute.api.kernel.feed import Feed, NotShown, TablesLost, caught_up, known_errors
from resolute.api.kernel.regrowth import LOCK, regrown
from resolute.api.kernel.rows import Projection, schema_of
from resolute.api.kernel.tables import SliceTables
from resolute.eventlog import EventLog
from resolute.proto.message import Recorded

log_ = structlog.get_logger()

T = TypeVar("T")

PAGE = 500

BORROWED_BEHIND = 10_000
"""Tables of an earlier version that are further behind the log than this have no gateway any more."""

REMEMBERED_STATEMENTS = 2_000

LOOK_EVERY_S = 0.02

LOOKED_FOR_S = 2.0
"""How long an answer waits for tables of an earlier version, which another gateway brings forward."""

NAME = re.compile(r"\bread_([a-z_]+)\.")
"""Where SQL names the tables of a slice."""


class Growing(NotShown):
    """The tables of a slice are still growing, and there are none that can be read instead."""

    def __init__(self, slice_: str, progress: Progress) -> None:
        super().__init__(f"the tables of {slice_} are still growing from the log: {progress}; try again later")
        self.retry_after_s = progress.ask_again_s


ASK_AGAIN_MOST_S = 30


@dataclass(frozen=True, slots=True)
class Progress:
    """How far tables have grown, and how long the rest may take."""

    shown: int
    head: int
    per_s: float

    @property
    def ask_again_s(self) -> int:
        """When a client may come again: as soon as the rest may have grown, within bounds."""
        if self.per_s <= 0:
            return 1
        return max(1, min(ASK_AGAIN_MOST_S, round((self.head - self.shown) / self.per_s)))

    def __str__(self) -> str:
        done = 100 * self.shown // max(self.head, 1)
        return f"{self.shown} of {self.head} events ({done} %), {self.per_s:.0f} events/s"


class Borrowed:
    """The tables of an earlier version of a slice, which a gateway of that version brings forward."""

    def __init__(self, schema: str, position: int) -> None:
        self.schema, self.position = schema, position
        self._readers = 0
        self._free = asyncio.Event()
        self._free.set()
        self._open = asyncio.Event()
        self._open.set()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[None]:
        """While somebody reads them. Waits while answers are moved to the new tables."""
        await self._open.wait()
        self._readers += 1
        self._free.clear()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self._free.set()

    @asynccontextmanager
    async def closed(self) -> AsyncIterator[None]:
        """While nobody reads them."""
        self._open.clear()
        try:
            await self._free.wait()
            yield
        finally:
            self._open.set()


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    """SQL that names the tables as they are called in Postgres."""
    lent: tuple[Borrowed, ...]
    """Those among them that belong to an earlier version."""


class ReadModel:
    """A `Consumer` of the log, and the tables it fills."""

    def __init__(
        self, pool: asyncpg.Pool, log: EventLog, projections: Iterable[Projection], *, suffix: str = ""
    ) -> None:
        """`suffix`: what the names of the schemas end in, for a read model that is grown beside the usual one."""
        self.pool, self.log, self._suffix = pool, log, suffix
        self._projections = tuple(projections)
        self.things = {kind: thing for one in self._projections for kind, thing in one.things.items()}
        """The kinds of things that requests name, of all slices."""
        self.tables = [SliceTables(projection, suffix) for projection in self._projections]
        self._following = Feed(pool, log)
        self._borrowed: dict[str, Borrowed] = {}
        self._statements: dict[str, Statement] = {}
        self._turn = asyncio.Lock()
        self.lost = asyncio.Event()
        """Set when tables were found missing, until `prepare` has made them."""
        self.answerable = asyncio.Event()
        """Set while every slice can be answered about: from its tables, or from those of an earlier version."""
        self.follows = asyncio.Event()
        """Set while the tables of at least one slice follow the log."""
        self.growth = Progress(0, 0, 0)
        """Of the tables that grow."""

    # ------------------------------------------------------------ which tables there are

    @property
    def growing(self) -> list[SliceTables]:
        """Tables that do not follow the log yet."""
        return [one for one in self.tables if one not in self._following.tables]

    @property
    def used(self) -> dict[str, int]:
        """The schemas of the tables that are filled or read here, with the positions they are known to stand at."""
        own = {one.schema: one.shown for one in self.tables}
        return own | {one.schema: one.position for one in self._borrowed.values()}

    async def prepare(self) -> None:
        """Make the tables that are not there. Tables that show the whole log follow it from here on; the others have to
        grow first (`growth.grow`). Tables of other versions are left alone."""
        tables = [SliceTables(projection, self._suffix) for projection in self._projections]
        with known_errors():
            async with self.pool.acquire() as connection, connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
                for one in tables:
                    if await connection.fetchval("SELECT to_regclass($1)", f"{one.schema}.progress") is None:
                        await connection.execute(one.ddl())
        await Feed(self.pool, self.log, tables).stands()
        head = await self.log.head()
        lent = {one.projection.slice: await self._lent(one, head) for one in tables if one.position < head}
        self.tables = tables
        self._following = Feed(self.pool, self.log, [one for one in tables if one.position >= head])
        self._borrowed = {name: one for name, one in lent.items() if one is not None}
        self._statements.clear()
        self.growth = Progress(min(one.position for one in tables), head, 0)
        self.lost.clear()
        self._tell_how_it_stands()

    async def _lent(self, tables: SliceTables, head: int) -> Borrowed | None:
        """The latest earlier version that its queries can read, if gateways still bring it forward, and if it shows no
        less than the tables themselves, from which a gateway may have answered before it was restarted."""
        for version in sorted(tables.projection.also_reads, reverse=True):
            schema = schema_of(tables.projection.slice, version) + self._suffix
            position = await self._position_of(schema)
            if position is not None and position >= tables.position and head - position < BORROWED_BEHIND:
                return Borrowed(schema, position)
        return None

    async def _position_of(self, schema: str) -> int | None:
        with known_errors():
            if await self.pool.fetchval("SELECT to_regclass($1)", f"{schema}.progress") is None:
                return None
            position: int = await self.pool.fetchval(f"SELECT position FROM {schema}.progress")
        return position

    def _tell_how_it_stands(self) -> None:
        if self._following.tables:
            self.follows.set()
        else:
            self.follows.clear()
        if all(one.projection.slice in self._borrowed for one in self.growing):
            self.answerable.set()
        else:
            self.answerable.clear()

    async def joined(self, feed: Feed) -> None:
        """From now on these tables, which have grown, follow the log with the others, and answers come from them."""
        names = sorted(tables.projection.slice for tables in feed.tables)
        lent = [self._borrowed[name] for name in names if name in self._borrowed]
        async with _all_closed(lent):
            for one in lent:
                one.position = max(one.position, await self._position_of(one.schema) or 0)
            async with self._turn:
                # Whoever was told within this turn that answers show a position reads these tables afterwards.
                shown = (one.shown for one in self._following.tables)
                needed = max([await self.log.head(), *shown, *(one.position for one in lent)])
                await caught_up(feed, self.log, needed, PAGE, asyncio.Lock())
                for tables in feed.tables:
                    tables.forget()  # while they grew, far more rows were kept in memory
                self._following.add(feed.tables)
                for tables in feed.tables:
                    self._borrowed.pop(tables.projection.slice, None)
                self._statements.clear()
                self._tell_how_it_stands()

    async def drop(self) -> None:
        """Forget everything; `prepare` and growing tell it again."""
        with known_errors():
            for one in self.tables:
                await self.pool.execute(f"DROP SCHEMA IF EXISTS {one.schema} CASCADE")
        self._following = Feed(self.pool, self.log)
        self._borrowed = {}
        self._statements.clear()
        self._tell_how_it_stands()

    # ------------------------------------------------------------ following the log

    @property
    def shown(self) -> int:
        """The position up to which answers are known to show the log; the tables may be further by now."""
        lent = (one.position for one in self._borrowed.values())
        return min([*(one.shown for one in self._following.tables), *lent], default=0)

    async def position(self) -> int:
        """Where the tables stand that answers come from. Raises TablesLost when they are growing anew."""
        with self.noticing_loss():
            await self._following.look()
        for one in list(self._borrowed.values()):  # some may be given back meanwhile
            one.position = max(one.position, await self._position_of(one.schema) or 0)
        return self.shown

    async def handle(self, batch: Sequence[Recorded]) -> None:
        """Show what is new in `batch`, durably: a gateway that has shown something never shows less afterwards.

        An event that no row can be made of is set aside for a person to read, and the others are shown.
        """
        with self.noticing_loss():
            async with self._turn:
                await self._following.handle(batch)

    async def reached(self, position: int) -> None:
        """Return once answers show everything up to `position`. Raises Unavailable when that takes too long."""
        if not self._following.tables and not self._borrowed:
            raise Growing("every slice", self.growth)
        with self.noticing_loss():
            if self._following.tables:
                await caught_up(self._following, self.log, position, PAGE, self._turn)
        if any(one.position < position for one in self._borrowed.values()):
            await self._others_reach(position)

    async def _others_reach(self, position: int) -> None:
        """Wait for the gateways that bring the borrowed tables forward. Tables that none brings forward are given up:
        from then on, questions about their slices are refused until the slices' own tables have grown."""
        try:
            async with asyncio.timeout(LOOKED_FOR_S):
                while await self.position() < position:  # noqa: ASYNC110  (another process brings them there)
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            for name, one in list(self._borrowed.items()):
                if one.position < position:
                    del self._borrowed[name]
            self._statements.clear()
            self._tell_how_it_stands()

    async def catch_up(self) -> None:
        """Show everything the log holds now, and make sure that the tables still do."""
        await self.position()
        await self.reached(await self.log.head())

    @contextmanager
    def noticing_loss(self) -> Iterator[None]:
        """Tables that turn out to be missing within this context are no longer answered from, and `lost` is set."""
        following = self._following
        try:
            yield
        except TablesLost:
            if self._following is not following:
                raise  # `prepare` has made the tables anew since
            self._following = Feed(self.pool, self.log)
            self._statements.clear()
            self.answerable.clear()
            self.follows.clear()
            self.lost.set()
            raise

    async def again(self) -> None:
        """Show what was set aside and is asked for again. Shown out of its order it could undo what came later: the
        tables of the slice are grown anew, beside those that answers come from, and then take their place."""
        for one in list(self._following.tables):
            asked = await self.log.asked_again(one.asides)
            if asked:
                await regrown(self.pool, self.log, one, asked, self._turn)

    # ------------------------------------------------------------ reading

    async def rows(self, sql: str, *args: Any) -> list[asyncpg.Record]:
        rows: list[asyncpg.Record] = await self._ask(self.pool.fetch, sql, *args)
        return rows

    async def row(self, sql: str, *args: Any) -> asyncpg.Record | None:
        return await self._ask(self.pool.fetchrow, sql, *args)

    async def value(self, sql: str, *args: Any) -> Any:
        return await self._ask(self.pool.fetchval, sql, *args)

    async def _ask(self, ask: Callable[..., Awaitable[T]], sql: str, *args: Any) -> T:
        """Raises Growing when the SQL names a slice whose tables still grow."""
        with self.noticing_loss(), known_errors():
            while True:
                statement = self.statement(sql)
                async with _all_read(statement.lent):
                    if statement is self.statement(sql):  # else its tables were changed for others meanwhile
                        return await ask(statement.text, *args)

    def statement(self, sql: str) -> Statement:
        """The SQL with the names of the schemas that answers come from. Raises Growing."""
        if (known := self._statements.get(sql)) is not None:
            return known
        if len(self._statements) >= REMEMBERED_STATEMENTS:
            self._statements.clear()
        lent = [one for name in sorted(set(NAME.findall(sql))) if (one := self._borrowed.get(name))]
        made = Statement(NAME.sub(lambda found: f"{self._schema_read(found[1])}.", sql), tuple(lent))
        self._statements[sql] = made
        return made

    def _schema_read(self, slice_: str) -> str:
        if (lent := self._borrowed.get(slice_)) is not None:
            return lent.schema
        for one in self._following.tables:
            if one.projection.slice == slice_:
                return one.schema
        raise Growing(slice_, self.growth)


@asynccontextmanager
async def _all_read(lent: Sequence[Borrowed]) -> AsyncIterator[None]:
    if not lent:
        yield
        return
    async with lent[0].read(), _all_read(lent[1:]):
        yield


@asynccontextmanager
async def _all_closed(lent: Sequence[Borrowed]) -> AsyncIterator[None]:
    if not lent:
        yield
        return
    async with lent[0].closed(), _all_closed(lent[1:]):
        yield
