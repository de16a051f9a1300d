"""The log as one service has it: an append or a read that the table of streams does not give it stops the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolute.bus import MemoryBus
from resolute.eventlog import EventLog, MemoryEventLog
from resolute.proto.checkpoint import CheckpointDeleted
from resolute.proto.experiment import ExperimentActivated, ExperimentPaused
from resolute.proto.message import Cause
from resolute.proto.streams import POOL, Service
from resolute.service import Aggregates, Context

CAUSE = Cause("cause")


def log_of(service: str) -> tuple[EventLog, MemoryEventLog]:
    """The log as `service` has it, and the log itself."""
    log = MemoryEventLog()
    return Context(log, MemoryBus()).of(service).log, log


async def test_a_service_appends_to_its_own_streams_and_reads_them() -> None:
    own, _ = log_of(Service.SEARCHER)
    appended = await own.append("experiment-7", [ExperimentPaused()], expected_version=0, cause=CAUSE)
    assert await own.read_stream("experiment-7") == [*appended.events]
    assert await own.stream_names("experiment") == ["experiment-7"]
    assert await own.head() == 1


async def test_an_append_to_the_stream_of_another_service_is_a_bug_and_writes_nothing() -> None:
    own, log = log_of(Service.SCHEDULER)
    with pytest.raises(AssertionError, match="scheduler appends to experiment-7, to which searcher alone appends"):
        await own.append("experiment-7", [ExperimentPaused()], expected_version=0, cause=CAUSE)
    assert await log.head() == 0


async def test_an_event_of_another_category_is_not_appended_to_a_stream() -> None:
    own, log = log_of(Service.SEARCHER)
    with pytest.raises(AssertionError, match="'checkpoints' is appended to experiment-7"):
        await own.append("experiment-7", [CheckpointDeleted("uuid")], expected_version=0, cause=CAUSE)
    assert await log.head() == 0


async def test_a_stream_that_the_table_does_not_know_is_not_appended_to() -> None:
    own, _ = log_of(Service.SEARCHER)
    with pytest.raises(AssertionError, match="no category 'trial'"):
        await own.append("trial-1", [ExperimentPaused()], expected_version=0, cause=CAUSE)


async def test_a_decision_of_an_aggregate_is_checked_as_well() -> None:
    own, log = log_of(Service.API)
    folded = Aggregates(own, int, lambda count, event: count + 1)
    with pytest.raises(AssertionError, match="api appends to experiment-7"):
        await folded.execute("experiment-7", lambda count: [ExperimentActivated()], CAUSE)
    assert await log.head() == 0


async def test_a_service_reads_only_the_streams_that_the_table_gives_it() -> None:
    own, _ = log_of(Service.CHECKPOINT)
    assert await own.read_stream("experiment-7") == []
    with pytest.raises(AssertionError, match="only api, relay, scheduler, searcher, tasks may"):
        await own.read_stream(POOL.stream("default"))
    with pytest.raises(AssertionError, match="checkpoint reads streams of category pool"):
        await own.stream_names("pool")


async def test_the_relay_reads_everything_and_appends_nothing() -> None:
    own, _ = log_of(Service.RELAY)
    assert await own.read_stream("experiment-7") == []
    with pytest.raises(AssertionError, match="relay appends to"):
        await own.append("experiment-7", [ExperimentPaused()], expected_version=0, cause=CAUSE)


def test_the_table_names_every_service_that_has_the_log() -> None:
    services = {folder.name for folder in (Path(__file__).parents[3] / "services").iterdir() if folder.is_dir()}
    assert {*Service} == services - {"agent"}
