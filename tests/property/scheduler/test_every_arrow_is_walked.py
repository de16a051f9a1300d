"""The table of an allocation's life holds what can happen, all of it, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest

from resolute.proto.errors import ResoluteError
from resolute.proto.pool import (
    AcknowledgePreemption,
    KillAllocation,
    MarkServing,
    PreemptAllocation,
)
from resolute.scheduling import allocation
from resolute.scheduling.allocation import FLOW, State
from resolute.scheduling.decisions import EnforceDeadlines, ExpireLease, PoolInput
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello, started


def step(story: PoolStory, dice: random.Random, number: int) -> PoolInput:
    """Something that fits the moment more often than not."""
    alive = list(story.pool.allocations.values())
    if not alive or dice.random() < 0.3:
        first: list[PoolInput] = [
            hello("a1"),
            hello("a2"),
            ExpireLease("a2", 30),
            asks(f"t{number}", dice.choice((0, 1, 3, 4, 5))),
        ]
        return dice.choice(first)
    chosen = dice.choice(alive)
    rank = dice.randrange(max(1, len(chosen.shares)))
    wishes: list[PoolInput] = [
        EnforceDeadlines(),
        KillAllocation("default", chosen.id, "killed"),
        PreemptAllocation("default", chosen.id, "paused"),
        AcknowledgePreemption("default", chosen.id),
    ]
    if chosen.shares:
        wishes += [MarkServing("default", chosen.id, list(chosen.shares)[rank])]
        wishes += [started(story, chosen.id, rank), started(story, chosen.id, rank), exited(story, chosen.id, rank)]
    return dice.choice(wishes)


def test_every_arrow_of_the_table_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = set()

    class Watched(dict[Any, Any]):
        def __getitem__(self, arrow: Any) -> Any:
            walked.add(arrow)
            return super().__getitem__(arrow)

    monkeypatch.setattr(allocation, "FLOW", Watched(FLOW))
    story, dice = PoolStory(), random.Random(7)
    for number in range(9000):
        try:
            story.later(7).when(step(story, dice, number))
        except ResoluteError:
            continue
    assert walked == set(FLOW)


def test_nothing_leaves_the_end() -> None:
    assert not [arrow for arrow in FLOW if arrow[0] is State.EXITED]
