"""Jobs and their places in the queue, as answers show them; also for other slices."""

from __future__ import annotations

from resolute.api.call import Call
from resolute.api.experiments.progress import progress_of
from resolute.api.queue.messages import Job, JobState, JobSummary, JobType
from resolute.api.queue.order import orders_of
from resolute.api.queue.queries import QUERIES, JobRow, Progress, Standing


async def job_summary(call: Call, job_id: str) -> JobSummary | None:
    """How a job stands in the queue; None when it asks for nothing now."""
    found = await call.gateway.ports.of(QUERIES).standing(orders_of(call.gateway.settings), job_id)
    return None if found is None else summary_shown(found)


def summary_shown(standing: Standing) -> JobSummary:
    state = JobState.SCHEDULED if standing.scheduled else JobState.QUEUED
    return JobSummary(state=state, jobs_ahead=standing.ahead)


def job_shown(row: JobRow) -> Job:
    is_experiment = row.experiment_id is not None
    return Job(
        job_id=row.job_id,
        entity_id=str(row.experiment_id) if is_experiment else row.task_id,
        type=JobType.EXPERIMENT if is_experiment else JobType(f"TYPE_{row.kind}"),
        name=row.name,
        username=row.owner,
        user_id=row.owner_id or 0,
        workspace_id=row.workspace_id or 0,
        resource_pool=row.pool,
        summary=summary_shown(row.standing),
        submission_time=row.submitted_at,
        is_preemptible=is_experiment,
        priority=row.priority,
        weight=row.weight,
        requested_slots=row.requested,
        allocated_slots=row.allocated,
        progress=_progress(row.progress) or 0,
    )


def _progress(found: Progress | None) -> float | None:
    if found is None:
        return None
    return progress_of(
        state=found.state,
        of_search=found.of_search,
        of_trials=found.of_trials,
        trials=found.trials,
        max_trials=found.max_trials,
    )
