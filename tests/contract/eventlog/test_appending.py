"""What an append promises, whichever log it is."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import pytest

from resolute.eventlog import Appended, EventLog
from resolute.proto.errors import InvalidConfig, WrongVersion
from resolute.proto.experiment import ExperimentEdited, TrialRunStarted, TrialValidated
from resolute.proto.message import Cause, Event


def runs(*numbers: int) -> list[Event]:
    return [TrialRunStarted(trial_id=1, run_id=number) for number in numbers]


async def add(log: EventLog, stream: str, expected: int, cause: str, events: Sequence[Event]) -> Appended:
    return await log.append(stream, events, expected_version=expected, cause=Cause(cause))


async def test_events_get_versions_from_one_on_and_positions_from_one_on(log: EventLog) -> None:
    first = await add(log, "experiment-1", 0, "a", runs(1, 2))
    other = await add(log, "experiment-2", 0, "a", runs(3))
    again = await add(log, "experiment-1", 2, "b", runs(4))
    assert [(r.stream, r.version, r.position) for r in (*first.events, *other.events, *again.events)] == [
        ("experiment-1", 1, 1),
        ("experiment-1", 2, 2),
        ("experiment-2", 1, 3),
        ("experiment-1", 3, 4),
    ]
    assert (first.position, again.position, first.repeated) == (2, 4, False)


async def test_what_append_answers_is_what_readers_read(log: EventLog) -> None:
    cause = Cause("msg-1", actor="determined", correlation_id="req-1", traceparent="00-abc-def-01")
    document = {"zeta": 1, "alpha": [1.0, None, {"ü": "\N{SNOWMAN} \u2028", "b": True}], "tiny": 1e-7, "huge": 1e16}
    written = await log.append("experiment-1", [ExperimentEdited(document), *runs(1)], expected_version=0, cause=cause)
    read = await log.read_stream("experiment-1")
    assert tuple(read) == written.events
    assert repr(read) == repr(list(written.events))  # to the order of keys and the kind of number
    assert read == await log.read_all(0)
    assert read[0].event == ExperimentEdited(document)
    assert all(recorded.cause == cause for recorded in read)


async def test_a_whole_number_given_for_a_float_is_recorded_as_a_float(log: EventLog) -> None:
    event = TrialValidated(trial_id=1, run_id=1, steps_completed=10, metric=1)
    written = await add(log, "experiment-1", 0, "a", [event])
    assert repr(written.events[0].event) == repr((await log.read_stream("experiment-1"))[0].event)
    assert "metric=1.0" in repr(written.events[0].event)


async def test_the_loser_of_a_race_writes_nothing_and_is_told_where_the_stream_stands(log: EventLog) -> None:
    await add(log, "experiment-1", 0, "a", runs(1, 2))
    with pytest.raises(WrongVersion) as lost:
        await add(log, "experiment-1", 0, "b", runs(3))
    assert (lost.value.stream, lost.value.expected, lost.value.found) == ("experiment-1", 0, 2)
    with pytest.raises(WrongVersion):
        await add(log, "experiment-1", 7, "c", runs(3))
    assert await log.head() == 2


async def test_of_many_who_expect_the_same_version_at_once_exactly_one_wins(log: EventLog) -> None:
    outcomes = await asyncio.gather(
        *(add(log, "experiment-1", 0, f"writer-{i}", runs(i)) for i in range(20)), return_exceptions=True
    )
    assert sum(isinstance(outcome, Appended) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, WrongVersion) for outcome in outcomes) == 19
    assert await log.head() == 1


async def test_appends_to_one_stream_that_know_of_each_other_may_be_under_way_together(log: EventLog) -> None:
    outcomes = await asyncio.gather(*(add(log, "experiment-1", i, f"writer-{i}", runs(i)) for i in range(10)))
    assert [outcome.events[0].version for outcome in outcomes] == list(range(1, 11))


async def test_the_same_cause_writes_once_whatever_is_expected(log: EventLog) -> None:
    first = await add(log, "experiment-1", 0, "a", runs(1, 2))
    await add(log, "experiment-1", 2, "b", runs(3))
    repeat = await add(log, "experiment-1", 77, "a", runs(9))
    assert repeat == Appended(first.events, repeated=True)
    assert await log.head() == 3


async def test_the_same_cause_twice_at_once_writes_once(log: EventLog) -> None:
    outcomes = await asyncio.gather(*(add(log, "experiment-1", 0, "a", runs(1, 2)) for _ in range(5)))
    assert sorted(outcome.repeated for outcome in outcomes) == [False, True, True, True, True]
    assert len({outcome.events for outcome in outcomes}) == 1
    assert await log.head() == 2


async def test_a_cause_belongs_to_its_stream(log: EventLog) -> None:
    await add(log, "experiment-1", 0, "a", runs(1))
    assert not (await add(log, "experiment-2", 0, "a", runs(1))).repeated


async def test_without_events_an_append_asks_whether_the_cause_is_known(log: EventLog) -> None:
    assert await add(log, "experiment-1", 0, "a", []) == Appended(())
    written = await add(log, "experiment-1", 0, "a", runs(1))
    assert await add(log, "experiment-1", 0, "a", []) == Appended(written.events, repeated=True)
    assert await add(log, "experiment-1", 55, "new", []) == Appended(())
    assert await log.head() == 1


@pytest.mark.parametrize("name", ["", "two\nlines", "nul\0", "tab\t"])
async def test_a_name_that_is_not_one_printable_line_is_refused(log: EventLog, name: str) -> None:
    with pytest.raises(InvalidConfig, match="name"):
        await add(log, name, 0, "a", runs(1))
    with pytest.raises(InvalidConfig, match=r"cause\.id"):
        await add(log, "experiment-1", 0, name, runs(1))
    assert await log.head() == 0


async def test_an_event_whose_field_has_another_type_never_gets_in(log: EventLog) -> None:
    wrong = TrialRunStarted(trial_id="one", run_id=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidConfig, match="TrialRunStarted"):
        await add(log, "experiment-1", 0, "a", [wrong])
    nameless = TrialValidated(trial_id=None, run_id=1, steps_completed=1, metric=math.nan)  # type: ignore[arg-type]
    with pytest.raises(InvalidConfig):
        await add(log, "experiment-1", 0, "a", [nameless])
    assert await log.head() == 0


async def test_one_callers_unusable_event_does_not_fail_the_others(log: EventLog) -> None:
    sound = [add(log, f"experiment-{i}", 0, "a", runs(i)) for i in range(1, 6)]
    odd = add(log, "experiment-9", 0, "a", [ExperimentEdited({"a": "nul \0 inside"})])
    outcomes = await asyncio.gather(*sound[:2], odd, *sound[2:], return_exceptions=True)
    assert isinstance(outcomes[2], InvalidConfig)
    assert all(isinstance(outcome, Appended) for i, outcome in enumerate(outcomes) if i != 2)
    assert await log.head() == 5


async def test_a_caller_who_gives_up_waiting_leaves_the_log_whole(log: EventLog) -> None:
    impatient = asyncio.create_task(add(log, "experiment-1", 0, "a", runs(1)))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    outcome = await add(log, "experiment-1", 0, "a", runs(1))
    assert [recorded.position for recorded in outcome.events] == [1]
    assert await log.head() == 1


async def test_the_hash_chain_holds(log: EventLog) -> None:
    for i in range(3):
        await add(log, "experiment-1", 2 * i, f"c-{i}", [ExperimentEdited({"b": i, "a": 0.5}), *runs(i)])
        await add(log, "experiment-2", i, f"c-{i}", runs(i))
    events = await log.read_all(0)
    assert len({recorded.prev_hash for recorded in events}) == len(events) - 1  # each stream's first has none
    assert await log.verify() is None
