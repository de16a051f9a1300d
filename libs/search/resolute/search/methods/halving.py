"""Halving searches: `async_halving`, which is one bracket, and `adaptive_asha`, a tournament over several.

The brackets share one counter of trials, and so one sequence of points of the space; a trial's reports concern only
its own bracket. How a search is divided into brackets is decided when it is created, and recorded then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from resolute.proto.experiment import (
    SearchBracket,
    SearchDecision,
    SearchOperationsPosted,
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialTargetReached,
    TrialValidated,
)
from resolute.proto.states import EarlyExit, End
from resolute.search import derive
from resolute.search.methods.bracket import Bracket, Deciding, Ladder
from resolute.search.methods.brackets import divide
from resolute.search.methods.method import Answer, CreateTrial, Operation, Report, SearchEvent, Shutdown, draw_trial
from resolute.search.methods.promoting import Promoting
from resolute.search.methods.ranking import FIRST, NOW
from resolute.search.methods.rung import is_number
from resolute.search.methods.stopping import Stopping
from resolute.search.settings import Settings

NOTHING = SearchDecision()


def _ladder(settings: Settings, bracket: SearchBracket) -> Ladder:
    searcher = settings.searcher
    return Ladder(
        lengths=bracket.lengths,
        divisor=searcher.divisor,
        max_trials=bracket.max_trials,
        at_once=bracket.at_once,
        sign=1 if searcher.smaller_is_better else -1,
        sets_targets=searcher.max_length is not None,
    )


class HalvingSearch:
    def __init__(self, settings: Settings, seed: int, brackets: Sequence[SearchBracket] | None = None) -> None:
        """`brackets`: as they were recorded when the search was created; without them it is divided here."""
        stops = settings.searcher.stop_once or settings.searcher.time_metric is not None
        self._form: type[Deciding] = Stopping if stops else Promoting
        self._settings, self._seed = settings, seed
        self.brackets = [Bracket(_ladder(settings, bracket)) for bracket in brackets or divide(settings.searcher)]
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

    def next(self, event: SearchEvent) -> Answer:
        place = self._bracket_of(event)
        if place is None or not isinstance(event, Report):
            return Answer(event, [])
        bracket = self.brackets[place]
        if bracket.is_over:
            return Answer(replace(event, decided=NOTHING), [])
        plan = self._form(bracket, NOW).plan(event)
        decided = replace(event, decided=plan.decision)
        others = self.brackets[:place] + self.brackets[place + 1 :]
        if bracket.is_over_after(plan) and all(other.is_over for other in others):
            return Answer(decided, [self._shutdown(event)])  # which stops all that is still open
        fresh = (self._draw(self._drawn + i, place) for i in range(plan.fresh))
        return Answer(decided, [*plan.operations, *fresh])

    def evolve(self, event: SearchEvent) -> None:
        place = self._bracket_of(event)
        if place is None:
            return
        self._note(event, place)
        bracket = self.brackets[place]
        bracket.note(event)
        if isinstance(event, Report):
            decision = self._decided(bracket, event)
            bracket.remember(event, decision)
            self._expect(place, decision.new_trials)

    def _decided(self, bracket: Bracket, event: Report) -> SearchDecision:
        """What was decided at an event that has happened: as it is recorded, or, in an event of a release that did not
        record it, by the rule of those releases."""
        return self._form(bracket, FIRST).plan(event).decision if event.decided is None else event.decided

    def _bracket_of(self, event: SearchEvent) -> int | None:
        match event:
            case TrialCreated(request_id=request_id):
                return self._coming.get(request_id)
            case SearchOperationsPosted():
                return None
        return self._place.get(event.trial_id)

    def _note(self, event: SearchEvent, place: int) -> None:
        match event:
            case TrialCreated(trial_id=trial_id, request_id=request_id):
                self._place[trial_id] = place
                del self._coming[request_id]
            case TrialTargetReached() | TrialValidated():
                self._reported = True
                self._compared = self._compared or is_number(event.metric)
            case TrialEarlyExitReported(reason=EarlyExit.INVALID_HP):
                self._invalid.add(event.trial_id)
            case TrialEnded():
                self._outcomes[self._outcome(event)] += 1
                del self._place[event.trial_id]

    def _outcome(self, ended: TrialEnded) -> str:
        return "INVALID" if ended.trial_id in self._invalid else ended.outcome

    def _shutdown(self, event: SearchEvent) -> Shutdown:
        """It failed when every trial did; one that was stopped, or waits, did what was asked of it."""
        outcomes = self._outcomes + Counter([self._outcome(event)] if isinstance(event, TrialEnded) else [])
        trials = sum(bracket.ladder.max_trials for bracket in self.brackets)
        if outcomes.total() < self._drawn or outcomes[End.COMPLETED]:
            return Shutdown(End.COMPLETED, self._completed(event, trials))
        reason = event.reason if isinstance(event, TrialEnded) else ""
        if outcomes[End.ERROR]:
            return Shutdown(End.ERROR, f"no trial completed; the last one's end: {reason}")
        if outcomes[End.CANCELED]:
            return Shutdown(End.CANCELED, "all its trials were canceled")
        return Shutdown(End.ERROR, f"{outcomes['INVALID']} trials reported their hyperparameters as invalid")

    def _completed(self, last: SearchEvent, trials: int) -> str:
        report = last if isinstance(last, TrialTargetReached | TrialValidated) else None
        if self._compared or (report is not None and is_number(report.metric)):
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
