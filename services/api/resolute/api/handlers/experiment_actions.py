"""Acting on experiments: their life, their settings, one at a time or many of a project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from resolute.api.call import Call
from resolute.api.experiments.presenting import experiment_for
from resolute.api.handlers.admission import check_fit, check_pool
from resolute.api.handlers.chosen import MeantFor, chosen
from resolute.api.routing import OWNERS, SIGNED_IN, Access, Handler, Owned, Route
from resolute.api.views.experiments import row_of
from resolute.api.wire import camel, whole
from resolute.config import slots_of
from resolute.proto.errors import NotFound, ResoluteError, refuse
from resolute.proto.experiment import (
    ActivateExperiment,
    AddLabel,
    ArchiveExperiment,
    CancelExperiment,
    DeleteExperiment,
    EditExperiment,
    KillExperiment,
    MoveExperiment,
    PauseExperiment,
    RemoveLabel,
    SearcherCommand,
    UnarchiveExperiment,
)
from resolute.proto.states import FINISHED, RUNNING, STOPPING, ExperimentState

Make = Callable[[int], SearcherCommand]

VERBS: Mapping[str, Make] = {
    "activate": ActivateExperiment,
    "pause": PauseExperiment,
    "cancel": CancelExperiment,
    "kill": KillExperiment,
    "archive": ArchiveExperiment,
    "unarchive": UnarchiveExperiment,
}

SAYING: Mapping[Make, str] = {
    ActivateExperiment: "Let it run, or run on from where it paused.",
    PauseExperiment: "Let its trials checkpoint, stop and give their slots back.",
    CancelExperiment: "End it when its trials have checkpointed.",
    KillExperiment: "End it at once.",
    ArchiveExperiment: "Put it out of sight, once it has ended.",
    UnarchiveExperiment: "Put it back in sight.",
    DeleteExperiment: "Delete it with its checkpoints, metrics and logs, once it has ended. Its owner may, and "
    "administrators.",
}

PROJECT = """SELECT p.name, p.archived OR w.archived AS archived
FROM read_workspaces.projects p JOIN read_workspaces.workspaces w ON w.id = p.workspace_id WHERE p.id = $1"""

MEANT_FOR: Mapping[Make, MeantFor] = {
    ActivateExperiment: MeantFor((ExperimentState.PAUSED,), sees_archived=False),
    PauseExperiment: MeantFor((ExperimentState.ACTIVE,), sees_archived=False),
    CancelExperiment: MeantFor((*RUNNING, *STOPPING), sees_archived=False),
    KillExperiment: MeantFor((*RUNNING, *STOPPING), sees_archived=False),
    ArchiveExperiment: MeantFor(FINISHED, archived=False),
    UnarchiveExperiment: MeantFor(FINISHED, archived=True),
    DeleteExperiment: MeantFor((*FINISHED, ExperimentState.DELETE_FAILED)),
}
RETENTION = MeantFor(sees_archived=False)

POOL = "SELECT state, resource_pool FROM read_experiments.experiments WHERE id = $1"


def acting(make: Make, parameter: str = "id") -> Handler:
    async def act(call: Call) -> dict[str, Any]:
        await _send(call, make, call.int(parameter))
        return {}

    act.__doc__ = SAYING[make]
    return act


async def _send(call: Call, make: Make, experiment_id: int, step: str = "") -> None:
    if make is ActivateExperiment:
        await _check_runs_somewhere(call, experiment_id)
    await call.send(make(experiment_id), step)


async def _check_runs_somewhere(call: Call, experiment_id: int) -> None:
    """Raises InvalidConfig where the experiment would begin to wait for a pool that is not there."""
    row = await call.gateway.read.row(POOL, experiment_id)
    if row is not None and row["state"] == ExperimentState.PAUSED:
        check_pool(f"experiment {experiment_id}: resources.resource_pool", row["resource_pool"], call.gateway.settings)


def acting_on_many(make: Make) -> Handler:
    async def act(call: Call) -> dict[str, Any]:
        return await _each(call, make, MEANT_FOR[make])

    act.__doc__ = f"The same for several, named or found by filters, each by itself: {SAYING[make]}"
    return act


async def _check(call: Call, experiment_id: int) -> None:
    """For calls that name their experiments by filters too: each is decided about as if it were named alone."""
    if call.granted.access.each is not None:
        row = await row_of(call.gateway.read, experiment_id)
        found = Owned("experiment", str(experiment_id), owner_id=row["owner_id"], workspace_id=row["workspace_id"])
        call.check_each(found)


async def _each(call: Call, make: Make, meant_for: MeantFor) -> dict[str, Any]:
    acted_on = await chosen(call, meant_for)
    results = []
    for experiment_id in acted_on.ids:
        try:
            await _check(call, experiment_id)
            await _send(call, make, experiment_id, step=str(experiment_id))
            results.append({"id": experiment_id, "error": ""})
        except ResoluteError as error:
            results.append({"id": experiment_id, "error": error.message})
    return {"results": [*results, *({"id": one, "error": error} for one, error in acted_on.refused.items())]}


# ---------------------------------------------------------------- settings


async def patch_experiment(call: Call) -> dict[str, Any]:
    """Rename, describe, label, or change limits and retention. Absent and null both mean: leave it;
    but `resources.maxSlots: null` is no limit."""
    experiment_id = call.int("experimentId")
    changes = changes_of(call.body)
    if "resource_pool" in changes:
        await _check_pool(call, experiment_id, changes["resource_pool"])
    if changes:
        await call.send(EditExperiment(experiment_id, changes))
    return {"experiment": await experiment_for(call, experiment_id)}


async def _check_pool(call: Call, experiment_id: int, pool: str) -> None:
    """Raises InvalidConfig for a pool that is not there, or that could never hold a trial."""
    path = "resources.resourcePool"
    check_pool(path, pool, call.gateway.settings)
    resources = orjson.loads((await row_of(call.gateway.read, experiment_id))["config"])["resources"]
    await check_fit(call, path, pool, slots_of(resources), single_agent=bool(resources["is_single_node"]))


def changes_of(patch: Mapping[str, Any]) -> dict[str, Any]:
    """An `EditExperiment`'s changes, from what a client patches."""
    changes = {name: patch[name] for name in ("name", "description", "notes", "labels") if patch.get(name) is not None}
    if patch.get("maxRestarts") is not None:
        changes["max_restarts"] = whole(patch["maxRestarts"], "maxRestarts")
    resources = {camel(key): value for key, value in (patch.get("resources") or {}).items()}
    if "maxSlots" in resources:
        most = resources["maxSlots"]
        changes["max_slots"] = None if most is None else whole(most, "resources.maxSlots")
    if resources.get("priority") is not None:
        changes["priority"] = whole(resources["priority"], "resources.priority")
    if resources.get("weight") is not None:
        changes["weight"] = float(resources["weight"])
    if resources.get("resourcePool"):
        changes["resource_pool"] = str(resources["resourcePool"])
    storage = {camel(key): value for key, value in (patch.get("checkpointStorage") or {}).items()}
    for key in ("saveExperimentBest", "saveTrialBest", "saveTrialLatest"):
        if storage.get(key) is not None:
            changes[_snake(key)] = whole(storage[key], f"checkpointStorage.{key}")
    return changes


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


async def put_label(call: Call) -> dict[str, Any]:
    """Add a label."""
    return await _labels(call, AddLabel)


async def delete_label(call: Call) -> dict[str, Any]:
    """Take a label away."""
    return await _labels(call, RemoveLabel)


async def _labels(call: Call, change: Callable[[int, str], SearcherCommand]) -> dict[str, Any]:
    experiment_id = call.int("experimentId")
    await row_of(call.gateway.read, experiment_id)
    return {"labels": (await call.send(change(experiment_id, call.path["label"]))).data["labels"]}


async def move_experiment(call: Call) -> dict[str, Any]:
    """Move it to another project."""
    await call.send(MoveExperiment(call.int("experimentId"), await _destination(call)))
    return {}


async def move_experiments(call: Call) -> dict[str, Any]:
    """The same for several, named or found by filters, each by itself: Move it to another project."""
    project_id = await _destination(call)
    return await _each(call, lambda experiment_id: MoveExperiment(experiment_id, project_id), MeantFor())


async def _destination(call: Call) -> int:
    project_id = whole(call.body.get("destinationProjectId"), "destinationProjectId")
    row = await call.gateway.read.row(PROJECT, project_id)
    if row is None:
        raise NotFound(f"destinationProjectId: project {project_id} not found")
    if row["archived"]:
        raise refuse(f"move anything to project {row['name']}", "it is archived", "unarchive it first")
    return project_id


async def retain_logs(call: Call) -> dict[str, Any]:
    """Keep its logs for so many days after its tasks end; -1 keeps them for ever."""
    await call.send(EditExperiment(call.int("experimentId"), _retention(call)))
    return {}


async def retain_logs_of_many(call: Call) -> dict[str, Any]:
    """The same for several, named or found by filters, each by itself: Keep its logs for so many days."""
    changes = _retention(call)
    return await _each(call, lambda experiment_id: EditExperiment(experiment_id, changes), RETENTION)


def _retention(call: Call) -> dict[str, Any]:
    return {"log_retention_days": whole(call.body.get("numDays"), "numDays")}


EDIT, LABEL = SIGNED_IN.to("experiment.edit"), SIGNED_IN.to("experiment.metadata.edit")
REMOVE = SIGNED_IN.to("experiment.delete")
BY_VERB = dict.fromkeys(VERBS, EDIT) | {"archive": LABEL, "unarchive": LABEL}
LABEL_ONE, EDIT_ONE, REMOVE_ONE = (one.about("experiment", "experimentId") for one in (LABEL, EDIT, REMOVE))
OWN_EDIT = OWNERS.to("experiment.edit").about("experiment", "experimentId")
"""For what deletes: logs after some days, or checkpoints by a new retention policy."""
OWN_REMOVE = OWNERS.to("experiment.delete").about("experiment", "experimentId")
REMOVE_MANY = REMOVE.over_scope().for_each(OWNERS.to("experiment.delete"))
RETAIN_MANY = EDIT.over_scope().for_each(OWNERS.to("experiment.edit"))
PATCH = LABEL_ONE.but(OWN_EDIT, "body.checkpointStorage").but(EDIT_ONE, "body.resources")
ONE = "/api/v1/experiments/{experimentId}"
MANY = "/api/v1/projects/{projectId}/experiments"


def into(access: Access) -> Access:
    """For what goes to another project."""
    return access.about("project", "body.destinationProjectId", to="experiment.create")


ROUTES = (
    *(
        Route(
            f"{verb.capitalize()}Experiment",
            "POST",
            f"/api/v1/experiments/{{id}}/{verb}",
            acting(make),
            BY_VERB[verb].about("experiment", "id"),
        )
        for verb, make in VERBS.items()
    ),
    *(
        Route(
            f"{verb.capitalize()}Experiments",
            "POST",
            f"{MANY}/{verb}",
            acting_on_many(make),
            BY_VERB[verb].over_scope(),
        )
        for verb, make in VERBS.items()
    ),
    Route("DeleteExperiment", "DELETE", ONE, acting(DeleteExperiment, "experimentId"), OWN_REMOVE),
    Route("DeleteExperiments", "DELETE", f"{MANY}/delete", acting_on_many(DeleteExperiment), REMOVE_MANY),
    Route("PatchExperiment", "PATCH", ONE, patch_experiment, PATCH),
    Route("PutExperimentLabel", "PUT", f"{ONE}/labels/{{label...}}", put_label, LABEL_ONE),
    Route("DeleteExperimentLabel", "DELETE", f"{ONE}/labels/{{label...}}", delete_label, LABEL_ONE),
    Route("MoveExperiment", "POST", f"{ONE}/move", move_experiment, into(REMOVE_ONE)),
    Route("MoveExperiments", "POST", f"{MANY}/move", move_experiments, into(REMOVE.over_scope())),
    Route("PutExperimentRetainLogs", "PUT", f"{ONE}/retain_logs", retain_logs, OWN_EDIT),
    Route("PutExperimentsRetainLogs", "PUT", f"{MANY}/retain_logs", retain_logs_of_many, RETAIN_MANY),
)
