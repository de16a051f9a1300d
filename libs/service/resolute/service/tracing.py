"""Traces: one story from the REST call through the bus and the log to the task's own calls.

The thread of the story is W3C's `traceparent`: a REST call brings or begins it, `Cause` carries it through bus and
log, and a task finds it in its environment. Nothing of OpenTelemetry is imported until an endpoint is configured.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from resolute.bus import Bus, CommandHandler, Subscription
from resolute.bus import subjects as bus_subjects
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Cause, Command, Recorded, Reply

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Tracer

T = TypeVar("T")

_tracer: Tracer | None = None


def configure(service: str, endpoint: str | None, processor: SpanProcessor | None = None) -> bool:
    """Whether spans are kept from now on: sent to `endpoint` over OTLP/HTTP, or handed to `processor`."""
    global _tracer
    if endpoint is None and processor is None:
        _tracer = None
        return False
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider(resource=Resource.create({"service.name": f"resolute-{service}"}))
    provider.add_span_processor(processor or _otlp(str(endpoint)))
    _tracer = provider.get_tracer("resolute")
    return True


@contextmanager
def span(name: str, traceparent: str | None = None, **attributes: str | int) -> Iterator[str | None]:
    """A span that continues `traceparent`; yields the traceparent of what happens inside it.

    Without a configured endpoint it yields `traceparent` itself.
    """
    if _tracer is None:
        yield traceparent
        return
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    propagator = TraceContextTextMapPropagator()
    parent = propagator.extract({"traceparent": traceparent}) if traceparent else None
    with _tracer.start_as_current_span(name, context=parent, attributes=dict(attributes)):
        carrier: dict[str, str] = {}
        propagator.inject(carrier)
        yield carrier.get("traceparent", traceparent)


class TracedBus:
    """A bus whose commands are spans, on the asking and on the answering side."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def request(self, command: Command, cause: Cause, timeout_s: float = 10.0) -> Reply:
        with span(f"ask {type(command).__name__}", cause.traceparent, subject=bus_subjects.command(command)) as inside:
            return await self._bus.request(command, replace(cause, traceparent=inside), timeout_s)

    async def serve(self, service: str, handle: CommandHandler) -> Subscription:
        async def traced(command: Command, cause: Cause) -> Reply:
            with span(f"decide {type(command).__name__}", cause.traceparent, cause=cause.id) as inside:
                return await handle(command, replace(cause, traceparent=inside))

        return await self._bus.serve(service, traced)

    async def publish_fact(self, recorded: Recorded) -> None:
        with span(f"relay {type(recorded.event).__name__}", recorded.cause.traceparent, position=recorded.position):
            await self._bus.publish_fact(recorded)

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


def _otlp(endpoint: str) -> SpanProcessor:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise InvalidConfig("otlp_endpoint needs the OTLP exporter: pip install 'resolute[tracing]'") from error
    return BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint))
