"""What a report costs does not depend on how many trials there were before it."""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable
from functools import reduce
from types import FrameType
from typing import Any

import pytest

from resolute.proto.experiment import ReportValidation, TrialStopRequested
from resolute.proto.message import Event
from resolute.search import user_commands
from resolute.search.decide import decide
from resolute.search.experiment import Experiment, evolve
from tests.unit.searcher.story import EXPERIMENT, config, exited, submission


def calls(work: Callable[[], object]) -> int:
    """How many functions `work` calls: a measure of effort on which a busy machine has no influence."""
    counted = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    gc.disable()  # whose callbacks, where a tool has put some, are no part of the work
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def effort_after(trials: int) -> tuple[int, int]:
    """Of a validation, and of an end that starts the next trial, when `trials` have ended before."""
    ids, experiment = itertools.count(1), Experiment()

    def happens(events: list[Event]) -> None:
        reduce(evolve, events, experiment)

    def ends() -> None:
        allocation = next(iter(experiment.open.values())).allocation_id
        assert allocation is not None
        happens(decide(exited(allocation), experiment, ids))

    merged = config("random", max_trials=trials + 5, max_concurrent_trials=2)
    happens(user_commands.create(submission(merged), EXPERIMENT, ids))
    for _ in range(trials):
        ends()
    latest = next(reversed(experiment.open.values()))
    report = ReportValidation(EXPERIMENT, latest.trial_id, latest.run_id, 20, 0.5)
    return calls(lambda: happens(decide(report, experiment, ids))), calls(ends)


def test_a_report_costs_the_same_in_a_search_of_ten_trials_and_of_thousands() -> None:
    assert effort_after(10) == effort_after(3000)


HALVING = {"num_rungs": 4, "divisor": 4, "max_length": {"batches": 64}, "max_concurrent_trials": 2}


def effort_of_halving_after(trials: int, **changes: Any) -> int:
    """Of the dearest of some reports, when `trials` trials have been compared before."""
    ids, experiment = itertools.count(1), Experiment()

    def happens(events: list[Event]) -> None:
        reduce(evolve, events, experiment)
        for event in events:
            if isinstance(event, TrialStopRequested) and event.allocation_id:
                happens(decide(exited(event.allocation_id, "yielded"), experiment, ids))

    def reports() -> None:
        one = next(one for one in reversed(experiment.open.values()) if one.allocation_id is not None)
        assert one.target is not None
        metric = (one.trial_id * 7919 % 10_007) / 10_007
        happens(decide(ReportValidation(EXPERIMENT, one.trial_id, one.run_id, one.target, metric), experiment, ids))

    merged = config("async_halving", max_trials=trials + 100, **HALVING, **changes)
    happens(user_commands.create(submission(merged), EXPERIMENT, ids))
    while len(experiment.trials) < trials:
        reports()
    return max(calls(reports) for _ in range(20))


@pytest.mark.parametrize("stop_once", [False, True], ids=["promoting", "stopping"])
def test_a_report_costs_the_same_in_a_halving_search_of_ten_trials_and_of_thousands(stop_once: bool) -> None:
    few, many = (effort_of_halving_after(trials, stop_once=stop_once) for trials in (100, 3000))
    assert many <= 1.2 * few
