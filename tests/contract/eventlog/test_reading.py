"""What a reader may rely on, whichever log it is."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from resolute import codec
from resolute.eventlog import EventLog, Snapshot, Sought
from resolute.proto.experiment import ExperimentCreated, TrialCreated, TrialEnded, TrialRunStarted
from resolute.proto.message import Cause, Recorded


async def fill(log: EventLog, count: int, stream: str = "experiment-1") -> None:
    events = [TrialRunStarted(1, run_id) for run_id in range(count)]
    await log.append(stream, events, expected_version=0, cause=Cause("filling"))


async def test_an_empty_log_has_no_head_and_no_streams(log: EventLog) -> None:
    assert await log.head() == 0
    assert await log.read_all(0) == []
    assert await log.read_stream("experiment-1") == []


async def test_reading_goes_on_after_what_was_seen(log: EventLog) -> None:
    await fill(log, 10)
    assert [r.version for r in await log.read_stream("experiment-1", 7)] == [8, 9, 10]
    assert [r.position for r in await log.read_all(7)] == [8, 9, 10]
    assert [r.position for r in await log.read_all(2, limit=3)] == [3, 4, 5]
    assert await log.read_stream("experiment-1", 10) == []
    assert [r.version for r in await log.read_stream("experiment-1", 2, limit=3)] == [3, 4, 5]
    assert await log.read_all(10) == []


async def test_reading_on_until_nothing_is_left_finds_everything(log: EventLog) -> None:
    await fill(log, 10)
    await fill(log, 400, "experiment-2")
    assert [r.position for r in await log.read_next(2, limit=3)] == [3, 4, 5]
    found: list[Recorded] = []
    while more := await log.read_next(len(found), limit=150):
        found += more
    assert found == await log.read_all(0)


async def test_what_was_just_appended_reads_as_it_was_stored(log: EventLog) -> None:
    """Documents have their keys in the database's order."""
    config = {"name": "ünïcode", "entrypoint": "python3 train.py", "a": {"zz": 1, "b": [None, 1.5]}}
    created = ExperimentCreated(1, "job-1", "first", config, "name: first", 2, "determined", 1, 7)
    cause = Cause("why", "ann", "story", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    await log.append("experiment-1", [created, TrialRunStarted(1, 1)], expected_version=0, cause=cause)
    await log.append("experiment-1", [TrialRunStarted(1, 2)], expected_version=2, cause=Cause("another"))
    assert repr(await log.read_next(0)) == repr(await log.read_all(0))


async def test_the_streams_of_a_category_are_named_in_order_and_no_others(log: EventLog) -> None:
    assert await log.stream_names("experiment") == []
    for stream in ("experiment-2", "experiment-10", "experiments-of-others-1", "trial-experiment-1"):
        await fill(log, 1, stream)
    assert await log.stream_names("experiment") == ["experiment-10", "experiment-2"]


async def test_events_carry_the_time_they_were_recorded_in_utc(log: EventLog) -> None:
    await fill(log, 1)
    [recorded] = await log.read_all(0)
    assert recorded.recorded_at.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - recorded.recorded_at) < timedelta(minutes=1)


@pytest.mark.alone
async def test_waiting_ends_as_soon_as_the_log_has_grown(log: EventLog) -> None:
    waiting = asyncio.create_task(log.wait_beyond(0, timeout_s=30))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    began = time.monotonic()
    await fill(log, 1)
    assert await waiting
    assert time.monotonic() - began < 15
    assert await log.wait_beyond(0, timeout_s=0)


@pytest.mark.alone
async def test_waiting_in_vain_ends_in_time(log: EventLog) -> None:
    await fill(log, 1)
    began = time.monotonic()
    assert not await log.wait_beyond(1, timeout_s=0.1)
    assert time.monotonic() - began < 20
    assert not await log.wait_beyond(1, timeout_s=0)


async def test_reserved_numbers_are_never_handed_out_twice(log: EventLog) -> None:
    asked = [log.reserve("trial", count) for count in (1, 5, 1, 3, 1, 10) * 5]
    ranges = await asyncio.gather(*asked)
    assert [len(numbers) for numbers in ranges] == [1, 5, 1, 3, 1, 10] * 5
    handed_out = [number for numbers in ranges for number in numbers]
    assert len(set(handed_out)) == len(handed_out)
    assert min(handed_out) == 1
    assert await log.reserve("experiment") == range(1, 2)


async def test_a_snapshot_is_found_by_the_code_that_made_it(log: EventLog) -> None:
    assert await log.load_snapshot("experiment-1", "v1") is None
    await log.save_snapshot(Snapshot("experiment-1", 10, "v1", b"ten"))
    await log.save_snapshot(Snapshot("experiment-1", 20, "v1", b"twenty"))
    await log.save_snapshot(Snapshot("experiment-1", 15, "v1", b"late"))
    assert await log.load_snapshot("experiment-1", "v1") == Snapshot("experiment-1", 20, "v1", b"twenty")
    assert await log.load_snapshot("experiment-1", "v2") is None


async def test_a_consumers_position_never_moves_backwards(log: EventLog) -> None:
    assert await log.load_position("relay") == 0
    await log.save_position("relay", 7)
    await log.save_position("relay", 5)
    assert await log.load_position("relay") == 7
    assert await log.load_position("another") == 0


async def test_setting_an_event_aside_twice_is_as_good_as_once(log: EventLog) -> None:
    await log.set_aside("relay", 3, "ValueError('odd \0 bytes')")
    await log.set_aside("relay", 3, "ValueError('again')")


async def test_what_was_set_aside_is_listed_with_the_event_it_is_about(log: EventLog) -> None:
    await fill(log, 2)
    await log.set_aside("relay", 2, "ValueError('odd')")
    await log.set_aside("searcher", 9, "KeyError()")
    first, second = await log.asides()
    assert (first.consumer, first.position, first.error) == ("relay", 2, "ValueError('odd')")
    assert (first.stream, first.version, first.type, first.again_at) == ("experiment-1", 2, "TrialRunStarted", None)
    assert (second.position, second.stream, second.type) == (9, None, None), "the log has no such event"
    await log.ask_again("relay", 2)
    assert (await log.asides())[0].again_at is not None


async def test_events_are_found_by_what_is_said_of_them(log: EventLog) -> None:
    await fill(log, 3)
    await log.append("experiment-2", [TrialRunStarted(41, 7)], expected_version=0, cause=Cause("another"))
    other = (TrialRunStarted(41, 8), TrialEnded(41, "COMPLETED", ""))
    await log.append("experiment-1", other, expected_version=3, cause=Cause("third"))

    async def found(limit: int = 100, **sought: Any) -> list[int]:
        return [row.position for row in await log.find(Sought(**sought), limit)]

    assert await found() == [1, 2, 3, 4, 5, 6]
    assert await found(after=2, limit=2) == [3, 4]
    assert await found(stream="experiment-2") == [4]
    assert await found(stream="experiment-1", types=("TrialEnded",)) == [6]
    assert await found(caused_by="third") == [5, 6]
    assert await found(correlation_id="third") == []
    told = Cause("evt-6", correlation_id="req-1")
    await log.append("experiment-3", [TrialRunStarted(50, 9)], expected_version=0, cause=told)
    assert await found(correlation_id="req-1") == [7]
    assert await found(fields=("trial_id",), values=("41", "42")) == [4, 5, 6]
    assert await found(fields=("uuid", "run_id"), values=("7", "0"), after=1) == [4]
    assert await found(stream="experiment-7") == []
    [row] = await log.find(Sought(after=3), 1)
    assert (row.stream, row.version, row.type, row.caused_by) == ("experiment-2", 1, "TrialRunStarted", "another")


async def test_what_was_set_aside_is_handled_once_more_when_a_person_asks(log: EventLog) -> None:
    assert not await log.ask_again("relay", 3), "nothing was set aside"
    await log.set_aside("relay", 3, "ValueError()")
    assert await log.asked_again("relay") == []
    assert await log.ask_again("relay", 3)
    assert await log.asked_again("relay") == [3]
    assert await log.asked_again("another") == []
    await log.set_aside("relay", 3, "ValueError('still')")
    assert await log.asked_again("relay") == [], "it was tried, and asks for a person anew"
    await log.ask_again("relay", 3)
    await log.settle("relay", 3)
    assert not await log.ask_again("relay", 3)


async def test_attempts_are_counted_by_the_lives_of_processes_and_forgotten_when_passed(log: EventLog) -> None:
    assert await log.begin_attempt("searcher", 5, "first life") == 0
    assert await log.begin_attempt("searcher", 5, "first life") == 0, "the same life tries twice"
    assert await log.begin_attempt("searcher", 5, "second life") == 1
    assert await log.begin_attempt("searcher", 5, "third life") == 2
    assert await log.begin_attempt("scheduler", 5, "first life") == 0
    await log.forget_attempts("searcher", 5, "third life")
    assert await log.begin_attempt("searcher", 4, "fourth life") == 0
    assert await log.begin_attempt("searcher", 5, "fourth life") == 2, "one that is behind forgets nothing ahead"
    await log.begin_attempt("searcher", 6, "fourth life")
    assert await log.begin_attempt("searcher", 5, "fifth life") == 0, "some life came past it"
    await log.forget_attempts("searcher", 6)
    assert await log.begin_attempt("searcher", 6, "fifth life") == 0
    assert await log.begin_attempt("scheduler", 5, "fifth life") == 1


async def test_the_attempts_of_a_service_are_forgotten_together_except_the_mark_of_its_process(log: EventLog) -> None:
    for consumer in ("searcher/alive", "searcher/PauseExperiment/a_cause", "searcher_2/x", "searcher"):
        await log.begin_attempt(consumer, 0, "first life")
    await log.forget_attempts_of("searcher/", but="searcher/alive")
    assert await log.begin_attempt("searcher/PauseExperiment/a_cause", 0, "second life") == 0
    for kept in ("searcher/alive", "searcher_2/x", "searcher"):
        assert await log.begin_attempt(kept, 0, "second life") == 1, kept


async def test_a_number_too_large_for_64_bits_is_read_as_it_was_answered_and_can_be_repeated(log: EventLog) -> None:
    created = TrialCreated(1, "request", "task", {"weight": 1e22, "limit": 10**30, "least": -1e300}, 7)
    answered = await log.append("experiment-1", [created], expected_version=0, cause=Cause("one"))
    (read,) = await log.read_stream("experiment-1")
    assert read.event == answered.events[0].event
    assert codec.from_bytes(TrialCreated, codec.to_bytes(read.event)) == read.event
