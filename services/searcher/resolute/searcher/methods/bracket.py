"""A bracket: one ladder of rungs with a budget of trials of its own, and what both forms of halving share.

Asynchronous successive halving: Li et al., A System for Massively Parallel Hyperparameter Tuning, MLSys 2020
(arXiv:1810.05934). `promoting` has the form in which trials wait to be promoted, `stopping` that in which they are
stopped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TypeAlias

from resolute.proto.experiment import TrialCreated, TrialEarlyExitReported, TrialEnded
from resolute.searcher.methods.method import REPLACED_MOST, StopTrial, Told, TrainTo, Wait
from resolute.searcher.methods.rung import WORST, Draft, Rung


@dataclass(frozen=True, slots=True)
class Ladder:
    """A bracket's settings. Metrics are multiplied by `sign`, so that smaller is better."""

    lengths: tuple[int, ...]
    divisor: float
    max_trials: int
    at_once: int
    """Trials that it begins with, and so has in training at most."""
    sign: int = 1
    sets_targets: bool = True
    """False in a search by time: then trials train until they are told to stop."""

    @property
    def first(self) -> int:
        return min(self.at_once, self.max_trials)

    def signed(self, metric: float | None) -> float:
        return WORST if metric is None else self.sign * metric


@dataclass(frozen=True, slots=True)
class Plan:
    """What a bracket decides when something happens: what is asked for, and what it will remember of that."""

    operations: tuple[TrainTo | Wait | StopTrial, ...] = ()
    fresh: int = 0
    """New trials to draw."""
    drafts: dict[int, Draft] = field(default_factory=dict)
    """Of the rungs that change, by their place."""
    goals: dict[int, int | None] = field(default_factory=dict)
    """The place of the rung each of these trials trains to from now on; None when it trains no more."""
    invalid: bool = False
    """The trial is replaced, and counts for nothing."""


Change: TypeAlias = Plan | None
"""None where nothing is decided."""


class Bracket(ABC):
    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self._rungs = [Rung(length) for length in ladder.lengths]
        self._goal: dict[int, int] = {}
        """The place of the rung that each trial in training has yet to reach."""
        self._ended: set[int] = set()
        self._invalid: set[int] = set()
        self._wanted = ladder.first
        """Trials ever, but for those that were replaced."""
        self._coming = ladder.first
        """Trials that were asked for and are not created yet."""
        self._replaced = 0
        self._progress = 0.0

    @abstractmethod
    def _decide(self, event: Told) -> Change:
        """Only reads."""

    def next(self, event: Told) -> Plan:
        return self._decide(event) or Plan()

    def evolve(self, event: Told) -> Plan:
        """What was decided, and is remembered."""
        match event:
            case TrialCreated(trial_id=trial_id):
                self._goal[trial_id] = 0
                self._coming -= 1
            case TrialEarlyExitReported(trial_id=trial_id, reason="INVALID_HP"):
                self._invalid.add(trial_id)
        plan = self._decide(event) or Plan()
        self._remember(plan)
        if isinstance(event, TrialEnded):
            self._ended.add(event.trial_id)
        self._progress = max(self._progress, self._share_done())
        return plan

    @property
    def is_over(self) -> bool:
        """Nothing trains any more, and nothing more will be drawn."""
        return not self._goal and not self._coming

    def is_over_after(self, plan: Plan) -> bool:
        leaving = sum(goal is None and trial_id in self._goal for trial_id, goal in plan.goals.items())
        coming = sum(goal is not None and trial_id not in self._goal for trial_id, goal in plan.goals.items())
        return len(self._goal) + self._coming + plan.fresh + coming == leaving

    @property
    def progress(self) -> float:
        return self._progress

    def _remember(self, plan: Plan) -> None:
        for draft in plan.drafts.values():
            draft.apply()
        for trial_id, goal in plan.goals.items():
            if goal is None:
                self._goal.pop(trial_id, None)
            else:
                self._goal[trial_id] = goal
        self._wanted += plan.fresh - plan.invalid
        self._coming += plan.fresh
        self._replaced += plan.invalid

    def _may_draw(self, replacing: bool) -> bool:
        return self._wanted - replacing < self.ladder.max_trials

    def _is_replaced(self, trial_id: int) -> bool:
        """A space in which hardly any point is valid does not keep the cluster busy for ever."""
        most = max(REPLACED_MOST, 10 * self.ladder.max_trials)
        return trial_id in self._invalid and self._replaced < most

    def _share_done(self) -> float:
        """The trials that the first rung has seen, of 1.2 times as many as there shall be; once it has seen all, those
        that train no more."""
        most, seen = self.ladder.max_trials, len(self._rungs[0].results)
        return (most - len(self._goal)) / most if seen >= most else seen / (1.2 * most)
