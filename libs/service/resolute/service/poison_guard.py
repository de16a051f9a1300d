"""Finds a poisoned message, a command or a message of an agent that ends the process of a service, and refuses it.

A sender that gets no answer sends the same message again. So a message that ends the process that handles it (the
process runs out of memory, crashes in a library, holds the event loop until it is ended) would end every process that
is started in its place. As with events (`attempts`), such a message is found by counting the processes that died of it.
A process that stops in order deletes its mark in the database; one that dies leaves the mark, and the next process is
*careful* for a minute, which is longer than any sender waits before it sends again: that process handles one message at
a time, and notes each in the database before it begins. A message with notes of too many dead processes is answered
with `SetAside`, for as long as this process lives. While a process is not careful, messages cost nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar
from uuid import uuid4

import structlog
from prometheus_client import Counter

from resolute.eventlog import EventLog
from resolute.proto.errors import SetAside, Unavailable
from resolute.service.attempts import DEATHS_MAX, AttemptLock

log_ = structlog.get_logger()

T = TypeVar("T")

CAREFUL_S = 60.0
"""How long after a death messages are handled carefully."""

TURN_S = 1.0
"""How long a message waits, while the process is careful, for the message before it."""

CLOSE_S = 1.0
"""How long a process that stops in order tries to delete its mark in the database."""

_SET_ASIDE = Counter(
    "resolute_commands_set_aside",
    "Commands, and messages of agents, that were refused because processes died of them",
    ["service"],
)


class PoisonGuard:
    """Guards the commands and messages of one service, for the life of one process. Owns the marks and notes of that
    service in the table of attempts."""

    def __init__(self, log: EventLog, service: str) -> None:
        self._log, self._service = log, service
        self._life, self._alive = uuid4().hex, f"{service}/alive"
        self._careful_until_s = -1.0
        self._attempt_lock = AttemptLock()
        self._refused: dict[str, int] = {}
        """By name, the messages that this process refuses, and how many processes died of each."""
        _SET_ASIDE.labels(service)  # an alert on its growth needs to see the zero

    async def open(self) -> None:
        """Checks whether the last process died, and writes the mark of this one. Call this before any message comes."""
        if await self._log.begin_attempt(self._alive, 0, self._life):
            # Marks of replicas that are alive go as well: then one more death is needed before a start is careful.
            await self._log.forget_attempts(self._alive, 0)
            await self._log.begin_attempt(self._alive, 0, self._life)
            self._careful_until_s = asyncio.get_running_loop().time() + CAREFUL_S
        else:
            # The last process was stopped in order, perhaps for an upgrade: messages that it refused are tried again.
            await self._log.forget_attempts_of(f"{self._service}/", but=self._alive)

    async def close(self) -> None:
        """Deletes the mark of this process, which stops in order."""
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._log.forget_attempts(self._alive, 0, self._life)

    async def handle(
        self, what: str, key: str, work: Callable[[], Awaitable[T]], *, alone: bool = False, turn_s: float | None = None
    ) -> T:
        """Returns the result of `work`, or raises SetAside when too many processes died of the message.

        `what` is the kind of the message, for people. `key` is the same whenever the same message is sent again, and
        holds no secret: it is written to the database. While this process is careful, the message waits for up to
        `turn_s` for those before it. After that it is handled beside them, and a death counts against all of these; or,
        with `alone`, this raises Unavailable, and the sender sends the message again.
        """
        name = f"{self._service}/{what}/{key}"
        if name in self._refused:
            raise self._set_aside(what, name, self._refused[name])
        if asyncio.get_running_loop().time() >= self._careful_until_s:
            return await work()
        async with self._attempt_lock.taken(TURN_S if turn_s is None else turn_s) as taken:
            if alone and not taken:
                raise Unavailable(f"the {self._service} handles one message at a time after a crash; send it again")
            async with self._noted(what, name):
                return await work()

    @asynccontextmanager
    async def _noted(self, what: str, name: str) -> AsyncIterator[None]:
        deaths = await self._log.begin_attempt(name, 0, self._life)
        if deaths >= DEATHS_MAX:
            self._refused[name] = deaths
            raise self._set_aside(what, name, deaths)
        try:
            yield
        except BaseException:
            await self._forget(name, self._life)  # an answer, an outage, or a stop in order: no death of this process
            raise
        await self._forget(name)

    def _set_aside(self, what: str, name: str, deaths: int) -> SetAside:
        _SET_ASIDE.labels(self._service).inc()
        log_.error("message set aside", service=self._service, message=what, name=name, deaths=deaths)
        return SetAside(
            f"cannot carry out {what}: processes of the {self._service} died {deaths} times while they did, so it is "
            f"not tried again; the log of the {self._service} says more"
        )

    async def _forget(self, name: str, life: str | None = None) -> None:
        with suppress(Unavailable):
            await self._log.forget_attempts(name, 0, life)
