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
from resolute.proto.states import EarlyExit, End
from resolute.search.methods.method import Answer, CreateTrial, Operation, SearchEvent, Shutdown
from resolute.search.methods.progress import Progress
from resolute.search.settings import Settings


class ParallelSearch(ABC):
    replaced_most = 0
    """How many trials that reported their hyperparameters as invalid are replaced by others."""

    def __init__(self, settings: Settings, trials: int) -> None:
        self._settings, self._trials = settings, trials
        self._created = 0
        self._open = 0
        self._invalid: set[int] = set()
        self._invalid_ended = 0
        self._outcomes: Counter[str] = Counter()
        self._progress = Progress(settings)

    @abstractmethod
    def _draw(self, index: int) -> CreateTrial: ...

    def start(self) -> list[Operation]:
        return [self._draw(index) for index in range(min(self._settings.searcher.at_once, self._trials))]

    def next(self, event: SearchEvent) -> Answer:
        return Answer(event, self._after_the_end(event) if isinstance(event, TrialEnded) else [])

    def _after_the_end(self, event: TrialEnded) -> list[Operation]:
        invalid = self._invalid_ended + (event.trial_id in self._invalid)
        if self._created < self._trials + min(invalid, self.replaced_most):
            return [self._draw(self._created)]
        return [self._shutdown(event)] if self._open == 1 else []

    def _shutdown(self, last: TrialEnded) -> Shutdown:
        invalid = last.trial_id in self._invalid
        outcomes = self._outcomes + Counter([] if invalid else [last.outcome])
        if outcomes[End.COMPLETED]:
            return Shutdown(End.COMPLETED, f"all {self._trials} trials have ended")
        if invalid or (self._invalid and not outcomes):
            return Shutdown(End.ERROR, f"{len(self._invalid)} trials reported their hyperparameters as invalid")
        if outcomes[End.ERROR]:
            return Shutdown(End.ERROR, f"no trial completed; the last one's end: {last.reason}")
        return Shutdown(End.CANCELED, "all its trials were canceled")

    def evolve(self, event: SearchEvent) -> None:
        match event:
            case TrialCreated():
                self._created += 1
                self._open += 1
            case TrialEarlyExitReported(reason=EarlyExit.INVALID_HP):
                self._invalid.add(event.trial_id)
            case TrialEnded():
                self._ended(event)
            case TrialValidated() | TrialTargetReached():
                self._progress.evolve(event)
            case _:
                pass

    def _ended(self, event: TrialEnded) -> None:
        self._open -= 1
        self._progress.evolve(event)
        if event.trial_id in self._invalid:
            self._invalid_ended += 1
        else:
            self._outcomes[event.outcome] += 1

    def progress(self) -> float:
        """A trial that was replaced has done nothing for the search."""
        return self._progress.of(self._trials, without=min(self._invalid_ended, self.replaced_most))
