"""Why a job waits, or runs where it runs, or was asked to end.

The reasons are the scheduler's own, as it recorded them when it decided. How the line stands is counted when somebody
asks (`waiting`), and the advice follows from the rule that holds the allocation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from resolute.api.call import Call
from resolute.api.queue.explain_queries import QUERIES as EXPLAIN_QUERIES
from resolute.api.queue.explain_queries import ExplainQueries
from resolute.api.queue.explain_rows import AllocationRow, ExperimentRow, JobName
from resolute.api.queue.explain_shown import Known, allocation_shown, earlier_shown
from resolute.api.queue.explanations import ExplainedAllocation, ExplainedJob, ExplainJob
from resolute.api.queue.jobs import job_shown
from resolute.api.queue.order import orders_of
from resolute.api.queue.queries import QUERIES
from resolute.api.queue.waiting import Wait, line_of
from resolute.api.settings import ApiSettings
from resolute.api.shown_states import AllocationState
from resolute.proto.errors import NotFound
from resolute.proto.queue import WaitRule


@dataclass(frozen=True, slots=True)
class Found:
    """What the tables know of a job."""

    experiment: ExperimentRow | None
    allocations: Sequence[AllocationRow]
    previous: Mapping[str, AllocationRow]
    """The last allocation before, by the task."""


async def explain_job(call: Call, request: ExplainJob) -> ExplainedJob:
    """What each allocation of a job waits for, by which rule, who holds the slots, since when and what would help;
    or why it was placed where it is; or by whom it was asked to go. All as the scheduler recorded it; who comes first
    and who holds the slots is counted when somebody asks."""
    queries, settings = call.gateway.ports.of(EXPLAIN_QUERIES), call.gateway.settings
    queue = call.gateway.ports.of(QUERIES)
    job_id = await queue.job_named(request.job_id)
    found = await _found(queries, job_id)
    job = await queue.job(orders_of(settings), job_id)
    waits = await _waits(queries, settings, found.allocations)
    known = await _known(call, queries, found, waits)
    return ExplainedJob(
        job_id=job_id,
        job=None if job is None else job_shown(job),
        scheduler_type=settings.scheduler_of(_pool(found)).type,
        says=_says(found, waits),
        allocations=tuple(_shown(row, found, known, settings) for row in found.allocations),
    )


async def _found(queries: ExplainQueries, job_id: str) -> Found:
    experiment, rows = await queries.experiment(job_id), await queries.allocations(job_id)
    if experiment is None and not rows:
        raise NotFound(f"job {job_id} not found; `det job list` shows those there are")
    previous = await queries.previous([row.task_id for row in rows if row.ended_at is None])
    return Found(experiment, rows, {row.task_id: row for row in previous})


def _pool(found: Found) -> str:
    if not found.allocations and found.experiment is not None:
        return found.experiment.resource_pool
    return found.allocations[0].pool


async def _waits(queries: ExplainQueries, settings: ApiSettings, rows: Sequence[AllocationRow]) -> Mapping[str, Wait]:
    """How those of `rows` that wait stand now, by their ids."""
    waiting = [row for row in rows if row.state == AllocationState.QUEUED]
    pools = {row.pool for row in waiting}
    lines = {pool: await line_of(queries, pool, settings.scheduler_of(pool)) for pool in pools}
    return {row.allocation_id: await lines[row.pool].wait_of(row) for row in waiting}


async def _known(call: Call, queries: ExplainQueries, found: Found, waits: Mapping[str, Wait]) -> Known:
    rows = [*found.allocations, *found.previous.values()]
    beneficiaries = {row.preempted.for_allocation for row in rows if row.preempted is not None}
    owners = await queries.jobs_of(sorted(one for one in beneficiaries if one))
    jobs = sorted({*_mentioned(waits), *owners.values()})
    names: dict[str, JobName] = {one.job_id: one for one in await queries.names(call.scope, jobs)}
    shares = await queries.shares([row.allocation_id for row in rows])
    return Known(waits=waits, names=names, owners=owners, shares=shares)


def _mentioned(waits: Mapping[str, Wait]) -> set[str]:
    """The jobs that are before those that wait."""
    jobs = {job_id for one in waits.values() for job_id in (*one.ahead.first, *(holder for holder, _ in one.holders))}
    return jobs | {one.first.job_id for one in waits.values() if one.first is not None}


def _shown(row: AllocationRow, found: Found, known: Known, settings: ApiSettings) -> ExplainedAllocation:
    before = found.previous.get(row.task_id)
    previous = None if before is None else earlier_shown(before, known, settings.scheduler_of(before.pool))
    return allocation_shown(row, known, settings.scheduler_of(row.pool), previous)


def _says(found: Found, waits: Mapping[str, Wait]) -> str:
    """How the job stands, in a sentence."""
    live = [row for row in found.allocations if row.ended_at is None]
    if not live:
        return _says_of_ended(found.experiment)
    waiting = [row for row in live if row.state == AllocationState.QUEUED]
    if not waiting:
        return f"all of its {len(live)} allocations hold their slots" if len(live) > 1 else "it holds its slots"
    # What the first allocation of the job waits for is what the job waits for: the others are in line behind it.
    first = min(waiting, key=lambda row: (waits[row.allocation_id].rule == WaitRule.IN_LINE, row.requested_at))
    why = waits[first.allocation_id].sentence
    holding = len(live) - len(waiting)
    return f"{len(waiting)} of its {len(live)} allocations wait: {why}" if holding else f"it waits: {why}"


def _says_of_ended(experiment: ExperimentRow | None) -> str:
    if experiment is None:
        return "it has ended"
    because = f": {experiment.reason}" if experiment.reason else ""
    return f"it asks for nothing now; experiment {experiment.id} is {experiment.state}{because}"
