"""What tasks report of checkpoints: that one is begun, that one is complete, and which files of one are left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolute.api.call import Call
from resolute.api.checkpoints.lookup import experiment_of
from resolute.api.checkpoints.messages import CheckpointState, GivenCheckpoint, PatchCheckpoints, ReportCheckpoint
from resolute.api.kernel.messages import Empty
from resolute.api.tasks.runs import run_of
from resolute.api.trials import lookup
from resolute.api.trials.lookup_queries import TrialRef
from resolute.api.trials.outside import check_reporter
from resolute.proto.checkpoint import AnnounceCheckpoint, CompleteCheckpoint, NoteFilesRemoved
from resolute.proto.errors import InvalidConfig


async def report_checkpoint(call: Call, request: ReportCheckpoint) -> Empty:
    """Announce a checkpoint (STATE_ACTIVE) before its first byte, or complete it after its last."""
    trial = await lookup.trial_of_task(call.gateway, request.body.task_id)
    check_reporter(call, trial)
    announces = request.body.state is CheckpointState.ACTIVE
    await call.send(_announced(request.body, trial) if announces else _completed(request.body, trial))
    return Empty()


def _announced(given: GivenCheckpoint, trial: TrialRef) -> AnnounceCheckpoint:
    return AnnounceCheckpoint(
        given.uuid, trial.experiment_id, trial.trial_id, given.task_id, given.allocation_id, trial.storage
    )


def _completed(given: GivenCheckpoint, trial: TrialRef) -> CompleteCheckpoint:
    """Raises InvalidConfig."""
    metadata = dict(given.metadata or {})
    return CompleteCheckpoint(
        uuid=given.uuid,
        experiment_id=trial.experiment_id,
        trial_id=trial.trial_id,
        task_id=given.task_id,
        allocation_id=given.allocation_id,
        run_id=run_of(given.allocation_id),
        steps_completed=_steps(metadata),
        resources=_sizes(given.resources, "resources"),
        metadata=metadata,
        storage=trial.storage,
    )


def _steps(metadata: Mapping[str, Any]) -> int:
    steps = metadata.get("steps_completed")
    if not isinstance(steps, int) or isinstance(steps, bool) or not 0 <= steps < 2**31:
        raise InvalidConfig(
            f"metadata.steps_completed: expected the number of batches trained, 0 to {2**31 - 1}; found {steps!r}"
        )
    return steps


def _sizes(files: Mapping[str, int], field: str) -> dict[str, int]:
    if sum(map(abs, files.values())) >= 2**63:
        raise InvalidConfig(f"{field}: expected sizes in bytes, fewer than 2^63 in all")
    return dict(files)


async def patch_checkpoints(call: Call, request: PatchCheckpoints) -> Empty:
    """A task removed files of checkpoints itself and says what is left of them."""
    for index, patch in enumerate(request.body.checkpoints):
        if patch.resources is None:
            continue
        experiment_id = await experiment_of(call, patch.uuid)
        left = _sizes(patch.resources.resources, f"checkpoints[{index}].resources")
        await call.send(NoteFilesRemoved(experiment_id, patch.uuid, left), step=patch.uuid)
    return Empty()
