"""The search that is none: one trial, and the experiment fares as it does."""

from __future__ import annotations

from resolute.proto.experiment import TrialEarlyExitReported, TrialEnded, TrialTargetReached, TrialValidated
from resolute.proto.states import EarlyExit, End
from resolute.search.methods.method import Answer, Operation, SearchEvent, Shutdown, draw_trial
from resolute.search.methods.progress import Progress
from resolute.search.settings import Settings


class SingleSearch:
    def __init__(self, settings: Settings, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._invalid = False
        self._progress = Progress(settings)

    def start(self) -> list[Operation]:
        return [draw_trial(self._settings, self._seed, 0, self._settings.max_target)]

    def next(self, event: SearchEvent) -> Answer:
        match event:
            case TrialEnded() if self._invalid:
                return Answer(event, [Shutdown(End.ERROR, "its only trial reported its hyperparameters as invalid")])
            case TrialEnded(outcome=outcome, reason=reason):
                return Answer(event, [Shutdown(End(outcome), reason)])
        return Answer(event, [])

    def evolve(self, event: SearchEvent) -> None:
        match event:
            case TrialEarlyExitReported(reason=EarlyExit.INVALID_HP):
                self._invalid = True
            case TrialValidated() | TrialTargetReached() | TrialEnded():
                self._progress.evolve(event)
            case _:
                pass

    def progress(self) -> float:
        return self._progress.of(1)
