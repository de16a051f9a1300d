"""Whole clusters in all weathers: whatever happens, searches end, and every promise is kept."""

from __future__ import annotations

import os

import pytest

from tests import arrows
from tests.simulation.scripts import FEATURES, draw
from tests.simulation.stories import tell
from tests.simulation.torture import tell_all

SEEDS = int(os.environ.get("SIMULATION_SEEDS", "120"))
JOBS = 1 if "PYTEST_XDIST_WORKER" in os.environ else 0
"""Processes that tell stories: one for each core, unless other workers run tests beside this one, which need a core."""


@pytest.mark.timeout(1800)
def test_everything_ends_and_every_promise_is_kept() -> None:
    told = list(tell_all(range(SEEDS), jobs=JOBS))
    arrows.WALKED.update(arrow for one in told for arrow in one.arrows)
    failed = sorted((one for one in told if one.failure), key=lambda one: one.seed)
    shown = [f"make sim SEED={one.seed}\n{one.failure}" for one in failed[:3]]
    assert not failed, f"seeds {[one.seed for one in failed]} fail\n" + "\n\n".join(shown)
    assert len(told) == SEEDS


def test_the_same_seed_tells_the_same_story() -> None:
    once, again = (
        [(recorded.stream, recorded.event, recorded.cause.id, recorded.recorded_at) for recorded in tell(3).events]
        for _ in range(2)
    )
    assert once == again


def test_a_story_of_some_seed_has_each_kind_of_trouble_and_some_are_calm() -> None:
    drawn = [draw(seed).features for seed in range(300)]
    assert frozenset().union(*drawn) == frozenset(FEATURES)
    assert frozenset() in drawn or any(len(features) == 1 for features in drawn)
