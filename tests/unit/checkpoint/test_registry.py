"""The checkpoints of an experiment: given what happened, when something is asked, then this follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import pytest

from resolute.checkpoint.decide import decide
from resolute.checkpoint.registry import FLOW, Registry, State, evolve
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
    CheckpointMetadataChanged,
    CheckpointUsed,
    CompleteCheckpoint,
    DeleteCheckpoints,
    DeleteExperimentCheckpoints,
    NoteCheckpointUse,
    NoteFilesRemoved,
    RetentionApplied,
)
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.message import Event

A, B, C = (f"00000000-0000-4000-8000-00000000000{i}" for i in "abc")
STORAGE = {"type": "shared_fs", "host_path": "/shared"}
FILES = {"weights.pt": 8}


def announced(uuid: str = A, trial: int = 1) -> CheckpointAnnounced:
    return CheckpointAnnounced(uuid, 7, trial, f"7.{trial}", f"7.{trial}.1", STORAGE)


def completed(uuid: str = A, trial: int = 1, steps: int = 100) -> CheckpointCompleted:
    return CheckpointCompleted(uuid, 7, trial, f"7.{trial}", f"7.{trial}.1", 1, steps, FILES, {"n": 1}, STORAGE)


ANNOUNCE = AnnounceCheckpoint(A, 7, 1, "7.1", "7.1.1", STORAGE)
COMPLETE = CompleteCheckpoint(A, 7, 1, "7.1", "7.1.1", 1, 100, FILES, {"n": 1}, STORAGE)
REQUESTED = CheckpointDeletionRequested(A, "asked")


@dataclass(frozen=True)
class Asked:
    history: tuple[Event, ...]
    command: CheckpointCommand
    metrics: Mapping[tuple[int, int], float | None]

    def _decide(self) -> list[Event]:
        return decide(self.command, reduce(evolve, self.history, Registry()), self.metrics)

    def then(self, *events: Event) -> None:
        assert self._decide() == list(events)
        reduce(evolve, (*self.history, *events), Registry())  # and the story goes on

    def then_raises(self, kind: type[Exception], match: str) -> None:
        with pytest.raises(kind, match=match):
            self._decide()


@dataclass(frozen=True)
class Given:
    history: tuple[Event, ...]

    def when(self, command: CheckpointCommand, metrics: Mapping[tuple[int, int], float | None] | None = None) -> Asked:
        return Asked(self.history, command, metrics or {})


def given(*history: Event) -> Given:
    return Given(history)


def test_a_checkpoint_is_announced_once_however_many_ranks_say_so() -> None:
    given().when(ANNOUNCE).then(announced())
    given(announced()).when(ANNOUNCE).then()


def test_a_checkpoint_is_complete_after_its_last_byte() -> None:
    given(announced()).when(COMPLETE).then(completed())
    given(announced(), completed()).when(COMPLETE).then()


def test_a_client_that_never_announces_may_complete() -> None:
    given().when(COMPLETE).then(completed())


def test_a_checkpoint_is_not_completed_twice_with_other_files() -> None:
    other = replace(COMPLETE, resources={"weights.pt": 9})
    given(completed()).when(other).then_raises(Refused, f"cannot complete checkpoint {A}: it is COMPLETED")


def test_a_trial_cannot_take_over_the_checkpoint_of_another() -> None:
    given(announced(trial=2)).when(ANNOUNCE).then_raises(Refused, "it is trial 2's; use a uuid of your own")
    given(announced(trial=2)).when(COMPLETE).then_raises(Refused, "it is trial 2's")


def test_nothing_brings_a_deleted_checkpoint_back() -> None:
    gone = given(completed(), REQUESTED, CheckpointDeleted(A))
    gone.when(ANNOUNCE).then_raises(Refused, "it is DELETED")
    gone.when(COMPLETE).then_raises(Refused, "it is DELETED")


def test_a_size_below_nothing_is_refused_with_its_path() -> None:
    given().when(replace(COMPLETE, resources={"a": -1})).then_raises(InvalidConfig, r"resources\.a: expected a size")


def test_metadata_change_on_a_whole_checkpoint_only() -> None:
    change = ChangeCheckpointMetadata(7, A, {"n": 2})
    given(completed()).when(change).then(CheckpointMetadataChanged(A, {"n": 2}))
    given(completed()).when(replace(change, metadata={"n": 1})).then()
    given(announced()).when(change).then_raises(Refused, "cannot change the metadata of .* it is ANNOUNCED")
    given().when(change).then_raises(NotFound, "not found")


def test_the_use_of_a_checkpoint_is_noted_when_it_is_new() -> None:
    use = NoteCheckpointUse(7, A, 3, 8, "INFERENCE")
    used = CheckpointUsed(A, 3, 8, "INFERENCE")
    given(completed()).when(use).then(used)
    given(completed(), used).when(use).then()
    other = replace(use, use="FINE_TUNING", model_id=1, model_version=2)
    given(completed(), used).when(other).then(CheckpointUsed(A, 3, 8, "FINE_TUNING", 1, 2))
    given(completed(), CheckpointFilesRemoved(A, FILES)).when(use).then(used)


def test_only_a_whole_checkpoint_is_used_and_only_for_what_is_known() -> None:
    use = NoteCheckpointUse(7, A, 3, 8, "INFERENCE")
    given(announced()).when(use).then_raises(Refused, "cannot use checkpoint .* it is ANNOUNCED")
    given(completed(), REQUESTED).when(use).then_raises(Refused, "it is DELETING")
    given().when(use).then_raises(NotFound, "not found")
    given(completed()).when(replace(use, use="LUNCH")).then_raises(InvalidConfig, "use: expected one of INFERENCE")


def test_deleting_asks_first_and_is_confirmed_when_the_files_are_gone() -> None:
    given(completed()).when(DeleteCheckpoints(7, (A,), "asked")).then(REQUESTED)
    given(completed(), REQUESTED).when(NoteFilesRemoved(7, A, {})).then(CheckpointDeleted(A))
    given(completed(), REQUESTED, CheckpointDeleted(A)).when(NoteFilesRemoved(7, A, {})).then()


def test_deleting_may_be_asked_for_again_while_it_is_under_way() -> None:
    given(completed(), REQUESTED).when(DeleteCheckpoints(7, (A, A), "again")).then(
        CheckpointDeletionRequested(A, "again")
    )
    given(completed(), REQUESTED, CheckpointDeleted(A)).when(DeleteCheckpoints(7, (A,), "again")).then()


def test_deleting_several_refuses_all_when_one_is_unknown() -> None:
    given(completed()).when(DeleteCheckpoints(7, (A, B), "asked")).then_raises(NotFound, f"checkpoint {B} not found")


def test_a_checkpoint_that_is_being_written_is_not_deleted() -> None:
    given(announced()).when(DeleteCheckpoints(7, (A,), "asked")).then_raises(Refused, "wait until it is complete")


def test_removing_some_files_leaves_a_checkpoint_that_is_not_offered() -> None:
    history = (completed(), CheckpointDeletionRequested(A, "asked", ("*.pt",)))
    left = {"sub/": 0, "notes.txt": 1}
    given(*history).when(NoteFilesRemoved(7, A, left)).then(CheckpointFilesRemoved(A, left))
    registry = reduce(evolve, (*history, CheckpointFilesRemoved(A, left)), Registry())
    assert registry.get(A).state is State.PARTIAL
    assert registry.candidates({}) == []


def test_what_is_left_of_a_checkpoint_may_lose_more_files_until_none_is_left() -> None:
    two = {"weights.pt": 8, "notes.txt": 1}
    history = (completed(), CheckpointFilesRemoved(A, two))
    given(*history).when(NoteFilesRemoved(7, A, FILES)).then(CheckpointFilesRemoved(A, FILES))
    given(*history, CheckpointFilesRemoved(A, FILES)).when(NoteFilesRemoved(7, A, {})).then(CheckpointDeleted(A))


@pytest.mark.parametrize("before", [(), (CheckpointFilesRemoved(A, {"notes.txt": 1}),)])
def test_a_checkpoint_whose_last_file_goes_without_being_asked_for_is_deleted(before: tuple[Event, ...]) -> None:
    given(completed(), *before).when(NoteFilesRemoved(7, A, {})).then(CheckpointDeleted(A))
    registry = reduce(evolve, (completed(), *before, CheckpointDeleted(A)), Registry())
    assert registry.get(A).state is State.DELETED
    assert registry.candidates({}) == []


def test_empty_directories_are_not_files() -> None:
    given(completed(), REQUESTED).when(NoteFilesRemoved(7, A, {"sub/": 0})).then(CheckpointDeleted(A))


def test_a_removal_that_removed_nothing_ends_the_request() -> None:
    given(completed(), REQUESTED).when(NoteFilesRemoved(7, A, FILES)).then(CheckpointFilesRemoved(A, FILES))
    given(completed()).when(NoteFilesRemoved(7, A, FILES)).then()


def test_retention_keeps_best_and_latest_and_lets_the_rest_and_the_cut_off_go() -> None:
    cut_off = "00000000-0000-4000-8000-00000000000d"
    given(completed(A, steps=100), completed(B, steps=200), completed(C, steps=300), announced(cut_off)).when(
        ApplyRetention(7, 0, 1, 1), {(1, 100): 0.1, (1, 200): 0.2}
    ).then(
        RetentionApplied(7, (A, C), (B, cut_off)),
        CheckpointDeletionRequested(B, "retention at the end of its experiment"),
        CheckpointDeletionRequested(cut_off, "retention at the end of its experiment"),
    )


def test_retention_leaves_alone_what_is_gone_or_going() -> None:
    history = (completed(A), REQUESTED, completed(B), CheckpointDeletionRequested(B, "asked"), CheckpointDeleted(B))
    given(*history).when(ApplyRetention(7, 0, 0, 0)).then(RetentionApplied(7, (), ()))


def test_retention_that_changes_nothing_is_not_told_twice() -> None:
    history = (completed(A), RetentionApplied(7, (A,), ()))
    given(*history).when(ApplyRetention(7, 0, 1, 1)).then()
    given(*history, completed(B, steps=200)).when(ApplyRetention(7, 0, 0, 2)).then(RetentionApplied(7, (A, B), ()))


def test_retention_of_nothing_is_nothing() -> None:
    given().when(ApplyRetention(7, 0, 1, 1)).then()


def test_with_its_experiment_everything_goes() -> None:
    given(completed(A), announced(B), completed(C), CheckpointDeletionRequested(C, "x"), CheckpointDeleted(C)).when(
        DeleteExperimentCheckpoints(7)
    ).then(
        CheckpointDeletionRequested(A, "its experiment is deleted"),
        CheckpointDeletionRequested(B, "its experiment is deleted"),
    )


def test_a_completion_that_lost_the_race_with_deletion_is_refused() -> None:
    given(announced(), REQUESTED).when(COMPLETE).then_raises(Refused, "it is DELETING")


def test_no_arrow_leads_out_of_deleted() -> None:
    assert all(state is not State.DELETED for state, _ in FLOW)
    assert set(FLOW.values()) | {State.ABSENT} == set(State)
