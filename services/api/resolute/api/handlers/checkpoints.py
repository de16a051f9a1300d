"""Checkpoints: listing, describing, deleting, downloading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from resolute.api.call import Call
from resolute.api.places import experiment_of
from resolute.api.routing import OWNERS, SIGNED_IN, TASK, Route
from resolute.api.views.checkpoints import COUNT, SELECT, STATES, checkpoint_of, checkpoints_json
from resolute.api.views.experiments import row_of
from resolute.api.views.listing import OF_PROJECT, Where, listed, order_by, state_names
from resolute.proto.checkpoint import (
    ChangeCheckpointMetadata,
    CheckpointCommand,
    DeleteCheckpoints,
    RefreshCheckpoints,
)
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.storage import globs

SORT = {
    "SORT_BY_UUID": "c.uuid",
    "SORT_BY_TRIAL_ID": "c.trial_id",
    "SORT_BY_BATCH_NUMBER": "c.steps_completed",
    "SORT_BY_END_TIME": "c.reported_at",
    "SORT_BY_STATE": "c.state",
    # The best comes first, whichever way the metric goes.
    "SORT_BY_SEARCHER_METRIC": "v.metric * CASE WHEN e.smaller_is_better THEN 1 ELSE -1 END",
}

BY_METRIC = """(SELECT (m.metrics ->> {name})::double precision FROM measures.metrics m
WHERE m.trial_id = c.trial_id AND m.steps = c.steps_completed AND m.kind = 'validation'
  AND jsonb_typeof(m.metrics -> {name}) = 'number' ORDER BY m.run_id DESC LIMIT 1)"""
# {name} is a quoted literal, not an argument: the query that counts has no use for it. `bodies.py` lets no NUL through.


async def get_experiment_checkpoints(call: Call) -> dict[str, Any]:
    """An experiment's checkpoints, by state, in any order; `SORT_BY_SEARCHER_METRIC` puts the best first."""
    experiment = await row_of(call.gateway.read, call.int("id"))
    return await _listed(call, "c.experiment_id = ?", experiment["id"])


async def get_trial_checkpoints(call: Call) -> dict[str, Any]:
    """A trial's checkpoints, likewise."""
    trial_id = call.int("id")
    if await call.gateway.read.value("SELECT 1 FROM read_trials.trials WHERE id = $1", trial_id) is None:
        raise NotFound(f"trial {trial_id} not found")
    return await _listed(call, "c.trial_id = ?", trial_id)


async def _listed(call: Call, clause: str, owner_id: int) -> dict[str, Any]:
    where = Where(call.scope, OF_PROJECT.format("e.project_id"))
    where.add(clause, owner_id)
    if states := state_names(call.query.texts("states"), STATES):
        where.add("c.state = ANY(?::text[])", states)
    order = order_by(call, SORT, _default_order(call), key="sortByAttr", tie="c.uuid")
    rows, page = await listed(call, SELECT, COUNT, where, order)
    return {"checkpoints": await checkpoints_json(call.gateway.read, rows), "pagination": page.as_json()}


def _default_order(call: Call) -> str:
    metric = call.query.text("sortByMetric")
    if not metric:
        return "c.trial_id"
    return BY_METRIC.format(name="'" + metric.replace("'", "''") + "'")


async def get_checkpoint(call: Call) -> dict[str, Any]:
    """One checkpoint: files, metadata, metrics, and where it is stored."""
    return {"checkpoint": await checkpoint_of(call.gateway.read, call.path["checkpointUuid"])}


async def post_metadata(call: Call) -> dict[str, Any]:
    """Replace a checkpoint's metadata."""
    uuid = call.path["checkpointUuid"]
    metadata = (call.body.get("checkpoint") or {}).get("metadata")
    if not isinstance(metadata, dict):
        raise InvalidConfig("checkpoint.metadata: expected an object")
    await call.send(ChangeCheckpointMetadata(await _experiment_of(call, uuid), uuid, metadata))
    return {"checkpoint": await checkpoint_of(call.gateway.read, uuid)}


async def delete_checkpoints(call: Call) -> dict[str, Any]:
    """Delete checkpoints, files and all."""
    await _remove(call, call.body.get("checkpointUuids") or [], ())
    return {}


async def remove_files(call: Call) -> dict[str, Any]:
    """Delete those files of checkpoints that match. Without globs, look again which files there are."""
    uuids, patterns = call.body.get("checkpointUuids") or [], _globs_of(call.body)
    if patterns:
        await _remove(call, uuids, patterns)
    else:
        await _to_each(call, uuids, RefreshCheckpoints)
    return {}


def _globs_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    found = body.get("checkpointGlobs") or []
    if not isinstance(found, list) or not all(isinstance(glob, str) and glob for glob in found):
        raise InvalidConfig("checkpointGlobs: name the files to remove, such as 'events.*' or '**/*'")
    if problem := globs.problem_with(found):
        raise InvalidConfig(f"checkpointGlobs: {problem}")
    return tuple(found)


async def _remove(call: Call, uuids: Sequence[str], patterns: tuple[str, ...]) -> None:
    reason = f"asked for by {call.principal.username}"
    await _to_each(
        call, uuids, lambda experiment_id, several: DeleteCheckpoints(experiment_id, several, reason, patterns)
    )


async def _to_each(call: Call, uuids: Sequence[str], make: Callable[[int, tuple[str, ...]], CheckpointCommand]) -> None:
    """A command for each experiment that some of the checkpoints are of."""
    if not uuids:
        raise InvalidConfig("checkpointUuids: name at least one checkpoint")
    by_experiment: dict[int, list[str]] = {}
    for uuid in uuids:
        by_experiment.setdefault(await _experiment_of(call, uuid), []).append(uuid)
    for experiment_id, several in by_experiment.items():
        await call.send(make(experiment_id, tuple(several)), step=str(experiment_id))


async def _experiment_of(call: Call, uuid: str) -> int:
    experiment_id = await experiment_of(call.gateway.read, uuid)
    if experiment_id is None:
        raise NotFound(f"checkpoint {uuid} not found")
    return experiment_id


VIEW = SIGNED_IN.to("checkpoint.view")
OF_EXPERIMENT, OF_TRIAL = VIEW.about("experiment", "id"), VIEW.about("trial", "id")
DELETE = OWNERS.to("checkpoint.edit").about("checkpoint", "body.checkpointUuids")

ROUTES = (
    Route(
        "GetExperimentCheckpoints",
        "GET",
        "/api/v1/experiments/{id}/checkpoints",
        get_experiment_checkpoints,
        OF_EXPERIMENT,
    ),
    Route("GetTrialCheckpoints", "GET", "/api/v1/trials/{id}/checkpoints", get_trial_checkpoints, OF_TRIAL),
    Route("CheckpointsRemoveFiles", "POST", "/api/v1/checkpoints/rm", remove_files, DELETE),
    Route("DeleteCheckpoints", "DELETE", "/api/v1/checkpoints", delete_checkpoints, DELETE),
    Route(
        "GetCheckpoint",
        "GET",
        "/api/v1/checkpoints/{checkpointUuid}",
        get_checkpoint,
        VIEW | TASK.about("readable checkpoint", "checkpointUuid"),
    ),
    Route(
        "PostCheckpointMetadata",
        "POST",
        "/api/v1/checkpoints/{checkpointUuid}/metadata",
        post_metadata,
        (TASK | OWNERS).about("checkpoint", "checkpointUuid").to("checkpoint.edit"),
    ),
)
