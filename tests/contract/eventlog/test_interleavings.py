"""Properties: whatever is appended, by whom, in which order, the log stays without gaps and without repeats."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resolute.eventlog import Appended, EventLog
from resolute.proto.errors import WrongVersion
from resolute.proto.experiment import ExperimentEdited, TrialRunStarted
from resolute.proto.message import Cause, Event

_EXAMPLES = count()


@dataclass(frozen=True)
class Attempt:
    stream: int
    cause: int
    events: int
    """How many; of which the first holds a document."""
    lag: int
    """How far behind the stream its writer believes it to be; 0 is up to date."""


ATTEMPTS = st.builds(
    Attempt,
    stream=st.integers(0, 2),
    cause=st.integers(0, 12),
    events=st.integers(0, 3),
    lag=st.sampled_from([0, 0, 1]),
)
ROUNDS = st.lists(st.lists(ATTEMPTS, min_size=1, max_size=8), max_size=6)
"""The attempts of one round are under way together; the rounds follow one another."""


@given(rounds=ROUNDS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_interleaving_keeps_versions_and_positions_gapless(
    log: EventLog, rounds: list[list[Attempt]]
) -> None:
    example, began = next(_EXAMPLES), await log.head()
    for attempts in rounds:
        await asyncio.gather(*(_try(log, f"experiment-{example}.{a.stream}", a) for a in attempts))
    written = await log.read_all(began, limit=10_000)
    assert [recorded.position for recorded in written] == list(range(began + 1, await log.head() + 1))
    for stream in {recorded.stream for recorded in written}:
        history = await log.read_stream(stream)
        assert history == [recorded for recorded in written if recorded.stream == stream]
        assert [recorded.version for recorded in history] == list(range(1, len(history) + 1))
        _check_causes_are_whole_and_written_once([recorded.cause.id for recorded in history])
    assert await log.verify() is None


async def _try(log: EventLog, stream: str, attempt: Attempt) -> None:
    believed = max(len(await log.read_stream(stream)) - attempt.lag, 0)
    events: list[Event] = [TrialRunStarted(attempt.cause, i) for i in range(attempt.events)]
    if events:
        events[0] = ExperimentEdited({"z": attempt.cause, "a": {"b": [attempt.cause / 7]}})
    try:
        outcome = await log.append(stream, events, expected_version=believed, cause=Cause(f"c{attempt.cause}"))
    except WrongVersion:
        return
    if not outcome.repeated:
        assert [recorded.version for recorded in outcome.events] == [believed + 1 + i for i in range(attempt.events)]
        assert [type(recorded.event) for recorded in outcome.events] == [type(event) for event in events]
    _check_lies_together(outcome)


def _check_lies_together(outcome: Appended) -> None:
    positions = [recorded.position for recorded in outcome.events]
    assert positions == list(range(positions[0], positions[0] + len(positions))) if positions else True


def _check_causes_are_whole_and_written_once(causes: list[str]) -> None:
    runs = [cause for i, cause in enumerate(causes) if i == 0 or causes[i - 1] != cause]
    assert all(times == 1 for times in Counter(runs).values())
