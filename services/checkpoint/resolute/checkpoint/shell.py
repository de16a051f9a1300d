"""The shell of the checkpoint store: it handles commands and facts, appends decisions, and deletes files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from resolute.checkpoint import experiment_facts, registered, registry
from resolute.checkpoint.decide import Metrics, Uses, decide, to_delete
from resolute.checkpoint.experiment_facts import ExperimentFacts
from resolute.checkpoint.reactions import End, Hold, RemoveFiles, Retain, react
from resolute.checkpoint.registered import Registered
from resolute.checkpoint.registry import Checkpoint, Registry, State
from resolute.eventlog import Appended
from resolute.proto import streams
from resolute.proto.checkpoint import (
    AnnounceCheckpoint,
    ApplyRetention,
    CheckpointClaimed,
    CheckpointCommand,
    CompleteCheckpoint,
    DeleteCheckpoints,
    DeleteExperimentCheckpoints,
    DeleteTensorBoardFiles,
    HoldCheckpoint,
    NoteFilesRemoved,
    RefreshCheckpoints,
    ReleaseCheckpoint,
)
from resolute.proto.errors import NotFound, WrongVersion, refuse
from resolute.proto.message import Cause, Command, Object, Recorded, Reply
from resolute.service import Aggregates, Context, Follower, Reactions, serve_commands
from resolute.storage import StorageManager, check_uuid, choosing, event_files, files_of, open_storage

NAME = "checkpoint"

REACTION_S = 600.0
"""Removing the files of one checkpoint may take longer than other reactions do."""

log_ = structlog.get_logger()


async def serve(context: Context) -> None:
    """Serve until cancelled. Replicas may run beside this one: deleting a file a second time has no effect."""
    store = CheckpointStore(context)
    subscription = await serve_commands(context, NAME, store.handle)
    reactions = Reactions(NAME, context.log, store.react, attempt_lock=context.attempt_lock, limit_s=REACTION_S)
    follower = Follower(reactions, context.log, context.bus)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(follower.run())
            context.on_ready(NAME)
    finally:
        await subscription.close()


class CheckpointStore:
    """Decides about checkpoints, and removes their files in threads. Shares its streams with its replicas; the expected
    versions of appends keep the replicas in agreement."""

    def __init__(self, context: Context, open_storage: Callable[[Object], StorageManager] = open_storage) -> None:
        self._log, self._open, self._cluster_id = context.log, open_storage, context.cluster_id
        self._registries = Aggregates(context.log, Registry, registry.evolve)
        self._experiments = Aggregates(context.log, ExperimentFacts, experiment_facts.evolve)
        self._models = Aggregates(context.log, Registered, registered.evolve)
        self._removals: dict[int, asyncio.Task[None]] = {}
        """By experiment, the removal of all its files that goes on."""

    async def handle(self, command: Command, cause: Cause) -> Reply:
        match command:
            case AnnounceCheckpoint() | CompleteCheckpoint():
                await self._claim(command, cause)
            case RefreshCheckpoints():
                return await self._refresh(command, cause)
            case DeleteTensorBoardFiles(experiment_id=experiment_id):
                await self._remove_event_files(experiment_id)
            case ApplyRetention(preview=True):
                return await self._preview(command)
            case ApplyRetention(experiment_id=experiment_id):
                await self._check_ended(experiment_id)
        if not isinstance(command, CheckpointCommand):
            raise NotFound(f"the checkpoint store does not decide {type(command).__name__}")
        outcome = await self._execute(_experiment_of(command), command, cause)
        if isinstance(command, DeleteExperimentCheckpoints):
            await self._remove_all_once(command, cause)
        return Reply(position=outcome.position)

    async def react(self, recorded: Recorded) -> None:
        todo = react(recorded.event)
        if todo is None:
            return
        experiment_id, cause = int(recorded.key), recorded.cause_of_reactions
        match todo:
            case Retain():
                await self._retain(experiment_id, cause)
            case Hold(uuid=uuid):
                await self._hold(uuid, experiment_id, cause)
            case End():
                await self._retain(experiment_id, cause)
                await self._release_source(experiment_id, cause)
            case RemoveFiles(uuid=uuid, globs=globs):
                await self._remove(experiment_id, uuid, globs, cause)

    async def _retain(self, experiment_id: int, cause: Cause) -> None:
        found = await self._facts_of(experiment_id)
        if found.ended:
            await self._execute(experiment_id, found.retention(experiment_id), cause.then("retain"))

    async def _hold(self, uuid: str, by: int, cause: Cause) -> None:
        owner = await self._owner(uuid)
        if owner is not None and not (await self._facts_of(by)).ended:
            await self._execute(owner, HoldCheckpoint(owner, uuid, by), cause.then("hold"))

    async def _release_source(self, experiment_id: int, cause: Cause) -> None:
        """Releases the checkpoint that the experiment began from. The experiment that owns the checkpoint may have
        ended while it was held; then retention kept it, and has to be applied again."""
        found = await self._facts_of(experiment_id)
        owner = await self._owner(found.source) if found.source and found.ended else None
        if owner is not None and found.source:
            released = ReleaseCheckpoint(owner, found.source, experiment_id)
            outcome = await self._execute(owner, released, cause.then("release"))
            if outcome.events:
                await self._retain(owner, cause.then("source"))

    async def _owner(self, uuid: str) -> int | None:
        """The experiment that owns the checkpoint; None for an unknown UUID."""
        claim = await self._log.read_stream(_claim_stream(uuid))
        return claim[0].event.experiment_id if claim and isinstance(claim[0].event, CheckpointClaimed) else None

    async def _execute(self, experiment_id: int, command: CheckpointCommand, cause: Cause) -> Appended:
        metrics: Metrics = {}
        in_use: Uses = {}
        if isinstance(command, ApplyRetention):
            metrics = (await self._facts_of(experiment_id)).metrics
        if isinstance(command, ApplyRetention | DeleteCheckpoints | DeleteExperimentCheckpoints):
            in_use = await self._in_use()
        return await self._registries.execute(
            _stream(experiment_id), lambda found: decide(command, found, metrics, in_use), cause
        )

    async def _in_use(self) -> Uses:
        return registered.uses(await self._models.state(streams.MODEL_DIRECTORY))

    async def _preview(self, command: ApplyRetention) -> Reply:
        found = await self._registry(command.experiment_id)
        metrics = (await self._facts_of(command.experiment_id)).metrics
        return Reply(data={"deleted": to_delete(command, found, metrics, await self._in_use())[1]})

    async def _check_ended(self, experiment_id: int) -> None:
        if not (await self._facts_of(experiment_id)).ended:
            raise refuse(
                f"apply retention to experiment {experiment_id}",
                "it has not ended, and its trials may still resume",
                "the policy is applied at its end",
            )

    async def _claim(self, command: AnnounceCheckpoint | CompleteCheckpoint, cause: Cause) -> None:
        """A uuid belongs to one experiment for ever, so that a deletion cannot reach the files of another
        experiment."""
        uuid, owner = check_uuid(command.uuid), command.experiment_id
        if (await self._registry(owner)).get(uuid).state is not State.ABSENT:
            return
        stream = _claim_stream(uuid)
        claim = CheckpointClaimed(uuid, owner)
        try:
            await self._log.append(stream, [claim], expected_version=0, cause=cause.then("claim"))
        except WrongVersion:
            first = (await self._log.read_stream(stream))[0].event
            if first != claim:
                raise refuse(
                    f"take {uuid} for a checkpoint of experiment {owner}", "it is taken", "use a uuid of your own"
                ) from None

    async def _remove(self, experiment_id: int, uuid: str, globs: tuple[str, ...], cause: Cause) -> None:
        """The second phase of a deletion. Repeated after a crash, it finds fewer files to remove and records the same
        event."""
        found = (await self._registry(experiment_id)).get(uuid)
        if found.state is State.DELETED:
            return
        left = await asyncio.to_thread(self._open(found.storage).delete, uuid, choosing(globs))
        log_.info("checkpoint files removed", experiment_id=experiment_id, uuid=uuid, files_left=len(left))
        await self._execute(experiment_id, NoteFilesRemoved(experiment_id, uuid, left), cause.then("removed"))

    async def _refresh(self, command: RefreshCheckpoints, cause: Cause) -> Reply:
        """Records which files of the checkpoints are still in the storage. Raises Refused when the storage cannot be
        read: files that cannot be seen must not be recorded as removed."""
        position = 0
        for uuid in command.uuids:
            found = (await self._registry(command.experiment_id)).get(uuid)
            if found.state is State.DELETED:
                continue
            left = await self._files_of(uuid, found)
            note = NoteFilesRemoved(command.experiment_id, uuid, left)
            position = (await self._execute(command.experiment_id, note, cause.then(uuid))).position
        return Reply(position=position)

    async def _files_of(self, uuid: str, found: Checkpoint) -> dict[str, int]:
        if found.state in (State.ABSENT, State.ANNOUNCED):
            return {}  # `decide` refuses the command with the reason
        try:
            return await asyncio.to_thread(_list_files, self._open(found.storage), uuid)
        except OSError as error:
            raise refuse(f"look for the files of checkpoint {uuid}", str(error.strerror)) from error

    async def _remove_all_once(self, command: DeleteExperimentCheckpoints, cause: Cause) -> None:
        """Returns when all files of the experiment are removed. Requests that come meanwhile wait for the same removal,
        which goes on when a request is cancelled.

        Raises Refused, with the checkpoint and the reason, when the storage does not delete a file.
        """
        experiment_id = command.experiment_id
        task = self._removals.get(experiment_id)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._remove_all(command, cause))
            self._removals[experiment_id] = task
            task.add_done_callback(lambda _: self._removals.pop(experiment_id, None))
        await asyncio.shield(task)

    async def _remove_all(self, command: DeleteExperimentCheckpoints, cause: Cause) -> None:
        experiment_id = command.experiment_id
        found = await self._registry(experiment_id)
        where = "its TensorBoard files"
        try:
            for uuid in list(found.present()):
                where = f"checkpoint {uuid}"
                await self._remove(experiment_id, uuid, (), cause.then(uuid))
            where = "its TensorBoard files"
            await self._remove_events_in(
                command.storage or (await self._facts_of(experiment_id)).storage, experiment_id
            )
        except OSError as error:
            raise refuse(f"delete the files of experiment {experiment_id}", f"{where}: {error.strerror}") from error

    async def _remove_event_files(self, experiment_id: int) -> None:
        """Before the deletion is recorded: a crash between the two repeats the removal. Raises Refused when the storage
        does not delete a file."""
        try:
            await self._remove_events_in((await self._facts_of(experiment_id)).storage, experiment_id)
        except OSError as error:
            raise refuse(f"delete the TensorBoard files of experiment {experiment_id}", str(error.strerror)) from error

    async def _remove_events_in(self, storage: Object, experiment_id: int) -> None:
        if storage:
            events = event_files(self._cluster_id, experiment_id)
            await asyncio.to_thread(self._open(storage).remove, events)

    async def _registry(self, experiment_id: int) -> Registry:
        return await self._registries.state(_stream(experiment_id))

    async def _facts_of(self, experiment_id: int) -> ExperimentFacts:
        return await self._experiments.state(streams.EXPERIMENT.stream(experiment_id))


def _list_files(storage: StorageManager, uuid: str) -> dict[str, int]:
    storage.check()
    return files_of(storage, uuid)


def _claim_stream(uuid: str) -> str:
    return streams.CLAIM.stream(uuid.lower())


def _stream(experiment_id: int) -> str:
    return streams.CHECKPOINTS.stream(experiment_id)


def _experiment_of(command: CheckpointCommand) -> int:
    experiment_id: int = getattr(command, "experiment_id")  # noqa: B009  (every command of the store has one)
    return experiment_id
