"""What every search method promises, tried on each: seeded, bounded, ends, and decides the same when replayed."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from random import Random

import pytest

from resolute.proto.experiment import TrialCreated, TrialEarlyExitReported, TrialEnded, TrialValidated
from resolute.searcher.methods import METHODS, CreateTrial, Operation, SearchMethod, Shutdown, StopTrial, method_for
from resolute.searcher.methods.method import Told
from resolute.searcher.settings import Settings
from tests.unit.searcher.story import config

MAX_TRIALS = 12
SEARCHER = {"max_trials": MAX_TRIALS, "max_concurrent_trials": 3}
SEEDS = range(20)

each_method = pytest.mark.parametrize("name", sorted(METHODS))
each_seed = pytest.mark.parametrize("seed", SEEDS)


def a_search(name: str, seed: int = 7) -> SearchMethod:
    return method_for(Settings.of(config(name, **({} if name == "single" else SEARCHER))), seed)


class Cluster:
    """Runs a search's trials in its imagination; `rng` decides how they fare."""

    def __init__(self, method: SearchMethod, rng: Random) -> None:
        self.method, self.rng = method, rng
        self.open: list[int] = []
        self.history: list[tuple[Told, list[Operation]]] = []
        self.operations: list[Operation] = []
        self.over = False
        self._ids = itertools.count(1)
        self.carry_out(method.start())

    def run(self, end: Callable[[], str], until: int = 10_000) -> None:
        for _ in range(until):
            if self.over or not self.open:
                return
            trial_id = self.rng.choice(self.open)
            self.tell(TrialValidated(trial_id, 1, self.rng.randrange(100), self.rng.random()))
            if trial_id in self.open and self.rng.random() < 0.5:
                self.end(trial_id, end())

    def end(self, trial_id: int, outcome: str) -> None:
        if outcome == "INVALID_HP":
            self.tell(TrialEarlyExitReported(trial_id, outcome))
            outcome = "COMPLETED"
        if trial_id in self.open and not self.over:
            self.open.remove(trial_id)
            self.tell(TrialEnded(trial_id, outcome, ""))

    def tell(self, event: Told) -> None:
        before = pickle.dumps(self.method)
        operations = self.method.next(event)
        assert pickle.dumps(self.method) == before, "next only reads"
        self.method.evolve(event)
        self.history.append((event, operations))
        self.carry_out(operations)

    def carry_out(self, operations: list[Operation]) -> None:
        self.operations += operations
        for operation in operations:
            match operation:
                case CreateTrial(request_id=request_id, hparams=hparams, seed=seed):
                    trial_id = next(self._ids)
                    self.open.append(trial_id)
                    self.tell(TrialCreated(trial_id, request_id, f"1.{request_id}", hparams, seed))
                case StopTrial(trial_id=trial_id):
                    self.end(trial_id, "COMPLETED")
                case Shutdown():
                    self.over = True

    @property
    def created(self) -> list[CreateTrial]:
        return [operation for operation in self.operations if isinstance(operation, CreateTrial)]


def searched(name: str, seed: int, *ends: str) -> Cluster:
    rng = Random(seed)
    cluster = Cluster(a_search(name, seed), rng)
    cluster.run(lambda: rng.choice(ends))
    return cluster


@each_method
@each_seed
def test_a_search_ends_with_a_shutdown_and_says_why(name: str, seed: int) -> None:
    cluster = searched(name, seed, "COMPLETED", "ERROR", "CANCELED")
    last = cluster.operations[-1]
    assert isinstance(last, Shutdown)
    assert last.why is not None
    assert sum(isinstance(operation, Shutdown) for operation in cluster.operations) == 1


@each_method
@each_seed
def test_a_search_makes_no_more_trials_than_it_may(name: str, seed: int) -> None:
    cluster = searched(name, seed, "COMPLETED", "ERROR", "INVALID_HP")
    invalid = sum(isinstance(event, TrialEarlyExitReported) for event, _ in cluster.history)
    assert len(cluster.created) <= MAX_TRIALS + invalid
    assert len({operation.request_id for operation in cluster.created}) == len(cluster.created)


@each_method
@each_seed
def test_a_search_is_a_function_of_its_seed_and_of_what_was_reported(name: str, seed: int) -> None:
    cluster = searched(name, seed, "COMPLETED", "ERROR", "INVALID_HP")
    replayed = a_search(name, seed)
    for event, operations in cluster.history:
        assert replayed.next(event) == operations
        replayed.evolve(event)
    assert replayed.progress() == cluster.method.progress()


@each_method
def test_another_seed_samples_other_hyperparameters(name: str) -> None:
    first, second = (searched(name, seed, "COMPLETED").created for seed in (1, 2))
    assert {c.hparams["lr"] for c in first}.isdisjoint({c.hparams["lr"] for c in second})


@each_method
@each_seed
def test_a_search_whose_trials_all_fail_is_an_error(name: str, seed: int) -> None:
    assert searched(name, seed, "ERROR").operations[-1].outcome == "ERROR"  # type: ignore[union-attr]


@each_method
@each_seed
def test_a_search_whose_trials_all_complete_is_complete_and_its_progress_full(name: str, seed: int) -> None:
    cluster = searched(name, seed, "COMPLETED")
    assert cluster.operations[-1].outcome == "COMPLETED"  # type: ignore[union-attr]
    assert cluster.method.progress() == pytest.approx(1.0)


@each_method
@each_seed
def test_progress_stays_between_nothing_and_all_and_never_falls(name: str, seed: int) -> None:
    rng = Random(seed)
    cluster = Cluster(a_search(name, seed), rng)
    before = 0.0
    while not cluster.over and cluster.open:
        cluster.run(lambda: "COMPLETED", until=1)
        now = cluster.method.progress()
        assert before - 1e-9 <= now <= 1.0
        before = now
