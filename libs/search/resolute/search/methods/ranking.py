"""How the results at a rung are compared: which trial moves on next, and which one has to stop.

What was decided is recorded in the event, and a search that is folded again only reads that. So `Ranking` may be
corrected: the change has an effect on decisions to come and on nothing that has happened. Events of the releases that
recorded no decisions are the exception. They are read by `FirstRanking`, which therefore must never change.
"""

from __future__ import annotations

from resolute.search.methods.rung import WORST, Draft, Result


class FirstRanking:
    """The rule of the releases that did not record what they decided. It reads their events, and decides nothing."""

    def next_to_move_on(self, draft: Draft, divisor: float) -> Result | None:
        """The best result of those that have not moved on, if it is among the best 1/divisor of all."""
        best = draft.best_waiting()
        return best if best is not None and draft.rank(best) < int(draft.count / divisor) else None

    def may_train_on(self, result: Result) -> bool:
        """Whether the trial of a result whose turn it is to move on trains for it, or is only counted further up."""
        return True

    def arriving(self, draft: Draft, trial_id: int, metric: float) -> Result:
        """The result of a trial that passes a rung, where the worse ones stop.

        Of equal results the latest ranks first: a trial is not stopped for being as good as those that stay. Results
        that are no number are equally bad, and of those the first ranks first.
        """
        return Result(metric, draft.next_turn if metric == WORST else -draft.next_turn, trial_id)

    def stays(self, draft: Draft, result: Result, divisor: float) -> bool:
        """Whether a trial that arrived with this result trains on: one of the best 1/divisor so far, at least one."""
        return draft.rank(result) < best_of(draft, divisor)


class Ranking(FirstRanking):
    """The rule by which searches decide now: a result that is no number never earns a trial further training.

    Such a result moves up like that of a trial that has ended: it counts among the results of the rungs above, as the
    worst, so that those rungs fill and the better trials there can move on.
    """

    def may_train_on(self, result: Result) -> bool:
        return result.metric < WORST

    def stays(self, draft: Draft, result: Result, divisor: float) -> bool:
        return result.metric < WORST and super().stays(draft, result, divisor)


def best_of(draft: Draft, divisor: float) -> int:
    """How many trials stay at a rung at which the worse ones stop."""
    return max(int(draft.count / divisor), 1)


FIRST = FirstRanking()
NOW = Ranking()
