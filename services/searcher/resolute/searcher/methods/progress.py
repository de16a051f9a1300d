"""How far the trials of a search have come, kept as a running sum."""

from __future__ import annotations

from resolute.proto.experiment import TrialEnded, TrialValidated


class Progress:
    """`length_batches` is how far each trial trains; without it only trials that have ended count."""

    def __init__(self, length_batches: int | None) -> None:
        self._length = length_batches
        self._shares: dict[int, float] = {}
        self._sum = 0.0

    def evolve(self, event: TrialValidated | TrialEnded) -> None:
        if isinstance(event, TrialEnded):
            self._note(event.trial_id, 1.0)
        elif self._length:
            self._note(event.trial_id, min(1.0, event.steps_completed / self._length))

    def _note(self, trial_id: int, share: float) -> None:
        before = self._shares.get(trial_id, 0.0)
        self._shares[trial_id] = max(before, share)
        self._sum += self._shares[trial_id] - before

    def of(self, trials: int) -> float:
        """The share done of a search of `trials` trials."""
        return min(1.0, self._sum / trials)
