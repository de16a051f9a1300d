"""Any script of commands: the registry keeps its promises, and the log tells the same story again."""

from __future__ import annotations

from functools import reduce

import hypothesis.strategies as st
from hypothesis import given

from resolute.checkpoint.decide import decide
from resolute.checkpoint.registry import Registry, State, evolve
from resolute.proto.checkpoint import (
    AnnounceCheckpoint,
    ApplyRetention,
    ChangeCheckpointMetadata,
    CheckpointCommand,
    CompleteCheckpoint,
    DeleteCheckpoints,
    DeleteExperimentCheckpoints,
    NoteCheckpointUse,
    NoteFilesRemoved,
)
from resolute.proto.errors import ResoluteError
from resolute.proto.message import Event

UUIDS = [f"00000000-0000-4000-8000-00000000000{i}" for i in range(4)]
uuids, trials, steps = st.sampled_from(UUIDS), st.integers(1, 2), st.integers(1, 3)
files = st.dictionaries(st.sampled_from(["a", "b", "d/"]), st.integers(0, 2))

commands: st.SearchStrategy[CheckpointCommand] = st.one_of(
    st.builds(AnnounceCheckpoint, uuids, st.just(7), trials, st.just("t"), st.just("a"), st.just({})),
    st.builds(
        CompleteCheckpoint, uuids, st.just(7), trials, st.just("t"), st.just("a"), st.just(1), steps, files,
        st.just({}), st.just({}),
    ),
    st.builds(ChangeCheckpointMetadata, st.just(7), uuids, st.just({"x": 1})),
    st.builds(DeleteCheckpoints, st.just(7), st.lists(uuids, max_size=2).map(tuple), st.just("asked")),
    st.builds(NoteFilesRemoved, st.just(7), uuids, files),
    st.builds(ApplyRetention, st.just(7), st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)),
    st.builds(NoteCheckpointUse, st.just(7), uuids, trials, st.just(8), st.sampled_from(["INFERENCE", "FINE_TUNING"])),
    st.just(DeleteExperimentCheckpoints(7)),
)  # fmt: skip


def lived(script: list[CheckpointCommand]) -> tuple[Registry, list[Event]]:
    registry, log = Registry(), []
    for command in script:
        try:
            events = decide(command, registry, {(1, 1): 0.5, (1, 2): None})
        except ResoluteError:
            continue
        registry = reduce(evolve, events, registry)
        log += events
    return registry, log


@given(st.lists(commands, max_size=30))
def test_the_log_tells_the_same_story_again(script: list[CheckpointCommand]) -> None:
    registry, log = lived(script)
    assert reduce(evolve, log, Registry()) == registry


@given(st.lists(commands, max_size=30))
def test_only_whole_checkpoints_are_offered_and_only_the_deleted_have_no_files(
    script: list[CheckpointCommand],
) -> None:
    registry, _ = lived(script)
    offered = {candidate.uuid for candidate in registry.candidates({})}
    assert offered == {uuid for uuid, found in registry.checkpoints.items() if found.state is State.COMPLETED}
    assert set(registry.present()).isdisjoint(u for u, f in registry.checkpoints.items() if f.state is State.DELETED)


@given(st.lists(commands, max_size=30))
def test_a_deleted_checkpoint_stays_deleted(script: list[CheckpointCommand]) -> None:
    registry, log = Registry(), list(lived(script)[1])
    deleted: set[str] = set()
    for event in log:
        registry = evolve(registry, event)
        deleted |= {uuid for uuid, found in registry.checkpoints.items() if found.state is State.DELETED}
        assert all(registry.get(uuid).state is State.DELETED for uuid in deleted)
