"""What people may change of the queue: read and checked as a whole, then made one by one.

Each change is one command. The priority, the weight and the pool of an experiment are edited in its configuration, and
the scheduler follows; a place in the queue is the scheduler's, and the configuration follows. The answer comes when
both show the change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import orjson

from resolute.api.call import Call
from resolute.api.handlers import queue_agreement
from resolute.api.pools.fit import check_fit, check_pool
from resolute.api.views.jobs import job_of
from resolute.config import Slots, slots_of
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.experiment import EditExperiment
from resolute.proto.pool import ChangeJob, MoveJob, SchedulerCommand
from resolute.proto.queue import WANTED, JobSetting, PolicyName, may_be
from resolute.proto.states import is_over

ACTIONS = ("aheadOf", "behindOf", "priority", "weight", "resourcePool")

# A job that asks for nothing now (it is paused, say) is known by its experiment.
JOB = """SELECT e.id AS experiment_id, e.state, coalesce(l.pool, e.resource_pool) AS pool, l.slots, s.asked,
    s.single, l.pool IS NOT NULL AS live
FROM (SELECT $1::text AS job_id) j
LEFT JOIN read_experiments.experiments e ON e.job_id = j.job_id
LEFT JOIN LATERAL (
    SELECT min(a.pool) AS pool, max(a.slots) AS slots FROM read_tasks.allocations a
    WHERE a.job_id = j.job_id AND a.ended_at IS NULL HAVING count(*) > 0) l ON true
LEFT JOIN LATERAL (
    SELECT f.config #>> '{resources,slots_per_trial}' AS asked,
           (f.config #>> '{resources,is_single_node}')::bool AS single
    FROM read_experiments.experiment_configs f WHERE f.experiment_id = e.id) s ON true
WHERE e.id IS NOT NULL OR l.pool IS NOT NULL"""


@dataclass(frozen=True, slots=True)
class Job:
    job_id: str
    experiment_id: int | None
    pool: str
    slots: Slots
    single_agent: bool
    live: bool
    """Whether it asks for something now, or holds it."""


@dataclass(frozen=True, slots=True)
class Change:
    job: Job
    action: str
    value: Any


async def read_changes(call: Call) -> Sequence[Change]:
    """Raises InvalidConfig or NotFound, naming the update and its field, before anything has been changed."""
    updates = call.body.get("updates")
    if not isinstance(updates, list) or not updates or not all(isinstance(update, Mapping) for update in updates):
        raise InvalidConfig("updates: expected a list of changes, each with a jobId and what to change of it")
    return [await _read(call, update, f"updates[{number}]") for number, update in enumerate(updates)]


async def _read(call: Call, update: Mapping[str, Any], path: str) -> Change:
    given = {name: update[name] for name in ACTIONS if update.get(name) is not None}
    if len(given) != 1:
        found = f"found {', '.join(given)}" if given else "found none of them"
        raise InvalidConfig(f"{path}: expected one of {', '.join(ACTIONS)} to change; {found}")
    job = await _job(call, update.get("jobId"), f"{path}.jobId")
    ((action, value),) = given.items()
    where = f"{path}.{action}"
    if action in ("aheadOf", "behindOf"):
        value = await _neighbour(call, job, value, where)
    elif action == "priority":
        value = _priority(value, where)
    elif action == "weight":
        value = _weight(value, where)
    else:
        await _check_move(call, job, value, where)
    _check_policy(call, job, action, where)
    return Change(job, action, value)


async def _job(call: Call, wanted: Any, path: str) -> Job:
    job_id = await job_of(call.gateway.read, str(wanted or ""))
    row: asyncpg.Record | None = await call.gateway.read.row(JOB, job_id)
    if row is None:
        raise NotFound(f"{path}: job {job_id!r} not found; `det job list` shows those there are")
    if row["experiment_id"] is not None and is_over(row["state"]):
        raise Refused(f"{path}: job {job_id} is over: experiment {row['experiment_id']} is {row['state']}")
    asked = row["slots"] or 0 if row["asked"] is None else orjson.loads(row["asked"])
    slots = slots_of({"slots_per_trial": asked})
    return Job(job_id, row["experiment_id"], row["pool"], slots, bool(row["single"]), bool(row["live"]))


async def _neighbour(call: Call, job: Job, other_id: Any, path: str) -> str:
    other = await _job(call, other_id, path)
    if other.job_id == job.job_id:
        raise InvalidConfig(f"{path}: a job cannot be moved next to itself; name another job of pool {job.pool!r}")
    if other.pool != job.pool:
        raise InvalidConfig(
            f"{path}: job {other.job_id} is in pool {other.pool!r}, and job {job.job_id} in {job.pool!r}; move it "
            "there first (resourcePool), or name a job of its own pool"
        )
    for one in (job, other):
        if not one.live:
            raise InvalidConfig(f"{path}: job {one.job_id} is not in the queue: it asks for nothing now; activate it")
    return other.job_id


def _priority(value: Any, path: str) -> int:
    if not may_be(JobSetting.PRIORITY, value):
        raise InvalidConfig(f"{path}: expected {WANTED[JobSetting.PRIORITY]}; found {value!r}")
    return int(value)


def _weight(value: Any, path: str) -> float:
    if not may_be(JobSetting.WEIGHT, value):
        wanted = f"{WANTED[JobSetting.WEIGHT]}, twice as much for twice the share"
        raise InvalidConfig(f"{path}: expected {wanted}; found {value!r}")
    return float(value)


async def _check_move(call: Call, job: Job, pool: Any, path: str) -> None:
    check_pool(path, str(pool), call.gateway.settings)
    if job.experiment_id is None:
        raise InvalidConfig(f"{path}: only experiments can move to another pool; start this task again there")
    await check_fit(call, path, str(pool), job.slots, single_agent=job.single_agent)


def _check_policy(call: Call, job: Job, action: str, path: str) -> None:
    """What the pool's policy does not look at would be changed in vain."""
    kind = call.gateway.settings.scheduler_of(job.pool).type
    if kind == PolicyName.FAIR_SHARE and action in ("aheadOf", "behindOf", "priority"):
        raise InvalidConfig(
            f"{path}: pool {job.pool!r} shares its slots by weight (fair_share); change the job's weight instead"
        )
    if kind != PolicyName.FAIR_SHARE and action == "weight":
        remedy = (
            "priority, or move it ahead of another job"
            if kind == PolicyName.PRIORITY
            else "place: move it ahead of another"
        )
        raise InvalidConfig(f"{path}: pool {job.pool!r} does not go by weights ({kind}); change the job's {remedy}")
    if kind == PolicyName.FIFO and action == "priority":
        raise InvalidConfig(f"{path}: pool {job.pool!r} serves who came first (fifo); move the job ahead of another")


async def applied(call: Call, change: Change, step: str) -> None:
    """Send the one command that makes the change. What follows from it in the other service, that service does itself:
    the pool follows an experiment's configuration, and the configuration adopts the priority of a job that moved."""
    reply = await call.send(_command(change), step)
    changed = _changed(change) if reply.position else None  # a job that stood there already was not moved
    if changed is not None and change.job.experiment_id is not None:
        await queue_agreement.reached(call, change.job.experiment_id, change.job.job_id, changed)


def _changed(change: Change) -> JobSetting | None:
    """What the queue and the configuration of an experiment have to agree upon afterwards."""
    match change.action:
        case "aheadOf" | "behindOf":
            return JobSetting.PRIORITY
        case "priority" | "weight":
            return JobSetting(change.action)
    return None


def _command(change: Change) -> SchedulerCommand | EditExperiment:
    job = change.job
    match change.action:
        case "aheadOf":
            return MoveJob(job.pool, job.job_id, ahead_of=change.value)
        case "behindOf":
            return MoveJob(job.pool, job.job_id, behind_of=change.value)
        case "resourcePool":
            assert job.experiment_id is not None, "others were refused"
            return EditExperiment(job.experiment_id, {"resource_pool": change.value})
    changes = {change.action: change.value}
    if job.experiment_id is not None:
        return EditExperiment(job.experiment_id, changes)
    return ChangeJob(job.pool, job.job_id, changes)
