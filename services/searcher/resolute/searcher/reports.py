"""What trials do: their runs start and end, they validate, checkpoint, and give up; and one trial may be killed.

News may come late or twice. What concerns a run that is over, or a trial that has ended, changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from resolute.proto.checkpoint import CheckpointCompleted
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import (
    KillTrial,
    ReportEarlyExit,
    ReportValidation,
    TrialCheckpointed,
    TrialCheckpointLost,
    TrialEarlyExitReported,
    TrialEnded,
    TrialRunEnded,
    TrialRunStarted,
    TrialValidated,
)
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited, AllocationStarted
from resolute.searcher import trial
from resolute.searcher.experiment import Experiment, State
from resolute.searcher.search import TrialIds, continue_search

EARLY_EXITS = ("INVALID_HP", "USER_REQUESTED_STOP")


@dataclass(frozen=True, slots=True)
class CloseTrial:
    """A trial that was told to stop has no run to wait for. The searcher's note to itself."""

    trial_id: int


def run_started(experiment: Experiment, fact: AllocationStarted) -> list[Event]:
    started = experiment.trial_running_in(fact.allocation_id)
    if started is None or started.started:
        return []
    return [TrialRunStarted(started.trial_id, started.run_id)]


def run_ended(experiment: Experiment, fact: AllocationExited, ids: TrialIds) -> list[Event]:
    """The trial ends, or runs again at once, or, while the experiment is paused, later."""
    one = experiment.trial_running_in(fact.allocation_id)
    if one is None:
        return []
    ended = TrialRunEnded(one.trial_id, one.run_id, _outcome(fact), fact.exit_code, fact.reason)
    end = trial.end_after(one, ended, experiment.settings.max_restarts)
    if end is not None:
        return [ended, *continue_search(experiment, end, ids)]
    if experiment.state is State.ACTIVE:
        return [ended, trial.next_run(one, experiment.settings)]
    return [ended]


def _outcome(fact: AllocationExited) -> str:
    if fact.outcome == "exited":
        return "completed" if fact.exit_code == 0 else "failed"
    return fact.outcome


def validated(experiment: Experiment, report: ReportValidation, ids: TrialIds) -> list[Event]:
    """The first report of each step stands: a run that repeats what an earlier one did decides nothing anew."""
    one = experiment.trial(report.trial_id)
    if one.trial_id not in experiment.open or report.run_id != one.run_id:
        return []
    if report.steps_completed <= one.validated_steps:
        return []
    event = TrialValidated(report.trial_id, report.run_id, report.steps_completed, report.metric)
    return continue_search(experiment, event, ids)


def checkpointed(experiment: Experiment, fact: CheckpointCompleted) -> list[Event]:
    one = experiment.open.get(fact.trial_id)
    if one is None or fact.uuid in one.checkpoints or fact.steps_completed < one.steps_completed:
        return []
    return [TrialCheckpointed(fact.trial_id, fact.run_id, fact.uuid, fact.steps_completed)]


def checkpoint_lost(experiment: Experiment, uuid: str) -> list[Event]:
    """Only trials that may still resume care."""
    holders = (one for one in experiment.open.values() if uuid in one.checkpoints)
    return [event for one in holders for event in _fall_back(one, uuid)]


def _fall_back(one: trial.Trial, uuid: str) -> list[Event]:
    left = [(other, steps) for other, steps in one.checkpoints.items() if other != uuid]
    checkpoint, steps = left[-1] if left else (None, 0)
    return [TrialCheckpointLost(one.trial_id, uuid, checkpoint, steps)]


def early_exit(experiment: Experiment, report: ReportEarlyExit, ids: TrialIds) -> list[Event]:
    """The trial's process exits by itself after this."""
    if report.reason not in EARLY_EXITS:
        raise InvalidConfig(f"reason: expected one of {', '.join(EARLY_EXITS)}; found {report.reason!r}.")
    one = experiment.trial(report.trial_id)
    if one.trial_id not in experiment.open or one.early_exit:
        return []
    return continue_search(experiment, TrialEarlyExitReported(report.trial_id, report.reason), ids)


def kill_trial(experiment: Experiment, command: KillTrial, ids: TrialIds) -> list[Event]:
    one = experiment.trial(command.trial_id)
    if one.trial_id not in experiment.open:
        return []
    return _ending(experiment, trial.stop(one, "kill", "KILLED", "it was killed"), ids)


def close_trial(experiment: Experiment, note: CloseTrial, ids: TrialIds) -> list[Event]:
    one = experiment.open.get(note.trial_id)
    if one is None or one.allocation_id is not None or one.state not in trial.ENDS_AS:
        return []
    end = TrialEnded(one.trial_id, trial.ENDS_AS[one.state], "stopped while it had no run")
    return continue_search(experiment, end, ids)


def _ending(experiment: Experiment, events: list[Event], ids: TrialIds) -> list[Event]:
    """When stopping meant ending at once, the search goes on from there."""
    match events:
        case [TrialEnded() as end]:
            return continue_search(experiment, end, ids)
    return events
