"""P8: every answer to "why?" is in the log: why it waits, why it stopped, who changed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from resolute.eventlog.waiting import WaitReason, effective_reason
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
from resolute.proto.queue import WaitRule
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduling import reasons
from resolute.scheduling.policies import Policy, policy_for
from resolute.scheduling.pool import Pool, evolve

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
    settings = SchedulerSettings(pools=cluster.setup.pools)
    for name in settings.pool_names:
        _check_told(cluster.log.streams.get(f"pool-{name}", []), policy_for(settings.pool(name)))


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


LOOKS = 200
"""How many moments of a pool's story are looked at: each costs as much as there is that waits."""


def _check_told(history: list[Recorded], policy: Policy) -> None:
    """Whoever had asked why it waits, at any moment, would have been told what held it then, and who held the slots:
    from the log alone, without asking who decides."""
    state, told = Pool(), Waiting()
    units = [list(unit) for _, unit in groupby(history, key=lambda recorded: recorded.cause.id)]
    for at, unit in enumerate(units):
        for recorded in unit:
            evolve(state, recorded.event)
            told.hear(recorded.event)
        if at % (len(units) // LOOKS + 1) == 0:
            for allocation_id, rule in told.rules().items():
                now = reasons.rule_of(state, state.allocations[allocation_id], policy)
                assert rule == now, f"{allocation_id} is told {rule} after {unit[-1]}, and it is {now}"
            assert +told.held == Counter({job_id: -slots for slots, job_id in state.holding})


class Waiting:
    """Who waits, and what they were told, as whoever explains reads it off the log."""

    def __init__(self) -> None:
        self._asked: dict[str, AllocationRequested] = {}
        self._told: dict[str, WaitReason] = {}
        self._given: dict[str, int] = {}
        self.held = Counter[str]()
        """Slots by job."""

    def hear(self, event: Event) -> None:
        match event:
            case AllocationRequested(allocation_id=allocation_id):
                self._asked[allocation_id] = event
            case AllocationWaits(allocation_id=allocation_id, rule=rule, line=line):
                self._hear(allocation_id, rule, line)
            case AllocationHeldBack(allocation_id=allocation_id, line=line):
                self._hear(allocation_id, WaitRule.NEVER_FITS, line)
            case SlotsAssigned(allocation_id=allocation_id, placements=placements):
                self._told.pop(allocation_id, None)
                self._given[allocation_id] = sum(len(placement.slot_ids) for placement in placements)
                self.held[self._asked[allocation_id].job_id] += self._given[allocation_id]
            case AllocationExited(allocation_id=allocation_id):
                self._told.pop(allocation_id, None)
                self.held[self._asked[allocation_id].job_id] -= self._given.get(allocation_id, 0)

    def _hear(self, allocation_id: str, rule: str, line: str) -> None:
        asked = self._asked[allocation_id]
        self._told[allocation_id] = WaitReason(allocation_id, asked.job_id, asked.slots, line, rule)

    def rules(self) -> dict[str, str]:
        told = list(self._told.values())
        return {one.allocation_id: effective_reason(one, told).rule for one in told}
