"""Asynchronous halving by worked examples: who trains on, who waits, who stops, and who takes the place."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest

from resolute.config import SearcherConfig, most_apart, most_rungs, rung_lengths
from resolute.proto.experiment import (
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialTargetReached,
    TrialValidated,
)
from resolute.proto.states import End
from resolute.search.methods import CreateTrial, Operation, SearchEvent, Shutdown, StopTrial, TrainTo, Wait, method_for
from resolute.search.methods.brackets import bracket_concurrency, bracket_rungs, bracket_trials
from resolute.search.methods.halving import HalvingSearch
from resolute.search.settings import Settings
from tests.unit.searcher.story import config


@dataclass
class Search:
    """A search by hand. Trials are 1, 2, 3 … in the order in which they are asked for."""

    changes: dict[str, Any]
    name: str = "async_halving"
    asked: list[Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.method = method_for(Settings.of(config(self.name, **self.changes)), 7)
        self._ids = itertools.count(1)
        self.trials = 0
        self._carry_out(self.method.start())

    def _carry_out(self, operations: list[Operation]) -> None:
        self.asked = operations
        for created in operations:
            if isinstance(created, CreateTrial):
                self.trials = next(self._ids)
                self._tell(TrialCreated(self.trials, created.request_id, "t", created.hparams, created.seed))

    def _tell(self, event: SearchEvent) -> list[Operation]:
        answer = self.method.next(event)
        self.method.evolve(answer.event)
        return answer.operations

    def reaches(self, trial_id: int, length: int, metric: float | None) -> Search:
        self._carry_out(self._tell(TrialTargetReached(trial_id, 1, length, metric)))
        return self

    def reports(self, trial_id: int, time: float, metric: float | None) -> Search:
        self._carry_out(self._tell(TrialValidated(trial_id, 1, int(time), metric, time)))
        return self

    def ends(self, trial_id: int, outcome: str = "ERROR") -> Search:
        self._carry_out(self._tell(TrialEnded(trial_id, outcome, "boom")))
        return self

    def is_invalid(self, trial_id: int) -> Search:
        self._tell(TrialEarlyExitReported(trial_id, "INVALID_HP"))
        return self.ends(trial_id, "COMPLETED")

    def then(self, *expected: tuple[type[Operation], int]) -> Search:
        """By kind and trial; a new trial is known by its number."""
        numbers = itertools.count(self.trials - sum(isinstance(each, CreateTrial) for each in self.asked) + 1)
        told = [
            (type(each), next(numbers) if isinstance(each, CreateTrial) else getattr(each, "trial_id", 0))
            for each in self.asked
        ]
        assert told == list(expected)
        return self


NO_NUMBERS = [None, float("nan"), float("inf"), float("-inf")]
"""Metrics that rank last, whichever direction is better. The log has null for each of them."""


def promoting(**changes: Any) -> Search:
    defaults = {"num_rungs": 3, "divisor": 3, "max_length": {"batches": 90}, "max_trials": 9}
    return Search({**defaults, "max_concurrent_trials": 3, **changes})


def stopping(**changes: Any) -> Search:
    return promoting(stop_once=True, **changes)


def by_time(**changes: Any) -> Search:
    return promoting(max_length=None, time_metric="epochs", max_time=90, **changes)


# ---------------------------------------------------------------- rungs and brackets


@pytest.mark.parametrize(
    ("longest", "divisor", "rungs", "lengths"),
    [
        (937, 4, 5, [3, 14, 58, 234, 937]),
        (100, 4, 3, [6, 25, 100]),
        (81, 3, 5, [1, 3, 9, 27, 81]),
        (10, 2.5, 3, [1, 4, 10]),
        (7, 4, 1, [7]),
        (2, 4, 3, [1, 1, 2]),
    ],
)
def test_each_rung_is_the_divisor_times_as_long_as_the_one_below_and_none_is_empty(
    longest: int, divisor: float, rungs: int, lengths: list[int]
) -> None:
    assert rung_lengths(longest, divisor, rungs) == lengths
    assert (most_apart(longest, divisor, rungs) == rungs) == (len(set(lengths)) == len(lengths))


@pytest.mark.parametrize(
    ("total", "divisor", "most"),
    [(1, 4, 1), (3, 4, 1), (4, 4, 2), (243, 3, 6), (242, 3, 5), (125, 5, 4), (10**6, 10, 7), (937, 4, 5)],
)
def test_powers_are_counted_exactly_where_logarithms_are_a_hair_off(total: int, divisor: float, most: int) -> None:
    assert most_rungs(total, divisor, 99) == most


def adaptive(**changes: Any) -> SearcherConfig:
    return SearcherConfig.of({"name": "adaptive_asha", "metric": "loss", **changes})


@pytest.mark.parametrize(
    ("mode", "max_length", "max_trials", "rungs"),
    [
        ("aggressive", 937, 256, [5]),
        ("standard", 937, 256, [5, 4, 3]),
        ("conservative", 937, 256, [5, 4, 3, 2, 1]),
        ("standard", 937, 16, [3, 2]),  # 16 trials fill no more than three rungs
        ("conservative", 15, 1000, [2, 1]),  # and 15 batches no more than two
        ("standard", 10**9, 10**9, [5, 4, 3]),  # max_rungs is 5
        ("standard", 3, 3, [1]),
        ("standard", 4, 4, [2, 1]),
    ],
)
def test_the_mode_says_which_brackets_there_are(mode: str, max_length: int, max_trials: int, rungs: list[int]) -> None:
    searcher = adaptive(mode=mode, max_length={"batches": max_length}, max_trials=max_trials)
    assert bracket_rungs(searcher) == rungs


def test_there_are_no_more_brackets_than_trials() -> None:
    searcher = adaptive(mode="conservative", divisor=1.2, max_length={"batches": 81}, max_trials=3)
    assert bracket_rungs(searcher) == [5, 4, 3]
    assert bracket_trials(bracket_rungs(searcher), 3, 1.2) == [1, 1, 1]


def test_rungs_that_would_lie_at_the_same_length_are_one() -> None:
    searcher = adaptive(divisor=1.1, max_rungs=9, mode="aggressive", max_length={"batches": 2}, max_trials=100)
    assert bracket_rungs(searcher) == [2]


def test_brackets_that_were_written_down_take_the_place_of_the_mode() -> None:
    searcher = adaptive(bracket_rungs=[1, 3, 2], max_length={"batches": 64}, max_trials=16)
    assert bracket_rungs(searcher) == [3, 2, 1]


@pytest.mark.parametrize(
    ("rungs", "max_trials", "trials"),
    [
        ([5, 4, 3], 128, [91, 28, 9]),  # weights 51.2, 16 and 5.33 of 72.53: 90, 28 and 9, and one is left over
        ([3, 2, 1], 16, [12, 3, 1]),
        ([2, 1], 4, [3, 1]),
        ([5], 7, [7]),
        ([5, 1, 1], 3, [1, 1, 1]),
        ([5, 2, 1], 4, [2, 1, 1]),
    ],
)
def test_brackets_share_the_trials_so_that_each_trains_about_as_much(
    rungs: list[int], max_trials: int, trials: list[int]
) -> None:
    assert bracket_trials(rungs, max_trials, 4) == trials


@pytest.mark.parametrize(
    ("at_once", "trials", "each"),
    [(16, [90, 28, 9], [6, 5, 5]), (2, [5, 4, 3], [1, 1, 1]), (0, [90, 28, 9], [9, 9, 9]), (0, [12, 3, 1], [4, 4, 4])],
)
def test_brackets_share_what_trains_at_once_evenly(at_once: int, trials: list[int], each: list[int]) -> None:
    assert bracket_concurrency(trials, at_once, 4) == each


@pytest.mark.parametrize(
    ("max_trials", "rungs", "first"), [(100, 3, 9), (5, 3, 5), (100, 1, 1)], ids=["by rungs", "by trials", "one"]
)
def test_without_a_limit_a_bracket_begins_with_what_fills_its_top_rung(max_trials: int, rungs: int, first: int) -> None:
    assert promoting(max_concurrent_trials=0, max_trials=max_trials, num_rungs=rungs).trials == first


# ---------------------------------------------------------------- the promoting form


def test_a_trial_waits_at_its_rung_until_it_is_among_the_best_third() -> None:
    search = promoting()
    assert [each.target for each in search.asked if isinstance(each, CreateTrial)] == [10, 10, 10]
    search.reaches(1, 10, 0.5).then((Wait, 1), (CreateTrial, 4))
    search.reaches(2, 10, 0.7).then((Wait, 2), (CreateTrial, 5))
    search.reaches(3, 10, 0.6).then((Wait, 3), (TrainTo, 1))  # the best of three
    why = "it is number 1 of 3 at rung 0 (at 10), from which the best 1 train on"
    assert search.asked[-1] == TrainTo(1, 30, why)


def test_a_trial_that_is_good_enough_at_once_does_not_wait() -> None:
    search = promoting().reaches(1, 10, 0.5).reaches(2, 10, 0.7).reaches(3, 10, 0.4)
    search.then((TrainTo, 3))
    search.reaches(4, 10, 0.3).then((TrainTo, 4))  # a newer best, though one of three has moved on


def test_why_a_trial_waits_is_told_by_its_rank() -> None:
    (wait, *_) = promoting().reaches(1, 10, 0.5).reaches(2, 10, 0.7).reaches(3, 10, 0.6).asked
    assert wait == Wait(3, "it is number 2 of 3 at rung 0 (at 10), from which the best 1 train on")


def test_the_highest_rung_with_somebody_to_promote_comes_first() -> None:
    search = promoting(max_trials=12, max_concurrent_trials=9)
    for trial_id, metric in enumerate([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], start=1):
        search.reaches(trial_id, 10, metric)
    search.then((Wait, 9), (TrainTo, 3))
    search.reaches(1, 30, 0.9).then((Wait, 1))
    search.reaches(2, 30, 0.8).then((Wait, 2))
    search.reaches(3, 30, 0.7).then((TrainTo, 3))
    assert [each.length for each in search.asked if isinstance(each, TrainTo)] == [90]
    search.reaches(3, 90, 0.7).then((StopTrial, 3))


def test_the_search_is_over_when_nothing_trains_and_nobody_can_be_promoted() -> None:
    search = promoting(max_trials=3).reaches(1, 10, 0.5).then((Wait, 1)).reaches(2, 10, 0.7).then((Wait, 2))
    search.reaches(3, 10, 0.6).then((Wait, 3), (TrainTo, 1))
    search.reaches(1, 30, 0.5)
    assert search.asked == [Shutdown(End.COMPLETED, "all 3 trials have trained as far as they were worth")]


def test_of_equal_results_the_first_to_come_is_promoted_first() -> None:
    search = promoting(max_trials=6)
    for trial_id in range(1, 4):
        search.reaches(trial_id, 10, 0.5)
    search.then((Wait, 3), (TrainTo, 1))


def test_a_metric_that_is_no_number_ranks_last() -> None:
    search = promoting().reaches(1, 10, None).reaches(2, 10, 1e300).reaches(3, 10, None)
    search.then((Wait, 3), (TrainTo, 2))


@pytest.mark.parametrize("metric", NO_NUMBERS)
@pytest.mark.parametrize("smaller_is_better", [True, False])
def test_most_metrics_being_no_numbers_makes_none_of_them_good(metric: float | None, smaller_is_better: bool) -> None:
    """Of nine results the best three move on: two of those are no numbers, and only count at the next rung."""
    search = promoting(max_concurrent_trials=9, smaller_is_better=smaller_is_better)
    for trial_id in range(1, 6):
        search.reaches(trial_id, 10, metric).then((Wait, trial_id))
    why = "its metric at rung 0 (at 10) is not a finite number, and no such trial trains on"
    assert search.asked == [Wait(5, why)]
    search.reaches(6, 10, 0.5).then((TrainTo, 6))
    for trial_id in range(7, 10):
        search.reaches(trial_id, 10, metric).then((Wait, trial_id))
    search.reaches(6, 30, 0.5).then((TrainTo, 6))  # the best of the three that the next rung has seen
    search.reaches(6, 90, 0.5)
    assert search.asked == [Shutdown(End.COMPLETED, "all 9 trials have trained as far as they were worth")]


@pytest.mark.parametrize("metric", NO_NUMBERS)
@pytest.mark.parametrize("stop_once", [True, False])
def test_a_search_whose_metrics_are_all_no_numbers_trains_each_to_the_first_rung_and_ends(
    metric: float | None, stop_once: bool
) -> None:
    search = promoting(stop_once=stop_once)
    for trial_id in range(1, 9):
        search.reaches(trial_id, 10, metric)
        assert not [each for each in search.asked if isinstance(each, TrainTo | Shutdown)]
    search.reaches(9, 10, metric)
    (over,) = search.asked
    assert isinstance(over, Shutdown)
    assert over.outcome == "COMPLETED"
    assert "none could be compared: each reported NaN or an infinity for 'loss'" in over.why


def test_larger_is_better_where_that_was_said() -> None:
    search = promoting(smaller_is_better=False).reaches(1, 10, 0.5).reaches(2, 10, 0.9).reaches(3, 10, 0.6)
    search.then((Wait, 3), (TrainTo, 2))


def test_a_trial_that_fails_counts_as_the_worst_and_gives_its_place_on() -> None:
    search = promoting().ends(1).then((CreateTrial, 4)).reaches(2, 10, 0.7).then((Wait, 2), (CreateTrial, 5))
    search.ends(3).then((TrainTo, 2))  # the best of three


def test_a_trial_that_ended_while_it_waited_is_passed_over_when_its_turn_comes() -> None:
    search = promoting(max_trials=6).reaches(1, 10, 0.1).reaches(2, 10, 0.7).ends(1, "CANCELED").then()
    search.reaches(3, 10, 0.6).then((Wait, 3), (CreateTrial, 6))  # trial 1 moved up, and is the worst there
    for trial_id, metric in ((4, 0.8), (5, 0.9)):
        search.reaches(trial_id, 10, metric).then((Wait, trial_id))
    search.reaches(6, 10, 0.95).then((Wait, 6), (TrainTo, 3))


def test_an_invalid_trial_is_replaced_and_its_results_are_taken_away() -> None:
    search = promoting(max_trials=5, max_concurrent_trials=4)
    search.reaches(1, 10, 0.1).then((Wait, 1), (CreateTrial, 5))
    search.reaches(2, 10, 0.2).then((Wait, 2)).reaches(3, 10, 0.3).then((Wait, 3), (TrainTo, 1))
    search.reaches(4, 10, 0.4).then((Wait, 4))
    search.is_invalid(1).then((TrainTo, 2))  # of three that are left the best
    search.reaches(5, 10, 0.5).then((Wait, 5), (CreateTrial, 6))


def test_invalid_hyperparameters_before_any_result_are_replaced_at_once() -> None:
    promoting(max_trials=3).is_invalid(2).then((CreateTrial, 4))


def test_a_space_without_a_valid_point_ends_the_search() -> None:
    search = promoting(max_trials=1, num_rungs=1)
    for trial_id in range(1, 102):
        search.is_invalid(trial_id)
    assert search.asked == [Shutdown(End.ERROR, "101 trials reported their hyperparameters as invalid")]


# ---------------------------------------------------------------- the stopping form


def test_a_trial_stops_unless_it_is_among_the_best_third_of_those_before_it() -> None:
    search = stopping()
    search.reaches(1, 10, 0.5).then((TrainTo, 1))  # the first is always the best
    assert search.asked == [TrainTo(1, 30, "it is number 1 of 1 at rung 0 (at 10), of which the best 1 train on")]
    search.reaches(2, 10, 0.7).then((StopTrial, 2), (CreateTrial, 4))
    search.reaches(3, 10, 0.6).then((StopTrial, 3), (CreateTrial, 5))
    search.reaches(4, 10, 0.4).then((TrainTo, 4))


def test_why_a_trial_is_stopped_is_told_by_its_rank() -> None:
    (stop, *_) = stopping().reaches(1, 10, 0.5).reaches(2, 10, 0.7).asked
    assert stop == StopTrial(2, "it is number 2 of 2 at rung 0 (at 10), of which the best 1 train on")


def test_at_the_top_rung_a_trial_has_trained_enough() -> None:
    search = stopping().reaches(1, 10, 0.5).reaches(1, 30, 0.5).then((TrainTo, 1)).reaches(1, 90, 0.9)
    assert search.asked[0] == StopTrial(1, "it has trained to the top rung, at 90")


def test_a_trial_is_not_stopped_for_being_as_good_as_those_that_stay() -> None:
    search = stopping().reaches(1, 10, 0.5).reaches(2, 10, 0.5).then((TrainTo, 2))
    search.reaches(3, 10, None).then((StopTrial, 3), (CreateTrial, 4))


@pytest.mark.parametrize("metric", NO_NUMBERS)
@pytest.mark.parametrize("smaller_is_better", [True, False])
def test_a_trial_whose_metric_is_no_number_stops_even_as_the_first(
    metric: float | None, smaller_is_better: bool
) -> None:
    search = stopping(smaller_is_better=smaller_is_better)
    search.reaches(1, 10, metric).then((StopTrial, 1), (CreateTrial, 4))
    stopped = search.asked[0]
    assert isinstance(stopped, StopTrial)
    assert "its metric at rung 0 (at 10) is not a finite number, and no such trial trains on" in stopped.why
    search.reaches(2, 10, 0.7).then((TrainTo, 2))  # and stands in the way of no other


def test_one_report_may_pass_several_rungs() -> None:
    search = by_time()
    search.reports(1, 9.5, 0.5).then()
    search.reports(1, 35, 0.5).then()
    search.reports(2, 35, 0.4).then()
    search.reports(3, 95, 0.3).then((StopTrial, 3), (CreateTrial, 4))  # the best of each, and at the top
    search.reports(4, 31, 0.35).then((StopTrial, 4), (CreateTrial, 5))  # of four the best one trains on
    search.reports(1, 90, 0.5).then((StopTrial, 1), (CreateTrial, 6))


def test_a_search_by_time_sets_no_targets() -> None:
    assert [each.target for each in by_time().asked if isinstance(each, CreateTrial)] == [None] * 3


def test_a_trial_that_fails_counts_as_the_worst_of_the_rung_it_was_to_reach() -> None:
    search = stopping().reaches(1, 10, 0.5).ends(1).then((CreateTrial, 4))
    search.reaches(2, 10, 0.4).then((TrainTo, 2)).reaches(2, 30, 0.9).then((TrainTo, 2))


def test_what_a_stopped_trial_still_reports_changes_nothing() -> None:
    search = by_time().reports(1, 10, 0.5).reports(2, 10, 0.6).then((StopTrial, 2), (CreateTrial, 4))
    search.reports(2, 90, 0.0).then().ends(2, "COMPLETED").then()


# ---------------------------------------------------------------- the tournament


def test_the_brackets_of_a_tournament_draw_from_one_sequence_of_trials() -> None:
    changes: dict[str, Any] = {"divisor": 3, "max_length": {"batches": 90}, "max_trials": 9, "max_concurrent_trials": 2}
    search = Search(changes, "adaptive_asha")
    assert isinstance(search.method, HalvingSearch)
    assert [(b.ladder.lengths, b.ladder.max_trials) for b in search.method.brackets] == [
        ((10, 30, 90), 6),
        ((30, 90), 3),
    ]
    assert [each.target for each in search.asked if isinstance(each, CreateTrial)] == [10, 30]
    first = [each.hparams for each in search.asked if isinstance(each, CreateTrial)]
    search.reaches(2, 30, 0.5).then((Wait, 2), (CreateTrial, 3))
    again = [each.hparams for each in search.asked if isinstance(each, CreateTrial)]
    alone = promoting().method.start()
    assert [*first, *again] == [each.hparams for each in alone if isinstance(each, CreateTrial)]


def test_a_tournament_is_over_when_each_of_its_brackets_is() -> None:
    search = Search(
        {"divisor": 2, "max_length": {"batches": 2}, "max_trials": 3, "bracket_rungs": [1, 1]}, "adaptive_asha"
    )
    search.reaches(1, 2, 0.5).then((StopTrial, 1)).reaches(2, 2, 0.4).then((StopTrial, 2)).ends(1, "COMPLETED").then()
    search.reaches(3, 2, 0.3)
    assert [type(each) for each in search.asked] == [Shutdown]
