"""The job queue: its order, its figures, what people may change of it, and why a job waits."""

from __future__ import annotations

from datetime import timedelta

from resolute.api.call import Call
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Listed, Window
from resolute.api.pools.queries import QUERIES as POOL_QUERIES
from resolute.api.pools.resource_pools import queue_stats
from resolute.api.queue.changes import update_job_queue
from resolute.api.queue.explaining import explain_job
from resolute.api.queue.explanations import ExplainedJob, ExplainJob
from resolute.api.queue.jobs import job_shown
from resolute.api.queue.messages import (
    AnyJob,
    DailyWait,
    GetJobQueueStats,
    GetJobs,
    GetJobsV2,
    JobsAnswer,
    JobState,
    JobsV2Answer,
    PoolQueueStats,
    QueueStatsAnswer,
    UpdateJobQueue,
)
from resolute.api.queue.order import orders_of
from resolute.api.queue.queries import QUERIES, JobRow, QueueQueries, WantedJobs
from resolute.api.routing import SIGNED_IN
from resolute.proto.errors import InvalidConfig

STATES = {JobState.QUEUED: False, JobState.SCHEDULED: True}
"""The states that a request may name and that jobs have, and whether jobs in them are scheduled."""

DAYS = 7
"""How far back the figures of waiting go."""


async def get_jobs(call: Call, request: GetJobs) -> JobsAnswer:
    """The job queue, pool by pool, in the order it is served: what holds slots, then who is next."""
    found = await _jobs(call, request)
    return JobsAnswer(jobs=tuple(map(job_shown, found.rows)), pagination=Pagination.of(found.page))


async def get_jobs_v2(call: Call, request: GetJobsV2) -> JobsV2Answer:
    """The job queue, likewise, in the form newer clients read."""
    found = await _jobs(call, request)
    jobs = tuple(AnyJob(full=job_shown(row)) for row in found.rows)
    return JobsV2Answer(jobs=jobs, pagination=Pagination.of(found.page))


async def get_queue_stats(call: Call, request: GetJobQueueStats) -> QueueStatsAnswer:
    """How many jobs run and wait, by pool; and how long work waited there on each of the last days, on average."""
    pools = await call.gateway.ports.of(POOL_QUERIES).pools(call.gateway.settings.pool_names)
    today = call.gateway.context.now().replace(hour=0, minute=0, second=0, microsecond=0)
    waited = await _queries(call).waited(today - timedelta(days=DAYS))
    return QueueStatsAnswer(
        results=tuple(
            PoolQueueStats(
                resource_pool=pool.name,
                stats=queue_stats(pool),
                aggregates=tuple(
                    DailyWait(period_start=one.day, seconds=one.seconds) for one in waited if one.pool == pool.name
                ),
            )
            for pool in pools
            if not request.resource_pools or pool.name in request.resource_pools
        )
    )


def _queries(call: Call) -> QueueQueries:
    return call.gateway.ports.of(QUERIES)


async def _jobs(call: Call, request: GetJobs) -> Listed[JobRow]:
    return await _queries(call).jobs(
        call.scope,
        orders_of(call.gateway.settings),
        WantedJobs(pool=request.resource_pool, scheduled=_scheduled(request.states)),
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit),
    )


def _scheduled(states: tuple[JobState, ...]) -> frozenset[bool] | None:
    """Which jobs the states are those of. Raises InvalidConfig for one that no job has."""
    if JobState.UNSPECIFIED in states:
        known = ", ".join(state.value for state in JobState if state is not JobState.UNSPECIFIED)
        raise InvalidConfig(f"states: {JobState.UNSPECIFIED.value!r} is unknown; use one of {known}")
    return frozenset(STATES[state] for state in states if state in STATES) if states else None


VIEW = SIGNED_IN.to("task.view").over_scope()
VIEW_ONE = SIGNED_IN.to("task.view").about("job", "jobId")
STATS = SIGNED_IN.to("cluster.view").outside()
"""How busy the pools are: figures that name no job."""
CHANGE = (
    SIGNED_IN.to("queue.edit")
    .about("job", "body.updates.jobId")
    .about("job", "body.updates.aheadOf", optional=True)
    .about("job", "body.updates.behindOf", optional=True)
)

TAG = "Internal"
QUEUE = "/api/v1/job-queues"

ROUTES = (
    operation("GetJobs", "GET", QUEUE, get_jobs, VIEW, request=GetJobs, response=JobsAnswer, tag=TAG),
    operation(
        "GetJobsV2",
        "GET",
        "/api/v1/job-queues-v2",
        get_jobs_v2,
        VIEW,
        request=GetJobsV2,
        response=JobsV2Answer,
        tag=TAG,
    ),
    operation(
        "GetJobQueueStats",
        "GET",
        f"{QUEUE}/stats",
        get_queue_stats,
        STATS,
        request=GetJobQueueStats,
        response=QueueStatsAnswer,
        tag=TAG,
    ),
    operation(
        "UpdateJobQueue", "POST", QUEUE, update_job_queue, CHANGE, request=UpdateJobQueue, response=Empty, tag=TAG
    ),
    operation(
        "ExplainJob",
        "GET",
        "/api/v1/jobs/{jobId}/explain",
        explain_job,
        VIEW_ONE,
        request=ExplainJob,
        response=ExplainedJob,
        tag=TAG,
    ),
)
