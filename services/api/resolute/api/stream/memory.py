"""The twin of the queries of live updates: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resolute.api.checkpoints.projection import CHECKPOINTS as CHECKPOINT_ROWS
from resolute.api.experiments.projection import EXPERIMENTS as EXPERIMENT_ROWS
from resolute.api.interactive.projection import TASKS as OTHER_TASKS
from resolute.api.kernel.cache import CachedRows
from resolute.api.models.projection import MODELS as MODEL_ROWS
from resolute.api.models.projection import VERSIONS
from resolute.api.pools.projection import AGENTS as AGENT_ROWS
from resolute.api.pools.projection import SLOTS
from resolute.api.scope import Scope
from resolute.api.stream.kinds import (
    AGENTS,
    CHECKPOINTS,
    EXPERIMENTS,
    MODEL_VERSIONS,
    MODELS,
    PROJECTS,
    TASKS,
    TRIALS,
    Kind,
    Row,
)
from resolute.api.stream.queries import Wanted
from resolute.api.stream.ranges import Id
from resolute.api.tasks.tables import ALLOCATIONS
from resolute.api.trials.tables import TRIALS as TRIAL_ROWS
from resolute.api.workspaces.projection import PROJECTS as PROJECT_ROWS

Columns = dict[str, Any]


@dataclass(frozen=True)
class MemoryStream:
    """`tables`: those of all the slices whose objects are streamed."""

    tables: CachedRows

    async def ids(self, kind: Kind, scope: Scope, wanted: Wanted | None, most: int) -> Sequence[Id]:
        found = [row for row in self._all(kind) if scope.covers(row.workspace_id)]
        if wanted is not None:
            found = [row for row in found if any(_has(row, name, values) for name, values in wanted.items())]
        return [row.id for row in found][:most]

    async def rows(self, kind: Kind, by: str, values: Collection[Id]) -> Sequence[Row]:
        return [row for row in self._all(kind) if _has(row, by, values)]

    def _all(self, kind: Kind) -> list[Row]:
        rows = [Row(kind, columns) for columns in COLUMNS[kind.name](self.tables)]
        return sorted(rows, key=lambda row: row.id)


def _has(row: Row, by: str, values: Collection[Id]) -> bool:
    return row.columns[row.kind.lookups[by]] in values


def _taken(row: Any, *names: str, **renamed: str) -> Columns:
    """Columns of a row, under their own names or as `new=old`."""
    return {name: getattr(row, name) for name in names} | {new: getattr(row, old) for new, old in renamed.items()}


def _projects(tables: CachedRows) -> Iterator[Columns]:
    names = ("id", "name", "description", "archived", "workspace_id", "immutable", "key")
    for row in tables.all(PROJECT_ROWS):
        shown = {"created_at": None, "notes": row.notes or [], "state": row.state or "UNSPECIFIED"}
        yield _taken(row, *names, user_id="owner_id") | shown


def _models(tables: CachedRows) -> Iterator[Columns]:
    names = ("id", "name", "description", "archived", "notes", "workspace_id", "metadata", "labels")
    for row in tables.all(MODEL_ROWS):
        yield _taken(row, *names, creation_time="created_at", user_id="owner_id", last_updated_time="updated_at")


def _versions(tables: CachedRows) -> Iterator[Columns]:
    names = ("id", "name", "version", "metadata", "model_id", "comment", "labels", "notes")
    for row in tables.all(VERSIONS):
        if (model := tables.get(MODEL_ROWS, row.model_id)) is not None:
            renamed = {"creation_time": "created_at", "last_updated_time": "updated_at", "user_id": "owner_id"}
            shown = _taken(row, *names, checkpoint_uuid="checkpoint", **renamed)
            yield shown | {"workspace_id": model.workspace_id, "_number": f"{row.model_id}.{row.version}"}


def _workspace_id(tables: CachedRows, project_id: int | None) -> int | None:
    project = None if project_id is None else tables.get(PROJECT_ROWS, project_id)
    return None if project is None else project.workspace_id


def _project_id(tables: CachedRows, experiment_id: int | None) -> int | None:
    experiment = None if experiment_id is None else tables.get(EXPERIMENT_ROWS, experiment_id)
    return None if experiment is None else experiment.project_id


def _experiments(tables: CachedRows) -> Iterator[Columns]:
    names = (
        *("id", "name", "description", "notes", "labels", "state", "archived", "project_id", "job_id", "parent_id"),
        *("resource_pool", "searcher_type", "unmanaged", "search_progress"),
    )
    for row in tables.all(EXPERIMENT_ROWS):
        renamed = {"user_id": "owner_id", "username": "owner", "start_time": "started_at", "end_time": "ended_at"}
        yield _taken(row, *names, **renamed) | {"workspace_id": _workspace_id(tables, row.project_id)}


def _trials(tables: CachedRows) -> Iterator[Columns]:
    names = (
        *("id", "experiment_id", "task_id", "state", "restarts", "run_id", "hparams", "best_metric", "best_steps"),
        *("latest_metric", "latest_steps", "metadata"),
    )
    for row in tables.all(TRIAL_ROWS):
        project_id = _project_id(tables, row.experiment_id)
        place = {"project_id": project_id, "workspace_id": _workspace_id(tables, project_id)}
        yield _taken(row, *names, start_time="started_at", end_time="ended_at") | place


def _checkpoints(tables: CachedRows) -> Iterator[Columns]:
    names = ("experiment_id", "trial_id", "task_id", "allocation_id", "steps_completed", "state", "size_bytes")
    for row in tables.all(CHECKPOINT_ROWS):
        yield _taken(row, *names, "metadata", id="uuid", report_time="reported_at") | _place(tables, row)


def _place(tables: CachedRows, row: Any) -> Columns:
    project_id = _project_id(tables, row.experiment_id)
    return {"_project_id": project_id, "workspace_id": _workspace_id(tables, project_id)}


def _tasks(tables: CachedRows) -> Iterator[Columns]:
    names = (
        *("allocation_id", "task_type", "name", "job_id", "slots", "priority", "state", "experiment_id", "trial_id"),
        "exit_code",
    )
    latest = {
        row.task_id: row
        for row in sorted(tables.all(ALLOCATIONS), key=lambda row: (row.requested_at, row.allocation_id))
    }
    for row in latest.values():
        renamed = {"id": "task_id", "username": "owner", "resource_pool": "pool"}
        times = {"request_time": "requested_at", "start_time": "started_at", "end_time": "ended_at"}
        place = _place(tables, row)
        other = tables.get(OTHER_TASKS, row.task_id)
        if other is not None:
            place = {**place, "workspace_id": other.workspace_id}
        yield _taken(row, *names, **renamed, **times) | place | {"ready": other is not None and other.ready}


def _agents(tables: CachedRows) -> Iterator[Columns]:
    for row in tables.all(AGENT_ROWS):
        if row.alive:
            slots = [one for one in tables.all(SLOTS) if (one.agent_id, one.pool) == (row.agent_id, row.pool)]
            counts = {"slots": len(slots), "slots_enabled": sum(one.enabled for one in slots), "workspace_id": None}
            renamed = {"id": "agent_id", "resource_pool": "pool", "registered_time": "joined_at"}
            yield _taken(row, "host", "version", "enabled", "draining", **renamed) | counts


COLUMNS: Mapping[str, Callable[[CachedRows], Iterator[Columns]]] = {
    PROJECTS.name: _projects,
    MODELS.name: _models,
    MODEL_VERSIONS.name: _versions,
    EXPERIMENTS.name: _experiments,
    TRIALS.name: _trials,
    CHECKPOINTS.name: _checkpoints,
    TASKS.name: _tasks,
    AGENTS.name: _agents,
}
