"""Halving searches: `async_halving`, which is one bracket, and `adaptive_asha`, a tournament over several.

The brackets share one counter of trials, and so one sequence of points of the space; a trial's reports concern only
its own bracket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from resolute.config import OPEN_TRIALS_MAX, rung_lengths
from resolute.proto.experiment import (
    SearchOperationsPosted,
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialTargetReached,
    TrialValidated,
)
from resolute.searcher import derive
from resolute.searcher.methods.bracket import Bracket, Ladder
from resolute.searcher.methods.brackets import bracket_concurrency, bracket_rungs, bracket_trials
from resolute.searcher.methods.method import CreateTrial, Operation, Shutdown, Told, draw_trial
from resolute.searcher.methods.promoting import PromotingBracket
from resolute.searcher.methods.stopping import StoppingBracket
from resolute.searcher.settings import Settings


def async_halving(settings: Settings, seed: int) -> HalvingSearch:
    searcher = settings.searcher
    assert searcher.num_rungs is not None, "checked at submission"
    at_once = searcher.max_concurrent_trials or int(
        max(min(searcher.divisor ** (searcher.num_rungs - 1), searcher.max_trials), 1)
    )
    return HalvingSearch(settings, seed, [_ladder(settings, searcher.num_rungs, searcher.max_trials, at_once)])


def adaptive_asha(settings: Settings, seed: int) -> HalvingSearch:
    searcher = settings.searcher
    rungs = bracket_rungs(searcher)
    trials = bracket_trials(rungs, searcher.max_trials, searcher.divisor)
    at_once = bracket_concurrency(trials, searcher.max_concurrent_trials, searcher.divisor)
    return HalvingSearch(
        settings, seed, [_ladder(settings, *each) for each in zip(rungs, trials, at_once, strict=True)]
    )


def _ladder(settings: Settings, rungs: int, max_trials: int, at_once: int) -> Ladder:
    searcher = settings.searcher
    assert searcher.longest is not None, "a halving search has a longest length"
    return Ladder(
        lengths=tuple(rung_lengths(searcher.longest, searcher.divisor, rungs)),
        divisor=searcher.divisor,
        max_trials=max_trials,
        at_once=min(at_once, OPEN_TRIALS_MAX),
        sign=1 if searcher.smaller_is_better else -1,
        sets_targets=searcher.max_length is not None,
    )


class HalvingSearch:
    def __init__(self, settings: Settings, seed: int, ladders: Sequence[Ladder]) -> None:
        stops = settings.searcher.stop_once or settings.searcher.time_metric is not None
        form = StoppingBracket if stops else PromotingBracket
        self._settings, self._seed = settings, seed
        self.brackets: list[Bracket] = [form(ladder) for ladder in ladders]
        self._coming: dict[str, int] = {}
        """The bracket of each trial that was asked for and is not created yet, by its request."""
        self._place: dict[int, int] = {}
        """The bracket of each trial that has not ended."""
        self._drawn = 0
        self._reported = False
        """Whether any trial has reported the metric, as a number or as NaN."""
        self._compared = False
        """Whether any trial has reported a number, so that it could be compared."""
        self._invalid: set[int] = set()
        self._outcomes: Counter[str] = Counter()
        for place, bracket in enumerate(self.brackets):
            self._expect(place, bracket.ladder.first)

    def _expect(self, place: int, fresh: int) -> None:
        for _ in range(fresh):
            self._coming[derive.request_id(self._seed, self._drawn)] = place
            self._drawn += 1

    def start(self) -> list[Operation]:
        firsts = [place for place, bracket in enumerate(self.brackets) for _ in range(bracket.ladder.first)]
        return [self._draw(index, place) for index, place in enumerate(firsts)]

    def _draw(self, index: int, place: int) -> CreateTrial:
        ladder = self.brackets[place].ladder
        return draw_trial(self._settings, self._seed, index, ladder.lengths[0] if ladder.sets_targets else None)

    def next(self, event: Told) -> list[Operation]:
        place = self._bracket_of(event)
        if place is None or self.brackets[place].is_over:
            return []
        plan = self.brackets[place].next(event)
        others = self.brackets[:place] + self.brackets[place + 1 :]
        if self.brackets[place].is_over_after(plan) and all(other.is_over for other in others):
            return [self._shutdown(event)]  # which stops all that is still open
        return [*plan.operations, *(self._draw(self._drawn + i, place) for i in range(plan.fresh))]

    def evolve(self, event: Told) -> None:
        place = self._bracket_of(event)
        if place is None:
            return
        self._note(event, place)
        plan = self.brackets[place].evolve(event)
        self._expect(place, plan.fresh)

    def _bracket_of(self, event: Told) -> int | None:
        match event:
            case TrialCreated(request_id=request_id):
                return self._coming.get(request_id)
            case SearchOperationsPosted():
                return None
        return self._place.get(event.trial_id)

    def _note(self, event: Told, place: int) -> None:
        match event:
            case TrialCreated(trial_id=trial_id, request_id=request_id):
                self._place[trial_id] = place
                del self._coming[request_id]
            case TrialTargetReached() | TrialValidated():
                self._reported = True
                self._compared = self._compared or event.metric is not None
            case TrialEarlyExitReported(reason="INVALID_HP"):
                self._invalid.add(event.trial_id)
            case TrialEnded():
                self._outcomes[self._outcome(event)] += 1
                del self._place[event.trial_id]

    def _outcome(self, ended: TrialEnded) -> str:
        return "INVALID" if ended.trial_id in self._invalid else ended.outcome

    def _shutdown(self, event: Told) -> Shutdown:
        """It failed when every trial did; one that was stopped, or waits, did what was asked of it."""
        outcomes = self._outcomes + Counter([self._outcome(event)] if isinstance(event, TrialEnded) else [])
        trials = sum(bracket.ladder.max_trials for bracket in self.brackets)
        if outcomes.total() < self._drawn or outcomes["COMPLETED"]:
            return Shutdown("COMPLETED", self._completed(event, trials))
        reason = event.reason if isinstance(event, TrialEnded) else ""
        if outcomes["ERROR"]:
            return Shutdown("ERROR", f"no trial completed; the last one's end: {reason}")
        if outcomes["CANCELED"]:
            return Shutdown("CANCELED", "all its trials were canceled")
        return Shutdown("ERROR", f"{outcomes['INVALID']} trials reported their hyperparameters as invalid")

    def _completed(self, last: Told, trials: int) -> str:
        report = last if isinstance(last, TrialTargetReached | TrialValidated) else None
        if self._compared or (report is not None and report.metric is not None):
            return f"all {trials} trials have trained as far as they were worth"
        if self._reported or report is not None:
            return (
                f"all {trials} trials have ended, and none could be compared: each reported NaN or an infinity for "
                f"{self._settings.searcher.metric!r}"
            )
        return (
            f"all {trials} trials have ended, and none was compared: searcher.metric is "
            f"{self._settings.searcher.metric!r}, which no validation reported; report it, or name another"
        )

    def progress(self) -> float:
        """The brackets' own, by their trials."""
        if all(bracket.is_over for bracket in self.brackets):
            return 1.0
        trials = sum(bracket.ladder.max_trials for bracket in self.brackets)
        return sum(bracket.progress * bracket.ladder.max_trials for bracket in self.brackets) / trials
