"""Changing what is kept with checkpoints, and deleting them or some of their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from resolute.api.call import Call
from resolute.api.checkpoints.lookup import experiment_of
from resolute.api.checkpoints.messages import (
    CheckpointsRemoveFiles,
    DeleteCheckpoints,
    NewMetadataAnswer,
    PostCheckpointMetadata,
)
from resolute.api.checkpoints.reading import checkpoint_of
from resolute.api.kernel.messages import Empty
from resolute.proto import checkpoint as commands
from resolute.proto.errors import InvalidConfig
from resolute.storage import globs


async def post_metadata(call: Call, request: PostCheckpointMetadata) -> NewMetadataAnswer:
    """Replace a checkpoint's metadata."""
    uuid, given = request.checkpoint_uuid, request.body.checkpoint
    if given is None or given.metadata is None:
        raise InvalidConfig("checkpoint.metadata: expected an object")
    experiment_id = await experiment_of(call, uuid)
    await call.send(commands.ChangeCheckpointMetadata(experiment_id, uuid, dict(given.metadata)))
    return NewMetadataAnswer(checkpoint=await checkpoint_of(call, uuid))


async def delete_checkpoints(call: Call, request: DeleteCheckpoints) -> Empty:
    """Delete checkpoints, files and all."""
    await _remove(call, request.body.checkpoint_uuids, ())
    return Empty()


async def remove_files(call: Call, request: CheckpointsRemoveFiles) -> Empty:
    """Delete those files of checkpoints that match. Without globs, look again which files there are."""
    uuids, patterns = request.body.checkpoint_uuids, request.body.checkpoint_globs
    _check_globs(patterns)
    if patterns:
        await _remove(call, uuids, patterns)
    else:
        await _to_each(call, uuids, commands.RefreshCheckpoints)
    return Empty()


def _check_globs(patterns: Sequence[str]) -> None:
    if not all(patterns):
        raise InvalidConfig("checkpointGlobs: name the files to remove, such as 'events.*' or '**/*'")
    if problem := globs.problem_with(patterns):
        raise InvalidConfig(f"checkpointGlobs: {problem}")


async def _remove(call: Call, uuids: Sequence[str], patterns: tuple[str, ...]) -> None:
    reason = f"asked for by {call.principal.username}"

    def command(experiment_id: int, several: tuple[str, ...]) -> commands.DeleteCheckpoints:
        return commands.DeleteCheckpoints(experiment_id, several, reason, patterns)

    await _to_each(call, uuids, command)


async def _to_each(
    call: Call, uuids: Sequence[str], command: Callable[[int, tuple[str, ...]], commands.CheckpointCommand]
) -> None:
    """Send a command for each experiment that some of the checkpoints are of."""
    if not uuids:
        raise InvalidConfig("checkpointUuids: name at least one checkpoint")
    by_experiment: dict[int, list[str]] = {}
    for uuid in uuids:
        by_experiment.setdefault(await experiment_of(call, uuid), []).append(uuid)
    for experiment_id, several in by_experiment.items():
        await call.send(command(experiment_id, tuple(several)), step=str(experiment_id))
