"""What a process writes about itself: no secret in it, and one thread through every trace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import generate_latest

from resolute.bus import MemoryBus
from resolute.proto.errors import Refused
from resolute.proto.message import Cause, Command, Reply
from resolute.proto.pool import EnableAgent
from resolute.service import tracing
from resolute.service.logs import redact
from resolute.service.observed import ObservedBus

REST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("key", ["password", "nats_seed", "task_token", "Authorization", "cluster_secret", "token"])
def test_values_are_hidden_by_their_key(key: str) -> None:
    assert redact(None, "info", {key: "hush", "inner": {key: "hush"}}) == {key: "***", "inner": {key: "***"}}


def test_ordinary_words_stay() -> None:
    event = {"event": "ready", "tokens_used": 3, "secretary": "Ann", "url": "nats://host:4222"}
    assert redact(None, "info", dict(event)) == event


def test_a_password_inside_a_url_is_hidden_wherever_it_stands() -> None:
    event = redact(None, "info", {"why": "no route to postgresql://me:hush@db/resolute"})
    assert event == {"why": "no route to postgresql://me:***@db/resolute"}


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    tracing.configure("test", None, SimpleSpanProcessor(exporter))
    yield exporter
    tracing.configure("test", None)


async def test_a_command_continues_the_trace_of_the_request_that_caused_it(spans: InMemorySpanExporter) -> None:
    bus, carried = ObservedBus(MemoryBus()), []

    async def handle(command: Command, cause: Cause) -> Reply:
        carried.append(cause.traceparent)
        return Reply()

    await bus.serve("scheduler", handle)
    await bus.request(EnableAgent("default", "agent-1"), Cause("rest-1", traceparent=REST))
    decide, ask = spans.get_finished_spans()
    assert (decide.name, ask.name) == ("decide EnableAgent", "ask EnableAgent")
    assert f"{ask.context.trace_id:032x}" == f"{decide.context.trace_id:032x}" == REST.split("-")[1]
    assert decide.parent is not None
    assert decide.parent.span_id == ask.context.span_id
    assert carried[0] is not None
    assert carried[0].split("-")[2] == f"{decide.context.span_id:016x}"


async def test_commands_are_counted_by_outcome() -> None:
    bus = ObservedBus(MemoryBus())

    async def handle(command: Command, cause: Cause) -> Reply:
        raise Refused("no")

    await bus.serve("scheduler", handle)
    with pytest.raises(Refused):
        await bus.request(EnableAgent("default", "agent-1"), Cause("rest-1"))
    told = generate_latest().decode()
    assert 'resolute_commands_total{command="EnableAgent",outcome="refused",service="scheduler"} 1.0' in told


def test_without_an_endpoint_the_thread_is_only_passed_on() -> None:
    with tracing.span("anything", REST) as inside:
        assert inside == REST
