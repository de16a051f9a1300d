"""A bracket: one ladder of rungs with a budget of trials of its own, and what has happened on it.

Asynchronous successive halving: Li et al., A System for Massively Parallel Hyperparameter Tuning, MLSys 2020
(arXiv:1810.05934). A bracket only remembers. Decisions are made by `promoting`, the form in which trials wait to be
promoted, or by `stopping`, the form in which they are stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from resolute.proto.experiment import (
    SearchDecision,
    TrialAim,
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
)
from resolute.proto.states import EarlyExit
from resolute.search.methods.method import REPLACED_MOST, Report, SearchEvent, StopTrial, TrainTo, Wait
from resolute.search.methods.ranking import FirstRanking
from resolute.search.methods.rung import WORST, Draft, Rung, is_number


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
    """False in a search by time: then trials train until they are asked to stop."""

    @property
    def first(self) -> int:
        return min(self.at_once, self.max_trials)

    def signed(self, metric: float | None) -> float:
        """NaN and both infinities rank last, whichever direction is better."""
        return self.sign * metric if is_number(metric) else WORST


@dataclass(frozen=True, slots=True)
class Plan:
    """What is decided in a bracket when something happens: what is asked for, and what is recorded of it."""

    operations: tuple[TrainTo | Wait | StopTrial, ...] = ()
    fresh: int = 0
    """New trials to draw."""
    drafts: dict[int, Draft] = field(default_factory=dict)
    """Of the rungs that may change, by their place."""
    goals: dict[int, int | None] = field(default_factory=dict)
    """The place of the rung each of these trials trains to from now on; None when it trains no more."""
    invalid: bool = False
    """The trial is replaced, and counts for nothing."""

    @property
    def decision(self) -> SearchDecision:
        changed = (draft.change(place) for place, draft in self.drafts.items() if draft.added or draft.moved_on)
        aims = tuple(TrialAim(trial_id, place) for trial_id, place in self.goals.items())
        return SearchDecision(tuple(changed), aims, self.fresh, self.invalid)


class Deciding(Protocol):
    """One form of halving, at work on a bracket."""

    def __init__(self, bracket: Bracket, ranking: FirstRanking) -> None: ...

    def plan(self, event: Report) -> Plan:
        """What to do when `event` happens now. Only reads."""
        ...


class Bracket:
    """What has happened in a bracket. Nothing is decided here."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.rungs = [Rung(length) for length in ladder.lengths]
        self.goals: dict[int, int] = {}
        """The place of the rung that each trial in training has yet to reach."""
        self.ended: set[int] = set()
        self.invalid: set[int] = set()
        self._wanted = ladder.first
        """Trials ever, but for those that were replaced."""
        self._coming = ladder.first
        """Trials that were asked for and are not created yet."""
        self._replaced = 0
        self._progress = 0.0

    def note(self, event: SearchEvent) -> None:
        """Something has happened that decides nothing by itself."""
        match event:
            case TrialCreated(trial_id=trial_id):
                self.goals[trial_id] = 0
                self._coming -= 1
            case TrialEarlyExitReported(trial_id=trial_id, reason=EarlyExit.INVALID_HP):
                self.invalid.add(trial_id)

    def remember(self, event: Report, decision: SearchDecision) -> None:
        """`event` has happened, and this is what was decided at it."""
        if decision.replaced:
            for rung in self.rungs:
                rung.forget(event.trial_id)
        for change in decision.rungs:
            self.rungs[change.rung].remember(change)
        for aim in decision.aims:
            self._aim(aim)
        self._wanted += decision.new_trials - decision.replaced
        self._coming += decision.new_trials
        self._replaced += decision.replaced
        if isinstance(event, TrialEnded):
            self.ended.add(event.trial_id)
            self.goals.pop(event.trial_id, None)
        self._progress = max(self._progress, self._share_done())

    def _aim(self, aim: TrialAim) -> None:
        if aim.rung is None:
            self.goals.pop(aim.trial_id, None)
        else:
            self.goals[aim.trial_id] = aim.rung

    @property
    def is_over(self) -> bool:
        """Nothing trains any more, and nothing more will be drawn."""
        return not self.goals and not self._coming

    def is_over_after(self, plan: Plan) -> bool:
        leaving = sum(goal is None and trial_id in self.goals for trial_id, goal in plan.goals.items())
        coming = sum(goal is not None and trial_id not in self.goals for trial_id, goal in plan.goals.items())
        return len(self.goals) + self._coming + plan.fresh + coming == leaving

    @property
    def progress(self) -> float:
        return self._progress

    def may_draw(self, replacing: bool) -> bool:
        return self._wanted - replacing < self.ladder.max_trials

    def is_replaced(self, trial_id: int) -> bool:
        """A space in which hardly any point is valid does not keep the cluster busy for ever."""
        most = max(REPLACED_MOST, 10 * self.ladder.max_trials)
        return trial_id in self.invalid and self._replaced < most

    def _share_done(self) -> float:
        """The trials that the first rung has seen, of 1.2 times as many as there shall be; once it has seen all, those
        that train no more."""
        most, seen = self.ladder.max_trials, len(self.rungs[0].results)
        return (most - len(self.goals)) / most if seen >= most else seen / (1.2 * most)
