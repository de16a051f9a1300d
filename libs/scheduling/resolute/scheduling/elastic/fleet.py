"""The instances of an elastic pool, folded from its stream: from the request of each to its last event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from resolute.proto.message import Event
from resolute.proto.pool import (
    AgentJoined,
    InstanceDrainRequested,
    InstanceGone,
    InstanceIdled,
    InstanceRequested,
    InstanceStarted,
    InstanceStopRequested,
    ProvisioningFailed,
    SlotsAssigned,
)


class State(Enum):
    ABSENT = "absent"
    REQUESTED = "requested"
    STARTED = "started"
    """The provider has it; its agent has yet to join."""
    SERVING = "serving"
    DRAINING = "draining"
    """It takes no more work."""
    STOPPING = "stopping"
    GONE = "gone"


FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, InstanceRequested): State.REQUESTED,
    (State.REQUESTED, InstanceStarted): State.STARTED,
    (State.REQUESTED, AgentJoined): State.SERVING,
    (State.REQUESTED, ProvisioningFailed): State.REQUESTED,
    (State.REQUESTED, InstanceStopRequested): State.STOPPING,
    (State.STARTED, AgentJoined): State.SERVING,
    (State.STARTED, ProvisioningFailed): State.STARTED,
    (State.STARTED, InstanceStopRequested): State.STOPPING,
    (State.SERVING, InstanceStarted): State.SERVING,
    (State.SERVING, AgentJoined): State.SERVING,
    (State.SERVING, InstanceIdled): State.SERVING,
    (State.SERVING, InstanceDrainRequested): State.DRAINING,
    (State.SERVING, InstanceStopRequested): State.STOPPING,
    (State.DRAINING, AgentJoined): State.DRAINING,
    (State.DRAINING, InstanceStopRequested): State.STOPPING,
    (State.STOPPING, AgentJoined): State.STOPPING,
    (State.STOPPING, InstanceGone): State.GONE,
}

OWN = (
    InstanceRequested,
    InstanceStarted,
    InstanceIdled,
    InstanceDrainRequested,
    InstanceStopRequested,
    InstanceGone,
    ProvisioningFailed,
)
"""The events that are about instances and nothing else."""

COMING = frozenset({State.REQUESTED, State.STARTED})
LEAVING = frozenset({State.DRAINING, State.STOPPING})


@dataclass(frozen=True, slots=True)
class Instance:
    number: int
    name: str
    agent_id: str
    slots: int
    requested_at: datetime
    state: State
    instance_id: str = ""
    idle_at: datetime | None = None
    """Since when nothing has run on it; None while a task runs on it, and until the scheduler has looked."""
    why_leaving: str = ""


@dataclass(frozen=True, slots=True)
class Fleet:
    instances: Mapping[int, Instance] = field(default_factory=dict)
    """Those that are not gone, by number."""
    by_agent: Mapping[str, int] = field(default_factory=dict)
    requested: int = 0
    """The highest number so far."""
    failures: int = 0
    """In a row."""
    failed_at: datetime | None = None
    retry_at: datetime | None = None
    suspended: bool = False
    trouble: str = ""
    """The latest failure of that row."""

    @property
    def coming(self) -> int:
        """How many are on their way."""
        return sum(instance.state in COMING for instance in self.instances.values())

    def of_agent(self, agent_id: str) -> Instance | None:
        number = self.by_agent.get(agent_id)
        return None if number is None else self.instances[number]


def evolve(fleet: Fleet, event: Event) -> Fleet:
    """Of all that happens in a pool, what concerns its instances."""
    if not fleet.instances and not isinstance(event, InstanceRequested):
        return fleet
    match event:
        case InstanceRequested():
            return _request(fleet, event)
        case AgentJoined(agent_id=agent_id):
            return _join(fleet, agent_id, event)
        case SlotsAssigned(placements=placements):
            return _work_begins(fleet, {placement.agent_id for placement in placements})
        case InstanceGone(number=number):
            return _forget(fleet, _step(fleet.instances[number], event))
        case ProvisioningFailed(number=number):
            return _fail(_put(fleet, _step(fleet.instances[number], event)), event)
        case InstanceStarted(number=number, instance_id=instance_id):
            return _put(fleet, replace(_step(fleet.instances[number], event), instance_id=instance_id))
        case InstanceIdled(number=number, at=at):
            return _put(fleet, replace(_step(fleet.instances[number], event), idle_at=at))
        case InstanceDrainRequested(number=number, reason=reason) | InstanceStopRequested(number=number, reason=reason):
            return _put(fleet, replace(_step(fleet.instances[number], event), why_leaving=reason))
    return fleet


def _request(fleet: Fleet, event: InstanceRequested) -> Fleet:
    assert event.number > fleet.requested, f"instance {event.number} was requested twice"
    assert event.agent_id not in fleet.by_agent, f"{event.agent_id} has an instance"
    state = FLOW[State.ABSENT, type(event)]
    instance = Instance(event.number, event.name, event.agent_id, event.slots, event.at, state)
    by_agent = {**fleet.by_agent, event.agent_id: event.number}
    return _put(replace(fleet, requested=event.number, by_agent=by_agent), instance)


def _join(fleet: Fleet, agent_id: str, event: AgentJoined) -> Fleet:
    instance = fleet.of_agent(agent_id)
    if instance is None:
        return fleet
    joined = _put(fleet, _step(instance, event))
    if instance.state not in COMING:
        return joined
    return replace(joined, failures=0, failed_at=None, retry_at=None, suspended=False, trouble="")


def _work_begins(fleet: Fleet, agent_ids: set[str]) -> Fleet:
    for agent_id in agent_ids & fleet.by_agent.keys():
        instance = fleet.of_agent(agent_id)
        if instance is not None and instance.idle_at is not None:
            fleet = _put(fleet, replace(instance, idle_at=None))
    return fleet


def _fail(fleet: Fleet, event: ProvisioningFailed) -> Fleet:
    return replace(
        fleet,
        failures=event.failures,
        failed_at=event.at,
        retry_at=event.retry_at,
        suspended=event.suspended,
        trouble=event.reason,
    )


def _step(instance: Instance, event: Event) -> Instance:
    return replace(instance, state=FLOW[instance.state, type(event)])


def _put(fleet: Fleet, instance: Instance) -> Fleet:
    return replace(fleet, instances={**fleet.instances, instance.number: instance})


def _forget(fleet: Fleet, gone: Instance) -> Fleet:
    return replace(
        fleet,
        instances={number: instance for number, instance in fleet.instances.items() if number != gone.number},
        by_agent={agent_id: number for agent_id, number in fleet.by_agent.items() if number != gone.number},
    )
