"""What a report costs does not depend on how many trials there were before it."""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable
from functools import reduce
from types import FrameType
from typing import Any

from resolute.proto.experiment import ReportValidation
from resolute.proto.message import Event
from resolute.searcher import wishes
from resolute.searcher.decide import decide
from resolute.searcher.experiment import Experiment, evolve
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
    happens(wishes.create(submission(merged), EXPERIMENT, ids))
    for _ in range(trials):
        ends()
    latest = next(reversed(experiment.open.values()))
    report = ReportValidation(EXPERIMENT, latest.trial_id, latest.run_id, 20, 0.5)
    return calls(lambda: happens(decide(report, experiment, ids))), calls(ends)


def test_a_report_costs_the_same_in_a_search_of_ten_trials_and_of_thousands() -> None:
    assert effort_after(10) == effort_after(3000)
