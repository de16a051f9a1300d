"""The routes a running trial calls: its progress, its metadata, its checkpoints, and an early exit."""

from __future__ import annotations

from typing import Any

import orjson

from resolute.api import lookup
from resolute.api.body_kinds import CHECKPOINT_FILES
from resolute.api.call import Call
from resolute.api.measures.metrics import json_text
from resolute.api.routing import OWNERS, SIGNED_IN, TASK, Route
from resolute.api.tasks.runs import OWN_TRIAL, run_of
from resolute.api.views.trials import metadata_of
from resolute.proto.checkpoint import AnnounceCheckpoint, CompleteCheckpoint, NoteFilesRemoved
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import ChangeTrialMetadata, ReportEarlyExit
from resolute.proto.states import EarlyExit

# ---------------------------------------------------------------- what a trial says


async def progress(call: Call) -> dict[str, Any]:
    trial_id = call.int("trialId")
    await lookup.trial(call.gateway, trial_id)
    value = call.body.get("progress", 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidConfig(f"progress: expected a number from 0 to 1; found {value!r}")
    await call.gateway.measured.note(trial_id, progress=float(value))
    return {}


async def runner_metadata(call: Call) -> dict[str, Any]:
    trial_id = call.int("trialId")
    await lookup.trial(call.gateway, trial_id)
    await call.gateway.measured.note(trial_id, runner_state=str(call.body.get("state", "")))
    return {}


async def get_run_metadata(call: Call) -> dict[str, Any]:
    trial = await lookup.trial(call.gateway, call.int("runId"))
    recorded = await call.gateway.read.value("SELECT metadata FROM read_trials.trials WHERE id = $1", trial.trial_id)
    summary = await call.gateway.measured.summaries([trial.trial_id], trial.metric, trial.smaller_is_better)
    return {"metadata": metadata_of(recorded, summary[trial.trial_id]) or {}}


async def post_run_metadata(call: Call) -> dict[str, Any]:
    trial = await lookup.trial(call.gateway, call.int("runId"))
    metadata = call.body.get("metadata")
    if not isinstance(metadata, dict):
        raise InvalidConfig("metadata: expected an object")
    as_kept = orjson.loads(json_text(metadata))
    await call.send(ChangeTrialMetadata(trial.experiment_id, trial.trial_id, as_kept))
    return {"metadata": metadata}


_EARLY_EXITS = {
    "EXITED_REASON_INVALID_HP": EarlyExit.INVALID_HP,
    "EXITED_REASON_INIT_INVALID_HP": EarlyExit.INVALID_HP,
    "EXITED_REASON_USER_REQUESTED_STOP": EarlyExit.USER_REQUESTED_STOP,
    "EXITED_REASON_MISCONFIGURED": EarlyExit.MISCONFIGURED,
    "EXITED_REASON_UNSPECIFIED": EarlyExit.USER_REQUESTED_STOP,
}


async def early_exit(call: Call) -> dict[str, Any]:
    trial = await lookup.trial(call.gateway, call.int("trialId"))
    reason = str(call.body.get("reason") or "EXITED_REASON_UNSPECIFIED")
    if reason not in _EARLY_EXITS:
        raise InvalidConfig(f"reason: expected one of {', '.join(_EARLY_EXITS)}; found {reason!r}")
    await call.send(ReportEarlyExit(trial.experiment_id, trial.trial_id, _EARLY_EXITS[reason]))
    return {}


async def prepare_for_reporting(call: Call) -> dict[str, Any]:
    """The run has begun to report. Where it keeps its checkpoints is in its configuration already."""
    await lookup.trial(call.gateway, _run_id(call.body))
    return {}


def _run_id(body: dict[str, Any]) -> int:
    try:
        return int(body["runId"])
    except (KeyError, TypeError, ValueError):
        raise InvalidConfig(f"runId: expected a trial's id; found {body.get('runId')!r}") from None


# ---------------------------------------------------------------- checkpoints


async def report_checkpoint(call: Call) -> dict[str, Any]:
    """Announce a checkpoint (STATE_ACTIVE) before its first byte, or complete it after its last."""
    body = call.body
    uuid, task_id = str(body.get("uuid") or ""), str(body.get("taskId") or "")
    trial = await lookup.trial_of_task(call.gateway, task_id)
    allocation_id = str(body.get("allocationId") or "")
    if body.get("state") in ("STATE_ACTIVE", 1):
        await call.send(
            AnnounceCheckpoint(uuid, trial.experiment_id, trial.trial_id, task_id, allocation_id, trial.storage)
        )
        return {}
    metadata = body.get("metadata") or {}
    await call.send(
        CompleteCheckpoint(
            uuid=uuid,
            experiment_id=trial.experiment_id,
            trial_id=trial.trial_id,
            task_id=task_id,
            allocation_id=allocation_id,
            run_id=run_of(allocation_id),
            steps_completed=_steps(metadata),
            resources=sizes(body.get("resources") or {}, "resources"),
            metadata=metadata,
            storage=trial.storage,
        )
    )
    return {}


def _steps(metadata: Any) -> int:
    steps = metadata.get("steps_completed") if isinstance(metadata, dict) else None
    if not isinstance(steps, int) or isinstance(steps, bool) or not 0 <= steps < 2**31:
        raise InvalidConfig(
            f"metadata.steps_completed: expected the number of batches trained, 0 to {2**31 - 1}; found {steps!r}"
        )
    return steps


def sizes(resources: Any, field: str) -> dict[str, int]:
    """Files with their sizes, which come as numbers or as strings of digits."""
    if not isinstance(resources, dict):
        raise InvalidConfig(f"{field}: expected an object of sizes by file")
    try:
        found = {str(path): int(size) for path, size in resources.items()}
    except (TypeError, ValueError, OverflowError):
        raise InvalidConfig(f"{field}: expected sizes in bytes; found {resources!r}") from None
    if sum(map(abs, found.values())) >= 2**63:
        raise InvalidConfig(f"{field}: expected sizes in bytes, fewer than 2^63 in all")
    return found


async def patch_checkpoints(call: Call) -> dict[str, Any]:
    """A task removed files of checkpoints itself and says what is left of them."""
    for index, patch in enumerate(call.body.get("checkpoints") or []):
        if (resources := patch.get("resources")) is None:
            continue
        uuid = str(patch.get("uuid") or "")
        experiment_id = await lookup.experiment_of_checkpoint(call.gateway, uuid)
        left = sizes(resources.get("resources") or {}, f"checkpoints[{index}].resources")
        await call.send(NoteFilesRemoved(experiment_id, uuid, left), step=uuid)
    return {}


API = "/api/v1"

ROUTES = (
    Route("ReportTrialProgress", "POST", f"{API}/trials/{{trialId}}/progress", progress, OWN_TRIAL),
    Route("PostTrialRunnerMetadata", "POST", f"{API}/trials/{{trialId}}/runner/metadata", runner_metadata, OWN_TRIAL),
    Route("ReportTrialSearcherEarlyExit", "POST", f"{API}/trials/{{trialId}}/early_exit", early_exit, OWN_TRIAL),
    Route(
        "RunPrepareForReporting",
        "POST",
        f"{API}/runs/start",
        prepare_for_reporting,
        TASK.to("experiment.edit").about("trial", "body.runId"),
    ),
    Route(
        "GetRunMetadata",
        "GET",
        f"{API}/runs/{{runId}}/metadata",
        get_run_metadata,
        SIGNED_IN.to("experiment.view") | TASK.about("trial", "runId"),
    ),
    Route(
        "PostRunMetadata",
        "POST",
        f"{API}/runs/{{runId}}/metadata",
        post_run_metadata,
        (TASK | OWNERS).about("trial", "runId").to("experiment.edit"),
    ),
    Route(
        "ReportCheckpoint",
        "POST",
        f"{API}/checkpoints",
        report_checkpoint,
        TASK.to("checkpoint.create").about("task", "body.taskId").about("allocation", "body.allocationId"),
        body=CHECKPOINT_FILES,
    ),
    Route(
        "PatchCheckpoints",
        "PATCH",
        f"{API}/checkpoints",
        patch_checkpoints,
        (TASK | OWNERS).about("checkpoint", "body.checkpoints.uuid").to("checkpoint.edit"),
        body=CHECKPOINT_FILES,
    ),
)
