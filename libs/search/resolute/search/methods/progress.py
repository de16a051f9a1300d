"""How far the trials of a search have come, kept as a running sum."""

from __future__ import annotations

from resolute.proto.experiment import TrialEnded, TrialTargetReached, TrialValidated
from resolute.search.settings import Settings


class Progress:
    """By how far each trial trains, where that is known; without it only trials that have ended count."""

    def __init__(self, settings: Settings) -> None:
        self._batches, self._target = settings.length_batches, settings.max_target
        self._shares: dict[int, float] = {}
        self._sum = 0.0

    def evolve(self, event: TrialValidated | TrialTargetReached | TrialEnded) -> None:
        match event:
            case TrialEnded():
                self._note(event.trial_id, 1.0)
            case TrialTargetReached(length=length) if self._target:
                self._note(event.trial_id, min(1.0, length / self._target))
            case TrialValidated(steps_completed=steps) if self._batches:
                self._note(event.trial_id, min(1.0, steps / self._batches))

    def _note(self, trial_id: int, share: float) -> None:
        before = self._shares.get(trial_id, 0.0)
        self._shares[trial_id] = max(before, share)
        self._sum += self._shares[trial_id] - before

    def of(self, trials: int, without: int = 0) -> float:
        """The share done of a search of `trials` trials; `without` so many that have ended and do not count."""
        return min(1.0, (self._sum - without) / trials)
