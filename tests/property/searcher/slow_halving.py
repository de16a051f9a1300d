"""Asynchronous halving told again as plainly as possible: everything is looked up anew at each event.

Written from the papers and from what Determined does, not from `resolute.search.methods`, to be held against it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

Asked = list[tuple[object, ...]]
"""("train", trial, length), ("wait", trial), ("stop", trial), and ("create",) for each new trial."""

WORST = math.inf


@dataclass
class SlowHalving:
    lengths: Sequence[int]
    divisor: float
    max_trials: int
    at_once: int
    rungs: list[list[tuple[float, int, int]]] = field(default_factory=list)
    """Of each rung the results in the order in which they came: metric, place in a tie, trial."""
    place: dict[int, int] = field(default_factory=dict)
    """The rung that each trial in training has yet to reach."""
    created: int = 0
    arrivals: int = 0
    """Results there ever were, of any rung: taking one away leaves the others' order as it was."""
    invalid: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rungs = [[] for _ in self.lengths]
        self.wanted = min(self.at_once, self.max_trials)

    def create(self, trial: int) -> None:
        self.place[trial] = 0
        self.created += 1

    def fresh(self) -> Asked:
        if self.wanted - len(self.invalid) >= self.max_trials:
            return []
        self.wanted += 1
        return [("create",)]

    def is_over(self) -> bool:
        return not self.place and self.created == self.wanted

    def leave_out(self, trial: int) -> Asked:
        self.invalid.add(trial)
        self.rungs = [[result for result in rung if result[2] != trial] for rung in self.rungs]
        return []


@dataclass
class SlowPromoting(SlowHalving):
    """Algorithm 2 of the paper, `get_job`, asked whenever a trial comes to rest."""

    promoted: list[set[int]] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.promoted = [set() for _ in self.lengths]

    def report(self, trial: int, metric: float) -> Asked:
        rung = self.place.pop(trial)
        self.put(rung, trial, metric)
        job = self.get_job()
        if job[:2] == [("train", trial)] or (job and job[0][:2] == ("train", trial)):
            return job
        return [("stop", trial) if rung == len(self.lengths) - 1 else ("wait", trial), *job]

    def end(self, trial: int, *, invalid: bool = False) -> Asked:
        rung = self.place.pop(trial, None)
        if rung is None:
            self.ended.add(trial)
            return []
        if invalid:
            self.leave_out(trial)
        else:
            self.ended.add(trial)
            self.put(rung, trial, WORST)
        return self.get_job()

    def put(self, rung: int, trial: int, metric: float) -> None:
        self.arrivals += 1
        self.rungs[rung].append((metric, self.arrivals, trial))

    def get_job(self) -> Asked:
        for rung in range(len(self.lengths) - 2, -1, -1):
            for metric, _, trial in sorted(self.rungs[rung])[: int(len(self.rungs[rung]) / self.divisor)]:
                if trial in self.promoted[rung]:
                    continue
                self.promoted[rung].add(trial)
                if trial in self.ended or metric == WORST:  # it counts further up, and does not train
                    self.put(rung + 1, trial, WORST)
                    return self.get_job()
                self.place[trial] = rung + 1
                return [("train", trial, self.lengths[rung + 1])]
        return self.fresh()


@dataclass
class SlowStopping(SlowHalving):
    targets: bool = True

    def report(self, trial: int, metric: float, came_to: float) -> Asked:
        for rung in range(self.place[trial], len(self.lengths)):
            if came_to < self.lengths[rung]:
                moved = rung > self.place[trial]
                self.place[trial] = rung
                return [("train", trial, self.lengths[rung])] if moved and self.targets else []
            better = sum(other < metric for other, _, _ in self.rungs[rung])
            self.rungs[rung].append((metric, 0, trial))
            if metric == WORST or better >= max(int(len(self.rungs[rung]) / self.divisor), 1):
                break
        del self.place[trial]
        return [("stop", trial), *self.fresh()]

    def end(self, trial: int, *, invalid: bool = False) -> Asked:
        rung = self.place.pop(trial, None)
        if rung is None:
            return []
        if invalid:
            self.leave_out(trial)
        else:
            self.rungs[rung].append((WORST, 0, trial))
        return self.fresh()
