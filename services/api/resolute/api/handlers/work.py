"""What runs and what waits: tasks, allocations, the job queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from resolute.api import wire
from resolute.api.call import Call
from resolute.api.routing import SIGNED_IN, TASK, Route
from resolute.api.views.listing import state_names
from resolute.api.views.pools import (
    JOBS,
    POOLS,
    SLOTS,
    allocation_json,
    jobs_json,
    stats_json,
    summary_json,
    task_json,
)
from resolute.proto.errors import NotFound

ALLOCATIONS = "SELECT * FROM read_v1.allocations"

LIVE = f"{ALLOCATIONS} WHERE ended_at IS NULL ORDER BY requested_at, allocation_id"

SHARES = """SELECT * FROM read_v1.placements WHERE allocation_id = ANY($1::text[]) ORDER BY allocation_id, share"""

TRIAL = "SELECT started_at, ended_at FROM read_v1.trials WHERE task_id = $1"

COUNTS = """SELECT task_type, count(DISTINCT task_id) AS tasks FROM read_v1.allocations
WHERE ended_at IS NULL GROUP BY task_type"""


async def get_tasks(call: Call) -> dict[str, Any]:
    """Every allocation that runs or waits."""
    read = call.gateway.read
    live = await read.rows(LIVE)
    shares = await read.rows(SHARES, [row["allocation_id"] for row in live])
    slots = await read.rows(SLOTS, sorted({share["agent_id"] for share in shares}))
    by_allocation: dict[str, list[asyncpg.Record]] = {}
    for share in shares:
        by_allocation.setdefault(share["allocation_id"], []).append(share)
    of_pool = call.gateway.settings.scheduler_of
    return {
        "allocationIdToSummary": {
            row["allocation_id"]: summary_json(
                row, by_allocation.get(row["allocation_id"], []), slots, of_pool(row["pool"]).type
            )
            for row in live
        }
    }


async def get_task(call: Call) -> dict[str, Any]:
    """One task and its allocations."""
    task_id = call.path["taskId"]
    by_age = f"{ALLOCATIONS} WHERE task_id = $1 ORDER BY requested_at, allocation_id"
    allocations = await call.gateway.read.rows(by_age, task_id)
    trial = await call.gateway.read.row(TRIAL, task_id)
    if not allocations and trial is None:
        raise NotFound(f"task {task_id} not found")
    return {"task": task_json(task_id, allocations, trial)}


async def get_task_counts(call: Call) -> dict[str, Any]:
    """How many interactive tasks there are."""
    counts = {row["task_type"]: row["tasks"] for row in await call.gateway.read.rows(COUNTS)}
    kinds = {"commands": "COMMAND", "notebooks": "NOTEBOOK", "shells": "SHELL", "tensorboards": "TENSORBOARD"}
    return {name: counts.get(kind, 0) for name, kind in kinds.items()}


async def get_allocation(call: Call) -> dict[str, Any]:
    """One allocation."""
    allocation_id = call.path["allocationId"]
    row = await call.gateway.read.row(f"{ALLOCATIONS} WHERE allocation_id = $1", allocation_id)
    if row is None:
        raise NotFound(f"allocation {allocation_id} not found")
    return {"allocation": allocation_json(row)}


# ---------------------------------------------------------------- the job queue


async def _queue(call: Call) -> tuple[Sequence[dict[str, Any]], wire.Page]:
    jobs = jobs_json(await call.gateway.read.rows(JOBS))
    if pool := call.query.text("resourcePool"):
        jobs = [job for job in jobs if job["resourcePool"] == pool]
    if states := state_names(call.query.texts("states"), ("QUEUED", "SCHEDULED", "SCHEDULED_BACKFILLED")):
        jobs = [job for job in jobs if job["summary"]["state"].removeprefix("STATE_") in states]
    if call.query.text("orderBy") == "ORDER_BY_DESC":
        jobs.reverse()
    page = wire.page_of(len(jobs), offset=call.query.number("offset"), limit=call.query.number("limit"))
    return wire.cut(jobs, page), page


async def get_jobs(call: Call) -> dict[str, Any]:
    """The job queue, in the order it is served."""
    jobs, page = await _queue(call)
    return {"jobs": list(jobs), "pagination": page.as_json()}


async def get_jobs_v2(call: Call) -> dict[str, Any]:
    """The job queue, likewise, in the form newer clients read."""
    jobs, page = await _queue(call)
    return {"jobs": [{"full": job} for job in jobs], "pagination": page.as_json()}


async def get_queue_stats(call: Call) -> dict[str, Any]:
    """How many jobs run and wait, by pool."""
    wanted = call.query.texts("resourcePools")
    rows = await call.gateway.read.rows(POOLS, call.gateway.settings.pool_names)
    return {
        "results": [
            {"resourcePool": row["name"], "stats": stats_json(row), "aggregates": []}
            for row in rows
            if not wanted or row["name"] in wanted
        ]
    }


VIEW = SIGNED_IN.to("task.view")

ROUTES = (
    Route("GetTasks", "GET", "/api/v1/tasks", get_tasks, VIEW),
    Route("GetActiveTasksCount", "GET", "/api/v1/tasks/count", get_task_counts, VIEW),
    Route("GetTask", "GET", "/api/v1/tasks/{taskId}", get_task, VIEW | TASK.own("task", "taskId")),
    Route(
        "GetAllocation",
        "GET",
        "/api/v1/allocations/{allocationId}",
        get_allocation,
        VIEW | TASK.own("allocation", "allocationId"),
    ),
    Route("GetJobs", "GET", "/api/v1/job-queues", get_jobs, VIEW),
    Route("GetJobsV2", "GET", "/api/v1/job-queues-v2", get_jobs_v2, VIEW),
    Route("GetJobQueueStats", "GET", "/api/v1/job-queues/stats", get_queue_stats, VIEW),
)
