"""given / when / then for experiments: events that happened, a message, and what it leads to."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pytest

from resolute.proto.errors import ResoluteError
from resolute.proto.experiment import CreateExperiment, SearcherCommand
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited, AllocationStarted
from resolute.search import user_commands
from resolute.search.decide import Notification, decide
from resolute.search.experiment import Experiment, evolve

SEED = 7
EXPERIMENT = 1


def config(name: str = "single", **changes: Any) -> dict[str, Any]:
    """A merged configuration, as far as the searcher reads it. `changes` go to its `searcher` or its top level."""
    searcher: dict[str, Any] = {"name": name, "metric": "loss", "max_length": {"batches": 100}}
    if name == "random":
        searcher |= {"max_trials": 3, "max_concurrent_trials": 2}
    top = {"max_restarts", "resources", "hyperparameters", "checkpoint_storage", "environment", "preemption_timeout"}
    searcher |= {key: value for key, value in changes.items() if key not in top}
    return {
        "name": "digits",
        "searcher": searcher,
        "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}, "global_batch_size": 32},
        "max_restarts": 1,
        "resources": {"slots_per_trial": 1, "resource_pool": "default"},
        **{key: value for key, value in changes.items() if key in top},
    }


def submission(merged: dict[str, Any], *, activate: bool = True, seed: int = SEED) -> CreateExperiment:
    return CreateExperiment(
        name="digits",
        config=merged,
        original_config="",
        owner_id=1,
        owner="ada",
        project_id=1,
        seed=seed,
        activate=activate,
    )


def created(name: str = "single", *, activate: bool = True, **changes: Any) -> list[Event]:
    """The events of a fresh experiment 1; its trials are 1, 2, 3 …"""
    return user_commands.create(submission(config(name, **changes), activate=activate), EXPERIMENT, itertools.count(1))


def fold(events: list[Event]) -> Experiment:
    return reduce(evolve, events, Experiment())


@dataclass(frozen=True)
class Story:
    """What happened so far; `last` is what the latest message led to."""

    events: tuple[Event, ...]
    last: tuple[Event, ...] = ()

    @property
    def experiment(self) -> Experiment:
        return fold(list(self.events))

    def when(self, message: SearcherCommand | Notification) -> Story:
        experiment = self.experiment
        ids = itertools.count(len(experiment.trials) + 1)
        happened = tuple(decide(message, experiment, ids))
        return replace(self, events=self.events + happened, last=happened)

    def then(self, *expected: Event) -> Story:
        assert list(self.last) == list(expected)
        return self

    def then_kinds(self, *expected: type[Event]) -> Story:
        assert [type(event) for event in self.last] == list(expected)
        return self

    def then_refused(self, message: SearcherCommand, error: type[ResoluteError], match: str) -> Story:
        with pytest.raises(error, match=match):
            self.when(message)
        return self

    def starts(self, trial_id: int) -> Story:
        return self.when(AllocationStarted(self.allocation(trial_id)))

    def exits(self, trial_id: int, outcome: str = "exited", code: int | None = 0, reason: str = "") -> Story:
        return self.when(exited(self.allocation(trial_id), outcome, code, reason))

    def allocation(self, trial_id: int) -> str:
        allocation = self.experiment.trial(trial_id).allocation_id
        assert allocation is not None, f"trial {trial_id} has no run"
        return allocation


def given(events: list[Event]) -> Story:
    return Story(tuple(events))


def exited(allocation: str, outcome: str = "exited", code: int | None = 0, reason: str = "") -> AllocationExited:
    return AllocationExited(allocation, outcome, code, reason, allocation.rpartition(".")[0], EXPERIMENT, 1)
