"""The routes a running task calls: its context, its peers, preemption, progress, checkpoints, early exit."""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

from resolute.api import lookup
from resolute.api.blobs import Content
from resolute.api.body_kinds import CHECKPOINT_FILES, SHARE
from resolute.api.call import Call
from resolute.api.kernel.long_polls import changed_since, deadline_in, newest_position
from resolute.api.measures.gathering import PEERS_MAX, UUID_MAX
from resolute.api.measures.metrics import json_text
from resolute.api.routing import OWNERS, SIGNED_IN, TASK, Route
from resolute.api.tasks.runs import OWN_TRIAL, run_of
from resolute.api.views.trials import metadata_of
from resolute.proto.checkpoint import AnnounceCheckpoint, CompleteCheckpoint, NoteFilesRemoved
from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.experiment import ChangeTrialMetadata, ReportEarlyExit
from resolute.proto.pool import AcknowledgePreemption
from resolute.proto.states import EarlyExit

RENDEZVOUS_S = 600


# ---------------------------------------------------------------- context and peers


async def context_directory(call: Call) -> dict[str, Any] | web.StreamResponse:
    """The code of the task, a tar.gz in base64; empty when it has none."""
    address = await lookup.context_directory(call.gateway, call.path["taskId"])
    if address is None:
        return {"b64Tgz": ""}
    content = await Content.stored(call.gateway.blobs, address)
    return await content.answer_in_base64(call, b'{"b64Tgz":"', b'"}')


async def rendezvous(call: Call) -> dict[str, Any]:
    """Wait until every share of the allocation runs; then tell each the others' addresses, in rank order."""
    allocation_id, resources_id = call.path["allocationId"], call.path["resourcesId"]
    deadline = deadline_in(RENDEZVOUS_S)
    while True:
        seen = await newest_position(call, allocation_id)
        allocation = await lookup.allocation(call.gateway, allocation_id, resources_id)
        if resources_id not in allocation.resources:
            raise NotFound(f"allocation {allocation_id} has no resources {resources_id}")
        if allocation.ended:
            raise refuse(f"meet in allocation {allocation_id}", "it has exited")
        if allocation.started:
            shares = list(allocation.resources.values())
            return {
                "rendezvousInfo": {
                    "addresses": [share.address for share in shares],
                    "rank": list(allocation.resources).index(resources_id),
                    "slots": [share.slots for share in shares],
                }
            }
        if not await changed_since(call, seen, allocation_id, deadline=deadline):
            raise refuse(f"meet in allocation {allocation_id}", f"not all of it started within {RENDEZVOUS_S} s")


async def all_gather(call: Call) -> web.StreamResponse:
    """Answer every peer, once all have called, with what each of them brought, in the order of their coming."""
    allocation_id, gathering = call.path["allocationId"], call.gateway.gathering
    peers, request_uuid = _peers(call.body.get("numPeers")), _request_uuid(call.body.get("requestUuid"))
    if (await lookup.allocation(call.gateway, allocation_id)).ended:
        raise refuse(f"gather in allocation {allocation_id}", "it has exited")
    data = orjson.dumps(call.body.get("data"))
    first = await gathering.bring(allocation_id, request_uuid, peers, data)
    del data
    call.forget_body()
    async with gathering.answer(allocation_id, first, peers) as answer:
        return await call.send_bytes(answer)


def _request_uuid(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= UUID_MAX:
        raise InvalidConfig(
            f"requestUuid: expected a name that only this call uses, of at most {UUID_MAX} characters; found "
            f"{repr(value)[:60]}"
        )
    return value


def _peers(value: Any) -> int:
    try:
        peers = int(value or 1)
    except (TypeError, ValueError):
        peers = 0
    if not 1 <= peers <= PEERS_MAX:
        raise InvalidConfig(f"numPeers: expected how many call, from 1 to {PEERS_MAX}; found {repr(value)[:60]}")
    return peers


async def accelerator_data(call: Call) -> dict[str, Any]:
    await lookup.note_accelerators(call.gateway, call.path["allocationId"], call.body.get("acceleratorData") or {})
    return {}


async def nothing_to_do(call: Call) -> dict[str, Any]:
    """The agent reports starts and addresses itself; older harnesses say it again, and hear that all is well."""
    await lookup.allocation(call.gateway, call.path["allocationId"])
    return {}


# ---------------------------------------------------------------- preemption


async def preemption_signal(call: Call) -> dict[str, Any]:
    """Whether the allocation is asked to checkpoint and leave; waits up to timeoutSeconds for a yes.

    A run that is given up meanwhile is refused like any other call of it, so that its task ends at once.
    """
    allocation_id = call.path["allocationId"]
    deadline = deadline_in(call.query.number("timeoutSeconds"))
    while True:
        seen = await newest_position(call, allocation_id)
        allocation = await lookup.allocation(call.gateway, allocation_id)
        if allocation.ended:
            await call.check_still_believed()
        if allocation.preempting or allocation.ended:
            return {"preempt": True}
        if not await changed_since(call, seen, allocation_id, deadline=deadline):
            return {"preempt": False}


async def acknowledge_preemption(call: Call) -> dict[str, Any]:
    allocation = await lookup.allocation(call.gateway, call.path["allocationId"])
    await call.send(AcknowledgePreemption(allocation.pool, allocation.allocation_id))
    return {}


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
OWN_ALLOCATION = TASK.to("task.edit").about("allocation", "allocationId")
ALLOCATION = f"{API}/allocations/{{allocationId}}"

ROUTES = (
    Route(
        "GetTaskContextDirectory",
        "GET",
        f"{API}/tasks/{{taskId}}/context_directory",
        context_directory,
        SIGNED_IN.to("experiment.artifacts.view") | TASK.about("task", "taskId"),
    ),
    Route(
        "AllocationRendezvousInfo",
        "GET",
        f"{ALLOCATION}/resources/{{resourcesId}}/rendezvous",
        rendezvous,
        OWN_ALLOCATION,
    ),
    Route("AllocationAllGather", "POST", f"{ALLOCATION}/all_gather", all_gather, OWN_ALLOCATION, body=SHARE),
    Route("PostAllocationAcceleratorData", "POST", f"{ALLOCATION}/acceleratorData", accelerator_data, OWN_ALLOCATION),
    Route("PostAllocationProxyAddress", "POST", f"{ALLOCATION}/proxy_address", nothing_to_do, OWN_ALLOCATION),
    Route("AllocationReady", "POST", f"{ALLOCATION}/ready", nothing_to_do, OWN_ALLOCATION),
    Route("AllocationWaiting", "POST", f"{ALLOCATION}/waiting", nothing_to_do, OWN_ALLOCATION),
    Route("AllocationPreemptionSignal", "GET", f"{ALLOCATION}/signals/preemption", preemption_signal, OWN_ALLOCATION),
    Route(
        "AckAllocationPreemptionSignal",
        "POST",
        f"{ALLOCATION}/signals/ack_preemption",
        acknowledge_preemption,
        OWN_ALLOCATION,
    ),
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
