"""Whole clusters in all weathers: whatever happens, searches end, and every promise is kept."""

from __future__ import annotations

import os

import pytest

from tests.simulation.stories import tell

SEEDS = range(int(os.environ.get("SIMULATION_SEEDS", "50")))


@pytest.mark.parametrize("seed", SEEDS)
def test_everything_ends_and_every_promise_is_kept(seed: int) -> None:
    try:
        tell(seed)
    except BaseException as error:
        error.add_note(f"the story is told again by: python -m tests.simulation {seed}")
        raise


def test_the_same_seed_tells_the_same_story() -> None:
    once, again = (
        [(recorded.stream, recorded.event, recorded.cause.id, recorded.recorded_at) for recorded in tell(3).events]
        for _ in range(2)
    )
    # The directory that checkpoints are stored in is the host's own, and another one each time.
    assert [entry[0] for entry in once] == [entry[0] for entry in again]
    assert [type(entry[1]) for entry in once] == [type(entry[1]) for entry in again]
    assert [entry[2:] for entry in once] == [entry[2:] for entry in again]
