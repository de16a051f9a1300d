"""The decisions of the checkpoint store: the events that follow from a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from resolute.checkpoint.registry import Checkpoint, Registry, State
from resolute.checkpoint.retention import Policy, kept
from resolute.proto.checkpoint import (
    AnnounceCheckpoint,
    ApplyRetention,
    ChangeCheckpointMetadata,
    CheckpointAnnounced,
    CheckpointCommand,
    CheckpointCompleted,
    CheckpointDeleted,
    CheckpointDeletionRequested,
    CheckpointFilesRemoved,
    CheckpointHeld,
    CheckpointMetadataChanged,
    CheckpointReleased,
    CheckpointUsed,
    CompleteCheckpoint,
    DeleteCheckpoints,
    DeleteExperimentCheckpoints,
    DeleteTensorBoardFiles,
    HoldCheckpoint,
    NoteCheckpointUse,
    NoteFilesRemoved,
    ReleaseCheckpoint,
    RetentionApplied,
    TensorBoardFilesDeleted,
)
from resolute.proto.errors import InvalidConfig, NotFound, Refused, refuse
from resolute.proto.message import Event

Metrics = Mapping[tuple[int, int], float | None]
"""The searcher's metric by trial and steps; None where the trial reported NaN."""

USES = ("INFERENCE", "FINE_TUNING")
"""What a trial may use a checkpoint for."""

_DELETING_OR_DELETED = frozenset({State.DELETING, State.DELETED})


@dataclass(frozen=True, slots=True)
class InUse:
    """Why a checkpoint must not be deleted now."""

    reason: str
    """Such as `trials of experiment 7 begin from it`."""
    try_this: str


Uses = Mapping[str, InUse]
"""By UUID: the checkpoints that are needed outside of their experiment, and must not be deleted."""


NONE: Uses = MappingProxyType({})


def begun_from(registry: Registry) -> Uses:
    """The checkpoints from which trials of other experiments begin."""
    return {
        uuid: InUse(
            f"trials of experiment {', '.join(map(str, sorted(holders)))} begin from it",
            "wait until that has ended, or cancel it first",
        )
        for uuid, holders in registry.holders.items()
    }


def decide(command: CheckpointCommand, registry: Registry, metrics: Metrics, in_use: Uses = NONE) -> list[Event]:
    """The events that follow from `command`. `metrics` are used by retention only. `in_use`: the checkpoints that are
    needed outside of the experiment, besides those of `begun_from`. Raises Refused, NotFound and InvalidConfig."""
    in_use = {**in_use, **begun_from(registry)}
    match command:
        case AnnounceCheckpoint():
            return _announce(command, registry.get(command.uuid))
        case CompleteCheckpoint():
            return _complete(command, registry.get(command.uuid))
        case ChangeCheckpointMetadata(uuid=uuid, metadata=metadata):
            found = _whole(registry, uuid, "change the metadata of")
            return [CheckpointMetadataChanged(uuid, metadata)] if metadata != found.metadata else []
        case DeleteCheckpoints(uuids=uuids):
            return [event for uuid in dict.fromkeys(uuids) for event in _delete(command, uuid, registry, in_use)]
        case DeleteTensorBoardFiles(experiment_id=experiment_id):
            return [TensorBoardFilesDeleted(experiment_id)]
        case NoteFilesRemoved(uuid=uuid, resources=left):
            return _note(uuid, left, registry)
        case ApplyRetention():
            return _retain(command, registry, metrics, in_use)
        case HoldCheckpoint(uuid=uuid, by=by):
            held = by in registry.holders.get(uuid, ()) or registry.get(uuid).state is not State.COMPLETED
            return [] if held else [CheckpointHeld(uuid, by)]
        case ReleaseCheckpoint(uuid=uuid, by=by):
            return [CheckpointReleased(uuid, by)] if by in registry.holders.get(uuid, ()) else []
        case NoteCheckpointUse():
            return _use(command, registry)
        case DeleteExperimentCheckpoints():
            for uuid in registry.present():
                _check_free(uuid, in_use)
            return [CheckpointDeletionRequested(uuid, "its experiment is deleted") for uuid in registry.present()]
    raise NotFound(f"the checkpoint store does not decide {type(command).__name__}")


def to_delete(
    command: ApplyRetention, registry: Registry, metrics: Metrics, in_use: Uses = NONE
) -> tuple[list[str], list[str]]:
    """The UUIDs that are kept and those that are deleted. A checkpoint in use is kept whatever the policy says. An
    incomplete one is deleted, since no trial can resume from it."""
    policy = Policy(
        command.save_experiment_best, command.save_trial_best, command.save_trial_latest, command.smaller_is_better
    )
    chosen = {*kept(registry.candidates(metrics), policy), *registry.holders, *in_use}
    going = [
        uuid for uuid in registry.present() if uuid not in chosen and registry.get(uuid).state is not State.DELETING
    ]
    return [uuid for uuid in registry.checkpoints if uuid in chosen], going


def _announce(command: AnnounceCheckpoint, found: Checkpoint) -> list[Event]:
    if found.state is State.ABSENT:
        return [
            CheckpointAnnounced(
                uuid=command.uuid,
                experiment_id=command.experiment_id,
                trial_id=command.trial_id,
                task_id=command.task_id,
                allocation_id=command.allocation_id,
                storage=command.storage,
            )
        ]
    _check_owner("announce", command, found)
    if found.state in (State.ANNOUNCED, State.COMPLETED):
        return []  # every rank of a sharded upload announces the checkpoint, and a request may be repeated
    raise _refused("announce", command.uuid, found)


def _complete(command: CompleteCheckpoint, found: Checkpoint) -> list[Event]:
    _check_sizes(command.resources)
    if found.state is not State.ABSENT:
        _check_owner("complete", command, found)
    if found.state is State.COMPLETED and dict(found.resources) == command.resources:
        return []
    if found.state not in (State.ABSENT, State.ANNOUNCED):
        raise _refused("complete", command.uuid, found)
    return [
        CheckpointCompleted(
            uuid=command.uuid,
            experiment_id=command.experiment_id,
            trial_id=command.trial_id,
            task_id=command.task_id,
            allocation_id=command.allocation_id,
            run_id=command.run_id,
            steps_completed=command.steps_completed,
            resources=command.resources,
            metadata=command.metadata,
            storage=command.storage,
        )
    ]


def _delete(command: DeleteCheckpoints, uuid: str, registry: Registry, in_use: Uses) -> Sequence[Event]:
    """A deletion that has begun may be requested again: the first request may have failed at a disk that was away."""
    found = registry.get(uuid)
    match found.state:
        case State.ABSENT:
            raise NotFound(f"checkpoint {uuid} not found in experiment {command.experiment_id}")
        case State.ANNOUNCED:
            raise _refused("delete", uuid, found, "wait until it is complete, or delete its experiment")
        case State.DELETED:
            return ()
    _check_free(uuid, in_use)
    return (CheckpointDeletionRequested(uuid, command.reason, command.globs),)


def _check_free(uuid: str, in_use: Uses) -> None:
    if use := in_use.get(uuid):
        raise refuse(f"delete checkpoint {uuid}", use.reason, use.try_this)


def _note(uuid: str, left: dict[str, int], registry: Registry) -> list[Event]:
    _check_sizes(left)
    found = registry.get(uuid)
    match found.state:
        case State.ABSENT:
            raise NotFound(f"checkpoint {uuid} not found")
        case State.ANNOUNCED:
            raise _refused("remove files of", uuid, found, "wait until it is complete")
        case State.DELETED:
            return []
    if all(path.endswith("/") for path in left):
        return [CheckpointDeleted(uuid)]
    same = left == dict(found.resources) and found.state is not State.DELETING
    return [] if same else [CheckpointFilesRemoved(uuid, left)]


def _retain(command: ApplyRetention, registry: Registry, metrics: Metrics, in_use: Uses) -> list[Event]:
    if command.preview or not registry.checkpoints:
        return []
    keeping, going = to_delete(command, registry, metrics, in_use)
    if not going and tuple(keeping) == registry.kept:
        return []
    requests = [CheckpointDeletionRequested(uuid, "retention at the end of its experiment") for uuid in going]
    return [RetentionApplied(command.experiment_id, tuple(keeping), tuple(going)), *requests]


def _use(command: NoteCheckpointUse, registry: Registry) -> list[Event]:
    if command.use not in USES:
        raise InvalidConfig(f"use: expected one of {', '.join(USES)}; found {command.use!r}")
    _whole(registry, command.uuid, "use")
    used = CheckpointUsed(
        uuid=command.uuid,
        trial_id=command.trial_id,
        by=command.by,
        use=command.use,
        model_id=command.model_id,
        model_version=command.model_version,
    )
    return [] if registry.uses.get((command.uuid, command.trial_id)) == used else [used]


def _whole(registry: Registry, uuid: str, what: str) -> Checkpoint:
    found = registry.get(uuid)
    if found.state is State.ABSENT:
        raise NotFound(f"checkpoint {uuid} not found")
    if found.state is State.ANNOUNCED or found.state in _DELETING_OR_DELETED:
        raise _refused(what, uuid, found)
    return found


def _check_owner(what: str, command: AnnounceCheckpoint | CompleteCheckpoint, found: Checkpoint) -> None:
    if command.trial_id != found.trial_id:
        raise refuse(f"{what} checkpoint {command.uuid}", f"it is trial {found.trial_id}'s", "use a uuid of your own")


def _check_sizes(resources: Mapping[str, int]) -> None:
    for path, size in resources.items():
        if size < 0:
            raise InvalidConfig(f"resources.{path}: expected a size in bytes; found {size}")


def _refused(what: str, uuid: str, found: Checkpoint, try_this: str = "") -> Refused:
    hint = f"; {try_this}" if try_this else ""
    return refuse(f"{what} checkpoint {uuid}", f"it is {found.state.name}{hint}")
