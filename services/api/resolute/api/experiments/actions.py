"""Acting on experiments: their lives, one at a time or many of a project. The searcher decides about each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from resolute.api.call import Call
from resolute.api.experiments.action_messages import (
    ActionResult,
    ActionResults,
    Activated,
    ActivateExperiments,
    ActOnExperiment,
    ActOnExperiments,
    Archived,
    ArchiveExperiments,
    Canceled,
    CancelExperiments,
    Deleted,
    DeleteExperiments,
    ExperimentDeletion,
    Killed,
    KillExperiments,
    Paused,
    PauseExperiments,
    Unarchived,
    UnarchiveExperiments,
)
from resolute.api.experiments.choosing import MeantFor, chosen
from resolute.api.experiments.placing import submissions_of
from resolute.api.experiments.presenting import outline_of
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.pools.fit import check_usable
from resolute.api.routing import OWNERS, SIGNED_IN, Access, Owned, Route
from resolute.proto.checkpoint import DeleteTensorBoardFiles
from resolute.proto.errors import ResoluteError
from resolute.proto.experiment import (
    ActivateExperiment,
    ArchiveExperiment,
    CancelExperiment,
    DeleteExperiment,
    KillExperiment,
    PauseExperiment,
    SearcherCommand,
    UnarchiveExperiment,
)
from resolute.proto.states import FINISHED, RUNNING, STOPPING, ExperimentState

Make = Callable[[int], SearcherCommand]
"""The command about the experiment of this number."""

Results = TypeVar("Results", bound=ActionResults)

MEANT_FOR: Mapping[Make, MeantFor] = {
    ActivateExperiment: MeantFor((ExperimentState.PAUSED,), sees_archived=False),
    PauseExperiment: MeantFor((ExperimentState.ACTIVE,), sees_archived=False),
    CancelExperiment: MeantFor((*RUNNING, *STOPPING), sees_archived=False),
    KillExperiment: MeantFor((*RUNNING, *STOPPING), sees_archived=False),
    ArchiveExperiment: MeantFor(FINISHED, archived=False),
    UnarchiveExperiment: MeantFor(FINISHED, archived=True),
    DeleteExperiment: MeantFor((*FINISHED, ExperimentState.DELETE_FAILED)),
}

SUMMARIES: Mapping[Make, str] = {
    ActivateExperiment: "Let it run, or run on from where it paused.",
    PauseExperiment: "Let its trials checkpoint, stop and give their slots back.",
    CancelExperiment: "End it when its trials have checkpointed.",
    KillExperiment: "End it at once.",
    ArchiveExperiment: "Put it out of sight, once it has ended.",
    UnarchiveExperiment: "Put it back in sight.",
    DeleteExperiment: "Delete it with its checkpoints, metrics and logs, once it has ended. Its owner may, and "
    "administrators.",
}


def acting(make: Make) -> Callable[[Call, ActOnExperiment], Awaitable[Empty]]:
    async def act(call: Call, request: ActOnExperiment) -> Empty:
        await _send(call, make, request.id)
        return Empty()

    act.__doc__ = SUMMARIES[make]
    return act


async def delete_experiment(call: Call, request: ExperimentDeletion) -> Empty:
    await _send(call, DeleteExperiment, request.experiment_id)
    return Empty()


async def delete_tensorboard_files(call: Call, request: ExperimentDeletion) -> Empty:
    """Delete the TensorBoard files that it has now, and keep everything else. Its owner may, and administrators."""
    await outline_of(call, request.experiment_id)
    await call.send(DeleteTensorBoardFiles(request.experiment_id))
    return Empty()


delete_experiment.__doc__ = SUMMARIES[DeleteExperiment]


def acting_on_many(make: Make, answer: type[Results]) -> Callable[[Call, ActOnExperiments], Awaitable[Results]]:
    async def act(call: Call, request: ActOnExperiments) -> Results:
        return answer(results=await act_on_each(call, request, make, MEANT_FOR[make]))

    act.__doc__ = f"The same for several, named or found by filters, each by itself: {SUMMARIES[make]}"
    return act


async def act_on_each(
    call: Call, request: ActOnExperiments, make: Make, meant_for: MeantFor
) -> tuple[ActionResult, ...]:
    """What came of it for each experiment that the request names or finds."""
    acted_on = await chosen(call, request, meant_for)
    results = [await _acted_on(call, make, experiment_id) for experiment_id in acted_on.ids]
    return (*results, *(ActionResult(id=one, error=error) for one, error in acted_on.refused.items()))


async def _acted_on(call: Call, make: Make, experiment_id: int) -> ActionResult:
    try:
        await _check_each(call, experiment_id)
        await _send(call, make, experiment_id, step=str(experiment_id))
    except ResoluteError as error:
        return ActionResult(id=experiment_id, error=error.message)
    return ActionResult(id=experiment_id, error="")


async def _check_each(call: Call, experiment_id: int) -> None:
    """For requests that find their experiments by filters too: each is decided about as if it were named alone."""
    if call.granted.access.each is None:
        return
    row = await outline_of(call, experiment_id)
    call.check_each(Owned("experiment", str(experiment_id), owner_id=row.owner_id, workspace_id=row.workspace_id))


async def _send(call: Call, make: Make, experiment_id: int, step: str = "") -> None:
    if make is ActivateExperiment:
        await _check_runs_somewhere(call, experiment_id)
    await call.send(make(experiment_id), step)


async def _check_runs_somewhere(call: Call, experiment_id: int) -> None:
    """Raises InvalidConfig where the experiment would begin to wait for a pool that is not there, or not for it."""
    row = await submissions_of(call).state(experiment_id)
    if row is not None and row.state == ExperimentState.PAUSED:
        path, workspace_id = "resources.resource_pool", (await outline_of(call, experiment_id)).workspace_id
        await check_usable(call, f"experiment {experiment_id}: {path}", row.resource_pool, workspace_id)


EDIT, EDIT_METADATA = SIGNED_IN.to("experiment.edit"), SIGNED_IN.to("experiment.metadata.edit")
REMOVE = SIGNED_IN.to("experiment.delete")
OWN_REMOVE = OWNERS.to("experiment.delete").about("experiment", "experimentId")
REMOVE_MANY = REMOVE.over_scope().for_each(OWNERS.to("experiment.delete"))
ACCESS: Mapping[Make, Access] = {ArchiveExperiment: EDIT_METADATA, UnarchiveExperiment: EDIT_METADATA}
"""By command: what the caller needs, where that is not to steer the experiment."""

TAG = "Experiments"
ONE = "/api/v1/experiments/{experimentId}"
MANY = "/api/v1/projects/{projectId}/experiments"


def _on_one(make: Make, verb: str) -> Route:
    return operation(
        f"{verb.capitalize()}Experiment",
        "POST",
        f"/api/v1/experiments/{{id}}/{verb}",
        acting(make),
        ACCESS.get(make, EDIT).about("experiment", "id"),
        request=ActOnExperiment,
        response=Empty,
        tag=TAG,
    )


def _on_many(make: Make, verb: str, request: type[ActOnExperiments], response: type[ActionResults]) -> Route:
    return operation(
        f"{verb.capitalize()}Experiments",
        "POST",
        f"{MANY}/{verb}",
        acting_on_many(make, response),
        ACCESS.get(make, EDIT).over_scope(),
        request=request,
        response=response,
        tag=TAG,
    )


ACTIONS = (
    _on_one(ActivateExperiment, "activate"),
    _on_one(PauseExperiment, "pause"),
    _on_one(CancelExperiment, "cancel"),
    _on_one(KillExperiment, "kill"),
    _on_one(ArchiveExperiment, "archive"),
    _on_one(UnarchiveExperiment, "unarchive"),
    _on_many(ActivateExperiment, "activate", ActivateExperiments, Activated),
    _on_many(PauseExperiment, "pause", PauseExperiments, Paused),
    _on_many(CancelExperiment, "cancel", CancelExperiments, Canceled),
    _on_many(KillExperiment, "kill", KillExperiments, Killed),
    _on_many(ArchiveExperiment, "archive", ArchiveExperiments, Archived),
    _on_many(UnarchiveExperiment, "unarchive", UnarchiveExperiments, Unarchived),
    operation(
        "DeleteExperiment",
        "DELETE",
        ONE,
        delete_experiment,
        OWN_REMOVE,
        request=ExperimentDeletion,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "DeleteTensorboardFiles",
        "DELETE",
        "/api/v1/experiments/{experimentId}/tensorboard-files",
        delete_tensorboard_files,
        OWNERS.to("experiment.edit").about("experiment", "experimentId"),
        request=ExperimentDeletion,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "DeleteExperiments",
        "DELETE",
        f"{MANY}/delete",
        acting_on_many(DeleteExperiment, Deleted),
        REMOVE_MANY,
        request=DeleteExperiments,
        response=Deleted,
        tag=TAG,
    ),
)
