"""Searches of every method in every dialect, and a player that runs their trials in its imagination."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from resolute.proto.experiment import (
    SearchOperationsPosted,
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialTargetReached,
    TrialValidated,
)
from resolute.search.methods import (
    CreateTrial,
    Operation,
    SearchEvent,
    SearchMethod,
    Shutdown,
    StopTrial,
    TrainTo,
    Wait,
    method_for,
)
from resolute.search.settings import Settings
from tests.unit.searcher.story import config

MAX_TRIALS = 12
LENGTH = 64
_SAMPLED = {"max_trials": MAX_TRIALS, "max_concurrent_trials": 3}
_TIMED = {**_SAMPLED, "max_length": None, "time_metric": "epochs", "max_time": LENGTH}
_HALVING = {**_SAMPLED, "max_length": {"batches": LENGTH}, "divisor": 2}
_GRID = {
    "a": {"type": "int", "minval": 1, "maxval": 3, "count": 9},
    "lr": {"x": {"type": "categorical", "vals": [1, 2, 3, 4]}},
}

SEARCHES: Mapping[str, dict[str, Any]] = {
    "single": config("single"),
    "random": config("random", **_SAMPLED),
    "grid": config("grid", max_concurrent_trials=3, hyperparameters=_GRID),
    "async_halving promoting": config("async_halving", **_HALVING, num_rungs=4),
    "async_halving stopping": config("async_halving", **_HALVING, num_rungs=4, stop_once=True),
    "async_halving by time": config("async_halving", **_TIMED, divisor=2, num_rungs=4),
    "adaptive_asha aggressive": config("adaptive_asha", **_HALVING, mode="aggressive"),
    "adaptive_asha standard": config("adaptive_asha", **_HALVING, mode="standard"),
    "adaptive_asha conservative": config("adaptive_asha", **_HALVING, mode="conservative"),
    "adaptive_asha stopping": config("adaptive_asha", **_HALVING, mode="conservative", stop_once=True),
    "adaptive_asha by time": config("adaptive_asha", **_TIMED, divisor=2),
    "custom": config("custom", max_length=None),
}
SAMPLED = [name for name in SEARCHES if name not in ("grid", "custom")]
"""Those that draw points of the space."""


def a_search(name: str, seed: int = 7) -> SearchMethod:
    return method_for(Settings.of(SEARCHES[name]), seed)


@dataclass
class Imagined:
    """A trial in the player's imagination. `came_to` is its length, or its time."""

    trial_id: int
    target: int | None
    came_to: int = 0
    waiting: bool = False
    stopped: bool = False


class Player:
    """Plays a search: tells it what happens, carries out what it asks for. `rng` decides whose turn it is.

    A trial that is told to stop does so when its turn comes, not at once; what it reports until then is told too.
    """

    def __init__(self, method: SearchMethod, rng: Random, *, checks: bool = True) -> None:
        self.method, self.rng, self.checks = method, rng, checks
        self.open: dict[int, Imagined] = {}
        self.history: list[tuple[SearchEvent, list[Operation]]] = []
        self.operations: list[Operation] = []
        self.over: Shutdown | None = None
        self._ids = itertools.count(1)
        self.carry_out(method.start())

    @property
    def at_work(self) -> list[Imagined]:
        return [one for one in self.open.values() if not one.waiting or one.stopped]

    def run(self, end: Callable[[], str], until: int = 10_000) -> None:
        """Each turn a trial trains as far as it was told, or ends as `end` says: `REACHED` to go on instead."""
        for _ in range(until):
            if self.over or not (at_work := self.at_work):
                return
            self.turn(self.rng.choice(at_work), end(), self.rng.random())

    def turn(self, one: Imagined, end: str, metric: float | None) -> None:
        if one.stopped and end == "REACHED":
            self.end(one.trial_id, "COMPLETED")
        elif end != "REACHED":
            self.end(one.trial_id, end)
        elif one.target is None:
            self.passes(one, one.came_to + 1 + self.rng.randrange(LENGTH // 4), metric)
        else:
            self.reaches(one, metric)

    def passes(self, one: Imagined, time: int, metric: float | None) -> None:
        """It reports, and ends by itself when it has trained as long as any shall."""
        one.came_to = time
        self.tell(TrialValidated(one.trial_id, 1, time, metric, float(time)))
        if time >= LENGTH:
            self.end(one.trial_id, "COMPLETED")

    def reaches(self, one: Imagined, metric: float | None) -> None:
        """What it was told to train to; with nothing further to do it ends."""
        assert one.target is not None
        one.came_to = one.target
        self.tell(TrialValidated(one.trial_id, 1, one.came_to, metric))
        self.tell(TrialTargetReached(one.trial_id, 1, one.came_to, metric))
        if one.target == one.came_to and not one.waiting:
            self.end(one.trial_id, "COMPLETED")

    def end(self, trial_id: int, outcome: str) -> None:
        if trial_id not in self.open or self.over:
            return
        if outcome == "INVALID_HP":
            self.tell(TrialEarlyExitReported(trial_id, outcome))
            outcome = "COMPLETED"
        del self.open[trial_id]
        self.tell(TrialEnded(trial_id, outcome, f"it was played as {outcome}"))

    def tell(self, event: SearchEvent) -> None:
        if self.over:
            return
        before = pickle.dumps(self.method) if self.checks else b""
        answer = self.method.next(event)
        assert not self.checks or pickle.dumps(self.method) == before, "next only reads"
        self.method.evolve(answer.event)
        self.history.append((answer.event, answer.operations))
        self.carry_out(answer.operations)

    def carry_out(self, operations: list[Operation]) -> None:
        self.operations += operations
        for operation in operations:
            match operation:
                case CreateTrial(request_id=request_id, hparams=hparams, seed=seed, target=target):
                    trial_id = next(self._ids)
                    self.open[trial_id] = Imagined(trial_id, target)
                    self.tell(TrialCreated(trial_id, request_id, f"1.{request_id}", hparams, seed))
                case TrainTo(trial_id=trial_id, length=length) if trial_id in self.open:
                    self.open[trial_id].target, self.open[trial_id].waiting = length, False
                case Wait(trial_id=trial_id) if trial_id in self.open:
                    self.open[trial_id].waiting = True
                case StopTrial(trial_id=trial_id) if trial_id in self.open:
                    self.open[trial_id].stopped = True
                case Shutdown():
                    assert self.over is None, "a search is shut down once"
                    self.over = operation

    @property
    def created(self) -> list[CreateTrial]:
        return [operation for operation in self.operations if isinstance(operation, CreateTrial)]


class Client(Player):
    """Plays a custom search from both sides: as its client it keeps three trials going and doubles their length."""

    def carry_out(self, operations: list[Operation]) -> None:
        super().carry_out(operations)
        if self.over or any(isinstance(operation, CreateTrial) for operation in operations):
            return
        if posted := self._answer():
            self.tell(SearchOperationsPosted(tuple(posted)))

    def _answer(self) -> list[dict[str, Any]]:
        waiting = [one for one in self.open.values() if one.waiting and not one.stopped]
        missing = min(3 - len(self.open), MAX_TRIALS - len(self.created))
        if not self.open and not missing:
            return [{"type": "shutdown", "outcome": self._outcome()}]
        return [
            *(self._further(one) for one in waiting),
            *(_creation(len(self.created) + i) for i in range(missing)),
        ]

    def _further(self, one: Imagined) -> dict[str, Any]:
        if one.came_to >= 40:
            return {"type": "close_trial", "request_id": self._request(one)}
        return {"type": "train_to", "request_id": self._request(one), "length": one.came_to * 2}

    def _request(self, one: Imagined) -> str:
        created = (e for e, _ in self.history if isinstance(e, TrialCreated) and e.trial_id == one.trial_id)
        return next(created).request_id

    def _outcome(self) -> str:
        ends = {event.outcome for event, _ in self.history if isinstance(event, TrialEnded)}
        return next(outcome for outcome in ("COMPLETED", "ERROR", "CANCELED") if outcome in ends)


def _creation(index: int) -> dict[str, Any]:
    return {"type": "create_trial", "request_id": str(UUID(int=index)), "hparams": {"lr": index}, "length": 10}


def playing(name: str, rng: Random, seed: int = 7, *, checks: bool = True) -> Player:
    player = Client if name == "custom" else Player
    return player(a_search(name, seed), rng, checks=checks)
