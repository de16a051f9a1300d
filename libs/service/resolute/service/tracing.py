"""Traces: the spans of one request, from the REST call through the bus and the log to the calls of the task.

The spans are connected by a `traceparent` (W3C Trace Context). A REST call has one, or the gateway makes one; `Cause`
carries it through the bus and the log, and a task finds it in its environment. OpenTelemetry is imported only when an
endpoint is configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from resolute.proto.errors import InvalidConfig

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Tracer

_tracer: Tracer | None = None


def configure(service: str, endpoint: str | None, processor: SpanProcessor | None = None) -> bool:
    """Send spans to `endpoint` over OTLP/HTTP, or to `processor`. Returns whether spans are made from now on."""
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
    """A span that continues `traceparent`. Yields the traceparent for calls inside the span; without a configured
    endpoint that is `traceparent` itself."""
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


def _otlp(endpoint: str) -> SpanProcessor:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise InvalidConfig("otlp_endpoint needs the OTLP exporter: pip install 'resolute[tracing]'") from error
    return BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint))
