"""Why a job waits, or runs, or was asked to go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import asyncpg

from resolute.api.call import Call
from resolute.api.routing import SIGNED_IN, Route
from resolute.api.shown_states import AllocationState
from resolute.api.views import explain
from resolute.api.views.jobs import job_json, job_of, selecting
from resolute.api.views.listing import OF_EXPERIMENT, Where
from resolute.api.views.queue_order import policies
from resolute.api.views.standing import Line, Waits
from resolute.proto.errors import NotFound
from resolute.proto.queue import WaitRule

EXPERIMENT = "SELECT id, state, reason, resource_pool FROM read_experiments.experiments WHERE job_id = $1"


async def explain_job(call: Call) -> dict[str, Any]:
    """What each allocation of a job waits for, by which rule, who holds the slots, since when and what would help;
    or why it was placed where it is; or by whom it was asked to go. All as the scheduler recorded it; who comes first
    and who holds the slots is counted when somebody asks."""
    read, settings = call.gateway.read, call.gateway.settings
    job_id = await job_of(read, call.path["jobId"])
    experiment = await read.row(EXPERIMENT, job_id)
    rows = await read.rows(explain.ALLOCATIONS, job_id)
    if experiment is None and not rows:
        raise NotFound(f"job {job_id} not found; `det job list` shows those there are")
    jobs = await read.rows(selecting("WHERE q.job_id = $4"), *policies(settings), job_id)
    live = [row["task_id"] for row in rows if row["ended_at"] is None]
    before = {row["task_id"]: row for row in await read.rows(explain.PREVIOUS, live)}
    known = [*rows, *before.values()]
    shares = await read.rows(explain.SHARES, [row["allocation_id"] for row in known])
    waits = await _waits(call, rows)
    who = await _who(call, known, waits.values())

    def shown(row: asyncpg.Record) -> dict[str, Any]:
        of_it = [share for share in shares if share["allocation_id"] == row["allocation_id"]]
        waiting = waits.get(row["allocation_id"])
        return explain.allocation_json(row, of_it, settings.scheduler_of(row["pool"]), who, waiting)

    return {
        "jobId": job_id,
        "job": job_json(jobs[0]) if jobs else None,
        "schedulerType": settings.scheduler_of(_pool(experiment, rows)).type,
        "says": _says(experiment, rows, waits),
        "allocations": [
            shown(row) | ({"previous": shown(before[row["task_id"]])} if row["task_id"] in before else {})
            for row in rows
        ],
    }


def _pool(experiment: asyncpg.Record | None, rows: list[asyncpg.Record]) -> str:
    return str(rows[0]["pool"] if rows or experiment is None else experiment["resource_pool"])


async def _waits(call: Call, rows: list[asyncpg.Record]) -> dict[str, Waits]:
    """How those of `rows` that wait stand now, by their ids."""
    read, settings = call.gateway.read, call.gateway.settings
    waiting = [row for row in rows if row["state"] == AllocationState.QUEUED]
    lines = {pool: Line(read, pool, settings.scheduler_of(pool)) for pool in {row["pool"] for row in waiting}}
    return {row["allocation_id"]: await lines[row["pool"]].waits(row) for row in waiting}


async def _who(call: Call, rows: list[asyncpg.Record], waits: Collection[Waits]) -> Mapping[str, Mapping[str, Any]]:
    """Jobs and allocations that reasons speak of, by their ids, as people know them. Of those outside of the scope only
    the ids are told: the queue is everybody's."""
    read = call.gateway.read
    jobs, allocations = explain.mentioned(rows, waits)
    owners = {row["allocation_id"]: row["job_id"] for row in await read.rows(explain.OF_ALLOCATIONS, allocations)}
    where = Where(call.scope, OF_EXPERIMENT.format("e.id"), [sorted({*jobs, *owners.values()})])
    known = explain.named(await read.rows(explain.NAMES + where.sql, *where.args))
    return {**known, **{allocation: known[job] for allocation, job in owners.items() if job in known}}


def _says(experiment: asyncpg.Record | None, rows: list[asyncpg.Record], waits: Mapping[str, Waits]) -> str:
    """How the job stands, in a sentence."""
    live = [row for row in rows if row["ended_at"] is None]
    if not live:
        if experiment is None:
            return "it has ended"
        because = f": {experiment['reason']}" if experiment["reason"] else ""
        return f"it asks for nothing now; experiment {experiment['id']} is {experiment['state']}{because}"
    waiting = [row for row in live if row["state"] == AllocationState.QUEUED]
    if not waiting:
        return f"all of its {len(live)} allocations hold their slots" if len(live) > 1 else "it holds its slots"
    # What is first of it tells what it waits for: the others are in line behind.
    oldest = sorted(
        waiting, key=lambda row: (waits[row["allocation_id"]].rule == WaitRule.IN_LINE, row["requested_at"])
    )
    why = waits[oldest[0]["allocation_id"]].sentence
    held = len(live) - len(waiting)
    return f"{len(waiting)} of its {len(live)} allocations wait: {why}" if held else f"it waits: {why}"


VIEW = SIGNED_IN.to("task.view").about("job", "jobId")

ROUTES = (Route("ExplainJob", "GET", "/api/v1/jobs/{jobId}/explain", explain_job, VIEW),)
