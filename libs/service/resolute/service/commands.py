"""Serving commands so that none ends a service again and again.

Whoever asks asks again when no answer comes, under the same cause: a command that ends the process that carries it out
(it runs out of memory, crashes in a library, holds the event loop until it is ended) would meet every process that is
started in its place. As with events (`attempts`), the command is known by its deaths. A process that is stopped in
order leaves nothing behind; one that dies leaves a mark, and the process after it is *careful* for a minute, which is
longer than anybody waits before asking again: it carries out one command at a time, and notes each before it begins. A
command with too many notes of processes that died is answered with `SetAside`. All other commands cost nothing more
than before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import structlog
from prometheus_client import Counter

from resolute.bus import CommandHandler, Subscription
from resolute.proto.errors import SetAside, Unavailable
from resolute.proto.message import Cause, Command, Reply
from resolute.service.attempts import DEATHS_MAX
from resolute.service.context import Context

log_ = structlog.get_logger()

CAREFUL_S = 60.0
"""How long after a death commands are carried out carefully."""

TURN_S = 1.0
"""How long a careful command waits for the one before it, which may be a long one."""

FAREWELL_S = 1.0
"""How long a process that stops in order waits for the database to take that down."""

_SET_ASIDE = Counter("resolute_commands_set_aside", "Commands refused because processes died of them", ["service"])


async def serve_commands(context: Context, service: str, handle: CommandHandler) -> Subscription:
    """Handle the commands of `service`, as `Bus.serve` does, until the subscription is closed."""
    serving = _Serving(context, service, handle)
    await serving.open()
    return serving


class _Serving:
    """The commands of a service in one life of its process."""

    def __init__(self, context: Context, service: str, handle: CommandHandler) -> None:
        self._log, self._bus, self._service, self._decide = context.log, context.bus, service, handle
        self._life, self._alive = uuid4().hex, f"{service}/alive"
        self._careful_until_s = -1.0
        self._turn = asyncio.Lock()
        self._subscription: Subscription | None = None
        _SET_ASIDE.labels(service)  # an alert on its growth needs to see the zero

    async def open(self) -> None:
        if await self._log.begin_attempt(self._alive, 0, self._life):
            # Marks of replicas that are alive go as well: then one more death is needed before a start is careful.
            await self._log.forget_attempts(self._alive, 0)
            await self._log.begin_attempt(self._alive, 0, self._life)
            self._careful_until_s = asyncio.get_running_loop().time() + CAREFUL_S
        self._subscription = await self._bus.serve(self._service, self._handle)

    async def close(self) -> None:
        if self._subscription is not None:
            await self._subscription.close()
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self._log.forget_attempts(self._alive, 0, self._life)

    async def _handle(self, command: Command, cause: Cause) -> Reply:
        if asyncio.get_running_loop().time() >= self._careful_until_s:
            return await self._decide(command, cause)
        async with self._in_turn():
            return await self._carefully(command, cause)

    async def _carefully(self, command: Command, cause: Cause) -> Reply:
        name = f"{self._service}/{type(command).__name__}/{cause.id}"
        deaths = await self._log.begin_attempt(name, 0, self._life)
        if deaths >= DEATHS_MAX:
            raise self._set_aside(command, cause, deaths)
        try:
            reply = await self._decide(command, cause)
        except BaseException:
            await self._forget(name, self._life)  # an answer, an outage, or a stop in order: no death of this process
            raise
        await self._forget(name)
        return reply

    def _set_aside(self, command: Command, cause: Cause, deaths: int) -> SetAside:
        what = type(command).__name__
        _SET_ASIDE.labels(self._service).inc()
        log_.error("command set aside", service=self._service, command=what, cause=cause.id, deaths=deaths)
        return SetAside(
            f"cannot carry out {what}: processes of the {self._service} died {deaths} times while they did, so it is "
            f"not tried again; the log of the {self._service} says more"
        )

    async def _forget(self, name: str, life: str | None = None) -> None:
        with suppress(Unavailable):
            await self._log.forget_attempts(name, 0, life)

    @asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """One careful command at a time, so that a death is held against the command that caused it."""
        taken = False
        with suppress(TimeoutError):
            async with asyncio.timeout(TURN_S):
                taken = await self._turn.acquire()
        try:
            yield
        finally:
            if taken:
                self._turn.release()
