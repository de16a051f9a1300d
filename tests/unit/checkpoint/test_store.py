"""The checkpoint store over a log in memory and files on disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from determined.common.storage import Choice
from resolute.bus.memory import MemoryBus
from resolute.checkpoint.shell import CheckpointStore
from resolute.eventlog.memory import MemoryEventLog
from resolute.proto.checkpoint import (
    AnnounceCheckpoint,
    ApplyRetention,
    CheckpointDeleted,
    CheckpointFilesRemoved,
    CheckpointHeld,
    CheckpointReleased,
    CompleteCheckpoint,
    DeleteCheckpoints,
    DeleteExperimentCheckpoints,
    DeleteTensorBoardFiles,
    RefreshCheckpoints,
    RetentionApplied,
    TensorBoardFilesDeleted,
)
from resolute.proto.errors import InvalidConfig, Refused
from resolute.proto.experiment import (
    ExperimentContinued,
    ExperimentCreated,
    ExperimentEdited,
    ExperimentEnded,
    TrialValidated,
)
from resolute.proto.message import Cause, Command, Event, Object, Reply
from resolute.service import Context
from resolute.storage import StorageManager, open_storage
from resolute.storage.memory import MemoryStorage

A, B, C = (f"00000000-0000-4000-8000-00000000000{i}" for i in "abc")


class Cluster:
    """One store, its log, and a shared directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.storage: Object = {"type": "shared_fs", "host_path": str(root), "storage_path": "ckpt"}
        self.log = MemoryEventLog()
        self.store = self.started()
        self._ids, self._handled, self._versions = count(), 0, 0

    def started(self, opened: StorageManager | None = None) -> CheckpointStore:
        context = Context(self.log, MemoryBus())
        return CheckpointStore(context, (lambda section: opened) if opened else open_storage)

    async def ask(self, command: Command, cause: str | None = None) -> Reply:
        return await self.store.handle(command, Cause(cause or f"command-{next(self._ids)}"))

    async def tell(self, *events: Event) -> None:
        """Facts of experiment 7."""
        await self.log.append(
            "experiment-7", events, expected_version=self._versions, cause=Cause(f"fact-{next(self._ids)}")
        )
        self._versions += len(events)

    async def catch_up(self) -> None:
        """React to everything there is, including what the reactions themselves wrote."""
        while batch := await self.log.read_all(self._handled):
            for recorded in batch:
                await self.store.react(recorded)
                self._handled = recorded.position

    async def saved(self, uuid: str, *, trial: int = 1, steps: int = 1, experiment: int = 7) -> None:
        place = self.folder(uuid)
        place.mkdir(parents=True)
        (place / "weights.pt").write_text("w")
        (place / "notes.txt").write_text("n")
        files = {"weights.pt": 1, "notes.txt": 1}
        task = f"{experiment}.{trial}"
        await self.ask(
            CompleteCheckpoint(uuid, experiment, trial, task, f"{task}.1", 1, steps, files, {}, self.storage)
        )

    def folder(self, uuid: str) -> Path:
        return self.root / "ckpt" / uuid

    async def events(self, kind: type[Event]) -> list[Event]:
        return [recorded.event for recorded in await self.log.read_all(0) if isinstance(recorded.event, kind)]


@pytest.fixture
async def cluster(tmp_path: Path) -> Cluster:
    cluster = Cluster(tmp_path)
    searcher = {"name": "single", "metric": "loss", "smaller_is_better": True}
    config = {"searcher": searcher, "checkpoint_storage": {**cluster.storage, "save_trial_best": 1}}
    await cluster.tell(ExperimentCreated(7, "job", "name", config, "", 1, "ann", 1, 0))
    return cluster


async def test_at_the_end_of_an_experiment_the_policy_decides_which_files_stay(cluster: Cluster) -> None:
    for steps, uuid in enumerate((A, B, C), start=1):
        await cluster.saved(uuid, steps=steps)
        await cluster.tell(TrialValidated(1, 1, steps, float(steps)))
    await cluster.catch_up()
    assert all(cluster.folder(uuid).exists() for uuid in (A, B, C))
    await cluster.tell(ExperimentEnded("COMPLETED", ""))
    await cluster.catch_up()
    assert await cluster.events(RetentionApplied) == [RetentionApplied(7, (A, C), (B,))]
    assert await cluster.events(CheckpointDeleted) == [CheckpointDeleted(B)]
    assert [cluster.folder(uuid).exists() for uuid in (A, B, C)] == [True, False, True]


async def test_a_stricter_policy_after_the_end_takes_effect_at_once(cluster: Cluster) -> None:
    await cluster.saved(A)
    await cluster.tell(ExperimentEnded("COMPLETED", ""))
    await cluster.catch_up()
    assert cluster.folder(A).exists()
    await cluster.tell(ExperimentEdited({"save_trial_latest": 0, "save_trial_best": 0}))
    await cluster.catch_up()
    assert not cluster.folder(A).exists()


async def test_what_a_policy_would_delete_can_be_asked_without_deleting(cluster: Cluster) -> None:
    await cluster.saved(A)
    reply = await cluster.ask(ApplyRetention(7, 0, 0, 0, preview=True))
    assert reply.data == {"deleted": [A]}
    assert cluster.folder(A).exists()
    with pytest.raises(Refused, match="it has not ended"):
        await cluster.ask(ApplyRetention(7, 0, 0, 0))


async def test_globs_remove_some_files_and_the_rest_is_listed(cluster: Cluster) -> None:
    await cluster.saved(A)
    await cluster.ask(DeleteCheckpoints(7, (A,), "asked", ("*.txt",)))
    await cluster.catch_up()
    assert [file.name for file in cluster.folder(A).iterdir()] == ["weights.pt"]
    assert await cluster.events(CheckpointDeleted) == []


async def test_files_that_somebody_else_removed_are_noticed_when_one_asks_to_look(cluster: Cluster) -> None:
    for uuid in (A, B, C):
        await cluster.saved(uuid)
    (cluster.folder(A) / "notes.txt").unlink()
    shutil.rmtree(cluster.folder(B))
    await cluster.ask(RefreshCheckpoints(7, (A, B, C)))
    assert await cluster.events(CheckpointFilesRemoved) == [CheckpointFilesRemoved(A, {"weights.pt": 1})]
    assert await cluster.events(CheckpointDeleted) == [CheckpointDeleted(B)]
    await cluster.ask(RefreshCheckpoints(7, (A, B, C)))
    assert len(await cluster.events(CheckpointFilesRemoved)) == 1, "what is known already is not told again"


async def test_a_storage_that_is_not_mounted_takes_no_checkpoint_away(cluster: Cluster) -> None:
    await cluster.saved(A)
    losses: list[Callable[[], None]] = [
        lambda: shutil.rmtree(cluster.folder(A)),
        lambda: cluster.folder(A).parent.rmdir(),
    ]
    for away in losses:
        away()
        with pytest.raises(Refused, match=f"cannot look for the files of checkpoint {A}"):
            await cluster.ask(RefreshCheckpoints(7, (A,)))
    assert await cluster.events(CheckpointDeleted) == []


async def test_a_crash_between_files_and_confirmation_repeats_harmlessly(cluster: Cluster) -> None:
    await cluster.saved(A)
    await cluster.ask(DeleteCheckpoints(7, (A,), "asked"))
    open_storage(cluster.storage).delete(A)  # the files went, and the store died before it could say so
    cluster.store = cluster.started()
    await cluster.catch_up()
    cluster._handled = 0  # and once more, having lost its position
    await cluster.catch_up()
    assert await cluster.events(CheckpointDeleted) == [CheckpointDeleted(A)]


async def test_with_its_experiment_go_checkpoints_cut_off_uploads_and_event_files(cluster: Cluster) -> None:
    await cluster.saved(A)
    cluster.folder(B).mkdir()
    await cluster.ask(AnnounceCheckpoint(B, 7, 1, "7.1", "7.1.1", cluster.storage))
    events = cluster.root / "ckpt" / "simulated" / "tensorboard" / "experiment" / "7"
    events.mkdir(parents=True)
    await cluster.ask(DeleteExperimentCheckpoints(7, cluster.storage), cause="delete")
    assert not cluster.folder(A).exists()
    assert not cluster.folder(B).exists()
    assert not events.exists()
    before = await cluster.log.head()
    await cluster.ask(DeleteExperimentCheckpoints(7, cluster.storage), cause="delete")
    await cluster.catch_up()
    assert await cluster.log.head() == before


async def test_an_experiment_without_checkpoints_is_deleted_at_once(cluster: Cluster) -> None:
    await cluster.ask(DeleteExperimentCheckpoints(7, cluster.storage))


class Stuck(MemoryStorage):
    """A disk that does not let go."""

    def delete(self, storage_id: str, choose: Choice | None = None) -> dict[str, int]:
        raise PermissionError(13, "Permission denied")


async def test_a_storage_that_does_not_let_go_is_told_and_may_be_asked_again(cluster: Cluster) -> None:
    await cluster.saved(A)
    cluster.store = cluster.started(Stuck())
    with pytest.raises(Refused, match=f"experiment 7: checkpoint {A}: Permission denied"):
        await cluster.ask(DeleteExperimentCheckpoints(7, cluster.storage))
    cluster.store = cluster.started()
    await cluster.ask(DeleteExperimentCheckpoints(7, cluster.storage))
    assert not cluster.folder(A).exists()


async def test_a_uuid_of_another_experiment_cannot_be_taken(cluster: Cluster) -> None:
    await cluster.saved(A)
    announce = AnnounceCheckpoint(A, 8, 9, "8.9", "8.9.1", cluster.storage)
    for attempt in (announce, replace(announce, uuid=A.upper())):
        with pytest.raises(Refused, match="it is taken; use a uuid of your own"):
            await cluster.ask(attempt)
    await cluster.ask(DeleteExperimentCheckpoints(8, cluster.storage))
    assert cluster.folder(A).exists()


async def test_a_repeated_completion_is_told_the_same(cluster: Cluster) -> None:
    complete = CompleteCheckpoint(A, 7, 1, "7.1", "7.1.1", 1, 5, {"w": 1}, {}, cluster.storage)
    first = await cluster.ask(complete, cause="same")
    assert await cluster.ask(complete, cause="same") == first
    assert (await cluster.ask(complete)).position == 0


@pytest.mark.parametrize("uuid", ["../../etc", "", "x" * 36])
async def test_only_a_uuid_names_a_checkpoint(cluster: Cluster, uuid: str) -> None:
    with pytest.raises(InvalidConfig, match="uuid: expected"):
        await cluster.ask(AnnounceCheckpoint(uuid, 7, 1, "7.1", "7.1.1", cluster.storage))


def beginning_from(uuid: str, **more: Any) -> ExperimentCreated:
    """Experiment 8, whose trials begin from a checkpoint of experiment 7."""
    searcher = {"name": "single", "metric": "loss", "source_checkpoint_uuid": uuid}
    return ExperimentCreated(8, "job-8", "fork", {"searcher": searcher}, "", 1, "ann", 1, 0, **more)


async def tell_of_8(cluster: Cluster, *events: Event) -> None:
    version = len(await cluster.log.read_stream("experiment-8"))
    await cluster.log.append("experiment-8", events, expected_version=version, cause=Cause(f"eight-{version}"))
    await cluster.catch_up()


async def test_what_another_experiment_begins_from_stays_until_that_has_ended(cluster: Cluster) -> None:
    for steps, uuid in enumerate((A, B, C), start=1):
        await cluster.saved(uuid, steps=steps)
    await tell_of_8(cluster, beginning_from(A))
    await cluster.tell(ExperimentEnded("COMPLETED", ""))
    await cluster.catch_up()
    assert [cluster.folder(uuid).exists() for uuid in (A, B, C)] == [True, False, True]
    with pytest.raises(Refused, match="trials of experiment 8 begin from it; wait until that has ended"):
        await cluster.ask(DeleteCheckpoints(7, (A,), "asked"))
    with pytest.raises(Refused, match="trials of experiment 8 begin from it"):
        await cluster.ask(DeleteExperimentCheckpoints(7, cluster.storage))
    await tell_of_8(cluster, ExperimentEnded("COMPLETED", ""))
    assert [cluster.folder(uuid).exists() for uuid in (A, B, C)] == [False, False, True]


async def test_it_is_held_again_when_the_one_that_began_there_is_continued(cluster: Cluster) -> None:
    await cluster.saved(A)
    begun = beginning_from(A)
    await tell_of_8(cluster, begun, ExperimentEnded("ERROR", ""))
    assert await cluster.events(CheckpointHeld) == []  # it was over before anybody looked
    await tell_of_8(cluster, ExperimentContinued(begun.config, (1,)))
    assert await cluster.events(CheckpointHeld) == [CheckpointHeld(A, 8)]
    await tell_of_8(cluster, ExperimentEnded("COMPLETED", ""))
    assert await cluster.events(CheckpointReleased) == [CheckpointReleased(A, 8)]
    await cluster.ask(DeleteCheckpoints(7, (A,), "asked"))


async def test_one_that_runs_elsewhere_holds_nothing_since_it_may_never_say_that_it_ended(cluster: Cluster) -> None:
    await cluster.saved(A)
    await tell_of_8(cluster, beginning_from(A, unmanaged=True))
    await tell_of_8(cluster, ExperimentContinued({}, ()))
    assert await cluster.events(CheckpointHeld) == []


async def test_an_experiment_that_goes_on_keeps_what_its_trials_may_resume_from(cluster: Cluster) -> None:
    await cluster.tell(ExperimentEnded("ERROR", ""), ExperimentContinued({"checkpoint_storage": {}}, (1,)))
    for steps, uuid in enumerate((A, B, C), start=1):
        await cluster.saved(uuid, steps=steps)
    await cluster.catch_up()
    assert await cluster.events(RetentionApplied) == []
    await cluster.tell(ExperimentEnded("COMPLETED", ""))
    await cluster.catch_up()
    assert [cluster.folder(uuid).exists() for uuid in (A, B, C)] == [False, False, True]


class Fixed(MemoryStorage):
    """A disk that does not let go of what lies beside the checkpoints."""

    def remove(self, target: str) -> None:
        raise PermissionError(13, "Permission denied")


async def test_the_tensorboard_files_of_an_experiment_go_alone(cluster: Cluster) -> None:
    await cluster.saved(A)
    folder = cluster.root / "ckpt" / "simulated" / "tensorboard" / "experiment"
    for one in ("7", "8"):
        (folder / one).mkdir(parents=True)
        (folder / one / "events").write_text("e")
    await cluster.ask(DeleteTensorBoardFiles(7), cause="asked")
    await cluster.ask(DeleteTensorBoardFiles(7), cause="asked")
    assert await cluster.events(TensorBoardFilesDeleted) == [TensorBoardFilesDeleted(7)]
    assert [one.name for one in folder.iterdir()] == ["8"]
    assert cluster.folder(A).exists()


async def test_a_storage_that_keeps_the_tensorboard_files_is_named_and_nothing_is_recorded(cluster: Cluster) -> None:
    cluster.store = cluster.started(Fixed())
    with pytest.raises(Refused, match="TensorBoard files of experiment 7: Permission denied"):
        await cluster.ask(DeleteTensorBoardFiles(7))
    assert await cluster.events(TensorBoardFilesDeleted) == []
