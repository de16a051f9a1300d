"""What the gateway's rows of checkpoints come to."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.api.checkpoints.projection import CHECKPOINTS, PROJECTION, Checkpoint
from resolute.proto.checkpoint import (
    CheckpointAnnounced,
    CheckpointCompleted,
    CheckpointDeleted,
    CheckpointDeletionRequested,
    CheckpointFilesRemoved,
    CheckpointMetadataChanged,
    RetentionApplied,
)
from resolute.proto.experiment import ExperimentArchived, ExperimentDeleted
from resolute.proto.message import Event
from tests.unit.api.folding import Folding, at, columns

STORAGE = {"type": "shared_fs", "host_path": "/checkpoints"}
FILES = {"model.pt": 4096, "metadata.json": 100}


def announced(uuid: str = "a", experiment_id: int = 7, task_id: str = "7.1") -> CheckpointAnnounced:
    return CheckpointAnnounced(uuid, experiment_id, 1, task_id, f"{task_id}.1", STORAGE)


def completed(task_id: str = "7.1", steps: int = 100) -> CheckpointCompleted:
    return CheckpointCompleted("a", 7, 1, task_id, f"{task_id}.1", 2, steps, FILES, {"framework": "torch"}, STORAGE)


def after(*events: Event) -> Folding:
    folding = Folding(PROJECTION, "checkpoints-7")
    folding.given(*events)
    return folding


def checkpoint(*events: Event) -> Checkpoint:
    return after(*events).row(CHECKPOINTS, "a")


def files(shown: Checkpoint) -> tuple[Any, ...]:
    return columns(shown, "state", "resources", "size_bytes")


def test_an_announced_checkpoint_is_active_and_has_no_files_yet() -> None:
    expected = Checkpoint("a", 7, 1, "7.1", "7.1.1", 0, 0, "ACTIVE", STORAGE, {}, 0, {}, at(1))
    assert checkpoint(announced()) == expected


def test_a_completed_checkpoint_has_its_files_and_their_size() -> None:
    metadata = {"framework": "torch"}
    expected = Checkpoint("a", 7, 1, "7.1", "7.1.1", 2, 100, "COMPLETED", STORAGE, FILES, 4196, metadata, at(2))
    assert checkpoint(announced(), completed()) == expected


def test_a_checkpoint_may_be_completed_without_an_announcement() -> None:
    assert files(checkpoint(completed())) == ("COMPLETED", FILES, 4196)


def test_a_checkpoint_that_is_announced_again_stays_as_it_is() -> None:
    assert checkpoint(completed(), announced()) == checkpoint(completed())


def test_a_checkpoint_that_is_completed_again_stays_that_of_the_task_which_announced_it() -> None:
    again = checkpoint(announced(), completed(), completed(task_id="another", steps=200))
    assert columns(again, "task_id", "allocation_id", "steps_completed") == ("7.1", "7.1.1", 200)
    assert again.reported_at == at(3)


def test_metadata_are_replaced_as_a_whole() -> None:
    assert checkpoint(completed(), CheckpointMetadataChanged("a", {"note": "good"})).metadata == {"note": "good"}


def test_a_checkpoint_that_is_to_be_deleted_counts_as_deleted_at_once() -> None:
    assert files(checkpoint(completed(), CheckpointDeletionRequested("a", "retention"))) == ("DELETED", FILES, 4196)


def test_a_checkpoint_some_of_whose_files_are_to_be_deleted_stays_until_they_are() -> None:
    asked = [completed(), CheckpointDeletionRequested("a", "asked", ("*.pt",))]
    assert checkpoint(*asked).state == "COMPLETED"
    removed = checkpoint(*asked, CheckpointFilesRemoved("a", {"metadata.json": 100}))
    assert files(removed) == ("PARTIALLY_DELETED", {"metadata.json": 100}, 100)


@pytest.mark.parametrize("gone", [CheckpointFilesRemoved("a", {}), CheckpointDeleted("a")])
def test_a_checkpoint_without_files_is_deleted(gone: Event) -> None:
    assert files(checkpoint(completed(), gone)) == ("DELETED", {}, 0)


@pytest.mark.parametrize(
    "event",
    [
        CheckpointMetadataChanged("b", {}),
        CheckpointDeletionRequested("b", "asked"),
        CheckpointFilesRemoved("b", {}),
        CheckpointDeleted("b"),
        RetentionApplied(7, (), ("b",)),
    ],
)
def test_what_is_recorded_of_a_checkpoint_that_nobody_announced_shows_none(event: Event) -> None:
    assert after(event).count() == {"checkpoints": 0}


def test_the_checkpoints_of_a_deleted_experiment_are_gone_and_no_others() -> None:
    folding = after(announced("a"), announced("b"), announced("c", experiment_id=8))
    folding.given(ExperimentArchived(), stream="experiment-7")
    folding.given(ExperimentDeleted(), stream="experiment-7")
    assert [one.uuid for one in folding.all(CHECKPOINTS)] == ["c"]
