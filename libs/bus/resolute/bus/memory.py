"""The bus's twin in memory: one process, no sockets, and faults when a simulation asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar, cast

from resolute import codec
from resolute.bus import subjects
from resolute.bus.bus import CommandHandler
from resolute.proto.errors import ResoluteError, Unavailable, Unserved
from resolute.proto.message import Cause, Command, Recorded, Reply

T = TypeVar("T")


@dataclass(eq=False)
class _Subscription:
    bus: MemoryBus
    subject: str
    handle: Callable[[Any], Awaitable[Any]]
    queue: str = ""

    async def close(self) -> None:
        if self in self.bus.listeners:
            self.bus.listeners.remove(self)


@dataclass(eq=False)
class _Facts:
    bus: MemoryBus
    deliver: Callable[[Recorded], None]

    async def close(self) -> None:
        if self in self.bus.readers:
            self.bus.readers.remove(self)


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults that a simulation injects, asked anew for each message. By default none is lost or repeated."""

    lost: Callable[[], bool] = lambda: False
    repeated: Callable[[], bool] = lambda: False
    delay_s: Callable[[], float] = lambda: 0.0
    pick: Callable[[int], int] = lambda members: 0
    """Which of that many members of a queue gets a message. By default the one that subscribed first."""


@dataclass(eq=False)
class MemoryBus:
    """Messages pass through the codec, as on the wire: what cannot be encoded fails here too."""

    faults: Faults = field(default_factory=Faults)
    listeners: list[_Subscription] = field(default_factory=list)
    readers: list[_Facts] = field(default_factory=list)
    last: int = 0
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def request(self, command: Command, cause: Cause, timeout_s: float = 10.0) -> Reply:
        subject = subjects.command(command)
        answer = await self._round_trip(subject, (command, cause), timeout_s)
        return cast(Reply, answer)

    async def serve(self, service: str, handle: CommandHandler) -> _Subscription:
        async def unpack(message: tuple[Command, Cause]) -> Reply:
            command, cause = message
            copied = codec.command_from(type(command).__name__, codec.to_bytes(command))
            return await handle(copied, cause)

        return self._subscribe(_Subscription(self, f"resolute.cmd.{service}.*", unpack, queue=service))

    async def publish_fact(self, recorded: Recorded) -> bool:
        if recorded.position <= self.last:
            return False
        self.last = recorded.position
        for reader in list(self.readers):
            if not self.faults.lost():
                self._later(self._hand(reader, recorded))
            if self.faults.repeated():
                self._later(self._hand(reader, recorded))
        return True

    async def _hand(self, reader: _Facts, recorded: Recorded) -> None:
        await self._travel()
        if reader in self.readers:
            reader.deliver(recorded)

    async def last_fact(self) -> int:
        return self.last

    def wipe(self) -> None:
        """Forget the position of the newest fact, as when NATS starts again with an empty directory."""
        self.last = 0

    async def facts(self, deliver: Callable[[Recorded], None]) -> _Facts:
        reader = _Facts(self, deliver)
        self.readers.append(reader)
        return reader

    async def publish(self, subject: str, message: Any) -> None:
        copied = codec.from_bytes(type(message), codec.to_bytes(message))
        for listener in self._choose(subject):
            if not self.faults.lost():
                self._later(self._call(listener, copied))

    async def ask(self, subject: str, message: Any, answer: type[T], timeout_s: float = 5.0) -> T:
        copied = codec.from_bytes(type(message), codec.to_bytes(message))
        subjects.check_speaker(subject, copied)
        return cast(T, await self._round_trip(subject, copied, timeout_s))

    async def listen(
        self, subject: str, kind: type[T], handle: Callable[[T], Awaitable[Any]], *, queue: str = ""
    ) -> _Subscription:
        return self._subscribe(_Subscription(self, subject, handle, queue))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _subscribe(self, subscription: _Subscription) -> _Subscription:
        self.listeners.append(subscription)
        return subscription

    def _choose(self, subject: str) -> list[_Subscription]:
        """Every listener to `subject` without a queue, and one member of each queue."""
        groups: dict[object, list[_Subscription]] = {}
        for listener in self.listeners:
            if _matches(listener.subject, subject):
                groups.setdefault(listener.queue or listener, []).append(listener)
        return [group[self.faults.pick(len(group))] for group in groups.values()]

    async def _round_trip(self, subject: str, message: Any, timeout_s: float) -> Any:
        """As over a network: the request may be lost on its way, or the answer on its way back."""
        listeners = self._choose(subject)
        if not listeners:
            raise Unserved(f"no process serves {subject}")
        try:
            async with asyncio.timeout(timeout_s):
                if self.faults.lost():
                    await asyncio.Future()
                if self.faults.repeated():
                    self._later(self._call(self._choose(subject)[0], message))
                answer = await self._start(self._call(listeners[0], message))
                if self.faults.lost():
                    await asyncio.Future()
        except TimeoutError:
            raise Unavailable(f"no answer from {subject} within {timeout_s} s") from None
        if isinstance(answer, ResoluteError):
            raise answer
        return answer

    async def _call(self, listener: _Subscription, message: Any) -> Any:
        await self._travel()
        try:
            return await listener.handle(message)
        except ResoluteError as error:
            return error

    async def _travel(self) -> None:
        await asyncio.sleep(self.faults.delay_s())

    def _later(self, work: Any) -> None:
        self._start(work)

    def _start(self, work: Any) -> asyncio.Task[Any]:
        """Runs a handler in a task of its own: it goes on when the caller stops waiting for the answer."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


@lru_cache(maxsize=10_000)
def _matches(pattern: str, subject: str) -> bool:
    wanted, found = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        return len(found) >= len(wanted) and _matches(".".join(wanted[:-1]), ".".join(found[: len(wanted) - 1]))
    return len(wanted) == len(found) and all(w in ("*", f) for w, f in zip(wanted, found, strict=True))
