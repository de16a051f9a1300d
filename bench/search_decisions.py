"""How fast a search decides: one experiment of 10,000 trials, from its first report to its last.

Reports, and the ends of runs that follow from them, go through the searcher's own `decide` and `evolve`, without a log
or a network around them. The last thousand reports are timed by themselves: they must cost what the first did.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from random import Random
from typing import Any

from bench.figures import Figure, tell
from bench.harness import percentile
from resolute.proto.experiment import (
    CreateExperiment,
    ReportValidation,
    TrialRunRequested,
    TrialStopRequested,
)
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited
from resolute.proto.states import ExperimentState
from resolute.search import user_commands
from resolute.search.decide import Notification, decide
from resolute.search.experiment import Experiment, evolve
from resolute.search.reports import CloseTrial

TRIALS, AT_ONCE = 10_000, 256
LADDER = {"max_length": {"batches": 256}, "divisor": 4, "max_trials": TRIALS, "max_concurrent_trials": AT_ONCE}
SEARCHES: Mapping[str, dict[str, Any]] = {
    "async_halving, promoting": {"name": "async_halving", "num_rungs": 5, **LADDER},
    "async_halving, stopping": {"name": "async_halving", "num_rungs": 5, "stop_once": True, **LADDER},
    "adaptive_asha, standard": {"name": "adaptive_asha", **LADDER},
}


@dataclass
class Cluster:
    """Answers what the experiment asks for, at once; which trial is next to report is up to chance."""

    experiment: Experiment
    rng: Random
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    running: list[int] = field(default_factory=list)
    taken_s: list[float] = field(default_factory=list)
    """By report, the processor time of deciding and folding, in seconds: other processes do not change it."""
    messages: int = 0

    def happens(self, events: list[Event]) -> None:
        reduce(evolve, events, self.experiment)
        for event in events:
            match event:
                case TrialRunRequested(trial_id=trial_id):
                    self.running.append(trial_id)
                case TrialStopRequested(trial_id=trial_id, allocation_id=""):
                    self.carry_out(CloseTrial(trial_id))
                case TrialStopRequested(trial_id=trial_id, allocation_id=allocation):
                    self.carry_out(_yielded(trial_id, allocation))

    def carry_out(self, message: Notification | ReportValidation) -> None:
        self.messages += 1
        self.happens(decide(message, self.experiment, self.ids))

    def report(self) -> None:
        place = self.rng.randrange(len(self.running))
        self.running[place], self.running[-1] = self.running[-1], self.running[place]
        one = self.experiment.trials[self.running.pop()]
        if one.allocation_id is None or one.state.name != "ACTIVE":
            return
        assert one.target is not None
        message = ReportValidation(1, one.trial_id, one.run_id, one.target, self.rng.random())
        started = time.thread_time()
        events = decide(message, self.experiment, self.ids)
        reduce(evolve, events, self.experiment)
        self.taken_s.append(time.thread_time() - started)
        self.messages += 1
        self.follow(one.trial_id, events)

    def follow(self, trial_id: int, events: list[Event]) -> None:
        """The trial that reported goes on, unless it has to stop; requests to other services are carried out at
        once."""
        if not any(isinstance(event, TrialStopRequested) and event.trial_id == trial_id for event in events):
            self.running.append(trial_id)
        for event in events:
            match event:
                case TrialRunRequested():
                    self.running.append(event.trial_id)
                case TrialStopRequested(allocation_id=allocation) if allocation:
                    self.carry_out(_yielded(event.trial_id, allocation))
                case TrialStopRequested():
                    self.carry_out(CloseTrial(event.trial_id))


def _yielded(trial_id: int, allocation: str) -> AllocationExited:
    return AllocationExited(allocation, "yielded", 0, "", allocation.rpartition(".")[0], 1, trial_id)


def searched(searcher: dict[str, Any]) -> tuple[Cluster, float]:
    """The search, played to its end, and how long all of it took."""
    space = {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}, "global_batch_size": 32}
    config = {"searcher": {"metric": "loss", **searcher}, "hyperparameters": space}
    submission = CreateExperiment("bench", config, "", 1, "ada", 1, 7)
    cluster = Cluster(Experiment(), Random(7))
    started = time.perf_counter()
    cluster.happens(user_commands.create(submission, 1, cluster.ids))
    while cluster.experiment.state is ExperimentState.ACTIVE:
        cluster.report()
    return cluster, time.perf_counter() - started


def measured(name: str, searcher: dict[str, Any]) -> list[Figure]:
    cluster, took_s = searched(searcher)
    taken = cluster.taken_s
    first, last = sum(taken[:1000]) / 1000, sum(taken[-1000:]) / 1000
    assert len(cluster.experiment.trials) == TRIALS
    return [
        Figure(f"{name}: reports decided", len(taken) / sum(taken), "/s"),
        Figure(f"{name}: a report, p99", percentile(taken, 99) * 1e6, "us"),
        Figure(f"{name}: the last 1,000 reports against the first", last / first, "times", 2, at_most=True),
        Figure(f"{name}: the whole search, {cluster.messages:,} messages", took_s, "s"),
    ]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    figures = [figure for name, searcher in SEARCHES.items() for figure in measured(name, searcher)]
    tell("search_decisions", figures)


if __name__ == "__main__":
    main()
