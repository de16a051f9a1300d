"""One story, one trace: from the REST request over commands, events and reactions into the task, and back from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from resolute.service import tracing
from resolute.service.observed import ObservedBus
from tests.integration.api.whole import whole


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    tracing.configure("test", None, SimpleSpanProcessor(exporter))
    yield exporter
    tracing.configure("test", None)


async def test_a_task_continues_the_trace_of_who_asked_for_it(
    postgres_dsn: str, nats_url: str, tmp_path: Path, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.integration.api.whole.Context", _observed)
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, task = await cluster.task(agent)
        assert order.traceparent is not None
        trial = order.spec.trial_id
        said = {"Authorization": f"Bearer {task.token}", "traceparent": order.traceparent}
        await task.http.post(f"{task.base}/api/v1/trials/{trial}/progress", json={"progress": 0.5}, headers=said)
    traces = {span.name: span.context.trace_id for span in spans.get_finished_spans() if span.context}
    story = ["CreateExperiment", "ask CreateExperiment", "decide CreateExperiment", "decide RequestAllocation"]
    assert len({traces[name] for name in [*story, "ReportTrialProgress"]}) == 1
    assert order.traceparent.split("-")[1] == f"{traces['CreateExperiment']:032x}"


def _observed(log, bus, **kwargs):  # type: ignore[no-untyped-def]
    """A context whose bus is watched, as `resolute.service.run` makes it."""
    from resolute.service import Context

    return Context(log, ObservedBus(bus), **kwargs)
