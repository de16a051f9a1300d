"""What people may change of the queue: all changes of a request are checked before the first of them is made.

Each change is one command. The priority, the weight and the pool of an experiment are edited in its configuration, and
the scheduler follows; a place in the queue belongs to the scheduler, and the configuration adopts the priority that
comes with it. The answer comes when the queue and the configuration show the change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from resolute.api.call import Call
from resolute.api.experiments.presenting import outline_of
from resolute.api.kernel.messages import Empty
from resolute.api.policies.holding import check_edits
from resolute.api.pools.fit import check_bound, check_fit, check_pool
from resolute.api.queue import agreement
from resolute.api.queue.change_queries import QUERIES as CHANGE_QUERIES
from resolute.api.queue.change_queries import ChangeableJob
from resolute.api.queue.messages import JobChange, UpdateJobQueue
from resolute.api.queue.queries import QUERIES
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.experiment import EditExperiment
from resolute.proto.pool import ChangeJob, MoveJob, SchedulerCommand
from resolute.proto.queue import WANTED, JobSetting, PolicyName, may_be
from resolute.proto.states import is_over

ACTIONS = ("ahead_of", "behind_of", "priority", "weight", "resource_pool")


@dataclass(frozen=True, slots=True)
class Move:
    """Next to another job of the pool."""

    neighbour: str
    ahead: bool
    priority: int | None
    """The neighbour's, which the job that moves gets; None where the pool does not go by priorities."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A new priority or weight."""

    setting: JobSetting
    value: float


@dataclass(frozen=True, slots=True)
class OtherPool:
    pool: str


Action: TypeAlias = Move | Setting | OtherPool


@dataclass(frozen=True, slots=True)
class Change:
    job: ChangeableJob
    action: Action


async def update_job_queue(call: Call, request: UpdateJobQueue) -> Empty:
    """Move jobs ahead of or behind others, change their priority or weight, or move them to another pool.

    All of the updates are checked before the first is made.
    """
    for number, change in enumerate(await _checked(call, request.body.updates)):
        await _apply(call, change, f"update-{number}")
    return Empty()


# ---------------------------------------------------------------- checking


async def _checked(call: Call, updates: Sequence[JobChange]) -> Sequence[Change]:
    """Raises InvalidConfig or NotFound, naming the update and its field, before anything has been changed."""
    if not updates:
        raise InvalidConfig("updates: expected a list of changes, each with a jobId and what to change of it")
    return [await _change(call, update, f"updates[{number}]") for number, update in enumerate(updates)]


async def _change(call: Call, update: JobChange, path: str) -> Change:
    given = [name for name in ACTIONS if getattr(update, name) is not None]
    if len(given) != 1:
        names = [update.wire_field(name) for name in given]
        found = f"found {', '.join(names)}" if names else "found none of them"
        wanted = ", ".join(update.wire_field(name) for name in ACTIONS)
        raise InvalidConfig(f"{path}: expected one of {wanted} to change; {found}")
    job = await _job(call, update.job_id, f"{path}.jobId")
    where = f"{path}.{update.wire_field(given[0])}"
    action = await _action(call, job, update, where)
    _check_policy(call, job, action, where)
    await _check_config_policies(call, job, action, where)
    return Change(job, action)


async def _action(call: Call, job: ChangeableJob, update: JobChange, path: str) -> Action:
    if update.priority is not None:
        return Setting(JobSetting.PRIORITY, checked_priority(update.priority, path))
    if update.weight is not None:
        return Setting(JobSetting.WEIGHT, checked_weight(update.weight, path))
    if update.resource_pool is not None:
        return await _move_to(call, job, update.resource_pool, path)
    neighbour = update.ahead_of if update.ahead_of is not None else update.behind_of
    other = await _neighbour(call, job, neighbour or "", path)
    by_priority = call.gateway.settings.scheduler_of(job.pool).type == PolicyName.PRIORITY
    priority = other.priority if by_priority else None
    return Move(other.job_id, ahead=update.ahead_of is not None, priority=priority)


async def _job(call: Call, named: str, path: str) -> ChangeableJob:
    job_id = await call.gateway.ports.of(QUERIES).job_named(named)
    job = await call.gateway.ports.of(CHANGE_QUERIES).changeable(job_id)
    if job is None:
        raise NotFound(f"{path}: job {job_id!r} not found; `det job list` shows those there are")
    if job.state is not None and is_over(job.state):
        raise Refused(f"{path}: job {job_id} is over: experiment {job.experiment_id} is {job.state}")
    return job


async def _neighbour(call: Call, job: ChangeableJob, named: str, path: str) -> ChangeableJob:
    other = await _job(call, named, path)
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
    return other


def checked_priority(value: float, path: str) -> float:
    if not may_be(JobSetting.PRIORITY, value):
        raise InvalidConfig(f"{path}: expected {WANTED[JobSetting.PRIORITY]}; found {value!r}")
    return value


def checked_weight(value: float, path: str) -> float:
    if not may_be(JobSetting.WEIGHT, value):
        wanted = f"{WANTED[JobSetting.WEIGHT]}, twice as much for twice the share"
        raise InvalidConfig(f"{path}: expected {wanted}; found {value!r}")
    return float(value)


async def _move_to(call: Call, job: ChangeableJob, pool: str, path: str) -> OtherPool:
    check_pool(path, pool, call.gateway.settings)
    if job.experiment_id is None:
        raise InvalidConfig(f"{path}: only experiments can move to another pool; start this task again there")
    await check_bound(call, path, pool, (await outline_of(call, job.experiment_id)).workspace_id)
    await check_fit(call, path, pool, job.slots, single_agent=job.single_agent)
    return OtherPool(pool)


def _check_policy(call: Call, job: ChangeableJob, action: Action, path: str) -> None:
    """Raises InvalidConfig for a change of something that the policy of the pool does not look at."""
    kind, pool = call.gateway.settings.scheduler_of(job.pool).type, job.pool
    setting = action.setting if isinstance(action, Setting) else None
    if kind == PolicyName.FAIR_SHARE and (isinstance(action, Move) or setting is JobSetting.PRIORITY):
        raise InvalidConfig(
            f"{path}: pool {pool!r} shares its slots by weight (fair_share); change the job's weight instead"
        )
    if kind != PolicyName.FAIR_SHARE and setting is JobSetting.WEIGHT:
        by_priority = kind == PolicyName.PRIORITY
        remedy = "priority, or move it ahead of another job" if by_priority else "place: move it ahead of another"
        raise InvalidConfig(f"{path}: pool {pool!r} does not go by weights ({kind}); change the job's {remedy}")
    if kind == PolicyName.FIFO and setting is JobSetting.PRIORITY:
        raise InvalidConfig(f"{path}: pool {pool!r} serves who came first (fifo); move the job ahead of another")


async def _check_config_policies(call: Call, job: ChangeableJob, action: Action, path: str) -> None:
    """Raises InvalidConfig for what the config policies of the experiment's workspace do not allow."""
    if job.experiment_id is not None:
        await check_edits(call, job.experiment_id, {("resources", name): to for name, to in _edits(action)}, path)


def _edits(action: Action) -> Iterator[tuple[str, Any]]:
    """What the configuration of an experiment will have under `resources`."""
    match action:
        case Move(priority=priority) if priority is not None:
            yield JobSetting.PRIORITY.value, priority
        case Setting(setting=setting, value=value):
            yield setting.value, value
        case OtherPool(pool=pool):
            yield "resource_pool", pool


# ---------------------------------------------------------------- making the changes


async def _apply(call: Call, change: Change, step: str) -> None:
    """Send the one command that makes the change. What follows from it in the other service, that service does itself:
    the pool follows an experiment's configuration, and the configuration adopts the priority of a job that moved."""
    reply = await call.send(_command(change.job, change.action), step)
    setting = _to_agree_upon(change.action)
    job = change.job
    # A reply without a position means that the job stood there already, so that nothing was changed.
    if reply.position and setting is not None and job.experiment_id is not None:
        await agreement.reached(call, job.experiment_id, job.job_id, setting)


def _to_agree_upon(action: Action) -> JobSetting | None:
    """The setting in which the queue and the configuration of an experiment have to agree afterwards."""
    match action:
        case Move():
            return JobSetting.PRIORITY
        case Setting(setting=setting):
            return setting
        case OtherPool():
            return None


def _command(job: ChangeableJob, action: Action) -> SchedulerCommand | EditExperiment:
    match action:
        case Move(neighbour=neighbour, ahead=True):
            return MoveJob(job.pool, job.job_id, ahead_of=neighbour)
        case Move(neighbour=neighbour):
            return MoveJob(job.pool, job.job_id, behind_of=neighbour)
        case OtherPool(pool=pool):
            assert job.experiment_id is not None, "jobs without an experiment were refused"
            return EditExperiment(job.experiment_id, {"resource_pool": pool})
        case Setting(setting=setting, value=value):
            changes = {setting.value: value}
            if job.experiment_id is not None:
                return EditExperiment(job.experiment_id, changes)
            return ChangeJob(job.pool, job.job_id, changes)
