"""Measures a process's use of the bus: spans for traces, counts and durations for `/metrics`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeVar

from prometheus_client import Counter, Gauge, Histogram

from resolute.bus import Bus, CommandHandler, Subscription, subjects
from resolute.proto.errors import ResoluteError
from resolute.proto.message import Cause, Command, Recorded, Reply
from resolute.service.tracing import span

T = TypeVar("T")

_COMMANDS = Counter("resolute_commands", "Commands decided, by outcome", ["service", "command", "outcome"])
_SECONDS = Histogram(
    "resolute_command_seconds",
    "How long deciding took, the append to the log included",
    ["service"],
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5),
)
_PUBLISHED = Gauge("resolute_relay_position", "Up to where this relay has brought the log to the bus")


@contextmanager
def _measured(service: str, command: str) -> Iterator[None]:
    began_at, outcome = perf_counter(), "decided"
    try:
        yield
    except ResoluteError as error:
        outcome = error.code
        raise
    except BaseException:
        outcome = "failed"
        raise
    finally:
        _COMMANDS.labels(service, command, outcome).inc()
        _SECONDS.labels(service).observe(perf_counter() - began_at)


class ObservedBus:
    """A bus whose commands are spans, on both sides, and are counted where they are decided."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def request(self, command: Command, cause: Cause, timeout_s: float = 10.0) -> Reply:
        with span(f"ask {type(command).__name__}", cause.traceparent, subject=subjects.command(command)) as inside:
            return await self._bus.request(command, replace(cause, traceparent=inside), timeout_s)

    async def serve(self, service: str, handle: CommandHandler) -> Subscription:
        async def observed(command: Command, cause: Cause) -> Reply:
            name = type(command).__name__
            with (
                span(f"decide {name}", cause.traceparent, cause=cause.id) as inside,
                _measured(service, name),
            ):
                return await handle(command, replace(cause, traceparent=inside))

        return await self._bus.serve(service, observed)

    async def publish_fact(self, recorded: Recorded) -> bool:
        with span(f"relay {type(recorded.event).__name__}", recorded.cause.traceparent, position=recorded.position):
            fresh = await self._bus.publish_fact(recorded)
        _PUBLISHED.set(recorded.position)
        return fresh

    async def last_fact(self) -> int:
        return await self._bus.last_fact()

    async def facts(self, deliver: Callable[[Recorded], None]) -> Subscription:
        return await self._bus.facts(deliver)

    async def publish(self, subject: str, message: Any) -> None:
        await self._bus.publish(subject, message)

    async def ask(self, subject: str, message: Any, answer: type[T], timeout_s: float = 5.0) -> T:
        return await self._bus.ask(subject, message, answer, timeout_s)

    async def listen(
        self, subject: str, kind: type[T], handle: Callable[[T], Awaitable[Any]], *, queue: str = ""
    ) -> Subscription:
        return await self._bus.listen(subject, kind, handle, queue=queue)

    async def close(self) -> None:
        await self._bus.close()
