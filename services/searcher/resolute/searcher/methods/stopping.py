"""The stopping form of asynchronous halving: a trial trains on while it is among the best of each rung that it passes.

It is compared once, as it arrives at a rung, with those that were there before it. What is stopped stays so, and a new
trial takes its place.
"""

from __future__ import annotations

from resolute.proto.experiment import TrialEnded, TrialTargetReached, TrialValidated
from resolute.searcher.methods.bracket import Bracket, Change, Plan
from resolute.searcher.methods.method import StopTrial, Told, TrainTo
from resolute.searcher.methods.rung import WORST, Draft, Result


class StoppingBracket(Bracket):
    def _decide(self, event: Told) -> Change:
        match event:
            case TrialTargetReached(trial_id=trial_id, length=length) if self._listens_to(trial_id):
                return self._passed(trial_id, length, self.ladder.signed(event.metric))
            case TrialValidated(trial_id=trial_id, time=float() | int() as time) if (
                not self.ladder.sets_targets and self._listens_to(trial_id)
            ):
                return self._passed(trial_id, time, self.ladder.signed(event.metric))
            case TrialEnded(trial_id=trial_id) if trial_id in self._goal:
                return self._ended_early(trial_id)
        return None

    def _listens_to(self, trial_id: int) -> bool:
        return trial_id in self._goal and trial_id not in self._invalid

    def _passed(self, trial_id: int, came_to: float, metric: float) -> Change:
        """One report may cover several rungs; the first that the trial is not good enough for stops it."""
        drafts: dict[int, Draft] = {}
        for place in range(self._goal[trial_id], len(self._rungs)):
            if self._rungs[place].length > came_to:
                return self._trains_on(trial_id, place, drafts) if drafts else None
            drafts[place] = Draft(self._rungs[place])
            rank, stays = self._rank(drafts[place], trial_id, metric)
            if rank >= stays:
                return self._stop(trial_id, drafts, self._why(place, drafts[place], rank, stays))
        return self._stop(trial_id, drafts, f"it has trained to the top rung, at {self._rungs[-1].length}")

    def _rank(self, draft: Draft, trial_id: int, metric: float) -> tuple[int, int]:
        """The trial's rank, from 0, and how many of the rung stay.

        Of equal results the latest ranks first: a trial is not stopped for being as good as those that stay. Those
        without a metric are the worst, and that is nobody's merit.
        """
        turn = draft.next_turn if metric == WORST else -draft.next_turn
        result = Result(metric, turn, trial_id)
        draft.added.append(result)
        return draft.rank(result), max(int(draft.count / self.ladder.divisor), 1)

    def _trains_on(self, trial_id: int, place: int, drafts: dict[int, Draft]) -> Plan:
        if not self.ladder.sets_targets:
            return Plan(drafts=drafts, goals={trial_id: place})
        passed = drafts[place - 1]
        stays = max(int(passed.count / self.ladder.divisor), 1)
        why = self._why(place - 1, passed, passed.rank(passed.added[0]), stays)
        return Plan((TrainTo(trial_id, self._rungs[place].length, why),), drafts=drafts, goals={trial_id: place})

    def _stop(self, trial_id: int, drafts: dict[int, Draft], why: str) -> Plan:
        return Plan((StopTrial(trial_id, why),), int(self._may_draw(replacing=False)), drafts, {trial_id: None})

    def _ended_early(self, trial_id: int) -> Plan:
        """It counts as the worst at the rung it was to reach next; an invalid one has never been."""
        if self._is_replaced(trial_id):
            drafts = {place: Draft(rung, without=trial_id) for place, rung in enumerate(self._rungs)}
            return Plan((), int(self._may_draw(replacing=True)), drafts, {trial_id: None}, invalid=True)
        place = self._goal[trial_id]
        draft = Draft(self._rungs[place])
        draft.added.append(Result(WORST, draft.next_turn, trial_id))
        return Plan((), int(self._may_draw(replacing=False)), {place: draft}, {trial_id: None})

    def _why(self, place: int, draft: Draft, rank: int, stays: int) -> str:
        at = f"rung {place} (at {draft.rung.length})"
        return f"it is number {rank + 1} of {draft.count} at {at}, of which the best {stays} train on"
