"""Walks: an experiment and any script of commands and reports, sensible or not, late or repeated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any
from uuid import UUID

from resolute.proto import experiment as asked
from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested
from resolute.proto.errors import ResoluteError
from resolute.proto.experiment import TrialEnded, TrialStopRequested, TrialTargetReached, TrialTargetSet, TrialValidated
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited, AllocationStarted
from resolute.proto.states import End, is_stopping
from resolute.search import user_commands
from resolute.search.decide import Notification, decide
from resolute.search.experiment import Experiment, evolve
from resolute.search.methods import Answer, Operation, Shutdown, StopTrial, TrainTo, Wait
from resolute.search.methods.method import SearchEvent
from resolute.search.methods.random import RandomSearch
from resolute.search.reports import CloseTrial, CoverTarget
from resolute.search.trial import Trial
from tests.unit.searcher.story import EXPERIMENT, config, submission


@dataclass(frozen=True)
class DeletionFailed:
    """The checkpoint store could not remove the files."""


Message = asked.SearcherCommand | Notification | DeletionFailed


SEARCHERS: Mapping[str, dict[str, Any]] = {
    "single": {},
    "custom": {"max_length": None},
    "async_halving": {"max_trials": 4, "max_concurrent_trials": 2, "num_rungs": 3, "divisor": 2},
    "adaptive_asha": {"max_trials": 4, "max_concurrent_trials": 2, "divisor": 2, "stop_once": True},
}


class PickySearch(RandomSearch):
    """A random search that stops bad trials and may give up early, and lets good ones wait for others, as halving
    methods do: it shows that the experiment carries out everything a method may ask for."""

    def next(self, event: SearchEvent) -> Answer:
        operations = self._picked(event)
        return super().next(event) if operations is None else Answer(event, operations)

    def _picked(self, event: SearchEvent) -> list[Operation] | None:
        match event:
            case TrialTargetReached(metric=None):
                return [Wait(event.trial_id, "others come first")]
            case TrialTargetReached(trial_id=trial_id):
                return [TrainTo(one, event.length + 1) for one in (trial_id, trial_id - 1)]
            case TrialValidated(metric=None):
                return [Shutdown(End.ERROR, "a trial diverged")]
            case TrialValidated(metric=0.0):
                return [Shutdown(End.COMPLETED, "it cannot get better")]
            case TrialValidated(metric=metric, trial_id=trial_id) if metric is not None and metric > 0.8:
                return [StopTrial(trial_id, "the worst of its rung")]
        return None


@dataclass
class Walk:
    """`replayed` folds a copy of every event on its own, to compare with the state that decisions were made on."""

    name: str = "random"
    activate: bool = True
    events: list[Event] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    allocations: list[str] = field(default_factory=list)
    """All there ever were: news of old ones may come late."""

    def __post_init__(self) -> None:
        merged = config(self.name, **SEARCHERS.get(self.name, {"max_trials": 4, "max_concurrent_trials": 2}))
        self.experiment = Experiment()
        self._happens(user_commands.create(submission(merged, activate=self.activate), EXPERIMENT, self.ids))

    def take(self, choice: int) -> None:
        """One message, chosen by `choice` among all that could come now. What is refused has not happened."""
        options = self.messages()
        self.send(options[choice % len(options)])

    def send(self, message: Message) -> list[Event]:
        try:
            if isinstance(message, DeletionFailed):
                happened = user_commands.deletion_failed(self.experiment, "the disk is read-only")
            else:
                happened = decide(message, self.experiment, self.ids)
        except ResoluteError:
            return []
        self._happens(happened)
        return happened

    def _happens(self, events: Sequence[Event]) -> None:
        self.events.extend(events)
        reduce(evolve, events, self.experiment)
        live = (one.allocation_id for one in self.experiment.open.values())
        self.allocations.extend(a for a in live if a is not None and a not in self.allocations)

    def messages(self) -> list[Message]:
        of_runs = [message for allocation in self.allocations[-4:] for message in news(allocation)]
        trials = list(self.experiment.trials.values())[-3:]
        of_trials = [*(message for one in trials for message in reports(one)), *logs(trials), *self._archiving()]
        others = [*self._of_the_client(), *self._notes(), *self._continuing()]
        return [*of_runs, *of_trials, *of_people(), DeletionFailed(), *others]

    def _archiving(self) -> list[Message]:
        """Archives trials that have ended, and unarchives archived ones. Rare states get more of these messages."""
        ended = [one for one in self.experiment.trials.values() if one.trial_id not in self.experiment.open]
        return [
            (asked.UnarchiveTrial if one.archived else asked.ArchiveTrial)(EXPERIMENT, one.trial_id)
            for one in ended[:3]
            for _ in range(10 if is_stopping(self.experiment.state) else 1)
        ]

    def _of_the_client(self) -> list[Message]:
        """Of a custom search. Three trials, and what may be asked of the latest: sensible or not."""
        if self.name != "custom":
            return []
        trials = len(self.experiment.trials)
        fresh = {"type": "create_trial", "request_id": str(UUID(int=trials)), "hparams": {"global_batch_size": 32}}
        latest = {"request_id": str(UUID(int=max(trials - 1, 0)))}
        posts = [
            {**fresh, "length": 10} if trials < 3 else {**fresh, **latest},
            {"type": "train_to", "length": 50, **latest},
            {"type": "train_to", "length": 100, **latest},
            {"type": "close_trial", **latest},
        ]
        return [asked.PostOperations(EXPERIMENT, (post,)) for post in posts * 2]

    def _continuing(self) -> list[Message]:
        same = self.experiment.config
        further = {**same, "searcher": {**same["searcher"], "max_length": {"batches": 200}}}
        return [*[asked.ContinueExperiment(EXPERIMENT, same)] * 3, asked.ContinueExperiment(EXPERIMENT, further)]

    def _notes(self) -> list[Message]:
        closing = [e for e in self.events[-9:] if isinstance(e, TrialStopRequested) and not e.allocation_id]
        targets = [e for e in self.events[-9:] if isinstance(e, TrialTargetSet)]
        return [*(CloseTrial(e.trial_id) for e in closing), *(CoverTarget(e.trial_id) for e in targets)]

    def finish(self) -> None:
        """Let everything end by itself, or by a kill."""
        self.send(asked.KillExperiment(EXPERIMENT))
        for one in list(self.experiment.open.values()):
            if one.allocation_id is not None:
                self.send(exited(one.allocation_id, "killed", 137))


def exited(allocation: str, outcome: str, code: int | None) -> AllocationExited:
    return AllocationExited(allocation, outcome, code, "", allocation.rpartition(".")[0], EXPERIMENT, 1)


def news(allocation: str) -> list[Message]:
    ends = [("exited", 0), ("exited", 1), ("yielded", 0), ("killed", 137), ("lost", None), ("refused", None)]
    return [AllocationStarted(allocation), *(exited(allocation, outcome, code) for outcome, code in ends)]


def reports(trial: Trial) -> list[Message]:
    ahead = trial.validated_steps + 10
    return [
        *(asked.ReportValidation(EXPERIMENT, trial.trial_id, trial.run_id, ahead, m) for m in (0.5, 0.9, 0.0, None)),
        asked.ReportValidation(EXPERIMENT, trial.trial_id, trial.run_id - 1, ahead, 0.5),
        *(asked.CompleteOperation(EXPERIMENT, trial.trial_id, trial.run_id, trial.target or 1, m) for m in (0.5, None)),
        CheckpointCompleted(f"c-{ahead}", EXPERIMENT, trial.trial_id, "t", "a", trial.run_id, ahead, {}, {}, {}),
        *(CheckpointDeletionRequested(uuid, "it is in the way") for uuid in list(trial.checkpoints)[-2:]),
        asked.ReportEarlyExit(EXPERIMENT, trial.trial_id, "INVALID_HP"),
        asked.ReportEarlyExit(EXPERIMENT, trial.trial_id, "USER_REQUESTED_STOP"),
        *(matched(trial, action) for action in ("cancel_retries", "exclude_node")),
        asked.KillTrial(EXPERIMENT, trial.trial_id),
    ]


def logs(trials: Sequence[Trial]) -> list[Message]:
    latest = [trial.trial_id for trial in trials[-1:]]
    return [
        *(asked.SetTrialLogRetention(EXPERIMENT, trial_id, 7) for trial_id in latest),
        *(asked.RecordLogRemoved(EXPERIMENT, trial_id, 20, 7) for trial_id in latest),
        *(asked.ChangeTrialMetadata(EXPERIMENT, one.trial_id, {"after": one.metadata}) for one in trials[-1:]),
    ]


def matched(trial: Trial, action: str) -> asked.ReportLogPolicyMatch:
    return asked.ReportLogPolicyMatch(
        EXPERIMENT, trial.trial_id, trial.run_id, action, "oh no", action, "oh no!", "agent-1"
    )


def of_people() -> list[Message]:
    plain = (
        asked.PauseExperiment,
        asked.ActivateExperiment,
        asked.CancelExperiment,
        asked.KillExperiment,
        asked.ArchiveExperiment,
    )
    later = (asked.UnarchiveExperiment, asked.DeleteExperiment, asked.ConfirmDeleted)
    return [
        *(command(EXPERIMENT) for command in (*plain, *later)),
        asked.PauseExperiment(EXPERIMENT),
        asked.ActivateExperiment(EXPERIMENT),
        asked.EditExperiment(EXPERIMENT, {"max_restarts": 2, "notes": "n"}),
        asked.EditExperiment(EXPERIMENT, {"resource_pool": "attic"}),
        *(label(EXPERIMENT, "a") for label in (asked.AddLabel, asked.RemoveLabel)),
        asked.MoveExperiment(EXPERIMENT, 2),
    ]


def ended_trials(events: Sequence[Event]) -> list[int]:
    return [event.trial_id for event in events if isinstance(event, TrialEnded)]
