"""Finds a poisoned event, one that ends the process that handles it, by the notes of processes that died.

A process that dies of an event (it runs out of memory, crashes in a library, holds its event loop until it is ended)
reads the same event after its next start, and would die for ever. Its position at death is known only roughly, because
a position is saved once a second. So each process handles the events that the last one may have been handling
*carefully*: one event at a time, each noted in the database before it begins. A note that a process left behind counts
as one death. All later events are handled without notes, and cost nothing more.

Deaths that have another cause (`kill -9`, a power cut) leave notes as well, but few of them. No
event is handled for long, so it is very unlikely that the same event is being handled at three deaths unless it is
their cause.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

from resolute.eventlog import EventLog
from resolute.proto.errors import Unavailable

DEATHS_MAX = 3
"""An event at which processes died this often is set aside."""

CAREFUL_MAX = 1_000
"""How many events a process handles carefully after its start. A poisoned event may come later than these; then the
next process begins nearer to that event."""

TURN_S = 5.0
"""How long a careful attempt waits for another one in the same process to end."""

SETTLE_S = 5.0
"""How long a process waits before it counts attempts of others as deaths: replicas that are alive may be handling the
same event at this moment, and delete their notes when they have."""
LOOK_EVERY_S = 0.5


class DiedTooOften(Exception):
    """Processes died while they handled this event."""


class AttemptLock:
    """Shared by all followers of a process: one careful attempt at a time, so that a death counts against the event
    that caused it and not against other events. Attempts wait for the lock for a limited time, and then go on without
    it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def taken(self, wait_s: float = TURN_S) -> AsyncIterator[bool]:
        """Waits for the lock; yields whether this attempt got it within `wait_s`."""
        taken = False
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                taken = await self._lock.acquire()
        try:
            yield taken
        finally:
            if taken:
                self._lock.release()


class Attempts:
    """The careful attempts of one consumer, from one start of its process to the end."""

    def __init__(self, log: EventLog, consumer: str, attempt_lock: AttemptLock) -> None:
        self._log, self._consumer, self._attempt_lock = log, consumer, attempt_lock
        self._life = uuid4().hex
        self._through: int | None = None

    async def start(self, position: int) -> None:
        """Called before the first event, with the saved position. The previous process may have died of any event
        after `position` that the log has now: those are handled carefully, up to CAREFUL_MAX of them."""
        if self._through is None:
            self._through = min(await self._log.head(), position + CAREFUL_MAX)

    def needed(self, position: int) -> bool:
        """Whether the event at `position` is to be handled carefully."""
        return position <= (self._through or 0)

    @asynccontextmanager
    async def noted(self, position: int) -> AsyncIterator[None]:
        """Encloses one attempt. Raises DiedTooOften, without beginning it, for an event at which processes died
        DEATHS_MAX times.

        An outage, and a cancellation when the process stops, remove the note. Otherwise it stays until a later event
        begins, or until `passed` is called.
        """
        async with self._attempt_lock.taken():
            deaths = await self._deaths(position)
            if deaths >= DEATHS_MAX:
                raise DiedTooOften(f"the process died {deaths} times while it handled this event")
            try:
                yield
            except (Unavailable, asyncio.CancelledError):
                with suppress(Unavailable):
                    await self._log.forget_attempts(self._consumer, position, self._life)
                raise

    async def passed(self, position: int) -> None:
        """Deletes the notes up to `position`: those events were handled or set aside."""
        await self._log.forget_attempts(self._consumer, position)

    async def _deaths(self, position: int) -> int:
        for _ in range(int(SETTLE_S / LOOK_EVERY_S)):
            others = await self._log.begin_attempt(self._consumer, position, self._life)
            if others < DEATHS_MAX:
                break
            await asyncio.sleep(LOOK_EVERY_S)
        return others
