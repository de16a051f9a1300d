"""Agents, slots and allocations: event -> rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from resolute.api.projections.statement import Statement, document, insert, statement, update
from resolute.api.shown_states import AllocationState, ShareState
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import (
    NUMBERED,
    AgentDisabled,
    AgentEnabled,
    AgentJoined,
    AgentLost,
    AllocationExited,
    AllocationHeldBack,
    AllocationKillRequested,
    AllocationRequested,
    AllocationStarted,
    AllocationWaits,
    JobChanged,
    JobMoved,
    PreemptionRequested,
    ResourcesExited,
    ResourcesStarted,
    SlotDisabled,
    SlotEnabled,
    SlotsAssigned,
)
from resolute.proto.queue import JobSetting, WaitRule

JOINED = """INSERT INTO read_v1.agents (agent_id, pool, host, version, alive, joined_at)
VALUES ($1, $2, $3, $4, true, $5)
ON CONFLICT (agent_id, pool) DO UPDATE SET host = EXCLUDED.host, version = EXCLUDED.version,
    alive = true, joined_at = EXCLUDED.joined_at"""

LOST = "UPDATE read_v1.agents SET alive = false WHERE agent_id = $1 AND pool = $2"

AGENT_STATE = "UPDATE read_v1.agents SET enabled = $3, draining = $4 WHERE agent_id = $1 AND pool = $2"

OTHER_SLOTS = "DELETE FROM read_v1.slots WHERE agent_id = $1 AND pool = $2 AND slot_id <> ALL($3::int[])"

SLOT = """INSERT INTO read_v1.slots (agent_id, pool, slot_id, kind, brand, uuid) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (agent_id, pool, slot_id) DO UPDATE
SET kind = EXCLUDED.kind, brand = EXCLUDED.brand, uuid = EXCLUDED.uuid"""

SLOT_STATE = "UPDATE read_v1.slots SET enabled = $4, draining = $5 WHERE agent_id = $1 AND pool = $2 AND slot_id = $3"

RESOURCES_GONE = f"""UPDATE read_v1.placements SET state = '{ShareState.EXITED}'
WHERE allocation_id = $1 AND state <> '{ShareState.EXITED}'"""

# Counts the events of `NUMBERED`; a job that is new in the pool stands at the number of its first request.
ARRIVED = """WITH arrived AS (
    INSERT INTO read_v1.arrivals AS known (pool, count) VALUES ($2, 1)
    ON CONFLICT (pool) DO UPDATE SET count = known.count + 1 RETURNING count)
INSERT INTO read_v1.jobs (job_id, pool, place)
SELECT $1::text, $2, count FROM arrived WHERE $1::text IS NOT NULL ON CONFLICT DO NOTHING"""

MOVED = "UPDATE read_v1.jobs SET place = $3::text::numeric WHERE job_id = $1 AND pool = $2"


NOT_SHOWN = frozenset({"allocation_id", "still_owed", "room_slots"})
"""Fields of recorded reasons that say nothing to a person: the scheduler reads them when it folds its pool."""


def project(recorded: Recorded) -> list[Statement]:
    pool = recorded.key
    return _agents(pool, recorded) or [*_numbered(pool, recorded.event), *_allocations(pool, recorded)]


def _numbered(pool: str, event: Event) -> list[Statement]:
    if not isinstance(event, NUMBERED):
        return []
    job_id = event.job_id if isinstance(event, AllocationRequested) else None
    touches = (f"pools:{pool}", *([f"jobs:{job_id}"] if job_id else []))
    return [statement(ARRIVED, job_id, pool, touches=touches)]


def _agents(pool: str, recorded: Recorded) -> list[Statement]:
    match recorded.event:
        case AgentJoined() as agent:
            return _joined(pool, agent, recorded)
        case AgentLost(agent_id=agent_id):
            return [_agent(LOST, agent_id, pool)]
        case AgentEnabled(agent_id=agent_id):
            return [_agent(AGENT_STATE, agent_id, pool, True, False)]
        case AgentDisabled(agent_id=agent_id, drain=drain):
            return [_agent(AGENT_STATE, agent_id, pool, False, drain)]
        case SlotEnabled(agent_id=agent_id, slot_id=slot_id):
            return [_agent(SLOT_STATE, agent_id, pool, slot_id, True, False)]
        case SlotDisabled(agent_id=agent_id, slot_id=slot_id, drain=drain):
            return [_agent(SLOT_STATE, agent_id, pool, slot_id, False, drain)]
    return []


def _joined(pool: str, agent: AgentJoined, recorded: Recorded) -> list[Statement]:
    return [
        _agent(JOINED, agent.agent_id, pool, agent.host, agent.version, recorded.recorded_at),
        _agent(OTHER_SLOTS, agent.agent_id, pool, [slot.id for slot in agent.slots]),
        *(_agent(SLOT, agent.agent_id, pool, slot.id, slot.kind, slot.brand, slot.uuid) for slot in agent.slots),
    ]


def _agent(sql: str, agent_id: str, pool: str, *args: Any) -> Statement:
    return statement(sql, agent_id, pool, *args, touches=(f"agents:{agent_id}",))


def _allocations(pool: str, recorded: Recorded) -> list[Statement]:
    at = recorded.recorded_at
    match recorded.event:
        case AllocationRequested() as asked:
            return [_requested(pool, asked, recorded)]
        case SlotsAssigned(allocation_id=allocation_id, placements=placements, reason=reason, rule=rule):
            placed, slots = _told(recorded, rule=rule, reason=reason), sum(len(place.slot_ids) for place in placements)
            given = {"why": reason, "assigned_at": at, "placed": placed, "waits": None, "slots": slots}
            return [
                _allocation(allocation_id, state=AllocationState.ASSIGNED, **given),
                *(
                    insert(
                        "placements",
                        (f"allocations:{allocation_id}",),
                        resources_id=placement.resources_id,
                        allocation_id=allocation_id,
                        share=share,
                        agent_id=placement.agent_id,
                        slot_ids=list(placement.slot_ids),
                        state=ShareState.ASSIGNED,
                    )
                    for share, placement in enumerate(placements)
                ),
            ]
        case AllocationHeldBack(allocation_id=allocation_id, reason=reason, line=line):
            waits = _told(recorded, rule=WaitRule.NEVER_FITS, reason=reason, since=at, line=line)
            return [_allocation(allocation_id, why=reason, waits=waits)]
        case AllocationWaits(allocation_id=allocation_id, reason=reason):
            return [_allocation(allocation_id, why=reason, waits=_told(recorded, **_fields(recorded.event)))]
        case ResourcesStarted(allocation_id=allocation_id, resources_id=resources_id, address=address):
            return [_share(allocation_id, resources_id, state=ShareState.RUNNING, address=address)]
        case AllocationStarted(allocation_id=allocation_id):
            return [_allocation(allocation_id, state=AllocationState.RUNNING, started_at=at)]
        case PreemptionRequested(allocation_id=allocation_id, reason=reason, deadline_at=deadline_at):
            preempted = _told(recorded, **_fields(recorded.event))
            return [
                _allocation(allocation_id, why=reason, preemption_deadline_at=deadline_at, preempted=preempted),
            ]
        case AllocationKillRequested(allocation_id=allocation_id, reason=reason):
            killed = _told(recorded, **_fields(recorded.event))
            return [_allocation(allocation_id, state=AllocationState.TERMINATING, why=reason, killed=killed)]
        case ResourcesExited(allocation_id=allocation_id, resources_id=resources_id, exit_code=code, reason=reason):
            return [_share(allocation_id, resources_id, state=ShareState.EXITED, exit_code=code, reason=reason)]
        case AllocationExited(allocation_id=allocation_id, outcome=outcome, exit_code=code, reason=reason):
            return [
                _allocation(
                    allocation_id,
                    state=AllocationState.TERMINATED,
                    why=reason,
                    outcome=outcome,
                    exit_code=code,
                    ended_at=at,
                ),
                statement(RESOURCES_GONE, allocation_id, touches=(f"allocations:{allocation_id}",)),
            ]
        case JobChanged(job_id=job_id, changes=changes):
            known = {name: value for name, value in changes.items() if name in tuple(JobSetting)}
            return [_of_job(job_id, known)] if known else []
        case JobMoved(job_id=job_id, position=position, priority=priority):
            return [statement(MOVED, job_id, pool, position), _of_job(job_id, {"priority": priority})]
    return []


def _of_job(job_id: str, columns: Mapping[str, Any]) -> Statement:
    """Of its allocations that have not ended: what one was run with stays as it was."""
    sets = ", ".join(f"{name} = ${place}" for place, name in enumerate(columns, start=2))
    sql = f"UPDATE read_v1.allocations SET {sets} WHERE job_id = $1 AND ended_at IS NULL"
    return statement(sql, job_id, *columns.values())


def _told(recorded: Recorded, **said: Any) -> str:
    """A recorded reason, with when and by whose wish."""
    return document({"at": recorded.recorded_at, "actor": recorded.cause.actor, **said})


def _fields(event: Any) -> dict[str, Any]:
    return {field.name: getattr(event, field.name) for field in fields(event) if field.name not in NOT_SHOWN}


def _allocation(allocation_id: str, **columns: Any) -> Statement:
    return update("allocations", "allocation_id", allocation_id, **columns)


def _share(allocation_id: str, resources_id: str, **columns: Any) -> Statement:
    touches = (f"allocations:{allocation_id}",)
    return update("placements", "resources_id", resources_id, touches=touches, **columns)


def _requested(pool: str, asked: AllocationRequested, recorded: Recorded) -> Statement:
    return insert(
        "allocations",
        (f"allocations:{asked.allocation_id}",),
        allocation_id=asked.allocation_id,
        pool=pool,
        task_id=asked.task_id,
        task_type=asked.task_type,
        job_id=asked.job_id,
        name=asked.name,
        owner=asked.owner,
        slots=asked.slots,
        priority=asked.priority,
        weight=asked.weight,
        max_slots=asked.max_slots,
        experiment_id=asked.experiment_id,
        trial_id=asked.trial_id,
        state=AllocationState.QUEUED,
        requested_at=recorded.recorded_at,
    )
