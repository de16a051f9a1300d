"""What every search method promises, tried on each: seeded, bounded, ends, and decides the same when replayed."""

from __future__ import annotations

from random import Random

import pytest

from resolute.proto.experiment import TrialEarlyExitReported
from resolute.search.methods import METHODS, Answer
from tests.contract.searcher.searches import MAX_TRIALS, SAMPLED, SEARCHES, Player, a_search, playing

SEEDS = range(20)

each_search = pytest.mark.parametrize("name", SEARCHES)
each_seed = pytest.mark.parametrize("seed", SEEDS)


def searched(name: str, seed: int, *ends: str) -> Player:
    rng = Random(seed)
    player = playing(name, rng, seed)
    player.run(lambda: rng.choice(ends))
    return player


def test_every_method_is_tried() -> None:
    assert {name.partition(" ")[0] for name in SEARCHES} == set(METHODS)


@each_search
@each_seed
def test_a_search_ends_with_a_shutdown_and_says_why(name: str, seed: int) -> None:
    player = searched(name, seed, "REACHED", "REACHED", "COMPLETED", "ERROR", "CANCELED")
    assert player.over is not None
    assert player.over.why
    assert player.operations[-1] is player.over


@each_search
@each_seed
def test_a_search_makes_no_more_trials_than_it_may(name: str, seed: int) -> None:
    player = searched(name, seed, "REACHED", "COMPLETED", "ERROR", "INVALID_HP")
    invalid = sum(isinstance(event, TrialEarlyExitReported) for event, _ in player.history)
    assert len(player.created) <= MAX_TRIALS + invalid
    assert len({operation.request_id for operation in player.created}) == len(player.created)


@each_search
@each_seed
def test_a_search_makes_as_many_trials_as_were_asked_for(name: str, seed: int) -> None:
    player = searched(name, seed, "REACHED", "REACHED", "ERROR")
    assert len(player.created) == (1 if name == "single" else MAX_TRIALS)


@each_search
@each_seed
def test_a_search_is_a_function_of_its_seed_and_of_what_was_reported(name: str, seed: int) -> None:
    player = searched(name, seed, "REACHED", "REACHED", "COMPLETED", "ERROR", "INVALID_HP")
    replayed = a_search(name, seed)
    for event, operations in player.history:
        assert replayed.next(event) == Answer(event, operations)
        replayed.evolve(event)
    assert replayed.progress() == player.method.progress()


@pytest.mark.parametrize("name", SAMPLED)
def test_another_seed_samples_other_hyperparameters(name: str) -> None:
    first, second = (searched(name, seed, "REACHED").created for seed in (1, 2))
    assert {c.hparams["lr"] for c in first}.isdisjoint({c.hparams["lr"] for c in second})


@each_search
@each_seed
def test_a_search_whose_trials_all_fail_is_an_error(name: str, seed: int) -> None:
    over = searched(name, seed, "ERROR").over
    assert over is not None
    assert over.outcome == "ERROR"


@each_search
@each_seed
def test_a_search_whose_trials_are_all_canceled_is_canceled(name: str, seed: int) -> None:
    over = searched(name, seed, "CANCELED").over
    assert over is not None
    assert over.outcome == "CANCELED"


@each_search
@each_seed
@pytest.mark.parametrize("ends", ["REACHED", "COMPLETED"])
def test_a_search_whose_trials_all_complete_is_complete_and_its_progress_full(name: str, seed: int, ends: str) -> None:
    player = searched(name, seed, ends)
    assert player.over is not None
    assert player.over.outcome == "COMPLETED"
    assert name == "custom" or player.method.progress() == pytest.approx(1.0)


@each_search
@each_seed
def test_progress_stays_between_nothing_and_all_and_never_falls(name: str, seed: int) -> None:
    rng = Random(seed)
    player = playing(name, rng, seed)
    before = 0.0
    while not player.over and player.open:
        player.run(lambda: "REACHED", until=1)
        now = player.method.progress()
        assert before - 1e-9 <= now <= 1.0
        before = now
