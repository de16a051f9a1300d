"""Growing tables out of the whole log, once, in large steps, while nobody reads them yet.

One gateway grows a slice's tables; others of the same version wait beside it, and go on with the rest when it dies.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import structlog

from resolute.api.kernel.feed import Feed
from resolute.api.kernel.readmodel import Progress, ReadModel
from resolute.api.kernel.regrowth import PAGE, alone, settle
from resolute.api.kernel.tables import SliceTables

log_ = structlog.get_logger()

FEW = 1_000
"""Tables that are no more events behind the log than this are brought forward at once, not in large steps."""

LOOK_EVERY_S = 0.2

Note = Callable[[Progress], None]


async def grow(read: ReadModel, note: Note = lambda progress: None) -> None:
    """Return once all tables show everything that the log holds. `note` is called as they grow.

    Raises Unavailable while the database is away; called again, growing goes on from where it stopped.
    """
    with read.noticing_loss():
        while growing := read.growing:
            head, _ = await read.log.head(), await Feed(read.pool, read.log, growing).stands()
            if near := [one for one in growing if head - one.position <= FEW]:
                await read.joined(Feed(read.pool, read.log, near))
                continue
            async with alone(read.pool, [one.schema for one in growing]) as schemas:
                if mine := [one for one in growing if one.schema in schemas]:
                    await _grown(read, mine, note)
            if not mine:
                _tell(read, note, Progress(min(one.position for one in growing), head, 0))
                await asyncio.sleep(LOOK_EVERY_S)  # another gateway grows them
    await read.catch_up()


async def _grown(read: ReadModel, tables: Sequence[SliceTables], note: Note) -> None:
    """The next events are read while the ones before are being shown."""
    feed = Feed(read.pool, read.log, tables, growing=True)
    head, first = await read.log.head(), await feed.stands()
    began = time.monotonic()
    upcoming = asyncio.ensure_future(read.log.read_all(first, PAGE))
    try:
        while events := await upcoming:
            upcoming = asyncio.ensure_future(read.log.read_all(events[-1].position, PAGE))
            await feed.handle(events)
            shown, took_s = feed.position, max(time.monotonic() - began, 1e-3)
            _tell(read, note, Progress(shown, max(head, shown), (shown - first) / took_s))
    finally:
        upcoming.cancel()
    for one in tables:
        await settle(read.pool, one)
    slices = [one.schema for one in tables]
    log_.info("tables have grown", schemas=slices, events=head - first, took_s=time.monotonic() - began)


def _tell(read: ReadModel, note: Note, progress: Progress) -> None:
    read.growth = progress
    note(progress)
