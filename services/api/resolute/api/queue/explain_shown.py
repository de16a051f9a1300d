"""Allocations and the reasons of what happened to them, as answers show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from resolute.api.queue.advice import advice
from resolute.api.queue.explain_rows import AllocationRow, JobName, RecordedReason, ShareRow
from resolute.api.queue.explanations import (
    EarlierAllocation,
    Ended,
    ExplainedAllocation,
    FirstInLine,
    Holder,
    JobReference,
    Placed,
    PlacedOn,
    Preempted,
    Reason,
    Waiting,
)
from resolute.api.queue.waiting import Wait
from resolute.config.pools import Scheduler


@dataclass(frozen=True, slots=True)
class Known:
    """What else is known of the allocations of an answer."""

    waits: Mapping[str, Wait]
    """By allocation, of those that wait."""
    names: Mapping[str, JobName]
    """By job, of those that the caller may see."""
    owners: Mapping[str, str]
    """The jobs of the allocations that slots were given back for."""
    shares: Sequence[ShareRow]


def allocation_shown(
    row: AllocationRow, known: Known, scheduler: Scheduler, previous: EarlierAllocation | None
) -> ExplainedAllocation:
    shown = earlier_shown(row, known, scheduler)
    return ExplainedAllocation(**dict(shown), previous=previous)


def earlier_shown(row: AllocationRow, known: Known, scheduler: Scheduler) -> EarlierAllocation:
    wait = known.waits.get(row.allocation_id)
    return EarlierAllocation(
        allocation_id=row.allocation_id,
        task_id=row.task_id,
        trial_id=row.trial_id,
        state=f"STATE_{row.state}",
        slots=row.slots,
        resource_pool=row.pool,
        requested_time=row.requested_at,
        waits=None if wait is None else _waiting(row, wait, scheduler, known),
        placed=None if row.placed is None else _placed(row.placed, row, known),
        preempted=None if row.preempted is None else _preempted(row.preempted, known),
        killed=None if row.killed is None else _reason(row.killed),
        ended=_ended(row),
    )


def _waiting(row: AllocationRow, wait: Wait, scheduler: Scheduler, known: Known) -> Waiting:
    holders = [job_id for job_id, _ in wait.holders]
    return Waiting(
        rule=wait.rule,
        reason=wait.sentence,
        time=wait.recorded.at,
        by=wait.recorded.actor,
        since=wait.since,
        slots_needed=row.slots,
        slots_free=wait.free,
        jobs_ahead=wait.ahead.count,
        ahead=tuple(_job(job_id, known) for job_id in wait.ahead.first),
        holders=tuple(_holder(job_id, slots, known) for job_id, slots in wait.holders),
        help=advice(wait.rule, scheduler, holders, job_id=row.job_id, priority=row.priority, weight=row.weight),
        first=_first(wait, known),
    )


def _first(wait: Wait, known: Known) -> FirstInLine | None:
    if (first := wait.first) is None:
        return None
    job, told = _job(first.job_id, known), first.waits
    return FirstInLine(
        allocation_id=first.allocation_id,
        job_id=job.job_id,
        name=job.name,
        username=job.username,
        experiment_id=job.experiment_id,
        rule=told.rule,
        reason=told.reason,
        time=told.at,
        by=told.actor,
        since=told.since if told.since is not None else told.at,
    )


def _holder(job_id: str, slots: int, known: Known) -> Holder:
    job = _job(job_id, known)
    return Holder(job_id=job.job_id, name=job.name, username=job.username, experiment_id=job.experiment_id, slots=slots)


def _job(job_id: str, known: Known) -> JobReference:
    return _named(known.names[job_id]) if job_id in known.names else JobReference(job_id=job_id)


def _named(job: JobName) -> JobReference:
    return JobReference(job_id=job.job_id, name=job.name, username=job.owner, experiment_id=job.experiment_id)


def _reason(recorded: RecordedReason) -> Reason:
    return Reason(rule=recorded.rule, reason=recorded.reason, time=recorded.at, by=recorded.actor)


def _placed(recorded: RecordedReason, row: AllocationRow, known: Known) -> Placed:
    shares = (share for share in known.shares if share.allocation_id == row.allocation_id)
    return Placed(
        rule=recorded.rule,
        reason=recorded.reason,
        time=recorded.at,
        by=recorded.actor,
        agents=tuple(PlacedOn(agent_id=share.agent_id, slot_ids=share.slot_ids) for share in shares),
    )


def _preempted(recorded: RecordedReason, known: Known) -> Preempted:
    beneficiary = recorded.for_allocation or None
    owner = known.names.get(known.owners.get(beneficiary or "", ""))
    reference = JobReference() if owner is None else _named(owner)
    return Preempted(
        rule=recorded.rule,
        reason=recorded.reason,
        time=recorded.at,
        by=recorded.actor,
        deadline=recorded.deadline_at,
        for_allocation=beneficiary,
        for_=None if beneficiary is None else reference,
    )


def _ended(row: AllocationRow) -> Ended | None:
    if row.ended_at is None:
        return None
    return Ended(end_time=row.ended_at, outcome=row.outcome, reason=row.why, exit_code=row.exit_code)
