"""Reactions: the requests that a service sends to others because of events.

Each event is handled at least once, and events of one partition in order. An event that cannot be handled is set aside,
and the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence

import structlog
from prometheus_client import Counter

from resolute.eventlog import EventLog
from resolute.proto.errors import Failed, ResoluteError, SetAside, Unavailable
from resolute.proto.message import Recorded
from resolute.service.attempts import AttemptLock, Attempts, DiedTooOften
from resolute.service.follower import Patience

log_ = structlog.get_logger()

React = Callable[[Recorded], Awaitable[None]]

PartitionOf = Callable[[Recorded], Hashable | None]
"""The partition of an event. Reactions in different partitions may run at once, those in one partition run in order.
None means all partitions: all earlier events are handled before this one, and this one before all later events."""

SAVE_EVERY_S = 1.0
"""A position is saved no more often than this. Events that are handled again after a crash send requests with the same
causes, which have no effect."""

REACTION_S = 120.0
"""How long one attempt of a reaction may take. The pauses between attempts, while a service is away, do not count."""

FAILURES_MAX = 2

_SET_ASIDE = Counter("resolute_events_set_aside", "Events that a follower could not handle, and left out", ["consumer"])


class TooSlow(Exception):
    """A reaction took longer than it may."""


class Reactions:
    """A consumer that sends requests to other services: for each event at least once, with the event's id as the cause.

    Of the events that come together, those in different partitions are handled at once; the position is saved when all
    of them are handled (docs/decisions/0022).

    A reaction that fails because a service is away is tried again, without a limit. An event is set aside for a person
    to read, and the next ones are handled, in three cases (docs/decisions/0034): its reaction failed twice for another
    reason, here or in the service that was asked; its reaction took longer than `limit_s`; processes, of this service
    or of the one that was asked, died three times while they handled the event.
    """

    def __init__(
        self,
        name: str,
        log: EventLog,
        react: React,
        partition_of: PartitionOf = lambda recorded: None,
        *,
        attempt_lock: AttemptLock | None = None,
        limit_s: float = REACTION_S,
    ) -> None:
        """`attempt_lock`: the lock of the process, `Context.attempt_lock`."""
        self._name, self._log, self._react, self._limit_s = name, log, react, limit_s
        self._partition_of = partition_of
        attempt_lock = attempt_lock or AttemptLock()
        self._first_attempts = Attempts(log, name, attempt_lock)
        self._retries = Attempts(log, f"{name}/retry", attempt_lock)
        self._saved_at_s = -SAVE_EVERY_S
        self._unsaved: int | None = None
        _SET_ASIDE.labels(name)  # an alert on its growth needs to see the zero

    async def position(self) -> int:
        position = await self._log.load_position(self._name)
        await self._first_attempts.start(position)
        return position

    async def handle(self, batch: Sequence[Recorded]) -> None:
        careful = [recorded for recorded in batch if self._first_attempts.needed(recorded.position)]
        for recorded in careful:
            await self._carefully(recorded)
        for partitions in _side_by_side(batch[len(careful) :], self._partition_of):
            await self._at_once(partitions)
        self._unsaved = batch[-1].position
        if asyncio.get_running_loop().time() - self._saved_at_s >= SAVE_EVERY_S:
            await self._save()

    async def _carefully(self, recorded: Recorded) -> None:
        if not await self._once(recorded, self._first_attempts):
            await self._log.save_position(self._name, recorded.position)  # no later process handles the event
        if not self._first_attempts.needed(recorded.position + 1):
            await self._first_attempts.passed(recorded.position)

    async def _save(self) -> None:
        if self._unsaved is not None:
            await self._log.save_position(self._name, self._unsaved)
            self._unsaved, self._saved_at_s = None, asyncio.get_running_loop().time()

    async def again(self) -> None:
        await self._save()  # so that a service without work does not repeat days of events after a crash
        for position in await self._log.asked_again(self._name):
            found = await self._log.read_all(position - 1, 1)
            handled = not found or await self._once(found[0], self._retries)
            await self._retries.passed(position)
            if handled:  # otherwise it was set aside anew
                await self._log.settle(self._name, position)

    async def _at_once(self, partitions: Sequence[Sequence[Recorded]]) -> None:
        """Handles partitions side by side. Raises only after all of them have ended: no reaction still runs when the
        follower begins again."""
        if len(partitions) == 1:
            return await self._in_order(partitions[0])
        for outcome in await asyncio.gather(*map(self._in_order, partitions), return_exceptions=True):
            if outcome is not None:
                raise outcome

    async def _in_order(self, events: Sequence[Recorded]) -> None:
        for recorded in events:
            await self._once(recorded)

    async def _once(self, recorded: Recorded, attempts: Attempts | None = None) -> bool:
        """Handles one event. Returns True when it was handled, or when the asked service refused; False when the event
        was set aside."""
        failures = 0
        patience = Patience()
        while True:
            try:
                await self._attempt(recorded, attempts)
                return True
            except Unavailable as error:
                await patience.wait(self._name, error)
            except (TooSlow, DiedTooOften, SetAside) as error:
                await self._set_aside(recorded, str(error))
                return False
            except Exception as error:
                if isinstance(error, ResoluteError) and not isinstance(error, Failed):
                    # The asked service refused: its state had changed before this reaction came.
                    log_.info("reaction refused", consumer=self._name, event_id=recorded.id, why=error.message)
                    return True
                failures += 1
                log_.exception("reaction failed", consumer=self._name, event_id=recorded.id)
                if failures == FAILURES_MAX:
                    await self._set_aside(recorded, repr(error))
                    return False

    async def _attempt(self, recorded: Recorded, attempts: Attempts | None) -> None:
        if attempts is None:
            return await self._in_time(recorded)
        async with attempts.noted(recorded.position):
            await self._in_time(recorded)

    async def _in_time(self, recorded: Recorded) -> None:
        try:
            async with asyncio.timeout(self._limit_s) as limit:
                await self._react(recorded)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise TooSlow(f"handling it took longer than {self._limit_s:g} s") from error

    async def _set_aside(self, recorded: Recorded, why: str) -> None:
        await self._log.set_aside(self._name, recorded.position, why)
        _SET_ASIDE.labels(self._name).inc()
        log_.error(
            "event set aside",
            consumer=self._name,
            position=recorded.position,
            event_id=recorded.id,
            stream=recorded.stream,
            type=type(recorded.event).__name__,
            why=why,
        )


def _side_by_side(batch: Sequence[Recorded], partition_of: PartitionOf) -> Iterator[list[list[Recorded]]]:
    """Cuts the batch into parts that have to be handled one after another; each part has its events by partition."""
    stretch: dict[Hashable, list[Recorded]] = {}
    for recorded in batch:
        partition = partition_of(recorded)
        if partition is not None:
            stretch.setdefault(partition, []).append(recorded)
            continue
        if stretch:
            yield list(stretch.values())
        yield [[recorded]]
        stretch = {}
    if stretch:
        yield list(stretch.values())
