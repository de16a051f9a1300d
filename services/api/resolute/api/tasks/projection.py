"""Allocations and their parts on the agents: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from resolute.api.experiments.projection import WHOSE, whose
from resolute.api.interactive.projection import WHOSE_TASK, whose_task
from resolute.api.kernel.rows import Place, Projection, Rows, Thing, WholeRows
from resolute.api.shown_states import AllocationState, ShareState
from resolute.api.tasks.reasons import reason, reason_of
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation, Placement
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import (
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
    SlotsAssigned,
)
from resolute.proto.queue import JobSetting, WaitRule

SETTINGS = frozenset(map(str, JobSetting))
"""Settings of a job that its allocations have as columns."""


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


# ------------------------------------------------------------ while it waits


def _requested(asked: AllocationRequested, recorded: Recorded, rows: Rows) -> None:
    allocation = Allocation(
        allocation_id=asked.allocation_id,
        pool=recorded.key,
        task_id=asked.task_id,
        task_type=asked.task_type,
        job_id=asked.job_id,
        live_job_id=asked.job_id,
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
    rows.put(ALLOCATIONS, allocation)


def _held_back(held: AllocationHeldBack, recorded: Recorded, rows: Rows) -> None:
    at = recorded.recorded_at
    waits = reason(recorded, rule=WaitRule.NEVER_FITS, reason=held.reason, since=at, line=held.line)
    rows.change(ALLOCATIONS, held.allocation_id, why=held.reason, waits=waits)


def _waits(waits: AllocationWaits, recorded: Recorded, rows: Rows) -> None:
    rows.change(ALLOCATIONS, waits.allocation_id, why=waits.reason, waits=reason_of(recorded))


def _assigned(assigned: SlotsAssigned, recorded: Recorded, rows: Rows) -> None:
    rows.change(
        ALLOCATIONS,
        assigned.allocation_id,
        state=AllocationState.ASSIGNED,
        why=assigned.reason,
        assigned_at=recorded.recorded_at,
        placed=reason(recorded, rule=assigned.rule, reason=assigned.reason),
        waits=None,
        slots=sum(len(placement.slot_ids) for placement in assigned.placements),
    )
    for share, placement in enumerate(assigned.placements):
        part = Placement(
            resources_id=placement.resources_id,
            allocation_id=assigned.allocation_id,
            share=share,
            agent_id=placement.agent_id,
            slot_ids=placement.slot_ids,
            state=ShareState.ASSIGNED,
        )
        rows.put(PLACEMENTS, part)


# ------------------------------------------------------------ while it runs


def _resources_started(started: ResourcesStarted, _: Recorded, rows: Rows) -> None:
    rows.change(PLACEMENTS, started.resources_id, state=ShareState.RUNNING, address=started.address)


def _started(started: AllocationStarted, recorded: Recorded, rows: Rows) -> None:
    rows.change(ALLOCATIONS, started.allocation_id, state=AllocationState.RUNNING, started_at=recorded.recorded_at)


def _preemption_requested(asked: PreemptionRequested, recorded: Recorded, rows: Rows) -> None:
    rows.change(
        ALLOCATIONS,
        asked.allocation_id,
        why=asked.reason,
        preemption_deadline_at=asked.deadline_at,
        preempted=reason_of(recorded),
    )


def _kill_requested(asked: AllocationKillRequested, recorded: Recorded, rows: Rows) -> None:
    rows.change(
        ALLOCATIONS,
        asked.allocation_id,
        state=AllocationState.TERMINATING,
        why=asked.reason,
        killed=reason_of(recorded),
    )


def _resources_exited(exited: ResourcesExited, _: Recorded, rows: Rows) -> None:
    rows.change(
        PLACEMENTS,
        exited.resources_id,
        state=ShareState.EXITED,
        exit_code=exited.exit_code,
        reason=exited.reason,
    )


def _exited(exited: AllocationExited, recorded: Recorded, rows: Rows) -> None:
    rows.change(
        ALLOCATIONS,
        exited.allocation_id,
        state=AllocationState.TERMINATED,
        live_job_id="",
        why=exited.reason,
        outcome=exited.outcome,
        exit_code=exited.exit_code,
        ended_at=recorded.recorded_at,
    )
    for placement in rows.where(PLACEMENTS, "allocation_id", exited.allocation_id):
        if placement.state != ShareState.EXITED:
            rows.change(PLACEMENTS, placement.resources_id, state=ShareState.EXITED)


# ------------------------------------------------------------ its job


def _job_changed(changed: JobChanged, _: Recorded, rows: Rows) -> None:
    columns = {name: value for name, value in changed.changes.items() if name in SETTINGS}
    if JobSetting.WEIGHT in columns:
        columns[JobSetting.WEIGHT.value] = float(columns[JobSetting.WEIGHT])
    if columns:
        _change_job(changed.job_id, columns, rows)


def _job_moved(moved: JobMoved, _: Recorded, rows: Rows) -> None:
    _change_job(moved.job_id, {"priority": moved.priority}, rows)


def _change_job(job_id: str, columns: Mapping[str, object], rows: Rows) -> None:
    """An allocation that has ended keeps the settings that it had."""
    for allocation in rows.where(ALLOCATIONS, "live_job_id", job_id):
        rows.change(ALLOCATIONS, allocation.allocation_id, **columns)


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    AllocationRequested: _requested,
    AllocationHeldBack: _held_back,
    AllocationWaits: _waits,
    SlotsAssigned: _assigned,
    ResourcesStarted: _resources_started,
    AllocationStarted: _started,
    PreemptionRequested: _preemption_requested,
    AllocationKillRequested: _kill_requested,
    ResourcesExited: _resources_exited,
    AllocationExited: _exited,
    JobChanged: _job_changed,
    JobMoved: _job_moved,
}


def _whose_allocation(rows: WholeRows, allocation_id: str) -> Place | None:
    row = rows.get(ALLOCATIONS, allocation_id)
    return None if row is None else whose(rows, row.experiment_id) or whose_task(rows, row.task_id)


PROJECTION = Projection(
    slice="tasks",
    version=1,
    tables=(ALLOCATIONS, PLACEMENTS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.POOL.name}),
    project=project,
    things={
        "allocation": Thing(
            f"{WHOSE}(SELECT experiment_id FROM read_tasks.allocations WHERE allocation_id = $1) UNION ALL "
            f"{WHOSE_TASK}(SELECT task_id FROM read_tasks.allocations WHERE allocation_id = $1)",
            twin=_whose_allocation,
        ),
    },
    ids={"taskId": (ALLOCATIONS, "task_id"), "allocationId": (ALLOCATIONS, "allocation_id")},
)
