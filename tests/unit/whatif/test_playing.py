"""Searches that are only played: the same decisions, without a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.config import ClusterDefaults, parse_experiment, parse_space
from resolute.proto.errors import InvalidConfig
from resolute.whatif.searches.compare import compare, curve, rungs
from resolute.whatif.searches.play import Played, play
from resolute.whatif.searches.preview import MOST, preview
from resolute.whatif.searches.surrogate import FLOOR, NOISE, LearningCurves

SPACE = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "net": {"width": {"type": "int", "minval": 8, "maxval": 64}, "act.fn": {"type": "categorical", "vals": ["a", "b"]}},
    "dropout": {"type": "double", "minval": 0, "maxval": 0.5},
    "global_batch_size": 64,
}

METHODS: dict[str, dict[str, Any]] = {
    "single": {"max_length": {"batches": 256}},
    "random": {"max_trials": 20, "max_length": {"batches": 256}, "max_concurrent_trials": 5},
    "random without a length": {"name": "random", "max_trials": 7},
    "async_halving": {"max_trials": 64, "num_rungs": 4, "max_length": {"batches": 256}},
    "async_halving, stopping": {
        "name": "async_halving",
        "max_trials": 40,
        "num_rungs": 4,
        "max_length": {"epochs": 64},
        "stop_once": True,
    },
    "adaptive_asha": {"max_trials": 40, "max_length": {"batches": 256}},
    "adaptive_asha by time": {"name": "adaptive_asha", "max_trials": 40, "time_metric": "epochs", "max_time": 256},
}


def merged(searcher: dict[str, Any], space: Any = SPACE) -> dict[str, Any]:
    given = {"name": "played", "searcher": {"metric": "loss", **searcher}, "hyperparameters": space}
    storage = {"type": "shared_fs", "host_path": "/nowhere"}
    return parse_experiment(given, ClusterDefaults(checkpoint_storage=storage, name="played"), managed=False).merged


def configured(method: str) -> dict[str, Any]:
    return merged({"name": method, **METHODS[method]})


def played(method: str, seed: int = 1, slots: int = 0) -> Played:
    config = configured(method)
    return play(config, seed, LearningCurves(parse_space(config["hyperparameters"]), seed).loss, slots)


@pytest.mark.parametrize("slots", [0, 1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_every_search_plays_to_its_end_the_same_each_time(method: str, slots: int) -> None:
    once = played(method, slots=slots)
    assert once == played(method, slots=slots)
    assert len(once.trials) == METHODS[method].get("max_trials", 1)
    assert {trial.outcome for trial in once.trials} == {"COMPLETED"}
    assert once.work == sum(trial.length for trial in once.trials)
    assert max(trial.length for trial in once.trials) == once.full_length
    assert once.time * (slots or len(once.trials)) >= once.work


@pytest.mark.parametrize("method", [name for name in METHODS if "asha" in name or "halving" in name])
def test_halving_trains_less_and_finds_what_is_good(method: str) -> None:
    trials = played(method, slots=4).trials
    assert played(method, slots=4).work < 0.7 * 256 * len(trials)
    to_the_end = [trial.metric for trial in trials if trial.length == max(t.length for t in trials)]
    assert 0 < len(to_the_end) < len(trials)


def test_metrics_that_shall_grow_are_the_other_way_round() -> None:
    down, up = (
        merged({"name": "adaptive_asha", **METHODS["adaptive_asha"], "smaller_is_better": s}) for s in (True, False)
    )
    objective = LearningCurves(parse_space(SPACE), 3).loss
    assert play(down, 3, objective) == play(up, 3, objective)


def test_one_slot_trains_one_trial_after_another() -> None:
    assert played("random", slots=1).time == played("random", slots=1).work


def test_curves_fall_from_one_and_stay_above_the_floor() -> None:
    curves = LearningCurves(parse_space(SPACE), 5)
    point = {"lr": 0.01, "net": {"width": 20, "act.fn": "b"}, "dropout": 0.1, "global_batch_size": 64}
    losses = [curves.loss(point, share / 10) for share in range(11)]
    assert losses[0] == pytest.approx(1, abs=5 * NOISE)
    assert losses[-1] >= FLOOR - 5 * NOISE
    assert losses[-1] < losses[1] < losses[0]
    assert curves.loss(point, 0.3) == LearningCurves(parse_space(SPACE), 5).loss(point, 0.3)


def test_a_search_is_compared_with_random_search_of_the_same_work() -> None:
    pairs = list(compare(configured("adaptive_asha"), range(3), slots=4))
    for pair in pairs:
        assert pair.random.work == pytest.approx(pair.method.work, abs=pair.method.full_length / 2)
        assert pair.to_the_end.work == pair.method.work_to_the_end
    steps = rungs([pair.method for pair in pairs])
    assert sum(rung.stopped for rung in steps) == pytest.approx(40)
    assert [rung.reached for rung in steps] == sorted((rung.reached for rung in steps), reverse=True)
    best = [metric for _, metric in curve([pair.method for pair in pairs], 20)]
    assert best == sorted(best, reverse=True)


def test_a_preview_counts_trials_by_their_length() -> None:
    told = preview(configured("random"), 1)
    assert told == {"unit": "batches", "trials": [{"count": 20, "length": 256, "full": True}]}
    told = preview(configured("adaptive_asha"), 1)
    assert sum(one["count"] for one in told["trials"]) == 40
    assert [one["full"] for one in told["trials"]] == [False] * (len(told["trials"]) - 1) + [True]


def test_trials_of_a_search_by_time_are_compared_at_its_rungs_and_nowhere_else() -> None:
    config = merged({"name": "asha", "max_trials": 40, "num_rungs": 3, "time_metric": "seconds", "max_time": 10**6})
    assert [one["length"] for one in preview(config, 1)["trials"]] == [62_500, 250_000, 10**6]


def test_what_cannot_be_previewed_says_why() -> None:
    with pytest.raises(InvalidConfig, match=r"searcher\.max_trials: 10,001 trials are too many"):
        preview(merged({"name": "random", "max_trials": MOST + 1, "max_length": {"batches": 1}}), 1)
    with pytest.raises(InvalidConfig, match=r"searcher\.name: only its client knows"):
        preview({**configured("random"), "searcher": {"name": "custom", "metric": "loss"}}, 1)
