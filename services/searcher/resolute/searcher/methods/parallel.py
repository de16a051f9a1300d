"""Searches whose trials do not know of one another: so many in all, so many in training at once, none stopped early."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter

from resolute.proto.experiment import (
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialTargetReached,
    TrialValidated,
)
from resolute.searcher.methods.method import CreateTrial, Operation, Shutdown, Told
from resolute.searcher.methods.progress import Progress
from resolute.searcher.settings import Settings


class ParallelSearch(ABC):
    def __init__(self, settings: Settings, trials: int) -> None:
        self._settings, self._trials = settings, trials
        self._created = 0
        self._wanted = trials
        """Of all trials ever: `trials`, and one more for each invalid one that is replaced."""
        self._open = 0
        self._invalid: set[int] = set()
        self._outcomes: Counter[str] = Counter()
        self._progress = Progress(settings)

    @abstractmethod
    def _draw(self, index: int) -> CreateTrial: ...

    def _is_replaced(self, ended: TrialEnded) -> bool:
        """Whether another trial takes the place of one whose hyperparameters were no good."""
        return False

    def start(self) -> list[Operation]:
        return [self._draw(index) for index in range(min(self._settings.searcher.at_once, self._trials))]

    def next(self, event: Told) -> list[Operation]:
        if not isinstance(event, TrialEnded):
            return []
        if self._created < self._wanted or self._is_replaced(event):
            return [self._draw(self._created)]
        return [self._shutdown(event)] if self._open == 1 else []

    def _shutdown(self, last: TrialEnded) -> Shutdown:
        invalid = last.trial_id in self._invalid
        outcomes = self._outcomes + Counter([] if invalid else [last.outcome])
        if outcomes["COMPLETED"]:
            return Shutdown("COMPLETED", f"all {self._trials} trials have ended")
        if invalid or (self._invalid and not outcomes):
            return Shutdown("ERROR", f"{len(self._invalid)} trials reported their hyperparameters as invalid")
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
        replaced = self._is_replaced(event)
        self._wanted += replaced
        if event.trial_id not in self._invalid:
            self._outcomes[event.outcome] += 1
        if not replaced:
            self._progress.evolve(event)

    def progress(self) -> float:
        return self._progress.of(self._trials)
