"""Growing a version's tables out of the whole log, once, in large steps, while nobody reads them yet.

One gateway grows them; others of the same version wait beside it, and go on with the rest when it dies.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
import structlog

from resolute.api.database import outages
from resolute.api.readmodel import LOCK, TRY_ALONE, ReadModel
from resolute.eventlog import EventLog

log_ = structlog.get_logger()

PAGE = 2_000
"""Events in one transaction."""

SHORT = 1_000
"""So few events are shown at once, without any of this."""

LOOK_EVERY_S = 0.2

ASK_AGAIN_MOST_S = 30


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the tables have grown, and how long the rest may take."""

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


Note = Callable[[Progress], None]


async def grow(read: ReadModel, log: EventLog, pool: asyncpg.Pool, note: Note = lambda progress: None) -> None:
    """Return once the tables show everything that the log holds. `note` is called as they grow.

    Raises Unavailable while the database is away; called again, growing goes on from where it stopped.
    """
    head = await log.head()
    if head - await read.position() > SHORT:
        began, first = time.monotonic(), read.shown

        def say(position: int) -> None:
            note(Progress(position, head, (position - first) / max(time.monotonic() - began, 1e-3)))

        say(first)
        async with _alone(read, pool, say):
            await _in_large_steps(read, log, say)
        log_.info("the tables have grown", schema=read.schema, events=head - first, took_s=time.monotonic() - began)
    await read.catch_up()


async def _in_large_steps(read: ReadModel, log: EventLog, say: Callable[[int], None]) -> None:
    """The next events are read while the ones before are being shown."""
    with read.growing():
        position = await read.position()
        upcoming = asyncio.ensure_future(log.read_all(position, PAGE))
        try:
            while events := await upcoming:
                upcoming = asyncio.ensure_future(log.read_all(events[-1].position, PAGE))
                await read.handle(events)
                say(events[-1].position)
        finally:
            upcoming.cancel()
    await read.settle()


@asynccontextmanager
async def _alone(read: ReadModel, pool: asyncpg.Pool, say: Callable[[int], None]) -> AsyncIterator[None]:
    """While this process is the only one that grows these tables. The lock goes with its connection."""
    with outages():
        async with pool.acquire() as connection:
            while not await connection.fetchval(TRY_ALONE, LOCK, read.schema):
                say(await read.position())
                await asyncio.sleep(LOOK_EVERY_S)
            try:
                yield
            finally:
                connection.terminate()
