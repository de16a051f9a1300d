"""Random search: points drawn from the space independently, `max_concurrent_trials` of them in training at once.

A trial that reports its point as invalid is replaced by a fresh one and does not count; but a space in which hardly
any point is valid does not keep the cluster busy for ever. Random search as a baseline worth having: Bergstra and
Bengio, JMLR 13 (2012).
"""

from __future__ import annotations

from collections import Counter

from resolute.proto.experiment import (
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialTargetReached,
    TrialValidated,
)
from resolute.searcher.methods.method import CreateTrial, Operation, Shutdown, Told, draw_trial
from resolute.searcher.methods.progress import Progress
from resolute.searcher.settings import Settings

REPLACED_MOST = 100
"""So many invalid trials are replaced, and ten for each that was asked for."""


class RandomSearch:
    def __init__(self, settings: Settings, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._max_trials = settings.searcher.max_trials
        self._created = 0
        self._wanted = self._max_trials
        """Of all trials ever: `max_trials`, and one more for each invalid one."""
        self._open = 0
        self._invalid: set[int] = set()
        self._outcomes: Counter[str] = Counter()
        self._progress = Progress(settings)

    def start(self) -> list[Operation]:
        at_once = self._settings.searcher.max_concurrent_trials or self._max_trials  # 0 sets no limit
        return [self._draw(index) for index in range(min(at_once, self._max_trials))]

    def next(self, event: Told) -> list[Operation]:
        if not isinstance(event, TrialEnded):
            return []
        if self._created < self._wanted or self._replaced(event):
            return [self._draw(self._created)]
        return [self._shutdown(event)] if self._open == 1 else []

    def _draw(self, index: int) -> CreateTrial:
        return draw_trial(self._settings, self._seed, index, self._settings.max_target)

    def _replaced(self, ended: TrialEnded) -> bool:
        most = max(REPLACED_MOST, 10 * self._max_trials)
        return ended.trial_id in self._invalid and self._wanted < self._max_trials + most

    def _shutdown(self, last: TrialEnded) -> Shutdown:
        if last.trial_id in self._invalid and not self._outcomes["COMPLETED"]:
            return Shutdown("ERROR", f"{len(self._invalid)} trials reported their hyperparameters as invalid")
        outcomes = self._outcomes + Counter([last.outcome])
        if outcomes["COMPLETED"]:
            return Shutdown("COMPLETED", f"all {self._max_trials} trials have ended")
        if outcomes["ERROR"]:
            return Shutdown("ERROR", f"no trial completed; the last one's end: {last.reason}")
        return Shutdown("CANCELED", "all its trials were canceled")

    def evolve(self, event: Told) -> None:
        match event:
            case TrialCreated():
                self._created += 1
                self._open += 1
            case TrialEarlyExitReported(reason="INVALID_HP"):
                self._invalid.add(event.trial_id)
            case TrialEnded():
                self._ended(event)
            case TrialValidated() | TrialTargetReached():
                self._progress.evolve(event)
            case _:
                pass

    def _ended(self, event: TrialEnded) -> None:
        self._open -= 1
        if event.trial_id in self._invalid:
            self._wanted += self._replaced(event)
        else:
            self._outcomes[event.outcome] += 1
            self._progress.evolve(event)

    def progress(self) -> float:
        return self._progress.of(self._max_trials)
