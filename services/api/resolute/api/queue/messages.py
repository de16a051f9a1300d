"""The messages about the job queue."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import Needed, OrAbsent, WireEnum, items, number, whole
from resolute.api.kernel.messages import InBody, Input, InQuery, Message, Request
from resolute.api.pools.messages import QueueStats

# ---------------------------------------------------------------- what answers show


class JobState(WireEnum, wire_name="jobv1State"):
    UNSPECIFIED = "STATE_UNSPECIFIED"
    QUEUED = "STATE_QUEUED"
    SCHEDULED = "STATE_SCHEDULED"
    """At least one of its allocations holds its slots."""
    SCHEDULED_BACKFILLED = "STATE_SCHEDULED_BACKFILLED"
    """In requests only: no answer of this release has it."""


class JobSummary(Message, wire_name="v1JobSummary"):
    """How a job stands in the queue of its pool."""

    state: JobState
    jobs_ahead: int
    """How many jobs that wait are served before; 0 for a job that is scheduled."""


class JobType(WireEnum, wire_name="jobv1Type"):
    UNSPECIFIED = "TYPE_UNSPECIFIED"
    EXPERIMENT = "TYPE_EXPERIMENT"
    NOTEBOOK = "TYPE_NOTEBOOK"
    TENSORBOARD = "TYPE_TENSORBOARD"
    SHELL = "TYPE_SHELL"
    COMMAND = "TYPE_COMMAND"
    CHECKPOINT_GC = "TYPE_CHECKPOINT_GC"
    EXTERNAL = "TYPE_EXTERNAL"
    GENERIC = "TYPE_GENERIC"


class Job(Message, wire_name="v1Job"):
    """All that an experiment, or a task that belongs to none, asks for or holds in one pool."""

    job_id: str
    entity_id: str
    """The number of the experiment, or the id of the task."""
    type: JobType
    name: str
    username: str
    user_id: int = 0
    workspace_id: int
    """0 for a task that belongs to no experiment."""
    resource_pool: str
    summary: JobSummary | None
    submission_time: datetime
    is_preemptible: bool
    priority: int = 0
    weight: float = 1.0
    requested_slots: int
    allocated_slots: int
    progress: float = 0.0
    """From 0 to 1."""


class LimitedJob(Message, wire_name="v1LimitedJob"):
    """What other releases show of a job that the caller may not see. No answer of this release has it: such jobs are
    left out."""

    job_id: str
    type: JobType
    workspace_id: int
    resource_pool: str
    summary: JobSummary | None = None
    is_preemptible: bool
    priority: int = 0
    weight: float = 1.0
    requested_slots: int
    allocated_slots: int
    progress: float = 0.0


class AnyJob(Message, wire_name="v1RBACJob"):
    full: OrAbsent[Job] = None
    limited: OrAbsent[LimitedJob] = None


# ---------------------------------------------------------------- the queue and its figures

States = Annotated[tuple[JobState, ...], items(100_000)]


class GetJobs(Request):
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    resource_pool: InQuery[Name] = ""
    states: InQuery[States] = ()


class JobsAnswer(Message, wire_name="v1GetJobsResponse"):
    jobs: tuple[Job, ...]
    pagination: Pagination


class GetJobsV2(GetJobs):
    pass


class JobsV2Answer(Message, wire_name="v1GetJobsV2Response"):
    jobs: tuple[AnyJob, ...]
    pagination: Pagination


class GetJobQueueStats(Request):
    resource_pools: InQuery[Annotated[tuple[Name, ...], items(1000)]] = ()


class DailyWait(Message, wire_name="v1AggregateQueueStats"):
    """How long the allocations that were given their slots on one day had waited, on average."""

    period_start: str
    """The day, in UTC: `2026-01-31`."""
    seconds: float


class PoolQueueStats(Message, wire_name="v1RPQueueStat"):
    resource_pool: str
    stats: QueueStats
    aggregates: tuple[DailyWait, ...] = ()
    """One for each of the last seven days and today on which anything was given its slots, the oldest first."""


class QueueStatsAnswer(Message, wire_name="v1GetJobQueueStatsResponse"):
    results: tuple[PoolQueueStats, ...]


# ---------------------------------------------------------------- changes


class JobChange(Input, wire_name="v1QueueControl"):
    """One change of one job: exactly one of the fields besides `jobId` is set."""

    job_id: Needed[Name] = ""
    """The id of a job, or the number of an experiment."""
    ahead_of: Name | None = None
    """The job that it is moved ahead of; the next one likewise."""
    behind_of: Name | None = None
    priority: Annotated[int, whole()] | None = None
    weight: Annotated[float, number()] | None = None
    resource_pool: Name | None = None


class JobChanges(Input, wire_name="v1UpdateJobQueueRequest"):
    updates: Needed[Annotated[tuple[JobChange, ...], items(1000)]] = ()


class UpdateJobQueue(Request):
    body: InBody[JobChanges]
