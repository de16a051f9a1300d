"""P8: every answer to "why?" is in the log: why it waits, why it stopped, who changed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from resolute.proto.checkpoint import CheckpointDeletionRequested
from resolute.proto.experiment import (
    ExperimentDeletionFailed,
    ExperimentEnded,
    ExperimentStopping,
    TrialEnded,
    TrialStopRequested,
)
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import (
    AgentLost,
    AllocationExited,
    AllocationHeldBack,
    AllocationKillRequested,
    AllocationRequested,
    AllocationWaits,
    PreemptionRequested,
    SlotsAssigned,
)

if TYPE_CHECKING:
    from tests.simulation.cluster import SimulatedCluster

_EVENT = "evt-"


def everything_has_a_reason(cluster: SimulatedCluster) -> None:
    for recorded in cluster.log.story:
        assert said(recorded.event) != "", f"without a reason: {recorded.event}"
        assert recorded.cause.actor, f"nobody did it: {recorded}"
        _check_cause(cluster, recorded)
    if not any(isinstance(recorded.event, AllocationWaits) for recorded in cluster.log.story):
        return
    assert (dark := next(waiting_in_the_dark(cluster), None)) is None, f"it waited, and nothing says why: {dark}"


def said(event: Event) -> str | None:
    """The reason that an event of the telling kind carries; None for others."""
    match event:
        case ExperimentStopping(reason=reason) | ExperimentEnded(reason=reason) | TrialEnded(reason=reason):
            return reason
        case ExperimentDeletionFailed(reason=reason) | CheckpointDeletionRequested(reason=reason):
            return reason
        case TrialStopRequested(why=why):
            return why
        case PreemptionRequested(reason=reason) | AllocationKillRequested(reason=reason) | AgentLost(reason=reason):
            return reason
        case SlotsAssigned(reason=reason) | AllocationWaits(reason=reason) | AllocationHeldBack(reason=reason):
            return reason
        case AllocationExited(outcome=outcome, exit_code=exit_code, reason=reason):
            return reason or (None if outcome == "exited" and exit_code is not None else "")
    return None


def _check_cause(cluster: SimulatedCluster, recorded: Recorded) -> None:
    """What follows from an event names one that came before; the story it belongs to is the same."""
    cause = recorded.cause.id
    if not cause.startswith(_EVENT):
        return
    position = int(cause.removeprefix(_EVENT).partition("/")[0])
    assert 0 < position < recorded.position, f"{recorded} is caused by what came later"
    before = cluster.log.story[position - 1].cause
    assert recorded.cause.correlation_id == (before.correlation_id or before.id), f"{recorded} lost its story's thread"
    assert recorded.cause.actor == before.actor, f"{recorded} is not {before.actor}'s doing?"


def waiting_in_the_dark(cluster: SimulatedCluster) -> Iterator[Event]:
    """Requests that were neither granted nor explained in the same breath."""
    story = cluster.log.story
    for at, recorded in enumerate(story):
        if isinstance(recorded.event, AllocationRequested):
            wanted = recorded.event.allocation_id
            beside = [other.event for other in story[at + 1 : at + 200] if other.cause.id == recorded.cause.id]
            told = SlotsAssigned, AllocationWaits, AllocationHeldBack, AllocationExited
            if not any(isinstance(event, told) and event.allocation_id == wanted for event in beside):
                yield recorded.event
