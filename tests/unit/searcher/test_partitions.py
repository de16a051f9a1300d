"""What the searcher may react to at once, and what must keep its order."""

from __future__ import annotations

from datetime import UTC, datetime

from resolute.proto.checkpoint import CheckpointFilesRemoved
from resolute.proto.experiment import (
    ExperimentEdited,
    TrialCreated,
    TrialEnded,
    TrialRunRequested,
    TrialStopRequested,
    TrialTargetSet,
)
from resolute.proto.message import Cause, Event, Recorded
from resolute.proto.pool import AllocationExited, AllocationStarted
from resolute.searcher.partitions import TaskPartitions


def at(position: int, event: Event, stream: str = "experiment-7") -> Recorded:
    return Recorded(position, stream, position, event, Cause("test"), datetime.now(UTC))


def requested(trial_id: int, allocation_id: str) -> TrialRunRequested:
    return TrialRunRequested(trial_id, 1, allocation_id, 1, None, 0)


def exited(allocation_id: str) -> AllocationExited:
    return AllocationExited(allocation_id, "completed", 0, "", allocation_id.rpartition(".")[0], 7, 1)


def test_everything_about_one_trial_keeps_its_order_whoever_tells_of_it() -> None:
    apart = TaskPartitions()
    apart(at(1, TrialCreated(1, "r", "7.a", {}, 0)))
    story = [
        at(2, TrialTargetSet(1, 10)),
        at(3, requested(1, "7.a.1")),
        at(4, AllocationStarted("7.a.1"), "pool-default"),
        at(5, TrialStopRequested(1, "7.a.1", "preempt", "", "PAUSED")),
        at(6, exited("7.a.1"), "pool-default"),
        at(7, requested(1, "7.a.2")),
    ]
    assert {apart(recorded) for recorded in story} == {"7.a"}


def test_another_trial_is_another_thing() -> None:
    apart = TaskPartitions()
    assert apart(at(1, requested(1, "7.a.1"))) != apart(at(2, requested(2, "7.b.1")))


def test_what_may_concern_any_trial_waits_for_all_and_all_wait_for_it() -> None:
    apart = TaskPartitions()
    assert apart(at(1, ExperimentEdited({"priority": 1}))) is None
    assert apart(at(2, CheckpointFilesRemoved("uuid", {}), "checkpoints-7")) is None
    assert apart(at(3, TrialTargetSet(1, 10))) is None, "a trial whose name was never heard of"


def test_what_nobody_reacts_to_holds_nobody_up() -> None:
    apart = TaskPartitions()
    ended = [apart(at(n, TrialEnded(n, "COMPLETED", ""))) for n in (1, 2)]
    assert None not in ended
    assert ended[0] != ended[1]
