"""Asking things of others because of facts: at least once, in order where it matters, and no event stops the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence

import structlog
from prometheus_client import Counter

from resolute.eventlog import EventLog
from resolute.proto.errors import Failed, ResoluteError, SetAside, Unavailable
from resolute.proto.message import Recorded
from resolute.service.attempts import Attempts, DiedTooOften, Turn
from resolute.service.follower import Patience

log_ = structlog.get_logger()

React = Callable[[Recorded], Awaitable[None]]

Apart = Callable[[Recorded], Hashable | None]
"""What an event's reaction is about: those of different things may run at once, those of one thing follow one another.
None: about everything; all before it come first, and it before all that follow."""

SAVE_EVERY_S = 1.0
"""A place in the log is saved no more often: what is handled again after a crash has the same causes, and no effect."""

REACTION_S = 120.0
"""How long one attempt of a reaction may take. Waiting for a service that is away does not count: each try is one."""

FAILURES_MAX = 2

_SET_ASIDE = Counter("resolute_events_set_aside", "Events that a follower could not handle, and left out", ["consumer"])


class TooSlow(Exception):
    """A reaction took longer than it may."""


class Reactions:
    """A consumer that asks things of others: event by event, at least once, each ask with the event's id as cause.

    Of the events that come together, those that are `apart` are handled at once; the place in the log is only saved
    once all of them are (docs/decisions/0022).

    A reaction that fails for want of a service is tried again for as long as it takes. One that fails for another
    reason twice, here or in the service it asked, or takes longer than `limit_s`, or at which the process died three
    times, this one or that of the service it asked, is set aside for a person to read, so that one bad event does not
    stop the rest (docs/decisions/0034).
    """

    def __init__(
        self,
        name: str,
        log: EventLog,
        react: React,
        apart: Apart = lambda recorded: None,
        *,
        turn: Turn | None = None,
        limit_s: float = REACTION_S,
    ) -> None:
        """`turn`: that of the process (`Context.turn`)."""
        self._name, self._log, self._react, self._apart, self._limit_s = name, log, react, apart, limit_s
        turn = turn or Turn()
        self._first_attempts = Attempts(log, name, turn)
        self._retries = Attempts(log, f"{name}/retry", turn)
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
        for different_things in _side_by_side(batch[len(careful) :], self._apart):
            await self._at_once(different_things)
        self._unsaved = batch[-1].position
        if asyncio.get_running_loop().time() - self._saved_at_s >= SAVE_EVERY_S:
            await self._save()

    async def _carefully(self, recorded: Recorded) -> None:
        if not await self._once(recorded, self._first_attempts):
            await self._log.save_position(self._name, recorded.position)  # it shall not be met again
        if not self._first_attempts.needed(recorded.position + 1):
            await self._first_attempts.passed(recorded.position)

    async def _save(self) -> None:
        if self._unsaved is not None:
            await self._log.save_position(self._name, self._unsaved)
            self._unsaved, self._saved_at_s = None, asyncio.get_running_loop().time()

    async def again(self) -> None:
        await self._save()  # what a quiet service repeats after a crash need not be days old
        for position in await self._log.asked_again(self._name):
            found = await self._log.read_all(position - 1, 1)
            handled = not found or await self._once(found[0], self._retries)
            await self._retries.passed(position)
            if handled:  # otherwise it was set aside anew
                await self._log.settle(self._name, position)

    async def _at_once(self, different_things: Sequence[Sequence[Recorded]]) -> None:
        """Raises only once all are done with, so that none goes on beside what is tried next."""
        if len(different_things) == 1:
            return await self._in_order(different_things[0])
        for outcome in await asyncio.gather(*map(self._in_order, different_things), return_exceptions=True):
            if outcome is not None:
                raise outcome

    async def _in_order(self, events: Sequence[Recorded]) -> None:
        for recorded in events:
            await self._once(recorded)

    async def _once(self, recorded: Recorded, attempts: Attempts | None = None) -> bool:
        """Whether it was handled, if only by an answer that was not the hoped-for one; else it is set aside."""
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
                    # An answer, though not the hoped-for one: the world moved on before this reaction came.
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


def _side_by_side(batch: Sequence[Recorded], apart: Apart) -> Iterator[list[list[Recorded]]]:
    """Stretches of the batch, one after another; in each, the events by what they are about."""
    stretch: dict[Hashable, list[Recorded]] = {}
    for recorded in batch:
        about = apart(recorded)
        if about is not None:
            stretch.setdefault(about, []).append(recorded)
            continue
        if stretch:
            yield list(stretch.values())
        yield [[recorded]]
        stretch = {}
    if stretch:
        yield list(stretch.values())
