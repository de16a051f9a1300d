"""The shell around decide and evolve: concurrent callers, races with other writers, refusals, repeats."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from resolute.eventlog import Appended, MemoryEventLog
from resolute.proto.errors import Refused, Unavailable, refuse
from resolute.proto.experiment import ExperimentActivated, ExperimentPaused, TrialRunStarted
from resolute.proto.message import Cause, Event
from resolute.service import Aggregates

STREAM = "experiment-1"


@dataclass
class Story:
    """A state that is changed in place: how often it ran, and whether it is paused."""

    runs: list[int] = field(default_factory=list)
    paused: bool = False


def evolve(story: Story, event: Event) -> Story:
    match event:
        case TrialRunStarted(run_id=run_id):
            assert run_id == len(story.runs) + 1, f"run {run_id} after {story.runs}"
            story.runs.append(run_id)
        case ExperimentPaused():
            story.paused = True
        case ExperimentActivated():
            story.paused = False
    return story


def start(story: Story) -> Sequence[Event]:
    if story.paused:
        raise refuse("start a run", "the experiment is paused", "activate it")
    return [TrialRunStarted(1, len(story.runs) + 1)]


def pause(story: Story) -> Sequence[Event]:
    return [] if story.paused else [ExperimentPaused()]


def activate(story: Story) -> Sequence[Event]:
    return [ExperimentActivated()] if story.paused else []


def aggregates(log: MemoryEventLog, keep: int = 1000) -> Aggregates[Story]:
    return Aggregates(log, Story, evolve, keep=keep)


class Slow(MemoryEventLog):
    """A log over a network: every call lets others go first."""

    async def append(self, stream: str, events: Sequence[Event], *, expected_version: int, cause: Cause) -> Appended:
        await asyncio.sleep(0)
        return await super().append(stream, events, expected_version=expected_version, cause=cause)


async def test_what_was_decided_is_written_and_known() -> None:
    stories = aggregates(MemoryEventLog())
    outcome = await stories.execute(STREAM, start, Cause("a"))
    assert [recorded.event for recorded in outcome.events] == [TrialRunStarted(1, 1)]
    assert (await stories.state(STREAM)).runs == [1]


async def test_concurrent_callers_of_one_replica_decide_one_after_another() -> None:
    stories = aggregates(Slow())
    await asyncio.gather(*(stories.execute(STREAM, start, Cause(f"c{i}")) for i in range(20)))
    assert (await stories.state(STREAM)).runs == list(range(1, 21))


async def test_replicas_that_race_decide_again_and_none_is_lost() -> None:
    log = Slow()
    replicas = [aggregates(log) for _ in range(3)]
    await asyncio.gather(*(replicas[i % 3].execute(STREAM, start, Cause(f"c{i}")) for i in range(30)))
    for replica in replicas:
        assert (await replica.state(STREAM)).runs == list(range(1, 31))


async def test_a_refusal_made_on_a_stale_state_is_made_again_on_the_newest() -> None:
    log = MemoryEventLog()
    here, there = aggregates(log), aggregates(log)
    await here.execute(STREAM, pause, Cause("p"))
    await there.execute(STREAM, activate, Cause("a"))
    outcome = await here.execute(STREAM, start, Cause("s"))  # here still believes it is paused
    assert [type(recorded.event) for recorded in outcome.events] == [TrialRunStarted]


async def test_nothing_to_do_on_a_stale_state_is_decided_again_on_the_newest() -> None:
    log = MemoryEventLog()
    here, there = aggregates(log), aggregates(log)
    await here.execute(STREAM, pause, Cause("p1"))
    await there.execute(STREAM, activate, Cause("a"))
    assert (await here.execute(STREAM, pause, Cause("p2"))).events
    assert (await there.state(STREAM)).paused


async def test_a_refusal_on_the_newest_state_reaches_the_caller_and_writes_nothing() -> None:
    log = MemoryEventLog()
    stories = aggregates(log)
    await stories.execute(STREAM, pause, Cause("p"))
    with pytest.raises(Refused, match="cannot start a run: the experiment is paused; activate it"):
        await stories.execute(STREAM, start, Cause("s"))
    assert await log.head() == 1


async def test_the_same_cause_again_answers_what_was_written_the_first_time() -> None:
    log = MemoryEventLog()
    first = await aggregates(log).execute(STREAM, start, Cause("a"))
    for stories in (aggregates(log), aggregates(log)):
        again = await stories.execute(STREAM, start, Cause("a"))
        assert (again.events, again.repeated) == (first.events, True)
        assert (await stories.state(STREAM)).runs == [1]


async def test_the_same_cause_again_is_answered_even_where_it_would_now_be_refused() -> None:
    log = MemoryEventLog()
    stories = aggregates(log)
    first = await stories.execute(STREAM, start, Cause("a"))
    await stories.execute(STREAM, pause, Cause("p"))
    again = await stories.execute(STREAM, start, Cause("a"))
    assert (again.events, again.repeated) == (first.events, True)


async def test_streams_are_forgotten_when_there_are_too_many_and_told_again_when_asked_for() -> None:
    log = MemoryEventLog()
    stories = aggregates(log, keep=2)
    for i in range(6):
        await stories.execute(f"experiment-{i}", start, Cause("a"))
    for i in range(6):
        assert (await stories.state(f"experiment-{i}")).runs == [1]


async def test_more_streams_at_work_than_are_kept_is_no_trouble() -> None:
    log = Slow()
    stories = aggregates(log, keep=1)
    work = (stories.execute(f"experiment-{i % 5}", start, Cause(f"c{i}")) for i in range(25))
    await asyncio.gather(*work)
    assert (await stories.state("experiment-3")).runs == [1, 2, 3, 4, 5]


async def test_after_an_outage_with_an_unknown_outcome_asking_again_writes_once() -> None:
    class Forgetful(MemoryEventLog):
        """Writes, and loses the answer, the first time."""

        lost = False

        async def append(
            self, stream: str, events: Sequence[Event], *, expected_version: int, cause: Cause
        ) -> Appended:
            outcome = await super().append(stream, events, expected_version=expected_version, cause=cause)
            if not self.lost:
                self.lost = True
                raise Unavailable("the line went dead")
            return outcome

    stories = aggregates(Forgetful())
    with pytest.raises(Unavailable):
        await stories.execute(STREAM, start, Cause("a"))
    outcome = await stories.execute(STREAM, start, Cause("a"))
    assert outcome.repeated
    assert (await stories.state(STREAM)).runs == [1]


async def test_a_caller_who_is_cancelled_while_writing_leaves_a_state_that_heals() -> None:
    stories = aggregates(Slow())
    leaving = asyncio.create_task(stories.execute(STREAM, start, Cause("a")))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    await stories.execute(STREAM, start, Cause("b"))
    await stories.execute(STREAM, start, Cause("a"))
    assert (await stories.state(STREAM)).runs == [1, 2]


async def test_a_fold_that_fails_half_way_is_not_decided_on() -> None:
    log = MemoryEventLog()
    stories = aggregates(log)
    await stories.execute(STREAM, start, Cause("a"))
    bad = [ExperimentPaused(), TrialRunStarted(1, 99)]
    await log.append(STREAM, bad, expected_version=1, cause=Cause("bug"))
    for _ in range(2):
        with pytest.raises(AssertionError, match="run 99"):
            await stories.state(STREAM)
