"""The job queue: its order, its figures, and what people may change of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from resolute.api import wire
from resolute.api.call import Call
from resolute.api.handlers.queue_changes import applied, read_changes
from resolute.api.pools.queries import POOLS
from resolute.api.routing import SIGNED_IN, Route
from resolute.api.views.jobs import COUNT, WAITED, job_json, selecting
from resolute.api.views.listing import OF_EXPERIMENT, Where, state_names
from resolute.api.views.queue_order import policies

STATES = ("QUEUED", "SCHEDULED", "SCHEDULED_BACKFILLED")

DAYS = 7
"""How far back the figures of waiting go."""


async def _queue(call: Call) -> tuple[list[dict[str, Any]], wire.Page]:
    where = Where(call.scope, OF_EXPERIMENT.format("q.experiment_id"), list(policies(call.gateway.settings)))
    if pool := call.query.text("resourcePool"):
        where.add("q.pool = ?", pool)
    if states := state_names(call.query.texts("states"), STATES):
        where.add("CASE WHEN q.scheduled THEN 'SCHEDULED' ELSE 'QUEUED' END = ANY(?::text[])", states)
    read = call.gateway.read
    total = int(await read.value(COUNT + where.sql, *where.args))
    page = wire.page_of(total, offset=call.query.number("offset"), limit=call.query.number("limit"))
    direction = "DESC" if call.query.text("orderBy") in ("ORDER_BY_DESC", "2") else "ASC"
    window = f" ORDER BY q.number {direction} OFFSET {page.start} LIMIT {page.end - page.start}"
    rows = await read.rows(selecting(where.sql, window), *where.args) if total else []
    jobs = [job_json(row) for row in rows]
    return jobs[::-1] if direction == "DESC" else jobs, page


async def get_jobs(call: Call) -> dict[str, Any]:
    """The job queue, pool by pool, in the order it is served: what holds slots, then who is next."""
    jobs, page = await _queue(call)
    return {"jobs": jobs, "pagination": page.as_json()}


async def get_jobs_v2(call: Call) -> dict[str, Any]:
    """The job queue, likewise, in the form newer clients read."""
    jobs, page = await _queue(call)
    return {"jobs": [{"full": job} for job in jobs], "pagination": page.as_json()}


async def get_queue_stats(call: Call) -> dict[str, Any]:
    """How many jobs run and wait, by pool; and how long work waited there on each of the last days, on average."""
    wanted, read = call.query.texts("resourcePools"), call.gateway.read
    rows = await read.rows(POOLS, call.gateway.settings.pool_names)
    today = call.gateway.context.now().replace(hour=0, minute=0, second=0, microsecond=0)
    waited = await read.rows(WAITED, today - timedelta(days=DAYS))
    return {
        "results": [
            {
                "resourcePool": row["name"],
                "stats": {"queuedCount": row["queued"], "scheduledCount": row["scheduled"]},
                "aggregates": [
                    {"periodStart": day["day"], "seconds": day["seconds"]}
                    for day in waited
                    if day["pool"] == row["name"]
                ],
            }
            for row in rows
            if not wanted or row["name"] in wanted
        ]
    }


async def update_queue(call: Call) -> dict[str, Any]:
    """Move jobs ahead of or behind others, change their priority or weight, or move them to another pool.

    All of the updates are checked before the first is made.
    """
    for number, change in enumerate(await read_changes(call)):
        await applied(call, change, f"update-{number}")
    return {}


VIEW = SIGNED_IN.to("task.view").over_scope()
STATS = SIGNED_IN.to("cluster.view").outside()
"""How busy the pools are: figures that name no job."""
CHANGE = (
    SIGNED_IN.to("task.edit")
    .about("job", "body.updates.jobId")
    .about("job", "body.updates.aheadOf", optional=True)
    .about("job", "body.updates.behindOf", optional=True)
)

ROUTES = (
    Route("GetJobs", "GET", "/api/v1/job-queues", get_jobs, VIEW),
    Route("GetJobsV2", "GET", "/api/v1/job-queues-v2", get_jobs_v2, VIEW),
    Route("GetJobQueueStats", "GET", "/api/v1/job-queues/stats", get_queue_stats, STATS),
    Route("UpdateJobQueue", "POST", "/api/v1/job-queues", update_queue, CHANGE),
)
