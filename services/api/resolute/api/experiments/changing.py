"""Changing experiments: their names, labels and limits, how long their logs are kept, and the projects they are in."""

from __future__ import annotations

from typing import Any

import orjson

from resolute.api.call import Call
from resolute.api.experiments.action_messages import (
    AddedLabelAnswer,
    ChangedExperimentAnswer,
    ExperimentChange,
    ExperimentLabel,
    ExperimentMove,
    LogsRetained,
    Moved,
    MoveExperiments,
    PatchExperiment,
    RemovedLabelAnswer,
    ResourcesChange,
    RetainLogs,
    RetainLogsOfExperiments,
)
from resolute.api.experiments.actions import EDIT, EDIT_METADATA, MANY, ONE, REMOVE, TAG, act_on_each
from resolute.api.experiments.choosing import MeantFor
from resolute.api.experiments.placing import check_takes_experiments, submissions_of, submitted_of
from resolute.api.experiments.presenting import experiment_for, outline_of
from resolute.api.experiments.projection import CONFIG_PATHS
from resolute.api.kernel.messages import Empty, Input
from resolute.api.kernel.operations import operation
from resolute.api.kernel.reading import expect_given
from resolute.api.policies.holding import check_edits
from resolute.api.pools.fit import check_fit, check_usable
from resolute.api.routing import OWNERS, Access
from resolute.config import slots_of
from resolute.proto.errors import NotFound
from resolute.proto.experiment import AddLabel, EditExperiment, MoveExperiment, RemoveLabel, SearcherCommand

RETENTION = MeantFor(sees_archived=False)

# ---------------------------------------------------------------- settings


async def patch_experiment(call: Call, request: PatchExperiment) -> ChangedExperimentAnswer:
    """Rename, describe, label, or change limits and retention. Absent and null both mean: leave it;
    but `resources.maxSlots: null` is no limit."""
    changes = changes_of(request.body)
    if "resource_pool" in changes:
        await _check_pool(call, request.experiment_id, changes["resource_pool"])
    in_config = {CONFIG_PATHS[name]: value for name, value in changes.items() if name in CONFIG_PATHS}
    await check_edits(call, request.experiment_id, in_config)
    if changes:
        await call.send(EditExperiment(request.experiment_id, changes))
    return ChangedExperimentAnswer(experiment=await experiment_for(call, request.experiment_id))


async def _check_pool(call: Call, experiment_id: int, pool: str) -> None:
    """Raises InvalidConfig for a pool that is not there, not for the experiment, or that could never hold a trial."""
    path = "resources.resourcePool"
    await check_usable(call, path, pool, (await outline_of(call, experiment_id)).workspace_id)
    row = await submitted_of(call, experiment_id)
    resources = orjson.loads(row.config)["resources"]
    await check_fit(call, path, pool, slots_of(resources), single_agent=bool(resources["is_single_node"]))


def changes_of(patch: ExperimentChange) -> dict[str, Any]:
    """An `EditExperiment`'s changes, from what a client patches."""
    changes = _set_in(patch, "name", "description", "notes", "labels", "max_restarts")
    changes |= _of_resources(patch.resources) if patch.resources is not None else {}
    if patch.checkpoint_storage is not None:
        changes |= _set_in(patch.checkpoint_storage, "save_experiment_best", "save_trial_best", "save_trial_latest")
    return changes


def _of_resources(resources: ResourcesChange) -> dict[str, Any]:
    changes = _set_in(resources, "max_slots", "priority")
    if "max_slots" in resources.model_fields_set:
        changes["max_slots"] = resources.max_slots  # null is no limit
    if resources.weight is not None:
        changes["weight"] = float(resources.weight)  # a client may send 2 for 2.0
    if resources.resource_pool:
        changes["resource_pool"] = resources.resource_pool
    return changes


def _set_in(message: Input, *fields: str) -> dict[str, Any]:
    """Those of the fields that are neither left out nor null; their names are those of the settings."""
    return {field: value for field in fields if (value := getattr(message, field)) is not None}


# ---------------------------------------------------------------- labels


async def put_label(call: Call, request: ExperimentLabel) -> AddedLabelAnswer:
    """Add a label."""
    labels = await _labels_after(call, AddLabel(request.experiment_id, request.label))
    return AddedLabelAnswer(labels=labels)


async def delete_label(call: Call, request: ExperimentLabel) -> RemovedLabelAnswer:
    """Take a label away."""
    labels = await _labels_after(call, RemoveLabel(request.experiment_id, request.label))
    return RemovedLabelAnswer(labels=labels)


async def _labels_after(call: Call, change: AddLabel | RemoveLabel) -> tuple[str, ...]:
    await outline_of(call, change.experiment_id)
    return tuple((await call.send(change)).data["labels"])


# ---------------------------------------------------------------- projects


async def move_experiment(call: Call, request: ExperimentMove) -> Empty:
    """Move it to another project."""
    project_id = await destination_of(call, request.body.destination_project_id)
    await call.send(MoveExperiment(request.experiment_id, project_id))
    return Empty()


async def move_experiments(call: Call, request: MoveExperiments) -> Moved:
    """The same for several, named or found by filters, each by itself: Move it to another project."""
    project_id = await destination_of(call, request.body.destination_project_id)

    def moved(experiment_id: int) -> SearcherCommand:
        return MoveExperiment(experiment_id, project_id)

    return Moved(results=await act_on_each(call, request, moved, MeantFor()))


async def destination_of(call: Call, asked: int | None) -> int:
    """Raises NotFound for a project that is not there, and Refused for one that is archived."""
    project_id = expect_given(asked, "destinationProjectId")
    row = await submissions_of(call).project(project_id)
    if row is None:
        raise NotFound(f"destinationProjectId: project {project_id} not found")
    check_takes_experiments(row, f"move anything to project {row.name}")
    return project_id


# ---------------------------------------------------------------- logs


async def retain_logs(call: Call, request: RetainLogs) -> Empty:
    """Keep its logs for so many days after its tasks end; -1 keeps them for ever."""
    await call.send(EditExperiment(request.experiment_id, _retention(request.body.num_days)))
    return Empty()


async def retain_logs_of_many(call: Call, request: RetainLogsOfExperiments) -> LogsRetained:
    """The same for several, named or found by filters, each by itself: Keep its logs for so many days."""
    changes = _retention(request.body.num_days)

    def edited(experiment_id: int) -> SearcherCommand:
        return EditExperiment(experiment_id, changes)

    return LogsRetained(results=await act_on_each(call, request, edited, RETENTION))


def _retention(days: int | None) -> dict[str, Any]:
    return {"log_retention_days": expect_given(days, "numDays")}


# ---------------------------------------------------------------- routes

LABEL_ONE, EDIT_ONE, REMOVE_ONE = (one.about("experiment", "experimentId") for one in (EDIT_METADATA, EDIT, REMOVE))
OWN_EDIT = OWNERS.to("experiment.edit").about("experiment", "experimentId")
"""For what deletes: logs after some days, or checkpoints by a new retention policy."""
PATCH = LABEL_ONE.but(OWN_EDIT, "body.checkpointStorage").but(EDIT_ONE, "body.resources")
RETAIN_MANY = EDIT.over_scope().for_each(OWNERS.to("experiment.edit"))


def into(access: Access) -> Access:
    """For what goes to another project."""
    return access.about("project", "body.destinationProjectId", to="experiment.create")


CHANGES = (
    operation(
        "PatchExperiment",
        "PATCH",
        ONE,
        patch_experiment,
        PATCH,
        request=PatchExperiment,
        response=ChangedExperimentAnswer,
        tag=TAG,
    ),
    operation(
        "PutExperimentLabel",
        "PUT",
        f"{ONE}/labels/{{label...}}",
        put_label,
        LABEL_ONE,
        request=ExperimentLabel,
        response=AddedLabelAnswer,
        tag=TAG,
    ),
    operation(
        "DeleteExperimentLabel",
        "DELETE",
        f"{ONE}/labels/{{label...}}",
        delete_label,
        LABEL_ONE,
        request=ExperimentLabel,
        response=RemovedLabelAnswer,
        tag=TAG,
    ),
    operation(
        "MoveExperiment",
        "POST",
        f"{ONE}/move",
        move_experiment,
        into(REMOVE_ONE),
        request=ExperimentMove,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "MoveExperiments",
        "POST",
        f"{MANY}/move",
        move_experiments,
        into(REMOVE.over_scope()),
        request=MoveExperiments,
        response=Moved,
        tag=TAG,
    ),
    operation(
        "PutExperimentRetainLogs",
        "PUT",
        f"{ONE}/retain_logs",
        retain_logs,
        OWN_EDIT,
        request=RetainLogs,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "PutExperimentsRetainLogs",
        "PUT",
        f"{MANY}/retain_logs",
        retain_logs_of_many,
        RETAIN_MANY,
        request=RetainLogsOfExperiments,
        response=LogsRetained,
        tag=TAG,
    ),
)
