"""Experiments: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias

from resolute.api.interactive.projection import WHOSE_TASK, whose_task
from resolute.api.kernel.rows import Document, Place, Projection, Rows, Table, Thing, WholeRows
from resolute.api.workspaces.projection import PROJECTS
from resolute.proto import streams
from resolute.proto.experiment import (
    ExperimentActivated,
    ExperimentArchived,
    ExperimentContinued,
    ExperimentCreated,
    ExperimentDeleted,
    ExperimentDeletionFailed,
    ExperimentDeletionRequested,
    ExperimentEdited,
    ExperimentEnded,
    ExperimentMoved,
    ExperimentPaused,
    ExperimentStopping,
    ExperimentUnarchived,
    SearchOperationsPosted,
    SearchProgressed,
)
from resolute.proto.message import Object, Recorded
from resolute.proto.states import ExperimentState, stopping


@dataclass(frozen=True, slots=True)
class Experiment:
    id: int
    job_id: str
    name: str
    description: str
    labels: tuple[str, ...]
    owner_id: int
    owner: str
    project_id: int
    searcher_type: str
    searcher_metric: str
    smaller_is_better: bool
    resource_pool: str
    state: str
    started_at: datetime
    parent_id: int | None
    unmanaged: bool
    external_id: str | None
    model_definition: str | None
    log_retention_days: int | None
    notes: str = ""
    reason: str = ""
    archived: bool = False
    ended_at: datetime | None = None
    search_progress: float | None = None


@dataclass(frozen=True, slots=True)
class ExperimentConfig:
    experiment_id: int
    config: Document
    """The merged configuration, with all edits."""
    original_config: str
    """The YAML as its author wrote it."""


EXPERIMENTS = Table("experiments", Experiment, key=("id",))
CONFIGS = Table("experiment_configs", ExperimentConfig, key=("experiment_id",))

CONFIG_PATHS: Mapping[str, tuple[str, ...]] = {
    "name": ("name",),
    "description": ("description",),
    "labels": ("labels",),
    "max_restarts": ("max_restarts",),
    "max_slots": ("resources", "max_slots"),
    "weight": ("resources", "weight"),
    "priority": ("resources", "priority"),
    "resource_pool": ("resources", "resource_pool"),
    "log_retention_days": ("retention_policy", "log_retention_days"),
    "save_experiment_best": ("checkpoint_storage", "save_experiment_best"),
    "save_trial_best": ("checkpoint_storage", "save_trial_best"),
    "save_trial_latest": ("checkpoint_storage", "save_trial_latest"),
}
"""Where an edited field stands in the configuration that people are shown."""

COLUMNS = ("name", "description", "notes", "resource_pool", "log_retention_days")
"""The edited fields that are columns as they are; `labels` is one as a tuple."""


Show: TypeAlias = Callable[[Any, Recorded, Rows], None]


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _created(created: ExperimentCreated, recorded: Recorded, rows: Rows) -> None:
    config = created.config
    searcher = config.get("searcher") or {}
    experiment = Experiment(
        id=created.experiment_id,
        job_id=created.job_id,
        name=created.name,
        description=config.get("description") or "",
        labels=tuple(config.get("labels") or ()),
        owner_id=created.owner_id,
        owner=created.owner,
        project_id=created.project_id,
        searcher_type=searcher.get("name") or "",
        searcher_metric=searcher.get("metric") or "",
        smaller_is_better=bool(searcher.get("smaller_is_better", True)),
        resource_pool=_resource_pool(config),
        state=ExperimentState.PAUSED,
        started_at=recorded.recorded_at,
        parent_id=created.parent_id,
        unmanaged=created.unmanaged,
        external_id=created.external_id,
        model_definition=created.model_definition,
        log_retention_days=_log_retention(config),
    )
    rows.put(EXPERIMENTS, experiment)
    rows.put(CONFIGS, ExperimentConfig(created.experiment_id, config, created.original_config))


def _continued(continued: ExperimentContinued, recorded: Recorded, rows: Rows) -> None:
    """The configuration may be another one, and with it the columns that are taken from it."""
    config = continued.config
    rows.change(
        EXPERIMENTS,
        int(recorded.key),
        state=ExperimentState.ACTIVE,
        reason="",
        ended_at=None,
        name=config.get("name") or "",
        description=config.get("description") or "",
        labels=tuple(config.get("labels") or ()),
        resource_pool=_resource_pool(config),
        log_retention_days=_log_retention(config),
    )
    rows.change(CONFIGS, int(recorded.key), config=config)


def _resource_pool(config: Object) -> str:
    name: str = (config.get("resources") or {}).get("resource_pool") or ""
    return name


def _log_retention(config: Object) -> int | None:
    days: int | None = (config.get("retention_policy") or {}).get("log_retention_days")
    return days


def _edited(edited: ExperimentEdited, recorded: Recorded, rows: Rows) -> None:
    experiment_id, changes = int(recorded.key), edited.changes
    columns = {name: changes[name] for name in COLUMNS if name in changes}
    if "labels" in changes:
        columns["labels"] = tuple(changes["labels"])
    if columns:
        rows.change(EXPERIMENTS, experiment_id, **columns)
    in_config = [(CONFIG_PATHS[name], value) for name, value in changes.items() if name in CONFIG_PATHS]
    found = rows.get(CONFIGS, experiment_id) if in_config else None
    if found is not None:
        config = reduce(lambda config, edit: _with(config, *edit), in_config, found.config)
        rows.change(CONFIGS, experiment_id, config=config)


def _with(document: Any, path: tuple[str, ...], value: Any) -> Object:
    """`document` with `value` at `path`. What stands in the way and is no object gives way to one."""
    whole = document if isinstance(document, dict) else {}
    name, *rest = path
    return {**whole, name: _with(whole.get(name), tuple(rest), value) if rest else value}


def _deleted(_: ExperimentDeleted, recorded: Recorded, rows: Rows) -> None:
    rows.remove(CONFIGS, int(recorded.key))
    rows.remove(EXPERIMENTS, int(recorded.key))


def _operations(posted: SearchOperationsPosted, recorded: Recorded, rows: Rows) -> None:
    """Of what a client of a custom search posts, only how far the search has come is shown here."""
    progress = [each["progress"] for each in posted.operations if each["type"] == "set_progress"]
    if progress:
        rows.change(EXPERIMENTS, int(recorded.key), search_progress=progress[-1])


def _changes(columns: Callable[[Any, Recorded], Mapping[str, object]]) -> Show:
    """Shows an event that changes only columns of its experiment's row: `columns` of the event and its record."""

    def show(event: Any, recorded: Recorded, rows: Rows) -> None:
        rows.change(EXPERIMENTS, int(recorded.key), **columns(event, recorded))

    return show


SHOWS: Mapping[type, Show] = {
    ExperimentCreated: _created,
    ExperimentActivated: _changes(lambda event, recorded: {"state": ExperimentState.ACTIVE, "reason": ""}),
    ExperimentPaused: _changes(
        lambda event, recorded: {"state": ExperimentState.PAUSED, "reason": f"paused by {recorded.cause.actor}"}
    ),
    ExperimentStopping: _changes(
        lambda event, recorded: {"state": stopping(event.outcome), "reason": event.reason},
    ),
    ExperimentEnded: _changes(
        lambda event, recorded: {
            "state": event.outcome,
            "reason": event.reason,
            "ended_at": recorded.recorded_at,
        }
    ),
    ExperimentContinued: _continued,
    ExperimentArchived: _changes(lambda event, recorded: {"archived": True}),
    ExperimentUnarchived: _changes(lambda event, recorded: {"archived": False}),
    ExperimentDeletionRequested: _changes(lambda event, recorded: {"state": ExperimentState.DELETING}),
    ExperimentDeletionFailed: _changes(
        lambda event, recorded: {"state": ExperimentState.DELETE_FAILED, "reason": event.reason}
    ),
    ExperimentDeleted: _deleted,
    ExperimentEdited: _edited,
    ExperimentMoved: _changes(lambda event, recorded: {"project_id": event.project_id}),
    SearchProgressed: _changes(lambda event, recorded: {"search_progress": event.progress}),
    SearchOperationsPosted: _operations,
}
"""How each type of event is shown; others change nothing here."""

WHOSE = """SELECT e.owner_id, p.workspace_id FROM read_experiments.experiments e
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id WHERE e.id = """
"""Followed by the id of an experiment: its owner and its workspace. What is of no experiment (a task that is no
trial's) is in no workspace yet: only the scope of everything has it."""


def whose(rows: WholeRows, experiment_id: int | None) -> Place | None:
    """What `WHOSE` answers, from rows that are in memory."""
    row = None if experiment_id is None else rows.get(EXPERIMENTS, experiment_id)
    project = None if row is None else rows.get(PROJECTS, row.project_id)
    return None if row is None else Place(row.owner_id, None if project is None else project.workspace_id)


def _whose_job(rows: WholeRows, job_id: str) -> Place | None:
    """The job of a task that is no trial has the id of the task."""
    experiment_id = next((row.id for row in rows.all(EXPERIMENTS) if row.job_id == job_id), None)
    return whose(rows, experiment_id) or whose_task(rows, job_id)


WORKSPACE_OF_PROJECT = "(SELECT home.workspace_id FROM read_workspaces.projects home WHERE home.id = {})"
WORKSPACE_OF_EXPERIMENT = """(SELECT home.workspace_id FROM read_experiments.experiments of_it
JOIN read_workspaces.projects home ON home.id = of_it.project_id WHERE of_it.id = {})"""
"""The workspace of what names its project, or its experiment: for the conditions of a list (`kernel.listing.Where`)."""

PROJECTION = Projection(
    slice="experiments",
    version=1,
    tables=(EXPERIMENTS, CONFIGS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.EXPERIMENT.name}),
    project=project,
    things={
        "experiment": Thing(f"{WHOSE}$1", numbered=True, twin=whose),
        "job": Thing(
            f"{WHOSE}(SELECT id FROM read_experiments.experiments WHERE job_id = $1) UNION ALL {WHOSE_TASK}$1",
            twin=_whose_job,
        ),
    },
    ids={"experimentId": (EXPERIMENTS, "id"), "jobId": (EXPERIMENTS, "job_id")},
)
