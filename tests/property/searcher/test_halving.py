"""Halving searches under any script of reports: they decide as the plain algorithm does, and keep its invariants."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from resolute.config import most_rungs, rung_lengths
from resolute.proto.experiment import (
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialTargetReached,
    TrialValidated,
)
from resolute.search.methods import Answer, CreateTrial, Operation, Shutdown, StopTrial, TrainTo, Wait, method_for
from resolute.search.methods.bracket import Bracket
from resolute.search.methods.halving import HalvingSearch
from resolute.search.methods.method import SearchEvent
from resolute.search.settings import Settings
from tests.contract.searcher.searches import LENGTH, Player
from tests.property.searcher.slow_halving import WORST, Asked, SlowHalving, SlowPromoting, SlowStopping
from tests.unit.searcher.story import config

FORMS = ("promoting", "stopping", "by time")


@dataclass(frozen=True)
class Wanted:
    form: str
    divisor: float
    num_rungs: int
    max_trials: int
    at_once: int
    smaller_is_better: bool

    def settings(self) -> Settings:
        stop_once: dict[str, Any] = {"stop_once": self.form == "stopping"}
        timed = {"max_length": None, "time_metric": "epochs", "max_time": LENGTH}
        ladder = timed if self.form == "by time" else {"max_length": {"batches": LENGTH}, **stop_once}
        return Settings.of(
            config(
                "async_halving",
                divisor=self.divisor,
                num_rungs=min(self.num_rungs, most_rungs(LENGTH, self.divisor, 99)),
                max_trials=self.max_trials,
                max_concurrent_trials=self.at_once,
                smaller_is_better=self.smaller_is_better,
                **ladder,
            )
        )


WANTED = st.builds(
    Wanted,
    st.sampled_from(FORMS),
    st.sampled_from([1.5, 2, 2.5, 3, 4]),
    st.integers(1, 5),
    st.integers(1, 14),
    st.integers(0, 5),
    st.booleans(),
)
ENDS = ["REACHED"] * 8 + ["ERROR", "COMPLETED", "CANCELED", "INVALID_HP"]
METRICS = st.one_of(st.none(), st.sampled_from([0.1, 0.2, 0.3]), st.floats(-9, 9))
TURNS = st.lists(st.tuples(st.integers(0, 99), st.sampled_from(ENDS), METRICS), max_size=120)
patiently = settings(deadline=None, max_examples=200)


def played(wanted: Wanted, turns: list[tuple[int, str, float | None]], *, finish: bool = True) -> Player:
    """By the script, and then each trial as far as it is told, until the search is over."""
    player = Player(method_for(wanted.settings(), 7), Random(1), checks=False)
    for choice, end, metric in turns:
        if player.over or not player.at_work:
            break
        player.turn(player.at_work[choice % len(player.at_work)], end, metric)
    if finish:
        player.run(lambda: "REACHED")
    return player


# ---------------------------------------------------------------- the same as the plain algorithm


def retold(wanted: Wanted, history: list[tuple[SearchEvent, list[Operation]]]) -> list[tuple[Asked, Asked]]:
    """What the plain algorithm asks for at each event, beside what the method asked for."""
    sign = 1 if wanted.smaller_is_better else -1
    slow, invalid = plain(wanted), set()
    answers: list[tuple[Asked, Asked]] = []
    for event, operations in history:
        asked: Asked = []
        match event:
            case TrialCreated(trial_id=trial):
                slow.create(trial)
            case TrialEarlyExitReported(trial_id=trial):
                invalid.add(trial)
            case TrialEnded(trial_id=trial):
                asked = slow.end(trial, invalid=trial in invalid)  # type: ignore[attr-defined]
            case TrialTargetReached() | TrialValidated() if event.trial_id in slow.place:
                metric = WORST if event.metric is None else sign * event.metric
                asked = reported(slow, event, metric)
        over: Asked = [("over",)] if slow.is_over() else []
        answers.append((over or asked, [told(operation) for operation in operations]))
    return answers


def plain(wanted: Wanted) -> SlowHalving:
    searcher = wanted.settings().searcher
    assert searcher.num_rungs is not None
    lengths = rung_lengths(LENGTH, wanted.divisor, searcher.num_rungs)
    at_once = wanted.at_once or max(math.floor(min(wanted.divisor ** (len(lengths) - 1), wanted.max_trials)), 1)
    if wanted.form == "promoting":
        return SlowPromoting(lengths, wanted.divisor, wanted.max_trials, at_once)
    return SlowStopping(lengths, wanted.divisor, wanted.max_trials, at_once, targets=wanted.form == "stopping")


def reported(slow: SlowHalving, event: TrialTargetReached | TrialValidated, metric: float) -> Asked:
    match slow, event:
        case SlowPromoting(), TrialTargetReached():
            return slow.report(event.trial_id, metric)
        case SlowStopping(targets=True), TrialTargetReached(length=length):
            return slow.report(event.trial_id, metric, length)
        case SlowStopping(targets=False), TrialValidated(time=time) if time is not None:
            return slow.report(event.trial_id, metric, time)
    return []


def told(operation: Operation) -> tuple[object, ...]:
    match operation:
        case TrainTo(trial_id=trial, length=length):
            return ("train", trial, length)
        case Wait(trial_id=trial):
            return ("wait", trial)
        case StopTrial(trial_id=trial):
            return ("stop", trial)
        case CreateTrial():
            return ("create",)
        case Shutdown():
            return ("over",)


@patiently
@given(WANTED, TURNS)
def test_it_decides_as_the_plain_algorithm_does(wanted: Wanted, turns: list[tuple[int, str, float | None]]) -> None:
    for plainly, asked in retold(wanted, played(wanted, turns).history):
        assert asked == plainly


# ---------------------------------------------------------------- what holds of every bracket


def bracket_of(player: Player) -> Bracket:
    assert isinstance(player.method, HalvingSearch)
    (bracket,) = player.method.brackets
    return bracket


@patiently
@given(WANTED, TURNS)
def test_every_search_ends_once_having_made_all_its_trials(
    wanted: Wanted, turns: list[tuple[int, str, float | None]]
) -> None:
    player = played(wanted, turns)
    assert player.over is not None
    assert player.method.progress() == 1.0
    invalid = sum(isinstance(event, TrialEarlyExitReported) for event, _ in player.history)
    replaced = len(player.created) - wanted.max_trials
    assert 0 <= replaced <= invalid


@patiently
@given(WANTED, TURNS)
def test_no_more_trials_are_in_training_at_once_than_may_be(
    wanted: Wanted, turns: list[tuple[int, str, float | None]]
) -> None:
    player = Player(method_for(wanted.settings(), 7), Random(1), checks=False)
    most = bracket_of(player).ladder.first
    for choice, end, metric in turns:
        training = [one for one in player.at_work if not one.stopped]
        assert len(training) <= most
        if player.over or not player.at_work:
            break
        player.turn(player.at_work[choice % len(player.at_work)], end, metric)


@patiently
@given(WANTED, TURNS)
def test_the_trials_of_a_rung_were_all_on_the_rung_below(
    wanted: Wanted, turns: list[tuple[int, str, float | None]]
) -> None:
    populations = [set(rung.by_trial) for rung in bracket_of(played(wanted, turns, finish=False)).rungs]
    assert all(upper <= lower for lower, upper in pairwise(populations))


@patiently
@given(WANTED.filter(lambda wanted: wanted.form == "promoting"), TURNS)
def test_the_best_of_a_rung_have_moved_on_and_no_other_could_when_it_did(
    wanted: Wanted, turns: list[tuple[int, str, float | None]]
) -> None:
    """Of k results the best k/divisor have moved on at every moment, one trial at a time, the newest best included."""
    player = Player(method_for(wanted.settings(), 7), Random(1), checks=False)
    for choice, end, metric in turns:
        if player.over or not player.at_work or end == "INVALID_HP":
            break
        player.turn(player.at_work[choice % len(player.at_work)], end, metric)
        for rung in bracket_of(player).rungs[:-1]:
            best = rung.results[: int(len(rung.results) / wanted.divisor)]
            assert not set(best) & set(rung.waiting)


@patiently
@given(WANTED, TURNS)
def test_the_same_reports_in_another_order_keep_every_promise(
    wanted: Wanted, turns: list[tuple[int, str, float | None]]
) -> None:
    """Each trial's own reports stay in their order; only whose turn it is changes."""
    metrics: dict[int, list[float | None]] = {}
    for choice, _, metric in turns:
        metrics.setdefault(choice % wanted.max_trials + 1, []).append(metric)
    for seed in range(3):
        rng = Random(seed)
        player = Player(method_for(wanted.settings(), 7), rng, checks=False)
        while not player.over and player.at_work:
            one = rng.choice(player.at_work)
            reports = metrics.get(one.trial_id, [])
            place = bracket_of(player).goals.get(one.trial_id, 0)
            player.turn(one, "REACHED", reports[place] if place < len(reports) else 0.5)
        assert player.over is not None
        assert len(player.created) == wanted.max_trials
        top = bracket_of(player).rungs[0]
        assert len(top.results) == wanted.max_trials


@patiently
@given(WANTED, TURNS)
def test_a_search_that_is_stored_and_loaded_half_way_goes_on_as_before(
    wanted: Wanted, turns: list[tuple[int, str, float | None]]
) -> None:
    history = played(wanted, turns).history
    method = method_for(wanted.settings(), 7)
    for at, (event, operations) in enumerate(history):
        if at == len(history) // 2:
            method = pickle.loads(pickle.dumps(method))
        assert method.next(event) == Answer(event, operations)
        method.evolve(event)
