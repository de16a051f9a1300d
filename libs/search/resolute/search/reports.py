"""Reports about trials: runs start and end, trials validate, save checkpoints and exit early; and the kill of one
trial.

A report may come late or twice. A report about a run that is over, or a trial that has ended, has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from resolute.proto.checkpoint import CheckpointCompleted
from resolute.proto.errors import InvalidConfig, Refused
from resolute.proto.experiment import (
    CompleteOperation,
    KillTrial,
    PostOperations,
    ReportEarlyExit,
    ReportLogPolicyMatch,
    ReportValidation,
    SearchOperationsPosted,
    TrialCheckpointed,
    TrialCheckpointLost,
    TrialEarlyExitReported,
    TrialEnded,
    TrialLogPolicyMatched,
    TrialRunEnded,
    TrialRunStarted,
    TrialTargetReached,
    TrialValidated,
    ValidationTaken,
)
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited, AllocationStarted
from resolute.proto.states import (
    RUNNING,
    AfterStop,
    EarlyExit,
    ExperimentState,
    RunOutcome,
    StopHow,
    TrialState,
    ends_as,
    is_stopping,
    run_outcome,
)
from resolute.search import trial, unmanaged
from resolute.search.experiment import Experiment
from resolute.search.methods.custom import CustomSearch
from resolute.search.operations import TrialIds, continue_search


@dataclass(frozen=True, slots=True)
class CloseTrial:
    """Closes a trial that was asked to stop and has no run. The searcher sends this message to itself."""

    trial_id: int


@dataclass(frozen=True, slots=True)
class CoverTarget:
    """A trial was given a target that its latest validation may have reached. The searcher sends this message to
    itself."""

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
    outcome = run_outcome(fact.outcome, fact.exit_code, hopeless=fact.hopeless)
    ended = TrialRunEnded(one.trial_id, one.run_id, outcome, fact.exit_code, fact.reason)
    end = trial.end_after(one, ended, experiment.settings.max_restarts)
    if end is not None:
        return [ended, *continue_search(experiment, end, ids)]
    if ended.outcome == RunOutcome.FAILED:
        ended = replace(ended, restarts_left=experiment.settings.max_restarts - one.restarts - 1)
    if experiment.state is ExperimentState.ACTIVE and one.state is not TrialState.WAITING:
        return [ended, trial.next_run(one, experiment.settings)]
    return [ended]


def validated(experiment: Experiment, report: ReportValidation, ids: TrialIds) -> list[Event]:
    """Only the first report of each step counts: a run that repeats steps of an earlier run changes no decision."""
    one = experiment.trial(report.trial_id)
    if one.trial_id not in experiment.open or report.run_id != one.run_id:
        return []
    if report.steps_completed <= one.validated_steps:
        return []
    event = TrialValidated(report.trial_id, report.run_id, report.steps_completed, report.metric, report.time)
    if not _reaches_target(experiment, one, report):
        return continue_search(experiment, event, ids)
    return [event, *_reached(experiment, one, report.metric, ids)]


def taken(experiment: Experiment, report: ReportValidation) -> ValidationTaken:
    """What the run is answered that has validated. A run whose trial was paused is asked for its slots as ever: it
    acknowledges that, so that its clean end is not taken for the end of the trial."""
    one = experiment.trial(report.trial_id)
    nothing_left = is_stopping(one.state) or one.state is TrialState.WAITING
    return ValidationTaken(stop=nothing_left and one.run_id == report.run_id and one.allocation_id is not None)


def _reaches_target(experiment: Experiment, one: trial.Trial, report: ReportValidation) -> bool:
    if one.target is None or one.target_reached:
        return False
    batches = experiment.settings.batches(one.target, one.hparams)
    return batches is not None and report.steps_completed >= batches


def _reached(experiment: Experiment, one: trial.Trial, metric: float | None, ids: TrialIds) -> list[Event]:
    assert one.target is not None, f"trial {one.trial_id} has reached a target that it was never set"
    return continue_search(experiment, TrialTargetReached(one.trial_id, one.run_id, one.target, metric), ids)


def operation_completed(experiment: Experiment, report: CompleteOperation, ids: TrialIds) -> list[Event]:
    """Raises Refused for a length that is not the trial's target."""
    one = experiment.trial(report.trial_id)
    if one.target is None:
        raise Refused(f"trial {one.trial_id} was set no length to train to; report validations, that is enough")
    if report.length > one.target:
        raise Refused(f"trial {one.trial_id} cannot complete length {report.length}: its target is {one.target}")
    late = one.trial_id not in experiment.open or report.run_id != one.run_id
    if late or report.length < one.target or one.target_reached:
        return []
    return _reached(experiment, one, report.metric, ids)


def cover_target(experiment: Experiment, note: CoverTarget, ids: TrialIds) -> list[Event]:
    """A trial that trained ahead of its targets has reached the next as soon as it is set."""
    one = experiment.open.get(note.trial_id)
    if one is None or is_stopping(one.state) or one.target is None or one.target_reached:
        return []
    if not one.has_covered(one.target, experiment.settings):
        return []
    return _reached(experiment, one, one.validated_metric, ids)


def operations_posted(experiment: Experiment, command: PostOperations, ids: TrialIds) -> list[Event]:
    """Raises Refused unless the search is a custom one that goes on, InvalidConfig for what makes no sense."""
    if experiment.settings.searcher.name != "custom":
        name = experiment.settings.searcher.name
        raise Refused(f"experiment {experiment.experiment_id} is searched by {name}; only custom takes operations")
    if experiment.state not in RUNNING:
        raise Refused(f"experiment {experiment.experiment_id} takes no operations: it is {experiment.state.name}")
    if isinstance(experiment.method, CustomSearch) and 0 < command.answers <= experiment.method.answered:
        return []
    return continue_search(experiment, SearchOperationsPosted(command.operations, command.answers), ids)


def checkpointed(experiment: Experiment, fact: CheckpointCompleted) -> list[Event]:
    one = experiment.open.get(fact.trial_id)
    if one is None or fact.uuid in one.checkpoints or fact.steps_completed < one.steps_completed:
        return []
    return [TrialCheckpointed(fact.trial_id, fact.run_id, fact.uuid, fact.steps_completed)]


def checkpoint_lost(experiment: Experiment, uuid: str) -> list[Event]:
    """Has an effect only on trials that may still resume from the checkpoint."""
    holders = (one for one in experiment.open.values() if uuid in one.checkpoints)
    return [event for one in holders for event in _fall_back(one, uuid)]


def _fall_back(one: trial.Trial, uuid: str) -> list[Event]:
    left = [(other, steps) for other, steps in one.checkpoints.items() if other != uuid]
    checkpoint, steps = left[-1] if left else (None, 0)
    return [TrialCheckpointLost(one.trial_id, uuid, checkpoint, steps)]


def early_exit(experiment: Experiment, report: ReportEarlyExit, ids: TrialIds) -> list[Event]:
    """The trial's process exits by itself after this."""
    if report.reason not in tuple(EarlyExit):
        raise InvalidConfig(f"reason: expected one of {', '.join(EarlyExit)}; found {report.reason!r}.")
    one = experiment.trial(report.trial_id)
    known = one.early_exit or (report.reason == EarlyExit.MISCONFIGURED and one.no_restart)
    if one.trial_id not in experiment.open or known:
        return []
    return continue_search(experiment, TrialEarlyExitReported(report.trial_id, report.reason), ids)


def log_policy_matched(experiment: Experiment, report: ReportLogPolicyMatch) -> list[Event]:
    """Recorded once for each run and policy, however many lines match and however many gateways report them. A line of
    an earlier run that comes late, because it could not be stored in time, still counts for later runs."""
    one = experiment.trial(report.trial_id)
    known = report.run_id == one.run_id and report.policy in one.matched
    if one.trial_id not in experiment.open or report.run_id > one.run_id or known:
        return []
    return [
        TrialLogPolicyMatched(
            trial_id=report.trial_id,
            run_id=report.run_id,
            policy=report.policy,
            pattern=report.pattern,
            action=report.action,
            line=report.line,
            agent_id=report.agent_id,
        )
    ]


def kill_trial(experiment: Experiment, command: KillTrial, ids: TrialIds) -> list[Event]:
    one = experiment.trial(command.trial_id)
    if experiment.unmanaged:
        raise unmanaged.no_trial_to_kill(one.trial_id)
    if one.trial_id not in experiment.open:
        return []
    return _ending(experiment, trial.stop(one, StopHow.KILL, AfterStop.KILLED, "it was killed"), ids)


def close_trial(experiment: Experiment, note: CloseTrial, ids: TrialIds) -> list[Event]:
    one = experiment.open.get(note.trial_id)
    if one is None or one.allocation_id is not None or not is_stopping(one.state):
        return []
    end = TrialEnded(one.trial_id, ends_as(one.state), "stopped while it had no run")
    return continue_search(experiment, end, ids)


def _ending(experiment: Experiment, events: list[Event], ids: TrialIds) -> list[Event]:
    """When stopping meant ending at once, the search goes on from there."""
    match events:
        case [TrialEnded() as end]:
            return continue_search(experiment, end, ids)
    return events
