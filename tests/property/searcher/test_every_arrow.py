"""The tables of transitions hold no arrow that nothing walks: long walks meet them all."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from resolute.proto.experiment import (
    TrialArchived,
    TrialLogRemoved,
    TrialLogRetentionSet,
    TrialMetadataChanged,
    TrialUnarchived,
)
from resolute.proto.message import Event
from resolute.proto.states import TrialState
from resolute.search import experiment, methods, trial
from resolute.search.experiment import Experiment
from resolute.search.flow import arrow
from tests.property.searcher.walks import PickySearch, Walk

BESIDE_ITS_LIFE = (TrialArchived, TrialUnarchived, TrialLogRetentionSet, TrialLogRemoved, TrialMetadataChanged)
"""What happens to the lines, to the metadata and to the place in lists of a trial, which changes no state of its."""

WALKS = 700
STEPS = 60


def walked(events: list[Event]) -> Iterator[Any]:
    """Every arrow that the events take, through the experiment's table and through its trials'."""
    state = Experiment()
    for event in events:
        yield arrow(experiment.FLOW, state.state, event)
        trial_id = getattr(event, "trial_id", None)
        if trial_id is not None and not isinstance(event, BESIDE_ITS_LIFE):
            before = state.trials[trial_id].state if trial_id in state.trials else TrialState.ABSENT
            yield arrow(trial.FLOW, before, event)
        experiment.evolve(state, event)


@pytest.fixture(scope="module")
def met() -> set[Any]:
    found: set[Any] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "METHODS", {**methods.METHODS, "picky": PickySearch})
        for seed in range(WALKS):
            rng = Random(seed)
            walk = Walk(
                rng.choice(["single", "random", "picky", "picky", "custom", "custom", "async_halving"]),
                rng.random() < 0.8,
            )
            for _ in range(STEPS):
                walk.take(rng.randrange(10_000))
            found.update(walked(walk.events))
    return found


@pytest.mark.parametrize("table", [experiment.FLOW, trial.FLOW], ids=["experiment", "trial"])
def test_every_arrow_is_walked(table: dict[Any, Any], met: set[Any]) -> None:
    missing = sorted(" ".join(getattr(part, "__name__", None) or str(part) for part in key) for key in set(table) - met)
    assert missing == []


@pytest.mark.parametrize("table", [experiment.FLOW, trial.FLOW], ids=["experiment", "trial"])
def test_every_state_is_reached(table: dict[Any, Any]) -> None:
    reached = set(table.values())
    assert {state.name for state in type(next(iter(reached)))} - {state.name for state in reached} == {"ABSENT"}
