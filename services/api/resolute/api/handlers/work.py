"""What runs and what waits: tasks and their allocations."""

from __future__ import annotations

from typing import Any

import asyncpg

from resolute.api.call import Call
from resolute.api.pools.queries import SLOTS
from resolute.api.routing import SIGNED_IN, TASK, Route
from resolute.api.views.listing import OF_EXPERIMENT, Where
from resolute.api.views.pools import allocation_json, summary_json, task_json
from resolute.proto.errors import NotFound

ALLOCATIONS = "SELECT * FROM read_tasks.allocations"

SHARES = """SELECT * FROM read_tasks.placements WHERE allocation_id = ANY($1::text[]) ORDER BY allocation_id, share"""

TRIAL = "SELECT started_at, ended_at FROM read_trials.trials WHERE task_id = $1"

COUNTS = "SELECT task_type, count(DISTINCT task_id) AS tasks FROM read_tasks.allocations"


async def get_tasks(call: Call) -> dict[str, Any]:
    """Every allocation that runs or waits."""
    read, where = call.gateway.read, _live(call)
    live = await read.rows(f"{ALLOCATIONS}{where.sql} ORDER BY requested_at, allocation_id", *where.args)
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


def _live(call: Call) -> Where:
    where = Where(call.scope, OF_EXPERIMENT.format("experiment_id"))
    where.plain("ended_at IS NULL")
    return where


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
    where = _live(call)
    rows = await call.gateway.read.rows(f"{COUNTS}{where.sql} GROUP BY task_type", *where.args)
    counts = {row["task_type"]: row["tasks"] for row in rows}
    kinds = {"commands": "COMMAND", "notebooks": "NOTEBOOK", "shells": "SHELL", "tensorboards": "TENSORBOARD"}
    return {name: counts.get(kind, 0) for name, kind in kinds.items()}


async def get_allocation(call: Call) -> dict[str, Any]:
    """One allocation."""
    allocation_id = call.path["allocationId"]
    row = await call.gateway.read.row(f"{ALLOCATIONS} WHERE allocation_id = $1", allocation_id)
    if row is None:
        raise NotFound(f"allocation {allocation_id} not found")
    return {"allocation": allocation_json(row)}


VIEW = SIGNED_IN.to("task.view")
LIST = VIEW.over_scope()

ROUTES = (
    Route("GetTasks", "GET", "/api/v1/tasks", get_tasks, LIST),
    Route("GetActiveTasksCount", "GET", "/api/v1/tasks/count", get_task_counts, LIST),
    Route("GetTask", "GET", "/api/v1/tasks/{taskId}", get_task, VIEW | TASK.about("task", "taskId")),
    Route(
        "GetAllocation",
        "GET",
        "/api/v1/allocations/{allocationId}",
        get_allocation,
        VIEW | TASK.about("allocation", "allocationId"),
    ),
)
