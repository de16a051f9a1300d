"""The stopping form of asynchronous halving: a trial trains on while it is among the best of each rung that it passes.

It is compared once, as it arrives at a rung, with those that were there before it. What is stopped stays so, and a new
trial takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass

from resolute.proto.experiment import TrialEnded, TrialTargetReached, TrialValidated
from resolute.search.methods.bracket import Bracket, Plan
from resolute.search.methods.method import Report, StopTrial, TrainTo
from resolute.search.methods.ranking import FirstRanking, best_of
from resolute.search.methods.rung import WORST, Draft, Result


@dataclass(frozen=True, slots=True)
class Stopping:
    bracket: Bracket
    ranking: FirstRanking

    def plan(self, event: Report) -> Plan:
        ladder = self.bracket.ladder
        match event:
            case TrialTargetReached(trial_id=trial_id, length=length) if self._listens_to(trial_id):
                return self._passed(trial_id, length, ladder.signed(event.metric))
            case TrialValidated(trial_id=trial_id, time=float() | int() as time) if (
                not ladder.sets_targets and self._listens_to(trial_id)
            ):
                return self._passed(trial_id, time, ladder.signed(event.metric))
            case TrialEnded(trial_id=trial_id) if trial_id in self.bracket.goals:
                return self._ended_early(trial_id)
        return Plan()

    def _listens_to(self, trial_id: int) -> bool:
        return trial_id in self.bracket.goals and trial_id not in self.bracket.invalid

    def _passed(self, trial_id: int, came_to: float, metric: float) -> Plan:
        """One report may cover several rungs; the first that the trial is not good enough for stops it."""
        drafts: dict[int, Draft] = {}
        rungs = self.bracket.rungs
        for place in range(self.bracket.goals[trial_id], len(rungs)):
            if rungs[place].length > came_to:
                return self._trains_on(trial_id, place, drafts) if drafts else Plan()
            drafts[place] = draft = Draft(rungs[place])
            result = self.ranking.arriving(draft, trial_id, metric)
            draft.added.append(result)
            if not self.ranking.stays(draft, result, self.bracket.ladder.divisor):
                return self._stop(trial_id, drafts, self._why(place, draft, result))
        return self._stop(trial_id, drafts, f"it has trained to the top rung, at {rungs[-1].length}")

    def _trains_on(self, trial_id: int, place: int, drafts: dict[int, Draft]) -> Plan:
        if not self.bracket.ladder.sets_targets:
            return Plan(drafts=drafts, goals={trial_id: place})
        passed = drafts[place - 1]
        onwards = TrainTo(trial_id, self.bracket.rungs[place].length, self._why(place - 1, passed, passed.added[0]))
        return Plan((onwards,), drafts=drafts, goals={trial_id: place})

    def _stop(self, trial_id: int, drafts: dict[int, Draft], why: str) -> Plan:
        fresh = int(self.bracket.may_draw(replacing=False))
        return Plan((StopTrial(trial_id, why),), fresh, drafts, {trial_id: None})

    def _ended_early(self, trial_id: int) -> Plan:
        """It counts as the worst at the rung it was to reach next; an invalid one has never been."""
        if self.bracket.is_replaced(trial_id):
            return Plan((), int(self.bracket.may_draw(replacing=True)), {}, {trial_id: None}, invalid=True)
        place = self.bracket.goals[trial_id]
        draft = Draft(self.bracket.rungs[place])
        draft.added.append(Result(WORST, draft.next_turn, trial_id))
        return Plan((), int(self.bracket.may_draw(replacing=False)), {place: draft}, {trial_id: None})

    def _why(self, place: int, draft: Draft, result: Result) -> str:
        at = f"rung {place} (at {draft.rung.length})"
        if result.metric == WORST:
            return f"its metric at {at} is not a finite number, and no such trial trains on"
        rank, best = draft.rank(result) + 1, best_of(draft, self.bracket.ladder.divisor)
        return f"it is number {rank} of {draft.count} at {at}, of which the best {best} train on"
