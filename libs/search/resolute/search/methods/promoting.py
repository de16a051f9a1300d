"""The promoting form of asynchronous halving: trials train to a rung and wait there until they are among the best.

Whenever a trial comes to rest, its place in training goes to the best trial that may move on: from the highest rung
down, one that is among the best 1/divisor of its rung and has not moved on yet. Where there is none, a new trial is
drawn. No trial waits for a rung to fill.
"""

from __future__ import annotations

from dataclasses import dataclass

from resolute.proto.experiment import TrialEnded, TrialTargetReached
from resolute.search.methods.bracket import Bracket, Plan
from resolute.search.methods.method import Report, StopTrial, TrainTo, Wait
from resolute.search.methods.ranking import FirstRanking
from resolute.search.methods.rung import WORST, Draft, Result


@dataclass(frozen=True, slots=True)
class Promoting:
    bracket: Bracket
    ranking: FirstRanking

    def plan(self, event: Report) -> Plan:
        bracket = self.bracket
        match event:
            case TrialTargetReached(trial_id=trial_id) if trial_id in bracket.goals and trial_id not in bracket.invalid:
                return self._reached(trial_id, bracket.ladder.signed(event.metric))
            case TrialEnded(trial_id=trial_id) if trial_id in bracket.goals and bracket.is_replaced(trial_id):
                return self._replaced_by_another(trial_id)
            case TrialEnded(trial_id=trial_id) if trial_id in bracket.goals:
                return self._ended_early(trial_id)
        return Plan()

    def _reached(self, trial_id: int, metric: float) -> Plan:
        drafts, place = self._drafts(), self.bracket.goals[trial_id]
        result = self._add(drafts[place], trial_id, metric)
        promoted = self._promote(drafts)
        if promoted is not None and promoted[0].trial_id == trial_id:
            return self._plan(trial_id, promoted, drafts)
        return self._plan(trial_id, promoted, drafts, self._rest(result, place, drafts[place]))

    def _ended_early(self, trial_id: int) -> Plan:
        """It ranks worst where it was to go, and everywhere above should it ever be its turn to move on."""
        drafts = self._drafts()
        self._add(drafts[self.bracket.goals[trial_id]], trial_id, WORST)
        return self._plan(trial_id, self._promote(drafts, ended=trial_id), drafts)

    def _replaced_by_another(self, trial_id: int) -> Plan:
        """Its results, of rungs it had reached before it was found invalid, are taken away; others may move up."""
        drafts = self._drafts(without=trial_id)
        return self._plan(trial_id, self._promote(drafts), drafts, replaced=True)

    def _drafts(self, without: int | None = None) -> dict[int, Draft]:
        return {place: Draft(rung, without) for place, rung in enumerate(self.bracket.rungs)}

    def _add(self, draft: Draft, trial_id: int, metric: float) -> Result:
        """Of equal results the one that came first ranks first."""
        result = Result(metric, draft.next_turn, trial_id)
        draft.added.append(result)
        return result

    def _promote(self, drafts: dict[int, Draft], ended: int | None = None) -> tuple[TrainTo, int] | None:
        """Who takes the place in training that has become free, and at which rung; None when a new trial may have it.

        A trial that cannot train on, because it has ended or its result is no number, moves up all the same, as the
        worst: or the rungs above would never fill.
        """
        rungs = self.bracket.rungs
        place = len(rungs) - 2
        while place >= 0:
            best = self.ranking.next_to_move_on(drafts[place], self.bracket.ladder.divisor)
            if best is None:
                place -= 1
                continue
            drafts[place].moved_on.append(best)
            if best.trial_id != ended and best.trial_id not in self.bracket.ended and self.ranking.may_train_on(best):
                why = f"it is {self._standing(best, place, drafts[place])}"
                return TrainTo(best.trial_id, rungs[place + 1].length, why), place + 1
            self._add(drafts[place + 1], best.trial_id, WORST)
            place = min(place + 1, len(rungs) - 2)
        return None

    def _plan(
        self,
        trial_id: int,
        promoted: tuple[TrainTo, int] | None,
        drafts: dict[int, Draft],
        rest: Wait | StopTrial | None = None,
        *,
        replaced: bool = False,
    ) -> Plan:
        """`trial_id` has stopped at a rung; `rest` says at which, where the bracket has not recorded it yet."""
        operations = [] if rest is None else [rest]
        goals: dict[int, int | None] = {trial_id: None}
        if promoted is None:
            return Plan(tuple(operations), int(self.bracket.may_draw(replaced)), drafts, goals, replaced)
        onwards, place = promoted
        goals[onwards.trial_id] = place
        return Plan((*operations, onwards), 0, drafts, goals, replaced)

    def _rest(self, result: Result, place: int, draft: Draft) -> Wait | StopTrial:
        if place == len(self.bracket.rungs) - 1:
            return StopTrial(result.trial_id, f"it has trained to the top rung, at {draft.rung.length}")
        if not self.ranking.may_train_on(result):
            at = f"rung {place} (at {draft.rung.length})"
            return Wait(result.trial_id, f"its metric at {at} is not a finite number, and no such trial trains on")
        return Wait(result.trial_id, f"it is {self._standing(result, place, draft)}")

    def _standing(self, result: Result, place: int, draft: Draft) -> str:
        rank, best = draft.rank(result) + 1, int(draft.count / self.bracket.ladder.divisor)
        at = f"rung {place} (at {draft.rung.length})"
        return f"number {rank} of {draft.count} at {at}, from which the best {best} train on"
