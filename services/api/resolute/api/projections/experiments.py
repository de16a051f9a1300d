"""Experiments: event -> rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolute.api.projections.statement import Statement, document, insert, statement, update
from resolute.proto import experiment as events
from resolute.proto.message import Recorded
from resolute.proto.states import ExperimentState, stopping

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

COLUMNS = ("name", "description", "notes", "labels", "resource_pool", "log_retention_days")

RETAINED_TOGETHER = "UPDATE read_v1.trials SET log_retention_days = NULL WHERE experiment_id = $1"
"""What is said for the experiment counts for all its trials, whatever was said for one of them before."""

SET_IN_CONFIG = """UPDATE read_v1.experiment_configs SET config = jsonb_set(
    CASE WHEN cardinality($2::text[]) > 1 AND jsonb_typeof(config -> ($2::text[])[1]) IS DISTINCT FROM 'object'
         THEN jsonb_set(config, ($2::text[])[1:1], '{}') ELSE config END, $2::text[], $3::jsonb)
WHERE experiment_id = $1"""

FORGET = tuple(
    f"DELETE FROM read_v1.{table} WHERE {key} = $1"
    for table, key in (
        ("validations", "experiment_id"),
        ("checkpoints", "experiment_id"),
        ("trials", "experiment_id"),
        ("experiment_configs", "experiment_id"),
        ("experiments", "id"),
    )
)
FORGET_RUNS = """DELETE FROM read_v1.runs USING read_v1.trials
WHERE runs.trial_id = trials.id AND trials.experiment_id = $1"""


def project(recorded: Recorded) -> list[Statement]:
    experiment_id = int(recorded.key)
    match recorded.event:
        case events.ExperimentCreated() as created:
            return [_created(created, recorded), _config_of(created)]
        case events.ExperimentActivated():
            return [update("experiments", "id", experiment_id, state=ExperimentState.ACTIVE, reason="")]
        case events.ExperimentPaused():
            reason = f"paused by {recorded.cause.actor}"
            return [update("experiments", "id", experiment_id, state=ExperimentState.PAUSED, reason=reason)]
        case events.ExperimentStopping(outcome=outcome, reason=reason):
            return [update("experiments", "id", experiment_id, state=stopping(outcome), reason=reason)]
        case events.ExperimentEnded(outcome=outcome, reason=reason):
            at = recorded.recorded_at
            return [update("experiments", "id", experiment_id, state=outcome, reason=reason, ended_at=at)]
        case events.ExperimentContinued(config=config):
            return _continued(experiment_id, config)
        case events.ExperimentArchived():
            return [update("experiments", "id", experiment_id, archived=True)]
        case events.ExperimentUnarchived():
            return [update("experiments", "id", experiment_id, archived=False)]
        case events.ExperimentDeletionRequested():
            return [update("experiments", "id", experiment_id, state=ExperimentState.DELETING)]
        case events.ExperimentDeletionFailed(reason=reason):
            return [update("experiments", "id", experiment_id, state=ExperimentState.DELETE_FAILED, reason=reason)]
        case events.ExperimentDeleted():
            return [statement(sql, experiment_id) for sql in (FORGET_RUNS, *FORGET)]
        case events.ExperimentEdited(changes=changes):
            return _edited(experiment_id, changes)
        case events.ExperimentMoved(project_id=project_id):
            return [update("experiments", "id", experiment_id, project_id=project_id)]
        case events.SearchProgressed(progress=progress):
            return [update("experiments", "id", experiment_id, search_progress=progress)]
        case events.SearchOperationsPosted(operations=operations):
            said = [each["progress"] for each in operations if each["type"] == "set_progress"]
            return [update("experiments", "id", experiment_id, search_progress=said[-1])] if said else []
    return []


def _created(created: events.ExperimentCreated, recorded: Recorded) -> Statement:
    config = created.config
    searcher = config.get("searcher") or {}
    one = f"experiments:{created.experiment_id}"
    return insert(
        "experiments",
        (one, f"{one}:trials"),
        id=created.experiment_id,
        job_id=created.job_id,
        name=created.name,
        description=config.get("description") or "",
        labels=list(config.get("labels") or ()),
        owner_id=created.owner_id,
        owner=created.owner,
        project_id=created.project_id,
        searcher_type=searcher.get("name") or "",
        searcher_metric=searcher.get("metric") or "",
        smaller_is_better=bool(searcher.get("smaller_is_better", True)),
        resource_pool=(config.get("resources") or {}).get("resource_pool") or "",
        log_retention_days=_log_retention(config),
        state=ExperimentState.PAUSED,
        started_at=recorded.recorded_at,
        parent_id=created.parent_id,
        unmanaged=created.unmanaged,
        external_id=created.external_id,
        model_definition=created.model_definition,
    )


def _continued(experiment_id: int, config: Mapping[str, Any]) -> list[Statement]:
    """What could change of what stands beside the configuration."""
    return [
        update(
            "experiments",
            "id",
            experiment_id,
            state=ExperimentState.ACTIVE,
            reason="",
            ended_at=None,
            name=config.get("name") or "",
            description=config.get("description") or "",
            labels=list(config.get("labels") or ()),
            resource_pool=(config.get("resources") or {}).get("resource_pool") or "",
            log_retention_days=_log_retention(config),
        ),
        update("experiment_configs", "experiment_id", experiment_id, config=document(config)),
    ]


def _log_retention(config: Mapping[str, Any]) -> int | None:
    days: int | None = (config.get("retention_policy") or {}).get("log_retention_days")
    return days


def _config_of(created: events.ExperimentCreated) -> Statement:
    """Beside the experiment's row, which changes often and is read without it."""
    return insert(
        "experiment_configs",
        (f"experiment_configs:{created.experiment_id}",),
        experiment_id=created.experiment_id,
        config=document(created.config),
        original_config=created.original_config,
    )


def _edited(experiment_id: int, changes: Mapping[str, Any]) -> list[Statement]:
    statements = []
    touches = (f"experiment_configs:{experiment_id}",)
    columns = {name: value for name, value in changes.items() if name in COLUMNS}
    if columns:
        statements.append(update("experiments", "id", experiment_id, **columns))
    if "log_retention_days" in changes:
        statements.append(statement(RETAINED_TOGETHER, experiment_id))
    for name, value in changes.items():
        if path := CONFIG_PATHS.get(name):
            statements.append(statement(SET_IN_CONFIG, experiment_id, list(path), document(value), touches=touches))
    return statements
