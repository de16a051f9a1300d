"""One rung of a halving search: the results that trials had there, best first, and which of them moved on.

A decision is made before anything has happened, so it is worked out on a `Draft`: the rung as it is, and the little
that would be added or taken away. Ranks come from bisection; a draft costs what is in it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import NamedTuple

WORST = math.inf
"""The metric of NaN, and of trials that ended before they had one."""


class Result(NamedTuple):
    """In the order of rank: by `metric`, signed so that smaller is better; among equals by `turn`."""

    metric: float
    turn: int
    trial_id: int


@dataclass(slots=True)
class Rung:
    """What `waiting` holds is in `results` too, and has not moved on.

    Both are plain sorted lists: to insert is to move pointers, some 2 µs among 10,000, and less than a tree costs.
    """

    length: int
    results: list[Result] = field(default_factory=list)
    waiting: list[Result] = field(default_factory=list)
    by_trial: dict[int, Result] = field(default_factory=dict)
    turns: int = 0
    """Results there ever were."""

    def add(self, result: Result) -> None:
        insort(self.results, result)
        insort(self.waiting, result)
        self.by_trial[result.trial_id] = result
        self.turns += 1

    def move_on(self, result: Result) -> None:
        _remove(self.waiting, result)

    def forget(self, trial_id: int) -> None:
        result = self.by_trial.pop(trial_id, None)
        if result is not None:
            _remove(self.results, result)
            _remove(self.waiting, result)


def _remove(results: list[Result], result: Result) -> None:
    place = bisect_left(results, result)
    if place < len(results) and results[place] == result:
        del results[place]


@dataclass(slots=True)
class Draft:
    """A rung with what is being decided: results added, one trial's taken away, results that move on."""

    rung: Rung
    without: int | None = None
    added: list[Result] = field(default_factory=list)
    moved_on: list[Result] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.rung.results) + len(self.added) - (self.without in self.rung.by_trial)

    @property
    def next_turn(self) -> int:
        return self.rung.turns + len(self.added)

    def rank(self, result: Result) -> int:
        """How many are better: 0 for the best."""
        better = bisect_left(self.rung.results, result) + sum(other < result for other in self.added)
        gone = self.rung.by_trial.get(self.without) if self.without is not None else None
        return better - (gone is not None and gone < result)

    def promotable(self, divisor: float) -> Result | None:
        """The best result of those that have not moved on, if it is among the best 1/divisor of all."""
        best = min((r for r in (self._first_waiting(), *self.added) if r and r not in self.moved_on), default=None)
        return best if best is not None and self.rank(best) < int(self.count / divisor) else None

    def _first_waiting(self) -> Result | None:
        left = (r for r in self.rung.waiting if r not in self.moved_on and r.trial_id != self.without)
        return next(left, None)

    def apply(self) -> None:
        if self.without is not None:
            self.rung.forget(self.without)
        for result in self.added:
            self.rung.add(result)
        for result in self.moved_on:
            self.rung.move_on(result)
