"""Which objects an event changes, without looking at any table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from resolute.api.stream.ranges import Id
from resolute.proto import experiment, identity, models, pool, spaces, streams
from resolute.proto.message import Event, Recorded


@dataclass(frozen=True, slots=True)
class Touch:
    """Objects of one kind that an event changes: those that have `value` in what `by` names (`Kind.lookups`).

    Without `by`: objects may be gone whose ids the event does not have, and all that listeners know are looked up.
    """

    kind: str
    by: str = ""
    value: Id = 0


ABOUT_THE_EXPERIMENT_TOO = (experiment.TrialCreated, experiment.TrialEnded)
"""Events about a trial that change what is shown of its experiment."""

OF_EXPERIMENT = ("trials", "checkpoints", "tasks")
"""What lies in an experiment, and so in its workspace."""


def touched(recorded: Recorded) -> Iterator[Touch]:
    """What the tables may show otherwise from this event on."""
    if (of_category := OF_CATEGORY.get(recorded.event.category)) is not None:
        yield from of_category(recorded.event, recorded.key)


@dataclass(frozen=True, slots=True)
class RightsChange:
    """Somebody may see more or less than before, or has signed out."""

    user_id: int | None = None
    """None where it may be anybody."""

    def concern(self, user_id: int) -> bool:
        return self.user_id in (None, user_id)


def rights_touched(event: Event) -> RightsChange | None:
    """Whose rights may be others from this event on."""
    match event:
        case identity.UserChanged() | identity.PasswordChanged() | identity.SessionClosed():
            return RightsChange(event.user_id)
    return RightsChange() if event.category == streams.RBAC.name else None


def _of_workspaces(event: Any, _: str) -> Iterator[Touch]:
    if (project_id := getattr(event, "project_id", None)) is None:
        return
    yield Touch("projects", "id", project_id)
    if isinstance(event, spaces.ProjectMoved):
        yield Touch("experiments", "project_ids", project_id)
        yield Touch("trials", "project_ids", project_id)
        yield Touch("checkpoints", "projects", project_id)
        yield Touch("tasks", "projects", project_id)


def _of_models(event: Any, _: str) -> Iterator[Touch]:
    yield Touch("models", "id", event.model_id)
    match event:
        case models.ModelDeleted() | models.ModelVersionDeleted():
            yield Touch("modelversions")
        case models.ModelVersionRegistered():
            yield Touch("modelversions", "id", event.version_id)
        case models.ModelVersionChanged():
            yield Touch("modelversions", "numbers", f"{event.model_id}.{event.version}")
        case models.ModelChanged() if "workspace_id" in event.changes:
            yield Touch("modelversions", "model_ids", event.model_id)


def _of_experiments(event: Any, key: str) -> Iterator[Touch]:
    trial_id = getattr(event, "trial_id", None)
    if trial_id is not None:
        yield Touch("trials", "id", trial_id)
    if trial_id is None or isinstance(event, ABOUT_THE_EXPERIMENT_TOO):
        yield Touch("experiments", "id", int(key))
    match event:
        case experiment.ExperimentDeleted():
            yield from map(Touch, OF_EXPERIMENT)
        case experiment.ExperimentMoved():
            yield from (Touch(kind, "experiment_ids", int(key)) for kind in OF_EXPERIMENT)
        case experiment.ExperimentContinued():
            yield from (Touch("trials", "id", one) for one in event.trials)


def _of_checkpoints(event: Any, _: str) -> Iterator[Touch]:
    if (uuid := getattr(event, "uuid", None)) is not None:
        yield Touch("checkpoints", "id", uuid)


def _of_pools(event: Any, _: str) -> Iterator[Touch]:
    if isinstance(event, pool.JobChanged | pool.JobMoved):
        yield Touch("tasks", "job_ids", event.job_id)
    elif (task_id := getattr(event, "task_id", None)) is not None:
        yield Touch("tasks", "id", task_id)
    elif (allocation_id := getattr(event, "allocation_id", None)) is not None:
        yield Touch("tasks", "allocations", allocation_id)
    elif (agent_id := getattr(event, "agent_id", None)) is not None:
        yield Touch("agents", "id", agent_id)
    elif isinstance(event, pool.PoolRemoved):
        yield Touch("agents")


def _of_tasks(_: Any, key: str) -> Iterator[Touch]:
    yield Touch("tasks", "id", key)


OF_CATEGORY: Mapping[str, Callable[[Any, str], Iterator[Touch]]] = {
    streams.WORKSPACE.name: _of_workspaces,
    streams.MODELS.name: _of_models,
    streams.EXPERIMENT.name: _of_experiments,
    streams.CHECKPOINTS.name: _of_checkpoints,
    streams.POOL.name: _of_pools,
    streams.TASK.name: _of_tasks,
}
