"""Bringing the tables of slices forward along the log, all that stand at one position in one transaction.

Any number of gateways feed the same tables: the statement that moves the position names the position from which it
moves and the tables that it was read from, so that each event is written once. A gateway of another version of a
slice has tables of its own, and never writes to these.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import asyncpg
import structlog
from prometheus_client import Counter

from resolute.api.database import outages
from resolute.api.kernel.fold import Refusal
from resolute.api.kernel.tables import Kept, SliceTables
from resolute.eventlog import EventLog
from resolute.proto.errors import Unavailable
from resolute.proto.message import Recorded

log_ = structlog.get_logger()

UNSHOWN = Counter("resolute_unshown_events", "Events set aside because no row could be made of them.", ["slice"])

DURABLY = "BEGIN"

SOON_DURABLY = "BEGIN; SET LOCAL synchronous_commit = off"
"""For tables that nobody reads yet: what a power cut takes away grows again."""

KEPT = Kept(rows=1_000, bytes=2**21)

KEPT_GROWING = Kept(rows=100_000, bytes=2**25)


class NotShown(Unavailable):
    """There are no tables to answer from at the moment."""

    retry_after_s = 1
    """When to come again."""


class TablesLost(NotShown):
    """Tables are not there, or were made anew: they have to be grown before anything is answered from them."""


class Feed:
    """Tables that are brought forward together.

    `handle` and `stands` are for one caller at a time; anybody may call `look` meanwhile.
    """

    def __init__(
        self, pool: asyncpg.Pool, log: EventLog, tables: Iterable[SliceTables] = (), *, growing: bool = False
    ) -> None:
        self._pool, self._log = pool, log
        self.tables = sorted(tables, key=lambda one: one.schema)  # all gateways lock in this order: no deadlock
        self._begin = SOON_DURABLY if growing else DURABLY
        self._kept = KEPT_GROWING if growing else KEPT

    @property
    def position(self) -> int:
        """The position from which all of them are brought forward."""
        return min((one.position for one in self.tables), default=0)

    @property
    def shown(self) -> int:
        """Up to where all of them are known to show the log; they may be further by now."""
        return min((one.shown for one in self.tables), default=0)

    def add(self, tables: Iterable[SliceTables]) -> None:
        self.tables = sorted([*self.tables, *tables], key=lambda one: one.schema)

    async def handle(self, events: Sequence[Recorded]) -> None:
        """Show what is new in `events`, which follow each other without a gap.

        Raises Unavailable when the tables stand before the first of them, or the database is away.
        """
        while group := self._next_group(events[-1].position):
            fresh = self._fresh(group, events)
            if fresh[0].position != group[0].position + 1 or not await self._shown(group, fresh):
                await self._moved_by_another(group, fresh[0].position)

    def _next_group(self, end: int) -> list[SliceTables]:
        """Those that are furthest behind; none when all show everything up to `end`."""
        behind = min((one.position for one in self.tables), default=end)
        return [one for one in self.tables if one.position == behind] if behind < end else []

    def _fresh(self, group: Sequence[SliceTables], events: Sequence[Recorded]) -> list[Recorded]:
        """What the group does not show yet, up to where the next tables stand, which then join the group."""
        begin = group[0].position
        end = min((one.position for one in self.tables if one.position > begin), default=events[-1].position)
        fresh = [recorded for recorded in events if begin < recorded.position <= end]
        return fresh or [recorded for recorded in events if recorded.position > begin]

    async def _moved_by_another(self, group: Sequence[SliceTables], wanted: int) -> None:
        """Another gateway went ahead: find out how far. Raises Unavailable when none did."""
        before = [(one.position, one.grown) for one in group]
        await self.stands(group)
        if [(one.position, one.grown) for one in group] == before:
            raise Unavailable(f"the tables stand at {before[0][0]}, not before {wanted}: read the log from there")

    async def look(self) -> None:
        """Find out how far the tables are. Raises TablesLost when they show less than they did: they grow anew."""
        tables = list(self.tables)
        before = [one.shown for one in tables]  # this process may show more by the time of the answer
        found = await self._found(tables)
        for one, known in zip(tables, before, strict=True):
            position, _ = found[one.schema]
            if position < known:
                raise TablesLost(f"{one.schema} is growing anew: it shows {position} events so far")
            one.seen = max(one.seen, position)

    async def stands(self, tables: Sequence[SliceTables] | None = None) -> int:
        """Go on from where the tables stand. Raises TablesLost as `look` does."""
        asked = self.tables if tables is None else tables
        found = await self._found(asked)
        for one in asked:
            position, grown = found[one.schema]
            if position < one.shown:
                raise TablesLost(f"{one.schema} is growing anew: it shows {position} events so far")
            if (position, grown) != (one.position, one.grown):
                one.position, one.grown = position, grown
                one.forget()
        return self.position

    async def _found(self, tables: Sequence[SliceTables]) -> dict[str, tuple[int, str]]:
        if not tables:
            return {}
        one_each = (f"SELECT '{one.schema}', position, grown::text FROM {one.schema}.progress" for one in tables)
        with known_errors():
            rows = await self._pool.fetch(" UNION ALL ".join(one_each))
        return {schema: (position, grown) for schema, position, grown in rows}

    async def _shown(
        self, group: Sequence[SliceTables], fresh: Sequence[Recorded], *, tried_alone: bool = False
    ) -> bool:
        """Whether `fresh` was written: it is not when another gateway moved one of the tables meanwhile.

        Where the database refuses the rows of many events, fewer are tried, until one event of one slice is left. When
        that one fails twice, it is set aside.
        """
        try:
            return await self._written(group, fresh)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001  (whatever it is, most events are not to blame)
            if len(fresh) > 1:
                return await self._shown(group, fresh[: len(fresh) // 2])  # `handle` shows the rest afterwards
            if len(group) > 1:
                return await self._shown(group[:1], fresh)
            if not tried_alone:
                return await self._shown(group, fresh, tried_alone=True)
            await self._set_aside(group[0], Refusal(fresh[0], error))
            return await self._written(group, fresh, skip=True)

    async def _written(self, group: Sequence[SliceTables], fresh: Sequence[Recorded], *, skip: bool = False) -> bool:
        moved = False
        try:
            with known_errors():
                async with self._pool.acquire() as connection:
                    for one in () if skip else group:
                        for refusal in await one.fold(connection, fresh):
                            await self._set_aside(one, refusal)
                    moved = await self._commit(connection, group, fresh[-1].position)
        finally:
            for one in group:
                if moved:
                    one.written(fresh[-1].position, self._kept)
                else:
                    one.forget()
        return moved

    async def _commit(self, connection: asyncpg.Connection, group: Sequence[SliceTables], to: int) -> bool:
        try:
            await connection.execute(self._begin)
            # Postgres keeps the plan of this statement, whose text is the same each time: planning an update of every
            # slice's position anew takes longer than all the updates, and longer than the round trip for BEGIN.
            known = [value for one in group for value in (one.position, one.grown)]
            if len(await connection.fetch(_advance(group), to, *known)) != len(group):
                await connection.execute("ROLLBACK")
                return False
            for one in group:
                await one.write(connection)
            await connection.execute("COMMIT")
        except BaseException:
            connection.terminate()  # whatever happened, nobody is given a connection in the midst of a transaction
            raise
        return True

    async def _set_aside(self, tables: SliceTables, refusal: Refusal) -> None:
        """An event that cannot be shown waits for a person to read about it (`resolute log asides`)."""
        recorded = refusal.recorded
        if recorded.position in tables.refused:
            return
        log_.error(
            "an event that cannot be shown",
            schema=tables.schema,
            event_id=recorded.id,
            kind=type(recorded.event).__name__,
            exc_info=refusal.error,
        )
        if tables.asides:
            await self._log.set_aside(tables.asides, recorded.position, repr(refusal.error))
        tables.refused.add(recorded.position)
        UNSHOWN.labels(tables.projection.slice).inc()


def _advance(group: Sequence[SliceTables]) -> str:
    """One row for each table that stood where it was believed to stand. `$1` is where all of them stand then; two
    further parameters for each table are where it stood, and which tables these were."""
    moves = ", ".join(
        f"m{n} AS (UPDATE {one.schema}.progress SET position = $1 "
        f"WHERE position = ${2 * n + 2} AND grown = ${2 * n + 3} RETURNING 1)"
        for n, one in enumerate(group)
    )
    return f"WITH {moves} {' UNION ALL '.join(f'SELECT 1 FROM m{n}' for n in range(len(group)))}"


@contextmanager
def known_errors() -> Iterator[None]:
    """Raises Unavailable while the database is away, and TablesLost when tables are not there."""
    try:
        with outages():
            yield
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError) as error:
        raise TablesLost(f"the tables that answers come from are gone, and have to be grown again: {error}") from error


async def caught_up(feed: Feed, log: EventLog, position: int, page: int, turn: asyncio.Lock) -> None:
    """Return once the tables of the feed show everything up to `position`. `turn`: held while one page is shown.

    Raises Unavailable while the database is away, and where the log ends before that position.
    """
    while feed.shown < position:
        async with turn:
            if feed.shown < position:
                events = await log.read_next(feed.position, page)
                if not events:
                    raise Unavailable(f"the log ends before position {position}: it has lost events that were shown")
                await feed.handle(events)
